"""The trained policy as an agent: it keeps the window that its network reads, whatever window the game has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.mini4wd.memory import RunMemory
from asobiba.core import Agent, AgentDeclaration, GameParameterError, Ruleset
from asobiba.envs.mini4wd.layout import control_ms_of

POLICY = Path(__file__).parent / "policies" / "policy.safetensors"


class LearnedDriver(Agent):
    """Drives by the actor of a `network.CarPolicy`.

    The network reads more samples and actions than the game's observation may hold. So the driver remembers them: a sample is
    new where it does not continue the window before. Where the network reads a memory of the run, too, the driver keeps it.

    Args:
        policy: the `CarPolicy`.
        name: its name in tables.

    Attributes:
        observed: the network's last input, `(size,)` float32.
    """

    def __init__(self, policy: Any, name: str = "ppo_junior_hill"):
        from asobiba.baselines.mini4wd.export import actor_layers

        self.name = name
        self._layers = [(weight.astype(np.float32), bias.astype(np.float32)) for weight, bias in actor_layers(policy)]
        scaled = policy.pi_features_extractor
        self._offsets, self._factors = scaled.offsets.numpy(), scaled.factors.numpy()
        self._channels = {name: shape for name, shape in policy.channels.items() if name != "memory"}
        self._remembers = "memory" in policy.channels
        self._window, self._history = self._channels["imu"][0], self._channels["actions"][0]

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        if "wheel_speed" in self._channels and not ruleset.parameters.get("tachometer"):
            raise GameParameterError(f"the policy {self.name!r} needs the game's parameter tachometer=True")
        periods = control_ms_of(ruleset), int(ruleset.params["sample_every"][0])
        if periods != (20, 10) or ruleset.discrete or ruleset.actions_shape[-1] != 2:
            raise GameParameterError(
                f"the policy {self.name!r} was trained for duty and mode every 20 ms and a sample every 10 ms, but the game has "
                f"steps of {periods[0]} ms, samples every {periods[1]} ms and {ruleset.action_space}"
            )
        self._seat = seat
        self._imu: np.ndarray | None = None
        self._actions = np.zeros((self._history, 2), np.float32)
        self._memory = RunMemory(ruleset, 1, self._channels) if self._remembers else None
        self.observed = np.zeros(0, np.float32)

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        self._keep_window(view)
        self.observed = self._observation(view)
        if self._memory is not None:
            self.observed = self._memory.look(self.observed[None])[0]
        return self.drive(self.observed)

    def _keep_window(self, view: np.void) -> None:
        given = view["imu"][self._seat]
        if self._imu is None:
            # Before the run the car stood: what is missing of the window was like its oldest sample.
            self._imu = np.concatenate([np.repeat(given[:1], self._window, axis=0), given])[-self._window :].copy()
            self._seen = given.copy()
            return
        size = len(given)
        new = next((k for k in range(size) if np.array_equal(self._seen[k:], given[: size - k])), size)
        if new:
            self._imu = np.concatenate([self._imu, given[size - new :]])[-self._window :]
        self._seen = given.copy()
        self._actions[1:] = self._actions[:-1].copy()
        self._actions[0] = view["actions"][self._seat, 0]

    def _observation(self, view: np.void) -> np.ndarray:
        k = self._seat
        assert self._imu is not None
        parts = {
            "imu": self._imu, "voltage": view["voltage"][k], "duty": self._actions[0, 0], "mode": self._actions[0, 1],
            "time": view["clock"][k], "frame_age": view["frame_age"][k], "actions": self._actions,
            "wheel_speed": view["wheel_speed"][k], "target": view["target"][k],
        }  # fmt: skip
        return np.concatenate([np.ravel(np.asarray(parts[name], np.float32)) for name in self._channels])

    def drive(self, observation: np.ndarray) -> np.ndarray:
        """Observation `(size,)` to action `(2,)`: the mean of the policy's distribution."""
        values = np.clip((observation - self._offsets) * self._factors, -4.0, 4.0)
        for number, (weight, bias) in enumerate(self._layers, 1):
            values = weight @ values + bias
            if number < len(self._layers):
                values = np.maximum(values, 0.0)
        return np.clip(values, -1.0, 1.0).astype(np.float32)


def ppo_junior_hill(path: str | None = None) -> LearnedDriver:
    """The policy in `policies/`, trained on one course by `asobiba train mini4wd`, or the one at `path`. Needs the extra `sb3`, the
    tachometer and a car of the profile `atmega328p`."""
    from asobiba.learn.agent import load_policy

    return LearnedDriver(load_policy(path or POLICY), "ppo_junior_hill")


PPO = AgentDeclaration(
    "ppo_junior_hill",
    ppo_junior_hill,
    "PPO, trained on `junior_hill` alone by `asobiba train mini4wd`; needs the extra sb3 and the tachometer",
    "baselines/mini4wd/policies",
    deterministic=True,
    league=False,
    kind="learned",
)

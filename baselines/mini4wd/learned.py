"""The trained policy as an agent: it keeps the window that its network reads, whatever window the game has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy import float32, float64

from asobiba.baselines.mini4wd.memory import FIELDS, SIZE, places_of, remember
from asobiba.core import Agent, AgentDeclaration, GameParameterError, Ruleset, compiled, kernel
from asobiba.core.networks import forward
from asobiba.core.record import record_dtype
from asobiba.envs.mini4wd.layout import control_ms_of

POLICY = Path(__file__).parent / "policies" / "policy.safetensors"
_CLASS = "asobiba.baselines.mini4wd.network:CarPolicy"
_CHANNELS = (
    "imu",
    "voltage",
    "duty",
    "mode",
    "time",
    "frame_age",
    "actions",
    "wheel_speed",
    "target",
    "memory",
)
_IMU, _VOLTAGE, _DUTY, _MODE, _CLOCK, _FRAME_AGE, _ACTIONS, _WHEEL_SPEED, _TARGET, _MEMORY = range(len(_CHANNELS))


@kernel
def keep_window(view, k, m):
    """Takes the samples that are new in the view of car `k` into the window, and the last action into the history."""
    given = view.imu[k]
    size, window = given.shape[0], m.window.shape[0]
    if m.begun == 0:
        m.begun = 1
        # Before the run the car stood: what is missing of the window was like its oldest sample.
        for n in range(window):
            for j in range(6):
                m.window[n, j] = given[max(n + size - window, 0), j]
    else:
        new = size
        for shift in range(size - 1, -1, -1):
            equal = True
            for n in range(size - shift):
                for j in range(6):
                    equal &= m.given[n + shift, j] == given[n, j]
            if equal:
                new = shift
        for n in range(window):
            for j in range(6):
                source = n + new
                m.window[n, j] = m.window[source, j] if source < window else given[source - window + size - new, j]
        for n in range(m.past.shape[0] - 1, 0, -1):
            for j in range(2):
                m.past[n, j] = m.past[n - 1, j]
        for j in range(2):
            m.past[0, j] = view.actions[k, 0, j]
    for n in range(size):
        for j in range(6):
            m.given[n, j] = given[n, j]


@kernel
def put(m, channel, value):
    """Writes a number into the network's input, where it has this channel."""
    if m.starts[channel] >= 0:
        m.row[m.starts[channel]] = value


@kernel
def look(view, k, m):
    """Writes the network's input for car `k`, `m.row`."""
    keep_window(view, k, m)
    for n in range(m.window.shape[0]):
        for j in range(6):
            m.row[m.starts[_IMU] + 6 * n + j] = m.window[n, j]
    for n in range(m.past.shape[0]):
        for j in range(2):
            m.row[m.starts[_ACTIONS] + 2 * n + j] = m.past[n, j]
    put(m, _VOLTAGE, view.voltage[k])
    put(m, _DUTY, m.past[0, 0])
    put(m, _MODE, m.past[0, 1])
    put(m, _CLOCK, view.clock[k])
    put(m, _FRAME_AGE, view.frame_age[k])
    put(m, _WHEEL_SPEED, view.wheel_speed[k])
    put(m, _TARGET, view.target[k])
    if m.starts[_MEMORY] >= 0:
        remember(m.fields, m.rest, m.row, m.places, m.lap, m.told)
        for n in range(SIZE):
            m.row[m.starts[_MEMORY] + n] = m.told[n]


@kernel
def steer(m, layers, weights, scratch, active, out):
    """The mean of the policy's distribution for the input `m.row`: duty and mode, written to `out`."""
    for n in range(m.row.shape[0]):
        scaled = (m.row[n] - m.offsets[n]) * m.factors[n]
        scratch[n] = min(max(scaled, float32(-4.0)), float32(4.0))
    forward(layers, weights, scratch, active)
    for j in range(2):
        out[j] = min(max(scratch[m.head + j], float32(-1.0)), float32(1.0))


@compiled()
def _act(views, k, memory, layers, weights, scratch, active, out):
    look(views[0], k, memory[0])
    steer(memory[0], layers, weights, scratch, active, out)


@compiled()
def _steer(memory, layers, weights, scratch, active, out):
    steer(memory[0], layers, weights, scratch, active, out)


class LearnedDriver(Agent):
    """Drives by the actor of a `network.CarPolicy`, without PyTorch.

    The network reads more samples and actions than the game's observation may hold. So the driver remembers them: a sample is
    new where it does not continue the window before. Where the network reads a memory of the run, too, the driver keeps it.

    Args:
        policy: the file of a `CarPolicy`.
        name: its name in tables.

    Raises:
        FileNotFoundError, PolicyFileError, MissingExtra: as `asobiba.learn.policy_file.read_tensors`; PolicyFileError also for a
            policy of another class.
    """

    def __init__(self, policy: str | Path, name: str = "ppo_junior_hill"):
        from asobiba.baselines.mini4wd.export import actor_of
        from asobiba.learn.policy_file import PolicyFileError, read_tensors

        self.name = name
        header, tensors = read_tensors(policy)
        try:
            if header["class"] != _CLASS:
                raise PolicyFileError(f"{policy} holds a policy of {header['class']}; this driver plays {_CLASS}")
            self._network = actor_of(tensors)
            self._offsets, self._factors = (tensors[f"pi_features_extractor.{name}"] for name in ("offsets", "factors"))
            self._channels = {key: tuple(shape) for key, shape in header["arguments"]["channels"].items()}
        except (KeyError, ValueError) as error:
            if isinstance(error, PolicyFileError):
                raise
            raise PolicyFileError(f"the weights in {policy} are not those of {_CLASS}: {error}") from None

    @property
    def observed(self) -> np.ndarray:
        """The network's last input, `(size,)` float32."""
        return np.array(self.arrays["memory"]["row"][0])

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
        self._view = ruleset.zeros()
        self.arrays = self._fresh(ruleset)
        """The arguments of the compiled functions by name, in their order."""

    def _fresh(self, ruleset: Ruleset) -> dict[str, np.ndarray]:
        size = len(self._offsets)
        fields = [
            ("begun", np.int64), ("head", np.int64), ("lap", float64), ("fields", float64, (len(FIELDS),)), ("rest", float64, (3,)),
            ("starts", np.int64, (len(_CHANNELS),)), ("places", np.int64, (4,)),
            ("given", float32, ruleset.dtype["imu"].shape[1:]), ("window", float32, self._channels["imu"]),
            ("past", float32, self._channels["actions"]), ("row", float32, (size,)), ("told", float32, (SIZE,)),
            ("offsets", float32, (size,)), ("factors", float32, (size,)),
        ]  # fmt: skip
        memory = np.zeros(1, record_dtype(fields))
        ends = np.cumsum([int(np.prod(shape)) for shape in self._channels.values()])
        starts = {name: end - int(np.prod(shape)) for (name, shape), end in zip(self._channels.items(), ends)}
        memory["starts"] = [starts.get(name, -1) for name in _CHANNELS]
        memory["head"], memory["lap"] = self._network.policy, ruleset.params["lap_length"]
        memory["offsets"], memory["factors"] = self._offsets, self._factors
        if "memory" in self._channels:
            memory["places"] = places_of(self._channels)
        network = self._network
        return {
            "memory": memory,
            "layers": network.layers,
            "weights": network.weights,
            "scratch": np.zeros(network.size, float32),
            "active": np.zeros(int(network.layers["inputs"].max()), np.int64),
        }

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        self._view[0] = view
        out = np.zeros(2, float32)
        _act(self._view, self._seat, *self.arrays.values(), out)
        return out

    def drive(self, observation: np.ndarray) -> np.ndarray:
        """Observation `(size,)` to action `(2,)`: the mean of the policy's distribution."""
        self.arrays["memory"]["row"] = observation
        out = np.zeros(2, float32)
        _steer(*self.arrays.values(), out)
        return out


def ppo_junior_hill(path: str | None = None) -> LearnedDriver:
    """The policy in `policies/`, trained on one course by `asobiba train mini4wd`, or the one at `path`. Needs the extra `sb3`, the
    tachometer and a car of the profile `atmega328p`."""
    return LearnedDriver(path or POLICY, "ppo_junior_hill")


PPO = AgentDeclaration(
    "ppo_junior_hill",
    ppo_junior_hill,
    "PPO, trained on `junior_hill` alone by `asobiba train mini4wd`; needs the extra sb3 and the tachometer",
    "baselines/mini4wd/policies",
    deterministic=True,
    league=False,
    kind="learned",
)

"""A policy of dense layers, or of convolutions over a small board, as an agent of compiled code, without PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.core.agents import Agent, Thinking
from asobiba.core.game import Ruleset
from asobiba.core.kernels import compiled
from asobiba.core.networks import Network, forward
from asobiba.learn.memory import Memory, is_stateless, memory_class
from asobiba.learn.observing import observe
from asobiba.learn.policy_file import PolicyFileError
from asobiba.learn.thinking import network_thinking


class NetworkAgent(Agent):
    """Plays the legal action with the greatest logit; the first of equal ones.

    Its games are played side by side: each row of a batch is computed on its own, in the same order of additions.

    Args:
        network: its inputs and outputs are the game's observation and actions.
        name: its name in tables.
        portable: the same policy, whose compiled form targets without Python get; `None`: this one's.
        memory: the class MODULE:CLASS of the memory that completes the observations (`asobiba.learn.memory`); "" for none.
    """

    def __init__(self, network: Network, name: str = "network", portable: Agent | None = None, memory: str = ""):
        self.network, self.name, self._portable = network, name, portable
        self._kind = memory_class(memory) if memory else None
        self._memory: Memory | None = None
        widest = int(max(network.layers["inputs"].max(), network.layers["outputs"].max()))
        self._scratch = np.zeros(network.size, np.float32)
        self._active = np.zeros(widest, np.int64)
        self._ruleset: Ruleset | None = None

    @property
    def remembers(self) -> bool:
        """Whether it must see every observation of a game."""
        return self._kind is not None and not is_stateless(self._kind)

    @property
    def same_in_batches(self) -> bool:
        return not self.remembers

    def prepare(self, ruleset: Ruleset) -> None:
        network = self.network
        inputs = ruleset.observation_size + (0 if self._kind is None else self._kind(ruleset, 1).size)
        if not ruleset.discrete or (network.inputs, network.actions) != (inputs, ruleset.num_actions):
            raise PolicyFileError(
                f"{self.name} reads observations of {network.inputs} numbers and chooses among {network.actions} actions, but "
                f"{ruleset} has observations {ruleset.observation_space.shape} and {ruleset.action_space}"
            )

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        if ruleset != self._ruleset:
            self.prepare(ruleset)
            self._ruleset = ruleset
        self._memory = None if self._kind is None else self._kind(ruleset, 1)

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        views = np.zeros(1, view.dtype)
        views[0] = view
        if self._ruleset is None:
            raise RuntimeError("reset(ruleset, seat, seed) comes before act")
        return int(self.choose(self._remembered(observe(self._ruleset, views)), legal[None])[0])

    def act_batch(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray | None:
        """Actions `(n,)` for view records `(n,)` and masks `(n, num_actions)`; each is what `act` answers. `None` with a
        memory, which must see all of a game.
        """
        if self._ruleset is None:
            raise RuntimeError("reset(ruleset, seat, seed) comes before act_batch")
        return None if self.remembers else self.choose(self._remembered(observe(self._ruleset, views)), legal)

    def _remembered(self, observations: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        return observations if self._memory is None else self._memory.look(observations, rows)

    def begin_rows(self, ruleset: Ruleset, count: int, seed: int) -> None:
        """Begins `count` games that are played side by side, each from one seat; `act_rows` then answers for some of them."""
        self.reset(ruleset, 0, seed)
        self._memory = None if self._kind is None else self._kind(ruleset, count)

    def act_rows(
        self, views: np.ndarray, legal: np.ndarray, seats: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Actions `(k,)` in the games `rows` `(k,)`, and the actions `(k,)` that it would choose without the mask.

        Args:
            views: records `(k,)`; `legal`: masks `(k, num_actions)`; `seats`: its seats `(k,)`.
        """
        if self._ruleset is None:
            raise RuntimeError("begin_rows(ruleset, count, seed) comes before act_rows")
        return self._answers(self._remembered(observe(self._ruleset, views, seats), rows), legal)

    def choose(self, observations: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Actions `(n,)` int64 for what the network reads, `(n, inputs)`, and masks `(n, num_actions)`."""
        return self._answers(observations, legal)[0]

    def _answers(self, observations: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The choices with the masks and without them, `(n,)` int64 each."""
        actions, unmasked = np.zeros((2, len(observations)), np.int64)
        network = self.network
        _choose(
            network.layers, network.weights, network.policy, np.ascontiguousarray(observations, np.float32),
            np.ascontiguousarray(legal, np.int8), self._scratch, self._active, actions, unmasked,
        )  # fmt: skip
        return actions, unmasked

    def thinking(self, ruleset: Ruleset) -> Thinking | None:
        """The compiled form, for targets without Python; `None` with a memory."""
        self.prepare(ruleset)
        if self._kind is not None:
            return None
        if self._portable is not None:
            return self._portable.thinking(ruleset)
        return network_thinking(ruleset, self.network)


@compiled()
def _choose(layers, weights, policy, observations, masks, scratch, active, actions, unmasked):
    """The legal action with the greatest logit for each row, and the action with the greatest of all."""
    inputs = observations.shape[1]
    for n in range(len(actions)):
        scratch[:inputs] = observations[n]
        forward(layers, weights, scratch, active)
        best = -1
        greatest = 0
        for action in range(masks.shape[1]):
            if scratch[policy + action] > scratch[policy + greatest]:
                greatest = action
            if masks[n, action] != 0 and (best < 0 or scratch[policy + action] > scratch[policy + best]):
                best = action
        actions[n], unmasked[n] = best, greatest

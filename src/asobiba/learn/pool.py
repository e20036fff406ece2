"""A pool of opponents for a learner, so that it does not go round in circles.

It holds the learner's earlier selves, exploiters (policies that were trained against one of these selves alone, and beat
it), and anchors: agents that stay as they are. Every episode draws one of them: the latest self, any of them, or, in
prioritised fictitious self-play, those that the learner still loses to (weight `(1 - p) ** power`, `p` the learner's score
against it). An opponent is exchanged when an episode begins and never within one.

Sources: J. Heinrich, M. Lanctot, D. Silver, "Fictitious Self-Play in Extensive-Form Games", ICML 2015; O. Vinyals and
others, "Grandmaster level in StarCraft II using multi-agent reinforcement learning", Nature 575, 2019 (the prioritised
weights, the exploiters).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import cloudpickle
import numpy as np

from asobiba.core.agents import Agent, make_agent
from asobiba.core.game import Ruleset
from asobiba.learn.agent import PolicyAgent
from asobiba.learn.members import Member, Roster


class Pool(Roster, Agent):
    """Opponents, one of them in each game; plays at random while there is none.

    Args:
        ruleset: the game.
        count: the number of games it may play in.
        weights, keep, power, anchors: as for `Roster`.
        seed: of the draws.
    """

    name = "pool"

    def __init__(
        self,
        ruleset: Ruleset,
        count: int,
        weights: Mapping[str, Any],
        keep: int = 20,
        power: float = 2.0,
        seed: int = 0,
        anchors: Sequence[str] = (),
    ):
        super().__init__(weights, keep, power, anchors)
        self.ruleset = ruleset
        self.exploited = 0
        """After how many steps the last exploiter was trained."""
        self.playing: list[Member | None] = [None] * count
        """The opponent in each game."""
        self.met: list[Member | None] = [None] * count
        """The opponent in the game whose result is still to be told."""
        self._models = {text: make_agent(ruleset.game, text) for text in anchors}
        self._anchors: dict[tuple[str, int, int], Agent] = {}  # anchor, game, seat
        self._told = np.ones(count, bool)
        self._seeds = np.zeros(count, np.uint64)
        self._generator = np.random.Generator(np.random.Philox(key=[seed, 0x9001]))

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        """Nothing: games are begun with `begin_in`."""

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        raise TypeError("a pool plays in the games of a training; it is no agent of a match")

    def add(self, policy: Any, steps: int) -> None:
        """Keeps a copy of the learner's policy."""
        self.keep_self(self._player(policy, f"{steps}"), steps)

    def add_exploiter(self, policy: Any, steps: int) -> None:
        """Keeps a copy of a policy that beat the learner after so many of its steps."""
        self.keep_exploiter(self._player(policy, "exploiter"), steps)

    def _player(self, policy: Any, name: str) -> PolicyAgent:
        player = PolicyAgent(cloudpickle.loads(cloudpickle.dumps(policy)), name, deterministic=False, quick=True)
        player.policy.set_training_mode(False)
        player.begin(self.ruleset, (0,), (int(self._generator.integers(2**62)),))
        return player

    def begin_in(self, games: np.ndarray, seat: int, seeds: np.ndarray) -> None:
        """New episodes of these seeds `(k,)` in these games `(k,)`: an opponent is drawn for each, for all its seats."""
        for game, seed in zip(games.tolist(), seeds.tolist(), strict=True):
            if seed != self._seeds[game]:  # else it is another seat of the same episode
                self._seeds[game] = seed
                if self._told[game]:  # what is dealt again before the learner's first move has no result
                    self.met[game], self._told[game] = self.playing[game], False
                self.playing[game] = self.drawn(self._generator)
            member = self.playing[game]
            if member is not None and member.player is None:
                key = member.name, game, seat
                if key not in self._anchors:
                    self._anchors[key] = copy.deepcopy(self._models[member.name])
                self._anchors[key].begin(self.ruleset, (seat,), (seed,))

    def act_in(self, games: np.ndarray, seat: int, views: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Actions `(k,)` for view records and masks of a seat in these games; one pass of the network for each opponent."""
        actions = np.zeros((len(games), *self.ruleset.actions_shape[1 if self.ruleset.simultaneous else 0 :]))
        actions = actions.astype(self.ruleset.action_dtype)
        opponents = [self.playing[game] for game in games.tolist()]
        for one in {id(opponent): opponent for opponent in opponents}.values():
            rows = np.flatnonzero([opponent is one for opponent in opponents])
            if one is None:
                actions[rows] = self._random(legal[rows])
            elif one.player is not None:
                actions[rows] = one.player.act_batch(views[rows], legal[rows])
            else:
                for row in rows.tolist():
                    actions[row] = self._anchors[one.name, int(games[row]), seat].act(views[row], legal[row])
        return actions

    def _random(self, legal: np.ndarray) -> np.ndarray:
        if legal.shape[1:] == (0,):  # continuous actions
            space: Any = self.ruleset.action_space
            return self._generator.uniform(space.low, space.high, (len(legal), *space.shape)).astype(space.dtype)
        return (legal * self._generator.random(legal.shape)).argmax(1)

    def record(self, game: int, gain: float) -> None:
        """The learner got this from the game that has just ended and been replaced by the next one."""
        member, self._told[game] = self.met[game], True
        if member is not None:
            member.record(gain)

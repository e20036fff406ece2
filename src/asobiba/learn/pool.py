"""A pool of the learner's earlier selves to play against, so that it does not go round in circles.

Every episode draws one of them: the latest, any of them, or, in prioritised fictitious self-play, those that the learner
still loses to (weight `(1 - p) ** power`, `p` the learner's score against it). An opponent is exchanged when an episode
begins and never within one.

Sources: J. Heinrich, M. Lanctot, D. Silver, "Fictitious Self-Play in Extensive-Form Games", ICML 2015; O. Vinyals and
others, "Grandmaster level in StarCraft II using multi-agent reinforcement learning", Nature 575, 2019 (the prioritised
weights).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cloudpickle
import numpy as np

from asobiba.core.agents import Agent
from asobiba.core.game import Ruleset
from asobiba.learn.agent import PolicyAgent

_PRIOR = 4
"""Drawn games that every opponent is thought to have played before."""
_FADING = 0.995
"""A result counts so much less with each later one against the same opponent: the learner changes."""


@dataclass
class Member:
    """An earlier self: after how many steps it was kept, who plays it, and what the learner scored against it."""

    steps: int
    player: PolicyAgent
    games: float = 0.0
    points: float = 0.0

    @property
    def score(self) -> float:
        """The learner's score against it."""
        return (self.points + _PRIOR / 2) / (self.games + _PRIOR)


class Pool(Agent):
    """The earlier selves of a learner, one of them in each game; plays at random while there is none.

    Args:
        ruleset: the game.
        count: the number of games it may play in.
        weights: `latest`, `uniform`, `prioritised`: how often an opponent is drawn in which way, in proportion.
        keep: so many selves at most; of more, the one goes whose neighbours are nearest in steps (never the first or last).
        power: of the prioritised weights.
        seed: of the draws.
    """

    name = "pool"

    def __init__(
        self, ruleset: Ruleset, count: int, weights: dict[str, float], keep: int = 20, power: float = 2.0, seed: int = 0
    ):
        self.ruleset, self.keep, self.power = ruleset, keep, power
        self.weights = np.array([weights[name] for name in ("latest", "uniform", "prioritised")], float)
        self.members: list[Member] = []
        self.playing: list[Member | None] = [None] * count
        """The opponent in each game."""
        self.met: list[Member | None] = [None] * count
        """The opponent in the game whose result is still to be told."""
        self._told = np.ones(count, bool)
        self._seeds = np.zeros(count, np.uint64)
        self._generator = np.random.Generator(np.random.Philox(key=[seed, 0x9001]))

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        """Nothing: games are begun with `begin_in`."""

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        raise TypeError("a pool plays in the games of a training; it is no agent of a match")

    def add(self, policy: Any, steps: int) -> None:
        """Keeps a copy of the learner's policy."""
        player = PolicyAgent(cloudpickle.loads(cloudpickle.dumps(policy)), f"{steps}", deterministic=False)
        player.policy.set_training_mode(False)
        player.begin(self.ruleset, (0,), (int(self._generator.integers(2**62)),))
        self.members.append(Member(steps, player))
        while len(self.members) > self.keep:
            gaps = [self.members[k + 1].steps - self.members[k - 1].steps for k in range(1, len(self.members) - 1)]
            del self.members[1 + int(np.argmin(gaps)) if gaps else 0]

    def _drawn(self) -> Member | None:
        if not self.members:
            return None
        way = self._generator.choice(3, p=self.weights / self.weights.sum())
        if way == 0:
            return self.members[-1]
        if way == 1:
            return self.members[int(self._generator.integers(len(self.members)))]
        weights = np.array([(1 - member.score) ** self.power for member in self.members])
        return self.members[int(self._generator.choice(len(weights), p=weights / weights.sum()))]

    def begin_in(self, games: np.ndarray, seat: int, seeds: np.ndarray) -> None:
        """New episodes of these seeds `(k,)` in these games `(k,)`: an opponent is drawn for each, for all its seats."""
        for game, seed in zip(games.tolist(), seeds.tolist(), strict=True):
            if seed == self._seeds[game]:
                continue  # another seat of the same episode
            self._seeds[game] = seed
            if self._told[game]:  # what is dealt again before the learner's first move has no result
                self.met[game], self._told[game] = self.playing[game], False
            self.playing[game] = self._drawn()

    def act_in(self, games: np.ndarray, views: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Actions `(k,)` for view records and masks in these games; one pass of the network for each opponent."""
        actions = np.zeros((len(games), *self.ruleset.actions_shape[1 if self.ruleset.simultaneous else 0 :]))
        actions = actions.astype(self.ruleset.action_dtype)
        opponents = [self.playing[game] for game in games.tolist()]
        for one in {id(opponent): opponent for opponent in opponents}.values():
            rows = np.array([opponent is one for opponent in opponents])
            actions[rows] = self._random(legal[rows]) if one is None else one.player.act_batch(views[rows], legal[rows])
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
            member.games = _FADING * member.games + 1
            member.points = _FADING * member.points + 0.5 + 0.5 * float(np.sign(gain))

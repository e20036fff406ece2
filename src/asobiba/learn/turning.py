"""Symmetries of a game as augmentation in training: every episode is seen through one of them, drawn at random.

A learner then meets each position in all its images. What the game declares (`Game.symmetries`) is held to its rules by
the conformance tests. Opponents, and the policy in matches, see the game as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from asobiba.core.errors import GameParameterError
from asobiba.core.game import Ruleset
from asobiba.core.symmetry import Symmetry


class Turns(NamedTuple):
    """The identity and the game's symmetries, one row each: `observation` `(k, size)` and `actions` `(k, actions)`
    int64; `signs` `(k, size)` int8, `None` where all are 1.
    """

    observation: np.ndarray
    actions: np.ndarray
    signs: np.ndarray | None = None

    @classmethod
    def of(cls, ruleset: Ruleset) -> Turns:
        """The symmetries of a ruleset."""
        found = ruleset.game.symmetries(ruleset) if ruleset.game.symmetries else ()
        return cls(
            np.stack([np.arange(ruleset.observation_size), *(one.observation for one in found)]),
            np.stack([np.arange(ruleset.num_actions), *(one.actions for one in found)]),
            None if all(one.signs is None for one in found) else _signs(ruleset.observation_size, found),
        )

    def seen(self, observations: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Observations `(n, size)`, each through the image of its row `(n,)`."""
        found = np.take_along_axis(observations, self.observation[rows], 1)
        return found if self.signs is None else found * self.signs[rows]

    def turned(self, actions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Actions `(n,)` of the game itself as actions of the images `rows` `(n,)`."""
        return np.argsort(self.actions, 1)[rows, actions]


def _signs(size: int, found: Sequence[Symmetry]) -> np.ndarray:
    plain = np.ones(size, np.int8)
    return np.stack([plain, *(plain if one.signs is None else one.signs for one in found)])


class Turning:
    """The image through which each of `n` games is seen; a new one for every episode.

    Args:
        ruleset: a game of discrete actions that declares symmetries.
        num_envs: the number of games.
        seed: of the draws.

    Raises:
        GameParameterError: for a game without symmetries, or without any for its parameters.
    """

    def __init__(self, ruleset: Ruleset, num_envs: int, seed: int):
        self.turns = Turns.of(ruleset)
        if len(self.turns.actions) == 1:
            raise GameParameterError(f"{ruleset} declares no symmetries")
        self._generator = np.random.Generator(np.random.Philox(key=[seed, 0x5EE]))
        self.rows = np.zeros(num_envs, np.int64)
        self.draw(np.ones(num_envs, bool))

    def draw(self, games: np.ndarray) -> None:
        """New images for these games, `(n,)` bool."""
        self.rows[games] = self._generator.integers(len(self.turns.actions), size=int(games.sum()))

    def seen(self, observations: np.ndarray) -> np.ndarray:
        """Observations `(n, size)` as the learner sees them."""
        return self.turns.seen(observations, self.rows)

    def seen_one(self, game: int, observation: np.ndarray) -> np.ndarray:
        """The observation `(size,)` of one game."""
        return self.turns.seen(observation[None], self.rows[game : game + 1])[0]

    def masks(self, masks: np.ndarray) -> np.ndarray:
        """Masks `(n, actions)` as the learner sees them."""
        return np.take_along_axis(masks, self.turns.actions[self.rows], 1)

    def meant(self, actions: np.ndarray) -> np.ndarray:
        """The learner's actions `(n,)` as actions of the games themselves."""
        return self.turns.actions[self.rows, actions]

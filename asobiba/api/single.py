"""One game in the compiled engine, as the environments of one game at a time hold it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from asobiba.core import states
from asobiba.core.game import Game, Ruleset
from asobiba.core.laws import SUMMARY_MOVER, SUMMARY_OVER
from asobiba.core.registry import game as find_game


def as_ruleset(game: Game | Ruleset | str, parameters: Mapping[str, Any] | None = None) -> Ruleset:
    """The ruleset that is meant by a game, its name, or a ruleset.

    Raises:
        UnknownGame, GameParameterError: with the nearest names.
    """
    if isinstance(game, Ruleset):
        return game if not parameters else game.game.ruleset(**{**game.parameters, **parameters})
    return (find_game(game) if isinstance(game, str) else game).ruleset(**(parameters or {}))


def fresh_seed(generator: np.random.Generator | None = None) -> int:
    """A seed for a game, from a generator or from the operating system."""
    return int((generator or np.random.default_rng()).integers(2**63))


class SingleGame:
    """What every environment of one game can do with its state; the base of the single-game adaptors."""

    ruleset: Ruleset

    def _allocate(self, ruleset: Ruleset) -> None:
        self.ruleset = ruleset
        self._states = ruleset.zeros()
        self._masks = np.zeros((1, *ruleset.mask_shape), np.int8)
        self._observations = np.zeros((1, *ruleset.observations_shape), ruleset.observation_space.dtype)
        self._params = ruleset.params
        self._seeded = False
        self._summary = SUMMARY_OVER
        self._bind()

    def _bind(self) -> None:
        # Views and compiled functions, which are not copied or pickled.
        self._engine = self.ruleset.engine
        self._blank = self.ruleset.zeros()
        self._mask = self._masks[0]
        self._observation = self._observations[0]
        self._rewards = self._states["rewards"][0]

    def _seed(self, seed: int | None) -> None:
        if seed is None and not self._seeded:
            seed = fresh_seed()
        if seed is not None:
            self._engine.seed_one(self._states, 0, states.as_seed(seed), 0)
            self._seeded = True

    @property
    def record(self) -> np.void:
        """A copy of the state record."""
        return self._states[0].copy()

    def _reported(self, seat: int) -> dict[str, Any]:
        # What `Layout.info` names, of one seat.
        return {name: self._states[field][0][seat].copy() for name, field in self.ruleset.layout.info.items()}

    def set_state(self, state: np.void) -> None:
        """Continues from a copy of this state record (of `record`, `view_of`, `resample` or `from_bytes`).

        Raises:
            StateBytesError: if it is no state of these rules.
        """
        if getattr(state, "dtype", None) != self.ruleset.dtype:
            raise states.StateBytesError(f"this is no state of {self.ruleset!r}: {state!r}")
        self._states[0] = state
        self._seeded = True
        self._summary = self._engine.refresh_one(self._states, 0, self._params, self._masks, self._observations)

    def state_bytes(self) -> bytes:
        """The state as bytes, with a header that names the game, its version and its parameters."""
        return states.state_bytes(self.ruleset, self._states[0])

    def load_bytes(self, data: bytes) -> None:
        """Continues from what `state_bytes` wrote.

        Raises:
            StateBytesError: if these bytes are no state of these rules.
        """
        self.set_state(states.from_bytes(self.ruleset, data))

    def view(self, seat: int) -> np.void:
        """The state as `seat` may see it; what it may not know is blank."""
        return states.view_of(self.ruleset, self._states[0], seat)

    def resample(self, seat: int, seed: int) -> np.void:
        """A full state consistent with what `seat` knows; nothing else of the true state is in it."""
        return states.resample(self.ruleset, self._states[0], seat, seed)

    def clone(self) -> Any:
        """An environment that shares nothing with this one and continues identically."""
        return copy.deepcopy(self)

    @property
    def to_move(self) -> int:
        """The seat to act, or -1 where all act at once."""
        return (self._summary & SUMMARY_MOVER) - 1

    _DERIVED = ("_engine", "_blank", "_mask", "_observation", "_rewards")

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in self._DERIVED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

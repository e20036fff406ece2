"""One game in the compiled engine, as the single-game environments hold it: a batch of one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from sys import getrefcount
from typing import Any

import numpy as np

from asobiba.api.batch import Batch
from asobiba.core import states
from asobiba.core.direct import Direct
from asobiba.core.errors import IllegalAction
from asobiba.core.game import Game, Ruleset
from asobiba.core.laws import (
    SUMMARY_MOVER,
    SUMMARY_OVER,
    SUMMARY_REASON_SHIFT,
    SUMMARY_REWARDED,
    SUMMARY_TERMINATED,
    SUMMARY_TRUNCATED,
)
from asobiba.core.loops.games import BEGIN, STEP
from asobiba.core.registry import game as find_game


def as_ruleset(game: Game | Ruleset | str, parameters: Mapping[str, Any] | None = None) -> Ruleset:
    """Returns the ruleset for a game, its name, or a ruleset.

    Raises:
        UnknownGame, GameParameterError: with the nearest names.
    """
    if isinstance(game, Ruleset):
        return game if not parameters else game.game.ruleset(**{**game.parameters, **parameters})
    return (find_game(game) if isinstance(game, str) else game).ruleset(**(parameters or {}))


def fresh_seed(generator: np.random.Generator | None = None) -> int:
    """A seed for a game, from a generator or from the operating system."""
    return int((generator or np.random.default_rng()).integers(2**63))


class Shown:
    """One of a ring of places in which a step leaves mask and observation for the caller, and functions that do so.

    Copying them in compiled code and giving out the same arrays again costs less than making new ones. Arrays that a
    caller still holds are replaced first.
    """

    __slots__ = ("_direct", "begin", "free", "mask", "next", "observation", "step")

    def __init__(self, direct: Direct) -> None:
        self._direct = direct
        self.step, self.begin = direct.calls
        self.next = self
        self.observation, self.mask = direct.copies
        self.free = getrefcount(self.mask)
        """The count of references to an array that no caller holds."""

    def renew(self) -> None:
        """Leaves its arrays to those who hold them."""
        self._direct.renew()
        self.observation, self.mask = self._direct.copies


_RING = 4
"""So many steps back a caller holds arrays without a cost, such as one observation of each of several players."""


class SingleGame:
    """State methods of every environment of one game; the base of the single-game adaptors."""

    ruleset: Ruleset
    _batch: Batch

    def _allocate(self, batch: Batch) -> None:
        """Sets the batch of one game that holds the state."""
        self.ruleset = batch.ruleset
        self._batch = batch
        self._seeded = False
        self._summary = SUMMARY_OVER
        self._bind()

    def _bind(self) -> None:
        # Views; they are not copied or pickled.
        batch = self._batch
        self._states, self._masks, self._observations = batch.states, batch.masks, batch.observations
        self._mask = batch.masks[0]
        self._observation = batch.observations[0]
        self._rewards = batch.outcomes["rewards"][0]  # of the last step
        # A memoryview reads and writes Python numbers three times as fast as an array.
        whole = self.ruleset.discrete and not self.ruleset.simultaneous
        actions: Any = batch.actions
        self._number = memoryview(actions) if whole else None
        self._go: Callable[[Any], int] = self._first_step
        self._deal: Callable[[Any], int] | None = None
        self._shown: Shown | None = None

    def _first_step(self, action: None) -> int:
        """The first step; later ones are the bound loop itself."""
        (self._go,) = self._batch.direct(STEP).calls
        return self._go(None)

    def _begin(self) -> Shown | None:
        """Begins an episode; returns what it shows if steps are taken in a ring of places."""
        shown = self._shown
        if shown is None:
            if self._deal is None:
                (self._deal,) = self._batch.direct(BEGIN).calls
            self._summary = self._deal(None)
            return None
        self._shown = shown = shown.next
        if getrefcount(shown.observation) > shown.free or getrefcount(shown.mask) > shown.free:
            shown.renew()
        self._summary = shown.begin(0)
        return shown

    def _show(self) -> None:
        """From now on masks and observations are left in a ring of places."""
        sources = self._observation, self._mask
        direct = self._batch.direct(STEP, BEGIN, action=True, sources=sources)
        ring = [Shown(direct), *(Shown(direct.twin()) for _ in range(_RING - 1))]
        for one, following in zip(ring, ring[1:] + ring[:1]):
            one.next = following
        self._shown = ring[0]

    def _act(self, action: Any) -> None:
        """Puts an action (in the form of the action space) where the loop reads it."""
        if self._number is None:
            self._batch.actions[0] = action
            return
        try:
            self._number[0] = action
        except (OverflowError, ValueError):
            raise self._no_action(action) from None

    def _advance(self, action: Any) -> None:
        self._act(action)
        self._summary = self._go(None)

    def _no_action(self, action: Any) -> IllegalAction:
        return IllegalAction(f"{action} is too large to be an action of {self.ruleset.game.name}")

    def _seed(self, seed: int | None) -> None:
        if seed is None and not self._seeded:
            seed = fresh_seed()
        if seed is not None:
            self._batch.seed(seed)
            self._seeded = True

    @property
    def record(self) -> np.void:
        """A copy of the state record."""
        return self._states[0].copy()

    def _reported(self, seat: int) -> dict[str, Any]:
        # The values named by `Layout.info`, of one seat.
        return {name: self._states[field][0][seat].copy() for name, field in self.ruleset.layout.info.items()}

    def set_state(self, state: np.void) -> None:
        """Continues from a copy of this state record (of `record`, `resample` or `from_bytes`).

        Raises:
            StateBytesError: if it is not a state of these rules.
        """
        self._batch.set_states(state)
        self._seeded = True
        self._look()

    def _look(self) -> None:
        # The summary that `run` returns, after the state was changed in another way.
        state = self._states[0]
        self._summary = (
            (int(state["to_move"]) + 1)
            | (SUMMARY_TERMINATED if state["terminated"] else 0)
            | (SUMMARY_TRUNCATED if state["truncated"] else 0)
            | (SUMMARY_REWARDED if state["rewards"].any() else 0)
            | (int(state["end_reason"]) << SUMMARY_REASON_SHIFT)
        )

    def state_bytes(self) -> bytes:
        """The state as bytes, with a header that names the game, its version and its parameters."""
        return states.state_bytes(self.ruleset, self._states[0])

    def load_bytes(self, data: bytes) -> None:
        """Continues from the bytes that `state_bytes` returned.

        Raises:
            StateBytesError: if these bytes are not a state of these rules.
        """
        self.set_state(states.from_bytes(self.ruleset, data))

    def view(self, seat: int) -> np.void:
        """The state as `seat` may see it; hidden fields are blank."""
        return states.view_of(self.ruleset, self._states[0], seat)

    def resample(self, seat: int, seed: int) -> np.void:
        """A full state consistent with the knowledge of `seat`; it holds nothing else of the true state."""
        return states.resample(self.ruleset, self._states[0], seat, seed)

    def clone(self) -> Any:
        """An environment that shares nothing with this one and continues identically."""
        return copy.deepcopy(self)

    @property
    def to_move(self) -> int:
        """The seat to act, or -1 where several may act at once."""
        return (self._summary & SUMMARY_MOVER) - 1

    _DERIVED: tuple[str, ...] = (
        "_states",
        "_masks",
        "_observations",
        "_mask",
        "_observation",
        "_rewards",
        "_number",
        "_go",
        "_deal",
        "_shown",
    )

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in self._DERIVED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

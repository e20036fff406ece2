"""The history of a position as each player saw it: the basis of OpenSpiel's information states."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from asobiba.core import states
from asobiba.core.errors import GameParameterError
from asobiba.core.game import Ruleset


@dataclass(frozen=True, eq=False)
class Moment:
    """A position, and the moments before it. It never changes, so all states that follow from it share it.

    Args:
        record: the state record.
        before: the moment before; `None` at the start.
        done: the actions taken in it: player -> action.
        views: per player, the bytes of his view.
        knows: per player, a digest of all his views and actions.
        imagined_by: the player from whose knowledge the position was drawn; earlier views of the others are not known.
    """

    record: np.void
    before: Moment | None
    done: Mapping[int, int]
    views: tuple[bytes, ...]
    knows: tuple[bytes, ...]
    imagined_by: int | None = None

    def __deepcopy__(self, memo: dict) -> Moment:
        return self

    def after(self, ruleset: Ruleset, done: Mapping[int, int], record: np.void) -> Moment:
        """The moment after these actions. What a player knows changes where he acted, or where he sees a change."""
        views = _views(ruleset, record)
        knows = list(self.knows)
        for player, view in enumerate(views):
            if player in done:
                knows[player] = _digest(knows[player], b"did", str(done[player]).encode())
            if view != self.views[player]:
                knows[player] = _digest(knows[player], b"saw", view)
        return Moment(record, self, dict(done), views, tuple(knows))

    def imagined(self, ruleset: Ruleset, player: int, record: np.void) -> Moment:
        """The same moment for `player`, with everything hidden from him drawn anew."""
        views = list(_views(ruleset, record))
        knows = [self.knows[k] if k == player else _digest(b"imagined", view) for k, view in enumerate(views)]
        views[player] = self.views[player]
        return Moment(record, self.before, self.done, tuple(views), tuple(knows), player)

    def way(self, player: int) -> list[tuple[int | None, np.void]]:
        """A player's actions (`None`: none) and the records seen after each, in order, from the start."""
        steps: list[tuple[int | None, np.void]] = []
        moment: Moment | None = self
        while moment is not None:
            before = moment.before if moment.imagined_by in (None, player) else None
            action = moment.done.get(player) if before is not None else None
            if before is None or action is not None or moment.views[player] != before.views[player]:
                steps.append((action, moment.record))
            moment = before
        return steps[::-1]


def begin(ruleset: Ruleset, record: np.void) -> Moment:
    """The first moment of a game."""
    views = _views(ruleset, record)
    return Moment(record, None, {}, views, tuple(_digest(view) for view in views))


def _views(ruleset: Ruleset, record: np.void) -> tuple[bytes, ...]:
    if not ruleset.hidden and not ruleset.chance:
        return (record.tobytes(),) * ruleset.num_players
    return tuple(states.view_of(ruleset, record, player).tobytes() for player in range(ruleset.num_players))


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(4, "little") + part)
    return digest.digest()


def tensor_shape(ruleset: Ruleset, horizon: int) -> tuple[int, int]:
    """The shape of an information-state tensor: see `SpielObserver`."""
    return horizon + 1, 1 + ruleset.num_actions + ruleset.observation_size


class SpielObserver:
    """The learning observation of a game, by its named channels; or, with perfect recall, all of them in order.

    An information-state tensor has a row for each time that the player acted or saw a change, the first at the start:
    1, the action that he did before it (one-hot), the observation after it. Rows that are not there yet are zero.

    Args:
        ruleset: the game.
        horizon: the longest game, for perfect recall; `None` shows the present observation only.
        params: must be empty.
    """

    def __init__(self, ruleset: Ruleset, horizon: int | None = None, params: dict[str, Any] | None = None):
        if params:
            raise GameParameterError(f"the observer of {ruleset.game.name} takes no parameters, not {params}")
        self._ruleset, self._recall = ruleset, horizon is not None
        if horizon is None:
            self.tensor = np.zeros(ruleset.observation_size, np.float32)
            self.dict = ruleset.channels(self.tensor)
        else:
            shape = tensor_shape(ruleset, horizon)
            self.tensor = np.zeros(shape[0] * shape[1], np.float32)
            self.dict = {"way": self.tensor.reshape(shape)}

    def set_from(self, state: Any, player: int) -> None:
        self.tensor.fill(0)
        moment = state.moment
        if moment is None:
            return  # nothing is dealt yet
        if not self._recall:
            self.tensor[:] = states.observation(self._ruleset, moment.record, player)
            return
        for row, (action, record) in zip(self.dict["way"], moment.way(player), strict=False):
            row[0] = 1
            if action is not None:
                row[1 + action] = 1
            row[1 + self._ruleset.num_actions :] = states.observation(self._ruleset, record, player)

    def string_from(self, state: Any, player: int) -> str:
        if self._recall:
            return state.information_state_string(player)
        self.set_from(state, player)
        parts = (f"{name}:{' '.join(f'{x:g}' for x in values.ravel())}" for name, values in self.dict.items())
        return f"player {player} {'; '.join(parts)}"

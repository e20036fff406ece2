"""State records: the header every game shares, and dtypes without hidden padding."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

RUNNING, BY_RULES, ILLEGAL_ACTION, STEP_LIMIT = 0, 1, 2, 3
END_REASONS = ("running", "rules", "illegal action", "truncation")
EVERYBODY = -1
"""`to_move` where several players decide at once."""

Field = tuple

HEADER = ("rng_key", "rng_counter", "rewards", "steps", "to_move", "terminated", "truncated", "end_reason")
"""The header fields of every game, in order; `acting`, `left` and `faults` follow where a game declares them."""


def header(players: int, *, some: bool = False, leaves: bool = False, replaces: bool = False) -> list[Field]:
    """The fields that every state begins with.

    `rng_key`, `rng_counter`: the random number generator. `rewards`: each player's reward for the last step.
    `steps`: actions so far. `to_move`: the player to act, or -1 where several act at once; in a game that an illegal
    action ended, its culprit. `terminated`, `truncated`: as in Gymnasium. `end_reason`: index into `END_REASONS`.

    Args:
        players: number of rows of the fields with one row per player.
        some: adds `acting` (uint8 for each player): the players who act now, in games whose rules decide it.
        leaves: adds `left` (uint8 for each player): the players who are out of the game for the rest of it.
        replaces: adds `faults` (uint16 for each player): how many of his actions were replaced.
    """
    fields: list[Field] = [
        ("rng_key", np.uint64),
        ("rng_counter", np.uint64),
        ("rewards", np.float32, (players,)),
        ("steps", np.int32),
        ("to_move", np.int8),
        ("terminated", np.uint8),
        ("truncated", np.uint8),
        ("end_reason", np.uint8),
    ]
    if some:
        fields.append(("acting", np.uint8, (players,)))
    if leaves:
        fields.append(("left", np.uint8, (players,)))
    if replaces:
        fields.append(("faults", np.uint16, (players,)))
    return fields


def culprit(state: np.void) -> int | None:
    """Player whose fault ended the game of this final state, or `None`."""
    return int(state["to_move"]) if int(state["end_reason"]) == ILLEGAL_ACTION else None


def record_dtype(fields: Sequence[Field]) -> np.dtype:
    """A structured dtype with C alignment whose padding is made of named fields.

    Padding bytes would otherwise be free to differ between two equal states; as fields they are copied, compared and
    zero like the rest.

    Raises:
        TypeError: for a field whose name is an attribute of NumPy's records: without the compiler a kernel would read that.
    """
    for field in fields:
        if hasattr(np.record, field[0]):
            raise TypeError(f"rename field {field[0]!r}: NumPy's records have an attribute of that name")
    names, formats, offsets = [], [], []
    offset, largest = 0, 1

    def pad(alignment: int) -> None:
        nonlocal offset
        gap = -offset % alignment
        if gap:
            names.append(f"_pad{offset}")
            formats.append(np.dtype((np.uint8, (gap,))))
            offsets.append(offset)
            offset += gap

    for field in fields:
        name, base = field[0], np.dtype(field[1])
        shape = tuple(field[2]) if len(field) > 2 else ()
        pad(base.alignment)
        largest = max(largest, base.alignment)
        names.append(name)
        formats.append(np.dtype((base, shape)) if shape else base)
        offsets.append(offset)
        offset += formats[-1].itemsize
    pad(largest)
    dtype = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": offset, "aligned": True})
    # Without the compiler, kernels read fields as attributes of Python objects.
    return np.dtype((np.record, dtype)) if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else dtype


def outcome_dtype(players: int) -> np.dtype:
    """The dtype of the outcome of a batch's step, one record per game: see the attributes of `asobiba.api.Batch`."""
    return record_dtype(
        [
            ("rewards", np.float32, (players,)),
            ("gain", np.float32),
            ("mover", np.int8),
            ("terminated", np.bool_),
            ("truncated", np.bool_),
            ("end_reason", np.uint8),
        ]
    )


SAMPLER = record_dtype([("rng_key", np.uint64), ("rng_counter", np.uint64), ("alone", np.uint8)])
"""A generator alone. Its last field prevents it from being the prefix of every other record; Numba would warn about
such a subtype."""

CONTROL = record_dtype(
    [("rng_key", np.uint64), ("rng_counter", np.uint64), ("seat", np.int64), ("seat_choice", np.int64)]
)
"""Control of a learner's episodes: the seat, and the generator that draws it and the opponents' seeds."""

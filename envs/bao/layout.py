"""The `Layout` of a Bao game from its parameters: the starting board, the sowing table, the record's fields."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from asobiba.core import GameParameterError, Layout
from asobiba.envs.bao import rules

ENDLESS = {"illegal": rules.ILLEGAL, "loses": rules.LOSES, "draws": rules.DRAWS}
REPETITION = {
    "off": rules.REPETITION_OFF,
    "draw": rules.REPETITION_DRAW,
    "first_loses": rules.REPETITION_FIRST_LOSES,
    "second_loses": rules.REPETITION_SECOND_LOSES,
}
STARTS = ("alternate", "full", "random")
SEEDS_IN_A_HOLE = 4
MOST_SEEDS = 128
MOST_HOLES = 16


def word_count(holes: int) -> int:
    """64-bit words of a board with `holes` holes in a row: each row has its own."""
    return 2 if holes <= 8 else 4


def slots(holes: int) -> np.ndarray:
    """The byte of every hole of the ring, clockwise from the first player's leftmost hole: `(2 * holes,)`."""
    return np.concatenate([np.arange(holes), np.arange(holes) + 4 * word_count(holes)])


def pack(counts) -> np.ndarray:
    """The board words of seeds per hole, clockwise from the first player's leftmost hole."""
    holes = len(counts) // 2
    packed = np.zeros(8 * word_count(holes), np.uint8)
    packed[slots(holes)] = counts
    return packed.view("<u8").astype(np.uint64)


def unpack(words, holes: int) -> list[int]:
    """Seeds per hole (`2 * holes` of them, clockwise) of board words."""
    return np.ascontiguousarray(words, "<u8").view(np.uint8)[slots(holes)].tolist()


def check_holes(holes: object) -> int:
    """`holes` if it makes a board. Raises `GameParameterError`."""
    if not isinstance(holes, (int, np.integer)) or isinstance(holes, bool) or holes % 2 or not 2 <= holes <= MOST_HOLES:
        raise GameParameterError(f"holes is the even number of holes in a row, from 2 to {MOST_HOLES}; got {holes!r}")
    return int(holes)


def parse_counts(text: str, holes: int | None = None) -> list[int]:
    """Seeds per hole, clockwise, of `0,4,0,4/0,4,0,4` (first player's row, then the second's).

    Raises:
        ValueError: with the reason.
    """
    rows = text.split("/")
    if len(rows) != 2:
        raise ValueError(f"a board is two rows joined by '/', such as 0,4,0,4/0,4,0,4; got {text!r}")
    counts = []
    for name, row in zip(("first", "second"), rows):
        for cell in row.split(","):
            if not re.fullmatch("-?[0-9]{1,6}", cell.strip()):
                raise ValueError(f"{cell!r} in the {name} player's row {row!r} is not a number of seeds")
            if int(cell) < 0:
                raise ValueError(f"a hole cannot hold {int(cell)} seeds (in the {name} player's row {row!r})")
            counts.append(int(cell))
    sizes = [row.count(",") + 1 for row in rows]
    if sizes[0] != sizes[1]:
        raise ValueError(f"both rows have the same number of holes; got {sizes[0]} and {sizes[1]} in {text!r}")
    if holes is not None and sizes[0] != holes:
        raise ValueError(f"this game has {holes} holes in a row; got {sizes[0]} in {text!r}")
    if sum(counts) > MOST_SEEDS:
        raise ValueError(f"a board holds at most {MOST_SEEDS} seeds; got {sum(counts)} in {text!r}")
    return counts


@lru_cache(maxsize=16)
def sowing_table(holes: int, total: int) -> np.ndarray:
    """`[hole, seeds]` -> the increment of each board word by one sowing of `seeds` seeds out of `hole` (modulo 2**64).

    Shape `(2 * holes, total + 1, words)`, `uint64`.
    """
    ring = 2 * holes
    slot = slots(holes)
    change = np.zeros((ring, total + 1, 8 * word_count(holes)), np.int64)
    for hole in range(ring):
        for seeds in range(total + 1):
            for k in range(1, seeds + 1):
                change[hole, seeds, slot[(hole + k) % ring]] += 1
            change[hole, seeds, slot[hole]] -= seeds
    table = np.zeros((ring, total + 1, word_count(holes)), np.uint64)
    with np.errstate(over="ignore"):
        for byte in range(change.shape[2]):
            table[:, :, byte // 8] += change[:, :, byte].astype(np.uint64) << np.uint64(8 * (byte % 8))
    return table


def starting_counts(holes: int, start: str) -> list[int] | None:
    """Seeds per hole of the starting board, or `None` where it is drawn at random."""
    if start == "alternate":
        return [0, SEEDS_IN_A_HOLE] * holes
    if start == "full":
        return [SEEDS_IN_A_HOLE] * (2 * holes)
    if start == "random":
        return None
    try:
        counts = parse_counts(str(start), holes)
    except ValueError as error:
        raise GameParameterError(f"start is one of {', '.join(STARTS)} or a board: {error}") from None
    if not any(counts[:holes]) or not any(counts[holes:]):
        raise GameParameterError(f"start {start!r} leaves a row empty: the game would be over before it begins")
    return counts


def layout(
    holes: int = 8,
    start: str = "alternate",
    endless: str = "illegal",
    repetition: str = "draw",
    occurrences: int = 3,
    max_steps: int = 400,
) -> Layout:
    """See the game's Arguments section."""
    holes = check_holes(holes)
    for name, value, known in (("endless", endless, ENDLESS), ("repetition", repetition, REPETITION)):
        if value not in known:
            raise GameParameterError(f"{name} is one of {', '.join(known)}; got {value!r}")
    if not isinstance(occurrences, (int, np.integer)) or not 2 <= occurrences <= 100:
        raise GameParameterError(f"occurrences is a number from 2 to 100; got {occurrences!r}")
    if not isinstance(max_steps, (int, np.integer)) or not 1 <= max_steps <= 30_000:
        raise GameParameterError(f"max_steps is a number from 1 to 30000; got {max_steps!r}")
    counts = starting_counts(holes, start)
    total = SEEDS_IN_A_HOLE * holes if counts is None else sum(counts)
    words = word_count(holes)
    return Layout(
        state=[
            ("board", np.uint64, (words,)),
            ("stores", np.uint8, (2,)),
            ("occurrences", np.uint8),
            ("outcome", np.uint8),
            ("last_hole", np.int8),
            ("last_end", np.int8),
            ("last_captured", np.uint8),
            ("moves", np.uint16),
            ("quiet", np.int16),
            ("history", np.uint64, (max_steps + 1 if repetition != "off" else 1, words)),
        ],
        parameters={
            "sow": sowing_table(holes, total),
            "start": pack(counts or [0] * (2 * holes)),
            "total": np.int32(total),
            "random_start": np.uint8(counts is None),
            "endless": np.uint8(ENDLESS[endless]),
            "repetition": np.uint8(REPETITION[repetition]),
            "occurrences": np.uint8(occurrences),
        },
        actions=holes,
        observation={"board": (2, holes), "stores": (2,), "occurrences": (1,), "to_move": (1,)},
        observation_dtype=np.uint8,
        observation_low=0,
        observation_high=MOST_SEEDS,
        max_steps=max_steps,
        chance=counts is None,
    )

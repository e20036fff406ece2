"""Canonical boards for solvers and searches: two 64-bit words, the mover's row first, one byte a hole.

Handing over the turn swaps the words. Boards of up to eight holes in a row fit; larger ones are for learners.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np

from asobiba.core import GameParameterError, kernel
from asobiba.core.record import record_dtype
from asobiba.envs.bao.layout import ENDLESS, check_holes, sowing_table
from asobiba.envs.bao.rules import ENDLESS_MOVE, sow_on

_ZERO = np.uint64(0)
_BYTE = np.uint64(0xFF)
_PREFIX = np.uint64(0x0101010101010101)
MOST_HOLES, MOST_SEEDS = 8, 64
NO_MOVE = -2
"""`play`: the hole holds no seeds."""


@lru_cache(maxsize=8)
def tables(holes: int, endless: str) -> np.ndarray:
    """The record that the kernels here take as `p`: `(1,)`, for boards of up to 64 seeds.

    `sow`: what a sowing adds to the board. `ways[i, s]`: the part that hole `i` of a row contributes to the row's rank
    when `s` seeds lie in holes 0 to i. `rows[m]`: the number of rows of `m` seeds. `start[n, m]`: the rank of the first
    board of `n` seeds whose mover's row holds `m`. `endless`: as in the rules.

    Raises:
        GameParameterError: for a board of more than eight holes in a row.
    """
    if check_holes(holes) > MOST_HOLES:
        raise GameParameterError(f"searches and solvers of Bao take boards of up to {MOST_HOLES} holes; got {holes}")
    total = MOST_SEEDS
    record = np.zeros(
        1,
        record_dtype(
            [
                ("sow", np.uint64, (2 * holes, total + 1, 2)),
                ("ways", np.int64, (8, total + 1)),
                ("rows", np.int64, (total + 1,)),
                ("start", np.int64, (total + 1, total + 2)),
                ("endless", np.int64),
            ]
        ),
    )
    record["sow"][0] = sowing_table(holes, total)
    record["endless"] = ENDLESS[endless]
    for m in range(total + 1):
        record["rows"][0, m] = comb(m + holes - 1, holes - 1)
        for i in range(holes - 1):
            record["ways"][0, i, m] = comb(m + i, i + 1)
    first = 0
    for n in range(total + 1):
        for m in range(n + 1):
            record["start"][0, n, m] = first
            first += comb(m + holes - 1, holes - 1) * comb(n - m + holes - 1, holes - 1)
        record["start"][0, n, n + 1 :] = first
    return record


@kernel
def row_sum(row):
    """Seeds of a row."""
    return np.int64((row * _PREFIX) >> np.uint64(56))


@kernel
def row_rank(p, row):
    """The place of a row among those of as many seeds (colexicographic)."""
    sums = row * _PREFIX
    rank = np.int64(0)
    for i in range(p.sow.shape[0] // 2 - 1):
        rank += p.ways[i, np.int64((sums >> np.uint64(8 * i)) & _BYTE)]
    return rank


@kernel
def board_rank(p, own, other):
    """The place of a board among all boards: fewer seeds first."""
    m, k = row_sum(own), row_sum(other)
    return p.start[m + k, m] + row_rank(p, own) * p.rows[k] + row_rank(p, other)


@kernel
def board_count(p, seeds):
    """Number of boards with at most `seeds` seeds."""
    return p.start[seeds, seeds + 1]


@kernel
def play(p, own, other, hole):
    """The mover's move from `hole`: the next board (its mover's row first) and the seeds captured.

    The third value is `ENDLESS_MOVE` for a move that never ends and `NO_MOVE` for an empty hole.
    """
    holes = p.sow.shape[0] // 2
    if (own >> np.uint64(8 * hole)) & _BYTE == _ZERO:
        return other, own, np.int64(NO_MOVE)
    own, other, _, _, last = sow_on(p, own, other, _ZERO, _ZERO, np.int64(hole))
    if last < 0:
        return other, own, np.int64(ENDLESS_MOVE)
    if last < holes:
        shift = np.uint64(8 * (holes - 1 - last))
        captured = np.int64((other >> shift) & _BYTE)
        other &= ~(_BYTE << shift)
    else:
        shift = np.uint64(8 * (2 * holes - 1 - last))
        captured = np.int64((own >> shift) & _BYTE)
        own &= ~(_BYTE << shift)
    return other, own, captured


@lru_cache(maxsize=8)
def rows_in_order(holes: int, total: int) -> tuple[np.ndarray, np.ndarray]:
    """All rows of at most `total` seeds, by seeds and rank (`uint64`), and where the rows of each number begin."""
    lists = []
    for seeds in range(total + 1):
        rows = _compositions(holes, seeds)
        lists.append(np.pad(rows, ((0, 0), (0, 8 - holes))).view("<u8").ravel().astype(np.uint64))
    begins = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return np.concatenate(lists), begins


def _compositions(holes: int, seeds: int) -> np.ndarray:
    """All rows of exactly `seeds` seeds in colexicographic order of their partial sums: `(count, holes)`, `uint8`."""
    if holes == 1:
        return np.full((1, 1), seeds, np.uint8)
    parts = []
    for before in range(seeds + 1):
        head = _compositions(holes - 1, before)
        parts.append(np.hstack([head, np.full((len(head), 1), seeds - before, np.uint8)]))
    return np.vstack(parts)

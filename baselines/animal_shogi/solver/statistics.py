"""Counts of the published analysis in the solved game, over the positions that can be reached from the start.

Every position in which the game goes on is visited once with all its moves, which also checks its value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from asobiba.baselines.animal_shogi.solver.index import number_of, position_of
from asobiba.baselines.animal_shogi.solver.moves import (
    MOST_MOVES,
    attackers,
    goes_on,
    successors,
    turned,
    turned_number,
)
from asobiba.baselines.animal_shogi.solver.retrograde import (
    OUTSIDE,
    WAITING,
    best_of,
    distinct_words,
    value_after,
)
from asobiba.core import compiled, kernel

WON, DRAWN, LOST = 0, 1, 2
_BYTES = 1 << 11
DISTANCES = 0
"""Columns of a row of counts: positions by plies to the end, draws last (at `WAITING`)."""
DEGREES = 180
"""From here on positions by value (won, drawn, lost) and number of moves, 64 columns a value."""
FOLDED_DEGREES = DEGREES + 3 * 64
"""The same with mirrored moves of symmetric positions counted once."""
WRONG = FOLDED_DEGREES + 3 * 64
"""Positions whose value does not follow from their moves."""
ONLY_DROP = WRONG + 1
"""By value won and drawn: the only move that keeps the value drops a chick on the far rank."""
PASSES = ONLY_DROP + 2
"""By value of the position and of the one in which the other player is to move, 3 x 3; those not in check only."""
SELF_TURNED = PASSES + 9
"""By value: positions that look the same to both players."""
PASSES_REACHED = SELF_TURNED + 3
"""As `PASSES`, where the other position can be reached too."""
FORCED = PASSES_REACHED + 9
"""By value won: exactly one move wins."""
ONLY_DROPS = FORCED + 1
"""By value won and drawn: every move that keeps the value drops a chick on the far rank."""
COLUMNS = ONLY_DROPS + 2


@kernel
def value_class(value):
    """Won, drawn or lost for the mover, of a byte of the table."""
    return DRAWN if value >= WAITING else (WON if value & 1 else LOST)


@kernel
def _far_drops_kept(material, values, best, position):
    """Number of drops of a chick on the far rank that keep the value `best`."""
    mine, theirs, e, g, c, h, own, he, hg, hc = position
    kept = 0
    if hc == 0:
        return 0
    occupied = e | g | c | h | (1 << mine) | (1 << theirs)
    for square in range(9, 12):
        target = 1 << square
        if occupied & target:
            continue
        after = np.int64(1)
        if attackers(mine, theirs, e, g, c | target, h, own | target) == 0:
            number = turned_number(material, (mine, theirs, e, g, c | target, h, own | target, he, hg, hc - 1))
            after = np.int64(values[number])
        if value_class(after) == 2 - best:
            kept += 1
    return kept


@kernel
def _count(material, values, reached, number, row, out):
    position = position_of(material, number)
    mine, theirs, e, g, c, h, own, _, _, hc = position
    if values[number] == OUTSIDE or not goes_on(mine, theirs, e, g, c, h, own):
        return
    value = np.int64(min(values[number], WAITING))
    of = value_class(value)
    row[DISTANCES + value] += 1
    count = successors(out, 0, material, position, True)
    row[DEGREES + 64 * of + count] += 1
    if best_of(values, out, 0, count) != value:
        row[WRONG] += 1
    keeping = 0
    for k in range(count):
        if value_class(value_after(values, out[0, k])) == 2 - of:
            keeping += 1
    if of == WON and keeping == 1:
        row[FORCED] += 1
    if of != LOST and keeping <= 3 and hc > 0:
        drops = _far_drops_kept(material, values, of, position)
        if drops == keeping:
            row[ONLY_DROPS + of] += 1
            if keeping == 1:
                row[ONLY_DROP + of] += 1
    row[FOLDED_DEGREES + 64 * of + distinct_words(out, 0, count)] += 1
    # What if the other player were to move?
    passed = turned(material, position)
    mine, theirs, e, g, c, h, own = passed[:7]
    if goes_on(mine, theirs, e, g, c, h, own):
        other = number_of(material, passed)
        pair = 3 * of + value_class(min(np.int64(values[other]), WAITING))
        row[PASSES + pair] += 1
        if (reached[other >> 3] >> (other & 7)) & 1:
            row[PASSES_REACHED + pair] += 1
        if other == number:
            row[SELF_TURNED + of] += 1


@compiled(parallel=True)
def count_positions(material, values, reached, first, last, counts):
    """Adds to `counts[block]` (a row of `COLUMNS` per 2048 bytes of the bit set from `first`)."""
    for block in prange((last - first + _BYTES - 1) // _BYTES):
        out = np.empty((1, MOST_MOVES), np.int64)
        begin = first + block * _BYTES
        for byte in range(begin, min(begin + _BYTES, last)):
            bits = reached[byte]
            for bit in range(8):
                if (bits >> bit) & 1 != 0 and 8 * byte + bit < values.shape[0]:
                    _count(material, values, reached, 8 * byte + bit, counts[block], out)


def blank_counts(first: int, last: int) -> np.ndarray:
    """Rows of zeros for `count_positions`."""
    return np.zeros(((last - first + _BYTES - 1) // _BYTES, COLUMNS), np.int64)


def summary(totals: np.ndarray, kinds: tuple[int, int, int]) -> dict[str, Any]:
    """The columns under their names, for JSON.

    Args:
        totals: `(COLUMNS,)`, the sum of all rows of `count_positions`.
        kinds: what `reach.count_kinds` gives.

    Returns:
        `reachable`: positions; `lion_can_be_caught` and `try_has_succeeded`: those that are over; `won`, `drawn`,
        `lost`: the others by value for the player to move; `by_plies`: those by plies to the end; `moves`: legal moves
        in all of them; `branching`, `branching_won` and so on: mean number of moves; `most_moves` and how many
        positions have so many; `zugzwang`: both players would lose if they were to move (both positions reachable),
        `zugzwang_symmetric`: of these, positions that look the same to both; `only_drop_won`, `only_drop_drawn`: the
        only move that keeps the value drops a chick on the far rank; `only_drops_won`, `only_drops_drawn`: every such
        move does;
        `one_winning_move`: positions with exactly one winning move; `contradictions`: positions whose value does not
        follow from their moves (none, or the table is wrong).
    """
    values = totals[DISTANCES : DISTANCES + WAITING]
    degrees = totals[DEGREES : DEGREES + 3 * 64].reshape(3, 64)
    numbers = np.arange(64)
    moves, positions = (degrees * numbers).sum(1), degrees.sum(1)
    most = int(np.flatnonzero(degrees.sum(0)).max())
    goes, catch, tried = kinds
    return {
        "reachable": goes + catch + tried,
        "lion_can_be_caught": catch,
        "try_has_succeeded": tried,
        "going_on": goes,
        "won": int(values[1::2].sum()),
        "lost": int(values[0::2].sum()),
        "drawn": int(totals[WAITING]),
        "by_plies": [int(n) for n in np.trim_zeros(values, "b")],
        "moves": int(moves.sum()),
        "branching": float(moves.sum() / positions.sum()),
        "branching_won": float(moves[WON] / positions[WON]),
        "branching_drawn": float(moves[DRAWN] / positions[DRAWN]),
        "branching_lost": float(moves[LOST] / positions[LOST]),
        "least_moves": int(np.flatnonzero(degrees.sum(0)).min()),
        "most_moves": most,
        "positions_with_most_moves": int(degrees[:, most].sum()),
        "won_with_most_moves": int(degrees[WON, most]),
        "zugzwang": int(totals[PASSES_REACHED + 3 * LOST + LOST]),
        "zugzwang_symmetric": int(totals[SELF_TURNED + LOST]),
        "only_drop_won": int(totals[ONLY_DROP + WON]),
        "only_drop_drawn": int(totals[ONLY_DROP + DRAWN]),
        "only_drops_won": int(totals[ONLY_DROPS + WON]),
        "only_drops_drawn": int(totals[ONLY_DROPS + DRAWN]),
        "one_winning_move": int(totals[FORCED]),
        "contradictions": int(totals[WRONG]),
    }


@compiled(parallel=True)
def count_values(values, reached, first, last, counts):
    """Adds to `counts[block]` (a row of 256 per 2048 bytes of the bit set from `first`) the bytes of reached positions."""
    for block in prange((last - first + _BYTES - 1) // _BYTES):
        begin = first + block * _BYTES
        for byte in range(begin, min(begin + _BYTES, last)):
            bits = reached[byte]
            for bit in range(8):
                if (bits >> bit) & 1 != 0 and 8 * byte + bit < values.shape[0]:
                    counts[block, values[8 * byte + bit]] += 1


def mate_problems(values: np.ndarray, reached: np.ndarray) -> list[int]:
    """Reachable positions by the length of their mate problem, in plies: index 1 for mate in 1, and so on.

    Args:
        values: what `solve.solve_mates` gives.
        reached: the bit set of reachable positions.
    """
    size = len(values) // 8 + 1
    counts = np.zeros(((size + _BYTES - 1) // _BYTES, 256), np.int64)
    count_values(values, reached, 0, size, counts)
    # The analysis counts up to the end of the game, two plies after mate.
    lengths = counts.sum(0)[2:WAITING].copy()
    lengths[0::2] = 0
    return [int(n) for n in np.trim_zeros(lengths, "b")]

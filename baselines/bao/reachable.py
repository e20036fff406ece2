"""Boards that play can reach from a start, as one bit a board, and the exact values of those alone.

A board is stored with the mover's row first. All boards of 6x2 with at most 24 seeds are 1.25 thousand
million; only some per cent of them can be reached, and only those are worked out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from asobiba.baselines.bao.boards import board_count, board_rank, play, row_sum, rows_in_order, tables
from asobiba.core import compiled
from asobiba.envs.bao.layout import pack

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_LOW6 = np.int64(63)


@compiled()
def _mark_layer(params, seeds, rows, begins, seen, stack):
    """Marks what the marked boards of `seeds` seeds lead to; returns how many there are of `seeds` seeds, or -1 when the
    stack is too small."""
    p = params[0]
    top, reached = 0, 0
    for mine in range(begins[seeds + 1]):
        m = row_sum(rows[mine])
        k = seeds - m
        rank = p.start[seeds, m] + (mine - begins[m]) * p.rows[k]
        for theirs in range(begins[k], begins[k + 1]):
            at = rank + theirs - begins[k]
            if (seen[at >> 6] >> np.uint64(at & _LOW6)) & _ONE != _ZERO:
                if top == stack.shape[0]:
                    return -1
                stack[top, 0], stack[top, 1] = rows[mine], rows[theirs]
                top += 1
    while top > 0:
        top -= 1
        reached += 1
        own, other = stack[top, 0], stack[top, 1]
        if own == _ZERO or other == _ZERO:
            continue
        for hole in range(params[0].sow.shape[0] // 2):
            next_own, next_other, captured = play(params[0], own, other, hole)
            if captured < 0:
                continue
            at = board_rank(params[0], next_own, next_other)
            bit = _ONE << np.uint64(at & _LOW6)
            if seen[at >> 6] & bit == _ZERO:
                seen[at >> 6] |= bit
                if captured == 0:
                    if top == stack.shape[0]:
                        return -1
                    stack[top, 0], stack[top, 1] = next_own, next_other
                    top += 1
    return reached


def reachable_boards(
    holes: int, counts: list[int], report: Callable[[int, int], None] | None = None, stack_size: int = 1 << 24
) -> tuple[np.ndarray, int]:
    """Bits of the boards that play reaches, in the order of `board_rank` (`uint64` words), and how many they are.

    `report(seeds, boards)` is called after each number of seeds, from the start's down.

    Raises:
        MemoryError: if more than `stack_size` boards wait at once.
    """
    params, total = tables(holes, "illegal"), sum(counts)
    rows, begins = rows_in_order(holes, total)
    seen = np.zeros(int(board_count(params[0], total)) // 64 + 1, np.uint64)
    own, other = pack(counts)
    first = int(board_rank(params[0], own, other))
    seen[first >> 6] |= np.uint64(1) << np.uint64(first & 63)
    stack, reached = np.zeros((stack_size, 2), np.uint64), 0
    for seeds in range(total, -1, -1):
        here = _mark_layer(params, seeds, rows, begins, seen, stack)
        if here < 0:
            raise MemoryError(f"more than {stack_size:,} boards of {seeds} seeds wait at once; raise stack_size")
        reached += here
        if report:
            report(seeds, here)
    return seen, reached

"""Endless moves as loops of sowings, on rings of any size, up to rotation.

A board is written here with the hole that is sown from leftmost: `(3, 1, 0, 1, 0, 1, 0, 1)`. Sowing takes such a board
to the next one, rotated so that the hole of the last seed is leftmost again. Because sowing is injective (see
`asobiba.envs.bao.rules`), a move that never ends lies on a cycle of such boards from its beginning; a *loop* is such a
cycle, and two moves whose cycles are the same are the same loop.

Of a loop, the *period* is how many times round the ring the seeds go before the boards come again, that is, how often
the first hole is sown into; the *shift* is how many holes further on they come again. Together they are the seeds sown
in one cycle: `holes in the ring * period + shift`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from asobiba.core import compiled, kernel

TABLE_2 = (
    ((3, 1, 0, 1, 0, 1, 0, 1), 1, 1),
    ((3, 1, 0, 1, 0, 3, 0, 1), 2, 2),
    ((3, 1, 0, 3, 0, 1, 0, 1), 2, 2),
    ((5, 1, 0, 1, 0, 1, 0, 1), 3, 3),
    ((3, 1, 0, 3, 0, 3, 0, 1), 4, 4),
    ((5, 1, 0, 1, 0, 3, 0, 1), 6, 6),
    ((5, 1, 0, 3, 0, 1, 0, 1), 10, 1),
    ((7, 1, 0, 1, 0, 3, 0, 1), 30, 3),
    ((3, 1, 0, 1, 0, 1, 0, 4), 2, 2),
    ((3, 1, 0, 3, 0, 1, 0, 4), 2, 2),
    ((3, 3, 0, 1, 0, 1, 0, 4), 9, 0),
)
"""Board, period and shift of every loop of period 1 and more that Inahata and Takahashi list for 4x2 (their Table 2)."""

PERIOD_0 = (3, 1, 0, 2, 1, 0, 2, 1)
"""The one loop of period 0 that they found on 4x2."""


@dataclass(frozen=True)
class Loop:
    """An endless move up to rotation. `board` is the least board of the cycle that satisfies what was asked for."""

    boards: tuple[tuple[int, ...], ...]
    sown: int

    @property
    def ring(self) -> int:
        return len(self.boards[0])

    @property
    def seeds(self) -> int:
        return sum(self.boards[0])

    @property
    def period(self) -> int:
        return self.sown // self.ring

    @property
    def shift(self) -> int:
        return self.sown % self.ring

    @property
    def key(self) -> tuple[int, ...]:
        """The least board of the cycle: equal for equal loops."""
        return min(self.boards)

    @property
    def example(self) -> tuple[int, ...]:
        """A board of the cycle to show: one that meets condition LOOP where there is one, else the least."""
        return min(filter(meets_loop_condition, self.boards), default=min(self.boards))


def rotated_sowing(board: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """The next board with the hole of the last seed leftmost, and the seeds sown."""
    cells, hand = list(board), board[0]
    cells[0] = 0
    for k in range(1, hand + 1):
        cells[k % len(cells)] += 1
    at = hand % len(cells)
    return tuple(cells[at:] + cells[:at]), hand


def loop_from(board: Sequence[int]) -> Loop | None:
    """The loop of the move from the leftmost hole of `board`, or `None` if that move ends."""
    start = tuple(int(x) for x in board)
    if start[0] < 1:
        raise ValueError(f"the leftmost hole of {start} holds no seeds to sow")
    boards, sown, now = [start], 0, start
    while True:
        now, hand = rotated_sowing(now)
        sown += hand
        if now[0] == 1:
            return None
        if now == start:
            return Loop(tuple(boards), sown)
        boards.append(now)


def meets_loop_condition(board: Sequence[int]) -> bool:
    """Condition LOOP of the paper, see `conditions`. `board` has the hole that is sown from leftmost."""
    first, last = board[0], board[-1]
    if first < 3 or first % 2 == 0 or len(board) % 2:
        return False
    if any(x % 2 == 0 for x in board[1:-2:2]) or any(x % 2 for x in board[2:-1:2]):
        return False
    return last < first if last % 2 else last >= first


def pattern_1(ring: int) -> tuple[int, ...]:
    """The period-0 board (n, 0, 1, ..., n-1) of a ring of n + 1 holes."""
    return (ring - 1, *range(ring - 1))


def pattern_2(ring: int) -> list[tuple[int, ...]]:
    """The period-0 boards of pattern 2, for every n and k >= 2 with k * n - 1 holes in the ring."""
    found = []
    for n in range(2, ring + 2):
        if (ring + 1) % n == 0 and (ring + 1) // n >= 2:
            k = (ring + 1) // n
            tail = [*range(n - 1, 0, -1)]
            body = [n, *range(n - 2, 0, -1)]
            for _ in range(k - 1):
                body += [0, *tail]
            found.append(tuple(body))
    return found


@kernel
def _sow_rotated(cells, next_cells, ring):
    """One sowing of `cells` (leftmost hole first) into `next_cells`, rotated; returns the seeds sown."""
    hand = np.int64(cells[0])
    full, rest = hand // ring, hand % ring
    for k in range(ring):
        source = (k + rest) % ring
        count = np.int64(cells[source]) if source != 0 else 0
        count += full
        if 1 <= source <= rest:
            count += 1
        next_cells[k] = count
    return hand


@compiled()
def _least_loop_boards(ring, seeds, found):
    """Writes into `found` (rows of `ring` uint8) boards of `seeds` seeds that are the least of their loop; the count."""
    board = np.zeros(ring, np.uint8)
    now = np.zeros(ring, np.uint8)
    after = np.zeros(ring, np.uint8)
    board[ring - 1] = seeds
    count = 0
    while True:
        if board[0] != 0:
            now[:] = board
            least = True
            while True:
                _sow_rotated(now, after, ring)
                now, after = after, now
                if now[0] == 1:
                    least = False
                    break
                order = 0
                for k in range(ring):
                    if now[k] != board[k]:
                        order = -1 if now[k] < board[k] else 1
                        break
                if order < 0:
                    least = False
                    break
                if order == 0:
                    break
            if least:
                if count < found.shape[0]:
                    found[count] = board
                count += 1
        # The next board in lexicographic order.
        last = ring - 1
        tail = board[last]
        board[last] = 0
        k = last - 1
        while tail == 0 and k >= 0:
            tail = board[k]
            board[k] = 0
            k -= 1
        if k < 0:
            break
        board[k] += 1
        board[last] = tail - 1
    return count


def loops_of(ring: int, seeds: int) -> list[Loop]:
    """All loops of a ring of `ring` holes (odd numbers too) with exactly `seeds` seeds, by enumeration of every board."""
    room = 1024
    while True:
        found = np.zeros((room, ring), np.uint8)
        count = _least_loop_boards(ring, seeds, found)
        if count <= room:
            break
        room = count
    loops = [loop_from(row.tolist()) for row in found[:count]]
    return [loop for loop in loops if loop is not None]


def boards_of(ring: int, seeds: int) -> int:
    """Number of boards of a ring with exactly `seeds` seeds."""
    return comb(seeds + ring - 1, ring - 1)


def loop_condition_boards(ring: int, seeds: int) -> Iterator[tuple[int, ...]]:
    """Every board of exactly `seeds` seeds that meets condition LOOP."""

    def fill(prefix: list[int], left: int) -> Iterator[tuple[int, ...]]:
        at = len(prefix)
        if at == ring - 1:
            board = (*prefix, left)
            if meets_loop_condition(board):
                yield board
            return
        first = 3 if at == 0 else at % 2
        for value in range(first, left + 1, 2):
            yield from fill([*prefix, value], left - value)

    yield from fill([], seeds)


@dataclass(frozen=True)
class Conditions:
    """The paper's conditions that hold among the loops of one ring and number of seeds."""

    ring: int
    seeds: int
    boards: int
    period_0: int
    pattern_1: int
    pattern_2: int
    longer: int
    longer_meeting: int
    condition_boards: int
    condition_loops: int
    shift_rule: int

    @property
    def patterns_complete(self) -> bool:
        """Whether every loop of period 0 is of pattern 1 or 2."""
        return self.period_0 == self.pattern_1 + self.pattern_2

    @property
    def necessary(self) -> bool:
        """Whether every loop of period 1 and more has a board that meets condition LOOP."""
        return self.longer == self.longer_meeting

    @property
    def sufficient(self) -> bool:
        """Whether every board that meets condition LOOP begins an endless move of period 1 or more."""
        return self.condition_boards == self.condition_loops


def conditions(ring: int, seeds: int) -> Conditions:
    """Checks the paper's conditions on all loops of `seeds` seeds in a ring of `ring` holes.

    * A loop of period 0 comes from a board of pattern 1 or pattern 2.
    * Condition LOOP: among the boards of a loop of period 1 and more there is one whose first hole holds an odd number of
      at least 3, whose 2nd, 4th, ... hole but the last holds an odd number, whose 3rd, 5th, ... an even number, and
      whose last hole holds an odd number below the first or an even number of at least the first. (The paper says that the
      first case is that of an odd number of seeds, the second that of an even one, which follows from the rest where
      the rows are of even length and contradicts it where they are odd.)
    * Period = shift + (ring + 1) * k.
    """
    loops = loops_of(ring, seeds)
    short = [loop for loop in loops if loop.period == 0]
    long = [loop for loop in loops if loop.period > 0]
    twos = set(pattern_2(ring))
    of_one = [loop for loop in short if pattern_1(ring) in loop.boards]
    of_two = [loop for loop in short if loop not in of_one and any(board in twos for board in loop.boards)]
    meeting = list(loop_condition_boards(ring, seeds)) if ring % 2 == 0 else []
    looping = 0
    for board in meeting:
        loop = loop_from(board)
        looping += loop is not None and loop.period > 0
    return Conditions(
        ring=ring,
        seeds=seeds,
        boards=boards_of(ring, seeds),
        period_0=len(short),
        pattern_1=len(of_one),
        pattern_2=len(of_two),
        longer=len(long),
        longer_meeting=sum(any(map(meets_loop_condition, loop.boards)) for loop in long),
        condition_boards=len(meeting),
        condition_loops=looping,
        shift_rule=sum((loop.period - loop.shift) % (ring + 1) == 0 for loop in long),
    )

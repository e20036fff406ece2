"""Jiritsu-kun's take-out masks: the ones of 24 paths along which a stone can be taken out when another lies near it.

A take-out is aimed past the stone from its left edge to its right, a sixth of a radius apart. With another stone nearer
to the thrower, bit k says whether path k still meets the stone; with one farther away, whether the stone, which is always
met, then leaves its place. The tables hold these bits by the relative place of the other stone and the spin, and are
computed once (`asobiba curling masks`) into `policies/masks-<simulator>.npz`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from asobiba.baselines.curling.candidates import strongest_shot
from asobiba.core import compiled, kernel
from asobiba.envs.curling.shots import pass_shot
from asobiba.envs.curling.simulation import run_shot
from asobiba.envs.curling.simulators import RADIUS

PATHS = 24
CELL_X, CELL_Y = 0.05, 0.10
COLUMNS, ROWS = 29, 48
"""Cells of the other stone's place: x from -0.7 to 0.7 m, y up to 4.7 m nearer or farther."""
MOVED = 0.61
"""m that a stone must move to count as taken out: the paper gives no number; this is the radius of the four-foot circle."""
ALL = (1 << PATHS) - 1


@kernel
def met(trace, traced):
    """Whether the delivered stone (2) set stone 0 in motion: a stretch of its path ends at that moment."""
    begin = -1.0
    for n in range(traced):
        if trace[n, 0] == 0.0 and (begin < 0.0 or trace[n, 1] < begin):
            begin = trace[n, 1]
    together = 0
    for n in range(traced):
        together += trace[n, 0] == 2.0 and trace[n, 2] == begin
    return together > 0


@compiled()
def _fill(params, front, back):
    p = params[0]
    stones, in_play = np.zeros((16, 2)), np.zeros(16, np.uint8)
    trace = np.zeros((64, 10))
    for behind in range(2):
        for column in range(COLUMNS):
            for row in range(ROWS):
                x = (column - COLUMNS // 2) * CELL_X
                y = row * CELL_Y if behind else -row * CELL_Y
                for turn in range(2):
                    bits = 0
                    spin = 1.0 if turn == 0 else -1.0
                    for path in range(PATHS):
                        aside = -2.0 * RADIUS + (path + 0.5) * RADIUS / 6.0
                        if x * x + y * y < 4.0 * RADIUS * RADIUS:
                            bits |= 1 << path  # no stone can lie there
                            continue
                        vx, vy = pass_shot(p.model, p.release, aside, 0.0, spin, strongest_shot(p))
                        in_play[:] = 0
                        in_play[0] = in_play[1] = 1
                        stones[0, 0], stones[0, 1] = 0.0, 0.0
                        stones[1, 0], stones[1, 1] = x, y
                        traced = run_shot(
                            p.model, 1e9, 1e9, p.release, stones, in_play, 2, (vx, vy, spin * p.spin), trace
                        )
                        way = stones[0, 0] * stones[0, 0] + stones[0, 1] * stones[0, 1]
                        if (behind and way > MOVED * MOVED) or (not behind and met(trace, traced)):
                            bits |= 1 << path
                    if behind:
                        back[column, row, turn] = bits
                    else:
                        front[column, row, turn] = bits


def make(params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tables for parameter records `(1,)`: `(COLUMNS, ROWS, 2)` int32 for stones in front, and behind."""
    front, back = np.zeros((2, COLUMNS, ROWS, 2), np.int32)
    _fill(params, front, back)
    return front, back


def path_of(simulator: str) -> Path:
    """The file of a simulator's tables."""
    return Path(str(files("asobiba.baselines.curling") / "policies" / f"masks-{simulator}.npz"))


@cache
def load(simulator: str) -> tuple[np.ndarray, np.ndarray]:
    """The stored tables of a simulator."""
    with np.load(path_of(simulator)) as data:
        return data["front"], data["back"]


@kernel
def longest_run(bits):
    """The longest run of ones."""
    best = 0
    while bits != 0:
        bits &= bits << 1
        best += 1
    return best


@kernel
def mask_at(table, dx, dy, turn):
    """The bits for another stone at (dx, dy >= 0) beside or beyond; all ones far away."""
    column = round(dx / CELL_X) + COLUMNS // 2
    row = round(dy / CELL_Y)
    if column < 0 or column >= COLUMNS or row >= ROWS:
        return ALL
    return table[column, row, turn]

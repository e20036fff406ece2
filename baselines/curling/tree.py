"""The search of Ayumu: Monte-Carlo tree search whose resolution of positions grows with the number of visits.

A position after a few noisy shots never recurs. So the tree keeps statistics of cells: stones rounded to a coarse
grid first; once a cell has been visited often enough, to a grid half as wide within it, and so on. In a position, the
statistics of all its cells count, finer ones more. Source: the program Ayumu (K. Ohto), GPW 2016 and its source code.
"""

from __future__ import annotations

import math

import numpy as np

from asobiba.baselines.curling.candidates import ALL_KINDS, ALL_ROWS, NO_ROW, candidates
from asobiba.baselines.curling.playout import play_out
from asobiba.core import compiled, kernel
from asobiba.core.elementary import log, power
from asobiba.core.random import mix64, random_below
from asobiba.envs.curling.rules import throw, with_noise
from asobiba.envs.curling.simulation import STONES

LEVELS = 5
COARSEST = 1.6
"""m, the widest cell; each level halves it."""
REFINE = 12
"""Visits of a cell after which the next level is kept; doubled from level to level."""
CHILDREN = 24
"""Candidates of an inner position: the first ones of the table."""
NODES = 1 << 14
DEPTH = 4
"""Plies below the root that have statistics."""
INNER_C = math.sqrt(2.0)


@kernel
def _cell(stones, in_play, shot, level):
    size = COARSEST / (1 << level)
    key = mix64(np.uint64(shot * 8 + level + 1))
    for k in range(STONES):
        if in_play[k] != 0:
            a = math.floor(stones[k, 0] / size) + 512
            b = math.floor(stones[k, 1] / size) + 512
            key = mix64(key ^ np.uint64((k * 1024 + a) * 1024 + b))
    return key


@kernel
def _find(keys, key):
    """The row of a key, found or taken anew; -1 when the table is full."""
    at = np.int64(key & np.uint64(NODES - 1))
    for _ in range(32):
        if keys[at] == key:
            return at
        if keys[at] == np.uint64(0):
            keys[at] = key
            return at
        at = (at + 1) & (NODES - 1)
    return -1


@kernel
def _inner_choice(rows, levels, visits, sums, count, sign):
    """UCB1 over the children, with the statistics of a position's cells put together."""
    total = 0.0
    for j in range(count):
        total += visits[rows[0], j]
    best, found = -1e30, 0
    for j in range(count):
        weight, value = 0.0, 0.0
        for level in range(levels):
            n = visits[rows[level], j]
            if n > 0:
                share = (level + 1.0) * (level + 1.0) * (level + 1.0) * (level + 1.0) * power(n, 0.4)
                weight += share
                value += share * sums[rows[level], j] / n
        n = visits[rows[0], j] + 1.0
        mean = sign * value / weight if weight > 0.0 else 0.0
        score = mean + INNER_C * math.sqrt(log(total + 2.0) / n)
        if score > best:
            best, found = score, j
    return found


@compiled()
def search(
    params,
    stones,
    in_play,
    shot,
    values,
    shots,
    alive,
    root_visits,
    root_sums,
    keys,
    visits,
    sums,
    inner_kinds,
    simulations,
    sampler,
):
    """Plays `simulations` lines from a position, in turn from the candidates that are left, and adds them to the statistics.

    Args:
        params: `(1,)` parameter records.
        stones, in_play, shot: the position.
        values: `(17,)` worth of the scores -8 to 8 to the team that threw first in the end, any scale around 0.
        shots: `(MOST, 4)` candidates of the root; alive: numbers of those that are tried, int64.
        root_visits, root_sums: `(MOST,)` float64 statistics of the root, from the mover's side.
        keys, visits, sums: `(NODES,)` uint64, `(NODES, CHILDREN)` int32 and float32: the cells, from the side that
            threw first.
        inner_kinds: `(16,)` int64, kinds of candidates by shot number below the root.
        simulations: their number.
        sampler: `(1,)` record of a generator.
    """  # fmt: skip
    p, record = params[0], sampler[0]
    board, here = np.zeros((STONES, 2)), np.zeros(STONES, np.uint8)
    before, before_in = np.zeros((STONES, 2)), np.zeros(STONES, np.uint8)
    inner = np.zeros((CHILDREN, 4))
    trace = np.zeros((0, 10))
    rows = np.zeros((DEPTH, LEVELS), np.int64)
    levels, chosen = np.zeros(DEPTH, np.int64), np.zeros(DEPTH, np.int64)
    sign = 1.0 if shot % 2 == 0 else -1.0
    for line in range(simulations):
        first = alive[line % alive.shape[0]]
        board[:] = stones
        here[:] = in_play
        vx, vy = with_noise(record, p, shots[first, 0], shots[first, 1], shots[first, 2])
        throw(p, board, here, before, before_in, shot, (vx, vy, shots[first, 2]), trace)
        now, depth = shot + 1, 0
        while now < STONES and depth < DEPTH:
            found, level = 0, 0
            while level < LEVELS:
                row = _find(keys, _cell(board, here, now, level))
                if row < 0:
                    break
                rows[depth, level] = row
                found = level + 1
                seen = 0
                for j in range(CHILDREN):
                    seen += visits[row, j]
                if seen < REFINE << level:
                    break
                level += 1
            if found == 0:
                break
            seen = 0
            for j in range(CHILDREN):
                seen += visits[rows[depth, 0], j]
            n = candidates(p, board, here, now, inner_kinds[now], inner, NO_ROW)
            if seen < 2:  # a cell's first lines draw to the tee, or hit the best stone
                pick = int(random_below(record, min(n, 4)))
            else:
                pick = _inner_choice(rows[depth], found, visits, sums, n, 1.0 if now % 2 == 0 else -1.0)
            levels[depth], chosen[depth] = found, pick
            candidates(p, board, here, now, inner_kinds[now], inner, pick)
            vx, vy = with_noise(record, p, inner[pick, 0], inner[pick, 1], inner[pick, 2])
            throw(p, board, here, before, before_in, now, (vx, vy, inner[pick, 2]), trace)
            now += 1
            depth += 1
            if seen < 2:
                break
        value = values[play_out(p, board, here, before, before_in, now, record, trace) + 8]
        root_visits[first] += 1.0
        root_sums[first] += sign * value
        for d in range(depth):
            for level in range(levels[d]):
                visits[rows[d, level], chosen[d]] += 1
                sums[rows[d, level], chosen[d]] += value


@compiled()
def list_candidates(params, stones, in_play, shot, kinds, out):
    """`candidates`, from Python."""
    return candidates(params[0], stones, in_play, shot, kinds, out, ALL_ROWS)


EVERY_KIND = np.full(16, ALL_KINDS, np.int64)

"""Kernel regression UCT: a search over continuous shots in which every result tells about the shots near it.

The kernel is the density of the noise between two shots of the same spin, in the units of the noise:

    K(a, b) = exp(-((da1 / s1)^2 + (da2 / s2)^2) / 2)
    E[v|a] = sum_b K(a, b) v_b n_b / sum_b K(a, b) n_b,   W(a) = sum_b K(a, b) n_b
    select  argmax_a E[v|a] + C sqrt(log sum_b W(b) / W(a))
    expand  argmin over a' with K(a, a') > gamma of W(a'), where the tree may grow

Sources: Yee, Lisy, Bowling, "Monte Carlo Tree Search in Continuous Action Spaces with Execution Uncertainty", IJCAI 2016;
Lee, Kim, Choi, Lee, "Deep Reinforcement Learning in Continuous Action Spaces: a Case Study in the Game of Simulated
Curling", ICML 2018, whose noise-free tree of two plies, growth rule and final move (most kernel visits) are used.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from asobiba.baselines.curling.candidates import ALL_KINDS, ALL_ROWS, MOST, candidates
from asobiba.baselines.curling.halving import tried_of
from asobiba.baselines.curling.player import Clock, CurlingPlayer, end_values, number
from asobiba.baselines.curling.playout import play_out
from asobiba.baselines.curling.self_play import own_table
from asobiba.baselines.curling.tree import list_candidates
from asobiba.core import compiled, kernel
from asobiba.core.elementary import atan2, exp, log, sincos
from asobiba.core.random import random_normal
from asobiba.envs.curling.rules import throw
from asobiba.envs.curling.simulation import STONES
from asobiba.envs.curling.simulators import CS2

ROOT, REPLIES = 256, 24
"""Most shots of the root, and of the reply to each of them."""
VX, VY, SPIN, A, B, VISITS, SUM, KERNEL_VISITS, KERNEL_SUM = range(9)
"""Columns of a shot: the delivery, its place in the units of the noise, own results, results weighted by the kernel."""
GAMMA, SAMPLES = 0.1, 3


@kernel
def place_of(p, row, first, second):
    """Writes the place of a delivery in the units of the noise."""
    if p.model == CS2:
        # The noise shifts the target at the tee, which shifts the velocity by half the speed over the distance.
        row[A] = row[VX] / (0.812 * first)
        row[B] = row[VY] / (0.407 * second)
    else:
        row[A] = math.sqrt(row[VX] * row[VX] + row[VY] * row[VY]) / first
        row[B] = atan2(row[VY], row[VX]) / second


@kernel
def likeness(a, b):
    """K of two shots."""
    if a[SPIN] != b[SPIN]:
        return 0.0
    return exp(-0.5 * ((a[A] - b[A]) * (a[A] - b[A]) + (a[B] - b[B]) * (a[B] - b[B])))


@kernel
def insert(rows, n):
    """Gathers the statistics of new row `n` from the rows before it."""
    rows[n, VISITS], rows[n, SUM], rows[n, KERNEL_VISITS], rows[n, KERNEL_SUM] = 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        weight = likeness(rows[n], rows[k])
        rows[n, KERNEL_VISITS] += weight * rows[k, VISITS]
        rows[n, KERNEL_SUM] += weight * rows[k, SUM]


@kernel
def learn(rows, n, chosen, value):
    """Counts a result of shot `chosen` among `n`."""
    rows[chosen, VISITS] += 1.0
    rows[chosen, SUM] += value
    for k in range(n):
        weight = likeness(rows[k], rows[chosen])
        rows[k, KERNEL_VISITS] += weight
        rows[k, KERNEL_SUM] += weight * value


@kernel
def select(rows, n, exploration):
    """The shot with the highest upper bound; shots without statistics come first."""
    total = 0.0
    for k in range(n):
        if rows[k, KERNEL_VISITS] < 1e-9:
            return k
        total += rows[k, KERNEL_VISITS]
    best, found = -1e30, 0
    for k in range(n):
        mean = rows[k, KERNEL_SUM] / rows[k, KERNEL_VISITS]
        score = mean + exploration * math.sqrt(log(total + 1.0) / rows[k, KERNEL_VISITS])
        if score > best:
            best, found = score, k
    return found


@compiled()
def search(
    params,
    stones,
    in_play,
    shot,
    values,
    root,
    count,
    replies,
    counts,
    exploration,
    widening,
    simulations,
    units,
    sampler,
):
    """Plays `simulations` lines. Returns the number of shots at the root.

    Args:
        root: `(ROOT, 9)` rows of the root's shots, `count` of them; replies: `(ROOT, REPLIES, 9)`; counts: `(ROOT,)`.
        values: `(17,)` worth of the scores -8 to 8 to the team that threw first in the end.
        units: the two standard deviations of the noise.
    """
    p, record = params[0], sampler[0]
    board, here = np.zeros((STONES, 2)), np.zeros(STONES, np.uint8)
    before, before_in = np.zeros((STONES, 2)), np.zeros(STONES, np.uint8)
    listed = np.zeros((REPLIES, 4))
    trace = np.zeros((0, 10))
    new = np.zeros(9)
    sign = 1.0 if shot % 2 == 0 else -1.0
    for _ in range(simulations):
        chosen = select(root, count, exploration)
        total = 0.0
        for k in range(count):
            total += root[k, VISITS]
        if count < ROOT and total >= widening * count * count and root[chosen, VISITS] > 0.0:
            # A shot near the best one, where the kernel visits are fewest.
            least = 1e30
            for _ in range(SAMPLES):
                new[:] = root[chosen]
                reach = math.sqrt(-2.0 * log(GAMMA))
                a, b = random_normal(record), random_normal(record)
                length = max(math.sqrt(a * a + b * b) / reach, 1.0)
                vx, vy = shifted(p, root[chosen], a / length, b / length, units[0], units[1])
                new[VX], new[VY] = vx, vy
                place_of(p, new, units[0], units[1])
                known = 0.0
                for k in range(count):
                    known += likeness(new, root[k]) * root[k, VISITS]
                if known < least:
                    least = known
                    root[count] = new
            insert(root, count)
            counts[count] = 0
            chosen = count
            count += 1
        board[:] = stones
        here[:] = in_play
        throw(p, board, here, before, before_in, shot, (root[chosen, VX], root[chosen, VY], root[chosen, SPIN]), trace)
        now, answer = shot + 1, -1
        if now < STONES and root[chosen, VISITS] >= 4.0:
            if counts[chosen] == 0:
                n = candidates(p, board, here, now, ALL_KINDS, listed, ALL_ROWS)
                for k in range(n):
                    replies[chosen, k, VX], replies[chosen, k, VY] = listed[k, 0], listed[k, 1]
                    replies[chosen, k, SPIN] = listed[k, 2]
                    place_of(p, replies[chosen, k], units[0], units[1])
                    insert(replies[chosen], k)
                counts[chosen] = n
            answer = select(replies[chosen], counts[chosen], exploration)
            row = replies[chosen, answer]
            throw(p, board, here, before, before_in, now, (row[VX], row[VY], row[SPIN]), trace)
            now += 1
        value = values[play_out(p, board, here, before, before_in, now, record, trace) + 8]
        learn(root, count, chosen, sign * value)
        if answer >= 0:
            learn(replies[chosen], counts[chosen], answer, -sign * value)
    return count


@kernel
def shifted(p, row, a, b, first, second):
    """The velocity of a shot that lies (a, b) units of noise from another."""
    if p.model == CS2:
        return row[VX] + a * 0.812 * first, row[VY] + b * 0.407 * second
    speed = math.sqrt(row[VX] * row[VX] + row[VY] * row[VY]) + a * first
    angle = atan2(row[VY], row[VX]) + b * second
    sine, cosine = sincos(angle)
    return speed * cosine, speed * sine


@compiled()
def begin(params, shots, count, units, root):
    """Writes the first shots of the root."""
    for k in range(count):
        root[k, VX], root[k, VY], root[k, SPIN] = shots[k, 0], shots[k, 1], shots[k, 2]
        place_of(params[0], root[k], units[0], units[1])
        insert(root, k)


class ManyCandidates(UserWarning):
    """A position has more candidates than the search has room for."""


class KernelRegression(CurlingPlayer):
    """Kernel regression UCT on the candidates of Ayumu, or on those of a learned prior.

    Args:
        clock: the budget.
        exploration: C of the upper bound.
        widening: a shot is added while the visits reach this times the square of their number.
        prior: `prior(ruleset, view, generator) -> (n, 3)` deliveries to begin with, instead of Ayumu's candidates.
    """

    name = "kr_uct"

    def __init__(self, clock: Clock, exploration: float, widening: float, prior: Callable | None = None):
        self.clock, self.prior = clock, prior
        self.exploration = number("exploration", exploration, 0, 100)
        self.widening = number("widening", widening, 0.001, 100)

    def begin_game(self) -> None:
        self.clock.begin_game(self.ruleset)
        self.generator = np.random.Generator(np.random.Philox(int(self.sampler["rng_key"][0])))
        p = self.ruleset.params[0]
        floor = (0.0145, 0.058) if int(p["model"]) == CS2 else (0.0015, 0.0004)
        # Without noise the kernel keeps a fifth of its usual width.
        self.units = np.maximum([float(p["noise_first"]), float(p["noise_second"])], floor)

    def choose(self, view: np.void) -> tuple[float, float, float]:
        stones, in_play, shot = view["stones"].copy(), view["in_play"].copy(), int(view["shot"])
        shots = np.zeros((MOST, 4))
        if self.prior is None:
            count = list_candidates(self.ruleset.params, stones, in_play, shot, ALL_KINDS, shots)
        else:
            given = self.prior(self.ruleset, view, self.generator)[:MOST]
            count = len(given)
            shots[:count, :3] = given
        if count > ROOT:
            warnings.warn(  # one text for all positions: Python shows it once
                f"{self.name}: only the first {ROOT} candidates of a position are tried, others are left out",
                ManyCandidates,
                stacklevel=2,
            )
            count = ROOT
        if not self.clock.timed:  # the first shots of the table, so that every one is compared; widening adds to them
            count = tried_of(count, self.clock.simulations, self.name)
        root, replies, counts = np.zeros((ROOT, 9)), np.zeros((ROOT, REPLIES, 9)), np.zeros(ROOT, np.int64)
        begin(self.ruleset.params, shots, count, self.units, root)
        values = end_values(self.ruleset, view, own_table() if self.table is None else self.table) * 2.0 - 1.0
        kept = [count]

        def portion(n: int) -> None:
            kept[0] = search(
                params=self.ruleset.params,
                stones=stones,
                in_play=in_play,
                shot=shot,
                values=values,
                root=root,
                count=kept[0],
                replies=replies,
                counts=counts,
                exploration=self.exploration,
                widening=self.widening,
                simulations=n,
                units=self.units,
                sampler=self.sampler,
            )

        self.clock.run(view, portion)
        # The most visits, among equals the higher mean; among those the earlier shot of the table.
        found = root[: kept[0]]
        mean = found[:, KERNEL_SUM] / np.maximum(found[:, KERNEL_VISITS], 1e-9)
        best = int(np.lexsort((-mean, -found[:, KERNEL_VISITS].round(6)))[0])
        return tuple(root[best, :3])

"""Jiritsu-kun: expectimax over a grid of targets, whose outcomes share their representatives.

A shot is a target and a spin: 51 x 31 draws, half a radius by two radii apart, and 83 take-outs in a far row, half a radius
apart; 3328 in all. Noise carries the target to other cells of the same grid, so every cell is simulated once, without
noise, and the worth of a shot is the mean over cells weighted by their probability; cells below a least one are left out.
Depth 2 does the same once more for the opponent's reply: behind every cell of the first shot all cells of the reply are
thrown, their mean is taken in the same way, and the cell is worth what the opponent's best reply leaves. The shots share
these worths, as they share the cells. The paper's grids make eleven million throws of it; `grid` and `stride` thin them
out. After the last shot, and at the leaf of the one before it, the worth is that of the end's true score.

Source: Kato, Iizuka, Yamamoto, GAT 2016. The formulas of the evaluation are theirs. Three places cannot be as printed: h_y
must rise from 0 at the back of the eight-foot circle to 1 at the tee; the masks of several stones are put together
by "and" (a path must be open past all of them), since with "or" a stone alone would be the hardest to take out; and after
the first side's shot an empty house is not a blank end, since the hammer draws one point or blanks as it likes. As printed,
a tied last end would be better without any stone than with one's own on the tee.
"""

from __future__ import annotations

import json
import math
import time
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from asobiba.baselines.curling.evaluation import (
    NONE,
    SCORES,
    Net,
    NetScratch,
    foretell,
    new_net_scratch,
    published,
    win_table_of,
)
from asobiba.baselines.curling.masks import ALL, PATHS, load, longest_run, mask_at
from asobiba.baselines.curling.player import Clock, CurlingPlayer, end_values, whole
from asobiba.baselines.curling.self_play import completed_table
from asobiba.core import compiled, kernel
from asobiba.core.elementary import erf
from asobiba.envs.curling.layout import is_cs2
from asobiba.envs.curling.rules import end_score, tee_distance, throw, with_noise
from asobiba.envs.curling.shots import draw_shot
from asobiba.envs.curling.simulation import STONES
from asobiba.envs.curling.simulators import CS2, RADIUS

COLUMNS, ROWS, TAKE_OUTS = 51, 31, 83
STEP_X, STEP_Y = 0.5 * RADIUS, 2.0 * RADIUS
FIRST_X, FIRST_Y = -25 * STEP_X, -6.4 + 0.29
FAR_CS2, FAR_FCV1 = 9.919, 25.0
"""y of the row of take-outs, m beyond the tee: as in K. Ohto's re-implementation; that of fcv1 is ours."""
LEAST = 0.002
"""Probability below which a cell is left out."""
THROWS = 2
"""Noisy throws of each shot that `JiritsuLearned.worths` tells the mean of."""
R2, R3 = 1.22, 1.83
"""m, of the eight-foot and twelve-foot circles."""


class Weights(NamedTuple):
    """The evaluation's weights, which the paper does not give: mu, w1 to w4, c, a, b.

    The defaults are a first guess. Jiritsu-kun plays by `fitted_weights`, which a random search found from there.
    """

    mu: float = 0.10
    w1: float = 0.5
    w2: float = 0.5
    w3: float = 0.7
    w4: float = 0.3
    c: float = 0.3
    a: float = 0.5
    b: float = 0.2


def weights_path() -> Path:
    """The file with the fitted weights, and how they were found."""
    return Path(str(files("asobiba.baselines.curling") / "policies" / "jiritsu-weights.json"))


@cache
def fitted_weights() -> Weights:
    """The weights that `asobiba curling fit` found; the first guess where it has not run."""
    if not weights_path().exists():
        return Weights()
    return Weights(**json.loads(weights_path().read_text(encoding="utf-8"))["weights"])


@kernel
def stone_worth(stones, in_play, i, w, front, back):
    """N = J T D of a stone."""
    x, y = stones[i, 0], stones[i, 1]
    distance = tee_distance(stones, i)
    closer = 0
    for j in range((i + 1) % 2, STONES, 2):
        if in_play[j] != 0 and tee_distance(stones, j) < distance:
            closer += 1
    hx = max(1.0 - abs(x) / (R3 + RADIUS), 0.0)
    # Towards the thrower the worth falls over three rings, away from him over two.
    hy = 0.0
    if 0.0 <= y < R2:
        hy = (R2 - y) * (R2 - y) / (R2 * R2)
    elif -R3 < y < 0.0:
        hy = 1.0 - y * y / (R3 * R3)
    link = w[1] / (1.0 + closer) + w[2] * hx * hy
    safe = 1e9
    for turn in range(2):
        before, behind = ALL, ALL
        for j in range(STONES):
            if j != i and in_play[j] != 0:
                dx, dy = stones[j, 0] - x, stones[j, 1] - y
                if dy < 0.0:
                    before &= mask_at(front, dx, -dy, turn)
                else:
                    behind &= mask_at(back, dx, dy, turn)
        o = w[3] / (longest_run(before) + 1.0) + w[4] / (longest_run(behind) + 1.0)
        safe = min(safe, o)
    apart = 1.0
    for j in range(i % 2, STONES, 2):
        if j != i and in_play[j] != 0:
            dx, dy = stones[j, 0] - x, stones[j, 1] - y
            d = math.sqrt(dx * dx + dy * dy)
            reach = w[6] + w[7] * abs(dy) / max(d, 1e-9)
            if d < reach:
                apart = min(apart, 0.5 + 0.5 * d * d / (reach * reach))
    return link * (safe + w[5]) * apart


@kernel
def evaluate(p, stones, in_play, shot, values, w, front, back):
    """e(s) after shot number `shot`, not the last one, for the team that threw first in the end."""
    swapped = -1
    if shot % 2 == 0:
        # The other side will throw after this one: the first side's nearest stone will not stay.
        best = p.score
        for k in range(0, STONES, 2):
            if in_play[k] != 0 and tee_distance(stones, k) < best:
                best, swapped = tee_distance(stones, k), k
    points = swapped_score(p, stones, in_play, swapped)
    end = values[points + 8]
    if shot % 2 == 0 and points == 0:
        end = min(end, values[7])  # nobody counts: the hammer draws for one, or blanks
    worth = 0.0
    for k in range(STONES):
        if in_play[k] != 0:
            n = stone_worth(stones, in_play, k, w, front, back)
            worth += n if k % 2 == 0 else -n
    return end + w[0] * worth


@kernel
def swapped_score(p, stones, in_play, swapped):
    """Points for the team that threw first if stone `swapped` (or none: -1) were the other side's."""
    near0, near1 = p.score, p.score
    for k in range(STONES):
        if in_play[k] != 0:
            if k % 2 == 0 and k != swapped:
                near0 = min(near0, tee_distance(stones, k))
            else:
                near1 = min(near1, tee_distance(stones, k))
    points = 0
    for k in range(STONES):
        if in_play[k] != 0:
            distance = tee_distance(stones, k)
            if k % 2 == 0 and k != swapped:
                if near0 < near1 and distance < near1:
                    points += 1
            elif near1 < near0 and distance < near0:
                points -= 1
    return max(min(points, 8), -8)


@kernel
def target_of(p, cell, stride):
    """Target and spin of a cell: take-outs first, then draws; both spins in turn."""
    spin = 1.0 if cell % 2 == 0 else -1.0
    cell //= 2
    takes = (TAKE_OUTS + stride - 1) // stride
    if cell < takes:
        return (cell * stride - TAKE_OUTS // 2) * STEP_X, FAR_CS2 if p.model == CS2 else FAR_FCV1, spin
    rows = (ROWS + stride - 1) // stride
    column, row = (cell - takes) // rows, (cell - takes) % rows
    return FIRST_X + column * stride * STEP_X, FIRST_Y + row * stride * STEP_Y, spin


@kernel
def cell_count(stride):
    """Number of cells of a grid that takes every `stride`-th point."""
    rows, columns = (ROWS + stride - 1) // stride, (COLUMNS + stride - 1) // stride
    return 2 * ((TAKE_OUTS + stride - 1) // stride + rows * columns)


class Judge(NamedTuple):
    """The inputs of `worth`: the `(17,)` worth of the end's scores to the team that threw first, the weights of the paper's
    evaluation, the masks, and a learned evaluation or `evaluation.NONE`."""

    values: np.ndarray
    weights: np.ndarray
    front: np.ndarray
    back: np.ndarray
    net: Net


class Grids(NamedTuple):
    """The grids of the search.

    Args:
        deviations: of the target, x, y, and x of take-outs, m.
        depth: 1, or 2: with the opponent's reply.
        shots, replies: strides of the grid for shots and for replies.
    """

    deviations: np.ndarray
    depth: int
    shots: int
    replies: int


class Scratch(NamedTuple):
    """Scratch arrays: a shot's end, its beginning, the position that a reply is thrown in; `worths`: the replies', and
    their means. `chance`: as of `chances`, of the shots' grid and of the replies'."""

    board: np.ndarray
    here: np.ndarray
    before: np.ndarray
    before_in: np.ndarray
    after: np.ndarray
    after_in: np.ndarray
    worths: np.ndarray
    chance: np.ndarray
    trace: np.ndarray
    net: NetScratch
    scores: np.ndarray
    told: np.ndarray


def new_scratch(replies: int, told: int = 0) -> Scratch:
    """Working arrays for one thread.

    Args:
        replies: cells of the grid of replies. told: cells of which the probabilities of the scores are kept.
    """
    return Scratch(
        board=np.zeros((STONES, 2)), here=np.zeros(STONES, np.uint8),
        before=np.zeros((STONES, 2)), before_in=np.zeros(STONES, np.uint8),
        after=np.zeros((STONES, 2)), after_in=np.zeros(STONES, np.uint8),
        worths=np.zeros((2, replies)), chance=np.zeros((2, 3, TAKE_OUTS)), trace=np.zeros((0, 10)),
        net=new_net_scratch(), scores=np.zeros(SCORES), told=np.zeros((told, SCORES)),
    )  # fmt: skip


@kernel
def worth(p, stones, in_play, shot, judge, scratch):
    """The worth of the position after shot number `shot` for the team that threw first in the end.

    `scratch.scores` receives the probabilities of the scores, where the evaluation foretells them.
    """
    if shot == STONES - 1:
        points = end_score(p, stones, in_play)
        for k in range(SCORES):
            scratch.scores[k] = 1.0 if k == points + 8 else 0.0
        return judge.values[points + 8]
    if judge.net.layers.shape[0] > 0:
        masks = (judge.front, judge.back)
        return foretell(p, stones, in_play, shot, judge.values, masks, judge.net, scratch.net, scratch.scores)
    return evaluate(p, stones, in_play, shot, judge.values, judge.weights, judge.front, judge.back)


@kernel
def sweep(p, stones, in_play, shot, stride, judge, scratch, out):
    """Evaluates every cell's noise-free shot into `out`, and the probabilities of the scores into `scratch.told`, if that has
    rows."""
    board, here = scratch.board, scratch.here
    for cell in range(cell_count(stride)):
        x, y, spin = target_of(p, cell, stride)
        vx, vy = draw_shot(p.model, p.release, x, y, spin)
        for k in range(STONES):
            board[k, 0], board[k, 1], here[k] = stones[k, 0], stones[k, 1], in_play[k]
        throw(p, board, here, scratch.before, scratch.before_in, shot, (vx, vy, spin), scratch.trace)
        out[cell] = worth(p, board, here, shot, judge, scratch)
        if scratch.told.shape[0] > 0:
            for k in range(SCORES):
                scratch.told[cell, k] = scratch.scores[k]


@kernel
def weight_at(offset, step, deviation):
    """Probability that noise of this deviation carries a target `offset` cells of width `step` away."""
    if deviation <= 0.0:
        return 1.0 if offset == 0 else 0.0
    root = deviation * math.sqrt(2.0)
    return 0.5 * (erf((offset + 0.5) * step / root) - erf((offset - 0.5) * step / root))


REACH = 8
"""Number of cells to either side over which noise is followed."""


@kernel
def chances(stride, sx, sy, far, out):
    """Probabilities of being carried so many cells aside, along and, among take-outs, aside: the rows of `out`."""
    for offset in range(-REACH, REACH + 1):
        out[0, offset + REACH] = weight_at(offset, stride * STEP_X, sx)
        out[1, offset + REACH] = weight_at(offset, stride * STEP_Y, sy)
    for offset in range(TAKE_OUTS):
        out[2, offset] = weight_at(offset, stride * STEP_X, far)


@kernel
def mean_at(raw, stride, chance, cell):
    """The mean of `raw` over the cells that a cell's noise reaches. `chance`: as of `chances`."""
    takes = (TAKE_OUTS + stride - 1) // stride
    rows, columns = (ROWS + stride - 1) // stride, (COLUMNS + stride - 1) // stride
    turn, place = cell % 2, cell // 2
    total, value = 0.0, 0.0
    if place < takes:
        for b in range(takes):
            weight = chance[2, abs(b - place)]
            if weight >= LEAST or place == b:
                total += weight
                value += weight * raw[2 * b + turn]
        return value / max(total, 1e-12)
    column, row = (place - takes) // rows, (place - takes) % rows
    for dc in range(-REACH, REACH + 1):
        wx = chance[0, dc + REACH]
        if wx < LEAST and dc != 0:
            continue
        for dr in range(-REACH, REACH + 1):
            weight = wx * chance[1, dr + REACH]
            if weight < LEAST and (dc != 0 or dr != 0):
                continue
            c, r = min(max(column + dc, 0), columns - 1), min(max(row + dr, 0), rows - 1)
            total += weight
            value += weight * raw[2 * (takes + c * rows + r) + turn]
    return value / max(total, 1e-12)


@kernel
def expected(raw, stride, chance, out):
    """`mean_at` of every cell, into `out`."""
    for cell in range(cell_count(stride)):
        out[cell] = mean_at(raw, stride, chance, cell)


@kernel
def reply_worth(p, after, after_in, shot, grids, judge, scratch):
    """The worth of a position for the team that threw first in the end, after the opponent's best reply (shot `shot`)."""
    worths = scratch.worths
    sweep(p, after, after_in, shot, grids.replies, judge, scratch, worths[0])
    expected(worths[0], grids.replies, scratch.chance[1], worths[1])
    sign = 1.0 if shot % 2 == 0 else -1.0
    best = -1e30
    for k in range(cell_count(grids.replies)):
        best = max(best, sign * worths[1, k])
    return sign * best


@kernel
def sweep_with_replies(p, stones, in_play, shot, grids, judge, scratch, out):
    """`sweep` with the worth that the best reply leaves. Returns the number of throws.

    A shot that touches nothing and leaves the sheet leaves the same position as all others that do: its replies are swept once.
    """
    cells, replies = cell_count(grids.shots), cell_count(grids.replies)
    after, after_in = scratch.after, scratch.after_in
    work, missed, known = cells, 0.0, False
    for cell in range(cells):
        x, y, spin = target_of(p, cell, grids.shots)
        vx, vy = draw_shot(p.model, p.release, x, y, spin)
        for k in range(STONES):
            after[k, 0], after[k, 1], after_in[k] = stones[k, 0], stones[k, 1], in_play[k]
        throw(p, after, after_in, scratch.before, scratch.before_in, shot, (vx, vy, spin), scratch.trace)
        same = True
        for k in range(STONES):
            if after_in[k] != in_play[k] or after[k, 0] != stones[k, 0] or after[k, 1] != stones[k, 1]:
                same = False
        if same and known:
            out[cell] = missed
            continue
        out[cell] = reply_worth(p, after, after_in, shot + 1, grids, judge, scratch)
        work += replies
        if same:
            missed, known = out[cell], True
    return work


@kernel
def best_cell(p, stones, in_play, shot, judge, grids, scratch, raw, mean):
    """The best cell, and the number of throws. `raw` and `mean` receive the worth of each cell without and with noise."""
    sx, sy, far = grids.deviations[0], grids.deviations[1], grids.deviations[2]
    chances(grids.shots, sx, sy, far, scratch.chance[0])
    chances(grids.replies, sx, sy, far, scratch.chance[1])
    cells = cell_count(grids.shots)
    work = np.int64(cells)
    if grids.depth == 1 or shot == STONES - 1:
        sweep(p, stones, in_play, shot, grids.shots, judge, scratch, raw)
    else:
        work = sweep_with_replies(p, stones, in_play, shot, grids, judge, scratch, raw)
    expected(raw, grids.shots, scratch.chance[0], mean)
    sign = 1.0 if shot % 2 == 0 else -1.0
    best = 0
    for cell in range(cells):
        if sign * mean[cell] > sign * mean[best]:
            best = cell
    return best, work


@compiled()
def choose_cell(params, stones, in_play, shot, judge, grids, scratch, work):
    """The best cell. `work`: `(2,)` int64, counts throws."""
    cells = cell_count(grids.shots)
    raw, mean = np.zeros(cells), np.zeros(cells)
    best, done = best_cell(params[0], stones, in_play, shot, judge, grids, scratch, raw, mean)
    work[0] += done
    return best


@compiled()
def write_worths(params, stones, in_play, shot, judge, scratch, record, throws, out):
    """The mean worth of the position after each of the discrete game's shots for the player who throws it, over so many
    noisy throws, into `out`, `(actions,)`."""
    p = params[0]
    board, here = scratch.board, scratch.here
    for action in range(p.shots.shape[0]):
        total = 0.0
        for _ in range(throws):
            for k in range(STONES):
                board[k, 0], board[k, 1], here[k] = stones[k, 0], stones[k, 1], in_play[k]
            vx, vy = with_noise(record[0], p, p.shots[action, 0], p.shots[action, 1], p.shots[action, 2])
            delivery = (vx, vy, p.shots[action, 2])
            throw(p, board, here, scratch.before, scratch.before_in, shot, delivery, scratch.trace)
            total += worth(p, board, here, shot, judge, scratch)
        out[action] = total / throws if shot % 2 == 0 else 1.0 - total / throws


@compiled()
def delivery_of(params, cell, grid):
    """The delivery of a cell of the grid of every `grid`-th point."""
    x, y, spin = target_of(params[0], cell, grid)
    vx, vy = draw_shot(params[0].model, params[0].release, x, y, spin)
    return vx, vy, spin


class Jiritsu(CurlingPlayer):
    """Expectimax over targets.

    Args:
        depth: 1, or 2: with the opponent's replies.
        grid: stride of the grid for shots; stride: for replies (1: all points, as in the paper).
        weights: of the evaluation; `None`: the fitted ones.
    """

    net = NONE

    def __init__(self, depth: int = 2, grid: int = 3, stride: int = 4, weights: Weights | None = None):
        self.depth, self.stride = whole("depth", depth, 1, 2), whole("stride", stride, 1, 40)
        self.grid = whole("grid", grid, 1, 40)
        self.name = "jiritsu" if depth == 2 else "jiritsu_depth1"
        self.weights = np.array(weights or fitted_weights())

    def begin_game(self) -> None:
        ruleset, p = self.ruleset, self.ruleset.params[0]
        self.front, self.back = load("cs2" if is_cs2(ruleset) else "fcv1")
        if is_cs2(ruleset):
            sx, sy = float(p["noise_first"]), float(p["noise_second"])
            far = sx * math.sqrt((float(p["release"]) + FAR_CS2) / float(p["release"]))
        else:  # speed and angle as they show at the tee: 0.0076 m/s are 0.263 m, an angle its arc
            sx, sy = float(p["noise_second"]) * float(p["release"]), float(p["noise_first"]) * 34.6
            far = float(p["noise_second"]) * (float(p["release"]) + FAR_FCV1)
        self.deviations = np.array([sx, sy, far])
        self.work = np.zeros(2, np.int64)
        self.scratch = new_scratch(cell_count(self.stride))
        self.spent, self.told = 0.0, Clock(1, game=True)
        self.told.begin_game(ruleset)
        self.told.unlimited = True

    def time_left(self, seconds: float) -> None:
        """Takes the time left from a host; a shot whose replies would exceed its share is chosen without them."""
        self.told.left, self.told.unlimited = seconds, seconds == 0.0

    def worths_table(self) -> np.ndarray:
        """The win table that it goes by, as of `win_table`."""
        return completed_table() if self.table is None else self.table

    def choose(self, view: np.void) -> tuple[float, float, float]:
        values = end_values(self.ruleset, view, self.worths_table())
        begin = time.monotonic()
        short = not self.told.unlimited and self.told.shot_seconds(view) < 1.5 * self.spent
        depth = 1 if short else self.depth
        cell = choose_cell(
            self.ruleset.params, view["stones"].copy(), view["in_play"].copy(), int(view["shot"]),
            Judge(values, self.weights, self.front, self.back, self.net),
            Grids(self.deviations, depth, self.grid, self.stride), self.scratch, self.work,
        )  # fmt: skip
        if depth == self.depth:
            self.spent = time.monotonic() - begin
        return delivery_of(self.ruleset.params, cell, self.grid)


class JiritsuLearned(Jiritsu):
    """Jiritsu-kun's search with a learned evaluation (`evaluation.py`), and the win table that follows from it.

    Args:
        net: the evaluation; `None`: the published one of the simulator. The others as in `Jiritsu`.
    """

    def __init__(self, depth: int = 2, grid: int = 3, stride: int = 4, net: Net | None = None):
        super().__init__(depth, grid, stride)
        self.name, self._given = "jiritsu_learned", net

    def begin_game(self) -> None:
        super().begin_game()
        p, given = self.ruleset.params[0], self._given
        self.net = published("cs2" if is_cs2(self.ruleset) else "fcv1") if given is None else given
        extra = int(p["extra_ends"]) > 0
        self.own = win_table_of(self.ruleset.params, (self.front, self.back), self.net, int(p["ends"]), extra)

    def worths_table(self) -> np.ndarray:
        return self.own if self.table is None else self.table

    def worths(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """What every action of the discrete game is worth to the player to move, by `THROWS` throws each: `(n, actions)`
        win probabilities. To concede is worth nothing.

        Args:
            views: records `(n,)`. legal: masks `(n, actions)`.
        """
        out = np.zeros(legal.shape)
        for view, row in zip(views, out, strict=True):
            values = end_values(self.ruleset, view, self.worths_table())
            judge = Judge(values, self.weights, self.front, self.back, self.net)
            stones, in_play, shot = view["stones"].copy(), view["in_play"].copy(), int(view["shot"])
            write_worths(self.ruleset.params, stones, in_play, shot, judge, self.scratch, self.sampler, THROWS, row)
        return out


__all__ = ["PATHS", "Jiritsu", "JiritsuLearned", "Weights"]

"""The rules of curling: sixteen shots an end, free guards, scores, the hammer, extra ends, concession.

`throw` is the rules of one shot on bare arrays; searches play it millions of times. The kernels below it keep the game.
"""

from __future__ import annotations

import math

from asobiba.core import kernel, random_normal
from asobiba.core.elementary import atan2, sincos
from asobiba.envs.curling.scratch import stack_rows
from asobiba.envs.curling.shots import create_shot, draw_shot
from asobiba.envs.curling.simulation import STONES, run_shot
from asobiba.envs.curling.simulators import CS2, RADIUS

SIDES, STONES_EACH, ENDS = 2, 8, 10
"""Two sides of eight stones; a game has at most ten regular ends (extra ends are added up in one column)."""
NO_GUARDS, REMOVAL, NO_TICK, EVERY_STONE = 0, 1, 2, 3
"""Free guard zone: none; opponent's guards may not be removed; nor may those on the centre line be moved off it; no stone
may be removed, wherever it lies and whosever it is (mixed doubles)."""
WIN, SCORE, WIN_PROBABILITY = 0, 1, 2
"""Rewards: the game's result; each end's score; the win probability after the last end."""
PLANES, ROWS, COLUMNS = 4, 36, 20
"""The image: planes, rows (from the back line to the hog line) and columns (left to right) of a quarter of a metre."""
_CELL = 0.25
MOST_ENDS = 255
"""Digital Curling 3 stops a game at this end."""
CONCEDES = 0.9
"""A fourth action component above this concedes, where the parameter `concession` adds one."""


@kernel
def tee_distance(stones, k):
    """m from the tee to the centre of stone `k`."""
    return math.sqrt(stones[k, 0] * stones[k, 0] + stones[k, 1] * stones[k, 1])


@kernel
def is_guard(p, stones, in_play, k):
    """Whether stone `k` lies in the free guard zone."""
    return in_play[k] != 0 and stones[k, 1] < p.fgz_tee and tee_distance(stones, k) >= p.fgz_house


@kernel
def end_score(p, stones, in_play):
    """Points of the end if it stopped now: positive for the team that threw first in it (even rows of `stones`)."""
    nearest0, nearest1 = p.score, p.score
    for k in range(STONES):
        if in_play[k] != 0:
            distance = tee_distance(stones, k)
            if k % 2 == 0:
                nearest0 = min(nearest0, distance)
            else:
                nearest1 = min(nearest1, distance)
    points = 0
    for k in range(STONES):
        if in_play[k] != 0:
            distance = tee_distance(stones, k)
            if k % 2 == 0:
                if nearest0 < nearest1 and distance < nearest1:
                    points += 1
            elif nearest1 < nearest0 and distance < nearest0:
                points -= 1
    return points


@kernel
def throw(p, stones, in_play, before, before_in, shot, delivery, trace):
    """Plays shot number `shot` of an end without noise, in place.

    Args:
        p: the parameter record.
        stones, in_play: `(16, 2)` float64 and `(16,)` uint8, in the order thrown; places of stones that are out are 0.
        before, before_in: the same, scratch; they receive the position before the shot.
        shot: 0 to 15.
        delivery: `(vx, vy, spin)`: its velocity, m/s; +1 counter-clockwise, -1 clockwise.
        trace: as in `run_shot`; no rows: nothing is kept.

    Returns:
        `(foul, traced)`: whether the shot broke the free guard zone and was taken back; traced stretches.
    """
    for k in range(STONES):
        before[k, 0], before[k, 1], before_in[k] = stones[k, 0], stones[k, 1], in_play[k]
    vx, vy, spin = delivery
    traced = run_shot(p.model, p.side, p.back, p.release, stones, in_play, shot, (vx, vy, spin * p.spin), trace)
    for k in range(STONES):
        if in_play[k] != 0 and (k == shot or p.all_checked != 0) and stones[k, 1] <= p.hog:
            in_play[k] = 0
            stones[k, 0], stones[k, 1] = 0.0, 0.0
    if shot < p.guarded_shots and p.guard_rule != NO_GUARDS:
        every = p.guard_rule == EVERY_STONE
        for k in range(0 if every else (shot + 1) % 2, STONES, 1 if every else 2):
            if not (every and before_in[k] != 0) and not is_guard(p, before, before_in, k):
                continue
            ticked = p.guard_rule == NO_TICK and abs(before[k, 0]) < RADIUS and abs(stones[k, 0]) >= RADIUS
            if in_play[k] == 0 or ticked:
                for j in range(STONES):
                    stones[j, 0], stones[j, 1], in_play[j] = before[j, 0], before[j, 1], before_in[j]
                return 1, traced
    return 0, traced


@kernel
def with_noise(record, p, vx, vy, spin):
    """The velocity thrown for this intended one; draws from `record`'s generator."""
    if p.model == CS2:
        if p.noise_first == 0.0 and p.noise_second == 0.0:
            return vx, vy
        x = p.noise_first * random_normal(record)
        y = p.noise_second * random_normal(record)
        ax, ay = create_shot(p.release, 0.0, 0.0, spin)
        bx, by = create_shot(p.release, x, y, spin)
        return vx + ax - bx, vy + ay - by
    speed, angle = math.sqrt(vx * vx + vy * vy), atan2(vy, vx)
    speed = min(speed, p.speed_limit)
    if p.noise_first != 0.0 or p.noise_second != 0.0:
        speed = max(speed + p.noise_first * random_normal(record), 0.0)
        angle += p.noise_second * random_normal(record)
    sine, cosine = sincos(angle)
    return speed * cosine, speed * sine


@kernel
def clear_sheet(s):
    for k in range(STONES):
        s.stones[k, 0], s.stones[k, 1], s.in_play[k] = 0.0, 0.0, 0


@kernel
def reset(s, p):
    s.hammer = p.first_hammer
    s.end = p.first_end
    s.total[0] = max(p.lead, 0)
    s.total[1] = max(-p.lead, 0)
    if p.lead != 0:  # the board shows the score of the earlier ends
        s.scores[0, 0], s.scores[1, 0] = s.total[0], s.total[1]
    s.conceded = -1
    s.to_move = 1 - s.hammer


@kernel
def reward_both(s, amount):
    """`amount` to the first player, its opposite to the second."""
    s.rewards[0] = amount
    s.rewards[1] = -amount


@kernel
def close_end(s, p):
    """Counts the end, passes the hammer on, and ends the game or clears the sheet."""
    points = end_score(p, s.stones, s.in_play)
    scorer = 1 - s.hammer if points > 0 else s.hammer
    points = abs(points)
    for k in range(STONES):
        s.last_stones[k, 0], s.last_stones[k, 1], s.last_in_play[k] = s.stones[k, 0], s.stones[k, 1], s.in_play[k]
    s.total[scorer] += points
    if s.end < p.ends:
        s.scores[scorer, s.end] += points
    else:
        s.extra[scorer] += points
    s.end += 1
    s.shot = 0
    if points > 0:
        s.hammer = 1 - scorer
    if p.reward_kind == SCORE:
        reward_both(s, points / 8.0 if scorer == 0 else -points / 8.0)
    clear_sheet(s)
    s.to_move = 1 - s.hammer
    lead = s.total[0] - s.total[1]
    over = s.end >= p.ends and (lead != 0 or s.end >= p.ends + p.extra_ends)
    if over or s.end >= p.last_end:
        s.terminated = 1
        if p.reward_kind == WIN:
            reward_both(s, 1.0 if lead > 0 else -1.0 if lead < 0 else 0.0)
        elif p.reward_kind == WIN_PROBABILITY:
            reward_both(s, 2.0 * win_probability(p, s.end, s.hammer, lead) - 1.0)


@kernel
def win_probability(p, end, hammer, lead):
    """Win probability of the first player, leading by `lead` after `end` ends, from the table `p.win_table`."""
    left = max(p.ends - end, 0)
    half = (p.win_table.shape[1] - 1) // 2
    if left == 0 and lead != 0:
        return 1.0 if lead > 0 else 0.0
    if left == 0 and p.extra_ends == 0:
        return 0.5
    if hammer == 1:  # the first player throws first
        return p.win_table[left, min(max(lead, -half), half) + half]
    return 1.0 - p.win_table[left, min(max(-lead, -half), half) + half]


@kernel
def concede(s, p):
    """The player to move gives the game up."""
    s.conceded = s.to_move
    s.terminated = 1
    reward_both(s, -1.0 if s.to_move == 0 else 1.0)


@kernel
def ask(s, p, vx, vy, spin):
    """Records an intended shot and draws its noise; returns the velocity for `deliver`. `spin` is +1 or -1."""
    s.asked[0], s.asked[1], s.asked[2] = vx, vy, spin
    return with_noise(s, p, vx, vy, spin)


@kernel
def deliver(s, p, vx, vy, spin):
    """Plays one shot of the game with its actual velocity."""
    s.run[0], s.run[1], s.run[2] = vx, vy, spin
    foul, _ = throw(p, s.stones, s.in_play, s.before, s.before_in_play, s.shot, (vx, vy, spin), stack_rows()[0:0])
    s.foul = foul
    s.shot += 1
    s.to_move = 1 - s.to_move
    if s.shot == STONES:
        close_end(s, p)


@kernel
def velocity_of(p, action):
    """The shot of a continuous action: `(vx, vy, spin)`."""
    a = min(max(float(action[0]), -1.0), 1.0)
    b = min(max(float(action[1]), -1.0), 1.0)
    spin = 1.0 if action[2] >= 0.0 else -1.0
    if p.by_target != 0:
        vx, vy = draw_shot(p.model, p.release, a * p.target_side, 0.5 * (p.hog + p.far + b * (p.far - p.hog)), spin)
    else:
        vx, vy = a * p.lateral, 0.5 * (p.slowest + p.fastest + b * (p.fastest - p.slowest))
    return vx, vy, spin


@kernel
def step(s, p, action):
    if p.concession != 0 and action[action.shape[0] - 1] > CONCEDES:
        concede(s, p)
    else:
        vx, vy, spin = velocity_of(p, action)
        vx, vy = ask(s, p, vx, vy, spin)
        deliver(s, p, vx, vy, spin)


@kernel
def _paint(s, p, player, out, at):
    # Own stones, the opponent's, the house (1 at the tee, 0 outside), the free guard zone.
    for k in range(PLANES * ROWS * COLUMNS):
        out[at + k] = 0.0
    for row in range(ROWS):
        y = p.back - (row + 0.5) * _CELL
        for column in range(COLUMNS):
            x = (column + 0.5) * _CELL - 0.5 * COLUMNS * _CELL
            distance = math.sqrt(x * x + y * y)
            here = at + row * COLUMNS + column
            if distance < p.score:
                out[here + 2 * ROWS * COLUMNS] = 1.0 - distance / p.score
            elif y < p.fgz_tee and abs(x) < p.side:
                out[here + 3 * ROWS * COLUMNS] = 1.0
    for k in range(STONES):
        if s.in_play[k] != 0:
            row = min(max(int((p.back - s.stones[k, 1]) / _CELL), 0), ROWS - 1)
            column = min(max(int(s.stones[k, 0] / _CELL + 0.5 * COLUMNS), 0), COLUMNS - 1)
            plane = 0 if (k + 1 - s.hammer) % 2 == player else 1
            out[at + (plane * ROWS + row) * COLUMNS + column] = 1.0


@kernel
def observe(s, p, player, out):
    # Row k of the end was thrown by the side (first + k) % 2; a side's stones are written in the order thrown.
    first = 1 - s.hammer
    for team in range(SIDES):
        side = player if team == 0 else 1 - player
        for n in range(STONES_EACH):
            k = 2 * n + (0 if side == first else 1)
            at = (team * STONES_EACH + n) * 4
            if s.in_play[k] != 0:
                out[at] = s.stones[k, 0] / 2.375
                out[at + 1] = s.stones[k, 1] / 8.0
                out[at + 2] = min(tee_distance(s.stones, k) / 8.0, 1.0)
                out[at + 3] = 1.0
            else:
                out[at], out[at + 1], out[at + 2], out[at + 3] = 0.0, 0.0, 0.0, 0.0
    at = 2 * STONES_EACH * 4
    for k in range(STONES):
        out[at + k] = 1.0 if k == s.shot else 0.0
    at += STONES
    lead = float(s.total[player] - s.total[1 - player])
    out[at] = min(s.end / 10.0, 1.0)
    out[at + 1] = max(p.ends - s.end, 0) / 10.0
    out[at + 2] = min(max(lead / 8.0, -1.0), 1.0)
    out[at + 3] = 1.0 if s.hammer == player else -1.0
    if p.image != 0:
        _paint(s, p, player, out, at + 4)


@kernel
def valid(s, p):
    if s.terminated == 0 and s.to_move != (1 - s.hammer + s.shot) % 2:
        return False
    return valid_but_turn(s, p)


@kernel
def valid_but_turn(s, p):
    """`valid`, whoever is to move."""
    if s.shot >= STONES or s.hammer > 1 or s.foul > 1 or s.conceded < -1 or s.conceded > 1:
        return False
    if s.end < p.first_end or s.end > p.ends + p.extra_ends or s.end > p.last_end:
        return False
    for side in range(SIDES):
        total = int(s.extra[side])
        if s.extra[side] < 0 or s.extra[side] > 8 * MOST_ENDS:
            return False
        for end in range(ENDS):
            # The first column also holds the initial score of a given situation.
            if s.scores[side, end] < 0 or s.scores[side, end] > (99 if end == 0 else 8):
                return False
            if end >= p.ends and s.scores[side, end] != 0:
                return False
            total += int(s.scores[side, end])
        if s.total[side] != total:
            return False
    for k in range(3):
        if not abs(s.asked[k]) < 1e6 or not abs(s.run[k]) < 1e6:
            return False
    good = lies_well(p, s.stones, s.in_play) and lies_well(p, s.before, s.before_in_play)
    if not good or not lies_well(p, s.last_stones, s.last_in_play):
        return False
    thrown_later = 0
    for k in range(s.shot, STONES):
        thrown_later += s.in_play[k]
    return thrown_later == 0


@kernel
def lies_well(p, stones, in_play):
    """Whether stones in play lie on the sheet and those out of play at 0."""
    for k in range(STONES):
        if in_play[k] > 1:
            return False
        x, y = stones[k, 0], stones[k, 1]
        if in_play[k] == 0:
            if x != 0.0 or y != 0.0:
                return False
        elif not (abs(x) < p.side + 1e-6 and y < p.back + 1e-6 and y > -p.release):
            return False
    return True

"""An evaluation of positions that is learned: a small network over counts, in whole numbers.

Its inputs, for the side to move and for the other: for each type of unit its hit points, units, cover, what the enemy could
take from it, what it could take, and how near it stands to what it can hurt; what the side to move could still take in
this turn; turns left, lead and threshold. Each falls into one of 16 steps, and each step of each input has a row of
weights (see `rows`). Additions of whole numbers are exact in any order, so that the values are the same on every machine.

`learning.py` makes the weights.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from asobiba.baselines.search.rows import STEPS, UNIT, judge, load_rows
from asobiba.baselines.tactics.features import FURTHEST_SHOT, may_hit
from asobiba.core import kernel
from asobiba.envs.tactics.battle import damage, distance, occupied, reach, stars_of, total_hp
from asobiba.envs.tactics.units import INDIRECT, KINDS, MOVEMENT, POWER

FILE = Path(__file__).parent / "policies" / "uct_learned" / "evaluation.npz"
HIT_POINTS, UNITS, COVER, IN_DANGER, DANGEROUS, NEAREST = (KINDS * k for k in range(6))
"""Where the inputs of a side begin, by type of unit each."""
SIDE = 6 * KINDS
READY = 2 * SIDE
"""Hit points of units of the side to move that have not moved, and what they could take in this turn, by type."""
TURNS_LEFT = READY + 2 * KINDS
LEAD, TO_WIN, TO_LOSE, RED = range(TURNS_LEFT + 1, TURNS_LEFT + 5)
INPUTS = RED + 1
SCALE = 200
"""Points of a score that the logit 1 of a win stands for."""
_UPPER = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 21, 26, 32)
COUNTED = 64
STEP_OF = np.searchsorted(np.array(_UPPER), np.arange(COUNTED)).astype(np.int64)
"""The step of each count: up to 0, up to 1, ...; more than 32 is the last one."""
_FAR = 15
_LEADS = 2 * STEPS

ROWS, FIRST, HIDDEN, SECOND, LAST, BIAS = load_rows(FILE, INPUTS)


@kernel
def count_inputs(s, p, side, counts, threat):
    """Writes the step of each input of a position, `(INPUTS,)`, for the side to move.

    `threat` `(3, units)` gets what all enemies together could take from each own unit and what the own ones could take from
    each enemy, in all and by those that have not moved.
    """
    for k in range(INPUTS):
        counts[k] = 0
    for k in range(3):
        for unit in range(s.hp.shape[1]):
            threat[k, unit] = 0
    for k in range(2):
        for name in range(KINDS):
            counts[SIDE * k + NEAREST + name] = _FAR
    mine, theirs = occupied(s, p, side), occupied(s, p, 1 - side)
    for k in range(2):
        owner = side if k == 0 else 1 - side
        at, other = SIDE * k, SIDE * (1 - k)
        own, enemy = (mine, theirs) if k == 0 else (theirs, mine)
        for unit in range(s.hp.shape[1]):
            hp = np.int64(s.hp[owner, unit])
            if hp == 0:
                continue
            kind = np.int64(s.kind[owner, unit])
            cell = np.int64(s.cell[owner, unit])
            counts[at + HIT_POINTS + kind] += hp
            counts[at + UNITS + kind] += 1
            counts[at + COVER + kind] += stars_of(p, s.board, cell, kind) * hp // 4
            ready = k == 0 and s.moved[unit] == 0
            if ready:
                counts[READY + kind] += hp
            stops, known = own, INDIRECT[kind] != 0
            best = np.int64(0)
            for target in range(s.hp.shape[1]):
                left = np.int64(s.hp[1 - owner, target])
                struck = np.int64(s.kind[1 - owner, target])
                if left == 0 or POWER[kind, struck] == 0:
                    continue
                there = np.int64(s.cell[1 - owner, target])
                apart = distance(p, cell, there)
                counts[at + NEAREST + kind] = min(counts[at + NEAREST + kind], apart)
                if apart > max(FURTHEST_SHOT, MOVEMENT[kind] + 1):
                    continue
                if not known:  # most of the time it takes goes here
                    stops, known = reach(s, p, owner, unit, own, enemy), True
                if not may_hit(s, p, 1 - owner, unit, stops, there):
                    continue
                stars = stars_of(p, s.board, there, struck)
                done = np.int64(damage(POWER[kind, struck], hp, stars, left))
                counts[other + IN_DANGER + struck] += done
                threat[1 - k, target] += done
                if ready:
                    threat[2, target] += done
                best = max(best, done)
            counts[at + DANGEROUS + kind] += best
            if ready:
                counts[READY + KINDS + kind] += best
    for k in range(TURNS_LEFT):
        counts[k] = STEP_OF[min(counts[k], COUNTED - 1)]
    lead = total_hp(s, side) - total_hp(s, 1 - side)
    threshold = np.int64(p.threshold[s.board])
    counts[TURNS_LEFT] = min(max(np.int64(p.limit[s.board]) - np.int64(s.turns), 0), STEPS - 1)
    counts[LEAD] = min(max(lead // 3 + STEPS // 2, 0), STEPS - 1)
    counts[TO_WIN] = min(max(lead - threshold + STEPS // 2, 0), STEPS - 1)
    counts[TO_LOSE] = min(max(-lead - threshold + STEPS // 2, 0), STEPS - 1)
    counts[RED] = 1 - side


@kernel
def score(counts, first, second):
    """The score of inputs for the side to move."""
    return judge(counts, ROWS, FIRST, HIDDEN, SECOND, LAST, BIAS, first, second) * SCALE // UNIT**2

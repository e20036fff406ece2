"""The 22 features by which F-UCT judges a unit action, all of the position after it.

Source: the published program `mu-to/TUBSTAP` (features and their numbers of values). The encoding of the target type
and of the damage is not public; the natural one was taken: the type's number, 6 without an attack. Some are simpler here
than there: the program counts friends and enemies that the unit's paths meet, not those within its movement as the crow
flies; it plays the attacks that are the danger one after another, so that attackers stand in each other's way; it does
not cut the lead and the turns left off; and a turn that the action ends counts as still going on.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.tactics import bits
from asobiba.envs.tactics.battle import damage, distance, occupied, reach, shot_number, stars_of, total_hp
from asobiba.envs.tactics.units import INDIRECT, KINDS, MOVEMENT, MOVES, NAMES, POWER

NAMES_OF = (
    "hp", "target", "damage", "danger", "blocked", "friends", "enemies", "last", "lead", "turns_left",
    *(f"own_{name}" for name in NAMES), *(f"other_{name}" for name in NAMES),
)  # fmt: skip
"""Hit points of the unit; type of the target (6: none); damage done; what enemies could take from it in their turn;
neighbouring cells that it cannot enter; friends and enemies within its movement, as the crow flies; whether it is the
last of its side to move; sum of own hit points less the other side's (-15 to 15); turns left (to 39); units by type."""
FEATURES = len(NAMES_OF)
_NO_TARGET = KINDS
FURTHEST_SHOT = 3


@kernel
def may_hit(s, p, side, enemy, stops, cell):
    """Whether an enemy of `side` that can go to `stops` can attack a unit on `cell`."""
    if INDIRECT[s.kind[1 - side, enemy]] != 0:
        return shot_number(p, np.int64(s.cell[1 - side, enemy]), cell) >= 0
    size, span = np.int64(p.width), p.span
    for beside in (cell - size, cell + 1, cell + size, cell - 1):
        if bits.has(stops[0], stops[1], stops[2], stops[3], beside, span) != 0:
            return True
    return False


@kernel
def danger(s, p, side, unit):
    """Hit points that the enemies could take from a unit in their next turn: each attacks once, the strongest first."""
    cell = np.int64(s.cell[side, unit])
    kind = s.kind[side, unit]
    stars = stars_of(p, s.board, cell, kind)
    own, enemy = occupied(s, p, side), occupied(s, p, 1 - side)
    attackers = 0
    for k in range(s.hp.shape[1]):
        if s.hp[1 - side, k] > 0 and POWER[s.kind[1 - side, k], kind] > 0:
            near = distance(p, np.int64(s.cell[1 - side, k]), cell)
            if near > max(FURTHEST_SHOT, MOVEMENT[s.kind[1 - side, k]] + 1):
                continue
            stops = enemy if INDIRECT[s.kind[1 - side, k]] != 0 else reach(s, p, 1 - side, k, enemy, own)
            if may_hit(s, p, side, k, stops, cell):
                attackers |= 1 << k
    left = np.int64(s.hp[side, unit])
    taken = np.int64(0)
    while attackers != 0 and left > 0:
        most, strongest = np.int64(0), 0
        for k in range(s.hp.shape[1]):
            if (attackers >> k) & 1:
                done = np.int64(damage(POWER[s.kind[1 - side, k], kind], s.hp[1 - side, k], stars, left))
                if done >= most:
                    most, strongest = done, k
        attackers &= ~(1 << strongest)
        left -= most
        taken += most
    return taken


@kernel
def action_features(before, after, p, side, unit, target_cell, out):
    """Writes the features of an action of `unit`, which attacked `target_cell` or nothing (-1), into `out` (22,) float32."""
    for k in range(FEATURES):
        out[k] = 0
    cell = np.int64(after.cell[side, unit])
    kind = after.kind[side, unit]
    out[0] = after.hp[side, unit]
    out[1] = _NO_TARGET
    if target_cell >= 0:
        for k in range(before.hp.shape[1]):
            if before.hp[1 - side, k] > 0 and before.cell[1 - side, k] == target_cell:
                out[1] = before.kind[1 - side, k]
                out[2] = np.int64(before.hp[1 - side, k]) - np.int64(after.hp[1 - side, k])
    out[3] = danger(after, p, side, unit)
    board, moves, size = after.board, MOVES[kind], np.int64(p.width)
    own, enemy = occupied(after, p, side), occupied(after, p, 1 - side)
    for beside in (cell - size, cell + 1, cell + size, cell - 1):
        word = beside // p.span
        enter = p.enter_1[board, moves, word] | p.enter_2[board, moves, word]
        free = (enter >> (beside - word * p.span)) & 1
        taken = bits.has(own[0], own[1], own[2], own[3], beside, p.span)
        taken |= bits.has(enemy[0], enemy[1], enemy[2], enemy[3], beside, p.span)
        out[4] += 0 if free != 0 and taken == 0 else 1
    last = 1
    for k in range(after.hp.shape[1]):
        for owner in range(2):
            if after.hp[owner, k] > 0:
                near = distance(p, cell, np.int64(after.cell[owner, k])) <= MOVEMENT[kind]
                if owner == side:
                    out[5] += 1 if near and k != unit else 0
                    out[10 + after.kind[owner, k]] += 1
                else:
                    out[6] += 1 if near else 0
                    out[16 + after.kind[owner, k]] += 1
        if before.hp[side, k] > 0 and before.moved[k] == 0 and k != unit:
            last = 0
    out[7] = last
    out[8] = max(-15, min(15, total_hp(after, side) - total_hp(after, 1 - side)))
    out[9] = min(39, np.int64(p.limit[board]) - np.int64(after.turns))

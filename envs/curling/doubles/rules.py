"""The rules of mixed doubles: two positioned stones, the decision on their placement, the power play, ten shots an end.

The stones of an end lie in rows 4 to 15: the positioned stone of the side that throws first, that of the other, then the
ten delivered ones. `shot` is 0 while a placement is due, then 6 to 15, so that an end closes after row 15 as in curling,
and what looks ahead to the end's last shot needs no change.
"""

from __future__ import annotations

from asobiba.core import kernel
from asobiba.envs.curling import rules as curling
from asobiba.envs.curling.rules import CONCEDES, SIDES, ask, clear_sheet, concede, tee_distance, velocity_of
from asobiba.envs.curling.simulation import STONES

__all__ = ["observe", "reset", "step", "valid"]

FIRST_SHOT, POSITIONED, STONES_EACH = 6, 4, 6
"""Row of the first delivered stone; of the first positioned one; stones of a side, its positioned one included."""
GUARDED_SHOTS = FIRST_SHOT + 3
"""No stone may be removed before the fourth delivered one of an end."""
PLACEMENTS = ("guard", "house", "left", "right")
"""The own positioned stone is the guard, and the own side throws first; it lies in the house, and the other side throws
first; the same as a power play to the left, to the right."""
GUARD, HOUSE, LEFT, RIGHT = range(len(PLACEMENTS))


@kernel
def reset(s, p):
    curling.reset(s, p)
    s.power_end[0], s.power_end[1] = -1, -1
    s.decider = p.first_hammer
    s.to_move = s.decider


@kernel
def placement_of(number):
    """The placement of an action's fourth number: a quarter of its range each."""
    return min(max(int(2.0 * (float(number) + 1.0)), 0), RIGHT)


@kernel
def had(s, p, placement):
    """The placement that a side has which asks for this one: a power play that it may not have is one in the house."""
    if placement >= LEFT and (s.end >= p.ends or s.power_end[s.decider] >= 0):
        return HOUSE
    return placement


@kernel
def place(s, p, placement):
    """The side to move places the stones of the end."""
    side = s.decider
    placement = had(s, p, placement)
    power = placement >= LEFT
    if power:
        s.power_end[side] = s.end
    s.hammer = 1 - side if placement == GUARD else side
    clear_sheet(s)
    for k in range(2):  # the guard belongs to the side that throws first
        x, y = p.positioned[1 if power else 0, k, 0], p.positioned[1 if power else 0, k, 1]
        row = POSITIONED + k
        s.stones[row, 0], s.stones[row, 1], s.in_play[row] = -x if placement == LEFT else x, y, 1
    for k in range(3):  # the last end's last shot is not this end's
        s.asked[k], s.run[k] = 0.0, 0.0
    s.foul = 0
    s.shot = FIRST_SHOT
    s.to_move = 1 - s.hammer


@kernel
def deliver(s, p, vx, vy, spin):
    """Plays one shot of the game with its actual velocity; after the last of an end, the next placement is due."""
    scored = s.total[0] + s.total[1]
    curling.deliver(s, p, vx, vy, spin)
    if s.shot == 0:
        if s.total[0] + s.total[1] > scored:
            s.decider = s.hammer  # the side that did not score
        else:
            s.decider = 1 - s.decider
        s.to_move = s.decider


@kernel
def step(s, p, action):
    if p.concession != 0 and action[action.shape[0] - 1] > CONCEDES:
        concede(s, p)
    elif s.shot == 0:
        place(s, p, placement_of(action[3]))
    else:
        vx, vy, spin = velocity_of(p, action)
        vx, vy = ask(s, p, vx, vy, spin)
        deliver(s, p, vx, vy, spin)


@kernel
def observe(s, p, player, out):
    first = 1 - s.hammer
    at = 0
    for team in range(SIDES):
        side = player if team == 0 else 1 - player
        for n in range(STONES_EACH):
            k = POSITIONED + 2 * n + (0 if side == first else 1)
            if s.in_play[k] != 0:
                out[at] = s.stones[k, 0] / 2.375
                out[at + 1] = s.stones[k, 1] / 8.0
                out[at + 2] = min(tee_distance(s.stones, k) / 8.0, 1.0)
                out[at + 3] = 1.0
            else:
                out[at], out[at + 1], out[at + 2], out[at + 3] = 0.0, 0.0, 0.0, 0.0
            at += 4
    for k in range(STONES - FIRST_SHOT + 1):
        out[at + k] = 1.0 if k == max(int(s.shot) + 1 - FIRST_SHOT, 0) else 0.0
    at += STONES - FIRST_SHOT + 1
    lead = float(s.total[player] - s.total[1 - player])
    out[at] = min(s.end / 10.0, 1.0)
    out[at + 1] = max(p.ends - s.end, 0) / 10.0
    out[at + 2] = min(max(lead / 8.0, -1.0), 1.0)
    out[at + 3] = 0.0 if s.shot == 0 else 1.0 if s.hammer == player else -1.0
    out[at + 4] = 1.0 if s.decider == player else -1.0
    out[at + 5] = 1.0 if s.power_end[player] < 0 else 0.0
    out[at + 6] = 1.0 if s.power_end[1 - player] < 0 else 0.0


@kernel
def valid(s, p):
    if s.decider > 1 or (s.shot != 0 and s.shot < FIRST_SHOT):
        return False
    if s.terminated == 0 and s.to_move != (s.decider if s.shot == 0 else (1 - s.hammer + s.shot) % 2):
        return False
    for side in range(SIDES):
        if s.power_end[side] < -1 or s.power_end[side] > s.end or s.power_end[side] >= p.ends:
            return False
    if s.power_end[0] >= 0 and s.power_end[0] == s.power_end[1]:
        return False
    for k in range(POSITIONED):
        if s.in_play[k] != 0 or s.before_in_play[k] != 0 or s.last_in_play[k] != 0:
            return False
    return curling.valid_but_turn(s, p)

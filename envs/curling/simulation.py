"""A shot, from event to event: first contacts, stones that leave the sheet, spin out or stop.

Nothing is stepped in time. A contact is looked for by safe steps: over `dt`, the distance of two stones falls by at
most what its present rate and the greatest deceleration allow, so that a step to where the stones could touch at the
earliest never passes a contact; near one this is Newton's method. Contacts are resolved in pairs, by the impulses that
the simulators' engine (Box2D) converges to; several at once follow each other at the same time.
"""

from __future__ import annotations

import math

from asobiba.core import kernel
from asobiba.envs.curling import simulators as const
from asobiba.envs.curling.motion import (
    END,
    EXIT,
    MOVING,
    NEXT,
    OMEGA,
    PARTNER,
    STOP_X,
    STOP_Y,
    T0,
    TAU0,
    at_time,
    launch,
    spin_at,
    strongest,
    tau_at_distance,
)
from asobiba.envs.curling.scratch import stack_rows
from asobiba.envs.curling.simulators import CS2, RADIUS

STONES = 16
TOUCH = 2.0 * RADIUS
NEVER = 1e30
_GAP = 1e-6
"""m, the distance at which stones count as touching."""
_PATIENCE = 1e-3
"""s between two looks at stones that lie against each other."""
_EVENTS = 2000
TRACE_COLUMNS = 10
"""A traced stretch: stone, time of its begin and end, then its row's T0 to OMEGA without the spin's sign."""


@kernel
def _least_approach(model):
    # Slower than this, stones that lie against each other are left alone: what friction adds in a millisecond.
    return 0.012 if model == CS2 else 0.0004


@kernel
def _contact(model, m, stones, i, j, t):
    """When moving stone `i` first touches stone `j` (which may move) after `t`, within both stretches, or NEVER."""
    end = min(m[i, END], m[i, EXIT])
    both = m[j, MOVING] != 0.0
    strong = strongest(model)
    if both:
        end = min(end, min(m[j, END], m[j, EXIT]))
        strong *= 2.0
    else:
        # A stone that lies still can be met only while the way to the stop is as long as the way from there to it.
        dx, dy = stones[j, 0] - m[i, STOP_X], stones[j, 1] - m[i, STOP_Y]
        far = math.sqrt(dx * dx + dy * dy)
        tau = tau_at_distance(model, far + TOUCH)
        begin = m[i, T0] + m[i, TAU0] - tau
        if begin > t:
            t = begin
        elif far > TOUCH:
            x, y, vx, vy = at_time(model, m, i, t)
            wx, wy = x - m[i, STOP_X], y - m[i, STOP_Y]
            if wx * wx + wy * wy < (far - TOUCH - 0.02) * (far - TOUCH - 0.02):
                return NEVER
    least = _least_approach(model)
    first = True
    for _ in range(400):
        if t > end:
            return NEVER
        x, y, vx, vy = at_time(model, m, i, t)
        if both:
            bx, by, bvx, bvy = at_time(model, m, j, t)
            x, y, vx, vy = x - bx, y - by, vx - bvx, vy - bvy
        else:
            x, y = x - stones[j, 0], y - stones[j, 1]
        distance = math.sqrt(x * x + y * y)
        gap = distance - TOUCH
        rate = (x * vx + y * vy) / distance
        if gap < _GAP:
            if rate < -least:
                return t
            gap = max(gap, 0.0)
            t += max((rate + math.sqrt(rate * rate + 2.0 * strong * gap)) / strong, _PATIENCE)
            continue
        if first and not both and gap > 2.0 * TOUCH + 0.05:
            return NEVER  # too far aside: the stretch in which they can meet is two diameters long
        first = False
        t += (rate + math.sqrt(rate * rate + 2.0 * strong * gap)) / strong + 1e-12
    return NEVER


@kernel
def _exit(model, m, side, back, i, t):
    """When moving stone `i` leaves the sheet, or NEVER."""
    x0, y0, _, _ = at_time(model, m, i, t)
    x1, y1, _, _ = at_time(model, m, i, m[i, END])
    # How far the path can lie beside the straight line between its ends: never more than a twenty-fifth of that.
    aside = 0.04 * math.sqrt((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0))
    best = NEVER
    strong = strongest(model)
    for edge in range(3):
        nx = 1.0 if edge == 0 else -1.0 if edge == 1 else 0.0
        ny = 1.0 if edge == 2 else 0.0
        limit = back if edge == 2 else side
        a, b = limit - nx * x0 - ny * y0, limit - nx * x1 - ny * y1
        if a > aside and b > aside:
            continue
        now = t
        for _ in range(200):
            x, y, vx, vy = at_time(model, m, i, now)
            room = limit - nx * x - ny * y
            rate = -(nx * vx + ny * vy)
            if room < 1e-9:
                if rate < 0.0 or room < -1e-9:
                    best = min(best, now)
                    break
                room = 0.0
            now += (rate + math.sqrt(rate * rate + 2.0 * strong * room)) / strong + 1e-12
            if now > m[i, END] or now > best:
                break
    return best


@kernel
def _look_ahead(model, m, stones, in_play, i, t):
    """Finds the next contact of moving stone `i`; tells the stones that it will meet."""
    m[i, NEXT] = NEVER
    for j in range(STONES):
        if j == i or in_play[j] == 0:
            continue
        when = _contact(model, m, stones, i, j, t)
        if when < m[i, NEXT]:
            m[i, NEXT] = when
            m[i, PARTNER] = j
        if m[j, MOVING] != 0.0 and when < m[j, NEXT]:
            m[j, NEXT] = when
            m[j, PARTNER] = i


@kernel
def _bounce(model, vx, vy, spin, wx, wy, turn, nx, ny):
    """The impulses between stone A (velocity v) and stone B (w) that touch; n points from A to B.

    Returns the normal and tangential speed that passes from A to B (m/s); both spins change by -2/r of the latter.
    """
    rx, ry = vx - wx, vy - wy
    normal = rx * nx + ry * ny
    across = -rx * ny + ry * nx + RADIUS * (spin + turn)
    if model == CS2:
        if normal <= const.CS2_ELASTIC_ABOVE:
            normal *= 0.5
        most = const.CS2_CONTACT_FRICTION * normal
    else:
        most = const.FCV1_CONTACT_FRICTION * normal
    return normal, min(max(across / 6.0, -most), most)


@kernel
def _keep_trace(m, i, t, trace, traced):
    if traced < trace.shape[0]:
        trace[traced, 0] = i
        trace[traced, 1] = m[i, T0]
        trace[traced, 2] = t
        for k in range(1, 7):
            trace[traced, 2 + k] = m[i, k]
        trace[traced, 9] = m[i, OMEGA]
        return traced + 1
    return traced


@kernel
def _collide(model, m, stones, side, back, i, j, t, trace, traced):
    """Stones `i` (moving) and `j` touch at time `t`; new stretches begin for both."""
    x, y, vx, vy = at_time(model, m, i, t)
    spin = spin_at(model, m, i, t)
    traced = _keep_trace(m, i, t, trace, traced)
    bx, by, wx, wy, turn = stones[j, 0], stones[j, 1], 0.0, 0.0, 0.0
    if m[j, MOVING] != 0.0:
        bx, by, wx, wy = at_time(model, m, j, t)
        turn = spin_at(model, m, j, t)
        traced = _keep_trace(m, j, t, trace, traced)
    stones[i, 0], stones[i, 1], stones[j, 0], stones[j, 1] = x, y, bx, by
    nx, ny = bx - x, by - y
    length = math.sqrt(nx * nx + ny * ny)
    nx, ny = nx / length, ny / length
    normal, across = _bounce(model, vx, vy, spin, wx, wy, turn, nx, ny)
    change = 2.0 * across / RADIUS
    px, py = normal * nx - across * ny, normal * ny + across * nx
    launch(model, m, i, t, x, y, vx - px, vy - py, spin - change, False)
    launch(model, m, j, t, bx, by, wx + px, wy + py, turn - change, False)
    m[i, EXIT] = _exit(model, m, side, back, i, t)
    m[j, EXIT] = _exit(model, m, side, back, j, t)
    return traced


@kernel
def run_shot(model, side, back, release, stones, in_play, thrown, vx, vy, spin, trace):
    """Delivers stone `thrown` and lets everything slide, in place.

    Args:
        model: `CS2` or `FCV1`.
        side, back: the edges of the sheet (see `Simulator`), m; stones that pass them are out of play.
        release: y of the delivery is -release.
        stones: `(16, 2)` float64, places in m from the tee; in_play: `(16,)` uint8.
        thrown: row of the delivered stone, whose place is ignored.
        vx, vy, spin: velocity of delivery (m/s) and spin (rad/s).
        trace: `(n, TRACE_COLUMNS)` float64 that receives the stretches of the shot; no rows: none is kept.

    Returns:
        The number of traced stretches.
    """
    m = stack_rows()
    for k in range(STONES):
        m[k, MOVING] = 0.0
        m[k, NEXT] = NEVER
    in_play[thrown] = 1
    stones[thrown, 0], stones[thrown, 1] = 0.0, -release
    traced = 0
    t = 0.0
    launch(model, m, thrown, t, 0.0, -release, vx, vy, spin, True)
    m[thrown, EXIT] = _exit(model, m, side, back, thrown, t)
    _look_ahead(model, m, stones, in_play, thrown, t)
    for _ in range(_EVENTS):
        best, i = NEVER, -1
        for k in range(STONES):
            if m[k, MOVING] != 0.0:
                when = min(m[k, NEXT], min(m[k, END], m[k, EXIT]))
                if when < best:
                    best, i = when, k
        if i < 0:
            return traced
        t = best
        j = -1
        if m[i, NEXT] <= min(m[i, END], m[i, EXIT]):
            j = int(m[i, PARTNER])
            traced = _collide(model, m, stones, side, back, i, j, t, trace, traced)
        else:
            x, y, vx, vy = at_time(model, m, i, t)
            spin = spin_at(model, m, i, t)
            traced = _keep_trace(m, i, t, trace, traced)
            stones[i, 0], stones[i, 1] = x, y
            if m[i, EXIT] <= m[i, END]:
                in_play[i] = 0
                stones[i, 0], stones[i, 1] = 0.0, 0.0
                m[i, MOVING] = 0.0
            elif vx * vx + vy * vy < 1e-16:
                m[i, MOVING] = 0.0
            else:  # spun out: straight on
                launch(model, m, i, t, x, y, vx, vy, 0.0, False)
                m[i, EXIT] = _exit(model, m, side, back, i, t)
        # What the two were expected to meet, and who was expected to meet them, is found anew.
        m[i, NEXT] = NEVER
        if j >= 0:
            m[j, NEXT] = NEVER
        for k in range(STONES):
            if m[k, MOVING] != 0.0 and k != i and k != j and m[k, NEXT] < NEVER:
                partner = int(m[k, PARTNER])
                if partner in (i, j):
                    _look_ahead(model, m, stones, in_play, k, t)
        if m[i, MOVING] != 0.0:
            _look_ahead(model, m, stones, in_play, i, t)
        if j >= 0:
            _look_ahead(model, m, stones, in_play, j, t)
        elif m[i, MOVING] == 0.0 and in_play[i] != 0:
            for k in range(STONES):
                if m[k, MOVING] != 0.0:
                    when = _contact(model, m, stones, k, i, t)
                    if when < m[k, NEXT]:
                        m[k, NEXT] = when
                        m[k, PARTNER] = i
    for k in range(STONES):  # a tangle that never ends: everything stops where it is
        if m[k, MOVING] != 0.0:
            x, y, _, _ = at_time(model, m, k, min(t, m[k, END]))
            stones[k, 0], stones[k, 1] = x, y
    return traced

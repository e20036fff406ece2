"""A shot, from event to event: first contacts, stones that leave the sheet, spin out or stop.

There are no time steps. Contacts are found by safe steps: the present rate and the greatest deceleration bound the
decrease of two stones' distance over `dt`, so a step to the earliest possible contact never passes one; near a contact
this is Newton's method. Contacts are resolved in pairs, by the impulses that the simulators' engine (Box2D) converges
to; simultaneous contacts are resolved one after another.

Against an integration in frames of a millisecond (`tests/curling_reference.py`), 10,000 random shots into random positions
of eight stones: in 99.87 % (cs2) and 99.77 % (fcv1) the same stones stay in play; 43 % and 47 % have contact. The places
of the stones that moved differ by 1.1 mm and 0.6 mm in the median, by 9 mm at the 90th percentile, by 56 mm and 71 mm
at the 99th, by 1.3 m and 0.9 m at most: a stone that is hit slightly differently goes elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from asobiba.core import kernel
from asobiba.core.targets import count_ones
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
    VX,
    VY,
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
"""s between two checks of stones that lie against each other."""
_EVENTS = 2000
_BEND = 0.04
"""Upper bound, in both simulators, of a path's distance from the straight line between its ends, as a share of the line's length."""
TRACE_COLUMNS = 10
"""A traced stretch: stone, time of its begin and end, then its row's T0 to OMEGA without the spin's sign."""


@kernel
def _least_approach(model):
    # Stones that lie against each other are left alone below this speed (the effect of friction in a millisecond).
    return 0.012 if model == CS2 else 0.0004


@kernel
def _bulge(model, chord, distance):
    """Upper bound (m) of how far a path lies aside from the straight line to its stop, `chord` m long, up to `distance` m from it.

    In cs2, r m before its stop, a path is r sin(w / 2 ln(chord / r)) aside, w = CS2_TURN, and -x ln x is at most 1/e and
    2/e sqrt(x). In fcv1 the two factors are those of its tables.
    """
    if model == CS2:
        most, before = 0.0334 * 0.368 * chord, 0.0334 * 0.7358 * math.sqrt(chord * distance)
    else:
        most, before = 0.0262 * chord, 0.049 * math.sqrt(chord * distance)
    return min(_BEND * chord, _GAP + min(most, before))


@kernel
def _meets_resting(model, m, stones, i, j, t, limit, chord, apart):
    """As `_approach`, with stone `j` at rest, which lies the root of `apart` from the straight line of `chord` m to the stop."""
    x, y = stones[j, 0] - m[i, STOP_X], stones[j, 1] - m[i, STOP_Y]
    distance = math.sqrt(x * x + y * y) + TOUCH
    aside = TOUCH + _bulge(model, chord, distance)
    if apart > aside * aside:
        return NEVER
    # It is hit only while the way to the stop is as long as the way from there to it.
    tau = tau_at_distance(model, distance)
    t = max(t, m[i, T0] + m[i, TAU0] - tau)
    return _approach(model, m, stones, i, j, t, limit)


@kernel
def _approach(model, m, stones, i, j, t, limit):
    """The time when moving stone `i` first touches stone `j` (which may move) after `t`, within both stretches and not after
    `limit`, or NEVER.
    """
    end = min(limit, min(m[i, END], m[i, EXIT]))
    both = m[j, MOVING] != 0.0
    strong = strongest(model)
    if both:
        end = min(end, min(m[j, END], m[j, EXIT]))
        strong *= 2.0
    least = _least_approach(model)
    first = True
    for _ in range(400):
        if t > end:
            return NEVER
        x, y, vx, vy = at_time(model, m, i, t)
        bx, by, bvx, bvy = stones[j, 0], stones[j, 1], 0.0, 0.0
        if both:
            bx, by, bvx, bvy = at_time(model, m, j, t)
        x, y, vx, vy = x - bx, y - by, vx - bvx, vy - bvy
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
def _exit(model, m, stones, side, back, i, t, limit):
    """The time when moving stone `i` leaves the sheet, or NEVER: also if it is after `limit`."""
    x0, y0, x1, y1 = stones[i, 0], stones[i, 1], m[i, STOP_X], m[i, STOP_Y]
    chord = math.sqrt((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0))
    aside = _bulge(model, chord, chord)
    best, end = NEVER, min(m[i, END], limit)
    strong = strongest(model)
    for edge in range(3):
        nx, ny, limit = 0.0, 1.0, back
        if edge < 2:
            nx, ny, limit = 1.0 - 2.0 * edge, 0.0, side
        if limit - nx * x0 - ny * y0 > aside and limit - nx * x1 - ny * y1 > aside:
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
            if now > end or now > best:
                break
    return best


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
def _collide(model, m, stones, i, j):
    """Stones `i` and `j`, whose rows tell their velocities and spins, touch."""
    nx, ny = stones[j, 0] - stones[i, 0], stones[j, 1] - stones[i, 1]
    length = math.sqrt(nx * nx + ny * ny)
    nx, ny = nx / length, ny / length
    normal, across = _bounce(model, m[i, VX], m[i, VY], m[i, OMEGA], m[j, VX], m[j, VY], m[j, OMEGA], nx, ny)
    px, py = normal * nx - across * ny, normal * ny + across * nx
    m[i, VX] -= px
    m[i, VY] -= py
    m[j, VX] += px
    m[j, VY] += py
    m[i, OMEGA] -= 2.0 * across / RADIUS
    m[j, OMEGA] -= 2.0 * across / RADIUS


@kernel
def _lowest(rows):
    """The lowest row of a set of rows, kept as bits."""
    return count_ones(np.uint64((rows & -rows) - 1))


@kernel
def _look_ahead(model, m, stones, in_play, side, back, t, moving, fresh):
    """Begins the stretches of the stones to which something has just happened, and finds the contacts that this changes.

    Stones that were to meet one of them check all stones again; the others check only those.

    Args:
        moving, fresh: rows of the stones that move, and of those to which something has happened, as bits.
    """
    several = moving & (moving - 1) != 0
    rest = moving & fresh
    while rest != 0:
        k = _lowest(rest)
        rest &= rest - 1
        launch(model, m, k, t, stones[k, 0], stones[k, 1], t == 0.0)
        m[k, EXIT], m[k, NEXT] = NEVER, NEVER
        if several:
            m[k, EXIT] = _exit(model, m, stones, side, back, k, t, NEVER)
    again, rest = fresh, moving & ~fresh
    while rest != 0:
        k = _lowest(rest)
        rest &= rest - 1
        if m[k, NEXT] < NEVER and (fresh >> int(m[k, PARTNER])) & 1 != 0:
            again |= np.int64(1) << k
            m[k, NEXT] = NEVER
    here = np.int64(0)
    for k in range(STONES):
        if in_play[k] != 0:
            here |= np.int64(1) << k
    rest = moving
    while rest != 0:
        k = _lowest(rest)
        rest &= rest - 1
        others = here & ~(np.int64(1) << k)
        if (again >> k) & 1 == 0:
            others &= again
        _find_contacts(model, m, stones, k, t, moving, others)
        if (
            not several and (fresh >> k) & 1 != 0
        ):  # nobody else changes its next contact: a later exit is of no interest
            m[k, EXIT] = _exit(model, m, stones, side, back, k, t, m[k, NEXT])


@kernel
def _find_contacts(model, m, stones, k, t, moving, others):
    """Finds the next contact of moving stone `k` with these rows (bits); each pair of moving stones is looked at once."""
    cx, cy = m[k, STOP_X] - stones[k, 0], m[k, STOP_Y] - stones[k, 1]
    square = cx * cx + cy * cy
    chord = math.sqrt(square)
    inverse = 1.0 / max(square, 1e-12)
    aside = TOUCH + _bulge(model, chord, chord)
    aside *= aside
    while others != 0:
        j = _lowest(others)
        others &= others - 1
        # Contacts later than those known already are of no interest.
        if (moving >> j) & 1 == 0:
            x, y = stones[j, 0] - stones[k, 0], stones[j, 1] - stones[k, 1]
            share = min(max((x * cx + y * cy) * inverse, 0.0), 1.0)
            x, y = x - share * cx, y - share * cy
            apart = x * x + y * y
            if apart > aside:
                continue
            when = _meets_resting(model, m, stones, k, j, t, m[k, NEXT], chord, apart)
        elif j > k:
            when = _approach(model, m, stones, k, j, t, max(m[k, NEXT], m[j, NEXT]))
            if when < m[j, NEXT]:
                m[j, NEXT] = when
                m[j, PARTNER] = k
        else:
            continue
        if when < m[k, NEXT]:
            m[k, NEXT] = when
            m[k, PARTNER] = j


@kernel
def run_shot(model, side, back, release, stones, in_play, thrown, delivery, trace):
    """Delivers stone `thrown` and moves all stones until they rest, in place.

    Args:
        model: `CS2` or `FCV1`.
        side, back: the edges of the sheet (see `Simulator`), m; stones that pass them are out of play.
        release: y of the delivery is -release.
        stones: `(16, 2)` float64, places in m from the tee; in_play: `(16,)` uint8.
        thrown: row of the delivered stone, whose place is ignored.
        delivery: `(vx, vy, spin)`: its velocity (m/s) and spin (rad/s).
        trace: `(n, TRACE_COLUMNS)` float64 that receives the stretches of the shot; no rows: none is kept.

    Returns:
        The number of traced stretches.
    """
    m = stack_rows()
    for k in range(STONES):
        m[k, MOVING], m[k, NEXT] = 0.0, NEVER
    in_play[thrown] = 1
    stones[thrown, 0], stones[thrown, 1] = 0.0, -release
    m[thrown, VX], m[thrown, VY], m[thrown, OMEGA] = delivery
    m[thrown, MOVING] = 1.0
    nobody: Any
    traced, nobody = np.int64(0), np.int64(-1)  # literals would compile their callee twice
    moving = np.int64(1) << np.int64(thrown)
    fresh = moving
    t = 0.0
    for event in range(_EVENTS):
        _look_ahead(model, m, stones, in_play, side, back, t, moving, fresh)
        best, i = NEVER, nobody
        rest = moving
        while rest != 0:
            k = _lowest(rest)
            rest &= rest - 1
            when = min(m[k, NEXT], min(m[k, END], m[k, EXIT]))
            if when < best:
                best, i = when, k
        if i < 0:
            break
        t = best
        j = int(m[i, PARTNER]) if m[i, NEXT] <= min(m[i, END], m[i, EXIT]) else nobody
        leaves = m[i, EXIT] <= m[i, END]
        fresh = np.int64(1) << i
        if j >= 0:
            fresh |= np.int64(1) << j
        # A tangle that never ends: everything stops where it is.
        rest = fresh if event < _EVENTS - 1 else moving | fresh
        while rest != 0:
            k = _lowest(rest)
            rest &= rest - 1
            if m[k, MOVING] != 0.0:
                traced = _keep_trace(m, k, t, trace, traced)
                m[k, OMEGA] = spin_at(model, m, k, t)
                stones[k, 0], stones[k, 1], m[k, VX], m[k, VY] = at_time(model, m, k, t)
            else:
                m[k, VX], m[k, VY], m[k, OMEGA] = 0.0, 0.0, 0.0
        if j >= 0:
            _collide(model, m, stones, i, j)
            m[j, MOVING] = 1.0
            moving |= fresh
        elif leaves:
            in_play[i] = 0
            stones[i, 0], stones[i, 1] = 0.0, 0.0
            m[i, MOVING] = 0.0
            moving &= ~fresh
        elif m[i, VX] * m[i, VX] + m[i, VY] * m[i, VY] < 1e-16:
            m[i, MOVING] = 0.0
            moving &= ~fresh
        else:  # spun out: straight on
            m[i, OMEGA] = 0.0
    return traced

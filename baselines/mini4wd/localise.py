"""Histogram self-localisation with a learned speed per cell. Kernels.

The map is a row of cells of 100 mm along the path of a car through all lanes, until it is back in the first. Each cell
holds the curvature and the pitch rate per metre that a slow practice run measured, and the speed that practice has
found safe. The belief is shifted by the wheels' odometry and weighed by how well the cells explain yaw and pitch.

Source: the self-position and learning scheme of the open ai_mini_4wd_kit (histogram filter over 100 mm cells, target
speed per cell raised after good runs, lowered behind where a run went wrong).
"""

from __future__ import annotations

import math

from asobiba.core import kernel
from asobiba.core.elementary import exp

CELL = 0.1
CELLS = 2000
_MIXED = 0.02
"""Share of the likelihood that is the same for every cell: what a measurement gone wrong cannot destroy."""


@kernel
def begin_belief(m):
    """The car stands on the start, in an unknown lane."""
    for i in range(m.cells):
        m.belief[i] = 0.0
    for lane in range(m.starts):
        m.belief[int(lane * m.cells // m.starts)] = 1.0 / m.starts
    m.rest = 0.0


@kernel
def shift_belief(m, metres):
    """Moves the belief on by whole cells and keeps the rest; spreads it a little."""
    m.rest += metres / CELL
    while m.rest >= 1.0:
        m.rest -= 1.0
        last = m.belief[m.cells - 1]
        for i in range(m.cells - 1, 0, -1):
            m.belief[i] = 0.94 * m.belief[i - 1] + 0.06 * m.belief[i]
        m.belief[0] = 0.94 * last + 0.06 * m.belief[0]


@kernel
def weigh_belief(m, bend, pitch):
    """Multiplies the belief by the likelihood of curvature and pitch rate per metre; returns the likeliest cell."""
    total, best, at = 0.0, -1.0, 0
    for i in range(m.cells):
        off_bend = (bend - m.bend[i]) / 0.35
        off_pitch = (pitch - m.climb[i]) / 1.0
        weight = exp(-0.5 * min(off_bend * off_bend + off_pitch * off_pitch, 40.0)) + _MIXED
        m.belief[i] = (m.belief[i] + 1e-9) * weight
        total += m.belief[i]
    for i in range(m.cells):
        m.belief[i] /= total
        if m.belief[i] > best:
            best = m.belief[i]
            at = i
    return at


@kernel
def localise(s, p, k, m, out):
    """Speed control towards the lowest learned speed of the cells ahead."""
    if s.clock[k] == 0.0:
        begin_belief(m)
    speed = s.wheel_speed[k]
    shift_belief(m, max(speed, 0.0) * p.control_step)
    moving = max(abs(speed), 0.5)
    m.filter[0] += 0.6 * (m.sensed[5] - m.filter[0])
    m.filter[1] += 0.6 * (m.sensed[4] - m.filter[1])
    if speed > 0.5:
        m.at = weigh_belief(m, m.filter[0] / moving, m.filter[1] / moving)
    wanted = m.speed[m.at]
    # The speed that braking (4 m/s2) can still reach.
    for ahead in range(1, 16):
        cell = m.at + ahead
        if cell >= m.cells:
            cell -= m.cells
        there = m.speed[cell]
        reachable = math.sqrt(there * there + 2.0 * 4.0 * max(ahead - 1, 0) * CELL)
        wanted = min(wanted, reachable)
    out[1] = 0.5
    error = wanted - speed
    if error < -m.setting[1]:
        out[0] = 0.0
        out[1] = -0.25
    else:
        out[0] = min(max(m.setting[2] * wanted + m.setting[0] * error, 0.0), 1.0)

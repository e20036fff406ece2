"""Model-predictive control on the identified model: the upper reference. Kernels.

The controller knows the course and an identified car. One replica per lane follows the run: each is driven with the
commands that were given and takes over the measured wheel speed; the yaw rate tells which lane is the true one. From
the best replica it rolls out a pessimistic car, to find the strongest command after which full braking still keeps the
car on the course.
"""

from __future__ import annotations

from asobiba.baselines.mini4wd.stopping import PULSE_AGE
from asobiba.core import kernel
from asobiba.envs.mini4wd.car import FENCE, GRIP, LANDING_PITCH, MASS, ROLLER_OFFSET
from asobiba.envs.mini4wd.course import KAPPA, LENGTH, NEXT_LANE, PREVIOUS_LANE
from asobiba.envs.mini4wd.physics import BRAKING, DRIVE, FREE, RUNNING, cross_pieces, drive, send
from asobiba.envs.mini4wd.profile import LATENCY, TACHOMETER_FILTER
from asobiba.envs.mini4wd.rules import reset
from asobiba.envs.mini4wd.run import mode_of, place_car

REPLICAS = 6
SHIFTS, SHIFT = 9, 0.1
LAG = 0.02
"""Mean age of the yaw rate: latency, filter and averaging, s."""
_LOOK = 60
"""Longest rollout in control steps."""


@kernel
def begin_replicas(p, m, replicas, first, model):
    """Every lane's replica stands on the start."""
    for lane in range(p.lanes):
        replicas[first + lane] = replicas[first + REPLICAS - 1]
        r = replicas[first + lane]
        reset(r, model)
        place_car(r, model, 0, lane)
        if m.setting[2] > 0.0 and m.car[MASS] > 0.0:
            r.car[0, :] = m.car


@kernel
def follow(s, p, k, m, replicas, first, model):
    """Drives the replicas with the last command, corrects their speed, and returns the one that explains the yaw."""
    best, at = -1e30, first
    for lane in range(p.lanes):
        r = replicas[first + lane]
        if s.clock[k] > 0.0:
            send(r, 0, s.actions[k, 0, 0], mode_of(s.actions[k, 0, 1]))
            drive(r, model, 0, p.substeps)
            if r.cause[0] != RUNNING:  # the true car is still on the course: set the replica on its lane again
                r.cause[0] = RUNNING
                r.airborne[0] = 0
                r.roll[0] = 0.0
                r.roll_rate[0] = 0.0
                r.y[0] = 0.0
                if p.tachometer != 0:
                    r.v[0] = s.wheel_speed[k]
            # The wheels tell the car's speed while they roll; spinning in the air or on landing they do not. What is
            # measured comes late: it is compared with the replica's own speed, made late in the same way.
            if p.tachometer != 0:
                behind = p.sensor[TACHOMETER_FILTER] + p.sensor[LATENCY] + PULSE_AGE
                r.measured[0] += min(p.control_step / behind, 1.0) * (abs(r.w[0]) - r.measured[0])
                off = s.wheel_speed[k] - r.measured[0]
                m.filter[SHIFTS + lane] = off
                if r.airborne[0] == 0 and abs(r.w[0] - r.v[0]) < 0.1:
                    step = min(max(m.setting[3] * off, -0.15), 0.15)
                    r.v[0] += step
                    r.w[0] += step
                    r.measured[0] += step
                else:
                    r.w[0] += m.setting[3] * off
            kappa = bend_at(model, r, -LAG * r.v[0]) if r.airborne[0] == 0 else 0.0
            wrong = (m.sensed[5] - kappa * r.v[0]) / 1.5
            m.belief[lane] = 0.98 * m.belief[lane] - min(wrong * wrong, 9.0)
        if m.belief[lane] > best:
            best = m.belief[lane]
            at = first + lane
    return at


@kernel
def bend_at(model, r, metres):
    """Lateral curvature of the replica's lane so far ahead of it (behind, if negative), 1/m."""
    piece, lane = r.piece[0], r.lane[0]
    u = r.u[0] + metres
    for _ in range(6):
        if u < 0.0:
            lane = int(model.track[piece, lane, PREVIOUS_LANE])
            piece = piece - 1 if piece > 0 else model.pieces - 1
            u += model.track[piece, lane, LENGTH]
        elif u >= model.track[piece, lane, LENGTH]:
            u -= model.track[piece, lane, LENGTH]
            lane = int(model.track[piece, lane, NEXT_LANE])
            piece = piece + 1 if piece + 1 < model.pieces else 0
    return model.track[piece, lane, KAPPA]


@kernel
def match_curves(m, model, r):
    """Shifts the best replica along its lane where that explains the yaw rates of the last half second better."""
    if r.airborne[0] != 0:
        return
    best = 0
    for j in range(SHIFTS):
        metres = (j - SHIFTS // 2) * SHIFT
        wrong = (m.sensed[5] - bend_at(model, r, metres - LAG * r.v[0]) * r.v[0]) / 1.5
        m.filter[j] = 0.95 * m.filter[j] - min(wrong * wrong, 4.0)
        if m.filter[j] > m.filter[best]:
            best = j
    if m.filter[best] > m.filter[SHIFTS // 2] + 6.0:
        r.u[0] += 0.5 * (best - SHIFTS // 2) * SHIFT
        cross_pieces(r, model, 0)
        for j in range(SHIFTS):
            m.filter[j] = 0.0


@kernel
def survives(replicas, scratch, start, p, model, duty, steps, rolling, flying):
    """Whether the pessimistic car stays on the course: the duty for some steps (0: free wheels), then brakes to a crawl.

    Its rollers lie higher by the share `rolling`; fence, landing angle and grip are less by the share `flying`.
    """
    replicas[scratch] = replicas[start]
    r = replicas[scratch]
    r.car[0, ROLLER_OFFSET] *= 1.0 + rolling
    r.car[0, FENCE] *= 1.0 - flying
    r.car[0, LANDING_PITCH] *= 1.0 - flying
    r.car[0, GRIP] *= 1.0 - flying
    for i in range(_LOOK):
        if i < steps:
            send(r, 0, duty, DRIVE if duty > 0.0 else FREE)
        else:  # wheels that are braked in the air pitch the nose down
            send(r, 0, 0.0, BRAKING if r.airborne[0] == 0 else FREE)
        drive(r, model, 0, p.substeps)
        if r.cause[0] != RUNNING:
            return False
        if r.airborne[0] == 0 and i >= steps and r.v[0] < 1.2:
            return True
    return True


@kernel
def locate(s, p, k, m, replicas, first, model):
    """Follows the run by a step; returns the replica that explains it best."""
    if s.clock[k] == 0.0:
        begin_replicas(p, m, replicas, first, model)
        for lane in range(p.lanes):
            m.belief[lane] = 0.0
    start = follow(s, p, k, m, replicas, first, model)
    match_curves(m, model, replicas[start])
    return start


@kernel
def strongest(replicas, first, start, p, model, steps, rolling, flying, out):
    """The strongest of full duty, half duty, rolling and braking that leaves the pessimistic car a way to stay on the course."""
    scratch = first + REPLICAS - 1
    out[1] = 0.5
    if survives(replicas, scratch, start, p, model, 1.0, steps, rolling, flying):
        out[0] = 1.0
    elif survives(replicas, scratch, start, p, model, 0.5, steps, rolling, flying):
        out[0] = 0.5
    elif survives(replicas, scratch, start, p, model, 0.0, steps, rolling, flying):
        out[0] = 0.0
        out[1] = -0.75
    elif replicas[start].airborne[0] != 0:
        out[0] = 0.3
    elif replicas[start].v[0] < 1.0:  # no command helps any more, but a standing car does not finish
        out[0] = 0.4
    else:
        out[0] = 0.0
        out[1] = -0.25


@kernel
def predict(s, p, k, m, replicas, first, model, out):
    """`strongest` with the same caution everywhere."""
    start = locate(s, p, k, m, replicas, first, model)
    steps, margin = int(m.setting[0]), m.setting[1]
    strongest(replicas, first, start, p, model, steps, margin, 0.5 * margin, out)

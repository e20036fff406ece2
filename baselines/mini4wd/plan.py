"""Predictive control that looks for a way past what lies ahead, with caution that was learned. Kernels.

`predict` tries a command for a while and then brakes. On a ramp and in the air braking itself upsets the car, so this rules
out what a car survives that holds its speed. Here a command is tried for three lengths of time. And where no command
survives with all of the caution, it is looked for with less: a car that is too fast already gets the command that leaves it
most.
"""

from __future__ import annotations

from asobiba.baselines.mini4wd.predict import REPLICAS, locate
from asobiba.core import kernel
from asobiba.envs.mini4wd.car import FENCE, GRIP, LANDING_PITCH, ROLLER_OFFSET
from asobiba.envs.mini4wd.physics import BRAKING, DRIVE, FREE, RUNNING, drive, send

LENGTHS = (0, 1, 4)
"""Places in the settings of the times for which a command is tried, s; those between are `predict`'s, which `locate` reads."""
ROLLERS, FENCES, PITCHES, GRIPS = 5, 6, 7, 8
"""Places in the settings of the shares by which the pessimistic car's rollers lie higher, and its fence, landing angle and grip are less."""
FULL, HALF, ROLLING, BRAKES, COMMANDS = range(5)
LEVELS = 4
"""Of caution: all of it, three quarters, a half, a quarter."""
_BRAKING_TIME = 0.9
"""Longest time for which a rollout brakes, s."""
_CRAWL = 1.2
"""A car that has come down to this speed is safe, m/s."""


@kernel
def stays_on(replicas, scratch, start, p, model, m, command, hold, share):
    """Whether the pessimistic car stays on the course: the command for `hold` control steps, then brakes to a crawl."""
    replicas[scratch] = replicas[start]
    r = replicas[scratch]
    r.car[0, ROLLER_OFFSET] *= 1.0 + share * m.setting[ROLLERS]
    r.car[0, FENCE] *= 1.0 - share * m.setting[FENCES]
    r.car[0, LANDING_PITCH] *= 1.0 - share * m.setting[PITCHES]
    r.car[0, GRIP] *= 1.0 - share * m.setting[GRIPS]
    duty = 1.0 if command == FULL else (0.5 if command == HALF else 0.0)
    mode = DRIVE if command <= HALF else (FREE if command == ROLLING else BRAKING)
    for i in range(hold + int(_BRAKING_TIME / p.control_step)):
        if i == hold:
            duty = 0.0
        if i >= hold:  # wheels that are braked in the air pitch the nose down
            mode = BRAKING if r.airborne[0] == 0 else FREE
        send(r, 0, duty, mode)
        drive(r, model, 0, p.substeps)
        if r.cause[0] != RUNNING:
            return False
        if r.airborne[0] == 0 and i >= hold and r.v[0] < _CRAWL:
            return True
    return True


@kernel
def choose(replicas, scratch, start, p, model, m):
    """The strongest command that survives, at the greatest caution at which one does; `COMMANDS` where none does."""
    for level in range(LEVELS):
        share = 1.0 - level / LEVELS
        for command in range(COMMANDS):
            for j in range(len(LENGTHS) if command < BRAKES else 1):
                hold = max(int(m.setting[LENGTHS[j]] / p.control_step + 0.5), 1)
                if stays_on(replicas, scratch, start, p, model, m, command, hold, share):
                    return command
    return COMMANDS


@kernel
def plan(s, p, k, m, replicas, first, model, out):
    """Duty and mode of the command that `choose` finds."""
    start = locate(s, p, k, m, replicas, first, model)
    command = choose(replicas, first + REPLICAS - 1, start, p, model, m)
    out[0] = 0.0
    out[1] = 0.5
    if command == FULL:
        out[0] = 1.0
    elif command == HALF:
        out[0] = 0.5
    elif command == ROLLING:
        out[1] = -0.75
    elif command == COMMANDS and replicas[start].airborne[0] != 0:
        out[0] = 0.3
    elif command == COMMANDS and replicas[start].v[0] < 1.0:  # a standing car does not finish
        out[0] = 0.4
    else:
        out[1] = -0.25

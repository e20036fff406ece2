"""A car on a stand: its wheels turn in the air, so that motor, gear and battery are measured without road and course."""

from __future__ import annotations

import numpy as np

from asobiba.core import compiled
from asobiba.envs.mini4wd.car import (
    BATTERY_R,
    GEAR,
    ROTOR,
    TYRE,
    VOLTAGE,
    VOLTAGE_DROP,
    WHEELS,
    WIRING_R,
)
from asobiba.envs.mini4wd.hardware.body import SimulatedBody, run_body
from asobiba.envs.mini4wd.physics import DT, GRAVITY, motor
from asobiba.envs.mini4wd.sensors import count_pulses, filter_samples, take_sample

PHASES: tuple[tuple[float, float, float], ...] = (
    (1.0, 1.0, 0.0), (0.5, 0.0, -0.25), (1.0, 0.5, 0.0), (1.2, 0.0, -0.75), (0.8, 0.3, 0.0), (0.4, 0.0, -0.25),
    (0.8, 0.7, 0.0), (0.6, 0.3, 0.0), (1.2, 0.0, -0.75), (0.8, 1.0, 0.0), (0.6, 0.0, -0.25),
)  # fmt: skip
"""Seconds, duty and mode selector (free -0.75, brake -0.25) of the run on the stand."""


@compiled()
def run_stand(states, params, duties, modes, out):
    """Turns the wheels of a lifted car for `len(out)` ms; duties, modes and rows as in `body.run_body`, without heading and progress."""
    s, p = states[0], params[0]
    radius = 0.5 * s.car[0, TYRE]
    turning = (s.car[0, ROTOR] * s.car[0, GEAR] * s.car[0, GEAR] + s.car[0, WHEELS]) / (radius * radius)
    for k in range(out.shape[0]):
        force, current, drawn = motor(s, 0, s.w[0], duties[k], modes[k])
        s.w[0] += force / turning * DT
        s.charge[0] += drawn * DT
        s.current[0] = current
        s.bus[0] = s.car[0, VOLTAGE] - s.car[0, VOLTAGE_DROP] * s.charge[0] - (
            s.car[0, BATTERY_R] + s.car[0, WIRING_R]
        ) * drawn  # fmt: skip
        filter_samples(s, 0, 0.0, 0.0, GRAVITY, 0.0, 0.0, 0.0)
        s.turned[0] += s.w[0] * DT
        if p.tachometer != 0:
            count_pulses(s, 0)
        s.clock[0] += DT
        s.tick[0] += 1
        if s.tick[0] >= p.sample_every:
            s.tick[0] = 0
            take_sample(s, p, 0)
        out[k, 0] = s.turned[0]
        out[k, 1] = 0.0
        out[k, 2] = s.bus[0]
        out[k, 3] = 0.0
    return out.shape[0]


class LiftableBody(SimulatedBody):
    """The simulator's car, which can be put on a stand.

    Attributes:
        lifted: whether it is on the stand; to be changed while it stands still.
    """

    lifted = False

    def _run(self, duties: np.ndarray, modes: np.ndarray) -> None:
        run = run_stand if self.lifted else run_body
        run(self._states, self.ruleset.params, duties, modes, np.empty((len(duties), 4)))

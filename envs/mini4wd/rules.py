"""Time attack: one car, n laps against the clock."""

from __future__ import annotations

from asobiba.core import kernel
from asobiba.envs.mini4wd.physics import RUNNING, STOPPED
from asobiba.envs.mini4wd.run import (
    begin_car,
    control_step,
    hide_simulator,
    imagine,
    look,
    starting_lane,
    valid_car,
)


@kernel
def reset(s, p):
    begin_car(s, p, 0, starting_lane(s, p))


@kernel
def run_on(s, p, duty, selector):
    """One control step and its rewards."""
    before = s.progress[0]
    control_step(s, p, 0, duty, selector)
    s.reward_progress[0] = p.progress_weight * (s.progress[0] - before) / (p.laps * p.lap_length)
    s.reward_finish[0] = 0.0
    s.reward_course_out[0] = 0.0
    over = s.progress[0] - p.laps * p.lap_length
    if over >= 0.0:
        s.finish_time[0] = s.clock[0] - over / max(s.v[0], 0.1)
        s.reward_finish[0] = p.finish_weight * p.par_time / s.finish_time[0]
        s.terminated = 1
    else:
        if s.cause[0] == RUNNING and s.still[0] >= p.stop_count and s.progress[0] > 0.05:
            s.cause[0] = STOPPED
        if s.cause[0] != RUNNING:
            s.reward_course_out[0] = -p.course_out_weight
            s.terminated = 1
    s.rewards[0] = s.reward_progress[0] + s.reward_finish[0] + s.reward_course_out[0]


@kernel
def step(s, p, action):
    run_on(s, p, action[0], action[1] if action.shape[0] > 1 else 0.0)


@kernel
def observe(s, p, player, out):
    look(s, p, 0, out)


@kernel
def hide(s, p, player):
    hide_simulator(s, p, 0)
    s.rng_key = 0
    s.rng_counter = 0


@kernel
def resample(s, p, player):
    imagine(s, p, 0, True)


@kernel
def valid(s, p):
    return valid_car(s, p, 0)

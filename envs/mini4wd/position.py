"""Position match: drive to a mark and stop there."""

from __future__ import annotations

from asobiba.core import kernel, random_uniform
from asobiba.envs.mini4wd.physics import RUNNING
from asobiba.envs.mini4wd.rules import hide, observe, resample, valid
from asobiba.envs.mini4wd.run import begin_car, control_step, starting_lane

__all__ = ["hide", "observe", "resample", "reset", "step", "valid"]

STILL = 1.0
"""Time that a car stands before its place is measured, s."""
PER_METRE = 0.1


@kernel
def reset(s, p):
    begin_car(s, p, 0, starting_lane(s, p))
    s.target[0] = p.target_low + (p.target_high - p.target_low) * random_uniform(s)


@kernel
def step(s, p, action):
    before = abs(s.progress[0] - s.target[0])
    control_step(s, p, 0, action[0], action[1] if action.shape[0] > 1 else 0.0)
    off = abs(s.progress[0] - s.target[0])
    s.reward_approach[0] = p.approach_weight * PER_METRE * (before - off)
    s.reward_stop[0] = 0.0
    s.reward_course_out[0] = 0.0
    if s.cause[0] != RUNNING:
        s.reward_course_out[0] = -p.course_out_weight
        s.terminated = 1
    elif s.still[0] >= STILL and s.progress[0] > 0.05:
        s.finish_time[0] = s.clock[0]
        s.reward_stop[0] = p.stop_weight * max(1.0 - off, -1.0)
        s.terminated = 1
    s.rewards[0] = s.reward_approach[0] + s.reward_stop[0] + s.reward_course_out[0]

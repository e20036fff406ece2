"""A race of two cars, each in its own lane: they share the clock and the rule of the follower, and never touch."""

from __future__ import annotations

from asobiba.core import kernel, random_below
from asobiba.envs.mini4wd.physics import CAUGHT, RUNNING, STOPPED
from asobiba.envs.mini4wd.run import begin_car, control_step, hide_senses, hide_simulator, imagine, look, valid_car

CAUGHT_WITHIN = 2.0
"""A car is out when its follower comes within this distance, m."""


@kernel
def reset(s, p):
    s.to_move = -1
    first = p.lane if p.lane >= 0 else random_below(s, p.lanes)
    apart = 1 + random_below(s, p.lanes - 1)
    begin_car(s, p, 0, first)
    begin_car(s, p, 1, (first + apart) % p.lanes)


@kernel
def step(s, p, action):
    for k in range(2):
        control_step(s, p, k, action[k, 0], action[k, 1] if action.shape[1] > 1 else 0.0)
        if s.cause[k] == RUNNING and s.still[k] >= p.stop_count and s.progress[k] > 0.05:
            s.cause[k] = STOPPED
    for k in range(2):
        if s.progress[1 - k] - s.progress[k] >= p.lap_length - CAUGHT_WITHIN and s.cause[k] == RUNNING:
            s.cause[k] = CAUGHT
    result = 0.0
    over = False
    for k in range(2):
        beyond = s.progress[k] - p.laps * p.lap_length
        if beyond >= 0.0 and s.cause[k] == RUNNING:
            s.finish_time[k] = s.clock[k] - beyond / max(s.v[k], 0.1)
            over = True
    out_first = s.cause[0] != RUNNING
    out_second = s.cause[1] != RUNNING
    if out_first or out_second:
        over = True
        result = (1.0 if out_second else 0.0) - (1.0 if out_first else 0.0)
    elif over:
        first, second = s.finish_time[0], s.finish_time[1]
        if first > 0.0 and (second == 0.0 or first < second):
            result = 1.0
        elif second > 0.0 and (first == 0.0 or second < first):
            result = -1.0
    if over:
        s.terminated = 1
    s.rewards[0] = result
    s.rewards[1] = -result
    s.reward_result[0] = result
    s.reward_result[1] = -result


@kernel
def observe(s, p, player, out):
    look(s, p, player, out)


@kernel
def hide(s, p, player):
    for k in range(2):
        hide_simulator(s, p, k)
    hide_senses(s, 1 - player)
    s.rng_key = 0
    s.rng_counter = 0


@kernel
def resample(s, p, player):
    for k in range(2):
        imagine(s, p, k, k == player)


@kernel
def valid(s, p):
    return valid_car(s, p, 0) and valid_car(s, p, 1)

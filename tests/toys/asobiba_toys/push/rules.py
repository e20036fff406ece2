import numpy as np

from asobiba.core import kernel, random_normal


@kernel
def reset(s, p):
    s.to_move = -1
    s.puck = 0.1 * random_normal(s)


@kernel
def step(s, p, action):
    mine = min(max(np.float64(action[0, 0]), -1.0), 1.0)
    yours = min(max(np.float64(action[1, 0]), -1.0), 1.0)
    s.puck += 0.3 * (mine - yours) + p.noise * random_normal(s)
    if abs(s.puck) > 1.0:
        s.puck = min(max(s.puck, -2.0), 2.0)
        s.terminated = 1
        s.rewards[0] = 1.0 if s.puck > 0 else -1.0
        s.rewards[1] = -s.rewards[0]


@kernel
def observe(s, p, player, out):
    out[0] = s.puck if player == 0 else -s.puck
    out[1] = 1.0


@kernel
def valid(s, p):
    return abs(s.puck) <= 2.0

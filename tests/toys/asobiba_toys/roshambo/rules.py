from asobiba.core import kernel


@kernel
def reset(s, p):
    s.to_move = -1


@kernel
def legal(s, p, mask):
    mask[:] = 1


@kernel
def step(s, p, action):
    s.played += 1
    difference = (action[0] - action[1] + 3) % 3
    s.lead += 1 if difference == 1 else (-1 if difference == 2 else 0)
    if s.played == p.rounds:
        s.terminated = 1
        s.rewards[0] = 1.0 if s.lead > 0 else (-1.0 if s.lead < 0 else 0.0)
        s.rewards[1] = -s.rewards[0]


@kernel
def observe(s, p, player, out):
    out[0] = s.lead if player == 0 else -s.lead
    out[1] = s.played


@kernel
def valid(s, p):
    return 0 <= s.played <= p.rounds and -s.played <= s.lead <= s.played

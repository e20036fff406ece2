from asobiba.core import kernel, random_uniform


@kernel
def reset(s, p):
    s.place = p.length // 2 if random_uniform(s) < 0.5 else 1


@kernel
def legal(s, p, mask):
    mask[0] = s.place > 0
    mask[1] = 1


@kernel
def step(s, p, action):
    move = 1 if action == 1 else -1
    if random_uniform(s) < p.slip:
        move = 0
        s.slips[0] += 1
    s.place += move
    s.rewards[0] = -0.01
    if s.place == p.length:
        s.rewards[0] = 1.0
        s.terminated = 1


@kernel
def observe(s, p, player, out):
    out[:] = 0
    out[s.place] = 1


@kernel
def valid(s, p):
    return 0 <= s.place <= p.length and s.slips[0] >= 0 and (s.place < p.length or s.terminated != 0)

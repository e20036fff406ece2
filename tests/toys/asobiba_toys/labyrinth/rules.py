from asobiba.core import kernel


@kernel
def reset(s, p):
    s.room = p.first


@kernel
def legal(s, p, mask):
    mask[:] = 1


@kernel
def step(s, p, action):
    s.room = (s.room * 3 + action + 1) % 64
    s.to_move = 1 - s.to_move


@kernel
def observe(s, p, player, out):
    for k in range(out.shape[0]):
        out[k] = k == s.room


@kernel
def valid(s, p):
    return 0 <= s.room < 64

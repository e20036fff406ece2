from asobiba.core import kernel


@kernel
def reset(s, p):
    for h in range(s.heaps.shape[0]):
        s.heaps[h] = min(h + 1, p.largest)


@kernel
def legal(s, p, mask):
    for h in range(s.heaps.shape[0]):
        for n in range(p.largest):
            mask[h * p.largest + n] = n < s.heaps[h]


@kernel
def step(s, p, action):
    s.heaps[action // p.largest] -= action % p.largest + 1
    left = 0
    for h in range(s.heaps.shape[0]):
        left += s.heaps[h]
    players = s.rewards.shape[0]
    if left == 0:
        s.terminated = 1
        for k in range(players):
            s.rewards[k] = 1.0 if k == s.to_move else -1.0 / (players - 1)
    s.to_move = (s.to_move + 1) % players


@kernel
def observe(s, p, player, out):
    for h in range(s.heaps.shape[0]):
        for n in range(p.largest):
            out[h * p.largest + n] = n < s.heaps[h]


@kernel
def valid(s, p):
    left = 0
    for h in range(s.heaps.shape[0]):
        if not 0 <= s.heaps[h] <= min(h + 1, p.largest):
            return False
        left += s.heaps[h]
    return left > 0 or s.terminated != 0

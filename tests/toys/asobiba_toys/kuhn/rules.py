from numpy import uint64

from asobiba.core import kernel, random_below


@kernel
def deal(s):
    s.cards[0] = random_below(s, 3)
    s.cards[1] = (s.cards[0] + 1 + random_below(s, 2)) % 3
    s.history[:] = 0
    s.plies = 0
    s.to_move = s.starter


@kernel
def reset(s, p):
    deal(s)


@kernel
def legal(s, p, mask):
    mask[0] = 1
    mask[1] = 1


@kernel
def step(s, p, action):
    s.plies += 1
    other = 1 - s.to_move
    if s.plies <= 2:
        s.history[s.plies - 1] = action + 1
    bets = s.history[0] == 2 or s.history[1] == 2
    fold = action == 0 and s.plies >= 2 and bets
    over = fold or s.plies == 3 or (s.plies == 2 and (not bets or s.history[0] == 2))
    if over:
        stake = 1.0
        winner = other
        if not fold:
            stake = 2.0 if bets else 1.0
            winner = 0 if s.cards[0] > s.cards[1] else 1
        s.rewards[winner] = stake
        s.rewards[1 - winner] = -stake
        s.hand += 1
        s.starter = 1 - s.starter
        if s.hand == p.hands:
            s.terminated = 1
            s.to_move = other
        else:
            deal(s)
    else:
        s.to_move = other


@kernel
def observe(s, p, player, out):
    out[:] = 0
    out[s.cards[player]] = 1
    for k in range(2):
        if s.history[k] > 0:
            out[3 + 2 * k + s.history[k] - 1] = 1
    out[7] = player == s.starter


@kernel
def hide(s, p, player):
    s.cards[1 - player] = -1
    s.rng_key = uint64(0)
    s.rng_counter = uint64(0)


@kernel
def resample(s, p, player):
    s.cards[1 - player] = (s.cards[player] + 1 + random_below(s, 2)) % 3


@kernel
def valid(s, p):
    good = 0 <= s.cards[0] < 3 and 0 <= s.cards[1] < 3 and s.cards[0] != s.cards[1]
    good = good and 0 <= s.history[0] <= 2 and 0 <= s.history[1] <= 2 and 0 <= s.plies <= 3
    running = s.terminated == 0
    good = good and (not running or s.plies < 3)
    good = good and 0 <= s.starter <= 1 and 0 <= s.hand <= p.hands and (not running or s.hand < p.hands)
    for k in range(2):
        if good and (s.history[k] != 0) != (s.plies > k):
            good = False
    return good

"""A village: one wolf among people. By night the wolf names a victim, by day all who live name somebody to hang.

It has what the other toys lack: some act, some do not, and nobody may know who; players leave; teams by hidden roles;
illegal actions are replaced; four seats serve three or four players.
"""

from asobiba.core import kernel, random_below

NIGHT, DAY = 0, 1


@kernel
def reset(s, p):
    s.to_move = -1
    wolf = random_below(s, p.players)
    for k in range(p.players):
        s.wolf[k] = k == wolf
        s.alive[k] = 1
    begin_day(s, p)


@kernel
def begin_night(s, p):
    s.phase = NIGHT
    for k in range(s.alive.shape[0]):
        s.acting[k] = s.alive[k] != 0 and s.wolf[k] != 0


@kernel
def begin_day(s, p):
    s.phase = DAY
    for k in range(s.alive.shape[0]):
        s.acting[k] = s.alive[k]


@kernel
def legal(s, p, mask):
    for k in range(mask.shape[0]):
        for a in range(mask.shape[1]):
            mask[k, a] = s.acting[k] != 0 and a != k and s.alive[a] != 0


@kernel
def replacement(s, p, player, mask):
    for a in range(mask.shape[0]):
        if mask[a] != 0:
            return a
    return 0


@kernel
def kill(s, victim):
    s.alive[victim] = 0
    s.left[victim] = 1


@kernel
def finish(s, p):
    """Ends the game if one side has won."""
    wolves, people = 0, 0
    for k in range(p.players):
        if s.alive[k] != 0:
            wolves += s.wolf[k]
            people += 1 - s.wolf[k]
    if wolves > 0 and people > wolves:
        return False
    for k in range(p.players):
        s.rewards[k] = 1.0 if (s.wolf[k] != 0) == (wolves > 0) else -1.0
    s.terminated = 1
    s.acting[:] = 0
    return True


@kernel
def step(s, p, action):
    if s.phase == NIGHT:
        for k in range(p.players):
            if s.acting[k] != 0:
                kill(s, action[k])
        if not finish(s, p):
            begin_day(s, p)
        return
    s.votes[:] = 0
    for k in range(p.players):
        if s.acting[k] != 0:
            s.votes[action[k]] += 1
    most = 0
    for k in range(p.players):
        most = max(most, s.votes[k])
    ties = 0
    for k in range(p.players):
        ties += s.votes[k] == most
    chosen = random_below(s, ties)
    for k in range(p.players):
        if s.votes[k] == most:
            if chosen == 0:
                kill(s, k)
            chosen -= 1
    if not finish(s, p):
        begin_night(s, p)


@kernel
def observe(s, p, player, out):
    seats = s.alive.shape[0]
    for k in range(seats):
        out[k] = s.alive[k]
        out[seats + k] = s.wolf[k] if k == player or s.terminated != 0 else 0
        out[2 * seats + k] = s.votes[k]
        out[3 * seats + k] = k == player
    # Only the wolf knows that it is night: to all others it is never their turn then.
    out[4 * seats] = s.phase if s.wolf[player] != 0 or s.terminated != 0 else DAY


@kernel
def hide(s, p, player):
    if s.terminated != 0:
        return
    acts = s.acting[player]
    s.acting[:] = 0
    s.acting[player] = acts
    if s.wolf[player] == 0:
        # It may always be night.
        s.steps = 0
        s.phase = DAY
        s.acting[player] = s.alive[player]
        for k in range(s.wolf.shape[0]):
            s.wolf[k] = 0


@kernel
def resample(s, p, player):
    """The wolf sees everything but the generator; the others draw a wolf among the living, and the time of day."""
    if s.terminated != 0 or s.wolf[player] != 0:
        if s.terminated == 0 and s.phase == DAY:
            begin_day(s, p)
        return
    others = 0
    for k in range(p.players):
        others += k != player and s.alive[k] != 0
    chosen = random_below(s, others)
    for k in range(p.players):
        if k != player and s.alive[k] != 0:
            if chosen == 0:
                s.wolf[k] = 1
            chosen -= 1
    living = others + s.alive[player]
    if living < p.players and random_below(s, 2) == 0:
        begin_night(s, p)
    else:
        begin_day(s, p)
    s.steps = 2 * (p.players - living)


@kernel
def valid(s, p):
    wolves, people = 0, 0
    for k in range(s.alive.shape[0]):
        if s.alive[k] > 1 or s.wolf[k] > 1 or s.left[k] != 1 - s.alive[k]:
            return False
        if k >= p.players and (s.alive[k] != 0 or s.wolf[k] != 0):
            return False
        if not 0 <= s.votes[k] <= p.players:
            return False
        wolves += s.wolf[k]
        people += s.alive[k] != 0 and s.wolf[k] == 0
        acting = s.alive[k] != 0 and (s.phase == DAY or s.wolf[k] != 0)
        if s.terminated == 0 and s.acting[k] != acting:
            return False
    alive = 0
    for k in range(p.players):
        alive += s.wolf[k] != 0 and s.alive[k] != 0
    running = alive == 1 and people > 1
    return s.phase <= DAY and wolves == 1 and (s.terminated != 0 or running)

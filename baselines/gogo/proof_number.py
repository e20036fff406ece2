"""Depth-first proof-number search: whether a player wins a position of Gogo by force, whatever the other replies.

The attacker looks at his most promising moves only, the defender at every legal one, so what is proved is a win; what is
refuted is a win by these moves. Stones never return, except by captures, which are counted: no position comes again.

Sources: L. V. Allis, M. van der Meulen and H. J. van den Herik, "Proof-number search", Artificial Intelligence 66, 1994;
A. Nagai, "Df-pn algorithm for searching AND/OR trees", 2002; T. Ueda and others, "Weak proof-number search", 2008.
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.gogo.patterns import FOUR, MADE_FIVE
from asobiba.baselines.gogo.positions import breaks_five, load, may_play, play, position_fields
from asobiba.baselines.gogo.search_rules import gather
from asobiba.baselines.gogo.threats import find_win, reaches_goal, write_defences
from asobiba.core import compiled, kernel, mix64
from asobiba.core.record import record_dtype
from asobiba.envs.gogo.board import TAKES
from asobiba.envs.gogo.checking import FIVE_AT_ONCE
from asobiba.envs.gogo.lines import MOST_POINTS, line_through

INFINITE = 1 << 30
PLIES = 128
_ROOM = 40
"""Plies left for the search of threats beyond the deepest position."""
ENTRY = np.dtype([("key", np.int64), ("proof", np.int32), ("disproof", np.int32), ("move", np.int16)])
_PROBES = 4
CHILDREN = record_dtype(
    [
        ("key", np.int64, (MOST_POINTS,)),
        ("proof", np.int32, (MOST_POINTS,)),
        ("disproof", np.int32, (MOST_POINTS,)),
        ("move", np.int16, (MOST_POINTS,)),
        ("listed", np.uint8, (MOST_POINTS,)),
        ("whole", np.uint8),
        ("count", np.int32),
        ("chosen", np.int32),
        ("most_proof", np.int32),
        ("most_disproof", np.int32),
    ]
)
"""The moves of one ply: what is known of the positions after them, and how far this ply is to be searched."""
SETTINGS = record_dtype(
    [
        ("attacker", np.int8),
        ("width", np.int32),
        ("threats", np.int32),
        ("quiet_steps", np.int32),
        ("most", np.int64),
    ]
)


def frames_of(ruleset):
    """Room for the positions of a search, one a ply."""
    numbers = [(name, np.int32) for name in ("count", "index", "depth", "best_move")]
    moves = [(name, np.int32, (MOST_POINTS,)) for name in ("moves", "order")]
    return np.zeros(
        PLIES, record_dtype([*position_fields(ruleset), ("key", np.int64), ("side", np.int8), *numbers, *moves])
    )


@compiled()
def load_root(states, params, frames):
    """The position of a state in `frames[0]`."""
    load(states[0], params[0], frames[0])


@compiled()
def set_board(params, size):
    """Makes the parameters those of a board of `size` lines, which may be smaller than the game's least."""
    p = params[0]
    p.width = size
    p.area = size * size
    for point in range(p.row.shape[0]):
        p.row[point] = point // size if point < size * size else 0
    for line in range(p.full.shape[0]):
        p.full[line] = 0
    for point in range(size * size):
        for direction in range(4):
            line, bit, _, _ = line_through(p, point, direction)
            p.full[line] |= 1 << bit


@compiled()
def begin(states, params, frames, moves):
    """The position after these moves from the empty board in `frames[0]`; returns how the last one ended the game, or 0."""
    p = params[0]
    s = states[0]
    s.empty = p.area
    s.last_point = -1
    load(s, p, frames[0])
    for move in moves:
        result = play(frames[0], frames[1], p, move)
        if result != 0:
            return result
        frames[0] = frames[1]
    return 0


@kernel
def position_key(node):
    """The key of a position and of its images."""
    least = node.hashes[0]
    for k in range(1, 8):
        least = min(least, node.hashes[k])
    rest = np.uint64(node.captured[0]) * np.uint64(512) + np.uint64(node.captured[1]) * np.uint64(2)
    return least ^ np.int64(mix64(rest + np.uint64(node.to_move) + np.uint64(7)))


@kernel
def find(table, key):
    """Where a position stands in the table, or -1."""
    mask = np.int64(table.shape[0] - 1)
    for k in range(_PROBES):
        at = (key + k) & mask
        if table[at].key == key:
            return at
    return -1


@kernel
def store(table, key, proof, disproof, move):
    """Keeps what is known of a position; what is decided stays, and of the rest that on which least was spent goes."""
    mask = np.int64(table.shape[0] - 1)
    best = np.int64(-1)
    least = np.int64(INFINITE) * 4
    for k in range(_PROBES):
        at = (key + k) & mask
        if table[at].key == key or table[at].key == 0:
            best = at
            break
        if table[at].proof != 0 and np.int64(table[at].proof) + table[at].disproof < least:
            least = np.int64(table[at].proof) + table[at].disproof
            best = at
    if best >= 0:
        table[best].key = key
        table[best].proof = proof
        table[best].disproof = disproof
        table[best].move = move


@kernel
def finishing_move(frames, ply, p):
    """A move of the player to move in `frames[ply]` that wins at once, or makes a five that no reply breaks; or -1."""
    node = frames[ply]
    child = frames[ply + 1]
    me = np.int64(node.to_move)
    area = np.int64(p.area)
    if node.fives[1 - me] > 0 and p.goal == 0:
        return -1
    if node.tally[8 * me + MADE_FIVE] == 0 and node.captured[me] + 16 < p.goal:
        return -1
    for point in range(area):
        five = False
        for direction in range(4):
            five |= node.kinds[(4 * me + direction) * area + point] == MADE_FIVE
        if not five and not reaches_goal(node, p, point, me):
            continue
        if not may_play(node, p, point):
            continue
        result = play(node, child, p, point)
        if result == 1:
            return point
        if result == 0 and child.fives[me] > 0 and not can_break(child, p):
            return point
    return -1


@kernel
def can_break(node, p):
    """Whether the player to move, against a standing five, has a capture that may break it or reaches the goal."""
    me = np.int64(node.to_move)
    for point in range(np.int64(p.area)):
        if node.planes[(TAKES + me) * np.int64(p.area) + point] != 0:
            if reaches_goal(node, p, point, me) or breaks_five(node, p, point, me):
                return True
    return False


@kernel
def threatens(frames, ply, p, options):
    """Whether the attacker, were it his turn in `frames[ply]`, would win by fours; he is then to move in the next frame."""
    frames[ply + 1] = frames[ply]
    frames[ply + 1].to_move = options.attacker
    return find_win(frames, ply + 1, p, options.threats) > 0


@kernel
def first_guess(frames, ply, p, options):
    """Proof and disproof number of a new position, and the attacker's winning move where one is seen."""
    node = frames[ply]
    attacker = np.int64(options.attacker)
    defender = 1 - attacker
    at = 8 * attacker
    if node.to_move == attacker:
        move = finishing_move(frames, ply, p)
        if move >= 0:
            return 0, INFINITE, move
        if node.fives[defender] > 0 and not can_break(node, p):
            return INFINITE, 0, -1
        if find_win(frames, ply, p, options.threats) > 0:
            if p.five == FIVE_AT_ONCE or p.captures == 0:
                return 0, INFINITE, np.int64(node.best_move)
            return 1, 40, np.int64(node.best_move)
        return 4, 1, -1
    if finishing_move(frames, ply, p) >= 0:
        return INFINITE, 0, -1
    if node.fives[attacker] > 0 or node.tally[at + MADE_FIVE] > 0:
        return 1, 2, -1
    if threatens(frames, ply, p, options):
        return 4, 1, -1
    if node.steps >= options.quiet_steps:
        return INFINITE, 0, -1
    return 12, 1, -1


@kernel
def list_answers(frames, children, ply, p, options):
    """Marks the defender's answers to what the attacker threatens in `children[ply].listed`; whether he threatens at all."""
    here = children[ply]
    node = frames[ply]
    area = np.int64(p.area)
    defender = np.int64(node.to_move)
    attacker = 1 - defender
    for point in range(area):
        here.listed[point] = 0
    if node.tally[8 * attacker + MADE_FIVE] > 0:
        count = write_defences(node, p)
        for k in range(count):
            here.listed[node.moves[k]] = 1
        return True
    if not threatens(frames, ply, p, options):
        return False
    at = ply + 1
    while at + 2 + _ROOM < frames.shape[0]:
        move = np.int64(frames[at].best_move)
        here.listed[move] = 1
        if play(frames[at], frames[at + 1], p, move) != 0:
            break
        count = write_defences(frames[at + 1], p)
        for k in range(count):
            here.listed[frames[at + 1].moves[k]] = 1
        if count == 0 or play(frames[at + 1], frames[at + 2], p, frames[at + 1].moves[0]) != 0:
            break
        at += 2
        if find_win(frames, at, p, options.threats) == 0:
            break
    for point in range(area):
        sharp = node.planes[(TAKES + defender) * area + point] != 0
        for direction in range(4):
            sharp |= node.kinds[(4 * defender + direction) * area + point] >= FOUR
        if sharp:
            here.listed[point] = 1
    return True


@kernel
def expand(frames, children, ply, p, options, table):
    """Writes the moves of `frames[ply]` and what is known of the positions after them into `children[ply]`."""
    node = frames[ply]
    here = children[ply]
    here.count = 0
    here.whole = 1
    if node.to_move == options.attacker:
        if find_win(frames, ply, p, options.threats) > 0:
            here.whole = 0
            add_move(frames, children, ply, p, options, table, np.int64(node.best_move))
        else:
            add_attacks(frames, children, ply, p, options, table)
        return
    if node.fives[options.attacker] == 0 and list_answers(frames, children, ply, p, options):
        here.whole = 0
    add_replies(frames, children, ply, p, options, table)


@kernel
def add_attacks(frames, children, ply, p, options, table):
    """The attacker's moves of most promise, or all of them; but the one that is there already."""
    node = frames[ply]
    here = children[ply]
    there = np.int64(here.move[0]) if here.count > 0 else np.int64(-1)
    moves = here.listed
    for point in range(np.int64(p.area)):
        moves[point] = options.width >= p.area and may_play(node, p, point)
    if options.width < p.area:
        count = gather(node, p, options.width)
        for k in range(count):
            moves[node.moves[k]] = 1
    for point in range(np.int64(p.area)):
        if moves[point] != 0 and point != there:
            add_move(frames, children, ply, p, options, table, point)


@kernel
def add_replies(frames, children, ply, p, options, table):
    """The moves of a player: the answers that are listed, or all others."""
    node = frames[ply]
    here = children[ply]
    standing = node.fives[1 - node.to_move] > 0
    first = here.count == 0
    for point in range(np.int64(p.area)):
        if not may_play(node, p, point):
            continue
        if standing and node.planes[(TAKES + np.int64(node.to_move)) * np.int64(p.area) + point] == 0:
            continue  # the five stands
        if (here.whole != 0 and (first or here.listed[point] == 0)) or (here.whole == 0 and here.listed[point] != 0):
            add_move(frames, children, ply, p, options, table, point)


@kernel
def add_move(frames, children, ply, p, options, table, move):
    """Adds a move to `children[ply]` with what is known of the position after it."""
    here = children[ply]
    k = here.count
    here.count += 1
    here.move[k] = move
    here.key[k] = 0
    result = play(frames[ply], frames[ply + 1], p, move)
    if result != 0:
        wins = result == (1 if frames[ply].to_move == options.attacker else -1)
        here.proof[k] = 0 if wins else INFINITE
        here.disproof[k] = INFINITE if wins else 0
        return
    key = position_key(frames[ply + 1])
    here.key[k] = key
    if find(table, key) < 0:
        proof, disproof, answer = first_guess(frames, ply + 1, p, options)
        store(table, key, proof, disproof, answer)
        here.proof[k] = proof
        here.disproof[k] = disproof


@kernel
def weigh(here, attacking, table):
    """The numbers of a position from those after its moves; the most promising move, and the second one's number."""
    best = np.int64(INFINITE)
    second = np.int64(INFINITE)
    chosen = -1
    worst = np.int64(0)
    live = 0
    settled = False
    for k in range(here.count):
        if here.key[k] != 0:
            at = find(table, here.key[k])
            if at >= 0:
                here.proof[k] = table[at].proof
                here.disproof[k] = table[at].disproof
        low = np.int64(here.proof[k]) if attacking else np.int64(here.disproof[k])
        high = np.int64(here.disproof[k]) if attacking else np.int64(here.proof[k])
        if high == 0:
            continue  # this move is refuted
        settled |= high >= INFINITE  # type: ignore[assignment]
        live += 1
        worst = max(worst, high)
        if low < best:
            second = best
            best = low
            chosen = k
        else:
            second = min(second, low)
    total = np.int64(0) if live == 0 else min(worst + live - 1, np.int64(INFINITE))
    if best == 0 or settled:
        total = np.int64(INFINITE)
        best = np.int64(0)
    return best, total, chosen, second


@compiled()
def search(frames, children, params, table, settings):
    """Searches `frames[0]` until it is decided or `most` positions are expanded.

    Returns its proof and disproof number, the attacker's move, and the number of positions expanded.
    """
    p = params[0]
    options = settings[0]
    ply = 0
    expanded = 1
    proof, disproof, move = first_guess(frames, 0, p, options)
    if proof == 0 or disproof == 0:
        return proof, disproof, move, expanded
    expand(frames, children, 0, p, options, table)
    children[0].most_proof = INFINITE
    children[0].most_disproof = INFINITE
    while True:
        here = children[ply]
        attacking = frames[ply].to_move == options.attacker
        low, high, chosen, second = weigh(here, attacking, table)
        proof = low if attacking else high
        disproof = high if attacking else low
        move = here.move[chosen] if chosen >= 0 else np.int16(-1)
        if here.whole == 0 and (disproof if attacking else proof) == 0:
            here.whole = 1  # what was looked at first does not settle it
            if attacking:
                add_attacks(frames, children, ply, p, options, table)
            else:
                add_replies(frames, children, ply, p, options, table)
            continue
        over = proof == 0 or disproof == 0 or expanded >= options.most
        if over or proof >= here.most_proof or disproof >= here.most_disproof:
            store(table, position_key(frames[ply]), proof, disproof, move)
            if ply == 0:
                return proof, disproof, move, expanded
            ply -= 1
            continue
        below = children[ply + 1]
        if attacking:
            below.most_proof = min(np.int64(here.most_proof), second + 1)
            below.most_disproof = min(np.int64(INFINITE), np.int64(here.most_disproof) - high + here.disproof[chosen])
        else:
            below.most_disproof = min(np.int64(here.most_disproof), second + 1)
            below.most_proof = min(np.int64(INFINITE), np.int64(here.most_proof) - high + here.proof[chosen])
        if ply + _ROOM >= frames.shape[0]:
            store(table, here.key[chosen], INFINITE, 0, -1)
            continue
        play(frames[ply], frames[ply + 1], p, here.move[chosen])
        ply += 1
        expanded += 1
        expand(frames, children, ply, p, options, table)

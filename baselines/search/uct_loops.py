"""The compiled loops of `uct`. `frames[ply]` holds the position at each ply of a simulation; the tree holds moves and
counts, no positions.

`uct` binds the kernels of a real game in place of the placeholders.
"""

from __future__ import annotations

from math import ceil, sqrt

from numba import njit
from numpy import int64

# bind: what a game gives to searches
from asobiba.baselines.search.uct_placeholder import generate, load, play, playout, prior

# end of bind
from asobiba.core.elementary import log, power
from asobiba.core.random import random_below
from asobiba.core.targets import CALLED, KERNEL, part

looping = njit(**CALLED)
inner = part(**KERNEL)
_PLACES = 8
"""Neighbouring places of the table of transpositions in which a position may stand."""


@looping
def load_root(states, params, frames):
    load(states[0], params[0], frames[0])


@inner
def expand(frames, ply, p, tree, at, used, options, settings, knowledge):
    """Writes the children of a node behind the `used` entries; returns how many, or -1 where there is no room."""
    frame = frames[ply]
    count = generate(frame, p)
    if used + count > tree.shape[0]:
        return -1
    if options.widen > 0:  # the best come first
        for k in range(1, count):
            move, order = frame.moves[k], frame.order[k]
            j = k - 1
            while j >= 0 and frame.order[j] < order:
                frame.moves[j + 1], frame.order[j + 1] = frame.moves[j], frame.order[j]
                j -= 1
            frame.moves[j + 1], frame.order[j + 1] = move, order
    tree[at].first = used
    tree[at].children = count
    for k in range(count):
        c = tree[used + k]
        c.move = frame.moves[k]
        c.visits = 0
        c.total = 0.0
        c.children = 0
        c.result = 0
        if options.priors != 0:
            play(frame, frames[ply + 1], p, c.move)
            visits, mean = prior(frame, frames[ply + 1], p, c.move, settings, knowledge)
            c.visits = visits
            c.total = visits * mean
    return count


@inner
def select(tree, at, options, generator):
    """The child to go to: the greatest upper confidence bound."""
    n = tree[at]
    allowed = int64(n.children)
    if options.widen > 0:
        allowed = min(allowed, int64(ceil(options.widen * power(n.visits + 1.0, options.power))))
    counted = tree[0].visits if options.root_count != 0 else n.visits
    scale = options.exploration * sqrt(log(float(max(1, counted))))
    best = -1
    best_score = -1e30
    fresh = 0
    for k in range(n.first, n.first + allowed):
        c = tree[k]
        if c.visits == 0:
            if options.random_fresh != 0:
                fresh += 1
                if random_below(generator, fresh) == 0:
                    best = k
            elif options.urgency > best_score:
                best_score = options.urgency
                best = k
        elif fresh == 0:
            score = c.total / c.visits + scale / sqrt(float(c.visits))
            if score > best_score:
                best_score = score
                best = k
    return best


@inner
def random_game(frames, ply, p, generator, limit):
    """A random game from `frames[ply]`; its value for the player to move there."""
    of = frames[ply].side
    while ply < limit:
        mover = frames[ply].side
        count = generate(frames[ply], p)
        if count == 0:
            return -1.0 if mover == of else 1.0
        move = frames[ply].moves[random_below(generator, count)]
        result = play(frames[ply], frames[ply + 1], p, move)
        if result == 2:
            return 0.0
        if result != 0:
            return float(result) if mover == of else -float(result)
        ply += 1
    return 0.0


@inner
def place_of(keys, nodes, key):
    """Place of a position in the transposition table, or else the place where it may be written."""
    first = key & (keys.shape[0] - 1)
    for k in range(_PLACES):
        slot = (first + k) & (keys.shape[0] - 1)
        if nodes[slot] == 0 or keys[slot] == key:
            return slot
    return first


@looping
def simulate(
    frames,
    params,
    tree,
    path,
    sides,
    generator,
    options,
    settings,
    knowledge,
    keys,
    nodes,
    simulations,
    plies_left,
    used,
):
    """Grows `tree` (entry 0 is the root, `used` entries are taken) by simulations; returns the entries taken then.

    A node's total is from the side of the player who moved into it, or from the root's where `cooperative` is set. With
    transpositions, `keys` and `nodes` say which node's continuations (its number and one; 0: none) a position has.
    """
    p, o = params[0], options[0]
    limit = min(int64(plies_left), int64(frames.shape[0] - 2))
    root_side = frames[0].side
    for _ in range(simulations):
        at = int64(0)
        ply = 0
        path[0] = 0
        sides[0] = 1 - root_side
        value = 0.0
        of = root_side  # from whose side `value` is
        ended = False
        while True:
            n = tree[at]
            if n.result != 0:
                of = sides[ply]
                value = 0.0 if n.result == 2 else float(n.result)
                ended = True
                break
            if ply >= limit:
                ended = True
                break
            if o.transpositions != 0:
                slot = place_of(keys, nodes, frames[ply].key)
                known = keys[slot] == frames[ply].key and nodes[slot] > 0
                if n.children > 0:
                    if not known:  # it was kept from an earlier search
                        keys[slot], nodes[slot] = frames[ply].key, at + 1
                elif known:
                    # The position was reached in another order: its continuations are shared.
                    n.first, n.children = tree[nodes[slot] - 1].first, tree[nodes[slot] - 1].children
            if n.children == 0:
                if n.visits < o.expand_after and ply > 0:
                    break
                count = expand(frames, ply, p, tree, at, used, o, settings[0], knowledge)
                if count < 0:
                    break
                if count == 0:
                    n.result = 1 if sides[ply] != frames[ply].side else -1  # without a move the mover loses
                    continue
                used += count
                if o.transpositions != 0:
                    slot = place_of(keys, nodes, frames[ply].key)
                    keys[slot], nodes[slot] = frames[ply].key, at + 1
            best = select(tree, at, o, generator[0])
            mover = frames[ply].side
            result = play(frames[ply], frames[ply + 1], p, tree[best].move)
            if result != 0:
                tree[best].result = result
            at = best
            ply += 1
            path[ply] = at
            sides[ply] = mover
        depth = ply
        if not ended:
            of = frames[ply].side
            if o.playout == 0:
                value = random_game(frames, ply, p, generator[0], limit)
            else:
                value = playout(frames[ply], p, generator[0], settings[0], root_side)
        if o.cooperative != 0:
            for k in range(depth + 1):
                sides[k] = root_side
        for k in range(depth, -1, -1):
            c = tree[path[k]]
            c.visits += 1
            c.total += value if sides[k] == of else -value
    return used


@looping
def locate(frames, params, tree, path, index, marks, key, deepest):
    """The node of the tree (expanded, not the root) whose position has `key`, or -1; at most `deepest` plies down.

    `marks` (as long as the tree) is scratch: blocks of children that were looked through, which may be shared.
    """
    p = params[0]
    for k in range(marks.shape[0]):
        marks[k] = 0
    ply = 0
    path[0] = 0
    index[0] = 0
    while ply >= 0:
        n = tree[path[ply]]
        if index[ply] >= n.children or ply >= deepest:
            ply -= 1
            continue
        child = int64(n.first) + index[ply]
        index[ply] += 1
        c = tree[child]
        if c.children == 0 or c.result != 0 or marks[c.first] != 0:
            continue
        play(frames[ply], frames[ply + 1], p, c.move)
        if frames[ply + 1].key == key:
            return child
        marks[c.first] = 1
        ply += 1
        path[ply] = child
        index[ply] = 0
    return int64(-1)


@looping
def graft(tree, other, root, moved):
    """Copies the part of `tree` below `root` to the beginning of `other`; returns the entries taken.

    `moved` (as long as the tree) is scratch: where a block of children went, so that shared blocks stay shared.
    """
    for k in range(moved.shape[0]):
        moved[k] = 0
    other[0] = tree[root]
    used = int64(1)
    at = int64(0)
    while at < used:
        n = other[at]
        if n.children > 0:
            first = int64(n.first)
            if moved[first] == 0:
                moved[first] = used
                for k in range(n.children):
                    other[used + k] = tree[first + k]
                used += n.children
            n.first = moved[first]
        at += 1
    return used


@looping
def think(
    states,
    params,
    masks,
    frames,
    tree,
    path,
    sides,
    generator,
    options,
    settings,
    knowledge,
    keys,
    nodes,
    plan,
    actions,
):
    """`uct.UctSearcher.search` from a blank tree, without Python: the action in `states[0]`.

    `plan`: the simulations, and whether the best mean is played (1) or the most visits (0).
    """
    root = tree[0]
    root.total = 0
    root.visits, root.first, root.move, root.children, root.result = 0, 0, 0, 0, 0
    for k in range(nodes.shape[0]):
        nodes[k] = 0
    load_root(states, params, frames)
    left = int64(params[0].max_steps) - int64(states[0].steps)
    simulate(
        frames=frames,
        params=params,
        tree=tree,
        path=path,
        sides=sides,
        generator=generator,
        options=options,
        settings=settings,
        knowledge=knowledge,
        keys=keys,
        nodes=nodes,
        simulations=plan[0],
        plies_left=left,
        used=1,
    )
    best, best_score = int64(-1), 0.0
    for k in range(root.first, root.first + root.children):
        c = tree[k]
        score = float(c.visits)
        if plan[1] != 0:
            score = c.total / c.visits if c.visits > 0 else -2.0
        if best < 0 or score > best_score:
            best, best_score = int64(k), score
    actions[0] = tree[best].move if best >= 0 else -1

"""The compiled loops of `asobiba.learn.search`: trees guided by a network, over a game's own kernels.

A node holds the network's evaluation of a position and the results of the simulations below it; its edges, one per
legal action, are stored in a contiguous row. No positions are kept: a simulation copies the root and plays down from
it, which costs less than looking up a record. Values are those of the player to move at the node.

`search` binds a game's kernels in place of the placeholders. Sources: Danihelka et al., "Policy improvement by planning
with Gumbel", ICLR 2022 (the choice at the root and below it, completed values, the improved policy); Silver et al.,
"Mastering the game of Go without human knowledge", Nature 550, 2017 (PUCT).
"""

from __future__ import annotations

from math import sqrt

from numba import njit, prange
from numpy import float32, float64, int64

# bind: the rules of a game
from asobiba.core.loops.placeholder import legal, observe, reset, step

# end of bind
from asobiba.core.elementary import exp, log
from asobiba.core.laws import close_step, has_ended
from asobiba.core.networks import forward
from asobiba.core.random import random_below, random_legal, random_uniform, seed_record
from asobiba.core.targets import CALLED, KERNEL, THREADED, part
from asobiba.learn.search_arrays import Net, Trees

inner = part(**KERNEL)
_LEAST = -1e30


@inner
def play(s, p, action):
    """Plays a legal action, with the laws around it."""
    s.rewards[:] = 0
    step(s, p, action)
    close_step(s, p)


@inner
def expand(tree, n, s, p, t):
    """Makes node `n` of the position: the network's evaluation, and the edges.

    Returns the value for the player to move.
    """
    trees, net = tree
    node = trees.nodes[t, n]
    node.visits, node.total = 0, 0.0
    node.mover = s.to_move
    node.edges, node.first = 0, trees.used[t]
    observation, scratch = trees.observation[t], trees.scratch[t]
    observe(s, p, int64(s.to_move), observation)
    for k in range(observation.shape[0]):
        scratch[k] = observation[k]
    forward(net.layers, net.weights, scratch, trees.active[t])
    mask = trees.mask[t]
    legal(s, p, mask)
    at = int64(trees.used[t])
    for action in range(mask.shape[0]):
        if mask[action] != 0:
            edge = trees.edges[t, at]
            edge.action, edge.child = action, -1
            edge.logit = scratch[net.policy + action]
            at += 1
    node.edges = at - trees.used[t]
    trees.used[t] = at
    node.value = min(1.0, max(-1.0, float64(scratch[net.value])))  # the rewards of games between two
    return node.value


@inner
def prepare(trees, t, n):
    """Writes the node's edges into the thread's scratch rows: logits less their greatest, visits, values, priors.

    Returns the sum of the visits and the greatest of them.
    """
    node = trees.nodes[t, n]
    row = trees.rows[t]
    most, greatest, total = _LEAST, int64(0), int64(0)
    for k in range(node.edges):
        most = max(most, float64(trees.edges[t, node.first + k].logit))
    norm = 0.0
    for k in range(node.edges):
        edge = trees.edges[t, node.first + k]
        row[k].logit = float64(edge.logit) - most
        row[k].prior = exp(row[k].logit)
        norm += row[k].prior
        row[k].visits, row[k].value = 0, 0.0
        if edge.child >= 0:
            child = trees.nodes[t, edge.child]
            row[k].visits = child.visits
            if child.visits > 0:
                mean = child.total / child.visits
                row[k].value = (mean if child.mover == node.mover else -mean) + edge.reward
        total += row[k].visits
        greatest = max(greatest, int64(row[k].visits))
    for k in range(node.edges):
        row[k].prior /= norm
    return total, greatest


@inner
def complete(trees, t, n, total, greatest, scale, begin):
    """Values of edges without visits become the mixed value of the node; all are rescaled to 0 to 1 and weighed.

    Danihelka et al., equations 8 to 11 and appendix D.
    """
    node = trees.nodes[t, n]
    row = trees.rows[t]
    weight, weighed = 0.0, 0.0
    for k in range(node.edges):
        if row[k].visits > 0:
            weight += row[k].prior
            weighed += row[k].prior * row[k].value
    mixed = node.value
    if total > 0 and weight > 0:
        mixed = (node.value + total * (weighed / weight)) / (total + 1)
    low, high = 1e30, _LEAST
    for k in range(node.edges):
        value = row[k].value if row[k].visits > 0 else mixed
        row[k].completed = value
        low, high = min(low, value), max(high, value)
    factor = (begin + greatest) * scale / max(high - low, 1e-8)
    for k in range(node.edges):
        row[k].completed = (row[k].completed - low) * factor


@inner
def choose_below(trees, t, n, options):
    """The edge to follow below the root (Gumbel): where the improved policy is furthest ahead of the visits."""
    total, greatest = prepare(trees, t, n)
    complete(trees, t, n, total, greatest, options.scale, options.begin)
    node = trees.nodes[t, n]
    row = trees.rows[t]
    most = _LEAST
    for k in range(node.edges):
        row[k].completed += row[k].logit
        most = max(most, row[k].completed)
    norm = 0.0
    for k in range(node.edges):
        row[k].completed = exp(row[k].completed - most)
        norm += row[k].completed
    best, found = _LEAST, int64(0)
    for k in range(node.edges):
        score = row[k].completed / norm - row[k].visits / (1.0 + total)
        if score > best:
            best, found = score, int64(k)
    return found


@inner
def choose_root(trees, t, considered, options):
    """The edge of the root to follow, or to play: of those with `considered` visits, the greatest noise + logit + value."""
    total, greatest = prepare(trees, t, 0)
    complete(trees, t, 0, total, greatest, options.scale, options.begin)
    row = trees.rows[t]
    best, found = 2.0 * _LEAST, int64(0)
    for k in range(trees.nodes[t, 0].edges):
        if row[k].visits == considered:
            score = row[k].noise + row[k].logit + row[k].completed
            if score > best:
                best, found = score, int64(k)
    return found


@inner
def choose_puct(trees, t, n, options):
    """The edge of the greatest mean + exploration * prior * sqrt(visits of the node) / (1 + own visits)."""
    total, _ = prepare(trees, t, n)
    node = trees.nodes[t, n]
    row = trees.rows[t]
    spread = options.exploration * sqrt(max(1.0, float64(total)))
    best, found = _LEAST, int64(0)
    for k in range(node.edges):
        value = row[k].value if row[k].visits > 0 else node.value - options.urgency
        score = value + spread * (row[k].prior + row[k].noise) / (1.0 + row[k].visits)
        if score > best:
            best, found = score, int64(k)
    return found


@inner
def simulate(tree, t, s, p, first, options):
    """One simulation: from the root over its edge `first` to a new node or an end of the game, and back.

    `s` is a scratch record that holds the root's position; it is played on.
    """
    trees = tree[0]
    path, taken = trees.path[t], trees.taken[t]
    depth, n, chosen = int64(0), int64(0), int64(first)
    while True:
        node = trees.nodes[t, n]
        edge = trees.edges[t, node.first + chosen]
        mover = s.to_move
        play(s, p, edge.action)
        path[depth], taken[depth] = n, node.first + chosen
        edge.reward = s.rewards[mover]
        depth += 1
        if edge.child < 0:
            edge.child = trees.node_count[t]
            trees.node_count[t] += 1
            n = int64(edge.child)
            new = trees.nodes[t, n]
            if has_ended(s):
                new.visits, new.total, new.edges, new.value = 0, 0.0, 0, 0.0
                new.mover = mover
                value = 0.0
            else:
                value = expand(tree, n, s, p, t)
            break
        n = int64(edge.child)
        if trees.nodes[t, n].edges == 0:
            value = 0.0
            break
        if options.puct != 0:
            chosen = choose_puct(trees, t, n, options)
        else:
            chosen = choose_below(trees, t, n, options)
    leaf = trees.nodes[t, n]
    leaf.visits += 1
    leaf.total += value
    player = leaf.mover
    for k in range(depth - 1, -1, -1):
        node = trees.nodes[t, path[k]]
        if node.mover != player:
            value = -value
            player = node.mover
        value += trees.edges[t, taken[k]].reward
        node.visits += 1
        node.total += value


@inner
def search_one(tree, t, root, s, p, sequence, simulations, options, generator):
    """Searches from the record `root`; leaves the tree. Returns the edge to play.

    `s` is scratch; `sequence` says how many visits the edges tried in each simulation have (see `search.sequences`).
    """
    trees = tree[0]
    trees.node_count[t], trees.used[t] = 1, 0
    s[0] = root[0]
    expand(tree, 0, s[0], p, t)
    edges = int64(trees.nodes[t, 0].edges)
    row = trees.rows[t]
    for k in range(edges):
        row[k].noise = 0.0
        if options.noise > 0:
            row[k].noise = -options.noise * log(-log(1.0 - random_uniform(generator) * 0.9999999999999999))
    considered = min(edges, sequence.shape[0] - 1)
    for k in range(simulations):
        s[0] = root[0]
        if options.puct != 0:
            chosen = choose_puct(trees, t, 0, options)
        else:
            chosen = choose_root(trees, t, sequence[considered, k], options)
        simulate(tree, t, s[0], p, chosen, options)
    _, greatest = prepare(trees, t, 0)
    if options.puct != 0:
        best, found = _LEAST, int64(0)
        for k in range(edges):
            score = row[k].visits + 0.5 * row[k].value + row[k].prior * 1e-6
            if score > best:
                best, found = score, int64(k)
        return found
    return choose_root(trees, t, greatest, options)


@inner
def write_policy(trees, t, options, out):
    """The improved policy of the root, `(actions,)` float32: the target that a network learns."""
    total, greatest = prepare(trees, t, 0)
    complete(trees, t, 0, total, greatest, options.scale, options.begin)
    row = trees.rows[t]
    out[:] = 0
    edges = int64(trees.nodes[t, 0].edges)
    most, norm = _LEAST, 0.0
    for k in range(edges):
        row[k].completed += row[k].logit
        most = max(most, row[k].completed)
    for k in range(edges):
        row[k].completed = exp(row[k].completed - most)
        norm += row[k].completed
    for k in range(edges):
        out[trees.edges[t, trees.nodes[t, 0].first + k].action] = float32(row[k].completed / norm)


@njit(**CALLED)
def search(trees, net, roots, params, scratch, sequence, simulations, options, generator, policy):
    """Searches `roots[0]`, in which the game goes on. Returns the action and the root's mean value for the player to move;
    writes the improved policy."""
    tree = (trees, net)
    found = search_one(tree, 0, roots, scratch, params[0], sequence, simulations, options[0], generator[0])
    write_policy(trees, 0, options[0], policy)
    root = trees.nodes[0, 0]
    value = (root.total + root.value) / (root.visits + 1)
    return int64(trees.edges[0, root.first + found].action), value


@njit(**CALLED)
def think(
    states, params, masks, nodes, edges, rows, path, taken, node_count, used, observation, mask, scratch, active, layers,
    weights, places, free, sequence, options, generator, actions,
):  # fmt: skip
    """`search.NetSearch.search` without Python: the action in `states[0]`. `places`: where the network's logits and its value stand."""
    trees = Trees(
        nodes=nodes,
        edges=edges,
        rows=rows,
        path=path,
        taken=taken,
        node_count=node_count,
        used=used,
        observation=observation,
        mask=mask,
        scratch=scratch,
        active=active,
    )
    tree = (trees, Net(layers, weights, places[0], places[1]))
    simulations = int64(sequence.shape[1])
    found = search_one(tree, 0, states, free, params[0], sequence, simulations, options[0], generator[0])
    actions[0] = trees.edges[0, trees.nodes[0, 0].first + found].action


@njit(**THREADED)
def self_play(
    threads, trees, net, states, params, blank, scratch, sequence, simulations, options, seeds, openings, games
):
    """Plays whole games against itself, the same for any number of threads.

    `games` are the arrays to fill, a row of `length` positions for each game.
    """
    for thread in prange(threads):
        for g in range(thread, seeds.shape[0], threads):
            play_game(
                t=thread,
                g=g,
                trees=trees,
                net=net,
                states=states,
                params=params,
                blank=blank,
                scratch=scratch,
                sequence=sequence,
                simulations=simulations,
                options=options,
                seeds=seeds,
                openings=openings,
                games=games,
            )


@inner
def play_game(t, g, trees, net, states, params, blank, scratch, sequence, simulations, options, seeds, openings, games):
    p = params[0]
    root = states[t : t + 1]
    free = scratch[t : t + 1]
    root[0] = blank[0]
    seed_record(root[0], seeds[g])
    reset(root[0], p)
    generator = games.generators[g]
    mask = trees.mask[t]
    for _ in range(random_below(generator, openings + 1)):
        legal(root[0], p, mask)
        play(root[0], p, random_legal(generator, mask))
        if has_ended(root[0]):
            break
    moves = int64(0)
    tree = (trees, net)
    while not has_ended(root[0]) and moves < games.movers.shape[1]:
        s = root[0]
        found = search_one(tree, t, root, free, p, sequence, simulations, options[0], generator)
        observation = trees.observation[t]
        observe(s, p, int64(s.to_move), observation)
        games.observations[g, moves] = observation
        legal(s, p, mask)
        games.masks[g, moves] = mask
        write_policy(trees, t, options[0], games.policies[g, moves])
        games.movers[g, moves] = s.to_move
        top = trees.nodes[t, 0]
        games.values[g, moves] = (top.total + top.value) / (top.visits + 1)
        play(s, p, trees.edges[t, top.first + found].action)
        games.rewards[g, moves] = s.rewards[games.movers[g, moves]]
        moves += 1
    games.lengths[g] = moves
    # Return of the rest of the game, for the player who was to move.
    back = 0.0
    for k in range(moves - 1, -1, -1):
        if k < moves - 1 and games.movers[g, k] != games.movers[g, k + 1]:
            back = -back
        back += games.rewards[g, k]
        games.results[g, k] = back

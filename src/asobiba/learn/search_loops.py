"""The compiled loops of `asobiba.learn.search`: trees guided by a network, over a game's own kernels.

A node holds the network's evaluation of a position and the results of the simulations below it; its edges, one per
legal action, are stored in a contiguous row. No positions are kept: a simulation copies the root and plays down from
it, which costs less than looking up a record. Values are those of the player to move at the node.

The values of ends of games are exact, and so are those of nodes that follow from them. Moves that are known to lose are not
tried any more, and a search stops when it knows the root's value.

`search` binds a game's kernels in place of the placeholders. Sources: Danihelka et al., "Policy improvement by planning
with Gumbel", ICLR 2022 (the choice at the root and below it, completed values, the improved policy); Silver et al.,
"Mastering the game of Go without human knowledge", Nature 550, 2017 (PUCT); Winands, Bjornsson and Saito, "Monte-Carlo
tree search solver", CG 2008 (exact values).
"""

from __future__ import annotations

from math import sqrt

from numba import njit
from numpy import float32, float64, int64, uint64

# bind: the rules of a game
from asobiba.core.loops.placeholder import legal, observe, reset, step

# end of bind
from asobiba.core.elementary import exp, log
from asobiba.core.laws import close_step, has_ended
from asobiba.core.networks import forward
from asobiba.core.random import random_below, random_legal, random_uniform, seed_record
from asobiba.core.targets import CALLED, KERNEL, part
from asobiba.learn.search_arrays import Memo, Net, Trees

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
    """Makes node `n` of the position: the network's evaluation, and the edges."""
    trees, net, memo = tree
    observe(s, p, int64(s.to_move), trees.observation[t])
    place = answer(trees, net, memo, t)
    if place < 0:
        grow(trees, n, s, p, t, trees.scratch[0][net.policy :], trees.scratch[0][net.value])
    else:
        grow(trees, n, s, p, t, memo.logits[place], memo.values[place])


@inner
def answer(trees, net, memo, t):
    """Asks for the network's answer to the position in `trees.observation[t]`. Returns its place in the memo; -1 without a
    memo: the answer is then in `trees.scratch[0]`."""
    seen, scratch, place = trees.observation[t], trees.scratch[0], int64(-1)
    if memo.networks.shape[0] > 0:
        place = find(seen, memo.networks.shape[0])
        memo.counts[1] += 1
        known = memo.networks[place] == memo.counts[0]
        i = 0
        while known and i < seen.shape[0]:
            known = memo.seen[place, i] == seen[i]
            i += 1
        if known:
            return place
        memo.counts[2] += 1
    for i in range(seen.shape[0]):
        scratch[i] = seen[i]
    forward(net.layers, net.weights, scratch, trees.active[0])
    if place >= 0:
        for i in range(seen.shape[0]):
            memo.seen[place, i] = seen[i]
        for i in range(memo.logits.shape[1]):
            memo.logits[place, i] = scratch[net.policy + i]
        memo.values[place], memo.networks[place] = scratch[net.value], memo.counts[0]
    return place


@inner
def find(seen, places):
    """Where a position belongs in a table of `places`, a power of 2 (the hash is FNV-1a)."""
    key = uint64(14695981039346656037)
    for i in range(seen.shape[0]):
        key = (key ^ uint64(int64(seen[i]))) * uint64(1099511628211)
    return int64((key ^ (key >> uint64(32))) & uint64(places - 1))


@inner
def grow(trees, n, s, p, t, logits, value):
    """Makes node `n` of the position, of which the network says `logits` and `value`.

    Edges keep their logit less the greatest, and their share in the network's policy.
    """
    node = trees.nodes[t, n]
    node.visits, node.total = 0, 0.0
    node.exact, node.plies = 0, 0
    node.mover = s.to_move
    node.edges, node.first = 0, trees.used[t]
    mask = trees.mask[t]
    legal(s, p, mask)
    at, most = int64(trees.used[t]), _LEAST
    for action in range(mask.shape[0]):
        if mask[action] != 0:
            edge = trees.edges[t, at]
            edge.action, edge.child = action, -1
            edge.logit = logits[action]
            most = max(most, float64(logits[action]))
            at += 1
    node.edges = at - trees.used[t]
    trees.used[t] = at
    norm = 0.0
    for k in range(node.edges):
        edge = trees.edges[t, node.first + k]
        edge.logit -= most
        edge.prior = exp(edge.logit)
        norm += edge.prior
    for k in range(node.edges):
        trees.edges[t, node.first + k].prior /= norm
    node.value = min(1.0, max(-1.0, float64(value)))  # the rewards of games between two


@inner
def prepare(trees, t, n):
    """Writes the node's edges into the thread's scratch rows: logits, priors, visits, values.

    Returns the sum of the visits, and the greatest of them but for moves that are known to lose.
    """
    node = trees.nodes[t, n]
    row = trees.rows[t]
    greatest, total = int64(0), int64(0)
    for k in range(node.edges):
        edge = trees.edges[t, node.first + k]
        row[k].logit, row[k].prior = edge.logit, edge.prior
        row[k].visits, row[k].value, row[k].lost = 0, 0.0, 0
        if edge.child >= 0:
            child = trees.nodes[t, edge.child]
            row[k].visits = child.visits
            if child.visits > 0:
                value = child.value if child.exact != 0 else child.total / child.visits
                row[k].value = (value if child.mover == node.mover else -value) + edge.reward
                row[k].lost = child.exact != 0 and row[k].value <= -1.0
        total += row[k].visits
        if row[k].lost == 0:
            greatest = max(greatest, int64(row[k].visits))
    return total, greatest


@inner
def complete(trees, t, n, total, greatest, options):
    """Values of edges without visits become the mixed value of the node; all are weighed.

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
    factor = (options.begin + greatest) * options.scale
    for k in range(node.edges):
        if row[k].visits == 0:
            row[k].value = mixed
        row[k].completed = row[k].value * factor


@inner
def choose_below(trees, t, n, options):
    """The edge to follow below the root (Gumbel): where the improved policy is furthest ahead of the visits."""
    total, greatest = prepare(trees, t, n)
    complete(trees, t, n, total, greatest, options)
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
        if score > best and row[k].lost == 0:
            best, found = score, int64(k)
    return found


@inner
def choose_root(trees, t, considered, options):
    """The edge of the root to follow, or to play: of those with `considered` visits, the greatest noise + logit + value.

    Where all of these have turned out to lose, those with the next smaller number of visits take their place.
    """
    total, greatest = prepare(trees, t, 0)
    complete(trees, t, 0, total, greatest, options)
    row = trees.rows[t]
    best, most, found = 2.0 * _LEAST, int64(-1), int64(0)
    for k in range(trees.nodes[t, 0].edges):
        if row[k].lost == 0 and most <= row[k].visits <= considered:
            score = row[k].noise + row[k].logit + row[k].completed
            if score > best or row[k].visits > most:
                best, most, found = score, row[k].visits, int64(k)
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
        if score > best and row[k].lost == 0:
            best, found = score, int64(k)
    return found


@inner
def descend(trees, t, s, p, first, options):
    """Plays from the root over its edge `first` down to a new node, or to an end of the game.

    `s` is a scratch record that holds the root's position; it is played on. Returns the depth, the node, and whether
    the network must evaluate it.
    """
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
            if not has_ended(s):
                return depth, n, True
            new = trees.nodes[t, n]
            new.visits, new.total, new.edges, new.value = 0, 0.0, 0, 0.0
            new.exact, new.plies = 1, 0
            new.mover = mover
            return depth, n, False
        n = int64(edge.child)
        if trees.nodes[t, n].exact != 0:
            return depth, n, False
        if options.puct != 0:
            chosen = choose_puct(trees, t, n, options)
        else:
            chosen = choose_below(trees, t, n, options)


@inner
def back_up(trees, t, depth, n):
    """Adds the value of the node `n`, at which a simulation ended, to all nodes on the way to it."""
    path, taken = trees.path[t], trees.taken[t]
    leaf = trees.nodes[t, n]
    value = leaf.value
    leaf.visits += 1
    leaf.total += value
    player, exact = leaf.mover, leaf.exact != 0
    for k in range(depth - 1, -1, -1):
        node = trees.nodes[t, path[k]]
        if node.mover != player:
            value = -value
            player = node.mover
        value += trees.edges[t, taken[k]].reward
        exact = exact and prove(trees, t, path[k])
        if exact:
            value = node.value
        node.visits += 1
        node.total += value


@inner
def prove(trees, t, n):
    """Makes the value of node `n` exact if those of its edges allow it; returns whether they do.

    They do if one wins (no return exceeds 1) or all are exact. `plies` leads to the end by the shortest win, else by the
    longest line.
    """
    node = trees.nodes[t, n]
    best, plies, whole = _LEAST, int64(0), True
    for k in range(node.edges):
        edge = trees.edges[t, node.first + k]
        if edge.child < 0 or trees.nodes[t, edge.child].exact == 0:
            whole = False
            continue
        child = trees.nodes[t, edge.child]
        value = (child.value if child.mover == node.mover else -child.value) + edge.reward
        sooner = child.plies + 1 < plies
        if value > best or (value == best and sooner == (value >= 1.0)):
            best, plies = value, child.plies + 1
    if not whole and best < 1.0:
        return False
    node.exact, node.value, node.plies = 1, best, plies
    return True


@inner
def draw_noise(trees, t, options, generator):
    """Gumbel noise for the edges of the root; without it 0."""
    row = trees.rows[t]
    for k in range(trees.nodes[t, 0].edges):
        row[k].noise = 0.0
        if options.noise > 0:
            row[k].noise = -options.noise * log(-log(1.0 - random_uniform(generator) * 0.9999999999999999))


@inner
def edge_to_play(trees, t, options):
    """The edge of the root that the search has found."""
    _, greatest = prepare(trees, t, 0)
    exact, row = trees.nodes[t, 0].exact != 0, trees.rows[t]
    if not exact and options.puct == 0:
        return choose_root(trees, t, greatest, options)
    best, found = _LEAST, int64(0)
    for k in range(trees.nodes[t, 0].edges):
        score = row[k].prior if exact else row[k].visits + 0.5 * row[k].value + row[k].prior * 1e-6
        if score > best and (solves(trees, t, k) if exact else row[k].lost == 0):
            best, found = score, int64(k)
    return found


@inner
def solves(trees, t, k):
    """Whether edge `k` of a root of exact value keeps it, and its number of plies; after `prepare`."""
    root = trees.nodes[t, 0]
    child = trees.edges[t, root.first + k].child
    if child < 0 or trees.nodes[t, child].exact == 0:
        return False
    return trees.rows[t, k].value == root.value and trees.nodes[t, child].plies + 1 == root.plies


@inner
def search_one(tree, t, root, s, p, sequence, simulations, options, generator):
    """Searches from the record `root`; leaves the tree. Returns the edge to play.

    `s` is scratch; `sequence` says how many visits the edges tried in each simulation have (see `search.sequences`).
    """
    trees = tree[0]
    trees.node_count[t], trees.used[t] = 1, 0
    s[0] = root[0]
    expand(tree, 0, s[0], p, t)
    draw_noise(trees, t, options, generator)
    considered = min(int64(trees.nodes[t, 0].edges), sequence.shape[0] - 1)
    for k in range(simulations):
        if trees.nodes[t, 0].exact != 0:
            break
        s[0] = root[0]
        if options.puct != 0:
            chosen = choose_puct(trees, t, 0, options)
        else:
            chosen = choose_root(trees, t, sequence[considered, k], options)
        depth, n, open_ = descend(trees, t, s[0], p, chosen, options)
        if open_:
            expand(tree, n, s[0], p, t)
        back_up(trees, t, depth, n)
    return edge_to_play(trees, t, options)


@inner
def write_policy(trees, t, options, out):
    """The improved policy of the root, `(actions,)` float32: the target that a network learns.

    Returns its value: exact, or the mean of the moves' values, weighed by the policy. The mean of the simulations would be
    too low, since the search tries good and bad moves equally often at first.
    """
    total, greatest = prepare(trees, t, 0)
    complete(trees, t, 0, total, greatest, options)
    root, row = trees.nodes[t, 0], trees.rows[t]
    most, norm, value = _LEAST, 0.0, 0.0
    for k in range(root.edges):
        row[k].completed += row[k].logit
        if root.exact != 0 and not solves(trees, t, k):
            row[k].completed = _LEAST
        most = max(most, row[k].completed)
    for k in range(root.edges):
        row[k].completed = exp(row[k].completed - most)
        norm += row[k].completed
    out[:] = 0
    for k in range(root.edges):
        share = row[k].completed / norm
        out[trees.edges[t, root.first + k].action] = float32(share)
        value += share * row[k].value
    return root.value if root.exact != 0 else value


@njit(**CALLED)
def search(trees, net, memo, roots, params, scratch, sequence, simulations, options, generator, policy):
    """Searches `roots[0]`, in which the game goes on. Returns the action and the root's mean or exact value for the player
    to move; writes the improved policy."""
    tree = (trees, net, memo)
    found = search_one(tree, 0, roots, scratch, params[0], sequence, simulations, options[0], generator[0])
    write_policy(trees, 0, options[0], policy)
    root = trees.nodes[0, 0]
    value = root.value if root.exact != 0 else (root.total + root.value) / (root.visits + 1)
    return int64(trees.edges[0, root.first + found].action), value


@njit(**CALLED)
def search_rows(trees, net, memo, roots, params, scratch, sequence, options, generators, actions):
    """The actions `(n,)` to play in the states `roots` `(n,)`, each with its own generator."""
    tree = (trees, net, memo)
    for i in range(roots.shape[0]):
        found = search_one(
            tree, 0, roots[i : i + 1], scratch, params[0], sequence, sequence.shape[1], options[0], generators[i]
        )
        actions[i] = trees.edges[0, trees.nodes[0, 0].first + found].action


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
    no_memo = Memo(observation[:0], scratch[:0], weights[:0], node_count[:0], used)
    tree = (trees, Net(layers, weights, places[0], places[1]), no_memo)
    simulations = int64(sequence.shape[1])
    found = search_one(tree, 0, states, free, params[0], sequence, simulations, options[0], generator[0])
    actions[0] = trees.edges[0, trees.nodes[0, 0].first + found].action


@njit(**CALLED)
def self_play(trees, net, memo, roots, params, blank, scratch, sequence, options, openings, seed, g, games):
    """Plays game `g` of `games` from this seed; the random opening and the noise come from the game's own generator."""
    p, generator, tree = params[0], games.generators[g], (trees, net, memo)
    begin_game(roots, p, blank, trees.mask[0], generator, seed, openings)
    moves = int64(0)
    while moves < games.movers.shape[1] and not has_ended(roots[0]):
        found = search_one(tree, 0, roots, scratch, p, sequence, sequence.shape[1], options[0], generator)
        make_move(trees, found, roots[0], p, options[0], g, moves, games)
        games.learned[g, moves] = 1
        moves += 1
    end_game(games, g, moves)


@njit(**CALLED)
def begin_meeting(trees, roots, params, blank, openings, seed, g, games):
    """As `self_play` begins game `g`; returns whether it goes on. What follows are `search_turn` and `agent_turn`."""
    begin_game(roots, params[0], blank, trees.mask[0], games.generators[g], seed, openings)
    return not has_ended(roots[0])


@njit(**CALLED)
def search_turn(trees, net, memo, roots, params, scratch, sequence, options, g, k, games, learned):
    """A network's move, the `k`-th of game `g`; `learned`: whether to learn from it. Returns whether the game goes on."""
    p, generator, tree = params[0], games.generators[g], (trees, net, memo)
    found = search_one(tree, 0, roots, scratch, p, sequence, sequence.shape[1], options[0], generator)
    make_move(trees, found, roots[0], p, options[0], g, k, games)
    games.learned[g, k] = learned
    return not has_ended(roots[0])


@njit(**CALLED)
def agent_turn(roots, params, action, g, k, games):
    """The move of somebody who is no network, not to be learned from. Returns whether the game goes on."""
    games.movers[g, k], games.learned[g, k] = roots[0].to_move, 0
    play(roots[0], params[0], action)
    games.rewards[g, k] = roots[0].rewards[games.movers[g, k]]
    return not has_ended(roots[0])


@njit(**CALLED)
def end_meeting(g, moves, games):
    """As `self_play` ends game `g`."""
    end_game(games, g, moves)


@inner
def begin_game(root, p, blank, mask, generator, seed, openings):
    """Deals a game into the record `root` and plays its random opening."""
    root[0] = blank[0]
    seed_record(root[0], seed)
    reset(root[0], p)
    for _ in range(random_below(generator, openings + 1)):
        legal(root[0], p, mask)
        play(root[0], p, random_legal(generator, mask))
        if has_ended(root[0]):
            break


@inner
def make_move(trees, found, s, p, options, g, k, games):
    """Plays the edge that the search has found as move `k` of game `g`, and notes position, policy and value."""
    observe(s, p, int64(s.to_move), games.observations[g, k])
    legal(s, p, games.masks[g, k])
    games.values[g, k] = write_policy(trees, 0, options, games.policies[g, k])
    games.movers[g, k] = s.to_move
    play(s, p, trees.edges[0, trees.nodes[0, 0].first + found].action)
    games.rewards[g, k] = s.rewards[games.movers[g, k]]


@inner
def end_game(games, g, moves):
    """Notes the length of a game and, for each position, the return of the rest of it for the player who was to move."""
    games.lengths[g] = moves
    back = 0.0
    for k in range(moves - 1, -1, -1):
        if k < moves - 1 and games.movers[g, k] != games.movers[g, k + 1]:
            back = -back
        back += games.rewards[g, k]
        games.results[g, k] = back

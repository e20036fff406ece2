"""The loops of alpha-beta: one search of one depth, without recursion.

`frames[ply]` holds the position and the loop's state at each ply. This module is whole: it searches the placeholder's
game; `asobiba.core.cache.bind_module` puts another game's kernels in its place.
"""

from numba import njit
from numpy import int64, uint64

# bind: a game's search module
from asobiba.baselines.search.placeholder import (
    evaluate,
    generate,
    generate_tactical,
    load,
    no_moves,
    past_keys,
    play,
    solve,
)

# end of bind
from asobiba.core.random import mix64
from asobiba.core.targets import CALLED, KERNEL, part

INFINITE = 2_000_000
WIN = 1_000_000
PROVEN = 900_000  # scores beyond this are forced wins
UNTAINTED = 1 << 20
ENTER, NEXT, LEAVE = 0, 1, 2
EXACT, LOWER, UPPER = 1, 2, 3
FILTER = 4095

inner = part(**KERNEL)
looping = njit(**CALLED)


@inner
def slot_of(key):
    return (key ^ (key >> 13) ^ (key >> 29) ^ (key >> 43)) & FILTER


@inner
def divide(history, by):
    for side in range(2):
        for k in range(history.shape[1]):
            history[side, k] = history[side, k] // by


@inner
def first_depth(o, n, index, has_room):
    # The depth that a move is searched to at first: one ply less for late quiet ones, one more for the only move.
    if o.forced != 0 and n.count == 1 and has_room:
        return n.depth
    if o.late > 0 and index >= o.late and n.depth >= 3 and n.order[index] < o.quiet * 1_000_000:
        return n.depth - 2 if o.pvs != 0 and o.prune != 0 else n.depth - 1
    return n.depth - 1


@looping
def load_root(states, params, frames):
    load(states[0], params[0], frames[0])


@looping
def play_root(frames, params, move):
    # The child of frames[0] in frames[1]; returns the result of `play`.
    return play(frames[0], frames[1], params[0], move)


@looping
def generate_root(frames, params):
    return generate(frames[0], params[0])


@looping
def evaluate_root(frames, params, weights):
    return int64(evaluate(frames[0], params[0], weights[0]))


@looping
def search(frames, params, weights, options, path, length, counts, tt_keys, tt_data, history, stop, results):
    # Searches frames[0] to options[0].depth. path[:length]: keys of the game, the root's last. counts: room for how
    # many keys of the path fall into each slot, so that the path is read only where a key may stand in it. Adds to
    # results[0]. tt_keys: each key xor its data, so that an entry whose halves two threads wrote is nobody's.
    p = params[0]
    w = weights[0]
    o = options[0]
    r = results[0]
    origin = length - 1
    last_ply = frames.shape[0] - 1
    mask = uint64(tt_keys.shape[0] - 1)
    nodes = int64(0)
    leaves = int64(0)
    cuts = int64(0)
    first_cuts = int64(0)
    hits = int64(0)
    deepest = 0
    counts[:] = 0
    for k in range(length):
        counts[slot_of(path[k])] += 1
    root = frames[0]
    root.depth = o.depth
    root.alpha = o.alpha
    root.beta = o.beta
    root.best_move = -1
    root.best = -INFINITE
    ply = 0
    value = int64(0)
    taint = UNTAINTED
    todo = ENTER
    aborted = False
    while True:
        n = frames[ply]
        if todo == ENTER:
            nodes += 1
            if nodes >= o.node_limit or ((nodes & 1023) == 0 and stop[0] != 0):
                aborted = True
                break
            if ply > deepest:
                deepest = ply
            n.pv_length = 0
            n.count = 0
            n.original = n.alpha
            n.taint = UNTAINTED
            n.best_move = -1
            key = n.key
            taint = UNTAINTED
            todo = NEXT
            if ply > 0:
                slot = slot_of(key)
                n.slot = slot
                here = origin + ply
                path[here] = key
                if o.occurrences > 0 and counts[slot] > 0:
                    seen = 0
                    earliest = UNTAINTED
                    k = here - 1
                    while k >= 0:
                        if path[k] == key:
                            seen += 1
                            earliest = k - origin
                            if o.fold != 0 and k >= origin:
                                seen = o.occurrences
                                break
                        k -= 1
                    if seen + 1 >= o.occurrences:
                        result = o.repetition if n.side == 0 else -o.repetition
                        value = result * (WIN - o.distance * ply)
                        taint = earliest
                        todo = LEAVE
                counts[slot] += 1
                if todo == NEXT and ply >= o.plies_left:
                    value = 0
                    taint = -1  # depends on how many moves the game has had
                    todo = LEAVE
            hint = -1
            if todo == NEXT and o.tt != 0 and n.depth > 0:
                at = int64(mix64(uint64(key)) & mask)
                for k in range(2):
                    i = at ^ k
                    data = tt_data[i]
                    if (tt_keys[i] ^ data) == key and data != 0:
                        hits += 1
                        hint = (data >> 36) & 0xFFFF
                        if hint == 0xFFFF:
                            hint = -1
                        stored_depth = (data >> 26) & 0xFF
                        bound = (data >> 24) & 3
                        score = (data & 0xFFFFFF) - (1 << 23)
                        # With null windows the open ones are few: searched in full they keep the variation whole.
                        if ply > 0 and bound != 0 and (o.pvs == 0 or n.beta - n.alpha == 1):
                            proven = score > PROVEN or score < -PROVEN
                            if score > PROVEN:
                                score -= o.distance * ply
                            elif score < -PROVEN:
                                score += o.distance * ply
                            if stored_depth == n.depth or (o.tt == 1 and (stored_depth > n.depth or proven)):
                                if (
                                    bound == EXACT
                                    or (bound == LOWER and score >= n.beta)
                                    or (bound == UPPER and score <= n.alpha)
                                ):
                                    value = score
                                    todo = LEAVE
                        break
            if todo == NEXT and (ply == 0 or n.depth == 0) and o.solve > 0:
                plies = solve(frames, ply, p, o.solve_root if ply == 0 else o.solve)
                if plies != 0:
                    value = WIN - o.distance * (ply + plies) if plies > 0 else -(WIN - o.distance * (ply - plies))
                    n.best = value
                    if ply == 0:
                        n.pv[0] = n.best_move
                        n.pv_length = 1 if n.best_move >= 0 else 0
                    todo = LEAVE
            if todo == NEXT:
                if n.depth <= 0 or ply >= last_ply:
                    leaves += 1
                    value = int64(evaluate(n, p, w))
                    n.best = value
                    if n.depth <= -o.quiescence or ply >= last_ply or value >= n.beta:
                        todo = LEAVE
                    else:
                        if value > n.alpha:
                            n.alpha = value
                        n.count = generate_tactical(n, p)
                        if n.count == 0:
                            todo = LEAVE
                else:
                    if ply > 0 and o.threshold != 0:
                        value = int64(evaluate(n, p, w))
                        ours = value if n.side == root.side else -value
                        if ours >= o.upper or ours <= o.lower:
                            leaves += 1
                            todo = LEAVE
                    if todo == NEXT:
                        n.best = -INFINITE
                        n.count = generate(n, p)
                        if n.count == 0:
                            outcome = no_moves(n, p)
                            value = 0
                            if outcome == 1:
                                value = WIN - o.distance * ply
                            elif outcome == -1:
                                value = -(WIN - o.distance * ply)
                            todo = LEAVE
                        else:
                            if ply == 0 and hint < 0:
                                hint = o.hint
                            for k in range(n.count):
                                rank = n.order[k] * 1_000_000
                                if o.ordering == 0:
                                    rank = 0
                                elif rank == 0:
                                    move = n.moves[k]
                                    if o.killers != 0 and move == n.killer_0:
                                        rank = 900_002
                                    elif o.killers != 0 and move == n.killer_1:
                                        rank = 900_001
                                    elif o.history != 0:
                                        rank = history[n.side, move]
                                if n.moves[k] == hint:
                                    rank = 2_000_000_000
                                n.order[k] = rank
            n.index = 0
        elif todo == NEXT:
            if n.index >= n.count:
                value = n.best
                taint = n.taint
                todo = LEAVE
                if o.tt != 0 and n.depth > 0:
                    bound = EXACT if value > n.original else UPPER
                    if value >= n.beta:
                        bound = LOWER
                    if taint < ply:
                        bound = 0
                    score = value
                    if score > PROVEN:
                        score += o.distance * ply
                    elif score < -PROVEN:
                        score -= o.distance * ply
                    move = n.best_move if n.best_move >= 0 else 0xFFFF
                    key = n.key
                    at = int64(mix64(uint64(key)) & mask)
                    # The first of two entries is kept while it is of this search and deeper, the second always yields.
                    i = at
                    if tt_data[at] != 0 and (tt_keys[at] ^ tt_data[at]) != key:
                        if ((tt_data[at] >> 26) & 0xFF) > n.depth and ((tt_data[at] >> 52) & 0xFF) == o.age:
                            i = at ^ 1
                    if (tt_keys[at ^ 1] ^ tt_data[at ^ 1]) == key:
                        i = at ^ 1
                    # A score that depends on the path is not stored, only the move, and not in the place of a score.
                    if bound != 0 or (tt_keys[i] ^ tt_data[i]) != key or (tt_data[i] >> 24) & 3 == 0:
                        data = (
                            ((score + (1 << 23)) & 0xFFFFFF)
                            | (int64(bound) << 24)
                            | (int64(n.depth) << 26)
                            | (int64(move) << 36)
                            | (int64(o.age) << 52)
                            | (int64(1) << 60)
                        )
                        tt_data[i], tt_keys[i] = data, key ^ data
            else:
                index = n.index
                if o.ordering != 0 or index == 0:
                    best = index
                    for k in range(index + 1, n.count):
                        if n.order[k] > n.order[best]:
                            best = k
                    if best != index:
                        move = n.moves[best]
                        rank = n.order[best]
                        if o.ordering == 0:
                            # Without ordering only the hint moves to the front, the rest keep their order.
                            k = best
                            while k > index:
                                n.moves[k] = n.moves[k - 1]
                                n.order[k] = n.order[k - 1]
                                k -= 1
                        else:
                            n.moves[best] = n.moves[index]
                            n.order[best] = n.order[index]
                        n.moves[index] = move
                        n.order[index] = rank
                n.index = index + 1
                child = frames[ply + 1]
                result = play(n, child, p, n.moves[index])
                if result != 0:
                    nodes += 1
                    child.pv_length = 0
                    child.depth = n.depth - 1
                    taint = UNTAINTED
                    if result == 1:
                        value = -(WIN - o.distance * (ply + 1))
                    elif result == -1:
                        value = WIN - o.distance * (ply + 1)
                    else:
                        value = 0
                    n.probing = 0
                    n.turn = -1  # the value above is that of whoever did not move
                    ply += 1
                    child.slot = -1
                    todo = LEAVE
                else:
                    child.depth = first_depth(o, n, index, 2 * (ply + n.depth) < last_ply)
                    n.turn = -1 if child.side != n.side else 1
                    n.probing = 0
                    if o.prune == 0:
                        child.alpha = -INFINITE
                        child.beta = INFINITE
                    elif o.pvs != 0 and index > 0 and (child.depth < n.depth - 1 or n.beta - n.alpha > 1):
                        if n.turn < 0:
                            child.alpha = -n.alpha - 1
                            child.beta = -n.alpha
                        else:
                            child.alpha = n.alpha
                            child.beta = n.alpha + 1
                        n.probing = n.depth - child.depth  # 2: also searched less deep
                    elif n.turn < 0:
                        child.alpha = -n.beta
                        child.beta = -n.alpha
                    else:
                        child.alpha = n.alpha
                        child.beta = n.beta
                    ply += 1
                    todo = ENTER
        else:
            # LEAVE: frames[ply] has the value `value` for its player to move.
            if ply == 0:
                break
            if n.slot >= 0:
                counts[n.slot] -= 1
            if taint >= ply:
                taint = UNTAINTED
            child = n
            ply -= 1
            n = frames[ply]
            if n.turn < 0:
                value = -value
            todo = NEXT
            if n.probing != 0 and value > n.alpha and (n.probing == 2 or value < n.beta):
                n.probing = 0
                child.depth = n.depth - 1
                if n.turn < 0:
                    child.alpha = -n.beta
                    child.beta = -n.alpha
                else:
                    child.alpha = n.alpha
                    child.beta = n.beta
                ply += 1
                todo = ENTER
            else:
                if taint < n.taint:
                    n.taint = taint
                if value > n.best:
                    move = n.moves[n.index - 1]
                    n.best = value
                    n.best_move = move
                    if value > n.alpha or o.prune == 0:
                        if o.prune != 0:
                            n.alpha = value
                        n.pv[0] = move
                        for k in range(child.pv_length):
                            if k + 1 < n.pv.shape[0]:
                                n.pv[k + 1] = child.pv[k]
                        n.pv_length = min(child.pv_length + 1, n.pv.shape[0])
                    if o.prune != 0 and value >= n.beta:
                        cuts += 1
                        if n.index == 1:
                            first_cuts += 1
                        # The cutting move alone proves the bound: what other moves depended on does not matter.
                        n.taint = taint
                        n.index = n.count
                        if n.depth > 0 and (o.killers != 0 or o.history != 0):
                            if o.killers != 0 and n.killer_0 != move:
                                n.killer_1 = n.killer_0
                                n.killer_0 = move
                            if o.history != 0:
                                total = history[n.side, move] + n.depth * n.depth
                                history[n.side, move] = total
                                if total > 800_000:
                                    divide(history, 2)
    r.move = root.best_move
    r.score = root.best if aborted else value
    r.complete = 0 if aborted else 1
    r.nodes += nodes
    r.leaves += leaves
    r.cuts += cuts
    r.first_cuts += first_cuts
    r.hits += hits
    r.deepest = max(r.deepest, deepest)
    r.pv_length = root.pv_length
    for k in range(root.pv_length):
        r.pv[k] = root.pv[k]


@looping
def think(
    states,
    params,
    masks,
    frames,
    weights,
    options,
    path,
    counts,
    tt_keys,
    tt_data,
    history,
    stop,
    results,
    budget,
    actions,
):
    """`alpha_beta.Searcher.search` without Python, for targets that have none: the action in `states[0]`.

    `budget`: the first depth, the last, and the positions that may be visited (0: any number).
    """
    o, r = options[0], results[0]
    load_root(states, params, frames)
    length = past_keys(states[0], params[0], path)
    o.age = (o.age + 1) & 0xFF
    o.plies_left = params[0].max_steps - states[0].steps
    o.hint = -1
    o.alpha, o.beta = -INFINITE, INFINITE
    divide(history, 8)
    r.move, r.score, r.complete, r.nodes = -1, 0, 0, 0
    action, score, depth = int64(-1), int64(0), budget[0]
    while depth <= budget[1]:
        o.depth = depth
        o.node_limit = 1 << 62 if budget[2] == 0 or depth == 1 else max(1, budget[2] - r.nodes)
        search(
            frames=frames,
            params=params,
            weights=weights,
            options=options,
            path=path,
            length=length,
            counts=counts,
            tt_keys=tt_keys,
            tt_data=tt_data,
            history=history,
            stop=stop,
            results=results,
        )
        if r.complete != 0 or r.move >= 0:
            action, score = r.move, r.score
        settled = abs(score) > PROVEN and (o.distance == 0 or WIN - abs(score) <= depth)
        if r.complete == 0 or settled or (budget[2] > 0 and r.nodes >= budget[2]) or action < 0:
            break
        o.hint = action
        depth += 1
    actions[0] = action

"""The loop over games: learners and agents at their seats, episodes that begin anew, one step of everything.

There is one loop for all uses. Without agents (`SEATED` is false) every player who acts is a learner: self-play, and
every single-position environment. With agents there is at most one learner per game, and the others play until it must
decide: environments from one seat, training, evaluation, leagues. `asobiba.core.engine` binds a game's kernels and
policies in the place of the placeholders; conditions on the constants among them are decided while compiling.

Arrays are described in `asobiba.core.loops.arrays`. In joint games (`JOINT`) masks, observations and actions have one
row per player.
"""

from __future__ import annotations

from numba import njit, prange
from numpy import float32, int64, isfinite, uint8, uint64

from asobiba.core.laws import NEXT_STEP, SAME_STEP, close_step, forfeit, has_ended, summary

# bind: the rules of a game, the policies of agents, and what is known of both
from asobiba.core.loops.placeholder import (
    ALLOCATES,
    DISCRETE,
    DRAWS,
    FAULT_LIMIT,
    IS_LEGAL,
    JOINT,
    LEAVES,
    MASKED,
    OPENED,
    REPLACES,
    SEATED,
    SOME,
    VIEWED,
    ZERO_SUM,
    begin_agent,
    choose,
    choose_box,
    hide,
    is_legal,
    legal,
    observe,
    random_action,
    replacement,
    resample,
    reset,
    step,
    valid,
)

# end of bind
from asobiba.core.handover import unpacked
from asobiba.core.random import begin_control, random_legal
from asobiba.core.targets import CALLED, INLINED, LEAN, THREADED, WOVEN, again, part, prefetch

BEGIN, STEP, STEP_BLIND, OBSERVE = 0, 1, 2, 3
"""Operations on each game: begin an episode, step, step without observing, observe."""
NOBODY = -2
"""The learner's seat where there is none: agents play the game to its end."""
ATTEMPTS = 64
"""Number of times a game is dealt again if agents end it before the learner's first move, or random plies end it."""

woven = njit(**WOVEN)
called = njit(**CALLED)
lean = part(**{**LEAN, "_nrt": ALLOCATES})

reset, hide, resample, valid = (again(one, **LEAN) for one in (reset, hide, resample, valid))
is_legal, replacement, random_action = (again(one, **LEAN) for one in (is_legal, replacement, random_action))
# The rules of joint games are asked for every player in turn: calling them costs little beside that.
legal, step, observe = (again(one, **(LEAN if JOINT else INLINED)) for one in (legal, step, observe))
random_legal = again(random_legal, **INLINED)


@woven
def pick(params, i):
    return params[i if params.shape[0] > 1 else 0]


@woven
def acts(s, k):
    """Whether player `k` acts in this state."""
    if SOME:
        return s.acting[k] != 0
    elif JOINT:
        return True
    else:
        return s.to_move == k


@woven
def learner_acts(s, seat):
    if SOME:
        return seat >= 0 and s.acting[seat] != 0
    elif JOINT:
        return seat >= 0
    else:
        return s.to_move == seat


@woven
def mask_now(s, p, mask):
    if has_ended(s):
        mask[:] = 0
    else:
        legal(s, p, mask)


# Rarely needed functions: called, not inlined.


@lean
def legal_apart(s, p, mask):
    legal(s, p, mask)


@lean
def step_apart(s, p, action):
    step(s, p, action)


@lean
def observe_apart(s, p, player, out):
    observe(s, p, player, out)


@woven
def observe_now(s, p, viewer, out):
    if SEATED:
        observe(s, p, viewer, out)
    elif JOINT:
        for k in range(out.shape[0]):
            if acts(s, k):
                observe(s, p, k, out[k])
    else:
        observe(s, p, int64(viewer if viewer >= 0 else s.to_move), out)


@woven
def finite(action):
    good = True
    for k in range(action.shape[0]):
        if not (abs(action[k]) < 1e30):
            good = False
    return good


@woven
def allowed(s, p, mask, action):
    """Whether the mover may do this; floats need only be finite, the rules clip them to their bounds."""
    if not DISCRETE:
        return finite(action)
    elif IS_LEGAL:
        return is_legal(s, p, action)
    else:
        return 0 <= action < mask.shape[0] and mask[action] != 0


@woven
def offender(s, p, mask, action):
    """The first player whose action is illegal, or -1."""
    found = int64(-1)
    if JOINT:
        for k in range(action.shape[0]):
            if found < 0 and acts(s, k):
                if DISCRETE:
                    if action[k] < 0 or action[k] >= mask.shape[1] or mask[k, action[k]] == 0:
                        found = int64(k)
                elif not finite(action[k]):
                    found = int64(k)
    elif not allowed(s, p, mask, action):
        found = int64(s.to_move)
    return found


@woven
def replaced(s, p, mask, action):
    """The action with its illegal parts replaced and counted (a joint action is changed in place)."""
    if JOINT:
        for k in range(action.shape[0]):
            if acts(s, k):
                if DISCRETE:
                    good = 0 <= action[k] < mask.shape[1] and mask[k, action[k]] != 0
                else:
                    good = finite(action[k])
                out = FAULT_LIMIT > 0 and s.faults[k] >= FAULT_LIMIT
                if out or not good:
                    if not out:
                        s.faults[k] += 1
                    if DISCRETE:
                        action[k] = replacement(s, p, k, mask[k])
                    else:
                        replacement(s, p, k, action[k])
        return action
    else:
        mover = int64(s.to_move)
        out = FAULT_LIMIT > 0 and s.faults[mover] >= FAULT_LIMIT
        if out or not allowed(s, p, mask, action):
            if not out:
                s.faults[mover] += 1
            if DISCRETE:
                action = replacement(s, p, mover, mask)
            else:
                replacement(s, p, mover, action)
        return action


@woven
def advance(s, p, action, mask):
    """The laws of every game around its `step`; `mask` is that of the state before the action."""
    if has_ended(s):
        s.rewards[:] = 0
        return
    if REPLACES:
        done = replaced(s, p, mask, action)
        s.rewards[:] = 0
        step(s, p, done)
        close_step(s, p)
    else:
        player = offender(s, p, mask, action)
        if player >= 0:
            forfeit(s, p, player, ZERO_SUM)
        else:
            s.rewards[:] = 0
            step(s, p, action)
            close_step(s, p)


@woven
def begin_episode(states, i, blank, p):
    key = states[i].rng_key
    counter = states[i].rng_counter
    states[i] = blank[0]
    s = states[i]
    s.rng_key = key
    s.rng_counter = counter
    reset(s, p)


@lean
def open_game(states, i, blank, p, mask, plies):
    """Random legal plies from the starting position, drawn by the state's own generator; `plies` takes them.

    An opening that ends the game is drawn again; where that happens `ATTEMPTS` times, the game has no opening. Rewards
    during the opening are dropped.
    """
    s = states[i]
    for _ in range(ATTEMPTS):
        for k in range(p.opening_plies):
            if not has_ended(s):
                legal_apart(s, p, mask)
                action = random_legal(s, mask)
                if k < plies.shape[0]:
                    plies[k] = action
                s.rewards[:] = 0
                step_apart(s, p, action)
                close_step(s, p)
        s.rewards[:] = 0
        if not has_ended(s):
            return
        begin_episode(states, i, blank, p)


@woven
def deal(games, i, p):
    """A new episode of game `i`, its opening played."""
    begin_episode(games.states, i, games.blank, p)
    if OPENED:
        open_game(games.states, i, games.blank, p, games.new_masks[i], games.actions[:0])


@woven
def hide_now(s, p, player):
    # A reader of the generator would know the draws to come.
    hide(s, p, player)
    s.rng_key = uint64(0)
    s.rng_counter = uint64(0)


# Agents


@woven
def decide(games, table, i, k, p, mask):
    """Asks the agent at seat `k` of game `i`; its action is written into the games' actions."""
    if VIEWED:
        table.views[i] = games.states[i]
        view = table.views[i]
        hide_now(view, p, k)
        if JOINT:
            view.to_move = k
    else:
        view = games.states[i]
        if JOINT:
            table.views[i] = games.states[i]
            view = table.views[i]
            view.to_move = k
    who = table.occupants[i, k]
    mine = i * table.occupants.shape[1] + k
    if DISCRETE:
        action = choose(who, view, p, mask, table, mine)
        if JOINT:
            games.actions[i, k] = action
        else:
            games.actions[i] = action
    else:
        if JOINT:
            out = games.actions[i, k]
        else:
            out = games.actions[i]
        choose_box(who, view, p, mask, table, mine, out)


@woven
def decide_all(games, table, i, p, masks, seat):
    """Asks the agents of all who act now, but for the learner at `seat`."""
    if JOINT:
        for k in range(table.occupants.shape[1]):
            if k != seat and acts(games.states[i], k):
                decide(games, table, i, k, p, masks[i, k])
    else:
        decide(games, table, i, int64(games.states[i].to_move), p, masks[i])


@woven
def begin_agents(table, i, seed):
    seats = table.occupants.shape[1]
    for k in range(seats):
        begin_agent(table.occupants[i, k], table, i * seats + k, seed, k)


# The loop


@woven
def run_game(i, op, mode, games, table):
    """Runs one game: a learner's action if there is one, its consequences, and the next position to decide in."""
    s = games.states[i]
    p = pick(games.params, i)
    outcome = games.outcomes[i]
    fresh = op == BEGIN
    stepping = op in (STEP, STEP_BLIND)
    waiting = False  # whether the learners' action in games.actions is still to be done
    mover = int64(s.to_move)
    seat = int64(0)
    if SEATED:
        seat = int64(table.control[i].seat)
    acted = seat
    if stepping:
        outcome.rewards[:] = float32(0.0)
        if mode == NEXT_STEP and has_ended(s):
            fresh = True
        else:
            waiting = True
    attempts = 0
    while True:
        if fresh:
            if SEATED:
                seed = begin_control(table.control[i], p.players)
                seat = int64(table.control[i].seat)
                deal(games, i, p)
                begin_agents(table, i, seed)
            else:
                deal(games, i, p)
        while True:
            if waiting:
                if SEATED and JOINT:
                    if not has_ended(s):
                        decide_all(games, table, i, p, games.masks, seat)
                advance(s, p, games.actions[i], games.masks[i])
            else:
                if SEATED:
                    if op == OBSERVE or has_ended(s) or learner_acts(s, seat):
                        break
                    if MASKED:
                        mask_now(s, p, games.new_masks[i])
                    decide_all(games, table, i, p, games.new_masks, NOBODY)
                    advance(s, p, games.actions[i], games.new_masks[i])
                else:
                    break
            waiting = False
            if stepping and not fresh:
                for k in range(outcome.rewards.shape[0]):
                    outcome.rewards[k] += s.rewards[k]
        if fresh:
            if SEATED:
                if has_ended(s) and seat >= 0 and attempts < ATTEMPTS:
                    attempts += 1
                    continue
            break
        if stepping:
            outcome.terminated = s.terminated
            outcome.truncated = s.truncated
            outcome.end_reason = s.end_reason
            if mode == SAME_STEP and has_ended(s):
                if SEATED:
                    observe_apart(s, p, max(seat, 0), games.finals[i])
                elif JOINT:
                    for k in range(games.finals.shape[1]):
                        observe_apart(s, p, k, games.finals[i, k])
                else:
                    viewer = games.viewers[i]
                    observe_apart(s, p, int64(viewer if viewer >= 0 else s.to_move), games.finals[i])
                games.final_states[i] = s
                fresh = True
                continue
        break
    if stepping:
        outcome.mover = mover
        if SEATED:
            outcome.gain = outcome.rewards[max(acted, 0)]
        else:
            outcome.gain = outcome.rewards[max(mover, 0)]
        if mode == NEXT_STEP and fresh:
            outcome.terminated = uint8(0)
            outcome.truncated = uint8(0)
            outcome.end_reason = uint8(0)
    mask_now(s, p, games.new_masks[i])
    if op != STEP_BLIND:
        if SEATED:
            observe_now(s, p, max(seat, 0), games.observations[i])
        else:
            observe_now(s, p, games.viewers[i], games.observations[i])


@lean
def run_range(begin, end, op, mode, select, games, table):
    for i in range(begin, end):
        if i + 2 < end:
            prefetch(games.states, i + 2)  # many games do not fit into the near caches
        if select[i] != 0:
            run_game(i, op, mode, games, table)


@called
def run(op, mode, handover):
    """Does `op` in the games where `select` is set; `mode` is that of auto-reset (see `asobiba.core.laws`).

    Args:
        handover: of `select` (`(n,)` uint8), `Games` and `Table` (see `asobiba.core.handover`).

    Returns the summary of the first game; an environment of one game needs nothing else.
    """
    select, games, table = unpacked(handover)
    run_range(0, games.states.shape[0], op, mode, select, games, table)
    return summary(games.states[0])


@njit(**THREADED)
def run_in_threads(threads, op, mode, select, games, table):
    """`run`, with the games divided among threads. (Numba's threads take named tuples as arguments only.)"""
    for thread in prange(threads):
        begin = int64(thread) * games.states.shape[0] // threads
        end = (int64(thread) + 1) * games.states.shape[0] // threads
        run_range(begin, end, op, mode, select, games, table)


@lean
def ask_each(seat, select, games, table):
    for i in range(games.states.shape[0]):
        if select[i] != 0 and not has_ended(games.states[i]):
            k = int64(seat if seat >= 0 else games.states[i].to_move)
            if acts(games.states[i], k):
                if JOINT:
                    decide(games, table, i, k, pick(games.params, i), games.masks[i, k])
                else:
                    decide(games, table, i, k, pick(games.params, i), games.masks[i])


@called
def ask(seat, select, games, table):
    """Writes the actions of the agents at `seat` (-1: of whoever is to move) where `select` is set and they act."""
    ask_each(seat, select, games, table)


# One position at a time, and rare requests for many: arrays of records of any length


@called
def begin_all(states, params, blank):
    """New episodes; each record's generator goes on."""
    for i in range(states.shape[0]):
        begin_episode(states, i, blank, pick(params, i))


@called
def open_all(states, params, blank, masks, plies):
    """Openings of new episodes: `plies` (`(n, opening_plies)` int64) are written as far as they are played."""
    for i in range(states.shape[0]):
        if OPENED:
            open_game(states, i, blank, pick(params, i), masks[i], plies[i])


@called
def write_masks(states, params, masks):
    for i in range(states.shape[0]):
        mask_now(states[i], pick(params, i), masks[i])


@called
def advance_all(states, params, actions, masks):
    """Applies an action to each state; `masks` are those of the states before it."""
    for i in range(states.shape[0]):
        advance(states[i], pick(params, i), actions[i], masks[i])


@called
def observe_all(states, params, players, observations):
    """The observation of one player of each state."""
    for i in range(states.shape[0]):
        observe_apart(states[i], pick(params, i), int64(players[i]), observations[i])


@called
def hide_all(states, params, players):
    """Hides, in place, what one player of each state may not see."""
    for i in range(states.shape[0]):
        hide_now(states[i], pick(params, i), int64(players[i]))


@called
def resample_all(states, params, players):
    """Full states that one player of each view could be in, in place."""
    for i in range(states.shape[0]):
        resample(states[i], pick(params, i), int64(players[i]))


@called
def sample_all(states, params, masks, samplers, actions):
    """A uniform legal action of the mover of each state."""
    for i in range(states.shape[0]):
        if has_ended(states[i]):
            actions[i] = -1
        elif DRAWS:
            actions[i] = random_action(states[i], pick(params, i), samplers[i])
        else:
            actions[i] = random_legal(samplers[i], masks[i])


@woven
def valid_header(s, p):
    seats = s.rewards.shape[0]
    good = s.terminated <= 1 and s.truncated <= 1 and s.end_reason <= 3 and s.steps >= 0
    good = good and not (s.terminated != 0 and s.truncated != 0)
    good = good and (s.end_reason != 0) == (s.terminated != 0 or s.truncated != 0)
    for k in range(seats):
        good = good and isfinite(s.rewards[k])
        if SOME:
            good = good and s.acting[k] <= (1 if k < p.players else 0)
        if LEAVES:
            good = good and s.left[k] <= 1
    if JOINT:
        good = good and -1 <= s.to_move < p.players and (s.to_move < 0 or s.end_reason == 2)
    else:
        good = good and 0 <= s.to_move < p.players
    return good


@called
def valid_all(states, params, found):
    """Whether each record, whatever its bytes, is a state of the game: `found` (uint8) is 1 or 0."""
    for i in range(states.shape[0]):
        p = pick(params, i)
        found[i] = 1 if valid_header(states[i], p) and valid(states[i], p) else 0

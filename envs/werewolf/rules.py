"""The rules of the werewolf game, as the AIWolf platform plays it.

A day of 2016: talk (after each of its rounds the wolves whisper), the vote, the choices of the night, and only then the
execution and the attack. A day of the contests since 2020: talk, the vote and the execution, whispers, the choices
of the night, the attack.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel, random_below
from asobiba.envs.werewolf.hidden import hide, observe
from asobiba.envs.werewolf.layout import (
    ATTACK,
    BLOCK_OF,
    BLOCKS,
    BODYGUARD,
    DIVINATION,
    GUARD,
    NIGHT,
    POSSESSED,
    SEER,
    TALK,
    VILLAGER,
    VOTE,
    VOTING,
    WEREWOLF,
    WHISPER,
)
from asobiba.envs.werewolf.resampling import resample
from asobiba.envs.werewolf.resolve import close_ballot, close_night, divine, end_day, living_wolves
from asobiba.envs.werewolf.sentences import add_word, legal_words, publish
from asobiba.envs.werewolf.validity import valid


@kernel
def _deal(s, p):
    # The roles that `deal` does not fix are drawn without replacement.
    missing = 0
    for k in range(p.players):
        s.role[k] = p.dealt[k]
        missing += p.dealt[k] == 0
    for role in range(VILLAGER, WEREWOLF + 1):
        count = np.int64(p.roles[role])
        for k in range(p.players):
            count -= p.dealt[k] == role
        for _ in range(count):
            rank = random_below(s, missing)
            for k in range(p.players):
                if s.role[k] == 0:
                    if rank == 0:
                        s.role[k] = role
                        break
                    rank -= 1
            missing -= 1
    for k in range(p.players):
        s.team[k] = 1 if s.role[k] >= POSSESSED else 0


@kernel
def reset(s, p):
    for k in range(s.left.shape[0]):
        s.left[k] = 1 if k >= p.players else 0
    _deal(s, p)
    s.day = -1
    end_day(s, p)
    for k in range(p.players):
        s.survival_reward[k] = 0.0
    s.to_move = -1
    s.phase = WHISPER if p.contest != 0 else TALK
    _go_on(s, p)


@kernel
def _asked_to_talk(s, p, player):
    if s.left[player] != 0:
        return False
    return s.remaining[player] > 0 if p.contest != 0 else s.over[player] == 0


@kernel
def _asked_to_whisper(s, p, player):
    if s.left[player] != 0 or s.role[player] != WEREWOLF:
        return False
    if p.contest != 0:
        return s.whisper_remaining[player] > 0
    return s.whisper_over[player] == 0


@kernel
def _shuffle(s, count):
    # The first entries of `order`, in random order.
    for k in range(count - 1, 0, -1):
        j = random_below(s, k + 1)
        s.order[k], s.order[j] = s.order[j], s.order[k]


@kernel
def _next_speaker(s, p):
    # One after the other: the next player in the order who may speak is asked; `False` at the end of the turn.
    while s.cursor < s.left.shape[0] and s.order[s.cursor] >= 0:
        k = np.int64(s.order[s.cursor])
        if _asked_to_whisper(s, p, k) if s.phase == WHISPER else _asked_to_talk(s, p, k):
            s.acting[k] = 1
            return True
        s.cursor += 1
    return False


@kernel
def _open_turn(s, p):
    # A turn of talk or whispers begins; returns whether anybody is asked.
    whispering = s.phase == WHISPER
    s.loud = 0
    s.cursor = 0
    if whispering and p.contest != 0 and living_wolves(s, p) < 2:
        return False
    count = 0
    for k in range(p.players):
        s.words[k] = 0
        if p.contest != 0:
            if whispering:
                s.whisper_over[k] = 0
            else:
                s.over[k] = 0
        if s.left[k] == 0 and (not whispering or s.role[k] == WEREWOLF):
            asked = _asked_to_whisper(s, p, k) if whispering else _asked_to_talk(s, p, k)
            if p.one_by_one != 0:
                if asked or p.contest != 0:
                    s.order[count] = k
                    count += 1
            elif asked:
                s.acting[k] = 1
                count += 1
    if p.one_by_one == 0:
        return count > 0
    _shuffle(s, count)
    if p.contest == 0:
        # Players who have said Over come last, by number, and are asked if somebody speaks until then.
        for k in range(p.players):
            if s.left[k] == 0 and (s.whisper_over[k] != 0 and s.role[k] == WEREWOLF if whispering else s.over[k] != 0):
                s.order[count] = k
                count += 1
    for k in range(count, s.left.shape[0]):
        s.order[k] = -1
    return _next_speaker(s, p)


@kernel
def _open_night(s, p):
    # The seer, the bodyguard and the wolves choose; in a second ballot the wolves alone. Tells whether anybody is asked.
    asked = False
    for k in range(p.players):
        if s.left[k] != 0:
            continue
        role = s.role[k]
        if role == WEREWOLF:
            acts = s.day > 0
        elif role == SEER:
            acts = s.ballot == 0
        else:
            acts = role == BODYGUARD and s.day > 0 and s.ballot == 0
        if acts:
            s.acting[k] = 1
            asked = True
    return asked


@kernel
def _open(s, p):
    if s.phase == TALK or s.phase == WHISPER:
        return _open_turn(s, p)
    if s.phase == NIGHT:
        return _open_night(s, p)
    for k in range(p.players):
        s.acting[k] = 1 - s.left[k]
    return True


@kernel
def _begin_whispers(s, p):
    s.phase = WHISPER
    s.whisper_round = 0
    for k in range(p.players):
        s.whisper_over[k] = 0


@kernel
def _close(s, p):
    # Ends the phase that is open: the next one begins, and with it perhaps a day.
    if s.phase == TALK:
        s.turn += 1
        s.talking = 1 if s.loud != 0 and s.turn < p.max_turns else 0
        if p.contest == 0:
            _begin_whispers(s, p)
        elif s.talking == 0:
            s.phase = VOTE
    elif s.phase == WHISPER:
        s.whisper_turn += 1
        s.whisper_round += 1
        if s.loud == 0 or s.whisper_round >= p.max_whisper_rounds:
            if p.contest != 0 or (s.talking == 0 and s.day == 0):
                s.phase = NIGHT
            else:
                s.phase = TALK if s.talking != 0 else VOTE
    elif s.phase == VOTE:
        if p.contest == 0:
            s.phase = NIGHT
        elif close_ballot(s, p):
            _begin_whispers(s, p)
    else:
        if p.contest == 0 and s.day > 0 and s.ballot == 0 and s.executed[s.day] == 0:
            close_ballot(s, p)
        if close_night(s, p):
            end_day(s, p)
            s.phase = TALK


@kernel
def _go_on(s, p):
    while s.terminated == 0 and not _open(s, p):
        _close(s, p)


@kernel
def legal(s, p, mask):
    for k in range(mask.shape[0]):
        for action in range(mask.shape[1]):
            mask[k, action] = 0
        if s.acting[k] == 0:
            continue
        if s.phase == TALK or s.phase == WHISPER:
            legal_words(s, p, k, mask[k])
        elif s.phase == VOTE:
            _legal_targets(s, p, k, VOTING, mask[k])
        else:
            mask[k, 1] = 1  # nobody
            if s.role[k] == SEER:
                _legal_targets(s, p, k, DIVINATION, mask[k])
            elif s.role[k] == BODYGUARD:
                _legal_targets(s, p, k, GUARD, mask[k])
            else:
                _legal_targets(s, p, k, ATTACK, mask[k])


@kernel
def first_action(seats, act):
    """The action number of `act` with seat 0 as its target."""
    return BLOCKS + np.int64(BLOCK_OF[act]) * seats


@kernel
def _legal_targets(s, p, player, act, mask):
    first = first_action(s.left.shape[0], act)
    for target in range(p.players):
        if s.left[target] == 0 and target != player:
            if act != ATTACK or s.role[target] != WEREWOLF:
                mask[first + target] = 1


@kernel
def step(s, p, action):
    for k in range(p.players):
        s.win_reward[k] = 0.0
        s.survival_reward[k] = 0.0
        s.execution_reward[k] = 0.0
    if s.phase == TALK or s.phase == WHISPER:
        if not _speak(s, p, action):
            return
    elif s.phase == VOTE:
        first = first_action(s.left.shape[0], VOTING)
        for k in range(p.players):
            if s.acting[k] != 0:
                s.votes[s.day, s.ballot, k] = action[k] - first + 1
                s.acting[k] = 0
    else:
        _choose(s, p, action)
    _close(s, p)
    _go_on(s, p)
    for k in range(p.players):
        s.rewards[k] = s.win_reward[k] + s.survival_reward[k] + s.execution_reward[k]


@kernel
def _speak(s, p, action):
    # Returns whether the turn is over.
    composing, speakers = False, 0
    for k in range(p.players):
        if s.acting[k] != 0:
            if add_word(s, k, action[k]):
                s.acting[k] = 0
            else:
                composing = True
    if composing:
        return False
    if p.one_by_one != 0:
        speaker = np.int64(s.order[s.cursor])
        publish(s, p, speaker)
        _forget_draft(s, speaker)
        s.cursor += 1
        return not _next_speaker(s, p)
    for k in range(p.players):
        if s.words[k] > 0:
            s.order[speakers] = k
            speakers += 1
    _shuffle(s, speakers)
    for k in range(speakers):
        publish(s, p, np.int64(s.order[k]))
    for k in range(speakers):
        s.order[k] = 0
    for k in range(p.players):
        _forget_draft(s, k)
    return True


@kernel
def _forget_draft(s, player):
    for w in range(s.words[player]):
        for c in range(3):
            s.draft[player, w, c] = 0
    s.words[player] = 0


@kernel
def _choose(s, p, action):
    seats = s.left.shape[0]
    for k in range(p.players):
        if s.acting[k] == 0:
            continue
        s.acting[k] = 0
        if action[k] < 2:
            continue
        if s.role[k] == SEER:
            divine(s, p, np.int64(action[k] - first_action(seats, DIVINATION)))
        elif s.role[k] == BODYGUARD:
            s.guard[s.day] = action[k] - first_action(seats, GUARD) + 1
        else:
            s.attack_votes[s.day, s.ballot, k] = action[k] - first_action(seats, ATTACK) + 1


@kernel
def replacement(s, p, player, mask):
    """The platform's action for a player who does not answer: silence, a random vote, or no target."""
    if s.phase == VOTE:
        others = -1
        for k in range(p.players):
            others += s.left[k] == 0
        rank = random_below(s, others)
        for k in range(p.players):
            if s.left[k] == 0 and k != player:
                if rank == 0:
                    return first_action(s.left.shape[0], VOTING) + k
                rank -= 1
    if s.phase == NIGHT:
        return 1
    if s.words[player] > 0:  # in the midst of a sentence: the simplest word that completes it
        for action in range(2, mask.shape[0]):
            if mask[action] != 0:
                return action
    return 1 if p.contest != 0 else 0


__all__ = ["hide", "legal", "observe", "replacement", "resample", "reset", "step", "valid"]

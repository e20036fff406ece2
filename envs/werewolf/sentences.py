"""Kernels of talk: the meaning of an action, the words that may come next, and the effect of an utterance."""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.werewolf.layout import (
    AGREE,
    AND,
    ATTACK,
    ATTACKED,
    BECAUSE,
    BLOCK_ACTS,
    BLOCK_OF,
    BLOCK_VALUES,
    BLOCKS,
    CLAIMS,
    COMINGOUT,
    DAY,
    DISAGREE,
    DIVINATION,
    DIVINED,
    GUARD,
    IDENTIFIED,
    INQUIRE,
    NOT,
    OVER,
    REQUEST,
    SIMPLE_BLOCKS,
    SKIP,
    VOTED,
    VOTING,
    WEREWOLF,
    WHISPER,
    WORDS,
    XOR,
)


@kernel
def encode(seats, act, target, value):
    """The action number of a word: its act, target (a seat) and role, species or day. The reverse of `decode`."""
    if act <= SKIP:
        return act - OVER
    if act == COMINGOUT:
        return CLAIMS + value - 1
    if act <= INQUIRE:
        block = np.int64(BLOCK_OF[act])
        if value > 0 and act <= IDENTIFIED:
            block += value - 1
        return BLOCKS + block * seats + target
    if act < DAY:
        return BLOCKS + (SIMPLE_BLOCKS + 2) * seats + act - BECAUSE
    return BLOCKS + (SIMPLE_BLOCKS + 2) * seats + 5 + value


@kernel
def decode(seats, action):
    """`(act, target, value)` of an action number; target is a seat or -1."""
    if action < CLAIMS:
        return action + OVER, -1, 0
    if action < BLOCKS:
        return COMINGOUT, -1, action - CLAIMS + 1
    block = (action - BLOCKS) // seats
    if block < SIMPLE_BLOCKS + 2:
        return np.int64(BLOCK_ACTS[block]), (action - BLOCKS) % seats, np.int64(BLOCK_VALUES[block])
    rest = action - BLOCKS - (SIMPLE_BLOCKS + 2) * seats
    if rest < 5:
        return BECAUSE + rest, -1, 0
    return DAY, -1, rest - 5


@kernel
def arity(act):
    """Number of sentences that an act takes: 0 for a simple sentence."""
    if act < REQUEST:
        return 0
    if act == BECAUSE or (act >= AND and act <= XOR):
        return 2
    return 1


@kernel
def depth_of_next(draft, words):
    """Depth of the next word of a sentence in prefix order (0 is the outermost), or -1 if it is complete."""
    level, first, second = 0, 0, 0
    for w in range(words):
        takes = arity(draft[w, 0])
        if level == 0:
            if takes == 0:
                return -1
            level, first = 1, takes
        elif level == 1 and takes > 0:
            level, second = 2, takes
        else:
            if level == 2:
                second -= 1
                if second > 0:
                    continue
                level = 1
            first -= 1
            if first == 0:
                return -1
    return level


@kernel
def add_word(s, player, action):
    """Adds a word to the player's draft; returns whether the sentence is complete."""
    act, target, value = decode(s.left.shape[0], action)
    word = s.words[player]
    if act in (AGREE, DISAGREE):
        value = np.int64(s.whispered[target] if s.phase == WHISPER else s.said[target])
    s.draft[player, word, 0] = act
    s.draft[player, word, 1] = target + 1
    s.draft[player, word, 2] = value
    s.words[player] = word + 1
    return arity(act) == 0 and (word == 0 or depth_of_next(s.draft[player], word + 1) < 0)


@kernel
def legal_words(s, p, player, mask):
    """Writes the words that may come next into the player's row of the mask, which is all zero."""
    seats = s.left.shape[0]
    whispering = s.phase == WHISPER
    words = np.int64(s.words[player])
    if words == 0:
        mask[0] = 1
        mask[1] = 1
        room = s.whispers.shape[0] - s.whisper_rows if whispering else s.talk.shape[0] - s.talk_rows
        speakers = 0
        for k in range(p.players):
            speakers += s.left[k] == 0 and (not whispering or s.role[k] == WEREWOLF)
        if room < (WORDS * speakers if p.operators != 0 else speakers):
            return  # the tables are full
    for role in range(1, 7):
        if p.roles[role] > 0:
            mask[CLAIMS + role - 1] = 1
    depth = depth_of_next(s.draft[player], words)
    for block in range(SIMPLE_BLOCKS + (2 if p.operators != 0 and depth < 2 else 0)):
        act, value = np.int64(BLOCK_ACTS[block]), np.int64(BLOCK_VALUES[block])
        if act >= DIVINATION and p.contest == 0 and act <= ATTACKED:
            continue  # words of the later protocol
        if act == ATTACK and p.contest == 0 and not whispering:
            continue
        if value > 2 and p.roles[value] == 0:
            continue
        for target in range(p.players):
            if target == player:
                continue
            if act in (VOTING, ATTACK, DIVINATION, GUARD) or act >= REQUEST:
                if s.left[target] != 0:
                    continue
            elif act in (AGREE, DISAGREE):
                if (s.whispered[target] if whispering else s.said[target]) == 0:
                    continue
            elif act in (VOTED, ATTACKED):
                if s.day == 0:
                    continue
            mask[BLOCKS + block * seats + target] = 1
    if p.operators != 0 and depth < 2:
        base = BLOCKS + (SIMPLE_BLOCKS + 2) * seats
        for k in range(5 + s.day + 1):
            mask[base + k] = 1


@kernel
def publish(s, p, player):
    """Everybody who may hear it now hears the player's utterance."""
    act = s.draft[player, 0, 0]
    whispering = s.phase == WHISPER
    if act == SKIP and p.contest != 0:
        skips = s.whisper_skips if whispering else s.skips
        skips[player] += 1
        if skips[player] > p.max_skip:
            act = OVER
    over = s.whisper_over if whispering else s.over
    if act == OVER:
        over[player] = 1
        return
    s.loud = 1
    for k in range(over.shape[0]):
        over[k] = 0
    if act == SKIP:
        return
    if whispering:
        s.whisper_skips[player] = 0
        s.whisper_remaining[player] -= 1
        s.whispered[player] = s.whisper_turn + 1
        for w in range(s.words[player]):
            _write(s.whispers, s.whisper_rows, s.day, s.whisper_turn, player, s.draft, w)
            s.whisper_rows += 1
    else:
        s.skips[player] = 0
        s.remaining[player] -= 1
        s.said[player] = s.turn + 1
        for w in range(s.words[player]):
            _write(s.talk, s.talk_rows, s.day, s.turn, player, s.draft, w)
            s.talk_rows += 1
        _digest(s, player)


@kernel
def _write(table, row, day, turn, player, draft, word):
    table[row, 0] = day
    table[row, 1] = turn + 1
    table[row, 2] = player + 1
    table[row, 3] = draft[player, word, 0]
    table[row, 4] = draft[player, word, 1]
    table[row, 5] = draft[player, word, 2]


@kernel
def _digest(s, player):
    # A player's outright assertions; a sentence inside an operator other than DAY is none.
    draft = s.draft[player]
    w = 0
    while w < s.words[player] - 1 and draft[w, 0] == DAY:
        w += 1
    act, target, value = draft[w, 0], draft[w, 1] - 1, draft[w, 2]
    if act == COMINGOUT:
        s.claimed[player] = value
    elif act == DIVINED:
        s.reported[player, target] = value
    elif act == IDENTIFIED:
        s.identified[player, target] = value
    elif act == VOTING:
        s.declared[player] = target + 1


__all__ = ["NOT", "add_word", "arity", "decode", "depth_of_next", "encode", "legal_words", "publish"]

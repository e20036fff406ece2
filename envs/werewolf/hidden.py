"""Kernels of a seat's knowledge: `hide` blanks the rest, `observe` writes it as an observation.

The players who act at night, and the number of whispers, would reveal roles. So a player who is not asked sees the
phase "wait", whatever the others do, and none of the counters that advance meanwhile.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.werewolf.layout import BODYGUARD, MEDIUM, NIGHT, SEER, TALK, WAIT, WEREWOLF, WHISPER


@kernel
def sees_role(s, player, other):
    """Whether a player is told another's role: everybody his own, a wolf the wolves', and everybody all at the end."""
    if s.terminated != 0 or player == other:
        return True
    return s.role[player] == WEREWOLF and s.role[other] == WEREWOLF


@kernel
def ballots_are_secret(s, p):
    """Whether today's votes have been given, but not told yet: in 2016 they are told the next day."""
    return s.terminated == 0 and p.contest == 0


@kernel
def hide(s, p, player):
    s.rng_key = np.uint64(0)
    s.rng_counter = np.uint64(0)
    if s.terminated != 0:
        return
    seats = s.left.shape[0]
    role, asked = s.role[player], s.acting[player] != 0
    wolf = role == WEREWOLF
    for k in range(seats):
        s.rewards[k] = 0.0
        s.win_reward[k] = 0.0
        s.survival_reward[k] = 0.0
        s.execution_reward[k] = 0.0
        s.order[k] = 0
        if k == player:
            continue
        s.acting[k] = 0
        s.faults[k] = 0
        if not sees_role(s, player, k):
            s.role[k] = 0
            s.team[k] = -1
        if s.words[k] != 0:
            s.words[k] = 0
            for w in range(s.draft.shape[1]):
                for c in range(3):
                    s.draft[k, w, c] = 0
        if p.contest == 0:
            s.votes[s.day, 0, k] = 0
    s.steps = 0
    s.cursor = 0
    s.talking = 0
    s.loud = 0
    if not asked:
        s.phase = WAIT
        s.turn = 0
        s.ballot = 0
    if not wolf or s.phase != WHISPER:
        s.whisper_round = 0
        s.whisper_turn = 0
    if not wolf:
        for k in range(seats):
            s.whisper_over[k] = 0
            s.whisper_skips[k] = 0
            s.whisper_remaining[k] = 0
            s.whispered[k] = 0
        for row in range(s.whispers.shape[0]):
            for c in range(6):
                s.whispers[row, c] = 0
        s.whisper_rows = 0
        for day in range(s.day + 1):
            for ballot in range(2):
                for k in range(seats):
                    s.attack_votes[day, ballot, k] = 0
    for day in range(s.day + 1):
        if not wolf or p.contest == 0:
            s.attack[day] = 0
        if role != SEER:
            s.divine[day] = 0
            s.divine_result[day] = 0
        if role != MEDIUM:
            s.medium_result[day] = 0
        if role != BODYGUARD:
            s.guard[day] = 0


@kernel
def observe(s, p, player, out):
    out[:] = 0
    at = observe_present(s, p, player, out)
    at = observe_roles(s, p, player, out, at)
    at = observe_claims(s, p, player, out, at)
    at = observe_days(s, p, player, out, at)
    at = observe_votes(s, p, player, out, at)
    observe_talk(s, player, out, at)


@kernel
def observe_present(s, p, player, out):
    """The players present, and the question that this player is asked now. Returns, as those that follow, where the next part begins."""
    seats = s.left.shape[0]
    asked = s.acting[player] != 0
    phase = np.int64(s.phase) if asked else WAIT
    out[player] = 1
    at = seats
    for k in range(p.players):
        out[at + k] = 1
    at += seats
    for k in range(p.players):
        out[at + k] = 1 - s.left[k]
    at += seats
    out[at + phase] = 1
    at += 5
    out[at] = s.day
    if phase == TALK:
        out[at + 1] = s.turn
    elif phase == WHISPER:
        out[at + 1] = s.whisper_turn
    out[at + 2] = s.ballot if asked else 0
    return at + 3


@kernel
def observe_roles(s, p, player, out, at):
    """The roles that this player knows, and the results of the seer and the medium."""
    seats, days = s.left.shape[0], s.executed.shape[0]
    role = np.int64(s.role[player])
    if role > 0:
        out[at + role - 1] = 1
    at += 6
    for k in range(p.players):
        if sees_role(s, player, k):
            out[at + 6 * k + np.int64(s.role[k]) - 1] = 1
    at += 6 * seats
    for day in range(min(np.int64(s.day) + 1, days)):
        if role == SEER and s.divine[day] > 0:
            out[at + 2 * (np.int64(s.divine[day]) - 1) + np.int64(s.divine_result[day]) - 1] = 1
        if role == MEDIUM and s.executed[day] > 0:
            out[at + 2 * (np.int64(s.executed[day]) - 1) + np.int64(s.medium_result[day]) - 1] = 1
    return at + 2 * seats


@kernel
def observe_claims(s, p, player, out, at):
    """The statements of all players about themselves and others, and the sentence that this player is putting together."""
    seats = s.left.shape[0]
    for k in range(p.players):
        if s.claimed[k] > 0:
            out[at + 6 * k + np.int64(s.claimed[k]) - 1] = 1
    at += 6 * seats
    for k in range(p.players):
        for j in range(p.players):
            if s.reported[k, j] > 0:
                out[at + 2 * (seats * k + j) + np.int64(s.reported[k, j]) - 1] = 1
    at += 2 * seats * seats
    for k in range(p.players):
        for j in range(p.players):
            if s.identified[k, j] > 0:
                out[at + 2 * (seats * k + j) + np.int64(s.identified[k, j]) - 1] = 1
    at += 2 * seats * seats
    for k in range(p.players):
        if s.declared[k] > 0:
            out[at + seats * k + np.int64(s.declared[k]) - 1] = 1
    at += seats * seats
    for k in range(p.players):
        out[at + k] = s.over[k]
    at += seats
    for k in range(p.players):
        out[at + k] = s.remaining[k]
    at += seats
    for w in range(s.words[player]):
        for c in range(3):
            out[at + 3 * w + c] = s.draft[player, w, c]
    return at + 3 * s.draft.shape[1]


@kernel
def observe_days(s, p, player, out, at):
    """The events of each day and each night."""
    days = s.executed.shape[0]
    role, ended = np.int64(s.role[player]), s.terminated != 0
    for day in range(days):
        out[at + day] = s.executed[day]
        out[at + days + day] = s.victim[day]
    at += 2 * days
    if role == SEER:
        for day in range(days):
            out[at + 2 * day] = s.divine[day]
            out[at + 2 * day + 1] = s.divine_result[day]
    at += 2 * days
    if role == MEDIUM:
        for day in range(days):
            out[at + day] = s.medium_result[day]
    at += days
    if role == BODYGUARD:
        for day in range(days):
            out[at + day] = s.guard[day]
    at += days
    if ended or (role == WEREWOLF and p.contest != 0):
        for day in range(days):
            out[at + day] = s.attack[day]
    return at + days


@kernel
def observe_votes(s, p, player, out, at):
    """The ballots of the village, and the wolves' to a wolf."""
    seats, days = s.left.shape[0], s.executed.shape[0]
    secret = ballots_are_secret(s, p)
    for day in range(min(np.int64(s.day) + 1, days)):
        for ballot in range(2):
            for k in range(p.players):
                if day < s.day or not secret or k == player:
                    out[at + (2 * day + ballot) * seats + k] = s.votes[day, ballot, k]
    at += 2 * days * seats
    if s.terminated != 0 or s.role[player] == WEREWOLF:
        for day in range(min(np.int64(s.day) + 1, days)):
            for ballot in range(2):
                for k in range(p.players):
                    out[at + (2 * day + ballot) * seats + k] = s.attack_votes[day, ballot, k]
    return at + 2 * days * seats


@kernel
def observe_talk(s, player, out, at):
    """The sentences of the day, and the wolves' of the night to a wolf."""
    for row in range(s.talk_rows):
        for c in range(6):
            out[at + 6 * row + c] = s.talk[row, c]
    at += 6 * s.talk.shape[0]
    if s.terminated != 0 or s.role[player] == WEREWOLF:
        for row in range(s.whisper_rows):
            for c in range(6):
                out[at + 6 * row + c] = s.whispers[row, c]


__all__ = ["NIGHT", "ballots_are_secret", "hide", "observe", "sees_role"]

"""Whether a record from outside is a state of this game."""

from __future__ import annotations

import math

from asobiba.core import kernel
from asobiba.envs.werewolf.layout import NIGHT, TALK, WEREWOLF, WHISPER, XOR


@kernel
def _within(value, low, high):
    return value >= low and value <= high


@kernel
def _table_is_valid(table, rows, players, days):
    if rows < 0 or rows > table.shape[0]:
        return False
    for row in range(rows):
        if not _within(table[row, 0], 0, days - 1) or not _within(table[row, 2], 1, players):
            return False
        if not _within(table[row, 3], 1, XOR + 1) or not _within(table[row, 4], 0, players):
            return False
        if table[row, 1] < 1 or table[row, 5] < 0:
            return False
    for row in range(rows, table.shape[0]):
        for c in range(6):
            if table[row, c] != 0:
                return False
    return True


@kernel
def _seats_are_valid(s, p):
    seats, wolves, living, acting = s.left.shape[0], 0, 0, 0
    for role in range(1, WEREWOLF + 1):
        count = 0
        for k in range(p.players):
            count += s.role[k] == role
        if count != p.roles[role]:
            return False
    for k in range(seats):
        if k >= p.players:
            if s.left[k] != 1 or s.role[k] != 0 or s.acting[k] != 0:
                return False
        elif s.team[k] != (1 if s.role[k] >= 5 else 0) or s.left[k] > 1 or s.acting[k] > 1:
            return False
        if s.acting[k] != 0 and s.left[k] != 0:
            return False
        if s.over[k] > 1 or s.whisper_over[k] > 1:
            return False
        if not _within(s.remaining[k], 0, p.max_talk) or not _within(s.whisper_remaining[k], -100, p.max_whisper):
            return False
        if not _within(s.claimed[k], 0, WEREWOLF) or not _within(s.declared[k], 0, p.players):
            return False
        if not _within(s.order[k], -1, p.players - 1):
            return False
        if s.said[k] < 0 or s.whispered[k] < 0 or not _within(s.words[k], 0, s.draft.shape[1] - 1):
            return False
        for w in range(s.draft.shape[1]):
            if not _within(s.draft[k, w, 0], 0, XOR + 1) or not _within(s.draft[k, w, 1], 0, p.players):
                return False
            if s.draft[k, w, 2] < 0:
                return False
        for j in range(seats):
            if not _within(s.reported[k, j], 0, 2) or not _within(s.identified[k, j], 0, 2):
                return False
        if k < p.players:
            living += 1 - s.left[k]
            wolves += s.role[k] == WEREWOLF and s.left[k] == 0
            acting += s.acting[k]
    if s.terminated != 0 or s.truncated != 0:
        return True
    if acting == 0 or (s.phase != NIGHT and living < 2):
        return False
    # A game goes on while there are wolves, and more humans than they; the night after an execution excepted.
    return s.phase == NIGHT or s.phase == WHISPER or (wolves > 0 and living > 2 * wolves)


@kernel
def _actors_are_valid(s, p):
    # Players without a decision in this phase do not act.
    for k in range(p.players):
        if s.acting[k] == 0:
            continue
        if s.phase == WHISPER and s.role[k] != WEREWOLF:
            return False
        if s.phase == NIGHT and (s.role[k] == 1 or s.role[k] == 3 or s.role[k] == 5):
            return False
    if p.one_by_one != 0 and (s.phase == TALK or s.phase == WHISPER) and s.terminated == 0:
        if not _within(s.cursor, 0, s.order.shape[0] - 1) or s.order[s.cursor] < 0:
            return False
        for k in range(p.players):
            if s.acting[k] != (1 if k == s.order[s.cursor] else 0):
                return False
    return True


@kernel
def _days_are_valid(s, p):
    days = s.executed.shape[0]
    for d in range(days):
        for value in (s.executed[d], s.victim[d], s.attack[d], s.divine[d], s.guard[d]):
            if not _within(value, 0, p.players):
                return False
        if not _within(s.divine_result[d], 0, 2) or not _within(s.medium_result[d], 0, 2):
            return False
        if (s.divine[d] > 0) != (s.divine_result[d] > 0) or (s.executed[d] > 0) != (s.medium_result[d] > 0):
            return False
        for ballot in range(2):
            for k in range(s.left.shape[0]):
                if not _within(s.votes[d, ballot, k], 0, p.players):
                    return False
                if not _within(s.attack_votes[d, ballot, k], 0, p.players):
                    return False
    for k in range(p.players):
        deaths = 0
        for d in range(days):
            deaths += (s.executed[d] == k + 1) + (s.victim[d] == k + 1)
        if deaths != s.left[k]:
            return False
    return True


@kernel
def valid(s, p):
    days = s.executed.shape[0]
    last = days if s.terminated != 0 else days - 1
    if not _within(s.day, 0, last) or not _within(s.phase, TALK, NIGHT) or not _within(s.ballot, 0, 1):
        return False
    if not _within(s.turn, 0, 127) or not _within(s.whisper_turn, 0, 126) or not _within(s.whisper_round, 0, 126):
        return False
    if s.loud > 1 or s.talking > 1 or s.to_move != -1 or (s.day == 0 and s.phase == 3):
        return False
    for k in range(s.left.shape[0]):
        for term in (s.win_reward[k], s.survival_reward[k], s.execution_reward[k]):
            if not math.isfinite(term):
                return False
    if not _seats_are_valid(s, p) or not _days_are_valid(s, p) or not _actors_are_valid(s, p):
        return False
    return _table_is_valid(s.talk, s.talk_rows, p.players, days) and _table_is_valid(
        s.whispers, s.whisper_rows, p.players, days
    )


__all__ = ["valid"]

"""Draws anew everything hidden from a seat: roles, and a past and a present that agree with its information.

Roles are drawn until no day that went on should have ended, and every quiet night has an explanation: the attacked was
guarded, or had just been executed. Then the hidden choices of the others are filled in; the wolves' whispers are drawn
as silence.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel, random_below
from asobiba.envs.werewolf.layout import (
    BODYGUARD,
    MEDIUM,
    MOST_TALK,
    NIGHT,
    OVER,
    SEER,
    TALK,
    VILLAGER,
    VOTE,
    WAIT,
    WEREWOLF,
    WHISPER,
    WOLF,
)
from asobiba.envs.werewolf.resolve import holder, living_wolves, species

_TRIES = 200_000


@kernel
def _fixed_species(s, p, player, other):
    # The player's knowledge of another's species: HUMAN, WOLF or 0.
    for day in range(np.int64(s.day) + 1):
        if s.victim[day] == other + 1:
            return 1
        if s.role[player] == SEER and s.divine[day] == other + 1:
            return np.int64(s.divine_result[day])
        if s.role[player] == MEDIUM and s.executed[day] == other + 1:
            return np.int64(s.medium_result[day])
    return 0


@kernel
def _draw_roles(s, p, player):
    # The roles of those whose role is not told: first the wolves, where they may be, then the rest.
    missing = 0
    free, forced = 0, 0
    wolves = np.int64(p.roles[WEREWOLF])
    for k in range(p.players):
        if s.role[k] > 0:
            wolves -= s.role[k] == WEREWOLF
            continue
        known = _fixed_species(s, p, player, k)
        if known == WOLF:
            s.role[k] = WEREWOLF
            forced += 1
            wolves -= 1
        elif known == 0:
            free += 1
    for k in range(p.players):
        if s.role[k] != 0 or _fixed_species(s, p, player, k) != 0:
            continue
        if random_below(s, free) < wolves:
            s.role[k] = WEREWOLF
            wolves -= 1
        free -= 1
    for k in range(p.players):
        missing += s.role[k] == 0
    for role in range(VILLAGER, WEREWOLF):
        count = np.int64(p.roles[role])
        for k in range(p.players):
            count -= s.role[k] == role
        for _ in range(count):
            rank = random_below(s, missing)
            for k in range(p.players):
                if s.role[k] == 0:
                    if rank == 0:
                        s.role[k] = role
                        break
                    rank -= 1
            missing -= 1


@kernel
def _alive_at(s, player, day, after_execution):
    # Whether a player was alive in the night of that day.
    died = False
    for d in range(day + 1 if after_execution else day):
        died = died or s.executed[d] == player + 1
    for d in range(day):
        died = died or s.victim[d] == player + 1
    return not died


@kernel
def _could_be_attacked(s, p, player, day, target):
    # Whether the wolves' ballots, where the player knows them, make this human a target of that night.
    if s.role[target] == WEREWOLF:
        return False
    if p.contest != 0 and s.role[player] == WEREWOLF:
        return s.attack[day] == target + 1
    if s.role[player] != WEREWOLF:
        return True
    most, mine = 0, 0
    for j in range(p.players):
        if s.role[j] == WEREWOLF:
            continue
        count = 1 if _alive_at(s, j, day, p.contest != 0) else 0
        for k in range(p.players):
            if s.role[k] == WEREWOLF and _alive_at(s, k, day, True) and s.attack_votes[day, 0, k] == j + 1:
                count += 1
        most = max(most, count)
        if j == target:
            mine = count
    return mine == most


@kernel
def _could_be_saved(s, p, player, day, target):
    # Whether the attack on this human may have killed nobody.
    if not _could_be_attacked(s, p, player, day, target):
        return False
    if p.contest == 0 and s.executed[day] == target + 1:
        return True
    bodyguard = holder(s, p, BODYGUARD)
    if bodyguard < 0 or bodyguard == target or not _alive_at(s, bodyguard, day, True):
        return False
    if not _alive_at(s, target, day, True):
        return False
    return player != bodyguard or s.guard[day] == target + 1


@kernel
def _possible(s, p, player):
    # Whether the roles agree with the public past.
    wolves, humans = np.int64(p.roles[WEREWOLF]), np.int64(p.players - p.roles[WEREWOLF])
    for day in range(1, np.int64(s.day) + 1):
        if s.executed[day] > 0:
            if s.role[s.executed[day] - 1] == WEREWOLF:
                wolves -= 1
            else:
                humans -= 1
        if day == s.day:
            break
        if s.victim[day] > 0:
            if s.role[s.victim[day] - 1] == WEREWOLF:
                return False
            humans -= 1
        else:
            saved = False
            for k in range(p.players):
                saved = saved or _could_be_saved(s, p, player, day, k)
            if not saved:
                return False
        if wolves == 0 or humans <= wolves:
            return False
    if s.day > 0 and s.executed[s.day] > 0:
        # In the night of the contest rules: at least one player must act.
        seer, bodyguard = holder(s, p, SEER), holder(s, p, BODYGUARD)
        others = s.left[seer] == 0 and seer != player
        others = others or (bodyguard >= 0 and bodyguard != player and s.left[bodyguard] == 0)
        if wolves == 0 and not others and s.acting[player] == 0:
            return False
        waiting = s.acting[player] == 0 and s.left[player] == 0
        if waiting and (s.role[player] == SEER or s.role[player] == BODYGUARD) and wolves == 0:
            return False
    return True


@kernel
def _random_living(s, p, day, after_execution, not_this, not_that):
    count = 0
    for k in range(p.players):
        count += k != not_this and k != not_that and _alive_at(s, k, day, after_execution)
    if count == 0:
        return -1
    rank = random_below(s, count)
    for k in range(p.players):
        if k != not_this and k != not_that and _alive_at(s, k, day, after_execution):
            if rank == 0:
                return k
            rank -= 1
    return -1


@kernel
def _fill_night(s, p, player, day):
    # The hidden choices of a night that is over.
    role = s.role[player]
    target = np.int64(s.victim[day]) - 1
    if target < 0:
        count = 0
        for k in range(p.players):
            count += _could_be_saved(s, p, player, day, k)
        rank = random_below(s, count)
        for k in range(p.players):
            if _could_be_saved(s, p, player, day, k):
                if rank == 0:
                    target = k
                rank -= 1
    s.attack[day] = target + 1 if _alive_at(s, target, day, True) else 0
    if role != WEREWOLF:
        for k in range(p.players):
            if s.role[k] == WEREWOLF and _alive_at(s, k, day, p.contest != 0):
                s.attack_votes[day, 0, k] = target + 1
    bodyguard = holder(s, p, BODYGUARD)
    if bodyguard >= 0 and role != BODYGUARD and _alive_at(s, bodyguard, day, p.contest != 0):
        if s.victim[day] > 0:
            s.guard[day] = _random_living(s, p, day, p.contest != 0, bodyguard, target) + 1
        else:
            s.guard[day] = target + 1
    s.medium_result[day] = species(s.role[s.executed[day] - 1])


@kernel
def _fill_divination(s, p, day):
    seer = holder(s, p, SEER)
    if _alive_at(s, seer, day, p.contest != 0):
        target = _random_living(s, p, day, p.contest != 0, seer, -1)
        s.divine[day] = target + 1
        s.divine_result[day] = species(s.role[target])


@kernel
def _asks_talker(s, p, k):
    return s.left[k] == 0 and (s.remaining[k] > 0 if p.contest != 0 else s.over[k] == 0)


@kernel
def _talkers_but(s, p, player):
    count = 0
    for k in range(p.players):
        count += k != player and _asks_talker(s, p, k)
    return count


@kernel
def _let_act(s, p, player):
    # The others who act together with the player in the phase that he sees.
    if p.one_by_one != 0 and (s.phase == TALK or s.phase == WHISPER):
        for k in range(s.order.shape[0]):
            s.order[k] = -1
        s.order[0] = player
        return
    silent = s.words[player] > 0  # the others have said their Over, while he composes a sentence
    for k in range(p.players):
        if k == player or s.left[k] != 0:
            continue
        if s.phase == VOTE:
            asked = True
        elif s.phase == TALK:
            asked = _asks_talker(s, p, k)
        elif s.phase == WHISPER:
            asked = s.role[k] == WEREWOLF and (s.whisper_remaining[k] > 0 if p.contest != 0 else s.whisper_over[k] == 0)
        elif s.role[k] == WEREWOLF:
            asked = s.day > 0
        else:
            asked = s.ballot == 0 and (s.role[k] == SEER or (s.role[k] == BODYGUARD and s.day > 0))
        if asked and silent:
            s.words[k] = 1
            s.draft[k, 0, 0] = OVER
        elif asked:
            s.acting[k] = 1


@kernel
def _wait_for_talk(s, p, player):
    # The player waits while somebody else talks.
    s.phase = TALK
    s.turn = s.talk[s.talk_rows - 1, 1] if s.talk_rows > 0 and s.talk[s.talk_rows - 1, 0] == s.day else 1
    s.turn = min(np.int64(s.turn), np.int64(p.max_turns) - 1)
    if p.one_by_one == 0:
        for k in range(p.players):
            s.acting[k] = k != player and _asks_talker(s, p, k)
        return
    rank = random_below(s, _talkers_but(s, p, player))
    for k in range(s.order.shape[0]):
        s.order[k] = -1
    for k in range(p.players):
        if k != player and _asks_talker(s, p, k):
            if rank == 0:
                s.order[0] = k
                s.acting[k] = 1
            rank -= 1


@kernel
def _wait_for_whispers(s, p, player):
    s.phase = WHISPER
    s.talking = 0
    if p.one_by_one != 0:
        for k in range(s.order.shape[0]):
            s.order[k] = -1
    for k in range(p.players):
        if k == player or s.role[k] != WEREWOLF or s.left[k] != 0:
            continue
        if s.whisper_over[k] != 0 and p.contest == 0:
            continue
        if p.contest != 0 and s.whisper_remaining[k] == 0:
            continue
        if p.one_by_one != 0:
            s.order[0] = k
            s.acting[k] = 1
            return
        s.acting[k] = 1


@kernel
def _wait_for_night(s, p, player):
    s.phase = NIGHT
    for k in range(p.players):
        if k != player and s.left[k] == 0:
            role = s.role[k]
            s.acting[k] = role == SEER or (s.day > 0 and (role in (BODYGUARD, WEREWOLF)))


@kernel
def _draw_present(s, p, player):
    # A phase in which the player waits.
    day, wolf = np.int64(s.day), s.role[player] == WEREWOLF
    dead = s.left[player] != 0
    if p.contest == 0:
        if day == 0:
            if s.role[player] == SEER:
                _wait_for_whispers(s, p, player)
            else:
                _wait_for_night(s, p, player)
        elif dead:
            s.phase = VOTE
            for k in range(p.players):
                s.acting[k] = 1 - s.left[k]
        elif s.votes[day, 0, player] > 0:
            _wait_for_night(s, p, player)
        elif _talkers_but(s, p, player) > 0:
            _wait_for_talk(s, p, player)
        else:
            _wait_for_whispers(s, p, player)
        return
    voted = False
    for k in range(p.players):
        voted = voted or s.votes[day, 0, k] > 0
    if day > 0 and s.executed[day] == 0:
        if dead:
            s.phase = VOTE
            s.ballot = 1 if voted else 0
            for k in range(p.players):
                s.acting[k] = 1 - s.left[k]
        else:
            _wait_for_talk(s, p, player)
    elif not dead and (s.role[player] == SEER or (s.role[player] == BODYGUARD and day > 0)):
        # He acts at night, and not now: it is before, or the wolves vote again.
        chosen = s.divine[day] > 0 if s.role[player] == SEER else s.guard[day] > 0
        if living_wolves(s, p) >= 2 and not chosen:
            _wait_for_whispers(s, p, player)
        else:
            _wait_for_night(s, p, player)
            s.ballot = 1
            for k in range(p.players):
                if s.role[k] != WEREWOLF:
                    s.acting[k] = 0
    elif wolf and not dead and day > 0:
        _wait_for_whispers(s, p, player)
    else:
        _wait_for_night(s, p, player)


@kernel
def resample(s, p, player):
    if s.terminated != 0:
        return
    day = np.int64(s.day)
    told = np.int64(0)  # bit k: the role of k is told
    for k in range(p.players):
        if s.role[k] > 0:
            told |= 1 << k
    for _ in range(_TRIES):
        for k in range(p.players):
            if not (told >> k) & 1:
                s.role[k] = 0
        _draw_roles(s, p, player)
        if _possible(s, p, player):
            break
    wolf = s.role[player] == WEREWOLF
    for k in range(p.players):
        s.team[k] = 1 if s.role[k] >= 5 else 0
        if not wolf:
            s.whisper_remaining[k] = MOST_TALK
    for d in range(1, day):
        _fill_night(s, p, player, d)
    if s.role[player] != SEER:
        for d in range(day):
            _fill_divination(s, p, d)
    if s.phase != WAIT:
        _let_act(s, p, player)
    else:
        _draw_present(s, p, player)
    if s.executed[day] > 0:
        s.medium_result[day] = species(s.role[s.executed[day] - 1])
    elif s.phase == NIGHT and p.contest == 0 and day > 0:  # the votes that are told tomorrow
        for k in range(p.players):
            if k != player and s.left[k] == 0:
                s.votes[day, 0, k] = _random_living(s, p, day, False, k, -1) + 1
    if s.phase == NIGHT and s.ballot == 1:
        # A second ballot of the wolves: the others have chosen before it.
        if s.role[player] != SEER:
            _fill_divination(s, p, day)
        bodyguard = holder(s, p, BODYGUARD)
        if bodyguard >= 0 and s.role[player] != BODYGUARD and s.left[bodyguard] == 0:
            s.guard[day] = _random_living(s, p, day, True, bodyguard, -1) + 1


__all__ = ["resample"]

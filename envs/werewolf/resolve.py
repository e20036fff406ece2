"""Kernels for the consequences of votes and nights: executions, attacks, results, the end of a day and of the game."""

from __future__ import annotations

from asobiba.core import kernel, random_below
from asobiba.envs.werewolf.layout import BODYGUARD, HUMAN, SEER, VILLAGERS, WEREWOLF, WOLF, WOLVES


@kernel
def alive(s, player):
    return s.left[player] == 0


@kernel
def species(role):
    """Species as seer and medium see it: the possessed is human."""
    return WOLF if role == WEREWOLF else HUMAN


@kernel
def living_wolves(s, p):
    count = 0
    for k in range(p.players):
        if s.role[k] == WEREWOLF and s.left[k] == 0:
            count += 1
    return count


@kernel
def living(s, p):
    count = 0
    for k in range(p.players):
        count += 1 - s.left[k]
    return count


@kernel
def holder(s, p, role):
    """The seat of the one player of this role, or -1."""
    for k in range(p.players):
        if s.role[k] == role:
            return k
    return -1


@kernel
def votes_for(s, p, target):
    """Votes of today's ballot for a player."""
    count = 0
    for k in range(p.players):
        if s.votes[s.day, s.ballot, k] == target + 1:
            count += 1
    return count


@kernel
def attack_count(s, p, target):
    """Ballots of the wolves alive for a player; every living human has one more, for there is always an attack.

    Ballots for a wolf, and those of a wolf who is executed that day, do not count. The engine of 2016 marks the dead when
    the next day begins: a human who is executed that day counts as living here.
    """
    if s.role[target] == WEREWOLF:
        return 0
    dies_today = p.contest == 0 and s.executed[s.day] == target + 1
    count = 1 if s.left[target] == 0 or dies_today else 0
    for k in range(p.players):
        if s.role[k] == WEREWOLF and s.left[k] == 0 and s.attack_votes[s.day, s.ballot, k] == target + 1:
            count += 1
    return count


@kernel
def _most_named(s, p, attack):
    """The seat that most ballots name (the wolves' if `attack`, else the village's), drawn by lot among equals; -1 where
    a tie is voted on again, for which the next ballot is opened."""
    most, tied, chosen = 0, 0, -1
    for k in range(p.players):
        count = attack_count(s, p, k) if attack else votes_for(s, p, k)
        if count > most:
            most, tied, chosen = count, 1, k
        elif count == most and count > 0:
            tied += 1
    if tied < 2:
        return chosen
    if s.ballot < p.revotes:
        s.ballot += 1
        return -1
    rank = random_below(s, tied)
    for k in range(p.players):
        if (attack_count(s, p, k) if attack else votes_for(s, p, k)) == most:
            if rank == 0:
                chosen = k
            rank -= 1
    return chosen


@kernel
def close_ballot(s, p):
    """Counts today's votes. Executes somebody, or, where a tie is voted on again, opens the next ballot: `False`."""
    chosen = _most_named(s, p, False)
    if chosen < 0:
        return False
    s.executed[s.day] = chosen + 1
    s.medium_result[s.day] = species(s.role[chosen])
    s.left[chosen] = 1
    s.ballot = 0
    for k in range(p.players):
        if s.team[k] != s.team[chosen]:
            s.execution_reward[k] = p.execution
        else:
            s.execution_reward[k] = -p.execution
    return True


@kernel
def close_night(s, p):
    """The attack, unless a tie among the wolves' targets is voted on again: `False`."""
    day = s.day
    if day == 0 or living_wolves(s, p) == 0:
        return True
    chosen = _most_named(s, p, True)
    if chosen < 0:
        return False
    if s.left[chosen] != 0:
        return True  # executed that day, in 2016: nobody is attacked
    s.attack[day] = chosen + 1
    bodyguard = holder(s, p, BODYGUARD)
    guarded = bodyguard >= 0 and s.left[bodyguard] == 0 and s.guard[day] == chosen + 1
    if not guarded:
        s.victim[day] = chosen + 1
        s.left[chosen] = 1
    return True


@kernel
def divine(s, p, target):
    """The seer looks at `target`, who is alive."""
    s.divine[s.day] = target + 1
    s.divine_result[s.day] = species(s.role[target])


@kernel
def end_day(s, p):
    """A new day begins, or the game is over: the wolves are dead, or the humans are no more than they."""
    s.day += 1
    s.ballot = 0
    s.turn = 0
    s.whisper_turn = 0
    for k in range(p.players):
        s.over[k] = 0
        s.skips[k] = 0
        s.remaining[k] = p.max_talk
        s.said[k] = 0
        s.whisper_skips[k] = 0
        s.whisper_remaining[k] = p.max_whisper
        s.whispered[k] = 0
        s.declared[k] = 0
        s.survival_reward[k] = p.survival if s.left[k] == 0 else 0.0
    wolves = living_wolves(s, p)
    humans = living(s, p) - wolves
    if wolves > 0 and humans > wolves:
        return
    winner = VILLAGERS if wolves == 0 else WOLVES
    for k in range(p.players):
        s.win_reward[k] = 1.0 if s.team[k] == winner else -1.0
    s.terminated = 1


__all__ = ["SEER", "alive", "attack_count", "close_ballot", "close_night", "divine", "end_day", "holder", "species"]

"""The sample agents that came with the platform in 2016, for every role.

Source: the AIWolf project's client of February 2016. Villagers vote for whoever was divined a werewolf, or for anybody.
Those with a claim make it on a day drawn from 1 to 3 and then tell one result a turn. A fake role is drawn uniformly
from seer, medium and villager.
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.werewolf.basic_play import claimants, living_others, own_result, pick, wolves
from asobiba.core import KernelAgent, kernel, random_below, random_uniform
from asobiba.envs.werewolf import layout as game
from asobiba.envs.werewolf.sentences import encode

MEMORY = [
    ("claim_day", np.int8),
    ("part", np.int8),
    ("plan", np.int8),
    ("plan_day", np.int8),
    ("fake_day", np.int8),
    ("fake", np.int8, (15,)),
]
"""`part`: the role that the agent plays openly; `plan`: the player it means to vote for (from 1); `fake`: its invented results."""


@kernel
def _begin(s, m, me):
    # The draws that the platform's agents make when a game begins.
    role = s.role[me]
    m.claim_day = 1 + random_below(m, 3)
    m.part = role
    if role >= game.POSSESSED:
        draw = random_below(m, 3)
        m.part = game.SEER if draw == 0 else (game.MEDIUM if draw == 1 else game.VILLAGER)


@kernel
def _divined_wolves(s, p):
    found = np.int64(0)
    for k in range(p.players):
        for t in range(p.players):
            if s.reported[k, t] == game.WOLF:
                found |= np.int64(1) << t
    return found


@kernel
def _presumed_possessed(s, p):
    # A wolf takes a human who told a false divination for the possessed: his seat as a bit.
    for k in range(p.players):
        if s.role[k] == game.WEREWOLF:
            continue
        for t in range(p.players):
            if s.reported[k, t] > 0 and (s.reported[k, t] == game.WOLF) != (s.role[t] == game.WEREWOLF):
                return np.int64(1) << k
    return np.int64(0)


@kernel
def _own_result(s, m, me, target):
    # The result that the agent claims about a target: 0, HUMAN or WOLF.
    if s.role[me] >= game.POSSESSED:
        return np.int64(m.fake[target])
    return own_result(s, me, target)


@kernel
def _invent(s, p, m, me):
    # The result of last night, or of yesterday's execution, that a liar makes up.
    day = np.int64(s.day)
    if m.fake_day >= day:
        return
    m.fake_day = day
    target = -1
    if m.part == game.SEER:
        told = np.int64(0)
        for t in range(p.players):
            if m.fake[t] > 0:
                told |= np.int64(1) << t
        target = pick(m, living_others(s, p, me) & ~told, p.players)
    elif m.part == game.MEDIUM:
        target = np.int64(s.executed[day - 1]) - 1
    if target < 0:
        return
    if s.role[me] == game.POSSESSED:
        m.fake[target] = game.WOLF if random_uniform(m) < 0.3 else game.HUMAN
    elif s.role[target] == game.WEREWOLF:
        m.fake[target] = game.HUMAN
    elif s.claimed[target] == 0 or (_presumed_possessed(s, p) >> target) & 1:
        m.fake[target] = game.HUMAN if random_uniform(m) < 0.5 else game.WOLF
    else:
        m.fake[target] = game.WOLF


@kernel
def _suspects(s, p, m, me):
    # The players that the agent wants executed, as bits; 0 if nobody in particular.
    others = living_others(s, p, me)
    if m.part == game.SEER or m.part == game.MEDIUM:
        found = claimants(s, p, m.part)
        for t in range(p.players):
            result = _own_result(s, m, me, t)
            if m.part == game.SEER and result == game.WOLF:
                found |= np.int64(1) << t
            if m.part == game.MEDIUM and result > 0:
                for k in range(p.players):
                    if s.reported[k, t] > 0 and s.reported[k, t] != result:
                        found |= np.int64(1) << k
        if found & others == 0 and m.part == game.MEDIUM:
            found = _divined_wolves(s, p)
        return found & others
    return _divined_wolves(s, p) & others


@kernel
def _plan(s, p, m, me):
    # The player that the agent means to vote for; it sticks to a plan of today that somebody has divined.
    others = living_others(s, p, me)
    if m.plan_day == s.day and m.plan > 0 and (others >> (m.plan - 1)) & 1:
        for k in range(p.players):
            if s.reported[k, m.plan - 1] > 0:
                return
    found = _suspects(s, p, m, me)
    allowed = others
    if s.role[me] == game.WEREWOLF:
        allowed = others & ~wolves(s, p)
        if allowed == 0:
            allowed = others
    among = found & allowed if found & allowed != 0 else allowed
    if m.plan_day == s.day and m.plan > 0 and (among >> (m.plan - 1)) & 1:
        return
    m.plan_day = s.day
    m.plan = pick(m, among, p.players) + 1


@kernel
def _talk(s, p, m, me):
    seats = s.left.shape[0]
    if s.day == 0:
        return 0
    if s.role[me] >= game.POSSESSED:
        _invent(s, p, m, me)
    if m.part == game.SEER or m.part == game.MEDIUM:
        if s.claimed[me] != m.part:
            if s.day >= m.claim_day:
                return game.CLAIMS + m.part - 1
        else:
            for t in range(p.players):
                result = _own_result(s, m, me, t)
                told = np.int64(s.reported[me, t] if m.part == game.SEER else s.identified[me, t])
                if result > 0 and told == 0 and t != me:
                    return encode(seats, game.DIVINED if m.part == game.SEER else game.IDENTIFIED, t, result)
    _plan(s, p, m, me)
    if m.plan > 0 and s.declared[me] != m.plan:
        return encode(seats, game.VOTING, np.int64(m.plan) - 1, 0)
    return 0


@kernel
def _night(s, p, m, me):
    seats, role = s.left.shape[0], s.role[me]
    others = living_others(s, p, me)
    claims = claimants(s, p, game.SEER) | claimants(s, p, game.MEDIUM)
    if role == game.SEER:
        seen = np.int64(0)
        for day in range(s.day):
            if s.divine[day] > 0:
                seen |= np.int64(1) << np.int64(s.divine[day] - 1)
        target = pick(m, others & ~seen, p.players)
        return 1 if target < 0 else encode(seats, game.DIVINATION, target, 0)
    if role == game.BODYGUARD:
        among = claims & others
        if among == 0 or random_uniform(m) >= 0.8:
            among = others
        return encode(seats, game.GUARD, pick(m, among, p.players), 0)
    food = others & ~wolves(s, p)
    among = claims & food & ~_presumed_possessed(s, p)
    if among == 0 or random_uniform(m) >= 0.8:
        among = food
    return encode(seats, game.ATTACK, pick(m, among, p.players), 0)


@kernel
def sample_policy(view, p, legal, memory):
    """The platform's sample agent of the role that it was dealt."""
    me = np.int64(view.to_move)
    if memory.claim_day == 0:
        _begin(view, memory, me)
    if view.phase == game.TALK:
        return _talk(view, p, memory, me)
    if view.phase == game.WHISPER:
        return 0
    if view.phase == game.VOTE:
        _plan(view, p, memory, me)
        return encode(view.left.shape[0], game.VOTING, np.int64(memory.plan) - 1, 0)
    return _night(view, p, memory, me)


def sample_agent() -> KernelAgent:
    """The agent."""
    return KernelAgent(sample_policy, memory=MEMORY, name="sample")


__all__ = ["sample_agent", "sample_policy"]

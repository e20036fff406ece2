"""The rule agent "kanolab": weighted rules about players and about pairs add up to a score of each player's
wolfishness.

Source: S. Minowa and Y. Kano, "A werewolf agent that judges by several rules" (in Japanese), GAT 2016. The paper names
the structure (a sum of weighted rules about a player, and of rules about pairs of players) and the behaviour of every
role; its weights were set by hand and are not printed. Those below are set by hand, too.
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.werewolf.basic_play import claimants, living_others, own_result, pick, wolves
from asobiba.core import KernelAgent, kernel, random_below, random_uniform
from asobiba.envs.werewolf import layout as game
from asobiba.envs.werewolf.sentences import encode

RULES = (
    ("called_wolf", 4.0, "a claimed seer called him a werewolf"),
    ("called_human", -2.0, "a claimed seer called him human"),
    ("contested", 1.5, "for every other player who claims the same role"),
    ("contradicted", 5.0, "a claimed medium contradicts one of his results"),
    ("slandered_victim", 20.0, "he called a werewolf whom the wolves killed"),
    ("contradicts_me", 20.0, "he claims my role, or contradicts what I know"),
    ("known_wolf", 60.0, "I know that he is a werewolf"),
    ("known_human", -10.0, "I know that he is human"),
    ("voted_human", 0.5, "he voted for somebody whom a medium identified as human"),
    ("voted_wolf", -1.5, "he voted for somebody whom a medium identified as a werewolf"),
)
"""The rules about one player: name, weight, meaning."""

PAIR_RULES = (
    ("vouched", 0.15, "one called the other human"),
    ("accused", -0.15, "one called the other a werewolf"),
    ("voted", -0.05, "one voted for the other"),
)
"""The rules about two players: how much of the other's score each gets."""

_WEIGHTS = np.array([weight for _, weight, _ in RULES])
_PAIRS = np.array([weight for _, weight, _ in PAIR_RULES])

MEMORY = [
    ("score", np.float64, (15,)),
    ("line", np.float64, (15,)),
    ("fake", np.int8, (15,)),
    ("fake_day", np.int8),
    ("part", np.int8),
    ("heard_seer", np.int8),
    ("told_day", np.int8),
    ("told", np.int8),
]


@kernel
def _rule(s, p, me, n, rule):
    # The value of one rule of `RULES` for player n.
    value = 0.0
    if rule == 0 or rule == 1:
        for k in range(p.players):
            value += s.claimed[k] == game.SEER and s.reported[k, n] == (game.WOLF if rule == 0 else game.HUMAN)
    elif rule == 2:
        if s.claimed[n] == game.SEER or s.claimed[n] == game.MEDIUM:
            for k in range(p.players):
                value += k != n and s.claimed[k] == s.claimed[n]
    elif rule == 3:
        for t in range(p.players):
            for k in range(p.players):
                if s.reported[n, t] > 0 and s.identified[k, t] > 0 and s.reported[n, t] != s.identified[k, t]:
                    return 1.0
    elif rule == 4:
        for day in range(s.day):
            if s.victim[day] > 0 and s.reported[n, s.victim[day] - 1] == game.WOLF:
                return 1.0
    elif rule == 5 and n != me and s.role[me] <= game.BODYGUARD:
        if s.role[me] != game.VILLAGER and s.claimed[n] == s.role[me]:
            return 1.0
        if s.reported[n, me] == game.WOLF:
            return 1.0
        for t in range(p.players):
            known = own_result(s, me, t)
            if known > 0 and s.reported[n, t] > 0 and s.reported[n, t] != known:
                return 1.0
    elif rule == 6 or rule == 7:
        return 1.0 if own_result(s, me, n) == (game.WOLF if rule == 6 else game.HUMAN) else 0.0
    elif rule >= 8:
        for day in range(1, s.day):
            gone = np.int64(s.executed[day]) - 1
            for k in range(p.players):
                if (
                    gone >= 0
                    and s.claimed[k] == game.MEDIUM
                    and s.identified[k, gone] == (game.HUMAN if rule == 8 else game.WOLF)
                ):
                    value += s.votes[day, 0, n] == gone + 1
    return value


@kernel
def _line(s, p, a, b):
    # The share of b's score that belongs to a, by `PAIR_RULES`.
    value = 0.0
    for one, other in ((a, b), (b, a)):
        if s.reported[one, other] == game.HUMAN:
            value += _PAIRS[0]
        elif s.reported[one, other] == game.WOLF:
            value += _PAIRS[1]
        for day in range(1, s.day):
            if s.votes[day, 0, one] == other + 1:
                value += _PAIRS[2]
    return value


@kernel
def _evaluate(s, p, m, me):
    # Everybody's score; the larger, the more he looks like one of the wolves' side.
    for n in range(p.players):
        m.line[n] = 0.0
        for rule in range(_WEIGHTS.shape[0]):
            m.line[n] += _WEIGHTS[rule] * _rule(s, p, me, n, rule)
    for n in range(p.players):
        m.score[n] = m.line[n]
        for k in range(p.players):
            if k != n:
                m.score[n] += _line(s, p, n, k) * m.line[k]


@kernel
def _extreme(m, among, players, sign):
    # The highest (`sign` 1) or lowest (-1) score in a set of bits, at random among equals; -1 for the empty set.
    best, found = -1e30, np.int64(0)
    for k in range(players):
        if (among >> k) & 1:
            value = sign * m.score[k]
            if value > best:
                best, found = value, np.int64(0)
            if value == best:
                found |= np.int64(1) << k
    return pick(m, found, players)


@kernel
def _divine_target(s, p, m, me, seen):
    # The highest score among those without a claim, then the mediums, then the rivals.
    fresh = living_others(s, p, me) & ~seen
    claims = claimants(s, p, game.SEER) | claimants(s, p, game.MEDIUM)
    among = fresh & ~claims
    if among == 0:
        among = fresh & ~claimants(s, p, game.SEER)
    return _extreme(m, among if among != 0 else fresh, p.players, 1.0)


@kernel
def _certain_black(s, p, n):
    # Every claimed seer alive who spoke of n called him a werewolf, and one did.
    found = False
    for k in range(p.players):
        if s.claimed[k] == game.SEER and s.reported[k, n] == game.HUMAN:
            return False
        found = found or (s.claimed[k] == game.SEER and s.reported[k, n] == game.WOLF)
    return found


@kernel
def _vote(s, p, m, me):
    others = living_others(s, p, me)
    if s.role[me] == game.WEREWOLF:
        mates = wolves(s, p) & others
        for k in range(p.players):
            if (mates >> k) & 1 and _certain_black(s, p, k):
                return k
        return _extreme(m, others & ~mates if others & ~mates != 0 else others, p.players, 1.0)
    if s.role[me] != game.POSSESSED:
        return _extreme(m, others, p.players, 1.0)
    total, least = 0.0, 1e30
    for k in range(p.players):
        if (others >> k) & 1 and not _certain_black(s, p, k):
            least = min(least, m.score[k])
    for k in range(p.players):
        if (others >> k) & 1 and not _certain_black(s, p, k):
            total += 1.0 + m.score[k] - least
    if total == 0.0:
        return pick(m, others, p.players)
    draw = random_uniform(m) * total
    for k in range(p.players):
        if (others >> k) & 1 and not _certain_black(s, p, k):
            draw -= 1.0 + m.score[k] - least
            if draw < 0:
                return k
    return pick(m, others, p.players)


@kernel
def _count(s, p, role):
    count = 0
    for k in range(p.players):
        count += s.claimed[k] == role
    return count


@kernel
def _claim(s, p, m, me):
    # The role that the player claims now, or 0.
    role = s.role[me]
    if s.day == 0:
        return 0
    if role == game.SEER:
        return game.SEER
    if role == game.MEDIUM:
        declared = 0
        for k in range(p.players):
            declared += s.declared[k] == me + 1
        return game.MEDIUM if s.day > 1 or _count(s, p, game.MEDIUM) > 0 or declared >= 3 else 0
    if role != game.POSSESSED:
        return 0
    seers = _count(s, p, game.SEER)
    if seers >= 2:
        return game.MEDIUM
    if seers == 1 and m.heard_seer != 0:
        return game.SEER  # nobody has contested the seer since the last time that this player spoke
    m.heard_seer = 1 if seers == 1 else 0
    return 0


@kernel
def _invent(s, p, m, me):
    # A result of the possessed for last night or yesterday's execution.
    if m.fake_day >= s.day:
        return
    m.fake_day = s.day
    target = -1
    if m.part == game.SEER:
        seen = np.int64(0)
        for t in range(p.players):
            if m.fake[t] > 0:
                seen |= np.int64(1) << t
        target = _divine_target(s, p, m, me, seen)
    elif s.day > 1:
        target = np.int64(s.executed[s.day - 1]) - 1
    if target >= 0:
        m.fake[target] = game.WOLF if random_below(m, 2) == 0 else game.HUMAN


@kernel
def _report(s, p, m, me):
    # The next result that has not been told, as an action, or 0.
    seats = s.left.shape[0]
    for t in range(p.players):
        result = np.int64(m.fake[t]) if s.role[me] == game.POSSESSED else own_result(s, me, t)
        told = np.int64(s.reported[me, t] if m.part == game.SEER else s.identified[me, t])
        if result > 0 and told == 0 and t != me:
            return encode(seats, game.DIVINED if m.part == game.SEER else game.IDENTIFIED, t, result)
    return 0


@kernel
def _opinion(s, p, m, me):
    # Further sentences, one after another, each once a day.
    seats = s.left.shape[0]
    others = living_others(s, p, me)
    if m.told_day != s.day:
        m.told_day = s.day
        m.told = 0
    while m.told < 4:
        m.told += 1
        if m.told == 1:
            target = _vote(s, p, m, me)
            if target >= 0:
                return encode(seats, game.VOTING, target, 0)
        elif m.told == 2:
            if s.role[me] == game.SEER:
                white = np.int64(0)
                for t in range(p.players):
                    if own_result(s, me, t) == game.HUMAN:
                        white |= np.int64(1) << t
                top = _extreme(m, others, p.players, 1.0)
                if top >= 0 and (white >> top) & 1:
                    return encode(seats, game.ESTIMATE, top, game.POSSESSED)
            elif s.role[me] == game.MEDIUM:
                for k in range(p.players):
                    if (others >> k) & 1 and s.claimed[k] == game.SEER and _rule(s, p, me, k, 5) > 0:
                        return encode(seats, game.ESTIMATE, k, game.POSSESSED)
        elif m.told == 3:
            target = _extreme(m, others, p.players, -1.0)
            if target >= 0 and s.claimed[target] == 0:
                return encode(seats, game.ESTIMATE, target, game.VILLAGER)
        else:
            for role in (game.SEER, game.MEDIUM):
                if _count(s, p, role) > 1 and s.role[me] != role:
                    target = _extreme(m, claimants(s, p, role) & others, p.players, -1.0)
                    if target >= 0:
                        return encode(seats, game.ESTIMATE, target, role)
    return 0


@kernel
def _talk(s, p, m, me):
    claim = _claim(s, p, m, me)
    if m.part == 0 and claim != 0:
        m.part = claim
        return game.CLAIMS + claim - 1
    if m.part != 0:
        if s.role[me] == game.POSSESSED:
            _invent(s, p, m, me)
        report = _report(s, p, m, me)
        if report > 0:
            return report
    return _opinion(s, p, m, me) if s.day > 0 else 0


@kernel
def _guard(s, p, m, me):
    others = living_others(s, p, me)
    among = others
    for role in (game.SEER, game.MEDIUM):
        claims = claimants(s, p, role)
        if claims == 0:
            continue
        best = _extreme(m, claims, p.players, -1.0)
        if (others >> best) & 1:
            return best
        if claims & (claims - 1) != 0 and among & ~claims != 0:
            among &= ~claims  # the most trusted of several is dead: the others are no candidates
        elif claims & others != 0:
            return _extreme(m, claims & others, p.players, -1.0)
    return _extreme(m, among, p.players, -1.0)


@kernel
def _attack(s, p, m, me):
    food = living_others(s, p, me) & ~wolves(s, p)
    alive = 0
    for k in range(p.players):
        alive += 1 - s.left[k]
    if alive == 7 or alive == 5:  # whom the village would execute next, so that an even number is left
        return _extreme(m, food, p.players, 1.0)
    claims = (claimants(s, p, game.SEER) | claimants(s, p, game.MEDIUM)) & food
    # A claimant may be guarded; the fewer are alive, the likelier the bodyguard is dead.
    if claims != 0 and random_uniform(m) * p.players >= alive * 0.7:
        food = claims
    return _extreme(m, food, p.players, -1.0)


@kernel
def kanolab_policy(view, p, legal, memory):
    """Scores everybody, then acts as the rules of its role say."""
    me, seats = np.int64(view.to_move), view.left.shape[0]
    if view.phase == game.WHISPER:
        return 0
    _evaluate(view, p, memory, me)
    if view.phase == game.TALK:
        return _talk(view, p, memory, me)
    if view.phase == game.VOTE:
        return encode(seats, game.VOTING, _vote(view, p, memory, me), 0)
    if view.role[me] == game.SEER:
        seen = np.int64(0)
        for day in range(view.day):
            if view.divine[day] > 0:
                seen |= np.int64(1) << np.int64(view.divine[day] - 1)
        target = _divine_target(view, p, memory, me, seen)
        return 1 if target < 0 else encode(seats, game.DIVINATION, target, 0)
    if view.role[me] == game.BODYGUARD:
        return encode(seats, game.GUARD, _guard(view, p, memory, me), 0)
    return encode(seats, game.ATTACK, _attack(view, p, memory, me), 0)


def kanolab_agent() -> KernelAgent:
    """The agent."""
    return KernelAgent(kanolab_policy, memory=MEMORY, name="kanolab")

"""The basic play of Kanda and Ito, its theories, and the open points of their text.

Source: N. Kanda and T. Ito, "Verification of Accepted Theories in Werewolf AI Environment" (in Japanese), GAT 2016.

Suspicion is public: every claimed seer's result moves its target one step, towards black for a werewolf and towards
white for a human. A medium whose result contradicts a seer shows him to be fake: his results are ignored, and he is one
step blacker. The one seer left when the fake ones are taken away is the confirmed seer, who is white. Everybody votes
for the blackest, at random among equals.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import KernelAgent, kernel, random_below, random_uniform
from asobiba.envs.werewolf import layout as game
from asobiba.envs.werewolf.sentences import encode

OPEN_POINTS = {
    "first_day": (1, "day on which seers claim: 0 or 1"),
    "sole_seer": (0, "a seer whom nobody ever contested is the confirmed seer"),
    "no_check": (0, "mediums do not show anybody to be fake"),
    "lasting": (1, "who was shown to be fake stays so; 0: the execution of the day before alone counts"),
    "fake_black": (1, "a fake seer himself is one step blacker"),
    "dead_seers": (1, "seers who died still count when one looks for the only one left"),
    "dead_targets": (0, "fake results may tell of who died last night, as true ones do"),
    "run_out": (1, "when nobody is left to divine: 1 anybody else alive, 0 nobody"),
    "wolf_level": (0, "a wolf whose most suspicious level holds only wolves votes: 0 for one of them, 1 a level below"),
    "agree": (0, "the wolves attack with one voice, that of the first of them alive"),
    "backlog": (0, "a medium who claims tells its earlier results too"),
    "own_knowledge": (0, "seer, medium and who is slandered use what they know for their votes"),
    "medium_day": (1, "a possessed medium claims on day 1 (or else with its first wolf)"),
    "wolf_targets": (0, "a wolf that claims seer divines: 0 anybody, 1 humans only"),
    "claim_grey": (0, "claimants of seer and medium are voted for last among equals"),
    "silent_mediums": (
        0,
        "a medium who told nothing of an executed player, dead or not, keeps the others from agreeing",
    ),
    "first_divination": (0, "the day of the seer's first divination"),
    "whole_numbers": (0, "the possessed's probability is a quotient of whole numbers, so that it is 0 nearly always"),
}
"""Choices that the text leaves open: name -> (value taken, what it means)."""

NEAREST = ("whole_numbers", "first_divination", "no_check")
"""Open points that, all read the other way, come nearest to the published figures; found by trying."""

VILLAGE_THEORIES = {
    "medium_first": (0, "the medium claims on day 1"),
    "follow_black": (
        0,
        "vote for whom the last confirmed or only uncontested seer called a werewolf, whatever the level",
    ),
    "roller": (0, "where two or more claim seer, they are executed one after the other, from day 2 on"),
    "counter_fake": (0, "who is called a werewolf by a seer, knowing better, votes for that seer"),
    "grey_divine": (0, "the seer divines the most suspicious who is left, not anybody"),
    "guard_medium": (0, "the bodyguard prefers the medium where no seer is confirmed"),
}
"""Theories of the villagers' side, which the paper names as future work: name -> (value taken, what it means)."""

_SETTINGS = ("wolf_seers", "mate_first", "fake_medium", *OPEN_POINTS, *VILLAGE_THEORIES)
MEMORY = [("told_day", np.int8), ("level", np.int8, (15,)), *((name, np.int8) for name in _SETTINGS)]

THEORIES = {
    "basic": {},
    "A": {"wolf_seers": 1},
    "B": {"wolf_seers": 2},
    "C": {"wolf_seers": 1, "mate_first": 1},
    "D": {"fake_medium": 1},
    "E": {"fake_medium": 1, "wolf_seers": 1},
}
"""Moves of the werewolves' side in each theory; elsewhere they play the basic play."""


@kernel
def is_fake(s, p, m, seer):
    """Whether the claimed mediums contradict a claimed seer: who tells of one executed agrees, and not with him."""
    if m.no_check != 0:
        return False
    for t in range(p.players):
        if s.reported[seer, t] == 0 or s.left[t] == 0:
            continue
        if m.lasting == 0 and (s.day < 2 or s.executed[s.day - 1] != t + 1):
            continue
        told, agreed = 0, True
        for medium in range(p.players):
            if s.claimed[medium] == game.MEDIUM:
                result = np.int64(s.identified[medium, t])
                if result == 0:
                    agreed = agreed and m.silent_mediums == 0
                elif told == 0:
                    told = result
                else:
                    agreed = agreed and result == told
        if agreed and told > 0 and told != s.reported[seer, t]:
            return True
    return False


@kernel
def confirmed_seer(s, p, m):
    """The seat of the confirmed seer, or -1."""
    claims, left, found = 0, 0, -1
    for k in range(p.players):
        if s.claimed[k] == game.SEER:
            claims += 1
            if not is_fake(s, p, m, k) and (m.dead_seers != 0 or s.left[k] == 0):
                left += 1
                found = k
    return found if left == 1 and (claims > 1 or m.sole_seer != 0) else -1


@kernel
def write_levels(s, p, m):
    """Writes every player's level of suspicion into `m.level`; returns the confirmed seer and the number of seers not
    known to be fake.
    """
    for k in range(p.players):
        m.level[k] = 0
    honest = 0
    for seer in range(p.players):
        if s.claimed[seer] != game.SEER:
            continue
        if is_fake(s, p, m, seer):
            m.level[seer] += m.fake_black
            continue
        honest += 1
        for t in range(p.players):
            if s.reported[seer, t] == game.HUMAN:
                m.level[t] -= 1
            elif s.reported[seer, t] == game.WOLF:
                m.level[t] += 1
    confirmed = confirmed_seer(s, p, m)
    if confirmed >= 0:
        m.level[confirmed] = min(np.int64(m.level[confirmed]), -max(honest, 1))
    return confirmed, honest


@kernel
def _use_own_knowledge(s, p, m, me):
    # Certain knowledge of this player outweighs every level.
    role = s.role[me]
    for day in range(s.day):
        if role == game.SEER and s.divine[day] > 0:
            m.level[s.divine[day] - 1] = 100 if s.divine_result[day] == game.WOLF else -100
        if role == game.MEDIUM and s.executed[day] > 0:
            for k in range(p.players):
                told = s.reported[k, s.executed[day] - 1]
                if told > 0 and told != s.medium_result[day]:
                    m.level[k] = 90
    for k in range(p.players):
        if k != me and role < game.POSSESSED and s.claimed[k] == role and role != 1:
            m.level[k] = 90
        if role < game.POSSESSED and s.claimed[k] == game.SEER and s.reported[k, me] == game.WOLF:
            m.level[k] = 90


@kernel
def _living(s, p):
    count = 0
    for k in range(p.players):
        count += 1 - s.left[k]
    return count


@kernel
def pick(m, chosen, players):
    # A random one of the set of bits, or -1.
    count = 0
    for k in range(players):
        count += (chosen >> k) & 1
    if count == 0:
        return -1
    rank = random_below(m, count)
    for k in range(players):
        if (chosen >> k) & 1:
            if rank == 0:
                return k
            rank -= 1
    return -1


@kernel
def living_others(s, p, me):
    """The living others, as bits."""
    found = np.int64(0)
    for k in range(p.players):
        if k != me and s.left[k] == 0:
            found |= np.int64(1) << k
    return found


@kernel
def claimants(s, p, role):
    """The players who claim a role, as bits."""
    found = np.int64(0)
    for k in range(p.players):
        if s.claimed[k] == role:
            found |= np.int64(1) << k
    return found


@kernel
def _blackest(m, among, players, least):
    # Those of the highest level (the lowest, if `least`) in a set of bits.
    best, found = -1000, np.int64(0)
    for k in range(players):
        if (among >> k) & 1:
            level = -np.int64(m.level[k]) if least else np.int64(m.level[k])
            if level > best:
                best, found = level, np.int64(0)
            if level == best:
                found |= np.int64(1) << k
    return found


@kernel
def wolves(s, p):
    """The wolves that a wolf knows, himself included, as bits."""
    found = np.int64(0)
    for k in range(p.players):
        if s.role[k] == game.WEREWOLF:
            found |= np.int64(1) << k
    return found


@kernel
def own_result(s, me, target):
    """Finding of a seer or medium about a target: 0, HUMAN or WOLF."""
    for day in range(s.day):
        if s.role[me] == game.SEER and s.divine[day] == target + 1:
            return np.int64(s.divine_result[day])
        if s.role[me] == game.MEDIUM and s.executed[day] == target + 1:
            return np.int64(s.medium_result[day])
    return 0


@kernel
def vote(s, p, m, me):
    """The player for whom the basic play votes."""
    others = living_others(s, p, me)
    write_levels(s, p, m)
    if m.own_knowledge != 0:
        _use_own_knowledge(s, p, m, me)
    if s.role[me] < game.POSSESSED:
        seers = claimants(s, p, game.SEER)
        if m.counter_fake != 0:
            for k in range(p.players):
                if (others >> k) & 1 and s.claimed[k] == game.SEER and s.reported[k, me] == game.WOLF:
                    m.level[k] = 80
        if m.roller != 0 and s.day >= 2 and seers & (seers - 1) != 0:
            for k in range(p.players):
                if (seers >> k) & 1 and k != confirmed_seer(s, p, m):
                    m.level[k] += 20
        if m.follow_black != 0:
            for seer in range(p.players):
                if s.claimed[seer] == game.SEER and not is_fake(s, p, m, seer):
                    for t in range(p.players):
                        if s.reported[seer, t] == game.WOLF:
                            m.level[t] = max(np.int64(m.level[t]), 10)
    if s.role[me] != game.WEREWOLF:
        top = _blackest(m, others, p.players, False)
        if m.claim_grey != 0:
            rest = top & ~(claimants(s, p, game.SEER) | claimants(s, p, game.MEDIUM))
            top = rest if rest != 0 else top
        return pick(m, top, p.players)
    mates = wolves(s, p)
    top = _blackest(m, others, p.players, False)
    if top & ~mates == 0 and m.wolf_level != 0:
        top = _blackest(m, others & ~mates, p.players, False)
    return pick(m, top & ~mates if top & ~mates != 0 else top, p.players)


@kernel
def _divine_target(s, p, m, me, mine):
    # Random among those who neither claim seer nor were divined by this player (`mine`, as bits).
    others = living_others(s, p, me)
    among = others & ~claimants(s, p, game.SEER) & ~mine
    if among == 0 and m.run_out != 0:
        among = others & ~mine if others & ~mine != 0 else others
    return among


@kernel
def reported_by(s, p, me):
    """Players that a player has reported on as a seer, as bits."""
    found = np.int64(0)
    for t in range(p.players):
        if s.reported[me, t] > 0:
            found |= np.int64(1) << t
    return found


@kernel
def _wolf_reports(table, p, me):
    count = 0
    for t in range(p.players):
        count += table[me, t] == game.WOLF
    return count


@kernel
def _lies_wolf(s, p, m, me, table):
    # Whether the possessed calls his target a werewolf: the wolves that may be left, among those alive.
    seen = 0
    for t in range(p.players):
        for k in range(p.players):
            if k != me and s.claimed[k] == game.MEDIUM and s.identified[k, t] == game.WOLF:
                seen += 1
                break
    left = np.int64(p.roles[game.WEREWOLF]) - _wolf_reports(table, p, me) - seen
    if m.whole_numbers != 0:
        return left // _living(s, p) > 0
    return random_uniform(m) * _living(s, p) < left


@kernel
def _talk_as_fake_seer(s, p, m, me):
    seats, day = s.left.shape[0], np.int64(s.day)
    if s.claimed[me] != game.SEER:
        return game.CLAIMS + game.SEER - 1 if day >= m.first_day else 0
    if day == 0 or m.told_day >= day:
        return 0
    m.told_day = day
    among = _divine_target(s, p, m, me, reported_by(s, p, me))
    if m.dead_targets != 0:
        fresh = np.int64(0)
        for gone in (s.executed[day - 1], s.victim[day - 1]):
            if gone > 0 and gone - 1 != me and s.claimed[gone - 1] != game.SEER and s.reported[me, gone - 1] == 0:
                fresh |= np.int64(1) << np.int64(gone - 1)
        among |= fresh
    if s.role[me] == game.WEREWOLF:
        mates = wolves(s, p) & among
        if m.mate_first != 0 and reported_by(s, p, me) == 0 and mates != 0:
            among = mates
        elif m.wolf_targets != 0 and among & ~mates != 0:
            among &= ~mates
        target = pick(m, among, p.players)
        return 0 if target < 0 else encode(seats, game.DIVINED, target, game.HUMAN)
    target = pick(m, among, p.players)
    if target < 0:
        return 0
    return encode(seats, game.DIVINED, target, game.WOLF if _lies_wolf(s, p, m, me, s.reported) else game.HUMAN)


@kernel
def _talk_as_fake_medium(s, p, m, me):
    day = np.int64(s.day)
    claimed = s.claimed[me] == game.MEDIUM
    if not claimed and m.medium_day != 0:
        return game.CLAIMS + game.MEDIUM - 1 if day >= max(np.int64(m.first_day), 1) else 0
    gone = np.int64(s.executed[day - 1]) - 1 if day > 1 else -1
    if gone < 0 or m.told_day >= day:
        return 0
    lie = _lies_wolf(s, p, m, me, s.identified)
    if not claimed:
        if not lie:
            m.told_day = day
            return 0
        return game.CLAIMS + game.MEDIUM - 1
    m.told_day = day
    return encode(s.left.shape[0], game.IDENTIFIED, gone, game.WOLF if lie else game.HUMAN)


@kernel
def _talk_as_seer(s, p, m, me):
    if s.claimed[me] != game.SEER:
        return game.CLAIMS + game.SEER - 1 if s.day >= m.first_day else 0
    for day in range(s.day):
        target = np.int64(s.divine[day]) - 1
        if target >= 0 and s.reported[me, target] == 0:
            return encode(s.left.shape[0], game.DIVINED, target, np.int64(s.divine_result[day]))
    return 0


@kernel
def _talk_as_medium(s, p, m, me):
    first = -1  # the day on whose execution the medium claims
    for day in range(1, s.day):
        if first < 0 and s.medium_result[day] == game.WOLF:
            first = day
    if m.medium_first != 0:
        first = 1
    elif first < 0:
        return 0
    if s.claimed[me] != game.MEDIUM:
        return game.CLAIMS + game.MEDIUM - 1 if s.day >= 1 else 0
    for day in range(1 if m.backlog != 0 else first, s.day):
        target = np.int64(s.executed[day]) - 1
        if target >= 0 and s.identified[me, target] == 0:
            return encode(s.left.shape[0], game.IDENTIFIED, target, np.int64(s.medium_result[day]))
    return 0


@kernel
def talk(s, p, m, me):
    """Utterance of the basic play; Over (action 0) when there is nothing to say."""
    role = s.role[me]
    if role == game.SEER:
        return _talk_as_seer(s, p, m, me)
    if role == game.MEDIUM:
        return _talk_as_medium(s, p, m, me)
    if role == game.POSSESSED:
        return _talk_as_fake_medium(s, p, m, me) if m.fake_medium != 0 else _talk_as_fake_seer(s, p, m, me)
    if role == game.WEREWOLF and m.wolf_seers > 0:
        before = 0
        for k in range(me):
            before += s.role[k] == game.WEREWOLF
        if before < m.wolf_seers:
            return _talk_as_fake_seer(s, p, m, me)
    return 0


@kernel
def guard(s, p, m, me):
    """Target of the bodyguard."""
    others = living_others(s, p, me)
    confirmed, _ = write_levels(s, p, m)
    if confirmed >= 0 and (others >> confirmed) & 1:
        return confirmed
    mediums = claimants(s, p, game.MEDIUM) & others
    claims = claimants(s, p, game.SEER) & others | mediums
    if m.guard_medium != 0 and mediums != 0:
        claims = mediums
    return pick(m, claims if claims != 0 else _blackest(m, others, p.players, True), p.players)


@kernel
def attack(s, p, m, me):
    """Target of a wolf's attack."""
    food = living_others(s, p, me) & ~wolves(s, p)
    confirmed, honest = write_levels(s, p, m)
    seers, mediums = claimants(s, p, game.SEER), claimants(s, p, game.MEDIUM)
    if confirmed < 0 or s.left[confirmed] != 0:
        among = food & ~(seers | mediums)
        return pick(m, among if among != 0 else food, p.players)
    certain = np.int64(0)
    for k in range(p.players):
        if m.level[k] <= -honest and honest > 0 and s.claimed[k] != game.SEER:
            certain |= np.int64(1) << k
    among = food & (seers | mediums | certain) if _living(s, p) <= 7 else np.int64(0)
    if among == 0:
        among = food & (mediums | certain)
    if among == 0:
        among = food & ~(np.int64(1) << confirmed)
    return pick(m, among if among != 0 else food, p.players)


@kernel
def night(s, p, m, me):
    """The choice of seer, bodyguard or wolf."""
    seats, role = s.left.shape[0], s.role[me]
    if role == game.SEER:
        if s.day < m.first_divination:
            return 1
        mine = np.int64(0)
        for day in range(s.day):
            if s.divine[day] > 0:
                mine |= np.int64(1) << np.int64(s.divine[day] - 1)
        among = _divine_target(s, p, m, me, mine)
        if m.grey_divine != 0:
            write_levels(s, p, m)
            among = _blackest(m, among, p.players, False)
        target = pick(m, among, p.players)
        return 1 if target < 0 else encode(seats, game.DIVINATION, target, 0)
    if role == game.BODYGUARD:
        return encode(seats, game.GUARD, guard(s, p, m, me), 0)
    if m.agree != 0:
        for k in range(me):
            if s.role[k] == game.WEREWOLF and s.left[k] == 0:
                return 1  # the first of them decides
    return encode(seats, game.ATTACK, attack(s, p, m, me), 0)


@kernel
def basic_policy(view, p, legal, memory):
    """Kanda and Ito's basic play, with the theory and the readings that the memory record names."""
    me = np.int64(view.to_move)
    if view.phase == game.TALK:
        return talk(view, p, memory, me)
    if view.phase == game.WHISPER:
        return 0
    if view.phase == game.VOTE:
        return encode(view.left.shape[0], game.VOTING, vote(view, p, memory, me), 0)
    return night(view, p, memory, me)


def settings(theory: str = "basic", **choices: int) -> dict[str, int]:
    """The memory fields of the basic play under a theory, with other readings of the open points by name."""
    return {
        **{name: value for name, (value, _) in {**OPEN_POINTS, **VILLAGE_THEORIES}.items()},
        **THEORIES[theory],
        **choices,
    }


def basic_agent(theory: str = "basic", **choices: int) -> KernelAgent:
    """The agent; see `THEORIES`, `OPEN_POINTS` and `VILLAGE_THEORIES`."""
    return KernelAgent(basic_policy, memory=MEMORY, initial=settings(theory, **choices), name="basic")

"""Who meets whom: matches in groups that share a seed, every agent once in every seat."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement
from math import comb, gcd

import numpy as np

from asobiba.arena.match import Match
from asobiba.core import AsobibaError, Ruleset

MOST_GROUPS = 2000
"""Where more groups of agents can fill the seats, a balanced sample of them plays."""


def pairings(ruleset: Ruleset, agents: Sequence[str]) -> list[tuple[str, ...]]:
    """The groups of agents that fill the seats: all pairs where two play, single agents where one does.

    Where the agents are too few to fill the seats, some sit twice, but never one everywhere. Where more than two play
    and there are more than `MOST_GROUPS` groups, a sample of them in which every agent comes equally often.

    Raises:
        AsobibaError: if no group can be made.
    """
    names = list(dict.fromkeys(agents))
    seats = ruleset.num_players
    if len(names) > 1 and seats > 2 and _how_many(len(names), seats) > MOST_GROUPS:
        return balanced_groups(names, seats, -(-MOST_GROUPS // (10 * seats)))
    if seats > len(names) > 1:
        return [group for group in combinations_with_replacement(names, seats) if len(set(group)) > 1]
    if len(names) < min(seats, 2) or not names:
        raise AsobibaError(
            f"{ruleset.game.name} needs at least {min(seats, 2)} agents to meet, given: {', '.join(names) or 'none'}"
        )
    return list(combinations(names, seats))


def _how_many(agents: int, seats: int) -> int:
    return comb(agents, seats) if seats <= agents else comb(agents + seats - 1, seats)


def balanced_groups(agents: Sequence[str], seats: int, rounds: int, seed: int = 0) -> list[tuple[str, ...]]:
    """Groups of `seats` agents in which everybody comes equally often, in a random mixture.

    Decks of all agents are shuffled and dealt one after another; `rounds` times as many decks as it takes for the last
    group to be full. With every rotation of each group's seats, each agent sits equally often in each seat, and under
    each seed in every role that its seed deals to a seat.
    """
    names = list(dict.fromkeys(agents))
    generator = np.random.default_rng(seed)
    decks = seats // gcd(len(names), seats) * rounds
    dealt: list[str] = []
    for _ in range(decks):
        deck = [names[k] for k in generator.permutation(len(names))]
        # Nobody meets himself while there are enough agents: who sits in the group that is being dealt comes later.
        sitting = dealt[len(dealt) - len(dealt) % seats :]
        free = seats - len(sitting)
        if len(names) >= seats and free < seats:
            deck = [n for n in deck if n not in sitting] + [n for n in deck if n in sitting]
        dealt += deck
    return [tuple(dealt[k : k + seats]) for k in range(0, len(dealt), seats)]


def group_seed(ruleset: Ruleset, group: Sequence[str], seed: int, index: int) -> int:
    """The seed (below 2**48) of a group's game number `index`; it does not depend on who else is in the league.

    Agents that play alone all get the same seeds, so that their results differ by what they do.
    """
    text = json.dumps([ruleset.game.name, sorted(group) if len(group) > 1 else [], seed, index])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big")


def rotations(group: Sequence[str]) -> list[tuple[str, ...]]:
    """Every seating that moves all agents on by one seat: for two, both colours."""
    turned = [tuple(group[k:]) + tuple(group[:k]) for k in range(len(group))]
    return list(dict.fromkeys(turned))


def meetings(ruleset: Ruleset, group: Sequence[str], games: int, seed: int) -> Iterator[Match]:
    """At least `games` matches of one group, each seed once in every rotation of the seats."""
    seatings = rotations(group)
    for index in range(-(-games // len(seatings))):
        chosen = group_seed(ruleset, group, seed, index)
        for seats in seatings:
            yield Match.of(ruleset, seats, chosen)


def round_robin(ruleset: Ruleset, agents: Sequence[str], games: int, seed: int = 0) -> list[Match]:
    """Everybody meets everybody in `games` matches; two agents swap seats under the same seed."""
    return _by_index(ruleset, pairings(ruleset, agents), games, seed)


def gauntlet(
    ruleset: Ruleset, newcomers: Sequence[str], agents: Sequence[str], games: int, seed: int = 0
) -> list[Match]:
    """The newcomers meet everybody; the others do not meet each other."""
    fresh = set(newcomers)
    groups = [group for group in pairings(ruleset, [*newcomers, *agents]) if fresh & set(group)]
    return _by_index(ruleset, groups, games, seed)


def _by_index(ruleset: Ruleset, groups: Sequence[tuple[str, ...]], games: int, seed: int) -> list[Match]:
    if games < 1:
        raise AsobibaError(f"a pairing plays at least 1 game, not {games}")
    return [match for group in groups for match in meetings(ruleset, group, games, seed)]


def swiss(
    ruleset: Ruleset, scores: Mapping[str, float], met: Mapping[frozenset[str], int], games: int, seed: int, round_: int
) -> list[Match]:
    """One round of a Swiss tournament between two: neighbours in the order of scores meet, preferably for the first
    time; with an odd number the last sits out.

    Args:
        scores: each agent's points so far.
        met: how often each pair has met.
        games: of each pair, seats swapped.
        round_: the number of the round, which their seeds depend on.
    """
    order = sorted(scores, key=lambda name: (-scores[name], name))
    matches: list[Match] = []
    while len(order) > 1:
        first = order.pop(0)
        least = min(met.get(frozenset((first, other)), 0) for other in order)
        second = next(other for other in order if met.get(frozenset((first, other)), 0) == least)
        order.remove(second)
        for index in range(-(-games // 2)):
            chosen = group_seed(ruleset, (first, second), seed, 1_000_000 * round_ + index)
            matches += [Match.of(ruleset, (first, second), chosen), Match.of(ruleset, (second, first), chosen)]
    return matches


def spread(ratings: Mapping[str, float], count: int) -> list[str]:
    """About `count` agents spread evenly over the ratings: the ones nearest to points at even distances from the lowest
    to the highest, each once."""
    order = sorted(ratings, key=lambda name: (ratings[name], name))
    if len(order) <= count:
        return order
    values = np.array([ratings[name] for name in order])
    wanted = np.linspace(values[0], values[-1], count)
    taken = np.zeros(len(order), bool)
    for target in wanted:
        k = int(np.argmin(np.where(taken, np.inf, np.abs(values - target))))
        taken[k] = True
    return [order[k] for k in np.flatnonzero(taken)]

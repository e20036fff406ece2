"""Pairings and seatings: matches in groups that share a seed, every agent equally often in every seat.

The schedule does not depend on the order in which agents are named.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement, permutations
from math import comb, gcd

import numpy as np

from asobiba.arena.match import Match
from asobiba.arena.trust import contained
from asobiba.core import AsobibaError, Game, Ruleset

MOST_GROUPS = 2000
"""The most groups of agents that all play; if there are more, a balanced sample plays."""
MOST_SEATS_PERMUTED = 4
"""Up to this many seats, a seed is played in all permutations of the agents (24 of four); with more, in drawn ones."""


def pairings(ruleset: Ruleset, agents: Sequence[str]) -> list[tuple[str, ...]]:
    """The groups of agents that fill the seats: all pairs where two play, single agents where one does.

    If there are fewer agents than seats, some sit twice, but no agent takes all seats. If more than two play and there
    are more than `MOST_GROUPS` groups, the result is a sample in which every agent comes equally often.

    Raises:
        AsobibaError: if no group can be made.
    """
    names = sorted(set(agents))
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
    """Groups of `seats` agents, mixed at random, in which every agent comes equally often.

    Decks of all agents are shuffled and dealt one after another; `rounds` times as many decks as it takes for the last
    group to be full. With the `seatings` of each group, each agent sits equally often in each seat, and under each seed
    in every role that its seed deals to a seat.
    """
    names = sorted(set(agents))
    generator = np.random.default_rng(seed)
    decks = seats // gcd(len(names), seats) * rounds
    dealt: list[str] = []
    for _ in range(decks):
        deck = [names[k] for k in generator.permutation(len(names))]
        # No agent meets itself while there are enough agents: members of the group being dealt come later.
        sitting = dealt[len(dealt) - len(dealt) % seats :]
        free = seats - len(sitting)
        if len(names) >= seats and free < seats:
            deck = [n for n in deck if n not in sitting] + [n for n in deck if n in sitting]
        dealt += deck
    return [tuple(dealt[k : k + seats]) for k in range(0, len(dealt), seats)]


def group_seed(ruleset: Ruleset, group: Sequence[str], seed: int | None, index: int | str) -> int:
    """The number (below 2**48) of a group's deal `index`; it does not depend on the other agents of the league.

    In games of one player all agents get the same deals, so that their results differ only by their play.

    Args:
        seed: of a league whose seed is public; `None` where a secret decides the deals (`asobiba.arena.secret`).
    """
    text = json.dumps([ruleset.game.name, sorted(group) if len(group) > 1 else [], seed, index])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big")


def seatings(ruleset: Ruleset, group: Sequence[str], seed: int | None, index: int) -> list[tuple[str, ...]]:
    """Seatings of a group under its seed number `index`: each agent equally often in each seat.

    Up to `MOST_SEATS_PERMUTED` seats these are all permutations. With more, an order round the table is drawn from the
    seed and turned through all seats. Successive seeds change the neighbours: in `neighbour_orders(len(group))`
    seeds every agent follows every other.
    """
    members = sorted(group)
    if len(members) <= MOST_SEATS_PERMUTED:
        return sorted(set(permutations(members)))
    orders = neighbour_orders(len(members))
    block, turn = divmod(index, len(orders))
    drawn = np.random.default_rng([group_seed(ruleset, members, seed, 0), block]).permutation(len(members))
    order = [members[drawn[k]] for k in orders[turn]]
    return list(dict.fromkeys(tuple(order[k:] + order[:k]) for k in range(len(order))))


def neighbour_orders(seats: int) -> list[list[int]]:
    """Orders of `range(seats)` round a table, in which each number follows each other one equally often.

    Equally often holds for odd numbers of seats; for even ones, numbers that are half the table apart follow each other
    twice. E. J. Williams, "Experimental Designs Balanced for the Estimation of Residual Effects of Treatments",
    Australian Journal of Scientific Research A 2, 1949; with a hub for odd numbers, W. Walecki in E. Lucas,
    "Récréations Mathématiques" II, 1883.
    """
    ring = seats - seats % 2
    zigzag = [(k + 1) // 2 if k % 2 else -k // 2 for k in range(ring)]
    return [[*range(ring, seats), *((step + first) % ring for step in zigzag)] for first in range(ring)]


def strangers(game: Game, agents: Iterable[str]) -> frozenset[str]:
    """The third-party agents; their opponents get another deal in every seating.

    They may remember the first game of a deal when they sit at another seat, and then know hidden information.
    """
    return frozenset(name for name in dict.fromkeys(agents) if contained(game, name))


def meetings(
    ruleset: Ruleset,
    group: Sequence[str],
    games: int,
    seed: int | None,
    apart: frozenset[str] | None = None,
    first: int = 0,
) -> Iterator[Match]:
    """At least `games` matches of one group, each deal in all of its `seatings`.

    Args:
        seed, first: see `group_seed`; the deals are counted from `first`.
        apart: the `strangers` among the agents, if known; with one of them no two seatings share their deal.
    """
    shared = len(group) == 1 or not set(group) & (strangers(ruleset.game, group) if apart is None else apart)
    played, index = 0, first
    while played < games:
        for number, seats in enumerate(seatings(ruleset, group, seed, index)):
            yield Match.of(ruleset, seats, group_seed(ruleset, group, seed, index if shared else f"{index}/{number}"))
            played += 1
        index += 1


def round_robin(ruleset: Ruleset, agents: Sequence[str], games: int, seed: int | None = None) -> list[Match]:
    """Everybody meets everybody in `games` matches; two agents swap seats under the same deal."""
    return _by_index(ruleset, pairings(ruleset, agents), games, seed)


def gauntlet(
    ruleset: Ruleset, newcomers: Sequence[str], agents: Sequence[str], games: int, seed: int | None = None
) -> list[Match]:
    """The newcomers meet everybody; the others do not meet each other."""
    fresh = set(newcomers)
    groups = [group for group in pairings(ruleset, [*newcomers, *agents]) if fresh & set(group)]
    return _by_index(ruleset, groups, games, seed)


def _by_index(ruleset: Ruleset, groups: Sequence[tuple[str, ...]], games: int, seed: int | None) -> list[Match]:
    if games < 1:
        raise AsobibaError(f"a pairing plays at least 1 game, not {games}")
    apart = strangers(ruleset.game, (name for group in groups for name in group))
    return [match for group in groups for match in meetings(ruleset, group, games, seed, apart)]


def swiss(
    ruleset: Ruleset,
    scores: Mapping[str, float],
    met: Mapping[frozenset[str], int],
    games: int,
    seed: int | None,
    round_: int,
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
        matches += meetings(ruleset, (first, second), games, seed, first=1_000_000 * round_)
    return matches


def spread(ratings: Mapping[str, float], count: int) -> list[str]:
    """About `count` agents spread evenly over the ratings: the ones nearest to points at even distances from the lowest
    to the highest, each once."""
    order = sorted(ratings, key=lambda name: (round(ratings[name], 6), name))
    if len(order) <= count:
        return order
    values = np.array([ratings[name] for name in order])
    wanted = np.linspace(values[0], values[-1], count)
    taken = np.zeros(len(order), bool)
    for target in wanted:
        k = int(np.argmin(np.where(taken, np.inf, np.abs(values - target))))
        taken[k] = True
    return [order[k] for k in np.flatnonzero(taken)]

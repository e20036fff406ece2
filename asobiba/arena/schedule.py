"""Who meets whom: matches in groups that share a seed, every agent once in every seat."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement

from asobiba.arena.match import Match
from asobiba.core import AsobibaError, Ruleset


def pairings(ruleset: Ruleset, agents: Sequence[str]) -> list[tuple[str, ...]]:
    """All groups of agents that fill the seats: pairs where two play, single agents where one does.

    Where the agents are too few to fill the seats, some sit twice, but never one everywhere.

    Raises:
        AsobibaError: if no group can be made.
    """
    names = list(dict.fromkeys(agents))
    seats = ruleset.num_players
    if seats > len(names) > 1:
        return [group for group in combinations_with_replacement(names, seats) if len(set(group)) > 1]
    if len(names) < min(seats, 2) or not names:
        raise AsobibaError(
            f"{ruleset.game.name} needs at least {min(seats, 2)} agents to meet, given: {', '.join(names) or 'none'}"
        )
    return list(combinations(names, seats))


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

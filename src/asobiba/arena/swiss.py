"""A Swiss tournament: in every round agents of about equal points meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from asobiba.arena.match import Match, MatchRecord
from asobiba.arena.schedule import swiss
from asobiba.arena.store import Store
from asobiba.core import AsobibaError, Ruleset


def play_swiss(
    ruleset: Ruleset,
    agents: Sequence[str],
    rounds: int,
    games: int,
    seed: int | None,
    play: Callable[[list[Match]], Iterable[list[MatchRecord]]],
    store: Store,
) -> Iterator[dict[str, float]]:
    """Plays the rounds; matches that the store holds are not played again.

    Args:
        agents: the participants.
        rounds: number of rounds.
        games: of each meeting, seats swapped.
        seed: of the tournament, if it is public.
        play: plays matches, writes them to `store`, and yields their records.
        store: holds the results.

    Yields:
        After each round every agent's points so far: one for a win, half for a draw.

    Raises:
        AsobibaError: if it is not a game of two players.
    """
    if ruleset.num_players != 2:
        raise AsobibaError(
            f"a Swiss tournament is for games of two players; {ruleset.game.name} has {ruleset.num_players}"
        )
    points = dict.fromkeys(agents, 0.0)
    met: dict[frozenset[str], int] = {}
    for number in range(1, rounds + 1):
        matches = swiss(ruleset, points, met, games, seed, number)
        for _ in play(matches):
            pass
        for match in matches:
            record = store.record(match.key)
            first, second = record.returns
            points[match.seats[0]] += 0.5 * ((first > second) + (first >= second))
            points[match.seats[1]] += 0.5 * ((second > first) + (second >= first))
        for pair in {frozenset(match.seats) for match in matches}:
            met[pair] = met.get(pair, 0) + 1
        yield dict(points)

"""Plays a league: matches of the schedule that the store lacks go to the executor, and every record to the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from asobiba.arena.costs import past_pairings
from asobiba.arena.executors import Executor
from asobiba.arena.match import Match, MatchRecord
from asobiba.arena.schedule import gauntlet, round_robin
from asobiba.arena.secret import Secret
from asobiba.arena.store import Store
from asobiba.arena.trust import is_loaded, make_trusted, trusted
from asobiba.core import Game, Ruleset, agent_declarations
from asobiba.sources import league_digest


@dataclass(frozen=True)
class LeagueRun:
    """Summary of a call of `run_league`: numbers of matches scheduled, already there, played now, and still missing."""

    wanted: int
    before: int
    played: int

    @property
    def left(self) -> int:
        return self.wanted - self.before - self.played


def league_agents(game: Game) -> list[str]:
    """The agents that a league includes by default."""
    return [name for name, declaration in agent_declarations(game).items() if declaration.league]


def check_agents(ruleset: Ruleset, agents: Sequence[str], executor: Executor) -> None:
    """Builds every agent once, so that one that is misspelt, or does not play this game, is found before any match.

    Agents that are more than a kernel are built, and begin a game, in a worker, which their constructors cannot hang.

    Raises:
        UnknownAgent, GameParameterError, RefusedAgent: for the first agent that cannot play.
        GameMistake: for a mistake of the game's author.
    """
    ruleset.require_tried()
    trust = executor.terms.trust
    here, elsewhere = [], []
    for text in dict.fromkeys(agents):
        if trusted(ruleset.game, text) and not is_loaded(text):
            here.append(make_trusted(ruleset.game, text, trust))
        else:
            elsewhere.append(Match.of(ruleset, (text,) * ruleset.num_players, 0))
    for agent in here:  # when all are known: a misspelt name need not wait until the others have compiled
        agent.prepare(ruleset)
        agent.close()
    if elsewhere:
        executor.check(elsewhere)


def run_league(
    ruleset: Ruleset,
    agents: Sequence[str],
    store: Store,
    executor: Executor,
    games: int = 100,
    secret: Secret | None = None,
    newcomers: Sequence[str] = (),
    until: float | None = None,
    report: Callable[[LeagueRun, list[MatchRecord]], None] | None = None,
) -> LeagueRun:
    """Plays the missing matches and writes every record as it comes.

    It may be stopped at any moment, even by SIGKILL: the next call plays the rest. With more agents or more games per
    pairing, only the added matches are played.

    Args:
        ruleset: the game and its parameters.
        agents: as text.
        store: holds the results, and receives the new ones.
        executor: plays the matches.
        games: per pairing (single agents: per agent), both seats together.
        secret: from which the seeds of the matches follow; by default the store's own, which is unknown to all until
            the league is published. The secret of a public seed makes a different league.
        newcomers: if given, only matches with one of these are played (a gauntlet).
        until: stop at this time of `time.monotonic()`.
        report: called at the start and with the records that have just been written.
    """
    store.require(ruleset)
    seed = None if secret is None else secret.seed
    if newcomers:
        wanted = gauntlet(ruleset, newcomers, agents, games, seed)
    else:
        wanted = round_robin(ruleset, agents, games, seed)
    check_agents(ruleset, [*newcomers, *agents], executor)
    present = store.keys(ruleset)
    state = LeagueRun(len(wanted), sum(match.key in present for match in wanted), 0)
    if report:
        report(state, [])
    if until is None or time.monotonic() < until:
        for records in play_missing(ruleset, wanted, store, executor, until, present, secret):
            state = LeagueRun(state.wanted, state.before, state.played + len(records))
            if report:
                report(state, records)
    return state


def play_missing(
    ruleset: Ruleset,
    wanted: Sequence[Match],
    store: Store,
    executor: Executor,
    until: float | None = None,
    present: set[str] | None = None,
    secret: Secret | None = None,
) -> Iterator[list[MatchRecord]]:
    """Plays the matches that the store lacks, and yields the records that have been written.

    Their seeds follow from the store's secret, or from the one that is given.

    Records are written together a few times a second, which is much cheaper than one after another.
    """
    present = store.keys(ruleset) if present is None else present
    missing = [match for match in wanted if match.key not in present]
    if not missing:
        return
    secret = store.secret(ruleset, secret)
    missing = secret.deal_all(missing)
    if store.is_file:
        executor.hide(store.place)
    code = league_digest(ruleset.game.name)
    if code is not None:
        store.played_by(ruleset, code)
    before = past_pairings(store.examine(ruleset).results) if present else {}
    waiting: list[MatchRecord] = []
    written = time.monotonic()
    try:
        for records in executor.play(missing, until, before):
            waiting += records
            if time.monotonic() - written > _WRITE_EVERY:
                store.write(waiting, secret)
                done, waiting = waiting, []
                yield done
                written = time.monotonic()
    finally:
        if waiting:
            store.write(waiting, secret)
    if waiting:
        yield waiting


_WRITE_EVERY = 0.25
"""Seconds between two writes to the store."""


def play_series(
    ruleset: Ruleset,
    matches: Sequence[Match],
    executor: Executor,
    report: Callable[[int, list[MatchRecord]], None] | None = None,
) -> list[MatchRecord]:
    """Plays matches without a store and returns their records in the order of the matches."""
    records: dict[str, MatchRecord] = {}
    for found in executor.play(matches):
        records.update((record.match.key, record) for record in found)
        if report:
            report(len(records), found)
    return [records[match.key] for match in matches]

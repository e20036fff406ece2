"""Plays a league: what the schedule wants and the store lacks goes to the executor, and every record to the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from asobiba.arena.executors import Executor
from asobiba.arena.match import Match, Record
from asobiba.arena.schedule import gauntlet, round_robin
from asobiba.arena.store import Store
from asobiba.core import Game, Ruleset, agent_declarations, make_agent


@dataclass(frozen=True)
class LeagueRun:
    """What a call of `run_league` did: matches that the schedule wants, had before, played now, and still lacks."""

    wanted: int
    before: int
    played: int

    @property
    def left(self) -> int:
        return self.wanted - self.before - self.played


def league_agents(game: Game) -> list[str]:
    """The agents that a league includes unless told otherwise."""
    return [name for name, declaration in agent_declarations(game).items() if declaration.league]


def check_agents(ruleset: Ruleset, agents: Sequence[str]) -> None:
    """Builds every agent once, so that a misspelt one is found before anything is played.

    Raises:
        UnknownAgent, GameParameterError: as `asobiba.core.make_agent`.
    """
    for text in dict.fromkeys(agents):
        make_agent(ruleset.game, text).close()


def run_league(
    ruleset: Ruleset,
    agents: Sequence[str],
    store: Store,
    executor: Executor,
    games: int = 100,
    seed: int = 0,
    newcomers: Sequence[str] = (),
    until: float | None = None,
    report: Callable[[LeagueRun, list[Record]], None] | None = None,
) -> LeagueRun:
    """Plays what is missing and writes every record as it comes.

    It may be stopped at any moment, by SIGKILL too: the next call plays the rest. A longer list of agents or more
    games per pairing play only what they add.

    Args:
        ruleset: the game and its parameters.
        agents: as text.
        store: where the results are and go.
        executor: who plays.
        games: per pairing (single agents: per agent), both seats together.
        seed: of the league; the seeds of the matches follow from it.
        newcomers: if given, only matches with one of these are played (a gauntlet).
        until: stop at this time of `time.monotonic()`.
        report: called at the start and with the records that have just been written.
    """
    store.require(ruleset)
    if newcomers:
        check_agents(ruleset, newcomers)
        wanted = gauntlet(ruleset, newcomers, agents, games, seed)
    else:
        wanted = round_robin(ruleset, agents, games, seed)
    check_agents(ruleset, agents)
    present = store.keys(ruleset)
    missing = [match for match in wanted if match.key not in present]
    state = LeagueRun(len(wanted), len(wanted) - len(missing), 0)
    if report:
        report(state, [])
    if missing and (until is None or time.monotonic() < until):
        for records in executor.play(missing, until):
            store.write(records)
            state = LeagueRun(state.wanted, state.before, state.played + len(records))
            if report:
                report(state, records)
    return state


def play_series(
    ruleset: Ruleset,
    matches: Sequence[Match],
    executor: Executor,
    report: Callable[[int, list[Record]], None] | None = None,
) -> list[Record]:
    """Plays matches without a store and returns their records in the order of the matches."""
    records: dict[str, Record] = {}
    for found in executor.play(matches):
        records.update((record.match.key, record) for record in found)
        if report:
            report(len(records), found)
    return [records[match.key] for match in matches]

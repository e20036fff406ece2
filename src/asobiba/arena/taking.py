"""Takes games of a published league over into a store, so that only those of agents that have changed are played again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from asobiba.arena.executors import Executor
from asobiba.arena.league import check_agents, play_series
from asobiba.arena.match import RULES, TRUNCATION, MatchRecord
from asobiba.arena.records_file import NAME, RecordsFile
from asobiba.arena.store import Store
from asobiba.core import AsobibaError, Ruleset, agent_declarations
from asobiba.core.agents import parse_agent
from asobiba.sources import league_digest

_SHOWN = 5


class ChangedAgents(AsobibaError, ValueError):
    """Raised for games that the present code would play otherwise."""


def sampled(ruleset: Ruleset, folder: Path, again: Sequence[str]) -> tuple[RecordsFile, list[MatchRecord]]:
    """The records of a published league, and the first game of every seating without the agents `again`.

    Games that did not end by the rules alone are left out of the sample: they depend on the machine.

    Raises:
        AsobibaError: if the folder holds another league, damaged records, or one of these agents is neither in it nor declared.
    """
    file = RecordsFile(folder / NAME)
    if file.ruleset != ruleset:
        raise AsobibaError(f"{folder} holds games of {file.ruleset}, not of {ruleset}; give its parameters with -p")
    if faults := file.faults():
        raise AsobibaError(f"{folder}: {faults[0][0]} {faults[0][1]}; nothing was taken from it")
    declared = agent_declarations(ruleset.game)
    new = {text for text in again if parse_agent(text)[0] in declared}  # an agent that the league does not have yet
    if unknown := set(again) - new - set(file.header["agents"]):
        raise AsobibaError(
            f"no games of {', '.join(sorted(unknown))} are in {folder}, but of {', '.join(file.header['agents'])}"
        )
    found: dict[tuple[str, ...], MatchRecord] = {}
    for record in (one.record for one in file.listed()):
        if record.reason in (RULES, TRUNCATION) and not set(again) & set(record.match.seats):
            found.setdefault(record.match.seats, record)
    return file, list(found.values())


def compare_games(
    compared: Sequence[MatchRecord],
    executor: Executor,
    report: Callable[[int, list[MatchRecord]], None] | None = None,
) -> None:
    """Plays games again, which must come out as they are on record.

    Args:
        compared: of one ruleset.
        executor: plays them.
        report: called with how many games have been played so far, and their records.

    Raises:
        ChangedAgents: if a game comes out otherwise.
    """
    if not compared:
        return
    agents = list(dict.fromkeys(text for record in compared for text in record.match.seats))
    check_agents(compared[0].match.ruleset(), agents, executor)
    _compare(
        compared, play_series(compared[0].match.ruleset(), [record.match for record in compared], executor, report)
    )


def take_games(file: RecordsFile, again: Sequence[str], store: Store) -> int:
    """Takes the games of a published league over, but for those of some agents; returns how many are new in the store.

    Args:
        file: the league's records.
        again: agents, as text, whose games are left to be played.
        store: receives the games, with their secrets, which count as published; what is already there stays as it is.
    """
    ruleset = file.ruleset
    code = league_digest(ruleset.game.name)
    if code is not None:
        store.played_by(ruleset, code)
    kept = [one for one in file.listed() if not set(again) & set(one.record.match.seats)]
    parts = groupby(kept, key=lambda one: one.entry.secret)
    taken = sum(store.write([one.record for one in part], file.secret(text)) for text, part in parts)
    store.publish_secrets(ruleset)
    return taken


def _compare(recorded: Sequence[MatchRecord], played: Sequence[MatchRecord]) -> None:
    pairs = zip(recorded, played, strict=True)
    other = [one for one, two in pairs if (one.actions, one.digest) != (two.actions, two.digest)]
    if not other:
        return
    some = "; ".join(" - ".join(record.match.seats) for record in other[:_SHOWN])
    common = sorted(set.intersection(*(set(record.match.seats) for record in other)))
    told = f" All of them have {common[0]}: --again {common[0]}." if common else ""
    raise ChangedAgents(
        f"{len(other)} of {len(recorded)} games that were played again came out otherwise ({some}).{told} Name the agents "
        "that have changed with --again, or play the whole league again"
    )

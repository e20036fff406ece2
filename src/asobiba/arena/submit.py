"""Enters an agent: checks it, plays it against the reference agents at once, and gives its place.

The paper's thinned schedule: about 10 reference agents first (a provisional rating at once), then about 100 opponents
spread evenly over the ratings, then defence against newcomers, as part of those newcomers' entry.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from asobiba.arena.executors import Executor
from asobiba.arena.league import check_agents, play_missing
from asobiba.arena.match import Match, MatchRecord
from asobiba.arena.references import references
from asobiba.arena.schedule import meetings, spread
from asobiba.arena.secret import Secret
from asobiba.arena.standings import Standings, standings
from asobiba.arena.store import Store
from asobiba.arena.trust import NOBODY, Trust, make_player
from asobiba.core import Agent, AsobibaError, Game, Ruleset, agent_declarations
from asobiba.protocols.hosted import HostedAgent

OPPONENTS = 100


@dataclass(frozen=True)
class Submission:
    """Result of a submission: the agent's text, its place (1 is best) among how many, and the table."""

    agent: str
    place: int
    of: int
    table: Standings


_KINDS = {".py": "file", ".yaml": "rules", ".yml": "rules", ".safetensors": "sb3", ".zip": "sb3"}
_WHAT = "a strategy (.py, .yaml), a policy (.safetensors, or a .zip of Stable-Baselines3) or a program"


def agent_text(file: str, folder: Path, game: Game | None = None) -> str:
    """The agent for a submitted file: a strategy (`.py`; `.yaml`: rules), a policy (`.safetensors`, `.zip`), or a
    program.

    The file is copied into `folder` under a name and a digest of its content, so that the player cannot change later.
    The name is the file's own; with `game` a strategy is built first (in a contained process if it is code), and the
    name that it declares is taken.

    Raises:
        AsobibaError: if there is no such file, or it is of another kind.
    """
    path = Path(file)
    if not path.is_file():
        raise AsobibaError(f"there is no file {path}; submit {_WHAT}")
    kind = _KINDS.get(path.suffix, "process")
    if kind == "process" and not os.access(path, os.X_OK):
        raise AsobibaError(f"{path} is none of what can be submitted, and not executable as a program; submit {_WHAT}")
    name = path.stem if game is None else declared_name(game.ruleset(), f"{kind}:{path}") or path.stem
    digest = hashlib.blake2b(path.read_bytes(), digest_size=4).hexdigest()
    # The name becomes part of an agent's text, where blanks, commas and quotes have a meaning.
    stem, suffix = (re.sub(r"[^\w.-]", "_", part) for part in (name, path.suffix))
    place = folder / f"{stem}-{digest}{suffix}"
    if re.search(r"[\s,'\"=]", str(folder)):
        raise AsobibaError(
            f"the league's folder {str(folder)!r} has a blank, a comma, a quote or an equals sign in its name, and agents are "
            "named by their files; put the store elsewhere (--store)"
        )
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
    return f"{kind}:{place}"


def declared_name(ruleset: Ruleset, text: str, trust: Trust = NOBODY) -> str:
    """The name that the strategy behind `file:PATH` or `rules:PATH` declares; nothing of other agents, or where it
    declares none.
    """
    if not text.startswith(("file:", "rules:")):
        return ""
    with closing(make_player(ruleset.game, text, trust)) as agent:
        if isinstance(agent, HostedAgent):  # its process tells the name when it begins a game
            agent.reset(ruleset, 0, 0)
        return agent.declared if agent.declared != Agent.name else ""


def names_in_table(ruleset: Ruleset, agents: Sequence[str], trust: Trust = NOBODY) -> dict[str, str]:
    """The names of agents in a table: strategies from files have the names that they declare, with the file where
    another agent has the same; others are called as they were given.
    """
    declared = {text: declared_name(ruleset, text, trust) or text for text in dict.fromkeys(agents)}
    taken = [*declared.values(), *agent_declarations(ruleset.game)]
    return {
        text: name if name == text or taken.count(name) == 1 else f"{name} ({text})" for text, name in declared.items()
    }


def submit(
    ruleset: Ruleset,
    text: str,
    store: Store,
    executor: Executor,
    games: int = 20,
    opponents: int = OPPONENTS,
    secret: Secret | None = None,
    report: Callable[[str, int, list[MatchRecord]], None] | None = None,
) -> Submission:
    """Enters an agent.

    Args:
        ruleset: the game and its parameters.
        text: the agent.
        store: of the league.
        executor: plays the matches.
        games: against each opponent, seats swapped.
        opponents: of the second round, spread evenly over the ratings.
        secret: from which the seeds of the matches follow; by default the store's own.
        report: called with the round, its number of games, and the records as they come.

    Raises:
        RefusedAgent, UnknownAgent: if the agent cannot play this game.
        AsobibaError: if the game declares no reference agents and the league has none to meet.
    """
    store.require(ruleset)
    known = [reference.agent for reference in references(ruleset.game)]
    table = standings(ruleset, store.results(ruleset))
    present = {line.agent: line.rating for line in table.lines if line.agent != text}
    first = known or spread(present, 10)
    if not first:
        raise AsobibaError(
            f"{ruleset.game.name} declares no reference agents and nobody has played; begin with: asobiba league run"
        )
    check_agents(ruleset, [*first, text], executor)
    _round(ruleset, text, first, store, executor, games, secret, report, "against the reference agents")
    others = spread({name: rating for name, rating in present.items() if name not in first}, opponents)
    if others:
        check_agents(ruleset, others, executor)
        _round(ruleset, text, others, store, executor, games, secret, report, "against the league")
    table = standings(ruleset, store.results(ruleset))
    place = next(line.rank for line in table.lines if line.agent == text)
    return Submission(text, place, len(table.lines), table)


def _round(
    ruleset: Ruleset,
    text: str,
    others: Sequence[str],
    store: Store,
    executor: Executor,
    games: int,
    secret: Secret | None,
    report: Callable[[str, int, list[MatchRecord]], None] | None,
    title: str,
) -> None:
    wanted: list[Match] = []
    for other in others:
        if other != text:
            seats = (text, other) if ruleset.num_players == 2 else tuple([text, other] * ruleset.num_players)
            wanted += meetings(ruleset, seats[: ruleset.num_players], games, secret.seed if secret else None)
    for records in play_missing(ruleset, wanted, store, executor, secret=secret):
        if report:
            report(title, len(wanted), records)

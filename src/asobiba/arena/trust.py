"""Agents whose code may run inside the referee's process.

The code of asobiba itself, and of the package that provides the game (its rules run there anyway), is trusted. Files,
programs and agents of other packages are untrusted by default: each of them runs in a separate contained process
(`asobiba.protocols`), so that it cannot read the opponent's state, the generator or the record being written. No module
of an untrusted package is imported here.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

from asobiba.core import (
    Agent,
    AgentDeclaration,
    AsobibaError,
    Game,
    GameParameterError,
    agent_declarations,
    make_agent,
)
from asobiba.core.agents import LOADERS, Starts, parse_agent, random_agent, random_box_agent
from asobiba.core.installed import entry_points
from asobiba.protocols import sandbox
from asobiba.protocols.hosted import HostedAgent

_OWN = "asobiba"


class UncontainedProgram(AsobibaError, RuntimeError):
    """Raised for a loader that declares that it starts programs, but not how it contains them."""


@dataclass(frozen=True)
class Trust:
    """Agents that need no containment: those named (as text, or by the name before the colon), or all."""

    names: frozenset[str] = frozenset()
    everybody: bool = False

    @classmethod
    def of(cls, words: Any = ()) -> Trust:
        """From the words of `--trust`: names of agents, or `all`."""
        words = frozenset(words or ())
        return cls(words - {"all"}, "all" in words)

    def includes(self, text: str) -> bool:
        return self.everybody or text in self.names or text.partition(":")[0] in self.names


NOBODY = Trust()
EVERYBODY = Trust(everybody=True)


def trusted(game: Game, text: str, trust: Trust = NOBODY) -> bool:
    """Whether this agent may think inside the referee's process.

    A program that a loader starts (`asobiba.core.agent_loader`) thinks outside in any case.
    """
    if trust.includes(text):
        return True
    loader = _loader(text)
    if loader is not None:
        return _starts(loader) != "code"
    name = text.partition(":")[0]
    return name in _declared(game) or not _strangers(game)


def contained(game: Game, text: str, trust: Trust = NOBODY) -> bool:
    """Whether this agent, or the program behind it, thinks in a contained process."""
    if trust.includes(text):
        return False
    loader = _loader(text)
    return _starts(loader) != "nothing" if loader is not None else not trusted(game, text)


def make_trusted(game: Game, text: str, trust: Trust = NOBODY) -> Agent:
    """Builds a trusted agent as `asobiba.core.make_agent` does, without importing packages that are not trusted.

    Raises:
        UnknownAgent, GameParameterError: as there.
    """
    with sandbox.consent(trust.includes(text)):
        name = text.partition(":")[0]
        declaration = _declared(game).get(name)
        if declaration is None or _loader(text) is not None or not _strangers(game):
            return make_agent(game, text)
        parameters = parse_agent(text)[1]
        known = inspect.signature(declaration.make).parameters
        if not parameters.keys() <= known.keys():
            raise GameParameterError(f"agent {text!r} of {game.name} has the parameters: {', '.join(known) or 'none'}")
        agent = declaration.make(**parameters)
        agent.name = text
        return agent


def make_player(game: Game, text: str, trust: Trust = NOBODY) -> Agent:
    """The agent that takes the seat: the agent itself, or a proxy for its contained process."""
    if not trusted(game, text, trust):
        return HostedAgent(game, text)
    agent = make_trusted(game, text, trust)
    if _loader(text) is not None and contained(game, text, trust) and getattr(agent, "sandbox", None) is None:
        agent.close()
        raise UncontainedProgram(
            f"{text!r} starts a program, but its loader keeps no `sandbox` (asobiba.protocols.sandbox.current()) that would "
            "contain it; --trust runs it without"
        )
    return agent


@cache
def _starts(loader: EntryPoint) -> Starts:
    """A loader's declaration, if the loader is asobiba's own; others are not imported here."""
    return getattr(loader.load(), "starts", "code") if _distribution(loader) == _OWN else "code"


def is_loaded(text: str) -> bool:
    """Whether a loader (`sb3:`, `usi:`, `process:` and the like) makes this agent."""
    return _loader(text) is not None


def _loader(text: str) -> EntryPoint | None:
    name, colon, _ = text.partition(":")
    entries = entry_points(group=LOADERS) if colon else ()
    return next((entry for entry in entries if entry.name == name), None)


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else ""


@cache
def _home(game: str) -> str:
    """The distribution that provides the game; a game registered in this process belongs to the user who runs it."""
    for entry in entry_points(group="asobiba.games"):
        if entry.name.partition("-v")[0] == game:
            return _distribution(entry)
    return _OWN


def _packages(game: Game) -> dict[str, bool]:
    """The packages that declare agents of this game, and whether they are trusted."""
    found = {}
    for entry in entry_points(group="asobiba.agents"):
        if entry.name == game.name:
            found[entry.value] = _distribution(entry) in (_OWN, _home(game.name))
    return found


def trusted_packages(game: Game) -> list[str]:
    """The packages of a game's agents that are trusted."""
    return [name for name, ours in _packages(game).items() if ours]


def _strangers(game: Game) -> bool:
    return not all(_packages(game).values())


def _declared(game: Game) -> dict[str, AgentDeclaration]:
    """The agents that trusted packages declare, and `random`."""
    usual = random_agent if hasattr(game.rules, "legal") else random_box_agent
    found = {"random": AgentDeclaration("random", usual, "plays uniformly over the legal actions")}
    if not _strangers(game):
        return agent_declarations(game)
    for package in trusted_packages(game):
        declared = importlib.import_module(package).AGENTS
        for declaration in declared.get(game.name, ()) if isinstance(declared, Mapping) else declared:
            found[declaration.name] = declaration
    return found

"""Strategies written as data: `rules:FILE` is an agent of a game whose agents' package reads such files.

The package (see `asobiba.core.agents.agent_packages`) has a function `strategy_file(path) -> Agent`.
"""

from __future__ import annotations

import importlib

from asobiba.core import Agent, Game, GameParameterError, agent_loader
from asobiba.core.agents import agent_packages


@agent_loader(starts="nothing")
def load_agent(game: Game, argument: str) -> Agent:
    """The loader behind `rules:FILE` (entry point of the group `asobiba.agent_loaders`).

    Raises:
        GameParameterError: if the game has no strategies of this kind, or the file is not one (with line and reason).
    """
    for package in agent_packages(game.name):
        read = getattr(importlib.import_module(package), "strategy_file", None)
        if read is not None:
            return read(argument)
    raise GameParameterError(f"{game.name} has no strategies that are written as rules, so rules:{argument} is none")

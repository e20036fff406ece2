"""Shared by all games: the declaration, state records, random numbers, the compiled engine, the registry.

Compiled parts are imported when they are first used, so that importing this package does not import Numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from asobiba.core.errors import (
    AsobibaError,
    GameMistake,
    GameParameterError,
    IllegalAction,
    MissingExtra,
    NotationError,
    PositionError,
    StateBytesError,
    UnknownAgent,
    UnknownGame,
    UnknownParameter,
)
from asobiba.core.game import Game, Layout, Ruleset
from asobiba.core.registry import game, game_names, games, register_game

if TYPE_CHECKING:
    from asobiba.core.agents import (
        Agent,
        AgentDeclaration,
        KernelAgent,
        agent_declarations,
        agent_loader,
        make_agent,
    )
    from asobiba.core.kernels import compiled, kernel
    from asobiba.core.random import (
        mix64,
        random_below,
        random_legal,
        random_normal,
        random_u64,
        random_uniform,
        seed_record,
    )

_LAZY = {
    **dict.fromkeys(
        ("Agent", "AgentDeclaration", "KernelAgent", "agent_declarations", "agent_loader", "make_agent"),
        "asobiba.core.agents",
    ),
    **dict.fromkeys(("compiled", "kernel"), "asobiba.core.kernels"),
    **dict.fromkeys(
        ("mix64", "random_below", "random_legal", "random_normal", "random_u64", "random_uniform", "seed_record"),
        "asobiba.core.random",
    ),
}

__all__ = [
    "Agent",
    "AgentDeclaration",
    "AsobibaError",
    "Game",
    "GameMistake",
    "GameParameterError",
    "IllegalAction",
    "KernelAgent",
    "Layout",
    "MissingExtra",
    "NotationError",
    "PositionError",
    "Ruleset",
    "StateBytesError",
    "UnknownAgent",
    "UnknownGame",
    "UnknownParameter",
    "agent_declarations",
    "agent_loader",
    "compiled",
    "game",
    "game_names",
    "games",
    "kernel",
    "make_agent",
    "mix64",
    "random_below",
    "random_legal",
    "random_normal",
    "random_u64",
    "random_uniform",
    "register_game",
    "seed_record",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

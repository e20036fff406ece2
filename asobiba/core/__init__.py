"""What all games share: the declaration, state records, random numbers, the compiled engine, the registry."""

from asobiba.core.agents import Agent, AgentDeclaration, KernelAgent, agent_declarations, make_agent
from asobiba.core.errors import (
    AsobibaError,
    GameParameterError,
    IllegalAction,
    MissingExtra,
    NotationError,
    PositionError,
    StateBytesError,
    UnknownAgent,
    UnknownGame,
)
from asobiba.core.game import Game, Layout, Ruleset
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
from asobiba.core.registry import game, game_names, games, register_game

__all__ = [
    "Agent",
    "AgentDeclaration",
    "AsobibaError",
    "Game",
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
    "agent_declarations",
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

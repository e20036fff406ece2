"""The adaptors: each game in the form that each ecosystem expects. Imported lazily."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pettingzoo import AECEnv, ParallelEnv

    from asobiba.core.game import Game

_LAZY = {
    "Batch": "asobiba.api.batch",
    "SeatEnv": "asobiba.api.seat",
    "Seating": "asobiba.api.seating",
    "VectorEnv": "asobiba.api.vector",
    "SB3VecEnv": "asobiba.api.sb3",
    "MaskedObservation": "asobiba.api.masks",
    "VectorMaskedObservation": "asobiba.api.masks",
    "AEC": "asobiba.api.pettingzoo",
    "Parallel": "asobiba.api.pettingzoo",
}
__all__ = ["expose", *_LAZY]


def expose(game: Game) -> tuple[Callable[..., AECEnv], Callable[..., AECEnv], Callable[..., ParallelEnv]]:
    """PettingZoo's three functions for a game, for its package to bind: `env, raw_env, parallel_env = expose(GAME)`."""

    def env(**kwargs: Any) -> AECEnv:
        from asobiba.api.pettingzoo import AEC

        return AEC(game, **kwargs)

    def parallel_env(**kwargs: Any) -> ParallelEnv:
        from asobiba.api.pettingzoo import Parallel

        return Parallel(game, **kwargs)

    env.__doc__ = f"{game.title} in PettingZoo's turn-based (AEC) form."
    parallel_env.__doc__ = f"{game.title} in PettingZoo's parallel form."
    return env, env, parallel_env


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

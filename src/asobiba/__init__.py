"""asobiba (遊び場, "playground"): reinforcement-learning environments for games that no other collection has.

Importing it enters every game into Gymnasium's registry and, from PettingZoo 1.27 on, into PettingZoo's:

    import asobiba, gymnasium, pettingzoo

    gymnasium.make("asobiba/Battleship-v0", opponent="random")
    pettingzoo.make("aec", "asobiba/battleship-v0")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from asobiba.checkout import require_links as _require_links

_require_links()

from asobiba.api.registration import register_when_imported as _register_when_imported  # noqa: E402

if TYPE_CHECKING:
    from asobiba.api.batch import Batch as Batch
    from asobiba.api.seat import SeatEnv
    from asobiba.api.vector import VectorEnv

__version__ = "0.1.0"
_LAZY = {
    "Batch": "asobiba.api.batch",
    "game": "asobiba.core.registry",
    "game_names": "asobiba.core.registry",
    "games": "asobiba.core.registry",
    "register_game": "asobiba.core.registry",
}
__all__ = ["make", "make_vec", *_LAZY]


def make(game: str, **kwargs: Any) -> SeatEnv:
    """A game by its short name as a Gymnasium environment from one seat; see `asobiba.api.SeatEnv`.

    >>> env = make("battleship", opponent="random")
    >>> observation, info = env.reset(seed=0)
    >>> info["action_mask"].shape
    (200,)
    """
    from asobiba.api.seat import SeatEnv

    return SeatEnv(game, **kwargs)


def make_vec(game: str, num_envs: int = 1, **kwargs: Any) -> VectorEnv:
    """A game by its short name as a Gymnasium vector environment; see `asobiba.api.VectorEnv`.

    >>> envs = make_vec("battleship", num_envs=3, opponent="random")
    >>> observations, infos = envs.reset(seed=0)
    >>> len(observations), infos["action_mask"].shape
    (3, (3, 200))
    """
    from asobiba.api.vector import VectorEnv

    return VectorEnv(game, num_envs=num_envs, **kwargs)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_register_when_imported()

"""The search rules of Bao with the learned evaluation and the endgame database."""

from asobiba.baselines.bao.search_endgame import play
from asobiba.baselines.bao.search_learned import (
    WEIGHTS,
    evaluate,
    game_keys,
    generate,
    load,
    max_moves,
    position_fields,
    repetition,
)

__all__ = [
    "WEIGHTS",
    "evaluate",
    "game_keys",
    "generate",
    "load",
    "max_moves",
    "play",
    "position_fields",
    "repetition",
]

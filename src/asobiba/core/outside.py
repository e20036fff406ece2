"""Finds an author's mistakes in what the rules of a game take from elsewhere: chance, arithmetic, the notation."""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import random
import textwrap
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from asobiba.core.errors import GameMistake
from asobiba.core.mistakes import NEEDED, OPTIONAL, home_of
from asobiba.core.places import function_of, nearest, place_of, told

if TYPE_CHECKING:
    from asobiba.core.game import Game


def require_outside_names(game: Game) -> None:
    """Checks what a game takes from elsewhere: no chance but its own, nothing of the C library, a notation that is whole.

    Raises:
        GameMistake: for the first mistake, with the file and line of the author's code.
    """
    kernels = [function_of(getattr(game.rules, name, None)) for name in (*NEEDED, *OPTIONAL)]
    waiting = [kernel for kernel in kernels if kernel is not None]
    for function in waiting:  # it grows
        waiting += [one for one in _require_own_chance_and_arithmetic(function) if one not in waiting]
    if game.notation is None:
        return
    try:
        module = importlib.import_module(game.notation)
    except Exception as error:
        raise GameMistake(told(error, home_of(game), f"importing {game.notation}")) from error
    for name in ("action_to_text", "text_to_action", "board_text"):
        if not hasattr(module, name):
            raise GameMistake(
                f"{module.__file__}:1: the notation has no function `{name}`{nearest(name, vars(module))}"
            )


_OF_THE_C_LIBRARY = [
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "arcsin", "arccos", "arctan", "arctan2",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "arcsinh", "arccosh", "arctanh",
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "power", "float_power", "cbrt", "hypot",
    "erf", "erfc", "gamma", "lgamma",
]  # fmt: skip
_INEXACT = [getattr(module, name) for module in (math, np) for name in _OF_THE_C_LIBRARY if hasattr(module, name)]


def _require_own_chance_and_arithmetic(function: FunctionType) -> list[FunctionType]:
    """The author's own functions that a function calls."""
    found: list[FunctionType] = []
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):
        return []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        chain = ast.unparse(node).split(".")
        value: Any = function.__globals__.get(chain[0])
        for name in chain[1:]:
            value = getattr(value, name, None) if isinstance(value, ModuleType) else None
        if value is None:
            continue
        where, module = place_of(function, first + node.lineno - 1), getattr(value, "__module__", None) or ""
        if value is random or value is np.random or module == "random" or module.startswith("numpy.random"):
            raise GameMistake(
                f"{where}: {'.'.join(chain)}: kernels draw from the state, so that a seed gives the same game: "
                "asobiba.core.random_below(s, n), random_uniform(s)"
            )
        if any(value is one for one in _INEXACT):
            raise GameMistake(
                f"{where}: {'.'.join(chain)}: machines differ in its last bits, and in the games then; take it from "
                "asobiba.core.elementary"
            )
        called = function_of(value)
        if called is not None and not called.__module__.startswith(("asobiba.core", "numba", "numpy")):
            found.append(called)
    return found

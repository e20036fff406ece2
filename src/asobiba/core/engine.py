"""The compiled engine: the loops over games bound to a game's rules, and to the policies of agents.

`engine_for(game)` is a module like `asobiba.core.loops.games` in which the placeholders are the game's own kernels;
`agent_engine_for(game, policies)` is the same with up to four compiled agents at the seats. Both lie in the cache folder
and are compiled function by function at the first call (see `asobiba.core.cache`).
"""

from __future__ import annotations

from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from numba.core.dispatcher import Dispatcher

from asobiba.core.cache import bind_module
from asobiba.core.identity import python_function
from asobiba.core.loops import placeholder
from asobiba.core.loops.arrays import MOST_POLICIES

LOOPS = "asobiba.core.loops.games"
Engine = ModuleType


_NEEDED = ("reset", "step", "observe")
_OPTIONAL = ("legal", "is_legal", "random_action", "replacement", "hide", "resample", "valid")


def _bindings(game: Any, opened: bool) -> dict[str, Any]:
    """Replacements of the placeholders: the game's kernels, and constants."""
    rules = game.rules
    found: dict[str, Any] = {}
    for name in _NEEDED:
        if not hasattr(rules, name):
            raise TypeError(f"{rules.__name__} lacks the kernel {name!r}, which every game needs")
    if game.faults == "replace" and not hasattr(rules, "replacement"):
        raise TypeError(f"{rules.__name__} lacks the kernel 'replacement', which a game with faults='replace' needs")
    for name in (*_NEEDED, *_OPTIONAL):
        if hasattr(rules, name):
            found[name] = getattr(rules, name)
    discrete = hasattr(rules, "legal")
    defaults = {name: getattr(placeholder, name) for name in _OPTIONAL if name not in found}
    if not discrete:
        defaults["legal"] = placeholder.no_mask
    return {
        **found,
        **defaults,
        "JOINT": game.turns != "sequential",
        "SOME": game.turns == "some",
        "LEAVES": game.leaves,
        "REPLACES": game.faults == "replace",
        "FAULT_LIMIT": game.fault_limit,
        "DISCRETE": discrete,
        "IS_LEGAL": hasattr(rules, "is_legal") and game.turns == "sequential",
        "DRAWS": hasattr(rules, "random_action") and game.turns == "sequential",
        "OPENED": opened,
        "ZERO_SUM": game.utility == "zero_sum",
    }


_NOBODY_SITS = {
    "SEATED": False,
    "VIEWED": False,
    "MASKED": True,
    "ALLOCATES": False,
    "choose": placeholder.choose,
    "choose_box": placeholder.choose_box,
    "begin_agent": placeholder.begin_agent,
}


@cache
def engine_for(game: Any, opened: bool = False) -> Engine:
    """The loops over a game (an `asobiba.core.Game`) without agents; `opened`: its games begin with random plies."""
    return bind_module(_label(game, opened), LOOPS, {**_bindings(game, opened), **_NOBODY_SITS})


def _label(game: Any, opened: bool) -> str:
    """A label after the rules: games that share them (`curling` and `curling_end`) share compiled code."""
    package, _, module = game.rules.__name__.rpartition(".")
    folder = package.rpartition(".")[2]
    parts = (folder, module, "opened" if opened else "")
    return "_".join(part for part in parts if part and part != "rules")


_MAKES_ARRAYS = {"empty", "zeros", "ones", "full", "copy", "arange", "empty_like", "zeros_like", "full_like"}


def _allocates(policy: FunctionType) -> bool:
    """Whether a policy, or a kernel that it reaches, makes arrays; if not, its loops count no references either."""
    waiting, seen = [policy], set()
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        names = set(function.__code__.co_names)
        if names & _MAKES_ARRAYS:
            return True
        reached = [function.__globals__.get(name) for name in names]
        # A function that is not a kernel stands for other code in compiled functions (numba.extending.overload).
        waiting += [kernel.py_func for kernel in reached if isinstance(kernel, Dispatcher)]
    return False


_SEATS = """
from numba import njit
from numpy import int64
from asobiba.core.random import begin_memory
from asobiba.core.targets import LEAN, WOVEN, again
{imports}

@njit(**WOVEN)
def choose(who, view, p, mask, table, mine):
    action = int64(-1)
{asks}
    return action


@njit(**WOVEN)
def choose_box(who, view, p, mask, table, mine, out):
{box_asks}


@njit(**WOVEN)
def begin_agent(who, table, mine, seed, k):
{begins}
"""
_IMPORT = "from {module} import {name} as policy_{i}\n"
_LEAN = "policy_{i} = again(policy_{i}, **LEAN)\n"
_ASK = "    if who == {i}:\n        action = int64(policy_{i}(view, p, mask, table.memory_{i}[mine]))\n"
_ASK_BOX = "    if who == {i}:\n        policy_{i}(view, p, mask, table.memory_{i}[mine], out)\n"
_BEGIN = """    if who == {i}:
        table.memory_{i}[mine] = table.initial_{i}[0]
        begin_memory(table.memory_{i}[mine], seed, k)
"""


def _seats(policies: list[FunctionType], allocates: bool) -> str:
    """Source of the functions by which the loops ask agents: a branch for each of these policies."""

    def each(form: str) -> str:
        return "".join(
            form.format(i=i, module=policy.__module__, name=policy.__qualname__) for i, policy in enumerate(policies)
        )

    return _SEATS.format(
        imports=each(_IMPORT if allocates else _IMPORT + _LEAN),
        asks=each(_ASK),
        box_asks=each(_ASK_BOX),
        begins=each(_BEGIN),
    )


@cache
def agent_engine_for(game: Any, *policies: Any, masked: bool = True, opened: bool = False) -> Engine:
    """The loops over a game with these compiled policies at the seats.

    Args:
        game: an `asobiba.core.Game`.
        policies: one to four kernels; `Table.occupants` gives their seats.
        masked: whether one of them reads the mask.
        opened: whether games begin with random plies.

    Raises:
        TypeError: if a policy is not a kernel at module level, or there are none or too many.
    """
    if not 1 <= len(policies) <= MOST_POLICIES:
        raise TypeError(f"one to {MOST_POLICIES} compiled policies play in one module, not {len(policies)}")
    functions = []
    for policy in policies:
        function = python_function(policy)
        if function is None:
            raise TypeError(f"a compiled policy is a function decorated with asobiba.core.kernel, not {policy!r}")
        functions.append(function)
    rules = _bindings(game, opened)
    sits = {
        "SEATED": True,
        "VIEWED": game.information == "hidden" or game.chance,
        "MASKED": masked or not rules["IS_LEGAL"],
        "ALLOCATES": any(map(_allocates, functions)),
    }
    names = "-".join(f"{f.__module__.rpartition('.')[2]}-{f.__name__}" for f in functions)
    return bind_module(
        f"{_label(game, opened)}-{names}"[:120],
        LOOPS,
        {**rules, **sits},
        _seats(functions, sits["ALLOCATES"]),
        policies,
    )

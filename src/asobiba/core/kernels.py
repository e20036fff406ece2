"""The decorators of compiled code: `kernel` for rules and policies, `compiled` for whole computations."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.errors import NumbaExperimentalFeatureWarning

from asobiba.core.cache import LateCache
from asobiba.core.targets import COMPILES, KERNEL, WHOLE, part, wait_without_spinning

# Records with the generator's fields first are passed to the functions of asobiba.core.random on purpose.
warnings.filterwarnings(
    "ignore", message=".*has been considered a subtype of", category=NumbaExperimentalFeatureWarning
)

kernel = part(**KERNEL)
"""Compiles a function with Numba, to be called by other compiled code.

A kernel allocates nothing, raises nothing, prints nothing and calls no Python object. Kernels are compiled into the
engine's module of a game (see `asobiba.core.engine`) or into `compiled` functions. Only these are cached on disk, not
the kernels. A kernel called from Python is compiled by itself, for trying it out. Set `NUMBA_DISABLE_JIT=1` to
step through them in a debugger.
"""


def entry_point(function: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code of a compiled function for arguments of these types.

    Calling it saves the look-up of the types at each call, which costs more than a step of a game. It takes arguments
    of exactly these types: arrays of the same dtype, dimensions and layout.
    """
    if not COMPILES:
        return function
    if function.targetoptions.get("parallel"):
        wait_without_spinning()
    signature = tuple(function.typeof_pyval(argument) for argument in arguments)
    function.compile(signature)
    return function.get_overload(signature)


def compiled(parallel: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compiles a whole computation (a solver, a search, a batch loop) with Numba and caches it on disk.

    The cache is keyed by the source of everything that the function reaches, in whatever file, so that an edited
    callee never meets a stale cache. Numba's own `cache=True` looks at one file only. The function must be at module
    level and take no functions.

    Args:
        parallel: as in `numba.njit`; `numba.prange` then runs on all threads.
        options: further options of `numba.njit`.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        form = {"error_model": "numpy", "nogil": True, "parallel": parallel, "pipeline_class": WHOLE}
        dispatcher = njit(**form, **options)(function)
        if COMPILES:
            dispatcher._cache = LateCache(dispatcher)
        return dispatcher

    return decorate

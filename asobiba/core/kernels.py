"""The decorators of compiled code: `kernel` for rules and policies, `compiled` for whole computations."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from numba import config, njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.errors import NumbaExperimentalFeatureWarning

# Records with the generator's fields first are passed to the functions of asobiba.core.random on purpose.
warnings.filterwarnings(
    "ignore", message=".*has been considered a subtype of", category=NumbaExperimentalFeatureWarning
)

# Numba hands `forceinline` down to what a function calls, unless that says otherwise.
kernel = njit(error_model="numpy", nogil=True, forceinline=False)
"""Compiles a function with Numba, to be called by other compiled code.

A kernel allocates nothing, raises nothing, prints nothing and calls no Python object. Kernels are compiled into the
engine's module of a game (see `asobiba.core.engine`) or into `compiled` functions, which is what is cached on disk;
they hold no cache of their own. Set `NUMBA_DISABLE_JIT=1` to step through them in a debugger.
"""


def entry_point(function: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code of a compiled function for arguments of these types.

    Calling it saves the look-up of the types at each call, which costs more than a step of a game. It takes arguments
    of exactly these types: arrays of the same dtype, dimensions and layout.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    signature = tuple(function.typeof_pyval(argument) for argument in arguments)
    function.compile(signature)
    return function.get_overload(signature)


class _Locator(_CacheLocator):
    """Keeps a function's machine code in asobiba's cache folder, stamped with the fingerprint of all it reaches."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    def get_cache_path(self) -> str:
        from asobiba.core.engine import cache_folder

        return str(cache_folder() / "compiled")

    def get_source_stamp(self) -> str:
        from asobiba.core.engine import fingerprint

        return fingerprint([self._function])

    def get_disambiguator(self) -> str:
        return self._function.__module__.replace(".", "_")

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func)


class _Impl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # type: ignore[list-item]  # noqa: RUF012 - Numba's own declaration


class _Cache(FunctionCache):
    _impl_class = _Impl


class _LateCache:
    """A cache made at the first call, when the functions that are defined further down in the file are known too."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._cache: _Cache | None = None

    def __getattr__(self, name: str) -> Any:
        if self._cache is None:
            self._cache = _Cache(self._function)
        return getattr(self._cache, name)


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
        dispatcher = njit(error_model="numpy", nogil=True, parallel=parallel, **options)(function)
        if not config.DISABLE_JIT:  # type: ignore[attr-defined]
            dispatcher._cache = _LateCache(function)
        return dispatcher

    return decorate

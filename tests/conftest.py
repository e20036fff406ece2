"""Fixtures that all tests share."""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from numba.core.caching import CompileResultCacheImpl
from xdist.scheduler import LoadScopeScheduling

# Tiny games, found through their entry points as any other package's games are.
sys.path.insert(0, str(Path(__file__).parent / "toys"))
# Begun first: minutes long and few, they would be waited for at the end.
_FIRST = (
    "test_documentation.py",
    "test_arena_cluster.py",
    "test_package.py",
    "test_jit_disabled.py",
    "test_mini4wd.py",
)
_BY_GAME = ("test_conformance.py", "test_ptx.py")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("ASOBIBA_TRIAL", "0")  # the toys are held to conformance; test_checking.py tests the trial itself


# Functions that a machine's C library computes in its own way; `log10` is left out: Numba writes numbers into messages with it.
_LIBRARY = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sincos",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log1p",
    "pow",
    "cbrt",
    "hypot",
    "erf",
    "erfc",
    "tgamma",
    "lgamma",
    "fmod",
    "remainder",
    "fma",
    "ldexp",
    "frexp",
    "numba_cpow",
    "numba_frexp",
    "numba_ldexp",
    "numba_gamma",
    "numba_lgamma",
    "__powidf2",
    "__powisf2",
]
_CALLED = re.compile(b"(?<=\0)(?:" + "|".join(f"{name}f?" for name in _LIBRARY).encode() + b")(?=\0)")


def library_functions(machine_code: bytes) -> set[str]:
    """The functions of the C library, other than exact ones, that an object file calls."""
    return {name.decode() for name in _CALLED.findall(machine_code)}


def _require_own_arithmetic(kept) -> None:
    """Functions of asobiba, as the cache keeps them, must give the same bytes on every machine."""
    (_, _, (machine_code, *_)), description, *_ = kept
    if description.modname.startswith("asobiba"):
        called = library_functions(machine_code)
        assert not called, f"{description.qualname} calls the C library: {called}; use asobiba.core.elementary"


_reduce, _rebuild = CompileResultCacheImpl.reduce, CompileResultCacheImpl.rebuild


def _read_what_is_kept(cache, compiled):
    kept = _reduce(cache, compiled)
    _require_own_arithmetic(kept)
    return kept


def _read_what_is_found(cache, target, kept):
    _require_own_arithmetic(kept)
    return _rebuild(cache, target, kept)


CompileResultCacheImpl.reduce, CompileResultCacheImpl.rebuild = _read_what_is_kept, _read_what_is_found


class _ByFileAndGame(LoadScopeScheduling):
    """The work of one process: a file, whose tests share fixtures and compiled code; of those that go through all games, a
    game."""

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        game = re.search(r"\[(\w+)", nodeid)
        return f"{file}::{game[1]}" if file.endswith(_BY_GAME) and game else file


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in _FIRST)
    gc.freeze()  # what was imported stays; the garbage collector need not look at it again


def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # xdist would begin the files of many tests first
    return _ByFileAndGame(config, log)


@pytest.fixture(autouse=True)
def _games_of_this_test_only():
    """A game that a test adds to the registry is gone afterwards: the next test's other processes would not know it."""
    # Not above: importing asobiba looks for games, and the toys stand in the path by now.
    from asobiba.core import registry

    before = dict(registry._added)
    yield
    if registry._added != before:
        registry._added.clear()
        registry._added.update(before)
        registry.game.cache_clear()


def debian_program(program: str, package: str, *others: str) -> str:
    """The path of a program that a test runs for real, or of one of the others that do instead.

    Where it is missing, the test is skipped with the name of the Debian package to install; in CI it fails instead.
    """
    path = next(filter(None, map(shutil.which, (program, *others))), None)
    if path is None:
        message = f"{program} is not installed; on Debian: apt-get install {package}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return path

"""The compiled engine: a game's rules, and an agent's policy, made into real modules that Numba caches on disk.

Numba does not cache closures or functions that take functions, and its cache looks at one file only. So the engine
writes one small module per game (and per game and agent) whose folder is named after a fingerprint of every kernel and
constant it reaches: the second process starts without compiling, and an edited rule never meets a stale cache.

The folder is `$ASOBIBA_CACHE_DIR`, or `asobiba` in the user's cache folder, or, where that cannot be written, in the
system's temporary folder.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from asobiba.core import laws, random
from asobiba.core.game import Game

_UNUSED_AFTER_DAYS = 30
Engine = ModuleType


def cache_folder() -> Path:
    """Where generated modules and their compiled code lie; created if need be."""
    candidates = []
    if chosen := os.environ.get("ASOBIBA_CACHE_DIR"):
        candidates.append(Path(chosen))
    else:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        candidates.append(Path(base) / "asobiba")
        candidates.append(Path(tempfile.gettempdir()) / f"asobiba-{os.environ.get('USER', 'user')}")
    for folder in candidates:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    raise OSError(f"no folder for compiled games can be written: tried {', '.join(map(str, candidates))}")


def _python_function(value: Any) -> FunctionType | None:
    value = getattr(value, "py_func", value)
    return value if isinstance(value, FunctionType) else None


def fingerprint(functions: Iterable[Any], text: str = "") -> str:
    """A hash of compiled functions, of every function and constant that they reach, of how these are compiled, and of
    `text`."""
    digest = hashlib.sha256()

    def feed(*parts: Any) -> None:
        digest.update("\x1f".join(map(str, parts)).encode() + b"\x1e")

    def feed_code(code: CodeType) -> set[str]:
        feed(code.co_code.hex(), code.co_varnames, code.co_freevars)
        names = set(code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                names |= feed_code(constant)
            else:
                feed(repr(constant))
        return names

    feed(text, numba.__version__, np.__version__, sys.version)
    waiting = list(functions)
    seen: set[int] = set()
    while waiting:
        found = waiting.pop()
        function = _python_function(found)
        if function is None or id(found) in seen:
            continue
        seen.add(id(found))
        feed(function.__module__, function.__qualname__, sorted(getattr(found, "targetoptions", {}).items()))
        names = sorted(feed_code(function.__code__))
        scope = {name: function.__globals__[name] for name in names if name in function.__globals__}
        for module in [v for v in scope.values() if isinstance(v, ModuleType)]:
            if not module.__name__.startswith(("numpy", "numba", "math")):
                scope |= {f"{module.__name__}.{n}": getattr(module, n) for n in names if hasattr(module, n)}
        if function.__closure__:
            for name, cell in zip(function.__code__.co_freevars, function.__closure__, strict=True):
                scope[name] = cell.cell_contents
        for name, value in scope.items():
            inner = _python_function(value)
            if inner is not None:
                feed(name, inner.__module__, inner.__qualname__)
                if not (inner.__module__ or "").startswith(("numpy", "numba")):
                    waiting.append(value)
            elif isinstance(value, np.ndarray):
                feed(name, value.dtype, value.shape, hashlib.sha256(value.tobytes()).hexdigest())
            elif isinstance(value, (bool, int, float, complex, str, bytes, tuple, np.generic, np.dtype)):
                feed(name, repr(value))
            else:
                feed(name, type(value).__name__)
    return digest.hexdigest()[:20]


def load_generated(label: str, functions: Iterable[Any], source: str) -> ModuleType:
    """Writes `source` into the folder of its fingerprint, unless it is there, and imports it.

    The fingerprint is that of `functions` (and all that they reach) and of `source`, which imports them. Solvers and
    searches that many games share use this as the engine does: a template whose import lines bind a game's kernels.
    """
    tag = fingerprint(functions, source)
    name = f"asobiba_generated.{label}_{tag}"
    if name in sys.modules:
        return sys.modules[name]
    root = cache_folder()
    folder = root / f"{label}-{tag}"
    path = folder / "engine.py"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(source)
        os.replace(temporary, path)
        _sweep(root, label, folder)
    else:
        _touch(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _touch(folder: Path) -> None:
    try:
        if time.time() - folder.stat().st_mtime > 86_400:
            os.utime(folder)
    except OSError:
        pass  # a read-only cache works all the same


def _sweep(root: Path, label: str, keep: Path) -> None:
    """Removes this label's folders that nothing has used for a month."""
    for folder in root.glob(f"{label}-*"):
        try:
            if folder != keep and time.time() - folder.stat().st_mtime > _UNUSED_AFTER_DAYS * 86_400:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue


def _source(*templates: str, **substitutions: str) -> str:
    folder = files("asobiba.core.templates")
    text = "".join((folder / f"{name}.py.txt").read_text(encoding="utf-8") for name in templates)
    return Template(text).substitute(substitutions)


_SHARED = (laws.close_step, laws.is_over, laws.summary, random.begin_control, random.begin_memory, random.seed_record)


_INLINED = {"step", "observe", "legal"}  # into the loop over a batch
_KERNELS = ("reset", "step", "observe", "legal", "hide", "resample", "forfeit", "offender")


def _bindings(game: Game) -> tuple[list[Any], str]:
    """The kernels that a game's module is made of, and the import lines that bind them."""
    rules, found, lines = game.rules, [], []
    joint = game.turns == "simultaneous"
    masked = hasattr(rules, "legal")
    defaults = {
        "legal": "legal_unmasked",
        "hide": "hide_nothing",
        "resample": "resample_nothing",
        "forfeit": "forfeit_zero_sum" if game.utility == "zero_sum" else "forfeit_alone",
        "offender": ("offender_discrete" if masked else "offender_continuous") + ("_joint" if joint else ""),
    }
    for name in _KERNELS:
        if name not in ("forfeit", "offender") and hasattr(rules, name):
            found.append(getattr(rules, name))
            lines.append(f"from {rules.__name__} import {name}")
        elif name in defaults:
            found.append(getattr(laws, defaults[name]))
            lines.append(f"from asobiba.core.laws import {defaults[name]} as {name}")
        else:
            raise TypeError(f"{rules.__name__} lacks the kernel {name!r}, which every game needs")
    return found, "\n".join(lines)


def _lean(inlined: Iterable[str] = ()) -> str:
    return "\n".join(f"{name} = lean({name}, inlined={name in inlined})" for name in _KERNELS)


def _observe_now(game: Game) -> str:
    if game.turns == "simultaneous":
        return "    for k in range(out.shape[0]):\n        observe(s, p, k, out[k])"
    return "    observe(s, p, int64(viewer if viewer >= 0 else s.to_move), out)"


@cache
def engine_for(game: Game) -> Engine:
    """The compiled kernels of a game: see `templates/game.py.txt` for what is in it."""
    kernels, imports = _bindings(game)
    source = _source("common", "game", imports=imports, lean=_lean(_INLINED), observe_now=_observe_now(game))
    return load_generated(game.name, [*kernels, *_SHARED], source)


_ALLOCATING = {"empty", "zeros", "ones", "full", "copy", "arange", "empty_like", "zeros_like", "full_like"}


def _allocates(policy: FunctionType) -> bool:
    """Whether a policy, or a kernel that it reaches, makes arrays; without, its loops count no references either."""
    waiting, seen = [policy], set()
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        names = set(function.__code__.co_names)
        if names & _ALLOCATING:
            return True
        reached = [function.__globals__.get(name) for name in names]
        # What is no kernel stands for other code in a compiled function (numba.extending.overload).
        waiting += [kernel.py_func for kernel in reached if isinstance(kernel, Dispatcher)]
    return False


@cache
def agent_engine_for(game: Game, policy: Any) -> Engine:
    """The kernels that play a compiled policy: see `templates/agent.py.txt` for what is in it.

    Raises:
        TypeError: if `policy` is no kernel, or all players of the game act at once.
    """
    function = _python_function(policy)
    if function is None:
        raise TypeError(f"a compiled policy is a function decorated with asobiba.core.kernel, not {policy!r}")
    if game.turns == "simultaneous":
        raise TypeError(f"{game.name}: compiled policies play games of sequential turns only")
    view = "states"
    decide = ""
    if game.information == "hidden" or game.chance:
        view = "views"
        decide = "    views[i] = states[i]\n    hide_now(views[i], p, states[i].to_move)\n"
    decide += f"    return policy({view}[i], p, mask, memories[mine])"
    kernels, imports = _bindings(game)
    imports += f"\nfrom {function.__module__} import {function.__name__} as policy"
    source = _source(
        "common",
        "agent",
        imports=imports,
        lean=_lean(),
        observe_now=_observe_now(game),
        decide=decide,
        allocates=str(_allocates(function)),
    )
    label = f"{game.name}-{function.__module__.rpartition('.')[2]}-{function.__name__}"
    return load_generated(label, [policy, *kernels, *_SHARED], source)

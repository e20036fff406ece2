"""The cache of generated code: where it lies, what it is named after, and how a module over a placeholder becomes real.

Numba does not cache closures or functions that take functions, and its cache looks at one file only. So code that many
games share is written as a real module over placeholder kernels; `bind_module` writes it again with a game's kernels in
their place, into a folder named after a fingerprint of every kernel and constant that it reaches. The second process
starts without compiling, and an edited rule never meets a stale cache.

The folder is `$ASOBIBA_CACHE_DIR`, or `asobiba` in the user's cache folder, or, where that cannot be written, in the
system's temporary folder.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator

from asobiba.core import targets

_UNUSED_AFTER_DAYS = 30
_TARGETS = hashlib.sha256(inspect.getsource(targets).encode()).hexdigest()
_BLOCK = re.compile(r"^# bind:.*?\n(.*?)^# end of bind\n", re.M | re.S)


def _name_of_record(record: types.Record) -> tuple[str, tuple[str, ...]]:
    """How machine code names a record among its arguments: by its fields.

    Numba takes the number that the type got in this process. Two processes give one number to records of two layouts,
    such as those of two boards, and so one name to two functions; who then loads both from the cache runs the first one
    on both.
    """
    return "Record", (hashlib.sha256(record.name.encode()).hexdigest()[:24],)


types.Record.mangling_args = property(_name_of_record)  # type: ignore[method-assign, assignment]
_NAMES = inspect.getsource(_name_of_record)


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


def python_function(value: Any) -> FunctionType | None:
    """The Python function behind a compiled one, or `None` for what is no function."""
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

    feed(text, numba.__version__, np.__version__, sys.version, _TARGETS)
    waiting = list(functions)
    seen: set[int] = set()
    while waiting:
        found = waiting.pop()
        function = python_function(found)
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
            inner = python_function(value)
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


def bind_module(label: str, template: str, bindings: Mapping[str, Any]) -> ModuleType:
    """A module over placeholder kernels, with real ones in their place.

    `template` names a module that imports its placeholders in one block, between a line that begins with `# bind:` and
    the line `# end of bind`. The block is replaced: a function stands as an import of it under the name that it is
    bound to, anything else (a number, a truth value, text) as a constant.

    Args:
        label: begins the name of the folder in the cache, such as `bao` or `bao-uct`.
        template: name of the module.
        bindings: name in the template -> module-level function, or constant.

    Raises:
        TypeError: if the template has no such block, or a binding that it does not import.
    """
    module = importlib.import_module(template)
    source = inspect.getsource(module)
    block = _BLOCK.search(source)
    if block is None:
        raise TypeError(f"{template} has no block between '# bind: ...' and '# end of bind'")
    unknown = [name for name in bindings if not re.search(rf"\b{name}\b", block[1])]
    if unknown:
        raise TypeError(f"{template} has no placeholder called {', '.join(unknown)}")
    lines, functions = [], []
    for name, value in bindings.items():
        function = python_function(value)
        if function is None:
            lines.append(f"{name} = {value!r}")
        else:
            lines.append(f"from {function.__module__} import {function.__qualname__} as {name}")
            functions.append(value)
    head = f"# Written by asobiba.core.cache from {template}: edit that, this is overwritten.\n"
    text = head + source[: block.start()] + "\n".join(lines) + "\n" + source[block.end() :]
    # What the template reaches besides the placeholders counts too.
    shared = [value for value in vars(module).values() if python_function(value) is not None]
    return load_generated(label, [*functions, *shared], text)


def load_generated(label: str, functions: Iterable[Any], source: str) -> ModuleType:
    """Writes `source` into the folder of its fingerprint, unless it is there, and imports it.

    The fingerprint is that of `functions` (and all that they reach) and of `source`, which imports them.
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
        _sweep(root, f"{label}-*", folder)
    else:
        _touch(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    for value in vars(module).values():
        if isinstance(getattr(value, "_cache", None), FunctionCache):
            _keep_apart(value._cache)
    return module


def _touch(folder: Path) -> None:
    try:
        if time.time() - folder.stat().st_mtime > 86_400:
            os.utime(folder)
    except OSError:
        pass  # a read-only cache works all the same


def _sweep(root: Path, pattern: str, keep: Path) -> None:
    """Removes folders and files of this pattern that nothing has used for a month."""
    for path in root.glob(pattern):
        try:
            if path == keep or time.time() - path.stat().st_mtime <= _UNUSED_AFTER_DAYS * 86_400:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        except OSError:
            continue


class _CodeFiles(IndexDataCacheFile):
    """The machine code of a function: a file for each signature, named after all that it was made from.

    Numba numbers these files and keeps an index of them. Processes that compile at the same time take the same number,
    and one is then given the other's machine code, for records of another layout: it writes where it must not.
    """

    def __init__(self, path: str, base: str, stamp: Any) -> None:
        super().__init__(cache_path=path, filename_base=base, source_stamp=stamp)
        self._base, self._stamp = base, stamp

    def _name_of(self, key: Any) -> str:
        made_from = repr((numba.__version__, _NAMES, self._stamp, key))
        return f"{self._base}.{hashlib.sha256(made_from.encode()).hexdigest()[:24]}.nbc"

    def load(self, key: Any) -> Any:
        path = Path(self._data_path(self._name_of(key)))
        try:
            data = self._load_data(path.name)
        except OSError:
            return None
        _touch(path)
        return data

    def save(self, key: Any, data: Any) -> None:
        name = self._name_of(key)
        self._save_data(name, data)
        # What earlier sources left: such files are not overwritten.
        _sweep(Path(self._cache_path), f"{self._base}.*.nbc", Path(self._data_path(name)))

    def flush(self) -> None:
        for path in Path(self._cache_path).glob(f"{self._base}.*.nbc"):
            path.unlink(missing_ok=True)


def _keep_apart(cache: FunctionCache) -> None:
    locator = cache._impl.locator
    cache._cache_file = _CodeFiles(cache._cache_path, cache._impl.filename_base, locator.get_source_stamp())


class _Locator(_CacheLocator):
    """Keeps a function's machine code in asobiba's cache folder, stamped with the fingerprint of all it reaches."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    def get_cache_path(self) -> str:
        return str(cache_folder() / "compiled")

    def get_source_stamp(self) -> str:
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

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        _keep_apart(self)


class LateCache:
    """The disk cache of one function, made at its first call, when the functions that are defined further down in its
    file are known too."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._cache: _Cache | None = None

    def __getattr__(self, name: str) -> Any:
        if self._cache is None:
            self._cache = _Cache(self._function)
        return getattr(self._cache, name)

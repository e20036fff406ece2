"""The cache of generated code: its place, its names, and the binding of placeholder modules.

Numba does not cache closures or functions that take functions, and its cache looks at one file only. So code that many
games share is a real module over placeholder kernels; `bind_module` writes a copy with a game's kernels in their place,
into a folder named after the digest of everything that it reaches (see `asobiba.core.identity`). The second process
starts without compiling, and an edited rule never meets a stale cache.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator

from asobiba.core.folders import cache_folder, sweep, touch, write_whole
from asobiba.core.identity import machine_code_identity, python_function
from asobiba.core.symbols import keeps_layouts_apart
from asobiba.core.targets import wait_without_spinning

_BLOCK = re.compile(r"^# bind:.*?\n(.*?)^# end of bind\n", re.M | re.S)


_IMPORTING = RLock()
"""Held while a generated module is imported: another thread would find it half executed."""


def bind_module(
    label: str, template: str, bindings: Mapping[str, Any], written: str = "", reached: Iterable[Any] = ()
) -> ModuleType:
    """Binds a module over placeholder kernels to real ones.

    `template` names a module that imports its placeholders in one block, between a line that begins with `# bind:` and
    the line `# end of bind`. The block is replaced: a function stands as an import of it under the name that it is
    bound to, anything else (a number, a truth value, text) as a constant.

    Args:
        label: begins the name of the folder in the cache, such as `bao` or `bao-uct`.
        template: name of the module.
        bindings: name in the template -> module-level function, or constant.
        written: Python that stands in the block too, and defines what is not among the bindings.
        reached: the functions that it imports.

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
    lines, functions = [], [*reached]
    for name, value in bindings.items():
        function = python_function(value)
        if function is None:
            lines.append(f"{name} = {value!r}")
        else:
            lines.append(f"from {function.__module__} import {function.__qualname__} as {name}")
            functions.append(value)
    head = f"# Written by asobiba.core.cache from {template}: edit that, this is overwritten.\n"
    text = head + source[: block.start()] + "\n".join([*lines, written]) + "\n" + source[block.end() :]
    # Everything else that the template reaches counts too.
    shared = [value for value in vars(module).values() if python_function(value) is not None]
    return load_generated(label, [*functions, *shared], text)


def load_generated(label: str, functions: Iterable[Any], source: str) -> ModuleType:
    """Writes `source` into the folder of its digest, unless it is there, and imports it.

    The digest is that of `functions` (and all that they reach) and of `source`, which imports them.
    """
    tag = machine_code_identity(functions, source)
    with _IMPORTING:
        return _imported(label, tag, source)


def _imported(label: str, tag: str, source: str) -> ModuleType:
    name = f"asobiba_generated.{label}_{tag}"
    if name in sys.modules:
        return sys.modules[name]
    root = cache_folder()
    folder = root / f"{label}-{tag}"
    path = folder / "engine.py"
    if not path.exists():
        write_whole(path, source.encode())
        sweep(root, f"{label}-*", folder)
    else:
        touch(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    for value in vars(module).values():
        if isinstance(getattr(value, "_cache", None), FunctionCache):
            _keep_apart(value._cache, tag)
    return module


class _CodeFiles(IndexDataCacheFile):
    """The machine code of a function: a file for each signature, named after all of its sources.

    Numba numbers these files and keeps an index of them. Processes that compile at the same time take the same number,
    and one is then given the other's machine code, for records of another layout: it writes where it must not.
    """

    def __init__(self, path: str, base: str, stamp: Any) -> None:
        super().__init__(cache_path=path, filename_base=base, source_stamp=stamp)
        self._base, self._stamp = base, stamp

    def _name_of(self, key: Any) -> str:
        made_from = repr((numba.__version__, self._stamp, key))
        return f"{self._base}.{hashlib.sha256(made_from.encode()).hexdigest()[:24]}.nbc"

    def load(self, key: Any) -> Any:
        path = Path(self._data_path(self._name_of(key)))
        try:
            data = self._load_data(path.name)
        except OSError:
            return None
        touch(path)
        return data

    def save(self, key: Any, data: Any) -> None:
        if not keeps_layouts_apart(pickle.dumps(data)):
            return
        name = self._name_of(key)
        self._save_data(name, data)
        # Files of earlier sources; they are not overwritten.
        sweep(Path(self._cache_path), f"{self._base}.*.nbc", Path(self._data_path(name)))

    def flush(self) -> None:
        for path in Path(self._cache_path).glob(f"{self._base}.*.nbc"):
            path.unlink(missing_ok=True)


def _keep_apart(cache: FunctionCache, stamp: str) -> None:
    cache._cache_file = _CodeFiles(cache._cache_path, cache._impl.filename_base, stamp)


class _Locator(_CacheLocator):
    """Keeps a function's machine code in asobiba's cache folder."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    def get_cache_path(self) -> str:
        return str(cache_folder() / "compiled")

    def get_source_stamp(self) -> str:
        return ""  # `_keep_apart` names files after the digest of everything reached

    def get_disambiguator(self) -> str:
        return self._function.__module__.replace(".", "_")

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func)


class _Impl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # type: ignore[list-item]  # noqa: RUF012 - Numba's own declaration


class _Cache(FunctionCache):
    _impl_class = _Impl

    def __init__(self, dispatcher: Any) -> None:
        super().__init__(dispatcher.py_func)
        _keep_apart(self, machine_code_identity([dispatcher]))


class LateCache:
    """The disk cache of a compiled function, made at its first call, when the functions defined further down in its
    file are known too.
    """

    def __init__(self, dispatcher: Any):
        self._dispatcher = dispatcher
        self._cache: _Cache | None = None

    def __getattr__(self, name: str) -> Any:
        if self._cache is None:
            if self._dispatcher.targetoptions.get("parallel"):
                wait_without_spinning()
            self._cache = _Cache(self._dispatcher)
        return getattr(self._cache, name)

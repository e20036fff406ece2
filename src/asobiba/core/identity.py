"""The identity of compiled code: one digest of functions and of everything that they reach.

It covers, function by function, the syntax tree (see `asobiba.core.trees`), the defaults, the options it is compiled
with, and the values of its global names: other functions in turn, numbers, text, tuples, arrays, dtypes, enumerations,
and attributes of modules such as `package.constants.KOMI`. NumPy, Numba and Python's own library are identified by
their versions.

`identity` is the same on every machine. `machine_code_identity`, after which compiled code is named in the cache, also
covers the functions as they are loaded in this process (their file may have been edited since), how they are compiled,
the versions, and the processor. A value of an unknown kind is an error, since a stale cache would play an old rule.
"""

from __future__ import annotations

import builtins
import dis
import enum
import hashlib
import inspect
import os
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

import numpy as np

from asobiba.core.trees import Chain, Definition, tree_of

_VERSIONED = {"numpy", "numba", "llvmlite"}
_MISSING = object()
_DOCSTRING = 0x4000000  # CO_HAS_DOCSTRING, since Python 3.13
_EXTENDED = dis.opmap["EXTENDED_ARG"]
_CONSTANT = frozenset(dis.hasconst)
_BY_NUMBER = np.isin(np.arange(256), [*(number for number in _CONSTANT if number < 256), _EXTENDED])


def python_function(value: Any) -> FunctionType | None:
    """The Python function behind a compiled one, or `None` for anything else."""
    value = getattr(value, "py_func", value)
    return value if isinstance(value, FunctionType) else None


def identity(functions: Iterable[Any], text: str = "") -> str:
    """The digest of functions, of all that they reach and of `text`: 32 hexadecimal digits, the same on every machine.

    Raises:
        TypeError: if a function reads a global name whose value cannot be identified by a digest.
    """
    return _Walk(loaded=False).digest(functions, text)


def machine_code_identity(functions: Iterable[Any], text: str = "") -> str:
    """The digest of `identity`, and of everything else that determines the machine code in this process.

    Raises:
        TypeError: as `identity`.
    """
    return _Walk(loaded=True).digest(functions, text + _machine())


@cache
def _machine() -> str:
    import llvmlite
    import numba
    from llvmlite import binding
    from numba import config

    # Without importing them: they import this module.
    files = [Path(__file__).with_name(f"{name}.py") for name in _HOW]
    how = [tree.digest if (tree := tree_of(file)) is not None else version("asobiba") for file in files]
    options = {name: getattr(config, name, None) for name in _OPTIONS}
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.version, sys.implementation.name
    processor = binding.get_process_triple(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    options["PLAIN"] = os.environ.get("ASOBIBA_PLAIN_NUMBA")
    return repr((how, options, versions, processor))


_HOW = ("kernels", "targets", "surgery", "symbols")
"""The modules of the core that decide how code is compiled."""
_OPTIONS = (
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "ENABLE_AVX",
    "DISABLE_INTEL_SVML",
    "CPU_NAME",
    "CPU_FEATURES",
    "DISABLE_JIT",
    "LLVM_REFPRUNE_PASS",
    "LLVM_REFPRUNE_FLAGS",
    "EXTEND_VARIABLE_LIFETIMES",
    "DISABLE_ERROR_MESSAGE_HIGHLIGHTING",
)
"""Numba's settings (`NUMBA_...`) that change machine code."""


def _is_versioned(module: str | None) -> bool:
    """Whether a module's version identifies its contents: Python's own library, NumPy, Numba."""
    root = (module or "").partition(".")[0]
    return root in _VERSIONED or root in sys.stdlib_module_names


class _Walk:
    """Numbers functions in the order in which they are met, so that two graphs of functions give the same text only if
    they are the same."""

    def __init__(self, loaded: bool) -> None:
        self._loaded = loaded
        self._numbers: dict[int, int] = {}
        self._waiting: list[Any] = []
        self._kept: list[Any] = []  # so that no identity is used twice

    def digest(self, functions: Iterable[Any], text: str) -> str:
        found = hashlib.blake2b(digest_size=16)

        def feed(part: str) -> None:
            content = part.encode("utf-8", "surrogatepass")
            found.update(len(content).to_bytes(8, "little") + content)

        feed(text)
        for function in functions:
            feed(self._reference(function))
        done = 0
        while done < len(self._waiting):
            for part in self._parts(self._waiting[done]):
                feed(part)
            done += 1
        return found.hexdigest()

    def _reference(self, function: Any) -> str:
        if id(function) not in self._numbers:
            self._numbers[id(function)] = len(self._numbers)
            self._waiting.append(function)
        return f"function {self._numbers[id(function)]}"

    def _parts(self, found: Any) -> Iterator[str]:
        function = python_function(found)
        assert function is not None
        code = function.__code__
        where = f"{function.__module__}.{function.__qualname__}"
        yield where
        yield type(found).__qualname__
        for name in ("targetoptions", "locals"):
            for key, value in sorted(getattr(found, name, {}).items(), key=lambda item: str(item[0])):
                yield f"{name} {key}: {self._value(value, where)}"
        tree, definition = tree_of(code.co_filename), None
        if tree is not None:
            definition = tree.functions.get(f"{code.co_qualname}@{code.co_firstlineno}")
            if definition is not None and not _names_of(code) <= set(definition.words):
                definition = None  # the file has been edited since
        yield definition.digest if definition is not None else "without source"
        if self._loaded or definition is None:
            yield _loaded_text(code)
        yield self._value(function.__defaults__, where)
        yield self._value(function.__kwdefaults__, where)
        for chain in _globals_read(code, definition):
            yield f"{'.'.join(chain)}: {self._chain(function, chain, where)}"
        if found is function and tree is not None:
            # A function that is not a kernel stands for other code in compiled functions (numba.extending.overload).
            yield tree.digest

    def _chain(self, function: FunctionType, chain: Chain, where: str) -> str:
        root, attributes = chain[0], list(chain[1:])
        if root in function.__code__.co_freevars:
            cell = (function.__closure__ or ())[function.__code__.co_freevars.index(root)]
            try:
                value = cell.cell_contents
            except ValueError:
                return "empty"
        elif root in function.__globals__:
            value = function.__globals__[root]
        else:
            return f"builtin {root}" if hasattr(builtins, root) else "missing"
        while attributes and isinstance(value, ModuleType):
            if _is_versioned(value.__name__):
                return ".".join([value.__name__, *attributes])
            value = getattr(value, attributes.pop(0), _MISSING)
            if value is _MISSING:
                return "missing"
        if isinstance(value, ModuleType):
            return self._whole_module(value, function, where)
        return self._value(value, f"{where} reads {'.'.join(chain)}")

    def _whole_module(self, module: ModuleType, function: FunctionType, where: str) -> str:
        """A module that a function uses as a whole, such as under another local name: everything in it counts."""
        names = sorted(_names_of(function.__code__))
        seen: set[str] = set()

        def text(module: ModuleType) -> str:
            if _is_versioned(module.__name__) or module.__name__ in seen:
                return f"module {module.__name__}"
            seen.add(module.__name__)
            found = [(name, getattr(module, name)) for name in names if hasattr(module, name)]
            texts = [f"{n}: {text(v) if isinstance(v, ModuleType) else self._value(v, where)}" for n, v in found]
            return f"module {module.__name__} {texts}"

        return text(module)

    def _value(self, value: Any, where: str) -> str:
        """A value as text, unique to the value."""
        kind = type(value)
        if value is None or value is Ellipsis or kind in (bool, int, float, complex, str, bytes):
            return f"{kind.__name__} {value!r}"
        if isinstance(value, enum.Enum):
            return f"{self._value(kind, where)} . {value.name}"
        if isinstance(value, (tuple, list)):
            named = f"{kind.__module__}.{kind.__qualname__} {getattr(kind, '_fields', '')}"
            return f"{named} [{', '.join(self._value(entry, where) for entry in value)}]"
        if isinstance(value, (set, frozenset)):
            return f"{kind.__name__} {sorted(self._value(entry, where) for entry in value)}"
        if isinstance(value, dict):
            return f"dict {[(self._value(k, where), self._value(v, where)) for k, v in value.items()]}"
        if isinstance(value, np.dtype):
            return _dtype_text(value)
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(value, where)
        if python_function(value) is not None:
            return self._function(value)
        if isinstance(value, type):
            return self._class(value, where)
        if isinstance(value, ModuleType):
            return f"module {value.__name__}"
        return self._other(value, where)

    def _array(self, value: Any, where: str) -> str:
        if value.dtype.hasobject:
            return f"objects {value.shape} {self._value(value.tolist(), where)}"
        content = hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).hexdigest()
        return f"{type(value).__name__} {_dtype_text(value.dtype)} {value.shape} {value.strides} {content}"

    def _function(self, value: Any) -> str:
        function = python_function(value)
        assert function is not None
        if _is_versioned(function.__module__):
            return f"{function.__module__}.{function.__qualname__}"
        return self._reference(value)

    def _class(self, value: type, where: str) -> str:
        name = f"class {value.__module__}.{value.__qualname__}"
        if issubclass(value, enum.Enum):
            return f"{name} {[(n, self._value(m.value, where)) for n, m in value.__members__.items()]}"
        if _is_versioned(value.__module__) or value.__module__ == "builtins":
            return name
        tree = tree_of(getattr(sys.modules.get(value.__module__), "__file__", None) or "")
        if tree is None:
            raise TypeError(_unknown(value, where))
        fields = self._value(getattr(value, "_field_defaults", None), where)
        return f"{name} {tree.digest} {fields} {[self._class(base, where) for base in value.__bases__]}"

    def _other(self, value: Any, where: str) -> str:
        kind = type(value)
        if isinstance(value, (BuiltinFunctionType, MethodDescriptorType, np.ufunc)):
            module = getattr(value, "__module__", None) or ("numpy" if value is getattr(np, value.__name__, 0) else "")
            if _is_versioned(module) or module == "builtins":
                return f"{module}.{getattr(value, '__qualname__', value.__name__)}"
        definition = getattr(value, "_defn", None)  # of numba.extending.intrinsic
        if isinstance(definition, FunctionType):
            return f"{kind.__qualname__} {self._function(definition)}"
        if _is_versioned(kind.__module__) and kind.__module__.startswith("numba."):
            from numba.core.types import Type

            if isinstance(value, Type):
                return f"{kind.__qualname__} {value!s}"
        raise TypeError(_unknown(value, where))


def _unknown(value: Any, where: str) -> str:
    return (
        f"{where}: a {type(value).__module__}.{type(value).__qualname__}, of which no digest can be taken, so that its "
        "compiled code cannot be kept. Compiled code may read numbers, text, tuples, arrays, dtypes, enumerations, "
        "modules and other compiled functions"
    )


def _dtype_text(dtype: np.dtype) -> str:
    if dtype.subdtype is not None:
        return f"({_dtype_text(dtype.subdtype[0])}, {dtype.subdtype[1]})"
    if dtype.names is None:
        return dtype.str
    fields = [(name, _dtype_text(dtype.fields[name][0]), dtype.fields[name][1]) for name in dtype.names]  # type: ignore[index]
    return f"{fields} {dtype.itemsize} {dtype.isalignedstruct}"


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@cache
def _names_of(code: CodeType) -> set[str]:
    return {name for part in _codes(code) for name in part.co_names}


def _globals_read(code: CodeType, definition: Definition | None) -> list[Chain]:
    """The names that a function takes from its module or its closure, with the attributes that it reads from them."""
    names = _names_of(code)
    free = set(code.co_freevars)
    if definition is not None:
        local = {*code.co_varnames, *code.co_cellvars}
        return [chain for chain in definition.chains if chain[0] in free or chain[0] in names - local]
    reads = {
        instruction.argval
        for part in _codes(code)
        for instruction in dis.get_instructions(part)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    return [(name,) for name in sorted(reads | free)]


@cache
def _loaded_text(code: CodeType) -> str:
    """A code object without its docstrings and line numbers."""
    constants = [_constant_text(constant) for constant in code.co_consts]
    if constants and _has_docstring(code):
        constants[0] = "docstring"
    steps = np.frombuffer(code.co_code, np.uint8).reshape(-1, 2).copy()
    used, high, follows = [], 0, -1
    for place in map(int, np.flatnonzero(_BY_NUMBER[steps[:, 0]])):
        operation, low = map(int, steps[place])
        argument = (high << 8 if place == follows else 0) | low
        if operation == _EXTENDED:
            high, follows = argument, place + 1
        else:  # constants are named by their numbers, which change with a docstring
            used.append(constants[argument])
            steps[place, 1] = 0
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~_DOCSTRING
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    handlers = code.co_exceptiontable.hex()
    return hashlib.blake2b(repr((steps.tobytes(), used, counts, names, handlers)).encode(), digest_size=16).hexdigest()


def _has_docstring(code: CodeType) -> bool:
    if sys.version_info >= (3, 13):
        return bool(code.co_flags & _DOCSTRING)
    return (
        bool(code.co_flags & inspect.CO_NEWLOCALS)
        and not code.co_name.startswith("<")
        and isinstance(code.co_consts[0], str)
    )


def _constant_text(constant: Any) -> str:
    if isinstance(constant, CodeType):
        return _loaded_text(constant)
    if isinstance(constant, frozenset):
        return f"frozenset {sorted(map(_constant_text, constant))}"
    if isinstance(constant, tuple):
        return f"tuple {[_constant_text(entry) for entry in constant]}"
    return f"{type(constant).__name__} {constant!r}"

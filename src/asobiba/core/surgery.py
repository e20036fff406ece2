"""Halves compile time: changes to Numba's internals, all in this file, for this project's functions only.

Kernels are translated once, and optimised and compiled to machine code only in the function that contains them. Numba
would do both for each kernel separately, and again for each function that contains it. This saves a third of the time,
and the output is the same to the byte: `asobiba.core.targets` uses plain Numba instead of this module with
`ASOBIBA_PLAIN_NUMBA=1`, and with versions of Numba that this was not tested with. A test compares the two.
"""

from __future__ import annotations

import gc
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from typing import Any

from numba import njit
from numba.core import ir as numba_ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.targetconfig import TargetConfig
from numba.core.typed_passes import NativeParforLowering
from numba.core.types.functions import BaseFunction
from numba.core.untyped_passes import InlineInlinables

from asobiba.core.symbols import LayoutCompiler

_DEPTH, _THRESHOLDS = [0], [gc.get_threshold()]
_call_type: Any = BaseFunction.get_call_type
_option_values = TargetConfig.values
_OPERATORS = frozenset(one for one in vars(operator).values() if callable(one))


@contextmanager
def _quickly() -> Iterator[None]:
    """Remembers the types of operators while compiling, and lets Python's garbage collector run rarely: it took a tenth
    of the time and found little."""
    if _DEPTH[0] == 0:
        _THRESHOLDS[0] = gc.get_threshold()
        gc.set_threshold(200_000, 20, 50)
        BaseFunction.get_call_type = _remembered_call_type  # type: ignore[method-assign, assignment]
        TargetConfig.values = _all_options  # type: ignore[method-assign]
    _DEPTH[0] += 1
    try:
        yield
    finally:
        _DEPTH[0] -= 1
        if _DEPTH[0] == 0:
            gc.set_threshold(*_THRESHOLDS[0])
            BaseFunction.get_call_type = _call_type  # type: ignore[method-assign]
            TargetConfig.values = _option_values  # type: ignore[method-assign]


@cache
def _defaults(kind: type[TargetConfig]) -> dict[str, Any]:
    return {name: option.default for name, option in kind.options.items()}


def _all_options(options: TargetConfig) -> dict[str, Any]:
    """The same values as Numba's method, at once instead of option by option: they are compared very often."""
    return {**_defaults(type(options)), **options._values}


def _remembered_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of an operator, looked for once for each types of its arguments.

    Numba tries all of its implementations wherever an operator stands, a quarter of the time that the rules of a game
    took to compile. What is written in Python (`overload`) hangs on the caller's options, and is not remembered.
    """
    if kws or function.typing_key not in _OPERATORS:
        return _call_type(function, context, args, kws)
    known = function.__dict__.setdefault("_asobiba_signatures", {})
    key = context, *args
    signature = known.get(key)
    if signature is None:
        signature = _call_type(function, context, args, kws)
        if not any(signature.args in getattr(one, "_compiled_overloads", ()) for one in function.templates):
            known[key] = signature
    return signature


class WholeCompiler(LayoutCompiler):
    """Compiles functions that Python calls; the body of a `prange` becomes a part of its function."""

    def compile_extra(self, func: Any) -> Any:
        with _quickly():
            return super().compile_extra(func)

    def define_pipelines(self) -> Any:
        return _with_pass(super().define_pipelines(), NativeParforLowering, _LoopLowering)


class _PartLibrary(JITCodeLibrary):
    """Translated code, to be linked into a function.

    Functions that are always inlined are optimised first: whole games were up to 12 % slower without.
    """

    inlined = False

    def _optimize_final_module(self) -> None:
        if self.inlined:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Weaving(InlineInlinables):
    """Weaves `WOVEN` functions into a function.

    Numba copies a function's blocks twice for each place that it is put into, and with each block all its variables: a
    fifth of the time that a loop took to compile. Here the variables are copied once a copy.
    """

    _name = "weaving"

    def run_pass(self, state: Any) -> bool:
        copies: dict[int, tuple[Any, Any]] = {}  # of variables by their identity; it keeps the copied ones alive

        def copied(scope: Any, memo: dict[int, Any]) -> Any:
            if id(scope) not in copies:
                copy = object.__new__(type(scope))
                memo[id(scope)] = copy
                copy.__dict__.update(deepcopy(scope.__dict__, memo))
                copies[id(scope)] = scope, copy
            return copies[id(scope)][1]

        numba_ir.Scope.__deepcopy__ = copied  # type: ignore[attr-defined]
        try:
            return bool(super().run_pass(state))
        finally:
            del numba_ir.Scope.__deepcopy__  # type: ignore[attr-defined]


class _PartCompiler(LayoutCompiler):
    """Stops at translated code: neither machine code nor the wrappers through which Python calls it."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        context = self.state.targetctx
        self.state.library = _PartLibrary(context.codegen(), "part")
        self.state.library.inlined = bool(self.state.flags.forceinline)
        self.state.flags.no_cpython_wrapper = True
        self.state.flags.no_cfunc_wrapper = True
        # What callers know the function by; nothing calls it. The context is this compilation's own copy.
        context.get_executable = lambda library, description, environment: object()

    def define_pipelines(self) -> Any:
        return _with_pass(super().define_pipelines(), InlineInlinables, _Weaving)


@register_pass(mutates_CFG=True, analysis_only=False)
class _LoopLowering(NativeParforLowering):
    """Makes the body of a `prange`, and what hands it to the threads, parts of the function that it stands in.

    Numba would optimise the body, with all that it calls, three times more than is needed.
    """

    _name = "loop_lowering"

    def run_pass(self, state: Any) -> bool:
        context, codegen = state.targetctx, state.targetctx.codegen()
        executable, libraries = context.get_executable, codegen._library_class
        if state.library is None:
            state.library = codegen.create_library(state.func_id.func_qualname)
            state.library.enable_object_caching()

        def library(codegen: Any, name: str, **named: Any) -> Any:
            return (_PartLibrary if "gufunc" in name.lower() else libraries)(codegen, name, **named)

        def loaded(library: Any, *description: Any) -> Any:
            return object() if isinstance(library, _PartLibrary) else executable(library, *description)

        codegen._library_class, context.get_executable = library, loaded
        try:
            return bool(super().run_pass(state))
        finally:
            codegen._library_class, context.get_executable = libraries, executable


def _with_pass(pipelines: Any, old: Any, new: Any) -> Any:
    for pipeline in pipelines:
        pipeline.passes = [(new if each is old else each, description) for each, description in pipeline.passes]
    return pipelines


class _Part(CPUDispatcher):
    """A function that compiled code calls. For calls from Python it is compiled again, as a whole."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None, pipeline_class: Any = None) -> None:
        super().__init__(py_func, locals or {}, targetoptions or {}, _PartCompiler)
        self._options = {
            key: value for key, value in self.targetoptions.items() if key not in ("nopython", "boundscheck")
        }
        self._whole: Any = None

    def add_overload(self, result: Any) -> None:
        self.overloads[tuple(result.signature.args)] = result  # but not among those that Python calls

    def _compile_for_args(self, *arguments: Any, **named: Any) -> Any:
        if self._whole is None:
            self._whole = njit(pipeline_class=WholeCompiler, **self._options)(self.py_func)
            self._whole.tried = True
        return self._whole._compile_for_args(*arguments, **named)


class _Twin(_Part):
    """A part that Python runs uncompiled."""

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def part(interpreted: bool, **options: Any) -> Any:
    """A decorator for functions that only compiled code calls (see `asobiba.core.targets.part`)."""
    kind = _Twin if interpreted else _Part
    return lambda function: kind(function, targetoptions={"nopython": True, "boundscheck": None, **options})

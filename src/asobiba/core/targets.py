"""Whatever is particular to a processor: how code is compiled, vector loads of masks, hints to the cache, threads.

Everything else in rules, loops and searches is plain arithmetic on records, so that another target (a GPU) replaces this
module alone. Each function here has a plain twin that says what it does, and runs where nothing is compiled
(`NUMBA_DISABLE_JIT=1`); tests compare the two.

The ways of compiling:

* `KERNEL`: a game's rules and policies, compiled into whatever calls them (see `part`). Numba hands `forceinline` down to
  what a function calls, unless that says otherwise.
* `LEAN`, `INLINED`: neither allocate nor count references, which Numba otherwise does at every call that passes arrays
  on (a connect four fell from 77 to 14 million steps per second). What is inlined is passed no arrays, which are seven
  words and more each.
* `WOVEN`: the parts of a loop, put into it before anything is compiled, which takes a third less time to compile than
  inlining machine code. What they are woven into must be `LEAN`.
* `CALLED`, `THREADED`: what Python calls, kept in the disk cache; on one thread, or with `prange` on all.
"""

from __future__ import annotations

import gc
import os
import sys
from copy import deepcopy
from typing import Any

import numpy as np

# Threads that wait must not spin: two processes side by side would take each other's cores. But to sleep at once costs
# some 100 us a call, three times the work of a batch of 1024 games; a thousand turns are microseconds. GNU OpenMP reads
# this when it is loaded, which is when the first threaded function runs.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils, event
from numba.core import ir as numba_ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeParforLowering
from numba.core.untyped_passes import InlineInlinables
from numba.extending import intrinsic, overload

KERNEL: dict[str, Any] = {"error_model": "numpy", "nogil": True, "forceinline": False}
LEAN: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False, "forceinline": False}
INLINED: dict[str, Any] = {**LEAN, "forceinline": True}
WOVEN: dict[str, Any] = {**LEAN, "inline": "always"}
CALLED: dict[str, Any] = {"error_model": "numpy", "nogil": True, "cache": True, "no_cfunc_wrapper": True}
COMPILES = not config.DISABLE_JIT  # type: ignore[attr-defined]
"""Whether anything is compiled; not with `NUMBA_DISABLE_JIT=1`."""


def most_threads() -> int:
    """How many threads compiled code may use: `NUMBA_NUM_THREADS`, or all cores."""
    return int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


# Functions that only compiled code calls are parts of what calls them: they are translated once, and optimised and made
# machine code only there, together with the rest. Numba would do both for each of them by itself, and again for each
# function that they are put into: a single environment took nearly twice as long to compile.


class _PartLibrary(JITCodeLibrary):
    """Translated code that waits for the function that it is linked into.

    What is to be inlined in any case is optimised before: whole games were up to 12 % slower without.
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
    """Puts what is `WOVEN` into a function.

    Numba copies a function's blocks twice for each place that it is put into, and with each block all its variables: a
    fifth of the time that a loop took to compile. Here the variables are copied once a copy.
    """

    _name = "weaving"

    def run_pass(self, state: Any) -> bool:
        copies: dict[int, tuple[Any, Any]] = {}  # of variables by their identity, which keeps what was copied alive

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


class _PartCompiler(Compiler):
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


class ThreadedCompiler(Compiler):
    """Compiles functions with `prange`."""

    def define_pipelines(self) -> Any:
        return _with_pass(super().define_pipelines(), NativeParforLowering, _LoopLowering)


def _with_pass(pipelines: Any, old: Any, new: Any) -> Any:
    for pipeline in pipelines:
        pipeline.passes = [(new if each is old else each, description) for each, description in pipeline.passes]
    return pipelines


THREADED: dict[str, Any] = {**CALLED, "parallel": True, "pipeline_class": ThreadedCompiler}


class _Part(CPUDispatcher):
    """A function that compiled code calls. Python may call it too: for that it is compiled again, as a whole."""

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
            self._whole = njit(**self._options)(self.py_func)
            self._whole.tried = True
        return self._whole._compile_for_args(*arguments, **named)


class _Twin(_Part):
    """A part that Python runs as it is written, without compiling anything."""

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def part(interpreted: bool = False, **options: Any) -> Any:
    """A decorator like `numba.njit`, for functions that only compiled code calls.

    Python may call them too: what is `interpreted` then runs as it is written, the rest is compiled for that.
    """
    if not COMPILES:
        return lambda function: function
    if interpreted:
        return lambda function: _Twin(function, targetoptions={"nopython": True, "boundscheck": None, **options})
    return lambda function: _Part(function, targetoptions={"nopython": True, "boundscheck": None, **options})


def again(function: Any, **options: Any) -> Any:
    """A compiled function, compiled in another way, as a part of what calls it."""
    return part(**options)(getattr(function, "py_func", function))


# Vector loads: masks are read 64 entries at a time, as the bits of a word.


def _loader(width: int) -> Any:
    @intrinsic
    def load(typing_context, mask, start):
        def generate(context, builder, signature, arguments):
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            vector = ir.VectorType(ir.IntType(8), width)
            first = builder.bitcast(builder.gep(array.data, [arguments[1]]), vector.as_pointer())
            entries = builder.load(first)
            entries.align = 1
            bits = builder.bitcast(builder.icmp_unsigned("!=", entries, ir.Constant(vector, None)), ir.IntType(width))
            return bits if width == 64 else builder.zext(bits, ir.IntType(64))

        return types.uint64(mask, types.intp), generate

    return load


_load_64, _load_32, _load_16, _load_8 = _loader(64), _loader(32), _loader(16), _loader(8)


def mask_word(mask: np.ndarray, start: int) -> np.uint64:
    """Which of the (at most) 64 entries of a 1-D mask from `start` on are not 0: bits, the first the lowest.

    `start` is a multiple of 64.
    """
    entries = np.zeros(64, np.bool_)
    found = np.asarray(mask[start : start + 64]) != 0
    entries[: len(found)] = found
    return np.packbits(entries, bitorder="little").view("<u8")[0]


@overload(mask_word, inline="always")
def _compiled_mask_word(mask, start):
    if mask.layout == "C" and mask.dtype in (types.int8, types.uint8, types.boolean):
        return lambda mask, start: _loaded_word(mask, start)
    return lambda mask, start: gathered_word(mask, start)


@part(**KERNEL)
def _loaded_word(mask, start):
    size = mask.shape[0]
    if start + 64 <= size:
        return _load_64(mask, start)
    if size >= 64:  # the last entries: those that the load has too many are shifted out
        return _load_64(mask, size - 64) >> np.uint64(64 + start - size)
    if size >= 32:
        return _load_32(mask, 0) | (_load_32(mask, size - 32) << np.uint64(size - 32))
    if size >= 16:
        return _load_16(mask, 0) | (_load_16(mask, size - 16) << np.uint64(size - 16))
    if size >= 8:
        return _load_8(mask, 0) | (_load_8(mask, size - 8) << np.uint64(size - 8))
    return gathered_word(mask, start)


@part(**KERNEL)
def gathered_word(mask, start):
    """`mask_word` entry by entry, for masks of any layout."""
    word = np.uint64(0)
    for k in range(min(64, mask.shape[0] - start)):
        word |= np.uint64(mask[start + k] != 0) << np.uint64(k)
    return word


@intrinsic
def _count_ones(typing_context, word):
    return types.uint64(types.uint64), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])


def count_ones(word: np.uint64) -> int:
    """How many bits of a `uint64` are 1."""
    return int(word).bit_count()


@overload(count_ones, inline="always")
def _compiled_count_ones(word):
    return lambda word: np.int64(_count_ones(word))  # type: ignore[call-arg]


# A hint to the processor: fetch a record of an array into the cache before it is needed.

_LINE, _MOST = 64, 768  # bytes; what lies further back in a record is mostly history, of which a step reads little


def prefetch(records: np.ndarray, i: int) -> None:
    """Begins to fetch `records[i]` (of a 1-D array of records) for reading and writing; changes nothing."""


@overload(prefetch, inline="always")
def _compiled_prefetch(records, i):
    return lambda records, i: _fetch(records, i)  # type: ignore[call-arg]


@intrinsic
def _fetch(typing_context, records, i):
    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer, flag = cgutils.voidptr_t, ir.IntType(32)
        function = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [pointer], function)
        stride = cgutils.unpack_tuple(builder, array.strides)[0]
        record = builder.gep(builder.bitcast(array.data, pointer), [builder.mul(arguments[1], stride)])
        for offset in range(0, min(records.dtype.size, _MOST), _LINE):
            line = builder.gep(record, [context.get_constant(types.intp, offset)])
            builder.call(hint, [line, flag(1), flag(3), flag(1)])  # for writing, into all caches, data
        return context.get_dummy_value()

    return types.void(records, types.intp), generate


# Nothing is silent while it compiles.


class _Announcement(event.Listener):
    """Says once, on standard error, that this process compiles something that is kept."""

    def __init__(self) -> None:
        self._said = bool(os.environ.get("ASOBIBA_QUIET"))
        self._tried = 0  # depth within a part that Python calls, which is small and not kept

    def on_start(self, event: Any) -> None:
        if self._said:
            return
        dispatcher = event.data.get("dispatcher")
        if self._tried or getattr(dispatcher, "tried", False):
            self._tried += 1
            return
        module = getattr(getattr(dispatcher, "py_func", None), "__module__", "") or ""
        if not module.startswith("asobiba"):
            return
        self._said = True
        what = module.removeprefix("asobiba_generated.").removeprefix("asobiba.").rpartition("_")[0] or module
        print(
            f"asobiba: compiling {what} for this machine; 5 to 15 s, then kept in the cache (silence this line with "
            "ASOBIBA_QUIET=1)",
            file=sys.stderr,
            flush=True,
        )

    def on_end(self, event: Any) -> None:
        if self._tried:
            self._tried -= 1


class _FewerCollections(event.Listener):
    """Lets Python look for cycles seldom while it compiles: a tenth of the time went into that, and it found little."""

    def __init__(self) -> None:
        self._depth = 0

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._thresholds = gc.get_threshold()
            gc.set_threshold(50_000, 20, 50)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            gc.set_threshold(*self._thresholds)


event.register("numba:compile", _Announcement())
event.register("numba:compile", _FewerCollections())

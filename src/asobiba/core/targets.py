"""Everything specific to a processor: compiling, vector loads of masks, cache hints, threads.

All other code in rules, loops and searches is plain arithmetic on records, so that another target (a GPU) replaces only
this module. Each function here has a plain twin that defines it, and that runs where nothing is compiled
(`NUMBA_DISABLE_JIT=1`); tests compare the two.

The ways of compiling:

* `KERNEL`: a game's rules and policies, compiled into their callers (see `part`). Numba passes `forceinline` on to a
  function's callees unless they override it.
* `LEAN`, `INLINED`: neither allocate nor count references, which Numba otherwise does at every call that passes arrays
  on (connect four fell from 77 to 14 million steps per second). Inlined functions are passed no arrays, which have
  seven or more words each.
* `WOVEN`: the parts of a loop, put into it before anything is compiled, which takes a third less time to compile than
  inlining machine code. The loop must be `LEAN`.
* `CALLED`, `THREADED`: functions that Python calls, kept in the disk cache; on one thread, or with `prange` on all.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils, event
from numba.extending import intrinsic, overload

from asobiba.core.symbols import LayoutCompiler

COMPILES = not config.DISABLE_JIT  # type: ignore[attr-defined]
"""Whether anything is compiled; not with `NUMBA_DISABLE_JIT=1`."""
TESTED = ("0.68.",)
"""The versions of Numba that `asobiba.core.surgery` was tested with; others compile as Numba does."""
FAST = COMPILES and not os.environ.get("ASOBIBA_PLAIN_NUMBA") and numba.__version__.startswith(TESTED)
"""Whether compiling is shortened by `asobiba.core.surgery`; not with `ASOBIBA_PLAIN_NUMBA=1`."""
if FAST:
    from asobiba.core import surgery

KERNEL: dict[str, Any] = {"error_model": "numpy", "nogil": True, "forceinline": False}
LEAN: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False, "forceinline": False}
INLINED: dict[str, Any] = {**LEAN, "forceinline": True}
WOVEN: dict[str, Any] = {**LEAN, "inline": "always"}
WHOLE: Any = surgery.WholeCompiler if FAST else LayoutCompiler
"""The compiler (`pipeline_class`) of what Python calls."""
CALLED: dict[str, Any] = {
    "error_model": "numpy",
    "nogil": True,
    "cache": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": WHOLE,
}
THREADED: dict[str, Any] = {**CALLED, "parallel": True}


def most_threads() -> int:
    """Number of threads that compiled code may use: `NUMBA_NUM_THREADS`, or all cores."""
    return int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


# Functions that only compiled code calls are parts of their callers.


def part(interpreted: bool = False, **options: Any) -> Any:
    """A decorator like `numba.njit`, for functions that only compiled code calls.

    Python may call them too: an `interpreted` one may then run uncompiled, the others are compiled for that.
    """
    if not COMPILES:
        return lambda function: function
    if FAST:
        return surgery.part(interpreted, **options)
    return njit(pipeline_class=LayoutCompiler, **options)


def again(function: Any, **options: Any) -> Any:
    """A compiled function, compiled in another way, as a part of its caller."""
    return part(**options)(getattr(function, "py_func", function))


def wait_without_spinning() -> None:
    """Lets threads that wait sleep, in this process and those it starts; called before the first of them starts.

    Spinning threads of two processes would take each other's cores. But sleeping at once costs some 100 us per call,
    three times the work of a batch of 1024 games; a thousand spins take microseconds. OpenMP reads this setting when it
    is loaded, at the first call of a threaded function. The user's own setting is kept.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")


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
    """Bits that tell which of the (at most) 64 entries of a 1-D mask from `start` on are not 0, the first the lowest.

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
    if size >= 64:  # the last entries: surplus ones of the load are shifted out
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
    """Number of bits of a `uint64` that are 1."""
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


# Compiling is always announced.


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


event.register("numba:compile", _Announcement())

"""A short way from Python to the loop over one game.

Numba's wrapper of a compiled function makes a tuple of the arguments, converts each of them and releases the
interpreter's lock: some 300 ns, as much as a step of a game; and a copy of an array takes another 150. The function of
a `Direct` is a built-in one that takes the action alone, calls the loop with arguments that were prepared, and copies
arrays that the loop wrote. It releases the lock if there are other threads.

The function is written below in LLVM's language and knows how Numba passes arguments. So it is used with tested versions
of Numba only (`asobiba.core.targets.FAST`); elsewhere a plain twin does the same.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import config

from asobiba.core.handover import Handover, address_of
from asobiba.core.kernels import entry_point
from asobiba.core.targets import FAST

_SHORT = FAST and not config.BOUNDSCHECK  # type: ignore[attr-defined]
_MOST_COPIES = 2
_CODE = """
@message = constant [{length} x i8] c"{message}\\00"

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define ptr @direct(ptr %order, ptr %action) {{
entry:
  %result = alloca i64
  %trouble = alloca ptr
  %words = call ptr inttoptr (i64 {PyLong_AsVoidPtr} to ptr)(ptr %order)
  %loop = load ptr, ptr %words
  %op_at = getelementptr i64, ptr %words, i64 1
  %op = load i64, ptr %op_at
  %mode_at = getelementptr i64, ptr %words, i64 2
  %mode = load i64, ptr %mode_at
  %handover_at = getelementptr i64, ptr %words, i64 3
  %handover = load ptr, ptr %handover_at
  %place_at = getelementptr i64, ptr %words, i64 4
  %place = load ptr, ptr %place_at
  %acts = icmp ne ptr %place, null
  br i1 %acts, label %convert, label %start

convert:
  %number = call i64 inttoptr (i64 {PyLong_AsLongLong} to ptr)(ptr %action)
  %doubtful = icmp eq i64 %number, -1
  br i1 %doubtful, label %doubt, label %write

doubt:
  %error = call ptr inttoptr (i64 {PyErr_Occurred} to ptr)()
  %failed = icmp ne ptr %error, null
  br i1 %failed, label %fail, label %write

fail:
  ret ptr null

write:
  store i64 %number, ptr %place
  br label %start

start:
  %interpreter = call ptr inttoptr (i64 {PyInterpreterState_Get} to ptr)()
  %first = call ptr inttoptr (i64 {PyInterpreterState_ThreadHead} to ptr)(ptr %interpreter)
  %second = call ptr inttoptr (i64 {PyThreadState_Next} to ptr)(ptr %first)
  %alone = icmp eq ptr %second, null
  br i1 %alone, label %run, label %run_unlocked

run:
  %status_alone = call i32 %loop(ptr %result, ptr %trouble, i64 %op, i64 %mode, ptr %handover)
  br label %ran

run_unlocked:
  %thread = call ptr inttoptr (i64 {PyEval_SaveThread} to ptr)()
  %status_unlocked = call i32 %loop(ptr %result, ptr %trouble, i64 %op, i64 %mode, ptr %handover)
  call void inttoptr (i64 {PyEval_RestoreThread} to ptr)(ptr %thread)
  br label %ran

ran:
  %status = phi i32 [ %status_alone, %run ], [ %status_unlocked, %run_unlocked ]
  %well = icmp eq i32 %status, 0
  br i1 %well, label %hand_out, label %raise

raise:
  call void inttoptr (i64 {PyErr_SetString} to ptr)(ptr inttoptr (i64 {error} to ptr), ptr @message)
  ret ptr null

hand_out:
  %to_at = getelementptr i64, ptr %words, i64 5
  %to = load ptr, ptr %to_at
  %from_at = getelementptr i64, ptr %words, i64 6
  %from = load ptr, ptr %from_at
  %size_at = getelementptr i64, ptr %words, i64 7
  %size = load i64, ptr %size_at
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  %next_to_at = getelementptr i64, ptr %words, i64 8
  %next_to = load ptr, ptr %next_to_at
  %next_from_at = getelementptr i64, ptr %words, i64 9
  %next_from = load ptr, ptr %next_from_at
  %next_size_at = getelementptr i64, ptr %words, i64 10
  %next_size = load i64, ptr %next_size_at
  call void @llvm.memcpy.p0.p0.i64(ptr %next_to, ptr %next_from, i64 %next_size, i1 false)
  %summary = load i64, ptr %result
  %boxed = call ptr inttoptr (i64 {PyLong_FromLongLong} to ptr)(i64 %summary)
  ret ptr %boxed
}}
"""
_NAMES = (
    "PyLong_AsVoidPtr",
    "PyLong_AsLongLong",
    "PyErr_Occurred",
    "PyErr_SetString",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyInterpreterState_Get",
    "PyInterpreterState_ThreadHead",
    "PyThreadState_Next",
    "PyLong_FromLongLong",
)
_MESSAGE = "compiled code of a game raised an error; set ASOBIBA_PLAIN_NUMBA=1 to see it"
_METH_O = 8


class _Method(ctypes.Structure):
    """`PyMethodDef` of Python's C interface."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@cache
def _method() -> tuple[_Method, Any, Callable[[int, Any, Any], Any]]:
    """The method, what keeps its machine code, and the function that makes a built-in function of it."""
    python = ctypes.pythonapi
    addresses = {name: ctypes.cast(getattr(python, name), ctypes.c_void_p).value for name in _NAMES}
    code = _CODE.format(error=id(RuntimeError), message=_MESSAGE, length=len(_MESSAGE) + 1, **addresses)
    module = llvm.parse_assembly(code)
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    method = _Method(b"direct", engine.get_function_address("direct"), _METH_O, None)
    form = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return method, engine, form(("PyCFunction_NewEx", python))


class Direct:
    """Functions that do something with one game: each of `calls` takes an action and returns the summary.

    Args:
        loop: `run` of an engine.
        ops: its first argument in each of `calls`.
        mode, handover: its other arguments.
        action: the `(1,)` int64 array that the action is written into; without it the argument of `calls` is ignored.
        sources: at most two contiguous arrays that are copied into `copies` after each call.

    `calls` raise `TypeError` for an action that is not a whole number, `OverflowError` for one that is too large.
    """

    __slots__ = ("_action", "_arguments", "_code", "_ops", "_orders", "_sources", "calls", "copies")

    def __init__(
        self,
        loop: Any,
        ops: Sequence[int],
        mode: int,
        handover: Handover,
        action: np.ndarray | None = None,
        sources: Sequence[np.ndarray] = (),
    ) -> None:
        self._ops, self._arguments, self._action, self._sources = ops, (mode, handover), action, tuple(sources)
        self._code: Any = (_machine_code if _SHORT else entry_point)(loop, (ops[0], mode, handover))
        self._bind()

    def twin(self) -> Direct:
        """The same functions with other `copies`; it costs less than another `Direct`."""
        twin = copy(self)
        twin._bind()
        return twin

    def _bind(self) -> None:
        self._orders = np.zeros((len(self._ops), 5 + 3 * _MOST_COPIES), np.int64)
        self.calls: list[Callable[[Any], int]] = []
        self.renew()
        if not _SHORT:
            self.calls += map(self._plain, self._ops)
            return
        mode, handover = self._arguments
        place = 0 if self._action is None else address_of(self._action)
        method, _, make = _method()
        for op, order in zip(self._ops, self._orders):
            order[:5] = self._code, op, mode, handover.address, place
            # Its module, which may be any object, keeps alive what it reads and writes.
            self.calls.append(make(ctypes.addressof(method), address_of(order), self))

    def renew(self) -> None:
        """Replaces `copies` by arrays that nobody else holds."""
        self.copies = tuple(source.copy() for source in self._sources)
        if _SHORT:
            for k, (to, source) in enumerate(zip(self.copies, self._sources)):
                self._orders[:, 5 + 3 * k : 8 + 3 * k] = address_of(to), address_of(source), source.nbytes

    def _plain(self, op: int) -> Callable[[Any], int]:
        def call(action: Any) -> int:
            if self._action is not None:
                self._action[0] = operator.index(action)
            summary = self._code(op, *self._arguments)
            for to, source in zip(self.copies, self._sources):
                to[...] = source
            return int(summary)

        return call


def _machine_code(function: Any, arguments: tuple[Any, ...]) -> int:
    """The address of a compiled function, to be called as Numba's compiled code calls it."""
    signature = tuple(function.typeof_pyval(argument) for argument in arguments)
    function.compile(signature)
    compiled = function.overloads[signature]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))

"""Functions over arrays as exports of a WebAssembly module: wrappers over addresses, optimisation, and the linker.

An export takes 32-bit integers: the number of rows of its arrays, then the address of each array; numbers are passed by
value. The other dimensions of an array are fixed when the module is made. The module owns its memory; the caller puts
arrays behind `__heap_base`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils

from asobiba.core.errors import AsobibaError, MissingExtra
from asobiba.targets.wasm.numba_target import compiled_for, context, target_machine

ARENA = 1 << 24
"""Bytes for arrays that a function makes; they are free again when the export returns."""
STACK = 1 << 20
_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_POINTER = _I8.as_pointer()
_ARENA_TOP = "asobiba_arena_top"


class WasmError(AsobibaError):
    """A module that cannot be made."""


@dataclass(frozen=True)
class ArrayOf:
    """An array argument of an export: `(rows, *shape)` of a dtype; with `rows=None` the caller gives the number."""

    dtype: np.dtype
    shape: tuple[int, ...] = ()
    rows: int | None = None


@dataclass(frozen=True)
class Export:
    """A function by the name that it is exported by, with its arguments: arrays, or NumPy dtypes of numbers."""

    name: str
    function: Any
    arguments: tuple[ArrayOf | np.dtype, ...]

    @property
    def types(self) -> tuple[types.Type, ...]:
        """The arguments as Numba's types."""
        return tuple(
            types.Array(from_dtype(one.dtype), 1 + len(one.shape), "C") if isinstance(one, ArrayOf) else from_dtype(one)
            for one in self.arguments
        )


def object_code(exports: Sequence[Export]) -> bytes:
    """A relocatable wasm32 object with these exports and all that they reach.

    Raises:
        numba.core.errors.NumbaError: where a function is not a kernel.
    """
    whole = llvm.parse_assembly(str(_runtime()))
    for export in exports:
        result = compiled_for(export.function, export.types)
        whole.link_in(llvm.parse_assembly(str(_wrapper(export, result))))
        whole.link_in(result.library.module, preserve=True)
    names = {export.name for export in exports}
    for one in [*whole.functions, *whole.global_variables]:
        if not one.is_declaration and one.name not in names:
            one.linkage = "internal"
    whole.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(target_machine(), tuning)
    builder.getModulePassManager().run(whole, builder)
    return bytes(target_machine().emit_object(whole))


def _wrapper(export: Export, result: Any) -> ir.Module:
    """A module with the export: it makes Numba's arrays from addresses and calls the function."""
    target = context()
    module = target.create_module(export.name)
    signature = result.signature
    callee = ir.Function(
        module, target.call_conv.get_function_type(signature.return_type, signature.args), result.fndesc.llvm_func_name
    )
    taken = [_I32 if isinstance(one, ArrayOf) else target.get_value_type(from_dtype(one)) for one in export.arguments]
    returned = signature.return_type
    kind = ir.VoidType() if returned in (types.none, types.void) else target.get_value_type(returned)
    outer = ir.Function(module, ir.FunctionType(kind, [_I32, *taken]), export.name)
    builder = ir.IRBuilder(outer.append_basic_block("entry"))
    top = ir.GlobalVariable(module, _I32, _ARENA_TOP)
    builder.store(_I32(0), top)
    rows = builder.zext(outer.args[0], _I64)
    values = []
    for one, given, numba_type in zip(export.arguments, outer.args[1:], export.types, strict=True):
        if not isinstance(one, ArrayOf):
            values.append(given)
            continue
        shape = [rows if one.rows is None else _I64(one.rows), *map(_I64, one.shape)]
        strides = [_I64(one.dtype.itemsize * int(np.prod(one.shape[k:]))) for k in range(len(one.shape) + 1)]
        array = target.make_array(numba_type)(target, builder)
        target.populate_array(
            array,
            data=builder.inttoptr(given, array.data.type),
            shape=shape,
            strides=strides,
            itemsize=_I64(one.dtype.itemsize),
            meminfo=None,
        )
        values.append(array._getvalue())
    status, found = target.call_conv.call_function(builder, callee, returned, signature.args, values)
    with cgutils.if_unlikely(builder, status.is_error):
        builder.call(builder.module.declare_intrinsic("llvm.trap", (), ir.FunctionType(ir.VoidType(), ())), ())
        builder.unreachable()
    builder.ret_void() if isinstance(kind, ir.VoidType) else builder.ret(found)
    return module


def _runtime() -> ir.Module:
    """A stand-in for Numba's runtime: memory from the arena, given back all at once; references are not counted."""
    target = context()
    module = target.create_module("runtime")
    arena = ir.GlobalVariable(module, ir.ArrayType(_I8, ARENA), "asobiba_arena")
    arena.initializer = ir.Constant(arena.type.pointee, None)
    arena.align = 64
    top = ir.GlobalVariable(module, _I32, _ARENA_TOP)
    top.initializer = _I32(0)
    taking = {
        "NRT_MemInfo_alloc": (_I64,),
        "NRT_MemInfo_alloc_safe": (_I64,),
        "NRT_MemInfo_alloc_aligned": (_I64, _I32),
        "NRT_MemInfo_alloc_safe_aligned": (_I64, _I32),
        "NRT_Allocate": (_I64,),
    }
    for name, arguments in taking.items():
        function = ir.Function(module, ir.FunctionType(_POINTER, arguments), name)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        begin = builder.load(top)
        size = builder.and_(builder.add(builder.trunc(function.args[0], _I32), _I32(63)), _I32(-64))
        end = builder.add(begin, size)
        too_much = builder.or_(
            builder.icmp_unsigned(">", function.args[0], _I64(ARENA)), builder.icmp_unsigned(">", end, _I32(ARENA))
        )
        with cgutils.if_unlikely(builder, too_much):
            builder.call(module.declare_intrinsic("llvm.trap", (), ir.FunctionType(ir.VoidType(), ())), ())
            builder.unreachable()
        builder.store(end, top)
        builder.ret(builder.gep(builder.bitcast(arena, _POINTER), [begin]))
    data = ir.Function(module, ir.FunctionType(_POINTER, [_POINTER]), "NRT_MemInfo_data_fast")
    ir.IRBuilder(data.append_basic_block("entry")).ret(data.args[0])
    for name in ("NRT_incref", "NRT_decref", "NRT_Free"):
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [_POINTER]), name)
        ir.IRBuilder(function.append_basic_block("entry")).ret_void()
    return module


def _multi3() -> bytes:
    """Object code of the function for products of 128 bits, by which LLVM checks the sizes of arrays for overflow.

    An object of its own: LLVM calls it only after it has dropped what nobody calls.
    """
    module = context().create_module("multi3")
    kind = ir.FunctionType(ir.VoidType(), [_I64.as_pointer(), _I64, _I64, _I64, _I64])
    function = ir.Function(module, kind, "__multi3")
    for attribute in ("noinline", "optnone"):  # else LLVM might see the product, and call this function for it
        function.attributes.add(attribute)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    out, low_a, high_a, low_b, high_b = function.args

    def halves(value: ir.Value) -> tuple[ir.Value, ir.Value]:
        return builder.and_(value, _I64(0xFFFFFFFF)), builder.lshr(value, _I64(32))

    a, b = halves(low_a), halves(low_b)
    cross, other = halves(builder.mul(a[0], b[1])), halves(builder.mul(a[1], b[0]))
    middle = builder.add(builder.add(halves(builder.mul(a[0], b[0]))[1], cross[0]), other[0])
    high = builder.mul(a[1], b[1])
    for part in (cross[1], other[1], halves(middle)[1], builder.mul(low_a, high_b), builder.mul(high_a, low_b)):
        high = builder.add(high, part)
    builder.store(builder.mul(low_a, low_b), out)
    builder.store(high, builder.gep(out, [_I32(1)]))
    builder.ret_void()
    return target_machine().emit_object(llvm.parse_assembly(str(module)))


def linker() -> list[str]:
    """The command of LLVM's linker for WebAssembly.

    Raises:
        MissingExtra: where the package that brings it is not installed.
    """
    try:
        import ziglang  # noqa: F401
    except ImportError:
        raise MissingExtra("ziglang", "wasm") from None
    return [sys.executable, "-m", "ziglang", "wasm-ld"]


def link(objects: Sequence[bytes], exports: Sequence[str]) -> bytes:
    """One module of these objects, with a memory of its own and no imports.

    Raises:
        WasmError: where a function is missing, such as one of the C library.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = []
        for k, content in enumerate([*objects, _multi3()]):
            paths.append(str(folder / f"{k}.o"))
            Path(paths[-1]).write_bytes(content)
        command = [
            *linker(), "--no-entry", "--gc-sections", "--strip-all", "--stack-first", f"-zstack-size={STACK}",
            "--export=__heap_base", *(f"--export={export}" for export in exports), "-O2", "-o", str(folder / "out.wasm"),
            *paths,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise WasmError(f"the modules cannot be linked:\n{done.stderr.strip()}")
        return (folder / "out.wasm").read_bytes()

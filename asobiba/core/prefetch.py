"""A hint to the processor: fetch a record of an array into the cache before it is needed."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

_LINE, _MOST = 64, 768  # bytes; what lies further back in a record is mostly history, of which a step reads little


def prefetch(records, i):
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

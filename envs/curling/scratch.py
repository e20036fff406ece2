"""Small arrays on the stack for kernels, which may not allocate; a running shot needs a few numbers per stone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

ROWS, COLUMNS = 16, 16


@intrinsic
def _stack_array(typing_context):
    kind = types.Array(types.float64, 2, "C")

    def generate(context, builder, signature, arguments):
        word = ir.IntType(64)
        # In the function's entry block: a loop around the call does not make the stack grow.
        data = cgutils.alloca_once(builder, ir.DoubleType(), size=ir.Constant(word, ROWS * COLUMNS))
        array = make_array(kind)(context, builder)
        populate_array(
            array,
            data=data,
            shape=cgutils.pack_array(builder, [ir.Constant(word, ROWS), ir.Constant(word, COLUMNS)]),
            strides=cgutils.pack_array(builder, [ir.Constant(word, COLUMNS * 8), ir.Constant(word, 8)]),
            itemsize=ir.Constant(word, 8),
            meminfo=None,
        )
        return array._getvalue()

    return kind(), generate


def _plain_rows():
    return np.zeros((ROWS, COLUMNS))


stack_rows: Callable[[], Any] = (
    _plain_rows if config.DISABLE_JIT else cast(Callable[[], Any], _stack_array)  # type: ignore[attr-defined]
)
"""A `(16, 16)` float64 array that lives until its kernel returns. Its contents are arbitrary: write before you read.

An intrinsic rather than an overload: kernels are compiled without reference counting, and Numba lets no such function
return an array. Without the compiler it is an array of NumPy's.
"""

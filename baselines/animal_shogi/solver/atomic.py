"""Atomic memory operations for compiled loops that run on several threads; Numba offers them on GPUs only.

Each takes a C-contiguous one-dimensional array and returns the value that the element had before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import cgutils, types
from numba.core.typing import signature
from numba.extending import intrinsic


def _element(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return cgutils.gep(builder, data, index)


def _read_modify_write(operation, array, index, value):
    if not isinstance(array, types.Array) or array.ndim != 1 or not isinstance(index, types.Integer):
        return None
    element = array.dtype

    def generate(context, builder, call, arguments):
        position = context.cast(builder, arguments[1], call.args[1], types.int64)
        operand = context.cast(builder, arguments[2], call.args[2], element)
        pointer = _element(context, builder, call.args[0], arguments[0], position)
        return builder.atomic_rmw(operation, pointer, operand, "monotonic")

    return signature(element, array, index, value), generate


def _atomic(definition: Callable[..., Any]) -> Callable[[Any, Any, Any], Any]:
    """An intrinsic of `(array, index, value)`: whoever calls it does not give the typing context."""
    return intrinsic(definition)


@_atomic
def atomic_add(typing_context, array, index, value):
    """Adds to an integer element."""
    return _read_modify_write("add", array, index, value)


@_atomic
def atomic_subtract(typing_context, array, index, value):
    """Subtracts from an integer element."""
    return _read_modify_write("sub", array, index, value)


@_atomic
def atomic_or(typing_context, array, index, value):
    """Sets bits of an integer element."""
    return _read_modify_write("or", array, index, value)


@_atomic
def atomic_exchange(typing_context, array, index, value):
    """Replaces an integer element."""
    return _read_modify_write("xchg", array, index, value)


__all__ = ["atomic_add", "atomic_exchange", "atomic_or", "atomic_subtract"]

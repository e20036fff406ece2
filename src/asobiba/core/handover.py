"""Hands arrays to compiled code by one address instead of one Python object each.

Numba checks and unpacks every array that Python passes, and counts a reference to it: some fifty nanoseconds each, and
the loops over games take 23 arrays, which costs more than a step of one game. A `Handover` stores the addresses and
shapes of its arrays once; compiled code gets the address of this table and makes its own arrays from it (`unpacked`).
It uses `numba.extending` and, of Numba's internals, `cgutils` and `populate_array`; `unpacked` has a twin for code that
is not compiled.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import NativeValue, intrinsic, models, overload, register_model, typeof_impl, unbox
from numba.np.arrayobj import populate_array


class Handover:
    """Arrays, and named tuples of arrays, for one argument of a compiled function; keeps them alive.

    Args:
        parts: contiguous arrays, or named tuples of such; those of later calls have the same dtypes and dimensions.
        loose: numbers of the arrays (counted through all parts) that are not kept alive: `point` tells where they are.
    """

    __slots__ = ("_arrays", "_loose", "_places", "_words", "address", "parts")

    def __init__(self, parts: tuple[Any, ...], loose: tuple[int, ...] = ()) -> None:
        self.parts = parts
        arrays = [array for part in parts for array in _arrays_of(part)]
        ends = np.cumsum([1 + array.ndim for array in arrays]).tolist()
        self._places = [0, *ends[:-1]]
        self._words = np.zeros(ends[-1], np.int64)
        self.address = address_of(self._words)
        self._arrays: list[Any] = [None] * len(arrays)
        self._loose = frozenset(loose)
        for k, array in enumerate(arrays):
            self._put(k, array)

    def _put(self, k: int, array: np.ndarray) -> None:
        if not array.flags.c_contiguous:
            raise TypeError(f"only contiguous arrays can be handed over, not one of strides {array.strides}")
        place = self._places[k]
        self._words[place : place + 1 + array.ndim] = (address_of(array), *array.shape)
        if k not in self._loose:
            self._arrays[k] = array

    def put(self, parts: tuple[Any, ...]) -> None:
        """Replaces the parts by these, except the loose arrays."""
        k = 0
        for old, new in zip(self.parts, parts):
            arrays = _arrays_of(new)
            if new is not old:
                for number, array in enumerate(arrays, k):
                    if number not in self._loose and self._arrays[number] is not array:
                        self._put(number, array)
            k += len(arrays)
        self.parts = parts

    def point(self, k: int, address: int) -> None:
        """Puts an array of the same shape at this address in the place of the loose array `k`."""
        self._words[self._places[k]] = address


def _arrays_of(part: Any) -> tuple[np.ndarray, ...]:
    return part if isinstance(part, tuple) else (part,)


def address_of(array: np.ndarray) -> int:
    """The address of the array's first entry."""
    return int(array.__array_interface__["data"][0])


def unpacked(handover: Handover) -> tuple[Any, ...]:
    """The parts of a handover, in compiled code and elsewhere. They must not be kept longer than the handover."""
    return handover.parts


_SOURCE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
"""Part of the type's name, so that cached machine code of another edition of this file is not used."""


class _HandoverType(types.Type):
    def __init__(self, parts: tuple[types.Type, ...]) -> None:
        self.parts = types.Tuple(parts)
        super().__init__(name=f"Handover({_SOURCE}, {self.parts})")

    @property
    def mangling_args(self) -> tuple[str, tuple[str, ...]]:
        return "Handover", (hashlib.sha256(self.name.encode()).hexdigest()[:24],)


@typeof_impl.register(Handover)
def _typeof(value: Handover, context: Any) -> _HandoverType:
    return _HandoverType(tuple(typeof_impl(part, context) for part in value.parts))


@register_model(_HandoverType)
class _HandoverModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: _HandoverType) -> None:
        super().__init__(manager, kind, cgutils.voidptr_t)


@unbox(_HandoverType)
def _unbox(kind: _HandoverType, value: Any, context: Any) -> NativeValue:
    number = context.pyapi.object_getattr_string(value, "address")
    pointer = context.pyapi.long_as_voidptr(number)
    context.pyapi.decref(number)
    return NativeValue(pointer, is_error=cgutils.is_not_null(context.builder, context.pyapi.err_occurred()))


@overload(unpacked, inline="always")
def _compiled_unpacked(handover):
    if isinstance(handover, _HandoverType):
        return lambda handover: _take_apart(handover)  # type: ignore[call-arg]
    return None


@intrinsic
def _take_apart(typing_context, handover):
    def generate(context, builder, signature, arguments):
        words = builder.bitcast(arguments[0], context.get_value_type(types.intp).as_pointer())
        place = 0

        def word():
            nonlocal place
            place += 1
            return builder.load(builder.gep(words, [context.get_constant(types.intp, place - 1)]))

        def make(kind):
            if isinstance(kind, types.BaseTuple):
                return context.make_tuple(builder, kind, [make(one) for one in kind.types])  # type: ignore[attr-defined]
            array = context.make_array(kind)(context, builder)
            data = builder.inttoptr(word(), context.get_data_type(kind.dtype).as_pointer())
            shape = [word() for _ in range(kind.ndim)]
            size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
            strides = [size]
            for extent in shape[:0:-1]:
                strides.insert(0, builder.mul(strides[0], extent))
            populate_array(array, data, shape, strides, size, None)
            return array._getvalue()

        return make(signature.return_type)

    return handover.parts(handover), generate

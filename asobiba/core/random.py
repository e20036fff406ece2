"""Random numbers that live in the state.

The generator is SplitMix64 used as a counter-based generator: draw number `n` of a record is
`mix(rng_key + n * GAMMA)`. It needs two 64-bit fields, `rng_key` and `rng_counter`, which every state and every
agent memory has; the functions below take any record with these fields, in compiled code or in Python. The same key
and the same number of draws give the same bits everywhere.

Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from asobiba.core.kernels import kernel

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32), np.uint64(11)
_LOW_32 = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)


@kernel
def mix64(x):
    """SplitMix64's finaliser: a bijection on 64-bit integers. Takes and returns `uint64`."""
    x = np.uint64(x)
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@kernel
def seed_record(record, seed, stream):
    """Starts the record's generator afresh. Equal (`seed`, `stream`) pairs give equal draws; others are unrelated."""
    record.rng_key = mix64(mix64(np.uint64(seed) + GAMMA) ^ (np.uint64(stream) * _MIX_1))
    record.rng_counter = np.uint64(0)


@kernel
def random_u64(record):
    """64 uniform random bits (`uint64`)."""
    record.rng_counter += _ONE
    return mix64(record.rng_key + np.uint64(record.rng_counter) * GAMMA)


@kernel
def random_below(record, n):
    """A uniform integer in `[0, n)` (`int64`), for `1 <= n < 2**32`; free of bias (Lemire's rejection)."""
    bound = np.uint64(n)
    product = (random_u64(record) >> _S32) * bound
    low = product & _LOW_32
    if low < bound:
        threshold = ((_ONE << _S32) - bound) % bound
        while low < threshold:
            product = (random_u64(record) >> _S32) * bound
            low = product & _LOW_32
    return np.int64(product >> _S32)


@kernel
def random_uniform(record):
    """A uniform float in `[0, 1)` with 53 random bits (`float64`)."""
    return np.float64(random_u64(record) >> _S11) * (1.0 / 9007199254740992.0)


@kernel
def random_normal(record):
    """A standard normal float (`float64`; Box-Muller, two draws)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - random_uniform(record)))
    return radius * math.cos(2.0 * math.pi * random_uniform(record))


# Masks are read eight entries at a time: a 64-bit word holds eight bytes of 0 or 1.
_BYTES = np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)
_EVEN = np.uint64(0x00FF00FF00FF00FF)
_PAIRS = np.uint64(0x0001000100010001)
_S7, _S8, _S48, _S56 = np.uint64(7), np.uint64(8), np.uint64(48), np.uint64(56)


def _word(mask, start):
    """Eight entries of a mask of one byte each, from `start` on, as one `uint64`, the first in the lowest byte."""
    return np.frombuffer((mask[start : start + 8] != 0).tobytes(), "<u8")[0]


@intrinsic
def _load_word(typing_context, mask, start):
    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        first = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
        word = builder.load(first)
        word.align = 1
        return word

    return types.uint64(mask, types.intp), generate


@overload(_word, inline="always")
def _compiled_word(mask, start):
    if mask.layout == "C" and mask.dtype in (types.int8, types.uint8, types.boolean):
        return lambda mask, start: _load_word(mask, start)  # type: ignore[call-arg]
    return lambda mask, start: _gathered_word(mask, start)


@kernel
def _gathered_word(mask, start):
    word = np.uint64(0)
    for k in range(8):
        word |= np.uint64(mask[start + k] != 0) << np.uint64(8 * k)
    return word


@kernel
def _entries(sums):
    """The sum of a word's eight bytes, where it fits into a byte."""
    return np.int64((sums * _BYTES) >> _S56)


@kernel
def random_legal(record, mask):
    """A uniform draw among the non-zero entries of `mask`: its index, or -1 if there is none.

    `mask` is 1-D; where its entries are of one byte, they are 0 or 1.
    """
    size = mask.shape[0]
    whole = size // 8 * 8
    count: int | np.int64 = 0
    start = 0
    while start < whole:
        stop = min(start + 8 * 255, whole)  # 255 bytes of 1 fit into a byte
        sums = np.uint64(0)
        for k in range(start, stop, 8):
            sums += _word(mask, k)
        count += np.int64((((sums & _EVEN) + ((sums >> _S8) & _EVEN)) * _PAIRS) >> _S48)
        start = stop
    for k in range(whole, size):
        count += mask[k] != 0
    if count == 0:
        return -1
    rank = random_below(record, count)
    start = 0
    while start + 32 <= whole:
        one = _word(mask, start)
        two = one + _word(mask, start + 8)
        three = two + _word(mask, start + 16)
        inside = _entries(three + _word(mask, start + 24))
        if rank < inside:
            # Which of the four words is chosen without branches: nothing could foresee them.
            a, b, c = _entries(one), _entries(two), _entries(three)
            start += 8 * (int(rank >= a) + int(rank >= b) + int(rank >= c))
            rank -= max(a if rank >= a else 0, b if rank >= b else 0, c if rank >= c else 0)
            break
        rank -= inside
        start += 32
    while start < whole:
        prefix = _word(mask, start) * _BYTES  # byte k: how many of the first k + 1 entries are 1
        inside = np.int64(prefix >> _S56)
        if rank < inside:
            before = ((np.uint64(rank) * _BYTES | _TOPS) - prefix) & _TOPS  # bytes whose count is at most the rank
            return start + np.int64(((before >> _S7) * _BYTES) >> _S56)
        rank -= inside
        start += 8
    for k in range(whole, size):
        if mask[k] != 0:
            if rank == 0:
                return k
            rank -= 1
    return -1


@kernel
def begin_control(control, players):
    """Chooses the learner's seat for a new episode and draws the opponents' seed (`uint64` below 2**63).

    `control` is a record of `CONTROL`: `seat_choice` is a seat, or -1 for a random one; `seat` receives it.
    """
    control.seat = control.seat_choice if control.seat_choice >= 0 else random_below(control, players)
    return random_u64(control) >> _ONE


@kernel
def begin_memory(memory, seed, seat):
    """Starts the generator of an agent's memory record for the game of this seed and its seat."""
    memory.rng_key = mix64(mix64(np.uint64(seed)) + np.uint64(seat + 1))
    memory.rng_counter = np.uint64(0)


def seed_keys(seeds, stream):
    """The `rng_key` fields that `seed_record` gives for many seeds: `(n,)` integers in, `(n,)` `uint64` out."""
    with np.errstate(over="ignore"):
        keys = _mix_many(_words(seeds) + GAMMA)
        return _mix_many(keys ^ (np.uint64(stream) * _MIX_1))


def _words(seeds):
    return seeds.astype(np.uint64) if isinstance(seeds, np.ndarray) else np.array(seeds, np.uint64)


def memory_keys(seeds, seat):
    """The `rng_key` fields that `begin_memory` gives for many seeds: `(n,)` integers in, `(n,)` `uint64` out."""
    with np.errstate(over="ignore"):
        return _mix_many(_mix_many(_words(seeds)) + np.uint64(seat + 1))


def _mix_many(x):
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)

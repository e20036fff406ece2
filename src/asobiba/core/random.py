"""Random numbers that live in the state.

The generator is SplitMix64 used as a counter-based generator: draw number `n` of a record is
`mix(rng_key + n * GAMMA)`. It needs two 64-bit fields, `rng_key` and `rng_counter`, which every state and every
agent memory has; the functions below take any record with these fields, in compiled code or in Python. The same key
and the same number of draws give the same bits everywhere.

Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from asobiba.core.elementary import cos, log
from asobiba.core.kernels import kernel
from asobiba.core.targets import count_ones, mask_word

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32), np.uint64(11)
_LOW_32 = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)


ANY_SEAT = -1


class Stream(IntEnum):
    """Streams of one seed: `seed_record(record, seed, stream)` gives unrelated generators to different streams.

    `GAME`: the chance of the game itself, in its state. `EPISODES`: the learner's seat, and the seeds of its opponents.
    `SAMPLER`: random legal actions for callers without a policy. `RESUMED`: the agents of a game that continues from a
    given state. `CHANCE_NODE` and the streams after it, one per step: OpenSpiel's chance nodes.
    """

    GAME = 0
    EPISODES = 1
    SAMPLER = 2
    RESUMED = 3
    CHANCE_NODE = 4


@kernel
def mix64(x):
    """SplitMix64's finaliser: a bijection on 64-bit integers. Takes and returns `uint64`."""
    x = np.uint64(x)
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


_GAME = np.uint64(Stream.GAME)


@kernel
def seed_record(record, seed, stream=_GAME):
    """Starts the record's generator afresh, as a game's if no stream is named. Equal (`seed`, `stream`) pairs give equal draws; others are unrelated."""
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
    radius = math.sqrt(-2.0 * log(1.0 - random_uniform(record)))
    return radius * cos(2.0 * math.pi * random_uniform(record))


# Masks are read 64 entries at a time, as the bits of a word.
_BYTES = np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_DIAGONAL = np.uint64(0x8040201008040201)  # bit k of byte k
_ODD, _PAIRS, _NIBBLES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_S2, _S4, _S7, _S8, _S56 = np.uint64(2), np.uint64(4), np.uint64(7), np.uint64(8), np.uint64(56)
_LOW_8, _ZERO = np.uint64(0xFF), np.uint64(0)


@kernel
def _byte_counts(word):
    # Byte k: how many of the bits of bytes 0 to k are 1.
    word = word - ((word >> _ONE) & _ODD)
    word = (word & _PAIRS) + ((word >> _S2) & _PAIRS)
    return ((word + (word >> _S4)) & _NIBBLES) * _BYTES


@kernel
def _bytes_at_most(counts, rank):
    # Number of bytes of `counts`, which grow and are below 128, that are at most `rank`.
    return (((((rank * _BYTES) | _TOPS) - counts) & _TOPS) >> _S7) * _BYTES >> _S56


@kernel
def _place_of_one(word, rank):
    # The position in the word of the 1 of this rank (from 0).
    rank = np.uint64(rank)
    counts = _byte_counts(word)
    byte = _bytes_at_most(counts, rank) << np.uint64(3)
    rank -= ((counts << _S8) >> byte) & _LOW_8
    spread = (((word >> byte) & _LOW_8) * _BYTES) & _DIAGONAL  # one bit of the byte to each byte
    ones = (((spread + _SEVENS) | spread) & _TOPS) >> _S7
    return np.int64(byte + _bytes_at_most(ones * _BYTES, rank))


@kernel
def _random_legal_many(record, mask):
    # For masks of any length.
    size = mask.shape[0]
    count, start = 0, 0
    while start < size:
        count += count_ones(mask_word(mask, start))
        start += 64
    if count == 0:
        return -1
    rank = random_below(record, count)
    start = 0
    while True:
        ones = count_ones(mask_word(mask, start))
        if rank < ones:
            return start + _place_of_one(mask_word(mask, start), rank)
        rank -= ones
        start += 64


@kernel
def random_legal(record, mask):
    """A uniform draw among the non-zero entries of `mask`, 1-D: its index, or -1 if there is none."""
    size = mask.shape[0]
    if size > 256:
        return _random_legal_many(record, mask)
    # No branch depends on the draw: a processor would mispredict half of them.
    a = mask_word(mask, 0)
    if size <= 64:
        count = count_ones(a)
        return _place_of_one(a, random_below(record, count)) if count > 0 else -1
    b = mask_word(mask, 64)
    if size <= 128:
        to_a = count_ones(a)
        count = to_a + count_ones(b)
        if count == 0:
            return -1
        rank = random_below(record, count)
        second = rank >= to_a
        return 64 * second + _place_of_one(b if second else a, rank - to_a * second)
    c = mask_word(mask, 128)
    d = mask_word(mask, 192) if size > 192 else _ZERO
    to_a = count_ones(a)
    to_b = to_a + count_ones(b)
    to_c = to_b + count_ones(c)
    count = to_c + count_ones(d)
    if count == 0:
        return -1
    rank = random_below(record, count)
    before = to_c if rank >= to_c else to_b if rank >= to_b else to_a if rank >= to_a else 0
    word = d if rank >= to_c else c if rank >= to_b else b if rank >= to_a else a
    return 64 * (np.int64(rank >= to_a) + np.int64(rank >= to_b) + np.int64(rank >= to_c)) + _place_of_one(
        word, rank - before
    )


@kernel
def begin_control(control, players):
    """Chooses the learner's seat for a new episode and draws the opponents' seed (`uint64` below 2**63).

    `control` is a record of `CONTROL`: `seat_choice` is a seat, `ANY_SEAT` for a random one, or another negative number
    where nobody learns; `seat` receives it.
    """
    control.seat = random_below(control, players) if control.seat_choice == ANY_SEAT else control.seat_choice
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


def memory_keys(seeds, seats):
    """The `rng_key` fields that `begin_memory` gives for many seeds: `(n,)` integers in, `(n,)` `uint64` out."""
    with np.errstate(over="ignore"):
        return _mix_many(_mix_many(_words(seeds)) + (np.asarray(seats) + 1).astype(np.uint64))


def _mix_many(x):
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)

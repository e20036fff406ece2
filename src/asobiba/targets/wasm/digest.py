"""BLAKE2b as a kernel: the digest by which leagues compare final states, computed in the module too.

Source: RFC 7693. The tests compare it with `hashlib.blake2b`.
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from asobiba.core.kernels import kernel

IV = np.array(
    [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ],
    np.uint64,
)  # fmt: skip
SIGMA = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ],
    np.uint8,
)
BLOCK, ROUNDS, WORK = 128, 12, 40
"""Bytes of a block; rounds; words of the scratch: the hash (8), the block (16), the mixed vector (16)."""
_S8, _S63 = uint64(8), uint64(63)


@kernel
def _rotated(word, by):
    return (word >> by) | (word << (uint64(64) - by))


@kernel
def _mix(v, a, b, c, d, x, y):
    v[a] = v[a] + v[b] + x
    v[d] = _rotated(v[d] ^ v[a], uint64(32))
    v[c] = v[c] + v[d]
    v[b] = _rotated(v[b] ^ v[c], uint64(24))
    v[a] = v[a] + v[b] + y
    v[d] = _rotated(v[d] ^ v[a], uint64(16))
    v[c] = v[c] + v[d]
    v[b] = _rotated(v[b] ^ v[c], _S63)


@kernel
def _compress(hashed, block, v, counted, last):
    for k in range(8):
        v[k] = hashed[k]
        v[8 + k] = IV[k]
    v[12] ^= uint64(counted)
    if last:
        v[14] = ~v[14]
    for turn in range(ROUNDS):
        order = SIGMA[turn % 10]
        for k in range(4):
            _mix(v, k, 4 + k, 8 + k, 12 + k, block[order[2 * k]], block[order[2 * k + 1]])
        for k in range(4):
            _mix(
                v,
                k,
                4 + (k + 1) % 4,
                8 + (k + 2) % 4,
                12 + (k + 3) % 4,
                block[order[8 + 2 * k]],
                block[order[9 + 2 * k]],
            )
    for k in range(8):
        hashed[k] ^= v[k] ^ v[8 + k]


@kernel
def blake2b(data, size, work, out):
    """BLAKE2b of `data` (uint8, 1-D) without a key: the first `size` (1 to 64) bytes of `out` (uint8) receive it.

    `work`: `(WORK,)` uint64 scratch.
    """
    hashed, block, v = work[:8], work[8:24], work[24:40]
    for k in range(8):
        hashed[k] = IV[k]
    hashed[0] ^= uint64(0x01010000) ^ uint64(size)
    length = data.shape[0]
    begin = 0
    while True:
        end = min(begin + BLOCK, length)
        block[:] = 0
        for k in range(begin, end):
            at = k - begin
            block[at >> 3] |= uint64(data[k]) << (uint64(at & 7) * _S8)
        last = end == length
        _compress(hashed, block, v, end, last)
        if last:
            break
        begin = end
    for k in range(size):
        out[k] = np.uint8((hashed[k >> 3] >> (uint64(k & 7) * _S8)) & uint64(0xFF))

"""Digests of matches, computed for a million of them at once.

A match's seal is a 63-bit hash over its rows in the tables `matches` and `seats`, and over `content`, the
digest of its texts and bytes (actions, detail, final state, containment), which ratings do not read. So a table of results can be compared
with its seals in a moment, and a match with its content when it is shown or verified. A seal reveals a change; a change
of the seal too is found by playing the match again (`asobiba league verify`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

_MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MASK = np.uint64((1 << 63) - 1)


def text_hash(text: str | bytes) -> int:
    """63 bits of a text's digest."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big") >> 1


def content(actions: bytes, detail: str, digest: str, contained: str) -> int:
    """The digest of the parts of a match that ratings do not read."""
    return text_hash(b"\0".join([detail.encode(), digest.encode(), contained.encode(), bytes(actions)]))


def seals(keys: Sequence[str] | np.ndarray, numbers: Sequence[np.ndarray]) -> np.ndarray:
    """The seals of n matches: `(n,)` int64.

    Args:
        keys: `Match.key` of each, 32 hexadecimal digits: text, or `(n,)` bytes.
        numbers: arrays `(n,)` or `(n, k)` of integers and floats, in a fixed order.
    """
    n = len(keys)
    digits = (
        np.ascontiguousarray(keys, "S32").view(np.uint8).reshape(n, 32).astype(np.uint64)
        if n
        else np.zeros((0, 32), np.uint64)
    )
    nibbles = np.where(digits >= 97, digits - np.uint64(87), digits - np.uint64(48))
    state = np.zeros(n, np.uint64)
    for half in (nibbles[:, :16], nibbles[:, 16:]):
        word = np.zeros(n, np.uint64)
        for column in half.T:
            word = (word << np.uint64(4)) | column
        state = _mix(state, word)
    for array in numbers:
        columns = array.reshape(n, -1).T
        for column in columns:
            bits = (
                (column + 0.0).astype(np.float64).view(np.uint64)
                if column.dtype.kind == "f"
                else column.astype(np.int64).view(np.uint64)
            )
            state = _mix(state, np.where(column != column, np.uint64(1), bits) if column.dtype.kind == "f" else bits)
    return (state & _MASK).astype(np.int64)


def _mix(state: np.ndarray, word: np.ndarray) -> np.ndarray:
    """One round of SplitMix64 over the state and a further word."""
    with np.errstate(over="ignore"):
        x = (state ^ word) + _STEP
        x = (x ^ (x >> np.uint64(30))) * _MULTIPLIERS[0]
        x = (x ^ (x >> np.uint64(27))) * _MULTIPLIERS[1]
        return x ^ (x >> np.uint64(31))

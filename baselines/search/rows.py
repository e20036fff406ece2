"""A small network in whole numbers over steps of counts: the form of learned evaluations.

Each count falls into one of `STEPS` steps, and each step of each count has a row of weights. The sum of the rows goes
through two layers more, whose units are clipped. Additions of whole numbers are exact in any order, so that a value is
the same on every machine. `rows_fitting.py` fits the weights.

Source of the form (a sum of rows by input, clipped, small integers): Nasu, "Efficiently updatable neural-network-based
evaluation functions for computer shogi", 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from asobiba.core import kernel

STEPS = 16
WIDTH, NARROW = 32, 16
"""Units of the first and of the second layer."""
SHIFT = 6
UNIT = 1 << SHIFT
"""The whole number that stands for 1 in weights and activations."""
MOST = 8 * UNIT - 1
"""The greatest activation."""


def rows_of(
    weights: Mapping[str, np.ndarray], inputs: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """The weights for `judge`, as whole numbers, from those of a file.

    Returns:
        `rows` `(inputs * STEPS, WIDTH)`, `first` `(WIDTH,)`, `hidden` `(NARROW, WIDTH)`, `second` and `last` `(NARROW,)`, int32,
        and `bias`. `rows`, `first`, `hidden` and `last` are multiples of 1 / `UNIT`, `second` and `bias` of 1 / `UNIT` ** 2.
    """
    rows = np.ascontiguousarray(weights["rows"].reshape(inputs * STEPS, WIDTH).astype(np.int32))
    first, hidden, second, last = (weights[name].astype(np.int32) for name in ("first", "hidden", "second", "last"))
    return rows, first, hidden, second, last, int(weights["bias"][0])


def load_rows(file: Path, inputs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """`rows_of` a file."""
    with np.load(file) as saved:
        return rows_of(saved, inputs)


@kernel
def judge(steps, rows, first, hidden, second, last, bias, sums, narrow):
    """The logit of a win times `UNIT` ** 2, of the step of each input; `sums` and `narrow` are scratch, `(WIDTH,)` and
    `(NARROW,)` int32.

    Where a loop reads the length of an array, LLVM uses vectors; one whose length it knows it unrolls, to a third of the speed.
    """
    for k in range(WIDTH):
        sums[k] = first[k]
    i = np.int64(0)
    while i + 4 <= steps.shape[0]:
        # Four rows at a time, so that a sum is loaded and stored once for all four.
        at = STEPS * i
        a, b = at + steps[i], at + STEPS + steps[i + 1]
        c, d = at + 2 * STEPS + steps[i + 2], at + 3 * STEPS + steps[i + 3]
        for k in range(rows.shape[1]):
            sums[k] += (rows[a, k] + rows[b, k]) + (rows[c, k] + rows[d, k])
        i += 4
    while i < steps.shape[0]:
        row = STEPS * i + steps[i]
        for k in range(rows.shape[1]):
            sums[k] += rows[row, k]
        i += 1
    for k in range(WIDTH):
        sums[k] = min(max(sums[k], np.int32(0)), np.int32(MOST))
    total = np.int64(bias)
    for j in range(NARROW):
        unit = second[j]
        for k in range(hidden.shape[1]):
            unit += hidden[j, k] * sums[k]
        narrow[j] = min(max(unit >> SHIFT, np.int32(0)), np.int32(MOST))
        total += np.int64(last[j]) * np.int64(narrow[j])
    return total

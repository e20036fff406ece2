"""Networks of any layers as lists of operations over one array of float32, which one kernel computes.

`asobiba.learn.tracing` writes them from policies of PyTorch. Whatever only moves numbers (views, windows, transpositions)
is done then: an operation names the places that it reads. So there are few kinds of operations, in a fixed order, and
the results have the same bytes on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import float32, float64, int64

from asobiba.core.agents import Thinking
from asobiba.core.elementary import exp, log, tanh
from asobiba.core.game import Ruleset
from asobiba.core.kernels import kernel
from asobiba.core.record import record_dtype

COPY, RELU, TANH, EXP, LOG, ABS, TRUNCATE, NOT = range(8)
"""One operand."""
ADD, SUBTRACT, MULTIPLY, DIVIDE, LARGER, SMALLER, EQUAL, LESS, AT_MOST = range(8, 17)
"""Two operands; comparisons give 1 or 0."""
CHOOSE = 17
"""The first operand where the third is not 0, else the second."""
SUM, MOST, LEAST = 18, 19, 20
"""Of the numbers in a row of places."""
PRODUCT = 21
"""Of matrices; the fifth operand, if any, has the numbers that the sums of a column begin with."""
OPERANDS = "abcde"
OPERATION = record_dtype(
    [(name, np.int64) for name in ("kind", "target", "rows", "columns", "inner")]
    + [(f"{name}_{part}", np.int64) for name in OPERANDS for part in ("start", "step", "table")]
)
"""The place of entry `i` of an operand is `start + step * i`, or, where `table` is not -1, `tables[table + i]`.

Of a row of places `k`, `a` gives the first and `b` what is added to it; a product has `a` and `b` for the rows of one
matrix, `c` and `d` for the columns of the other.
"""


@dataclass(frozen=True)
class Formulas:
    """A network.

    Attributes:
        operations: `(k,)` records of `OPERATION`, in their order.
        tables: places, int32.
        constants: weights and other fixed numbers, float32; they stand behind the inputs.
        inputs: length of the observation, at the start of the array.
        size: length of the array.
        policy: the place of the first logit; there are `actions` of them.
    """

    operations: np.ndarray
    tables: np.ndarray
    constants: np.ndarray
    inputs: int
    size: int
    policy: int
    actions: int

    @property
    def longest(self) -> int:
        """The most numbers that one sum has."""
        return max(1, int(self.operations["inner"].max(initial=0)))


@kernel
def place(start, step, table, tables, i):
    """The place of entry `i` of an operand."""
    return start + step * i if table < 0 else int64(tables[table + i])


@kernel
def of_one(kind, x):
    """The value of an operation with one operand."""
    found = x
    if kind == RELU:
        found = x if x > 0 else float32(0.0)
    elif kind == TANH:
        found = float32(tanh(float64(x)))
    elif kind == EXP:
        found = float32(exp(float64(x)))
    elif kind == LOG:
        found = float32(log(float64(x)))
    elif kind == ABS:
        found = -x if x < 0 else x
    elif kind == TRUNCATE:
        found = float32(int64(x))
    elif kind == NOT:
        found = float32(1.0) if x == 0 else float32(0.0)
    return found


@kernel
def of_two(kind, x, y):
    """The value of an operation with two operands."""
    if kind == ADD:
        found = x + y
    elif kind == SUBTRACT:
        found = x - y
    elif kind == MULTIPLY:
        found = x * y
    elif kind == DIVIDE:
        found = x / y
    elif kind == LARGER:
        found = x if x > y else y
    elif kind == SMALLER:
        found = x if x < y else y
    else:
        holds = x == y if kind == EQUAL else (x < y if kind == LESS else x <= y)
        found = float32(1.0) if holds else float32(0.0)
    return found


@kernel
def by_entries(one, tables, numbers):
    """An operation that computes every entry from those at the same index of its operands."""
    for i in range(one.rows):
        x = numbers[place(one.a_start, one.a_step, one.a_table, tables, i)]
        if one.kind < ADD:
            found = of_one(one.kind, x)
        else:
            y = numbers[place(one.b_start, one.b_step, one.b_table, tables, i)]
            if one.kind == CHOOSE:
                found = x if numbers[place(one.c_start, one.c_step, one.c_table, tables, i)] != 0 else y
            else:
                found = of_two(one.kind, x, y)
        numbers[one.target + i] = found


@kernel
def by_rows(one, tables, numbers):
    """A sum, or the greatest or least, of each row."""
    for i in range(one.rows):
        first = place(one.a_start, one.a_step, one.a_table, tables, i)
        found = numbers[first + place(one.b_start, one.b_step, one.b_table, tables, 0)]
        for k in range(1, one.inner):
            x = numbers[first + place(one.b_start, one.b_step, one.b_table, tables, k)]
            if one.kind == SUM:
                found += x
            elif (one.kind == MOST and x > found) or (one.kind == LEAST and x < found):
                found = x
        numbers[one.target + i] = found


@kernel
def product(one, tables, numbers, row, apart):
    """The product of two matrices, whose sums leave out what is multiplied by 0."""
    for i in range(one.rows):
        first = place(one.a_start, one.a_step, one.a_table, tables, i)
        count = int64(0)
        for k in range(one.inner):
            x = numbers[first + place(one.b_start, one.b_step, one.b_table, tables, k)]
            row[count] = x
            apart[count] = place(one.d_start, one.d_step, one.d_table, tables, k)
            count += x != 0
        for j in range(one.columns):
            other = place(one.c_start, one.c_step, one.c_table, tables, j)
            found = float32(0.0)
            if one.e_start >= 0:
                found = numbers[place(one.e_start, one.e_step, one.e_table, tables, j)]
            for k in range(count):
                found += row[k] * numbers[other + apart[k]]
            numbers[one.target + i * one.columns + j] = found


@kernel
def compute(operations, tables, numbers, row, apart):
    """Computes all operations in the array `numbers`, which begins with the observation and the constants.

    `row` float32 and `apart` int64 have room for the longest sum.
    """
    for k in range(operations.shape[0]):
        one = operations[k]
        if one.kind == PRODUCT:
            product(one, tables, numbers, row, apart)
        elif one.kind >= SUM:
            by_rows(one, tables, numbers)
        else:
            by_entries(one, tables, numbers)


def choosing(observe: Any, policy: int, actions: int) -> Any:
    """A kernel that gives the legal action with the greatest logit, the first of equal ones; -1 where none of the
    network's is legal."""

    @kernel
    def choose(view, p, mask, operations, tables, constants, numbers, row, apart, columns, seen):
        observe(view, p, int64(view.to_move), seen)
        inputs = columns.shape[0]
        for k in range(inputs):
            numbers[k] = float32(seen[columns[k]])
        for k in range(constants.shape[0]):
            numbers[inputs + k] = constants[k]
        compute(operations, tables, numbers, row, apart)
        best: Any = int64(-1)
        for action in range(actions):
            if mask[action] != 0 and (best < 0 or numbers[policy + action] > numbers[policy + best]):
                best = int64(action)
        return best

    return choose


def working_arrays(ruleset: Ruleset, formulas: Formulas, columns: np.ndarray | None) -> dict[str, np.ndarray]:
    """The arrays that the kernel of `choosing` takes after the mask; `columns` are those of the observation that the
    network reads (`None`: all)."""
    read = np.arange(ruleset.observation_size) if columns is None else columns
    return {
        "operations": formulas.operations,
        "tables": formulas.tables,
        "constants": formulas.constants,
        "numbers": np.zeros(formulas.size, np.float32),
        "row": np.zeros(formulas.longest, np.float32),
        "apart": np.zeros(formulas.longest, np.int64),
        "columns": read.astype(np.int64),
        "seen": np.zeros(ruleset.observation_size, ruleset.observation_space.dtype),
    }


def _playing(choose: Any) -> Callable[..., None]:
    def play(views, params, masks, operations, tables, constants, numbers, row, apart, columns, seen, actions):
        actions[0] = choose(
            views[0], params[0], masks[0],
            operations=operations, tables=tables, constants=constants, numbers=numbers, row=row, apart=apart,
            columns=columns, seen=seen,
        )  # fmt: skip

    return play


def formulas_thinking(
    ruleset: Ruleset, formulas: Formulas, columns: np.ndarray | None = None, completed: Any = None
) -> Thinking:
    """The legal action with the greatest logit, computed without PyTorch.

    Args:
        ruleset: of the game.
        formulas: the network's.
        columns: of the observation that the network reads; `None`: all.
        completed: of a class of memories that keep nothing (`asobiba.learn.memory`); then the network reads all.
    """
    observe, arrays = ruleset.game.rules.observe, working_arrays(ruleset, formulas, columns)
    if completed is not None:
        observe = completed(observe)
        arrays |= {"columns": np.arange(formulas.inputs), "seen": np.zeros(formulas.inputs, np.float32)}
    return Thinking(_playing(choosing(observe, formulas.policy, formulas.actions)), arrays)

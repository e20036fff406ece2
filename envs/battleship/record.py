"""Storage of the reports to each side in a battleship state, and the kernels that read it.

`answers[side, cell]` is what `side` was told of the cell that it shot at: nothing yet, a miss, a hit, or, above `HIT`,
the mark of a sinking, which is a hit too. The opponent's shots are the other side's answers.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel

SUNK_KIND, SUNK_ONLY, SUNK_PLACE = 0, 1, 2
MISS, HIT = 1, 2


@kernel
def plane_size(s):
    """The number of cells, for loops over whole planes.

    The compiler knows it from the record's type, and that an unsigned index is not negative: the loops become a few
    vector instructions.
    """
    return np.uint64(s.answers.shape[1])


@kernel
def is_shot(s, side, cell):
    """Whether `side` has shot at this cell."""
    return s.answers[side, cell] != 0


@kernel
def is_miss(s, side, cell):
    """Whether `side` was told that its shot here missed."""
    return s.answers[side, cell] == MISS


@kernel
def is_hit(s, side, cell):
    """Whether `side` was told that its shot here hit (or sank a ship)."""
    return s.answers[side, cell] >= HIT


@kernel
def sinking(s, side, cell):
    """The mark of the sinking that `side` was told here (see the channel `sinkings`), or 0."""
    return np.int64(max(s.answers[side, cell] - HIT, 0))


@kernel
def told_afloat(s, side, ship):
    """Whether this ship of the opponent is marked afloat in the list that `side` was told."""
    return s.told_afloat[side, ship] != 0

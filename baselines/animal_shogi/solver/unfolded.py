"""Counts in which mirror images with both lions on the middle file are two positions, as in the table of
clausecker/dobutsu: it folds a position and its mirror image by the files of the lions only.
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.animal_shogi.solver.index import (
    IMAGE,
    LIONS,
    OPEN_PLACEMENTS,
    SIZE,
    WHOLE_GAME,
    mirror_order,
    position_of,
)
from asobiba.baselines.animal_shogi.solver.table import ValueTable
from asobiba.core import compiled


@compiled()
def _count_images(material, numbers, values, counts):
    # Adds the positions that differ from their mirror image.
    for k in range(numbers.shape[0]):
        position = position_of(material, numbers[k])
        if mirror_order(material, position) != 0:
            counts[values[k]] += 1


def unfolded_distances(table: ValueTable, material: int = WHOLE_GAME) -> np.ndarray:
    """`ValueTable.distances` with both images counted where both lions stand on the middle file. Takes seconds."""
    counts, size, before = table.distances(material), int(SIZE[material]), 0
    for placement in range(OPEN_PLACEMENTS):
        stored, values = table.stored(material, placement * size, (placement + 1) * size, before)
        before += len(stored)
        if IMAGE[tuple(LIONS[placement])] == 2:
            _count_images(material, stored, values, counts)
    return counts

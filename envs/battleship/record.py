"""Where things lie in a row of `seen`, the observation of one side that a battleship state keeps."""

from __future__ import annotations

from asobiba.core import kernel

SUNK_KIND, SUNK_ONLY, SUNK_PLACE = 0, 1, 2
MISSES, HITS, SINKINGS = 0, 1, 2  # planes before the list of ships afloat


@kernel
def afloat_at(p):
    """Offset in a row of `seen` of the opponent's ships afloat."""
    return 3 * p.cells


@kernel
def fleet_at(p):
    """Offset of the own fleet's plane (ship number, from 1)."""
    return 3 * p.cells + p.sizes.shape[0]


@kernel
def incoming_at(p):
    """Offset of the plane of the opponent's shots."""
    return 4 * p.cells + p.sizes.shape[0]


@kernel
def own_afloat_at(p):
    """Offset of the own ships afloat."""
    return 5 * p.cells + p.sizes.shape[0]


@kernel
def placing_at(p):
    """Offset of the list that marks the ship to be placed next."""
    return 5 * p.cells + 2 * p.sizes.shape[0]

"""The tables of the rules, read from `units.yml`, as arrays for the kernels."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import yaml

_TABLES = yaml.safe_load((files("asobiba.envs.tactics") / "units.yml").read_text(encoding="utf-8"))
_UNITS, _TERRAINS = _TABLES["units"], _TABLES["terrains"]

NAMES = tuple(unit["name"] for unit in _UNITS)
MARKS = "".join(unit["mark"] for unit in _UNITS)
FIGHTER, ATTACKER, PANZER, CANNON, ANTIAIR, INFANTRY = range(6)
KINDS = len(NAMES)
TERRAINS = tuple(terrain["name"] for terrain in _TERRAINS)
TERRAIN_MARKS = "".join(terrain["mark"] for terrain in _TERRAINS)

CLASSES = ("air", "vehicle", "foot")
"""Classes of movement; `MOVES` gives the class of each type."""
MOVES = np.array([CLASSES.index(unit["moves"]) for unit in _UNITS], np.int64)
MOVEMENT = np.array([unit["movement"] for unit in _UNITS], np.int64)
INDIRECT = np.array([unit["range"][0] > 1 for unit in _UNITS], np.int64)
POWER = np.array([unit["attack"] for unit in _UNITS], np.int32)
"""`POWER[attacker, target]`."""
COSTS = np.array([[terrain[name] for terrain in _TERRAINS] for name in CLASSES], np.int64)
"""`COSTS[class, terrain]`: of entering a cell; 0 where it cannot be entered."""
STARS = np.array([terrain["stars"] for terrain in _TERRAINS], np.int64)

DIRECTIONS = ((0, -1), (1, 0), (0, 1), (-1, 0))
"""Offsets (dx, dy) of neighbouring targets: above, right, below, left."""
OFFSETS = tuple(
    (dx, dy)
    for dy in range(-3, 4)
    for dx in range(-3, 4)
    if _UNITS[CANNON]["range"][0] <= abs(dx) + abs(dy) <= _UNITS[CANNON]["range"][1]
)
"""Offsets of a cannon's targets, row by row."""
OFFSET_NUMBER = np.full((7, 7), -1, np.int64)
"""`OFFSET_NUMBER[dy + 3, dx + 3]`: index into `OFFSETS`, or -1."""
for _k, (_dx, _dy) in enumerate(OFFSETS):
    OFFSET_NUMBER[_dy + 3, _dx + 3] = _k

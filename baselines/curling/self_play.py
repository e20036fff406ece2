"""Jiritsu-kun's win table: the part that the paper prints, completed by dynamic programming over ends of self-play."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from asobiba.envs.curling.rules import ENDS
from asobiba.envs.curling.win_table import END_SCORES, LEAD

PRINTED_FIRST = {
    -3: (5, 3, 1, 0), -2: (11, 8, 4, 0), -1: (20, 17, 15, 0), 0: (37, 36, 31, 31), 1: (58, 61, 54, 100),
    2: (76, 80, 85, 100), 3: (88, 91, 97, 100),
}  # fmt: skip
"""Win probability, percent, of the team that throws first, by lead; columns: 3, 2, 1, 0 ends left. GAT 2016, table 1."""
PRINTED_HAMMER = {
    -3: (12, 9, 3, 0), -2: (24, 20, 15, 0), -1: (42, 39, 46, 0), 0: (63, 64, 69, 69), 1: (80, 83, 85, 100),
    2: (89, 92, 96, 100), 3: (95, 97, 99, 100),
}  # fmt: skip
SCORES_FILE = "end_scores.json"


def scores_path() -> Path:
    """The file with the frequencies of an end's scores in self-play."""
    return Path(str(files("asobiba.baselines.curling") / "policies" / SCORES_FILE))


def stored_scores() -> np.ndarray:
    """Frequencies of an end's scores from -8 to 8 for the side that threw first, `(17,)`: the ends that `asobiba curling ends` counted and
    twenty of Ayumu's prior; the prior alone where none have been counted."""
    prior = np.array(END_SCORES) / sum(END_SCORES)
    path = scores_path()
    if not path.exists():
        return prior
    counts = np.array(json.loads(path.read_text(encoding="utf-8"))["counts"], float)
    return (counts + 20.0 * prior) / (counts.sum() + 20.0)


def complete(scores: np.ndarray) -> np.ndarray:
    """The win table, `(ENDS + 1, 2 * LEAD + 1)`: printed entries as printed, the others from them by the scores' weights."""
    weights = np.asarray(scores, float) / np.sum(scores)
    table = np.zeros((ENDS + 1, 2 * LEAD + 1))
    hammer = np.zeros_like(table)
    table[0, LEAD + 1 :] = hammer[0, LEAD + 1 :] = 1.0
    table[0, LEAD], hammer[0, LEAD] = 0.31, 0.69
    leads = np.arange(-LEAD, LEAD + 1)
    for left in range(1, ENDS + 1):
        for points in range(-8, 9):
            after = np.clip(leads + points, -LEAD, LEAD) + LEAD
            # A team that throws first and scores, or if nobody does, throws first again. Else it gets the hammer.
            table[left] += weights[points + 8] * (table if points >= 0 else hammer)[left - 1, after]
            mirrored = np.clip(leads - points, -LEAD, LEAD) + LEAD
            hammer[left] += weights[points + 8] * (hammer if points >= 0 else table)[left - 1, mirrored]
        if left <= 3:
            for lead in range(-3, 4):
                table[left, lead + LEAD] = PRINTED_FIRST[lead][3 - left] / 100
                hammer[left, lead + LEAD] = PRINTED_HAMMER[lead][3 - left] / 100
    # The tables that players read are those of the team that throws first; the other side's is the complement.
    return 0.5 * (table + (1.0 - hammer[:, ::-1]))


@cache
def completed_table() -> np.ndarray:
    """The table that jiritsu plays by."""
    return complete(stored_scores())

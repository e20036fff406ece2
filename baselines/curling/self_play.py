"""Win tables from ends of self-play: that of the searchers, and what completes the printed part of Jiritsu-kun's.

A player that goes by a table throws otherwise than one that goes by another, and so the scores of its ends differ. The
searchers' table is therefore made in rounds: ends are played by the present table, their scores counted for six kinds of
situation, and the table that follows from the counts by dynamic programming is the next one. `asobiba curling win-table`
plays rounds until the table hardly moves or there are as many as were asked for, and writes them into
`policies/win-table.json`.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import numpy as np

from asobiba.envs.curling.rules import ENDS
from asobiba.envs.curling.win_table import END_SCORES, LEAD, win_table

PRINTED_FIRST = {
    -3: (5, 3, 1, 0), -2: (11, 8, 4, 0), -1: (20, 17, 15, 0), 0: (37, 36, 31, 31), 1: (58, 61, 54, 100),
    2: (76, 80, 85, 100), 3: (88, 91, 97, 100),
}  # fmt: skip
"""Win probability, percent, of the team that throws first, by lead; columns: 3, 2, 1, 0 ends left. GAT 2016, table 1."""
PRINTED_HAMMER = {
    -3: (12, 9, 3, 0), -2: (24, 20, 15, 0), -1: (42, 39, 46, 0), 0: (63, 64, 69, 69), 1: (80, 83, 85, 100),
    2: (89, 92, 96, 100), 3: (95, 97, 99, 100),
}  # fmt: skip
SITUATIONS = (
    "last end, behind", "last end, tied", "last end, ahead", "earlier, behind", "earlier, tied", "earlier, ahead",
)  # fmt: skip
"""Of the side that throws first."""
_WEIGHT = 20.0
"""Ends that the prior counts for in every situation."""


def situation(left: int, lead: int) -> int:
    """The number in `SITUATIONS` for ends left, this one included, and the lead of the side that throws first."""
    return 3 * (left > 1) + (lead > 0) - (lead < 0) + 1


def frequencies(counts: np.ndarray) -> np.ndarray:
    """Frequencies of the scores -8 to 8 in each situation `(6, 17)`, from counts of the same shape and a few ends of Ayumu's prior."""
    prior = np.array(END_SCORES) / sum(END_SCORES)
    weights = counts + _WEIGHT * prior
    return weights / weights.sum(axis=1, keepdims=True)


def table_of(counts: np.ndarray) -> np.ndarray:
    """The win table that follows from counts `(6, 17)` of the scores in each situation; as of `win_table`."""
    weights = frequencies(counts)
    scores = np.zeros((ENDS + 1, 2 * LEAD + 1, 17))
    for left in range(ENDS + 1):
        for lead in range(-LEAD, LEAD + 1):
            scores[left, lead + LEAD] = weights[situation(left, lead)]
    tied = weights[situation(1, 0)]
    return win_table(ENDS, scores, float(tied[9:].sum() / (1.0 - tied[8])))


def table_path() -> Path:
    """The file of the rounds."""
    return Path(str(files("asobiba.baselines.curling") / "policies" / "win-table.json"))


@cache
def stored_counts() -> np.ndarray:
    """Counts of the last round, `(6, 17)`; zeros where there is no file."""
    path = table_path()
    if not path.exists():
        return np.zeros((len(SITUATIONS), 17))
    return np.array(json.loads(path.read_text(encoding="utf-8"))["rounds"][-1]["counts"], float)


@cache
def table_digest() -> str:
    """Names this win table in records of games: eight hexadecimal digits of the SHA-256 of its counts."""
    return sha256(stored_counts().astype("<f8").tobytes()).hexdigest()[:8]


@cache
def own_table() -> np.ndarray:
    """The table that the searchers play by."""
    return table_of(stored_counts())


def stored_scores() -> np.ndarray:
    """Frequencies of an end's scores from -8 to 8 for the side that throws first, `(17,)`, over all situations."""
    return frequencies(stored_counts()).mean(axis=0)


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

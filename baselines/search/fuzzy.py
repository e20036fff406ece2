"""Fuzzy sets learned from samples whose membership a person, or a search, has judged.

The membership of a good sample is the relative density of good samples around it: how many lie within a standard
distance (itself among them), divided by the greatest such number. Anything else is interpolated between its nearest
samples with weights inverse to their distances.

Source: Kosuke Muto and Junji Nishino, "Making the search of turn-based strategy games efficient by fuzzy evaluation" (in
Japanese), Game AI Tournaments (GAT), 2016, section 2.2: steps i to vi, equations 3 and 4. The paper counts density over
all samples; only those judged good make sense and are counted. Samples judged bad are kept with membership 0.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from asobiba.core import GameParameterError, kernel

MOST_NEIGHBOURS = 16


@dataclass(frozen=True)
class FuzzySet:
    """A fuzzy set of vectors.

    Attributes:
        names: the names of a vector's entries.
        vectors: `(n, len(names))` float32, no vector twice.
        labels: `(n,)` float32: the share of judgements that called the vector good.
        memberships: `(n,)` float32, from 0 to 1.
    """

    names: tuple[str, ...]
    vectors: np.ndarray
    labels: np.ndarray
    memberships: np.ndarray

    @classmethod
    def from_samples(cls, names: Sequence[str], vectors: np.ndarray, labels: np.ndarray, distance: float) -> FuzzySet:
        """The fuzzy set of samples, labelled 1 (good) or 0.

        Args:
            names: of the entries of a vector.
            vectors: `(n, len(names))` numbers; a vector may come several times.
            labels: `(n,)`, 0 or 1.
            distance: the standard distance (Euclidean) within which samples are neighbours.

        Raises:
            GameParameterError: for arrays that do not fit, other labels, or a distance below 0.
        """
        vectors = np.asarray(vectors, np.float32)
        labels = np.asarray(labels, np.float32)
        if vectors.ndim != 2 or vectors.shape[1] != len(names) or labels.shape != (len(vectors),):
            raise GameParameterError(
                f"samples of {len(names)} features are (n, {len(names)}) vectors with (n,) labels, "
                f"not {vectors.shape} and {labels.shape}"
            )
        if not len(vectors):
            raise GameParameterError("a fuzzy set needs at least one sample")
        if not np.isin(labels, (0, 1)).all():
            raise GameParameterError("labels are 0 (not good) or 1 (good)")
        if not distance >= 0:
            raise GameParameterError(f"the standard distance is at least 0, not {distance!r}")
        unique, inverse, counts = np.unique(vectors, axis=0, return_inverse=True, return_counts=True)
        good = np.bincount(inverse.ravel(), labels, len(unique))
        density = np.zeros(len(unique))
        if good.any():
            among = np.flatnonzero(good)
            tree = cKDTree(unique[among])
            for row, near in zip(among, tree.query_ball_point(unique[among], distance), strict=True):
                density[row] = good[among[near]].sum()
            density /= density.max()
        return cls(tuple(names), unique, (good / counts).astype(np.float32), density.astype(np.float32))

    def membership(self, vector: np.ndarray, neighbours: int = 1) -> float:
        """The membership of any vector: that of its own sample, or interpolated between the `neighbours` nearest.

        Samples as near as the last of them count too, so that the order of the samples does not matter.
        """
        vector = np.asarray(vector, np.float32)
        gaps = np.sqrt(((self.vectors - vector) ** 2).sum(1, dtype=np.float32).astype(np.float64))
        if gaps.min() == 0:
            return float(self.memberships[gaps.argmin()])
        last = np.sort(gaps)[min(neighbours, len(gaps)) - 1]
        near = gaps <= last
        weights = 1 / gaps[near]
        return float((weights * self.memberships[near]).sum() / weights.sum())

    def save(self, path: Path) -> None:
        """Writes the set as CSV: a column for each entry, then the label and the membership."""
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*self.names, "label", "membership"])
            for vector, label, member in zip(self.vectors, self.labels, self.memberships, strict=True):
                writer.writerow([*(f"{x:g}" for x in vector), f"{label:.4g}", f"{member:.6g}"])

    @classmethod
    def load(cls, path: Path) -> FuzzySet:
        """Reads a file of `save`.

        Raises:
            GameParameterError: naming the line that cannot be read.
        """
        try:
            with Path(path).open(encoding="utf-8", newline="") as file:
                rows = list(csv.reader(file))
        except (UnicodeDecodeError, csv.Error) as error:
            raise GameParameterError(f"{path} is not a fuzzy set: {error}") from None
        if not rows or len(rows[0]) < 3 or rows[0][-2:] != ["label", "membership"]:
            raise GameParameterError(
                f"{path} is not a fuzzy set: its first line should end with label,membership, behind the names of features"
            )
        numbers = []
        for line, row in enumerate(rows[1:], 2):
            try:
                numbers.append([float(x) for x in row])
            except ValueError:
                raise GameParameterError(
                    f"{path}, line {line}: {','.join(row)!r} holds something else than numbers"
                ) from None
            if (
                len(row) != len(rows[0])
                or not np.isfinite(numbers[-1]).all()
                or not all(0 <= x <= 1 for x in numbers[-1][-2:])
            ):
                raise GameParameterError(
                    f"{path}, line {line}: expected {len(rows[0])} numbers, the last two, label and membership, from 0 to 1"
                )
        if not numbers:
            raise GameParameterError(f"{path} holds no samples")
        table = np.array(numbers, np.float32)
        return cls(tuple(rows[0][:-2]), table[:, :-2], table[:, -2], table[:, -1])


def as_knowledge(sets: Sequence[FuzzySet | None]) -> np.ndarray:
    """Fuzzy sets as the table that the kernel `membership` reads: `(2 + features, columns)` float32.

    Each sample has a column: its membership, room for its distance, which `membership` writes, and its vector. Samples
    lie side by side for each feature, so that the processor measures several distances at once. Rows 2 and 3 of column
    `number`, before the samples, hold where those of that set begin and end (a set that is `None` has none); row 1 is
    room for the distances of the nearest.
    """
    width = max(len(fuzzy.names) for fuzzy in sets if fuzzy is not None)
    start = max(len(sets), MOST_NEIGHBOURS)
    parts = [np.zeros((2 + max(2, width), start), np.float32)]
    for number, fuzzy in enumerate(sets):
        count = 0 if fuzzy is None else len(fuzzy.vectors)
        parts[0][2:4, number] = start, start + count
        start += count
        if fuzzy is not None:
            part = np.zeros((len(parts[0]), count), np.float32)
            part[0], part[2 : 2 + width] = fuzzy.memberships, fuzzy.vectors.T
            parts.append(part)
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


@kernel
def membership(knowledge, number, vector, neighbours):
    """`FuzzySet.membership` of set `number` of a table of `as_knowledge`; 0.5 where the set is empty."""
    first, last = np.int64(knowledge[2, number]), np.int64(knowledge[3, number])
    if first == last:
        return 0.5
    for column in range(first, last):
        knowledge[1, column] = 0
    for feature in range(vector.shape[0]):
        asked = vector[feature]
        for column in range(first, last):
            gap = knowledge[2 + feature, column] - asked
            knowledge[1, column] += gap * gap
    # The nearest distances in order, by insertion.
    known = 0
    for column in range(first, last):
        gap = knowledge[1, column]
        if known < neighbours or gap < knowledge[1, known - 1]:
            place = min(known, neighbours - 1)
            while place > 0 and knowledge[1, place - 1] > gap:
                knowledge[1, place] = knowledge[1, place - 1]
                place -= 1
            knowledge[1, place] = gap
            known = min(known + 1, neighbours)
    furthest = knowledge[1, known - 1]
    exact = knowledge[1, 0] == 0
    total, weights = 0.0, 0.0
    for column in range(first, last):
        gap = knowledge[1, column]
        if gap <= furthest:
            if exact:
                if gap == 0:
                    return np.float64(knowledge[0, column])
                continue
            weight = 1.0 / np.sqrt(np.float64(gap))
            total += weight * knowledge[0, column]
            weights += weight
    return total / weights

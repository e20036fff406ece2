"""Groups of results: the same agents under the same seed, seats swapped. A bootstrap draws whole groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asobiba.arena.results import Results


@dataclass(frozen=True)
class Groups:
    """Groups of matches, ordered by the pairing that they belong to.

    Args:
        members: rows of the results, group after group.
        begin: `(groups + 1,)` where each group begins in `members`.
        pairing: `(groups,)` the number of each group's pairing, ascending.
    """

    members: np.ndarray
    begin: np.ndarray
    pairing: np.ndarray

    @classmethod
    def of(cls, results: Results) -> Groups:
        """The groups of these results."""
        if not len(results):
            return cls(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64))
        seats = np.sort(results.seats, axis=1)
        same = np.zeros(len(results), np.int64)
        for column in seats.T:
            same = same * (len(results.agents) + 1) + column
            same = np.unique(same, return_inverse=True)[1].reshape(-1)
        order = np.lexsort((np.arange(len(results)), results.seed, same))
        fresh = np.ones(len(results), bool)
        fresh[1:] = (same[order][1:] != same[order][:-1]) | (results.seed[order][1:] != results.seed[order][:-1])
        begin = np.append(np.flatnonzero(fresh), len(results))
        return cls(order, begin, same[order][begin[:-1]])

    def __len__(self) -> int:
        return len(self.pairing)

    def resample(self, generator: np.random.Generator) -> np.ndarray:
        """Groups drawn with replacement within each pairing, as many as there are: `(groups,)` numbers of groups."""
        first = np.searchsorted(self.pairing, self.pairing)
        size = np.searchsorted(self.pairing, self.pairing, "right") - first
        return first + (generator.random(len(self)) * size).astype(np.int64)

    def rows(self, groups: np.ndarray) -> np.ndarray:
        """The rows of the results in these groups."""
        sizes = self.begin[groups + 1] - self.begin[groups]
        offsets = np.repeat(self.begin[groups] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
        return self.members[np.arange(sizes.sum()) + offsets]

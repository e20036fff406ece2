"""Results of a league as columns, read by ratings and tables for a million matches at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from asobiba.arena.match import REASONS


@dataclass(frozen=True)
class Result:
    """The part of a match that ratings and tables need.

    Args:
        number: its number in the store, for `asobiba replay`.
        seats: the agents, first seat first.
        winner: the winning seat (of a team: its first), or -1.
        teams: each seat's team, where the game declares teams.
        The rest is as in `MatchRecord`.
    """

    number: int
    seats: tuple[str, ...]
    seed: int
    returns: tuple[float, ...]
    winner: int
    moves: int
    reason: str
    culprit: int | None
    decisions: tuple[int, ...]
    seconds: tuple[float, ...]
    tie_break: tuple[float, ...] | None
    teams: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class Results(Sequence[Result]):
    """Many results, `n` matches of `k` seats each, as arrays; also a sequence of `Result`.

    Args:
        agents: names, sorted; `seats` holds indices into it.
        number, seed, moves: `(n,)` int64.
        winner, culprit: `(n,)` int16 seats, -1 for none.
        reason: `(n,)` int8 indices into `REASONS`.
        seats: `(n, k)` int32. returns, seconds: `(n, k)` float64. decisions: `(n, k)` int64.
        tie_break: `(n, k)` float64, not-a-number where there is none.
        teams: `(n, k)` int16; without teams every seat is its own.
    """

    agents: tuple[str, ...]
    number: np.ndarray
    seed: np.ndarray
    winner: np.ndarray
    moves: np.ndarray
    reason: np.ndarray
    culprit: np.ndarray
    seats: np.ndarray
    returns: np.ndarray
    decisions: np.ndarray
    seconds: np.ndarray
    tie_break: np.ndarray
    teams: np.ndarray

    @classmethod
    def of(cls, results: Iterable[Result]) -> Results:
        """The columns of these results, which must all have the same number of seats."""
        if isinstance(results, Results):
            return results
        found = list(results)
        agents = tuple(sorted({name for result in found for name in result.seats}))
        index = {name: i for i, name in enumerate(agents)}
        reasons = {name: i for i, name in enumerate(REASONS)}
        n, k = len(found), len(found[0].seats) if found else 2

        def column(values: Iterable[Any], dtype: Any) -> np.ndarray:
            return np.array(list(values), dtype).reshape(n, k)

        return cls(
            agents=agents,
            number=np.array([r.number for r in found], np.int64),
            seed=np.array([r.seed for r in found], np.int64),
            winner=np.array([r.winner for r in found], np.int16),
            moves=np.array([r.moves for r in found], np.int64),
            reason=np.array([reasons[r.reason] for r in found], np.int8),
            culprit=np.array([-1 if r.culprit is None else r.culprit for r in found], np.int16),
            seats=column(([index[name] for name in r.seats] for r in found), np.int32),
            returns=column((r.returns for r in found), np.float64),
            decisions=column((r.decisions for r in found), np.int64),
            seconds=column((r.seconds for r in found), np.float64),
            tie_break=column((r.tie_break or (np.nan,) * k for r in found), np.float64),
            teams=column((r.teams or range(k) for r in found), np.int16),
        )

    def __len__(self) -> int:
        return len(self.number)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> Results: ...
    def __getitem__(self, index: int | slice) -> Result | Results:
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        i = range(len(self))[index]
        breaks = tuple(self.tie_break[i].tolist())
        teams = tuple(self.teams[i].tolist())
        return Result(
            number=int(self.number[i]),
            seats=tuple(self.agents[a] for a in self.seats[i]),
            seed=int(self.seed[i]),
            returns=tuple(self.returns[i].tolist()),
            winner=int(self.winner[i]),
            moves=int(self.moves[i]),
            reason=REASONS[self.reason[i]],
            culprit=None if self.culprit[i] < 0 else int(self.culprit[i]),
            decisions=tuple(self.decisions[i].tolist()),
            seconds=tuple(self.seconds[i].tolist()),
            tie_break=None if breaks[0] != breaks[0] else breaks,
            teams=None if teams == tuple(range(len(teams))) else teams,
        )

    def take(self, rows: np.ndarray) -> Results:
        """The results of these rows (indices or a mask); the list of agents is unchanged."""
        columns = {name: getattr(self, name)[rows] for name in self.__dataclass_fields__ if name != "agents"}
        return Results(self.agents, **columns)

    @property
    def values(self) -> np.ndarray:
        """The value by which each seat is ranked: its return, or its team's mean return: `(n, k)`."""
        k = self.seats.shape[1]
        if (self.teams == np.arange(k)).all():
            return self.returns
        total, members = np.zeros_like(self.returns), np.zeros_like(self.returns)
        for other in range(k):
            together = self.teams == self.teams[:, other, None]
            total += np.where(together, self.returns[:, other, None], 0.0)
            members += together
        return total / members

    @property
    def won(self) -> np.ndarray:
        """Whether each seat, or its team, alone has the greatest value: `(n, k)` bool."""
        if self.seats.shape[1] == 1:
            return np.zeros(self.seats.shape, bool)
        values = self.values
        best = values == values.max(1, keepdims=True)
        leading = np.take_along_axis(self.teams, best.argmax(1)[:, None], 1)
        alone = ~(best & (self.teams != leading)).any(1, keepdims=True)
        return best & alone

    def pairs(self) -> Iterable[tuple[int, int, np.ndarray, np.ndarray]]:
        """Every two seats `a < b` with the rows in which different agents of different teams sit there, and the sign of
        the result: `(a, b, rows, sign)`, sign +1 where `a` finished above `b`.
        """
        values = self.values
        for a in range(self.seats.shape[1]):
            for b in range(a + 1, self.seats.shape[1]):
                rows = np.flatnonzero((self.seats[:, a] != self.seats[:, b]) & (self.teams[:, a] != self.teams[:, b]))
                yield a, b, rows, np.sign(values[rows, a] - values[rows, b]).astype(np.int8)

"""The graph of all positions that play can reach from a start: endless moves met on the way, repetitions, exact values.

A position is a board and the player to move. Boards are kept with the mover's row first, so a position is `2 * rank +
player`, `rank` being that of `asobiba.baselines.bao.boards.board_rank`. For boards of up to four holes in a row (735,471
boards of at most 16 seeds) everything is enumerated at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from asobiba.baselines.bao.boards import NO_MOVE, board_count, board_rank, play, tables
from asobiba.baselines.bao.endgame import high_of, low_of, stored_database
from asobiba.baselines.bao.loops import Loop, loop_from
from asobiba.core import GameParameterError, compiled
from asobiba.envs.bao.layout import pack, starting_counts, unpack
from asobiba.envs.bao.rules import ENDLESS_MOVE

_ZERO = np.uint64(0)
_MOST_BOARDS = 40_000_000


@dataclass(frozen=True)
class Position:
    """A reachable position: its place in breadth-first order, seeds per hole clockwise, player to move, plies away."""

    index: int
    counts: tuple[int, ...]
    player: int
    plies: int


@compiled()
def _explore(params, own, other, boards, place, sources, holes_out, targets, captures, parents, moves, plies):
    """Breadth-first search. Returns the numbers of positions and of edges.

    `place[2 * rank + player]` receives 1 + the position's number. An edge's target is -1 for an endless move.
    """
    holes = params[0].sow.shape[0] // 2
    boards[0, 0], boards[0, 1] = own, other
    place[2 * board_rank(params[0], own, other)] = 1
    parents[0] = -1
    count, edges, now = 1, 0, 0
    while now < count:
        own, other = boards[now, 0], boards[now, 1]
        player = plies[now] & 1
        if own != _ZERO and other != _ZERO:
            for hole in range(holes):
                p = params[0]
                next_own, next_other, captured = play(p, own, other, hole)
                if captured == NO_MOVE:
                    continue
                sources[edges], holes_out[edges] = now, hole
                if captured == ENDLESS_MOVE:
                    targets[edges] = -1
                else:
                    at = 2 * board_rank(p, next_own, next_other) + (1 - player)
                    if place[at] == 0:
                        boards[count, 0], boards[count, 1] = next_own, next_other
                        plies[count] = plies[now] + 1
                        parents[count], moves[count] = now, hole
                        count += 1
                        place[at] = count
                    targets[edges], captures[edges] = place[at] - 1, captured
                edges += 1
        now += 1
    return count, edges


class Graph:
    """Every position reachable from a start where endless moves are not played.

    `boards` (n, 2) are the words of the positions with the mover's row first, `plies` (n,) their distance from the start.
    Edge arrays: `sources`, `holes` (of the mover's row), `targets` (-1: endless), `captures`.

    Raises:
        GameParameterError: for a board too large to enumerate.
    """

    def __init__(self, holes: int = 4, start: str = "alternate"):
        counts = starting_counts(holes, start)
        if counts is None:
            raise GameParameterError("a random start has no reachable positions of its own; give a board")
        self.holes, self.start = holes, counts
        params = tables(holes, "illegal")
        size = int(board_count(params[0], sum(counts)))
        if size > _MOST_BOARDS:
            raise GameParameterError(
                f"{holes}x2 with {sum(counts)} seeds has {size:,} boards; at most {_MOST_BOARDS:,} can be enumerated at once"
            )
        own, other = pack(counts)
        boards = np.zeros((2 * size, 2), np.uint64)
        self.place = np.zeros(2 * size, np.int32)
        edges = [np.zeros(2 * size * holes, kind) for kind in (np.int32, np.int8, np.int32, np.int8)]
        parents, plies = np.zeros(2 * size, np.int32), np.zeros(2 * size, np.int32)
        moves = np.zeros(2 * size, np.int8)
        count, used = _explore(params, own, other, boards, self.place, *edges, parents, moves, plies)
        self.boards, self.parents = boards[:count].copy(), parents[:count].copy()
        self.moves, self.plies = moves[:count].copy(), plies[:count].copy()
        self.sources: np.ndarray
        self.out_holes: np.ndarray
        self.targets: np.ndarray
        self.captures: np.ndarray
        self.sources, self.out_holes, self.targets, self.captures = (part[:used].copy() for part in edges)

    def __len__(self) -> int:
        return len(self.boards)

    def position(self, index: int) -> Position:
        """The position of this number as a person reads it."""
        counts = unpack(self.boards[index], self.holes)
        player = int(self.plies[index]) & 1
        if player:
            counts = counts[self.holes :] + counts[: self.holes]
        return Position(index, tuple(counts), player, int(self.plies[index]))

    def line_to(self, index: int) -> list[int]:
        """A shortest line of play from the start: holes of the ring (0 is the first player's leftmost)."""
        line = []
        while self.parents[index] >= 0:
            parent = self.parents[index]
            line.append(int(self.moves[index]) + self.holes * (int(self.plies[parent]) & 1))
            index = parent
        return line[::-1]

    def seeds(self) -> np.ndarray:
        """Seeds on the board of every position, `(n,)`."""
        return self.boards.view(np.uint8).reshape(len(self), 16).sum(axis=1)

    def endless_moves(self) -> np.ndarray:
        """Edges that are endless moves: `(k, 2)` of position and hole of the mover's row."""
        edges = np.flatnonzero(self.targets < 0)
        return np.column_stack([self.sources[edges], self.out_holes[edges]])

    def loops(self) -> list[ReachableLoop]:
        """The loops of all endless moves, by number of seeds, then the least board; each with a shortest line of play."""
        found: dict[tuple[int, ...], ReachableLoop] = {}
        for index, hole in self.endless_moves():
            counts = unpack(self.boards[index], self.holes)
            loop = loop_from(counts[hole:] + counts[:hole])
            assert loop is not None
            known = found.get(loop.key)
            if known is None:
                ring_hole = int(hole) + self.holes * (int(self.plies[index]) & 1)
                found[loop.key] = ReachableLoop(loop, int(index), [*self.line_to(int(index)), ring_hole], 1)
            else:
                known.moves += 1
        return sorted(found.values(), key=lambda each: (each.loop.seeds, each.loop.key))

    def repetitions(self) -> list[np.ndarray]:
        """Sets of positions that play can go round in for ever: strongly connected components with a cycle."""
        inside = self.targets >= 0
        shape = (len(self), len(self))
        matrix = coo_matrix((np.ones(inside.sum(), np.int8), (self.sources[inside], self.targets[inside])), shape)
        _, label = connected_components(matrix.tocsr(), directed=True, connection="strong")
        sizes = np.bincount(label)
        order = np.argsort(label, kind="stable")
        parts = np.split(order, np.cumsum(sizes)[:-1])
        return sorted((part for part in parts if len(part) > 1), key=lambda part: int(self.plies[part].min()))

    def shortest_cycle(self, part: np.ndarray) -> list[int]:
        """A shortest cycle through the component's position that is reached first: numbers of positions, in order."""
        members = set(part.tolist())
        root = int(part[np.argmin(self.plies[part])])
        after: dict[int, list[int]] = {}
        for source, target in zip(self.sources.tolist(), self.targets.tolist()):
            if source in members and target in members:
                after.setdefault(source, []).append(target)
        parent: dict[int, int] = {}
        queue = [root]
        for now in queue:
            for nxt in after.get(now, []):
                if nxt == root:
                    path = [now]
                    while path[-1] != root:
                        path.append(parent[path[-1]])
                    return path[::-1]
                if nxt not in parent:
                    parent[nxt] = now
                    queue.append(nxt)
        raise AssertionError("a component without a cycle")


@dataclass
class ReachableLoop:
    """A loop that play reaches: the position and the shortest line whose last move is the endless one; and how many
    endless moves of reachable positions it is."""

    loop: Loop
    position: int
    line: list[int]
    moves: int


@dataclass(frozen=True)
class Solution:
    """Values of all positions of a graph: the margin that the mover can claim, and that he can be held to, from there on.

    `low` and `high` are `(n,)` int8, as in `asobiba.baselines.bao.endgame`.
    """

    low: np.ndarray
    high: np.ndarray

    def result(self, index: int, lead: int = 0) -> str:
        """win, loss or draw for the mover who is `lead` seeds ahead, if a repetition draws."""
        if lead + int(self.low[index]) > 0 and self.low[index] > -128:
            return "win"
        if lead + int(self.high[index]) < 0 and self.high[index] < 127:
            return "loss"
        return "draw"


@compiled()
def position_values(params, database, boards, low, high):
    """Looks up the values of boards `(n, 2)` that the database holds."""
    for i in range(boards.shape[0]):
        at = board_rank(params[0], boards[i, 0], boards[i, 1])
        low[i], high[i] = low_of(database, at), high_of(database, at)


def solve(graph: Graph, endless: str = "illegal") -> Solution:
    """The values of every position of the graph, by retrograde analysis over all boards of as many seeds."""
    total = sum(graph.start)
    database = stored_database(graph.holes, total, endless)
    low, high = np.zeros(len(graph), np.int8), np.zeros(len(graph), np.int8)
    position_values(tables(graph.holes, endless), database, graph.boards, low, high)
    return Solution(low, high)

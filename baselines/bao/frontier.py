"""Search for the first endless move or repetition from a start: breadth first over the first plies, exhaustive to its depth.

A loop found at a ply where every earlier position has been looked at is the shortest there is; beyond that depth nothing
is claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from asobiba.baselines.bao.boards import play, tables
from asobiba.core import GameParameterError, compiled, kernel, mix64
from asobiba.envs.bao.layout import pack, starting_counts
from asobiba.envs.bao.rules import ENDLESS_MOVE

_ZERO = np.uint64(0)
_PARITY = np.uint64(63)
_BOARD = np.uint64((1 << 63) - 1)


@kernel
def _find(table, boards, own, other):
    """The slot of a board in the table: its own, or the empty one where it belongs."""
    at = np.int64(mix64(own ^ mix64(other)) & np.uint64(table.shape[0] - 1))
    while table[at] != 0:
        k = table[at] - 1
        if boards[k, 0] == own and boards[k, 1] == other:
            return at
        at = (at + 1) & (table.shape[0] - 1)
    return at


@compiled()
def _expand(params, boards, table, parents, moves, begin, end, count, endless):
    """Adds the positions after those from `begin` to `end`; returns the count, or -1 when there is no more room.

    `boards[:, 0]` carries the player to move in its top bit. `endless[:]` receives the first endless move met: position,
    hole.
    """
    for now in range(begin, end):
        own, other = boards[now, 0] & _BOARD, boards[now, 1]
        turned = np.uint64(1) - (boards[now, 0] >> _PARITY)
        if own == _ZERO or other == _ZERO:
            continue
        for hole in range(params[0].sow.shape[0] // 2):
            next_own, next_other, captured = play(params[0], own, other, hole)
            if captured == ENDLESS_MOVE and endless[0] < 0:
                endless[0], endless[1] = now, hole
            if captured < 0:
                continue
            next_own |= turned << _PARITY
            at = _find(table, boards, next_own, next_other)
            if table[at] == 0:
                if count == boards.shape[0]:
                    return -1
                boards[count, 0], boards[count, 1] = next_own, next_other
                parents[count], moves[count] = now, hole
                count += 1
                table[at] = count
    return count


@compiled()
def _quiet_edges(params, boards, table, end, sources, targets):
    """Moves without a capture between known positions; returns how many."""
    used = 0
    for now in range(end):
        own, other = boards[now, 0] & _BOARD, boards[now, 1]
        turned = np.uint64(1) - (boards[now, 0] >> _PARITY)
        if own == _ZERO or other == _ZERO:
            continue
        for hole in range(params[0].sow.shape[0] // 2):
            next_own, next_other, captured = play(params[0], own, other, hole)
            if captured == 0:
                k = table[_find(table, boards, next_own | (turned << _PARITY), next_other)]
                if k != 0:
                    if used < sources.shape[0]:
                        sources[used], targets[used] = now, k - 1
                    used += 1
    return used


@dataclass
class Frontier:
    """Result of the search. Lines are holes of the ring, from the start.

    `levels[k]` positions are first reached at ply `k`; all plies up to `depth` were completed. `endless`: a shortest line
    that ends with an endless move. `repetition`: a line that reaches a position again, and the plies at which it stands;
    `repetition_shortest` says whether no line repeats a position sooner.
    """

    holes: int
    levels: list[int] = field(default_factory=list)
    endless: list[int] | None = None
    repetition: list[int] | None = None
    repetition_plies: tuple[int, int] | None = None
    repetition_shortest: bool = False

    @property
    def depth(self) -> int:
        return len(self.levels) - 1


def explore(
    holes: int = 8,
    start: str = "alternate",
    most_positions: int = 20_000_000,
    report: Callable[[int, int], None] | None = None,
) -> Frontier:
    """Searches as many plies as `most_positions` positions allow. `report(ply, positions)` is called after each ply."""
    counts = starting_counts(holes, start)
    if counts is None:
        raise GameParameterError("a random start has no first plies of its own; give a board")
    params = tables(holes, "illegal")
    boards = np.zeros((most_positions, 2), np.uint64)
    table = np.zeros(1 << (most_positions * 3 // 2).bit_length(), np.int32)
    parents, moves = np.zeros(most_positions, np.int32), np.zeros(most_positions, np.int8)
    boards[0] = pack(counts)
    table[_find(table, boards, *boards[0])] = 1
    endless = np.full(2, -1, np.int64)
    found, starts, count = Frontier(holes, [1]), [0, 1], 1
    while starts[-1] > starts[-2]:
        begin, end = starts[-2], starts[-1]
        count = _expand(params, boards, table, parents, moves, begin, end, count, endless)
        if count < 0:
            break
        starts.append(count)
        found.levels.append(count - end)
        if report:
            report(found.depth, count)
    if count == starts[-2]:
        found.levels.pop()

    def line_to(index: int) -> list[int]:
        line = []
        while index:
            mover = 1 - int(boards[index, 0] >> _PARITY)
            line.append(int(moves[index]) + holes * mover)
            index = int(parents[index])
        return line[::-1]

    if endless[0] >= 0:
        position = int(endless[0])
        found.endless = [*line_to(position), int(endless[1]) + holes * int(boards[position, 0] >> _PARITY)]
    _find_repetition(found, params, boards, table, starts, line_to)
    return found


def _find_repetition(found, params, boards, table, starts, line_to) -> None:
    """Looks for the position that can stand again soonest, among the positions of all completed plies."""
    end = starts[found.depth + 1] if len(starts) > found.depth + 1 else starts[-1]
    plies = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    sources, targets = np.zeros(0, np.int32), np.zeros(0, np.int32)
    room = _quiet_edges(params, boards, table, end, sources, targets)
    sources, targets = np.zeros(room, np.int32), np.zeros(room, np.int32)
    _quiet_edges(params, boards, table, end, sources, targets)
    inside = (sources < end) & (targets < end)
    sources, targets = sources[inside], targets[inside]
    graph = coo_matrix((np.ones(len(sources), np.int8), (sources, targets)), (end, end)).tocsr()
    _, label = connected_components(graph, directed=True, connection="strong")
    cyclic = np.flatnonzero(np.bincount(label)[label] > 1)
    best: tuple[int, list[int]] | None = None
    for position in cyclic.tolist():
        limit = (best[0] if best else 1 << 30) - int(plies[position])
        cycle = _cycle(graph, label, position, limit)
        if cycle is not None:
            best = (int(plies[position]) + len(cycle), [position, *cycle])
    if best is None:
        return
    again, nodes = best
    line = line_to(nodes[0])
    for now, nxt in zip(nodes, [*nodes[1:]]):
        mover = int(boards[now, 0] >> _PARITY)
        for hole in range(found.holes):
            own, other, captured = play(params[0], boards[now, 0] & _BOARD, boards[now, 1], hole)
            if captured == 0 and own == boards[nxt, 0] & _BOARD and other == boards[nxt, 1]:
                line.append(hole + found.holes * mover)
                break
    found.repetition, found.repetition_plies = line, (again - len(nodes) + 1, again)
    # A line that repeats a position within the completed plies lies wholly among the positions searched.
    found.repetition_shortest = again <= found.depth


def _cycle(graph, label, root: int, limit: int) -> list[int] | None:
    """A shortest cycle through `root` of fewer than `limit` moves: the positions after it, `root` last."""
    parent: dict[int, int] = {}
    ring = [root]
    for _ in range(limit - 1):
        following = []
        for now in ring:
            for nxt in graph.indices[graph.indptr[now] : graph.indptr[now + 1]].tolist():
                if nxt == root:
                    path = [root]
                    while now != root:
                        path.append(now)
                        now = parent[now]
                    return path[::-1]
                if label[nxt] == label[root] and nxt not in parent:
                    parent[nxt] = now
                    following.append(nxt)
        ring = following
        if not ring:
            break
    return None

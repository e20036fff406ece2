"""Proof search: the claims of the first or the second player from a board that no endgame database holds.

A claim is "from here on I gain at least `target` seeds more than you, in a game that ends by the rules". A repetition
on the way, an endless move that draws, and the horizon of the search all count against the side that claims, so a claim
that the search proves holds whatever led to the board and whatever the horizon; what it fails to prove is not disproved.
The value is exact where both players' claims meet.

Depth-first with iterative deepening and a transposition table that compares whole boards (no hash collisions). The table
holds, per board and claiming side, the greatest target proven and the least target that failed to a depth. Proven targets
are free of the path; failures may not be, which costs completeness, never soundness.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from asobiba.baselines.bao.boards import MOST_SEEDS, NO_MOVE, board_rank, play, row_sum, tables
from asobiba.baselines.bao.endgame import Database, high_of, low_of
from asobiba.core import compiled, kernel, mix64
from asobiba.envs.bao.layout import pack
from asobiba.envs.bao.rules import DRAWS, ENDLESS_MOVE, ILLEGAL

PROVEN, FAILED, OUT_OF_NODES = 1, 0, -1
_UNKNOWN = -1
_PLIES = 256
_ZERO = np.uint64(0)


@kernel
def entry_word(claims, proven, failed, depth, move):
    """A table entry as one word: who claims, greatest target proven, least failed and to what depth, best move."""
    return (
        np.uint64(claims)
        | (np.uint64(proven + 128) << np.uint64(8))
        | (np.uint64(failed) << np.uint64(16))
        | (np.uint64(depth) << np.uint64(24))
        | (np.uint64(move) << np.uint64(32))
    )


@kernel
def field_of(word, shift):
    return np.int64((word >> np.uint64(shift)) & np.uint64(0xFF))


@kernel
def slot_for(keys, own, other, claims):
    """Slot of this board in the table, or the slot of its pair to write to, and whether it is there."""
    at = np.int64(mix64(own ^ mix64(other ^ np.uint64(claims))) & np.uint64(keys.shape[0] - 1)) & ~1
    for k in range(2):
        word = keys[at + k, 2]
        if keys[at + k, 0] == own and keys[at + k, 1] == other and field_of(word, 0) == claims and word != _ZERO:
            return at + k, True
    # The entry searched less deep makes room.
    if field_of(keys[at, 2], 24) <= field_of(keys[at + 1, 2], 24):
        return at, False
    return at + 1, False


@kernel
def remembered(keys, own, other, claims, target, depth):
    """The table's entry for the claim: PROVEN, FAILED or unknown; and its best move (1 + hole, or 0)."""
    at, found = slot_for(keys, own, other, claims)
    if not found:
        return _UNKNOWN, 0
    word = keys[at, 2]
    move = field_of(word, 32)
    if field_of(word, 8) - 128 >= target:
        return PROVEN, move
    if field_of(word, 16) - 128 <= target and field_of(word, 24) >= depth:
        return FAILED, move
    return _UNKNOWN, move


@kernel
def remember(keys, own, other, claims, target, depth, result, move):
    """Writes a result into the table."""
    at, found = slot_for(keys, own, other, claims)
    proven, failed, failed_depth = -128, 255, 0
    if found:
        word = keys[at, 2]
        proven, failed, failed_depth = field_of(word, 8) - 128, field_of(word, 16), field_of(word, 24)
    if result == PROVEN:
        proven = max(proven, target)
    elif depth > failed_depth or failed == 255:
        failed, failed_depth = target + 128, depth
    elif depth == failed_depth:
        failed = min(failed, target + 128)
    keys[at, 0] = own
    keys[at, 1] = other
    keys[at, 2] = entry_word(
        claims, proven, failed, max(failed_depth, min(depth, 255)) if not found else failed_depth, move
    )


@kernel
def known(p, database, seeds, own, other, claims, target):
    """The claim on a finished board or one of the database: PROVEN, FAILED or unknown.

    `claims`: 1 if the mover of this board claims, 2 if his opponent does.
    """
    mine, theirs = row_sum(own), row_sum(other)
    if own == _ZERO or other == _ZERO:
        margin = mine - theirs
        return PROVEN if (margin if claims == 1 else -margin) >= target else FAILED
    if mine + theirs <= seeds:
        at = board_rank(p, own, other)
        if claims == 1:
            return PROVEN if low_of(database, at) >= target else FAILED
        return PROVEN if high_of(database, at) <= -target else FAILED
    if target > mine + theirs:
        return FAILED
    return _UNKNOWN


@compiled()
def search(params, database, seeds, keys, own, other, claims, target, depth, limit, counters):
    """Tries to prove a claim to a depth in plies: PROVEN, FAILED, or OUT_OF_NODES after `limit` nodes.

    `database`: of all boards of at most `seeds` seeds. `keys`: the table, `(size, 3)` `uint64`, `size` a
    power of two. `claims`: 1 if the mover claims, 2 if his opponent does. `counters[0]` grows by the nodes searched.
    """
    holes = params[0].sow.shape[0] // 2
    board_own = np.zeros(_PLIES, np.uint64)
    board_other = np.zeros(_PLIES, np.uint64)
    goal = np.zeros(_PLIES, np.int64)
    count = np.zeros(_PLIES, np.int64)
    current = np.zeros(_PLIES, np.int64)
    child_own = np.zeros((_PLIES, 8), np.uint64)
    child_other = np.zeros((_PLIES, 8), np.uint64)
    child_goal = np.zeros((_PLIES, 8), np.int64)
    child_hole = np.zeros((_PLIES, 8), np.int64)
    child_score = np.zeros((_PLIES, 8), np.int64)
    board_own[0], board_other[0], goal[0] = own, other, target
    ply, entering, result, nodes = 0, True, _UNKNOWN, 0
    best = 0
    result = known(params[0], database, seeds, own, other, claims, target)
    if result != _UNKNOWN:
        return result
    while True:
        # The mover claims on even plies if claims == 1, on odd plies if claims == 2.
        claiming = (ply & 1) == claims - 1
        role = 1 if claiming else 2
        if entering:
            nodes += 1
            if nodes > limit:
                counters[0] += nodes
                return OUT_OF_NODES
            own, other = board_own[ply], board_other[ply]
            left = depth - ply
            result, best = remembered(keys, own, other, role, goal[ply], left)
            if result == _UNKNOWN:
                total = row_sum(own) + row_sum(other)
                earlier = ply - 2
                while earlier >= 0 and row_sum(board_own[earlier]) + row_sum(board_other[earlier]) == total:
                    if board_own[earlier] == own and board_other[earlier] == other:
                        result = FAILED
                        break
                    earlier -= 2
                if result == FAILED:
                    # Failed for the way here alone: not written to the table.
                    entering = False
                    ply -= 1
                    continue
            if result == _UNKNOWN:
                p = params[0]
                moves, kept = 0, 0
                for hole in range(holes):
                    next_own, next_other, captured = play(p, own, other, hole)
                    if captured == NO_MOVE:
                        continue
                    if captured == ENDLESS_MOVE:
                        if p.endless != ILLEGAL:
                            moves += 1
                            if p.endless == DRAWS and not claiming:
                                result = FAILED
                                best = hole + 1
                                break
                        continue
                    moves += 1
                    next_goal = goal[ply] - captured if claiming else goal[ply] + captured
                    value = known(p, database, seeds, next_own, next_other, 2 if claiming else 1, next_goal)
                    if value == _UNKNOWN:
                        if left <= 1:
                            value = FAILED
                        else:
                            value, _ = remembered(keys, next_own, next_other, 3 - role, next_goal, left - 1)
                    if value == _UNKNOWN:
                        score = captured * 8 + (100000 if hole + 1 == best else 0)
                        k = kept
                        while k > 0 and child_score[ply, k - 1] < score:
                            child_own[ply, k] = child_own[ply, k - 1]
                            child_other[ply, k] = child_other[ply, k - 1]
                            child_goal[ply, k] = child_goal[ply, k - 1]
                            child_hole[ply, k] = child_hole[ply, k - 1]
                            child_score[ply, k] = child_score[ply, k - 1]
                            k -= 1
                        child_own[ply, k], child_other[ply, k] = next_own, next_other
                        child_goal[ply, k], child_hole[ply, k], child_score[ply, k] = next_goal, hole, score
                        kept += 1
                    elif (value == PROVEN) == claiming:
                        result = value
                        best = hole + 1
                        break
                if result == _UNKNOWN:
                    if moves == 0:
                        margin = row_sum(own) - row_sum(other)
                        result = PROVEN if (margin if claiming else -margin) >= goal[ply] else FAILED
                    elif kept == 0:
                        result = FAILED if claiming else PROVEN
                if result == _UNKNOWN:
                    count[ply], current[ply] = kept, 0
                    board_own[ply + 1], board_other[ply + 1] = child_own[ply, 0], child_other[ply, 0]
                    goal[ply + 1] = child_goal[ply, 0]
                    ply += 1
                    continue
                remember(keys, own, other, role, goal[ply], left, result, best)
        else:
            # A child has returned `result`.
            k = current[ply]
            if (result == PROVEN) == claiming:
                best = child_hole[ply, k] + 1
            elif k + 1 < count[ply]:
                current[ply] = k + 1
                board_own[ply + 1], board_other[ply + 1] = child_own[ply, k + 1], child_other[ply, k + 1]
                goal[ply + 1] = child_goal[ply, k + 1]
                ply += 1
                entering = True
                continue
            else:
                best = child_hole[ply, 0] + 1
            remember(keys, board_own[ply], board_other[ply], role, goal[ply], depth - ply, result, best)
        if ply == 0:
            counters[0] += nodes
            return result
        ply -= 1
        entering = False


@dataclass
class Bounds:
    """Proven bounds on the margin of a board's mover: at least `low`, at most `high`."""

    low: int
    high: int
    nodes: int = 0
    seconds: float = 0.0
    log: list[dict] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        return self.low == self.high


def prove(
    holes: int,
    counts: list[int],
    database: Database,
    seeds: int,
    endless: str = "illegal",
    *,
    table_bits: int = 22,
    max_depth: int = 200,
    max_nodes: int = 10**12,
    max_seconds: float = 1e9,
    report: Callable[[dict], None] | None = None,
) -> Bounds:
    """Narrows the margin of the first player, who is to move on `counts` (seeds per hole, clockwise), until it is exact.

    `report` is called with a dict after every step: `depth`, `low`, `high`, `nodes`, `seconds`.
    """
    params = tables(holes, endless)
    own, other = pack(counts)
    total = sum(counts)
    if total > MOST_SEEDS:
        raise ValueError(f"proofs take boards of at most {MOST_SEEDS} seeds; got {total}")
    keys = np.zeros((1 << table_bits, 3), np.uint64)
    counters = np.zeros(1, np.int64)
    bounds = Bounds(-total - 1, total + 1)
    begin = time.perf_counter()

    def claim(side: int, target: int, depth: int) -> int:
        chunk = max_nodes - int(counters[0])
        return search(
            params=params,
            database=database,
            seeds=seeds,
            keys=keys,
            own=own,
            other=other,
            claims=side,
            target=target,
            depth=depth,
            limit=chunk,
            counters=counters,
        )

    def note(depth: int) -> bool:
        bounds.nodes, bounds.seconds = int(counters[0]), time.perf_counter() - begin
        line = {
            "depth": depth,
            "low": bounds.low,
            "high": bounds.high,
            "nodes": bounds.nodes,
            "seconds": bounds.seconds,
        }
        bounds.log.append(line)
        if report:
            report(line)
        return bounds.exact or bounds.nodes >= max_nodes or bounds.seconds > max_seconds

    for depth in range(2, max_depth + 1):
        for side in (1, 2):
            while not bounds.exact:
                target = bounds.low + 1 if side == 1 else 1 - bounds.high
                if claim(side, target, depth) != PROVEN:
                    break
                if side == 1:
                    bounds.low = target
                else:
                    bounds.high = -target
        if note(depth):
            break
    return bounds

"""The endgame database: the claims of both players on every board of at most n seeds, by retrograde analysis.

A value is a margin: the seeds that the mover gains from here on minus those that the opponent gains. A player *claims*
a margin when he can force the game to end by the rules with at least that margin. Play that never ends (a repetition,
and an endless move where it draws) is no end, so it counts against the side that claims. Every board has two values:

* `low`: the greatest margin that the mover can claim;
* `high`: the least margin that the opponent can hold him to.

Where they meet, repetition does not matter. With `d` seeds ahead the mover wins if `d + low > 0`, loses if `d + high <
0`, and a repetition draws otherwise. `NEVER` (-128) as `low` says that nothing can be claimed, `ALWAYS` (127) as `high`
that nothing can be held; where endless moves lose, they also stand for the whole game lost or won.

Captures lead to boards of fewer seeds, so the boards are done by their number of seeds; within one number the two values
start at their extremes and are improved until nothing changes, which finds exactly what can be forced in finitely many
moves.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import get_num_threads

from asobiba.baselines.bao.boards import NO_MOVE, board_count, board_rank, play, row_sum, rows_in_order, tables
from asobiba.core import compiled, kernel
from asobiba.core.folders import cache_folder
from asobiba.envs.bao.rules import DRAWS, ENDLESS_MOVE, ILLEGAL

NEVER, ALWAYS = -128, 127
OPEN = -127
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_ALL = np.zeros(0, np.uint64)


class Database(NamedTuple):
    """Claims that both players can make on all boards of at most some number of seeds.

    `values`: a byte a board, in the order of `board_rank`: the margin where both values meet, else a mark. Of the marked
    boards, `open_at` holds the ranks, sorted, and `open_low`, `open_high` the two values.
    """

    values: np.ndarray
    open_at: np.ndarray
    open_low: np.ndarray
    open_high: np.ndarray


EMPTY = Database(np.zeros(1, np.int8), np.zeros(0, np.int64), np.zeros(0, np.int8), np.zeros(0, np.int8))
"""The database of the board without seeds."""


@kernel
def place_of_open(open_at, at):
    """Index of rank `at` in the sorted `open_at`."""
    first, last = 0, open_at.shape[0]
    while first < last:
        middle = (first + last) // 2
        if open_at[middle] < at:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def low_of(database, at):
    """The greatest margin that the mover of board `at` can claim."""
    value = np.int64(database.values[at])
    return value if value != OPEN else np.int64(database.open_low[place_of_open(database.open_at, at)])


@kernel
def high_of(database, at):
    """The least margin that the mover of board `at` can be held to."""
    value = np.int64(database.values[at])
    return value if value != OPEN else np.int64(database.open_high[place_of_open(database.open_at, at)])


@kernel
def after(captured, value):
    """The mover's margin when he captures `captured` and the next mover's margin is `value`."""
    if value == NEVER:
        return np.int64(ALWAYS)
    if value == ALWAYS:
        return np.int64(NEVER)
    return captured - value


@kernel
def settle(p, own, other, database, layer, layer_high):
    """The two values of a board from those of the boards that its moves lead to.

    From rank `layer` on, `database.values` holds the lower values and `layer_high` the upper ones.
    """
    if own == _ZERO or other == _ZERO:
        margin = row_sum(own) - row_sum(other)
        return margin, margin
    best_low, best_high = np.int64(NEVER), np.int64(NEVER)
    moves = 0
    for hole in range(p.sow.shape[0] // 2):
        next_own, next_other, captured = play(p, own, other, hole)
        if captured == NO_MOVE:
            continue
        if captured == ENDLESS_MOVE:
            if p.endless != ILLEGAL:
                moves += 1
                if p.endless == DRAWS:
                    best_high = np.int64(ALWAYS)
            continue
        moves += 1
        at = board_rank(p, next_own, next_other)
        if at >= layer:
            best_low = max(best_low, after(captured, np.int64(layer_high[at - layer])))
            best_high = max(best_high, after(captured, np.int64(database.values[at])))
        else:
            best_low = max(best_low, after(captured, high_of(database, at)))
            best_high = max(best_high, after(captured, low_of(database, at)))
    if moves == 0:
        margin = row_sum(own) - row_sum(other)
        return margin, margin
    return best_low, best_high


@compiled()
def _sweep_rows(
    params, seeds, rows, begins, wanted, values, open_at, open_low, open_high, layer_high, first, part, parts
):
    """Improves the values of the boards of `seeds` seeds once, of every `parts`-th row of the mover from the `part`-th on;
    returns how many changed.

    `wanted`: one bit a board, those to look at; empty for all.

    `first`: whether this is the first sweep, which looks at every board; later ones pass over those whose values met.
    Boards are done in parallel and read each other's values while they change, which is harmless: values only improve.
    """
    changed = 0
    p = params[0]
    database = Database(values, open_at, open_low, open_high)
    layer = p.start[seeds, 0]
    for mine in range(part, begins[seeds + 1], parts):
        own = rows[mine]
        m = row_sum(own)
        k = seeds - m
        rank = p.start[seeds, m] + (mine - begins[m]) * p.rows[k]
        for theirs in range(begins[k], begins[k + 1]):
            at = rank + theirs - begins[k]
            if wanted.shape[0] > 0 and (wanted[at >> 6] >> np.uint64(at & 63)) & _ONE == _ZERO:
                continue
            if first or values[at] != layer_high[at - layer]:
                new_low, new_high = settle(p, own, rows[theirs], database, layer, layer_high)
                if new_low != values[at] or new_high != layer_high[at - layer]:
                    values[at] = new_low
                    layer_high[at - layer] = new_high
                    changed += 1
    return changed


def sweep(*arguments) -> int:
    """One sweep of `_sweep_rows` over all rows, by as many threads as Numba may use."""
    parts = get_num_threads()
    with ThreadPoolExecutor(parts) as pool:
        return sum(pool.map(lambda part: _sweep_rows(*arguments, part, parts), range(parts)))


@compiled()
def _open_boards(values, start, layer_high, wanted, found):
    """Writes the places in a layer of the (wanted) boards whose values differ into `found`; returns how many there are."""
    count = 0
    for k in range(layer_high.shape[0]):
        if values[start + k] != layer_high[k]:
            at = start + k
            if wanted.shape[0] == 0 or (wanted[at >> 6] >> np.uint64(at & 63)) & _ONE != _ZERO:
                if count < found.shape[0]:
                    found[count] = k
                count += 1
    return count


def build(
    holes: int,
    seeds: int,
    endless: str = "illegal",
    report: Callable[[dict], None] | None = None,
    wanted: np.ndarray = _ALL,
) -> Database:
    """The database of all boards of at most `seeds` seeds, or of the `wanted` ones (bits in the order of `board_rank`,
    closed under moves).

    Memory: a byte a board, and another for the boards of exactly `seeds` seeds. `report` is called after each number of
    seeds with a dict of `seeds`, `boards`, `sweeps`, `open` (boards whose values differ) and `seconds`.
    """
    params = tables(holes, endless)
    rows, begins = rows_in_order(holes, seeds)
    values = np.full(board_count(params[0], seeds), NEVER, np.int8)
    values[0] = 0
    open_parts: tuple[np.ndarray, ...] = EMPTY[1:]
    for n in range(1, seeds + 1):
        begin, sweeps = time.perf_counter(), 1
        start, stop = int(params["start"][0, n, 0]), int(params["start"][0, n, n + 1])
        layer_high = np.full(stop - start, ALWAYS, np.int8)
        changed = sweep(params, n, rows, begins, wanted, values, *open_parts, layer_high, True)
        while changed:
            changed = sweep(params, n, rows, begins, wanted, values, *open_parts, layer_high, False)
            sweeps += 1
        layer = values[start:stop]
        undecided = np.zeros(_open_boards(values, start, layer_high, wanted, EMPTY.open_at), np.int64)
        _open_boards(values, start, layer_high, wanted, undecided)
        if len(undecided):
            added = (undecided + start, layer[undecided], layer_high[undecided])
            open_parts = tuple(np.concatenate(pair) for pair in zip(open_parts, added))
            layer[undecided] = OPEN
        if report:
            seconds = time.perf_counter() - begin
            report({"seeds": n, "boards": len(layer), "sweeps": sweeps, "open": len(undecided), "seconds": seconds})
    return Database(values, *open_parts)


def database_folder() -> Path:
    """Folder of built databases: `bao` in asobiba's cache folder (`ASOBIBA_CACHE_DIR`)."""
    folder = cache_folder() / "bao"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _path(holes: int, seeds: int, endless: str, suffix: str) -> Path:
    return database_folder() / f"endgame-{holes}x2-{seeds}-{endless}{suffix}"


def stored_database(
    holes: int, seeds: int, endless: str = "illegal", report: Callable[[dict], None] | None = None
) -> Database:
    """The database of all boards of at most `seeds` seeds, from the cache folder, or built and stored there.

    The files carry checksums; where one does not match, or is missing, the database is built again.
    """
    paths = {name: _path(holes, seeds, endless, f"-{name}.npy") for name in Database._fields}
    try:
        facts = database_facts(holes, seeds, endless)
        if all(_digest(paths[name]) == facts["sha256"][name] for name in paths):
            return Database(*(np.asarray(np.load(path, mmap_mode="c")) for path in paths.values()))
    except (OSError, ValueError, KeyError):
        pass
    begin = time.perf_counter()
    built = build(holes, seeds, endless, report)
    seconds = time.perf_counter() - begin
    for name, path in paths.items():
        partial = path.with_suffix(f".{os.getpid()}.npy")
        np.save(partial, getattr(built, name))
        os.replace(partial, path)
    facts = {
        "holes": holes,
        "seeds": seeds,
        "endless": endless,
        "boards": len(built.values),
        "open": len(built.open_at),
        "seconds": round(seconds, 2),
        "threads": get_num_threads(),
        "sha256": {name: _digest(path) for name, path in paths.items()},
    }
    _path(holes, seeds, endless, ".json").write_text(json.dumps(facts, indent=1))
    return built


def database_facts(holes: int, seeds: int, endless: str = "illegal") -> dict:
    """Description written beside a stored database: boards, build time in seconds, checksums."""
    return json.loads(_path(holes, seeds, endless, ".json").read_text())

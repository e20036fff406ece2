"""Solves animal shogi: runs the compiled passes with progress and checkpoints, and writes the table.

A run that was stopped in any way resumes from its last checkpoint. Checkpoints carry a checksum; a damaged one is not
used. Memory for the whole game: about 900 MB.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.animal_shogi.solver import reach, retrograde, statistics
from asobiba.baselines.animal_shogi.solver.index import WHOLE_GAME, material_code, open_numbers
from asobiba.baselines.animal_shogi.solver.retrograde import BLOCK, MOST_PLIES, whole_words
from asobiba.baselines.animal_shogi.solver.table import ValueTable, table_path, write_table

PREPARE, LEVELS, WRITE, REACH, COUNT, MATE_PREPARE, MATE_LEVELS = (
    "moves of every position",
    "retrograde analysis",
    "writing the table",
    "positions reachable from the start",
    "counting and checking",
    "checks in every position",
    "mate problems",
)
Progress = Callable[[str, int, int], None]
"""Called as `(phase, done, total)`."""
_PREPARE_STEP, _LEVEL_STEP, _FLOOD_STEP, _COUNT_STEP = BLOCK << 8, BLOCK << 11, 1 << 21, 1 << 19
_FIRST_EMPTY_LEVEL = 3
"""Positions of levels 0 to 2 are known from the preparation; from here on an empty level ends the analysis."""


def _quiet(phase: str, done: int, total: int) -> None:
    pass


class Checkpoints:
    """Checkpoint files in a folder, one per name: arrays, notes and a checksum. `None` as a folder keeps nothing.

    Args:
        folder: where they lie; made when first needed.
        seconds: the least time between two optional checkpoints.
    """

    def __init__(self, folder: Path | None, seconds: float = 15.0):
        self.folder, self.seconds = folder, seconds
        self._last = time.monotonic()

    def due(self) -> bool:
        """Whether enough time has passed since the last checkpoint."""
        return self.folder is not None and time.monotonic() - self._last >= self.seconds

    def save(self, name: str, notes: Mapping[str, Any], **arrays: np.ndarray) -> None:
        """Replaces the checkpoint `name`; a kill in the middle leaves the old one."""
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        part, path = self.folder / f"{name}.part", self.folder / f"{name}.checkpoint"
        with open(part, "wb") as file:
            lengths = {key: len(array) for key, array in arrays.items()}
            head = {"notes": dict(notes), "lengths": lengths, "sha256": _digest(arrays)}
            file.write(json.dumps(head).encode() + b"\n")
            for array in arrays.values():
                array.tofile(file)
        part.replace(path)
        self._last = time.monotonic()

    def load(self, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Notes and arrays (uint8) of the checkpoint, or `None` if there is none that is whole."""
        path = self.folder / f"{name}.checkpoint" if self.folder else None
        if path is None or not path.is_file():
            return None
        try:
            with open(path, "rb") as file:
                head = json.loads(file.readline())
                arrays = {key: np.fromfile(file, np.uint8, length) for key, length in head["lengths"].items()}
                if head["sha256"] == _digest(arrays):
                    return head["notes"], arrays
        except (ValueError, KeyError, TypeError):
            pass
        path.unlink()
        return None

    def clear(self) -> None:
        """Removes the folder."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for array in arrays.values():
        digest.update(array.data)
    return digest.hexdigest()


def solve_material(material: int, progress: Progress = _quiet, checkpoints: Checkpoints | None = None) -> np.ndarray:
    """Solves all positions of a material.

    Returns:
        One byte per number, `(open_numbers(material),)` uint8: see `retrograde`.
    """

    def prepare(values: np.ndarray, first: int, last: int) -> int:
        return int(retrograde.prepare(material, values, first, last))

    return _analyse(material, f"values-{material}", (PREPARE, LEVELS), prepare, progress, checkpoints)


def solve_mates(
    material: int, solved: np.ndarray, progress: Progress = _quiet, checkpoints: Checkpoints | None = None
) -> np.ndarray:
    """Solves the mate problems of a material, `solved` being what `solve_material` gives: every move must give check.

    Returns:
        Bytes as those of `solve_material`: an odd one is the position of a mate problem, two plies longer than the
        problem; draws are no problems.
    """

    def prepare(values: np.ndarray, first: int, last: int) -> int:
        return int(retrograde.prepare_mates(material, solved, values, first, last))

    return _analyse(material, f"mates-{material}", (MATE_PREPARE, MATE_LEVELS), prepare, progress, checkpoints)


def _analyse(
    material: int,
    name: str,
    phases: tuple[str, str],
    prepare: Callable[[np.ndarray, int, int], int],
    progress: Progress,
    checkpoints: Checkpoints | None,
) -> np.ndarray:
    """Prepares every byte and runs the analysis level by level; `name` is that of the checkpoint."""
    keep = checkpoints or Checkpoints(None)
    total = open_numbers(material)
    if saved := keep.load(name):
        notes, arrays = saved
        values, positions, decided, level = arrays["values"], notes["positions"], notes["decided"], notes["level"]
    else:
        values, positions, decided, level = retrograde.blank(material), 0, 0, 0
        for first in range(0, total, _PREPARE_STEP):
            last = min(first + _PREPARE_STEP, total)
            positions += prepare(values, first, last)
            progress(phases[0], last, total)
        keep.save(name, {"positions": positions, "decided": 0, "level": 0}, values=values)
    words = whole_words(values)
    progress(phases[1], decided, positions)
    while level <= MOST_PLIES:
        found = 0
        for first in range(0, total, _LEVEL_STEP):
            last = min(first + _LEVEL_STEP, total)
            found += retrograde.spread(material, values, words, level, first, last)
            progress(phases[1], decided + found, positions)
        decided += found
        level += 1
        if found == 0 and level > _FIRST_EMPTY_LEVEL:
            break
        if keep.due():
            keep.save(name, {"positions": positions, "decided": decided, "level": level}, values=values)
    keep.save(name, {"positions": positions, "decided": decided, "level": level}, values=values)
    progress(phases[1], positions, positions)
    return values


def reachable(most: int, progress: Progress = _quiet, checkpoints: Checkpoints | None = None) -> np.ndarray:
    """The positions of the whole game that can be reached from the start: a bit set over all numbers, as bytes.

    `most` is how many positions there are in which the game goes on, for the progress only.
    """
    keep = checkpoints or Checkpoints(None)
    if saved := keep.load("reached"):
        notes, arrays = saved
        if notes["complete"]:
            return arrays["reached"]
        reached, expanded, done = arrays["reached"], arrays["expanded"], notes["done"]
    else:
        (reached, expanded), done = reach.blank_sets(WHOLE_GAME), 0
    size = len(expanded)
    while True:
        found = 0
        for first in range(0, size, _FLOOD_STEP):
            found += reach.flood(WHOLE_GAME, reached, expanded, first, min(first + _FLOOD_STEP, size))
            progress(REACH, done + found, most)
            if keep.due():
                keep.save("reached", {"complete": False, "done": done + found}, reached=reached, expanded=expanded)
        done += found
        if found == 0:
            break
    progress(REACH, most, most)
    keep.save("reached", {"complete": True}, reached=reached)
    return reached


def count_all(values: np.ndarray, reached: np.ndarray, progress: Progress = _quiet) -> dict[str, Any]:
    """The numbers of the published analysis, and the check of every reachable position against its moves."""
    size = open_numbers(WHOLE_GAME) // 8 + 1
    totals = np.zeros(statistics.COLUMNS, np.int64)
    for first in range(0, size, _COUNT_STEP):
        last = min(first + _COUNT_STEP, size)
        counts = statistics.blank_counts(first, last)
        statistics.count_positions(WHOLE_GAME, values, reached, first, last, counts)
        totals += counts.sum(0)
        progress(COUNT, last, size)
    return statistics.summary(totals, reach.count_kinds(WHOLE_GAME, reached))


def solve_game(path: Path | None = None, *, progress: Progress = _quiet, seconds: float = 15.0) -> dict[str, Any]:
    """Solves the whole game, checks it, and writes the table and, beside it, the counts as JSON.

    Args:
        path: the file of the table; the usual one by default.
        progress: called as the work goes on.
        seconds: the least time between two checkpoints. They lie beside the table and are removed at the end.

    Returns:
        The counts, as `statistics.summary` describes them, with the size and checksum of the table.
    """
    file = table_path(path)
    keep = Checkpoints(file.with_name(file.name + ".solving"), seconds)
    values = solve_material(WHOLE_GAME, progress, keep)
    progress(WRITE, 0, 1)
    write_table(file, {WHOLE_GAME: values})
    progress(WRITE, 1, 1)
    reached = reachable(int(np.count_nonzero(values != retrograde.OUTSIDE)), progress, keep)
    counted = count_all(values, reached, progress)
    counted["mates"] = statistics.mate_problems(solve_mates(WHOLE_GAME, values, progress, keep), reached)
    table = ValueTable.open(file, checksum=True)
    counted["table"] = {"bytes": file.stat().st_size, "sha256": table.header["sha256"]}
    counts_path(file).write_text(json.dumps(counted, indent=1) + "\n")
    keep.clear()
    return counted


def counts_path(path: Path | None = None) -> Path:
    """The JSON file beside a table with the solver's counts."""
    return table_path(path).with_suffix(".json")


def solve_small(path: Path, pieces: int, progress: Progress = _quiet) -> Path:
    """Writes the table of all sub-games with at most so many pieces besides the lions.

    Captured pieces change hands and stay in the game, so each choice of pieces is closed under moves.
    """
    choices = [choice for choice in product(range(3), repeat=3) if sum(choice) <= pieces]
    solved = {material_code(*choice): solve_material(material_code(*choice), progress) for choice in choices}
    return write_table(path, solved, {"pieces": pieces})

"""Verifies a store, or a published league, by playing its games again."""

from __future__ import annotations

import csv
import io
import math
import multiprocessing
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from asobiba.arena.record_seals import Listed
from asobiba.arena.records_file import NAME, RecordsError, RecordsFile
from asobiba.arena.replay import check_record
from asobiba.arena.standings import standings, to_csv
from asobiba.arena.store import Store
from asobiba.core import AsobibaError, Ruleset

_PART = 50
"""Matches that a process gets at a time."""
_ALONE = 1000
"""Up to this many matches are played without other processes."""


@dataclass(frozen=True)
class Verified:
    """Number of matches, number of those played again, and those that do not agree, by name and with the reason."""

    present: int
    checked: int
    faults: tuple[tuple[str, str], ...]


def verify_store(
    ruleset: Ruleset,
    store: Store,
    sample: int | None = None,
    seed: int = 0,
    report: Callable[[int, int], None] | None = None,
    jobs: int = 1,
) -> Verified:
    """Plays the matches of a ruleset again and compares all that the rules decide with what is on record.

    Args:
        sample: number of matches to play, drawn at random; matches that lack a part or do not agree with their digests
            are found among all.
        seed: of the sample.
        report: called with the number of matches played and the total.
        jobs: processes that play.
    """
    examined = store.examine(ruleset)
    faults = [("list", fault) for fault in examined.faults]
    faults += [(f"match {number}", "lacks a part, or does not agree with its digest") for number in examined.damaged]
    numbers = _drawn(examined.results.number, sample, seed).tolist()
    contents = {f"match {number}": "does not agree with its digest" for number in numbers}
    for what, why in play_again(_struck(store.listed(ruleset, numbers), contents), len(numbers), jobs, report):
        faults.append((what, why))
    faults += contents.items()
    return Verified(len(examined.results) + len(examined.damaged), len(numbers), tuple(faults))


def _struck(listed: Iterable[Listed], waiting: dict[str, str]) -> Iterator[Listed]:
    """The same matches; removes those that have come from `waiting`."""
    for one in listed:
        waiting.pop(f"match {one.number}", None)
        yield one


def verify_folder(
    folder: Path,
    sample: int | None = None,
    seed: int = 0,
    report: Callable[[int, int], None] | None = None,
    jobs: int = 1,
) -> Verified:
    """Verifies a published league: compares its records with the page, the table and the rules.

    Args:
        folder: with `records.xz` and what `asobiba league publish` wrote beside it; or the file itself.

    Raises:
        RecordsError: if the records cannot be read.
    """
    path = folder / NAME if folder.is_dir() else folder
    if not path.is_file():
        raise RecordsError(f"there is no {path}; leagues are published with: asobiba league publish GAME")
    file = RecordsFile(path)
    faults = file.faults()
    if folder.is_dir():
        faults += [*_page_faults(file, folder), *_table_faults(file, folder / "results.csv")]
    rows = _drawn(np.arange(len(file)), sample, seed).tolist()
    faults += play_again(file.listed(rows), len(rows), jobs, report)
    return Verified(len(file), len(rows), tuple(faults))


def _drawn(numbers: np.ndarray, sample: int | None, seed: int) -> np.ndarray:
    if sample is None or sample >= len(numbers):
        return numbers
    return np.sort(np.random.default_rng(seed).choice(numbers, sample, replace=False))


def play_again(
    listed: Iterable[Listed], total: int, jobs: int = 1, report: Callable[[int, int], None] | None = None
) -> list[tuple[str, str]]:
    """Plays `total` matches again, on several cores; returns those that do not agree, in order, with the reason."""
    found: dict[int, list[tuple[str, str]]] = {}
    done = 0
    for number, size, faults in _parts(iter(listed), total, jobs):
        found[number] = faults
        done += size
        if report:
            report(done, total)
    return [fault for number in sorted(found) for fault in found[number]]


def _parts(listed: Iterator[Listed], total: int, jobs: int) -> Iterator[tuple[int, int, list[tuple[str, str]]]]:
    parts = enumerate(iter(lambda: list(islice(listed, _PART)), []))
    if jobs == 1 or total <= _ALONE:
        for number, part in parts:
            yield number, len(part), _play(part)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        playing: dict[Future, tuple[int, int]] = {}
        more = True
        while more or playing:
            while more and len(playing) < 3 * jobs:
                number, part = next(parts, (-1, []))
                more = number >= 0
                if more:
                    playing[pool.submit(_play, part)] = (number, len(part))
            for future in wait(playing, return_when=FIRST_COMPLETED).done:
                yield *playing.pop(future), future.result()


def _play(part: list[Listed]) -> list[tuple[str, str]]:
    faults = []
    for one in part:
        try:
            check_record(one.record)
        except (AsobibaError, ValueError, LookupError, TypeError, OverflowError) as error:
            faults.append((f"match {one.number}", str(error)))
    return faults


def _page_faults(file: RecordsFile, folder: Path) -> list[tuple[str, str]]:
    page = folder / "README.md"
    told = re.search(
        rf"{re.escape(NAME)}.*?([0-9a-f]{{64}})", page.read_text(encoding="utf-8") if page.is_file() else ""
    )
    if told is None:
        return [("README.md", f"does not tell the SHA-256 of what is in {NAME}")]
    return [] if told[1] == file.sha256 else [("README.md", f"tells of other records than those in {NAME}")]


def _table_faults(file: RecordsFile, path: Path) -> list[tuple[str, str]]:
    """Whether the published table follows from the records; the last digits may differ from machine to machine."""
    if not path.is_file():
        return [(path.name, "is missing")]
    theirs = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    ours = list(csv.reader(io.StringIO(to_csv(standings(file.ruleset, file.results())))))
    if len(ours) == len(theirs) and all(map(_same, ours, theirs)):
        return []
    wrong = [mine[1] for mine, yours in zip(ours[1:], theirs[1:]) if not _same(mine, yours)]
    return [(path.name, f"does not follow from the records: {', '.join(wrong) or 'other agents'}")]


def _same(one: list[str], other: list[str]) -> bool:
    return len(one) == len(other) and all(a == b or _close(a, b) for a, b in zip(one, other))


def _close(one: str, other: str) -> bool:
    try:
        return math.isclose(float(one), float(other), rel_tol=1e-6, abs_tol=1e-6)
    except ValueError:
        return False

"""Compares a store with what its games come to when they are played again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from asobiba.arena.match import ReplayError
from asobiba.arena.replay import verify
from asobiba.arena.store import Store
from asobiba.core import AsobibaError, Ruleset


@dataclass(frozen=True)
class Verified:
    """How many matches there are, how many were played again, and which do not agree: what they are called and why."""

    present: int
    checked: int
    faults: tuple[tuple[str, str], ...]


def verify_store(
    ruleset: Ruleset,
    store: Store,
    sample: int | None = None,
    seed: int = 0,
    report: Callable[[int, int], None] | None = None,
) -> Verified:
    """Plays the matches of a ruleset again and compares all that the rules decide with what is on record.

    Args:
        sample: only so many, drawn at random; matches that lack a part or do not agree with their digests are found
            among all.
        seed: of the sample.
        report: told how many of how many have been played.
    """
    examined = store.examine(ruleset)
    results, damaged = examined.results, examined.damaged
    faults = [("list", fault) for fault in examined.faults]
    faults += [(f"match {number}", "lacks a part, or does not agree with its digest") for number in damaged]
    numbers = results.number
    if sample is not None and sample < len(numbers):
        numbers = np.sort(np.random.default_rng(seed).choice(numbers, sample, replace=False))
    for done, number in enumerate(numbers.tolist(), 1):
        try:
            verify(store.record(number))
        except (ReplayError, AsobibaError, ValueError) as error:
            faults.append((f"match {number}", str(error)))
        if report and (done % 100 == 0 or done == len(numbers)):
            report(done, len(numbers))
    return Verified(len(results) + len(damaged), len(numbers), tuple(faults))

"""The seals of records (see `asobiba.arena.seals`), and the parts of a list's entry that they cover."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from asobiba.arena.match import REASONS, MatchRecord
from asobiba.arena.seals import content, seals, text_hash


class Entry(NamedTuple):
    """A match's entry in the list of its ruleset: its place from 0, when it was played, and its secret as text ("": none)."""

    sequence: int
    played_at: str
    secret: str = ""


class Listed(NamedTuple):
    """A match on record: its number, its record, its entry in the list, and its seal."""

    number: int
    record: MatchRecord
    entry: Entry
    seal: int


def record_seal(record: MatchRecord, entry: Entry) -> int:
    """The seal of one record."""
    inner = content(record.actions, record.detail, record.digest, record.contained)
    return record_seals([record], [inner], [entry])[0]


def record_seals(records: Sequence[MatchRecord], contents: Sequence[int], entries: Sequence[Entry]) -> list[int]:
    """The seals of records, whose contents have these digests."""
    found: dict[int, int] = {}
    sizes: dict[int, list[int]] = {}
    for k, record in enumerate(records):
        sizes.setdefault(len(record.returns), []).append(k)
    for seats, members in sizes.items():
        some, listed = [records[k] for k in members], [entries[k] for k in members]
        columns = [
            np.array([r.match.seed for r in some], np.int64), np.array([r.winner for r in some]),
            np.array([r.moves for r in some]), np.array([REASONS.index(r.reason) for r in some]),
            np.array([-1 if r.culprit is None else r.culprit for r in some]),
            np.array([contents[k] for k in members], np.int64),
            np.array([[_hash(name) for name in r.match.seats] for r in some], np.int64),
            np.array([r.returns for r in some], np.float64), np.array([r.decisions for r in some], np.int64),
            np.array([r.seconds for r in some], np.float64),
            np.array([r.tie_break or (np.nan,) * seats for r in some], np.float64),
            np.array([r.teams or range(seats) for r in some], np.int64),
            np.array([e.sequence for e in listed], np.int64), np.array([_hash(e.played_at) for e in listed], np.int64),
            np.array([_hash(e.secret) if e.secret else 0 for e in listed], np.int64),
        ]  # fmt: skip
        found.update(zip(members, seals([r.match.key for r in some], columns).tolist()))
    return [found[k] for k in range(len(records))]


_hash = lru_cache(maxsize=10_000)(text_hash)

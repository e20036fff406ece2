"""Reads the results of a store into columns, and finds the matches that do not agree with themselves or their list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from asobiba.arena.ledger import ListSeal, out_of_place
from asobiba.arena.match import REASONS
from asobiba.arena.results import Results
from asobiba.arena.schema import AGENTS, MATCHES, SEATS, SECRETS
from asobiba.arena.seals import content, seals, text_hash

_NONE = -(1 << 31)
_NO_NUMBER = -1e300
"""Placeholder for missing values while rows are read."""
# Keys have 32 letters and times 25; a longer text must not be mistaken for its beginning.
_MATCH = np.dtype(
    [
        ("id", np.int64), ("key", "S33"), ("seed", np.int64), ("winner", np.int64), ("moves", np.int64),
        ("reason", np.int64), ("culprit", np.int64), ("content", np.int64), ("seal", np.int64),
        ("sequence", np.int64), ("secret", np.int64), ("played_at", "S26"),
    ]
)  # fmt: skip
_SEAT = np.dtype(
    [
        ("match", np.int64), ("seat", np.int64), ("agent", np.int64), ("return", np.float64), ("decisions", np.int64),
        ("seconds", np.float64), ("tie_break", np.float64), ("team", np.int64),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Examined:
    """The contents of a store for one ruleset.

    Args:
        results: of the sound matches, in the order of their list.
        damaged: the numbers of the other matches.
        faults: of the list: missing or displaced entries.
    """

    results: Results
    damaged: tuple[int, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.damaged and not self.faults


def changed_contents(connection: sa.Connection, ruleset: int) -> set[int]:
    """The numbers of matches whose texts and bytes (actions, detail, final state, containment) do not agree with their
    digest, which the seal holds."""
    columns = [MATCHES.c[name] for name in ("id", "content", "actions", "detail", "digest", "contained")]
    found = set()
    for number, known, *parts in connection.execute(sa.select(*columns).where(MATCHES.c.ruleset == ruleset)):
        try:
            if content(*parts) != known:
                found.add(number)
        except (AttributeError, TypeError, UnicodeError):  # a number or nothing where a text belongs
            found.add(number)
    return found


def read_results(connection: sa.Connection, ruleset: int, seats: int) -> Examined:
    """The results under a ruleset of so many seats.

    A match is damaged if it lacks a seat, holds text where a number belongs, names a winner against its returns, has no
    place in the list, or does not agree with its seal.
    """
    reasons = sa.case({name: k for k, name in enumerate(REASONS)}, value=MATCHES.c.reason, else_=_NONE)
    matches = sa.select(
        MATCHES.c.id, MATCHES.c.key, MATCHES.c.seed, MATCHES.c.winner, MATCHES.c.moves, reasons,
        sa.func.coalesce(MATCHES.c.culprit, -1), sa.func.coalesce(MATCHES.c.content, -1),
        sa.func.coalesce(MATCHES.c.seal, -1), sa.func.coalesce(MATCHES.c.sequence, -1),
        sa.func.coalesce(MATCHES.c.secret, -1), MATCHES.c.played_at,
    ).where(MATCHES.c.ruleset == ruleset).order_by(MATCHES.c.id)  # fmt: skip
    lines = (
        sa.select(
            SEATS.c.match, SEATS.c.seat, SEATS.c.agent, SEATS.c["return"], SEATS.c.decisions, SEATS.c.seconds,
            sa.func.coalesce(SEATS.c.tie_break, _NO_NUMBER), sa.func.coalesce(SEATS.c.team, SEATS.c.seat),
        )
        .where(SEATS.c.match.in_(sa.select(MATCHES.c.id).where(MATCHES.c.ruleset == ruleset)))
        .order_by(SEATS.c.match, SEATS.c.seat)
    )  # fmt: skip
    damaged: set[int] = set()
    unread: list[tuple] = []
    head = _rows(connection, matches, _MATCH, damaged, unread)
    rows = _rows(connection, lines, _SEAT, damaged)
    names = {row.id: row.name for row in connection.execute(sa.select(AGENTS.c.id, AGENTS.c.name))}
    secrets = {row.id: text_hash(row.bits) for row in connection.execute(sa.select(SECRETS.c.id, SECRETS.c.bits))}
    listed = ListSeal.read(connection, ruleset)
    places = np.array([*head["sequence"].tolist(), *(row[9] for row in unread if isinstance(row[9], int))], np.int64)
    faults = listed.missing(places)
    damaged |= set(head["id"][out_of_place(head["sequence"], listed.count)].tolist())

    rows["tie_break"][rows["tie_break"] == _NO_NUMBER] = np.nan

    # A sound match has exactly the seats 0 to seats - 1, in this order.
    first = np.searchsorted(rows["match"], head["id"])
    whole = first + seats <= len(rows)
    grid = (
        np.where(whole, first, 0)[:, None] + np.arange(seats) if len(rows) else np.zeros((len(head), seats), np.int64)
    )
    whole &= np.searchsorted(rows["match"], head["id"], "right") - first == seats
    if len(rows):
        whole &= (rows["seat"][grid] == np.arange(seats)).all(1)
        whole &= np.isin(rows["agent"][grid], list(names)).all(1)
    whole &= head["reason"] != _NONE
    whole &= ~np.isin(head["id"], list(damaged))
    damaged |= set(head["id"][~whole].tolist())
    head, grid = head[whole], grid[whole]
    found = {name: rows[name][grid] for name in _SEAT.names or ()} if len(rows) else None
    if found is None or not len(head):
        return Examined(Results.of([]), tuple(sorted(damaged)), tuple(faults))

    ordered = sorted({names[k] for k in np.unique(found["agent"]).tolist()})
    place, hashes = np.zeros(max(names) + 1, np.int32), np.zeros(max(names) + 1, np.int64)
    for number, name in names.items():
        hashes[number] = text_hash(name)
        place[number] = ordered.index(name) if name in ordered else -1
    results = Results(
        agents=tuple(ordered),
        number=head["id"],
        seed=head["seed"],
        winner=head["winner"].astype(np.int16),
        moves=head["moves"],
        reason=head["reason"].astype(np.int8),
        culprit=head["culprit"].astype(np.int16),
        seats=place[found["agent"]],
        returns=found["return"],
        decisions=found["decisions"],
        seconds=found["seconds"],
        tie_break=found["tie_break"],
        teams=found["team"].astype(np.int16),
    )
    columns = [
        head["seed"], head["winner"], head["moves"], head["reason"], head["culprit"], head["content"],
        hashes[found["agent"]], found["return"], found["decisions"], found["seconds"], found["tie_break"], found["team"],
        head["sequence"], _hashes(head["played_at"]), np.array([secrets.get(k, 0) for k in head["secret"].tolist()], np.int64),
    ]  # fmt: skip
    sound = (seals(head["key"], columns) == head["seal"]) & (np.char.str_len(head["key"]) == 32)
    won = results.won
    sound &= np.where(won.any(1), won.argmax(1), -1) == head["winner"]
    damaged |= set(head["id"][~sound].tolist())
    if not damaged and not faults:
        faults = listed.disagreement(head["seal"])
    order = np.argsort(head["sequence"], kind="stable")
    return Examined(results.take(order[sound[order]]), tuple(sorted(damaged)), tuple(faults))


def _hashes(texts: np.ndarray) -> np.ndarray:
    """`text_hash` of many texts, of which many are the same: `(n,)` int64."""
    values, where = np.unique(texts, return_inverse=True)
    return np.array([text_hash(value) for value in values.tolist()], np.int64)[where.reshape(-1)]


def _rows(
    connection: sa.Connection, query: sa.Select, dtype: np.dtype, damaged: set[int], unread: list[tuple] | None = None
) -> np.ndarray:
    """The rows of a query as records; where a row cannot be read, its match is added to `damaged` and it goes to `unread`."""
    cursor: Any = connection.execute(query).cursor
    try:
        return np.fromiter((tuple(row) for row in cursor), dtype)
    except (TypeError, ValueError, OverflowError):
        pass
    kept = []
    cursor = connection.execute(query).cursor
    for row in (tuple(one) for one in cursor):
        kinds: dict[str, Any] = {"i": int, "f": (int, float), "S": str}
        if all(_is(value, kinds[dtype[k].kind]) for k, value in enumerate(row)):
            kept.append(row)
        else:
            damaged.add(row[0] if isinstance(row[0], int) else -1)
            if unread is not None:
                unread.append(row)
    return np.array(kept, dtype)


def _is(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and (kind is not str or value.isascii())

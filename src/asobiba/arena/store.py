"""Where results live: a SQLite file by default, PostgreSQL by URL. Every match stands in it once."""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from asobiba.arena import schema
from asobiba.arena.match import REASONS, Match, Record, parameters_text
from asobiba.arena.reading import read_results
from asobiba.arena.results import Result, Results
from asobiba.arena.schema import AGENTS, MATCHES, META, RULESETS, SEATS
from asobiba.arena.seals import content, seals, text_hash
from asobiba.core import AsobibaError, Game, MissingExtra, Ruleset

__all__ = ["MIXED", "DamagedStore", "Result", "Store", "StoreError", "default_store"]
_CHUNK = 1000
"""Records of one statement."""
MIXED = "mixed"
"""Instead of a digest, where a league's matches were played by more than one edition of the code."""


class StoreError(AsobibaError, OSError):
    """A store that cannot be opened, read or written."""


class DamagedStore(StoreError):
    """A store with matches that do not agree with themselves.

    Args:
        numbers: of these matches.
    """

    def __init__(self, place: str, numbers: Sequence[int]):
        some = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
        super().__init__(
            f"{place}: {len(numbers)} matches do not agree with their digests or lack a part (numbers {some}); somebody "
            "or something has changed them. Compare all with: asobiba league verify GAME; leave them out with --undamaged"
        )
        self.numbers = tuple(numbers)


def default_store(game: Game) -> Path:
    """Where the league of a game keeps its results, relative to the working folder."""
    return Path("runs") / "league" / f"{game.name}.sqlite"


class Store:
    """Results in a database.

    Args:
        place: the path of a SQLite file, or an SQLAlchemy URL (`postgresql://user@host/database`).
        create: make it if it is not there; otherwise it must exist, and is only read: it may lie on a read-only medium.

    Raises:
        StoreError: if it cannot be opened, is no database, or holds something else.
    """

    def __init__(self, place: str | Path, create: bool = True):
        self.place = str(place)
        self.upgraded: Path | None = None
        """The copy of the older store that this one was upgraded from."""
        url, path = _url(self.place)
        if path is not None:
            _require_file(path, create)
        self.is_file = path is not None
        self._temporary: tempfile.TemporaryDirectory | None = None
        self._writes = create
        self._engine = self._open(url, path, frozen=False)
        self._known: dict[tuple, int] = {}
        try:
            self._prepare(path, create)
        except StoreError:
            if path is None or create:
                raise
            self._engine.dispose()
            self._engine = self._open(url, path, frozen=True)  # as on a medium that cannot be written
            self._prepare(path, create)

    def _open(self, url: sa.URL, path: Path | None, frozen: bool) -> sa.Engine:
        try:
            if path is not None and not self._writes:
                how = "?mode=ro&immutable=1" if frozen else "?mode=ro"
                place = path.absolute().as_uri() + how
                engine = sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(place, uri=True, timeout=30))
            else:
                # A database without an encoding of its own gives bytes, unless it is told what text is.
                text = {"client_encoding": "utf8"} if url.get_backend_name() == "postgresql" else {}
                engine = sa.create_engine(url, connect_args=text)
        except ModuleNotFoundError as error:
            if url.get_backend_name() == "postgresql":
                raise MissingExtra(error.name or "psycopg", "postgres") from None
            raise StoreError(f"the driver of {self.place!r} is not installed: {error}") from None
        except sa.exc.ArgumentError as error:
            raise StoreError(f"cannot read the store's URL {self.place!r}: {error}") from None
        if url.get_backend_name() == "sqlite":
            sa.event.listen(engine, "connect", _write_ahead if self._writes else _by_hand)
            sa.event.listen(engine, "begin", _begin)
        return engine

    def _prepare(self, path: Path | None, create: bool) -> None:
        """Makes the tables, or brings older ones up to date."""
        with self._connection() as connection:
            found = self._check(connection, create)
        if found == schema.FORMAT:
            return
        if found is not None and not create:
            if path is None:
                raise StoreError(f"{self.place} has the format {found!r}; asobiba league run upgrades it")
            self._upgrade_aside(path)
            return
        copy = schema.keep_copy(path, found) if path is not None and found is not None else None
        with self._connection(write=True) as connection:
            schema.lock(connection)
            found = self._check(connection, create)  # somebody else may have been here meanwhile
            if found is None:
                schema.create(connection)
            elif found != schema.FORMAT:
                schema.upgrade(connection, found)
                self.upgraded = copy
                return
        if copy is not None:
            copy.unlink()

    def _upgrade_aside(self, path: Path) -> None:
        """An older store that is only read stays as it is: a copy of it is upgraded, and goes when this is closed."""
        self._engine.dispose()
        self._temporary = tempfile.TemporaryDirectory(prefix="asobiba-store-")
        copy = Path(self._temporary.name) / path.name
        try:
            schema.copy_sqlite(path, copy)
        except sqlite3.Error as error:
            raise StoreError(f"the store {self.place} cannot be used: {error}") from None
        with Store(copy):
            pass
        self._engine = self._open(*_url(str(copy)), frozen=False)

    def _check(self, connection: sa.Connection, create: bool) -> str | None:
        """The store's format; `None` if it is to be made."""
        present = set(sa.inspect(connection).get_table_names())
        if META.name not in present:
            others = present - {"spatial_ref_sys"}
            if others and self.is_file:
                raise StoreError(
                    f"{self.place} is a database of something else (tables: {', '.join(sorted(others)[:5])}); "
                    "choose another file for the results"
                )
            if not create:
                raise StoreError(f"{self.place} holds no results; leagues are played with: asobiba league run GAME")
            return None
        found = schema.format_of(connection)
        if found != schema.FORMAT and not schema.upgradable(found):
            raise StoreError(f"{self.place} has the format {found!r}, this asobiba reads {schema.FORMAT!r}")
        missing = set(schema.TABLES.tables) - present
        if missing:
            raise StoreError(f"{self.place} is damaged: the tables {', '.join(sorted(missing))} are missing")
        return found

    @contextmanager
    def _connection(self, write: bool = False) -> Iterator[sa.Connection]:
        """A connection, in a transaction when writing; errors of the database become `StoreError`."""
        try:
            if write:
                with self._engine.execution_options(write=True).begin() as connection:
                    yield connection
            else:
                with self._engine.connect() as connection:
                    yield connection
        except sa.exc.SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            raise StoreError(f"the store {self.place} cannot be used: {str(cause).strip()}") from None

    def _insert(self, table: sa.Table) -> Any:
        flavour = {"sqlite": sqlite, "postgresql": postgresql}.get(self._engine.dialect.name)
        if flavour is None:
            raise StoreError(f"a store is SQLite or PostgreSQL, not {self._engine.dialect.name}")
        return flavour.insert(table)

    def _id(self, connection: sa.Connection, table: sa.Table, **values: Any) -> int:
        """The id of this row of `rulesets` or `agents`, inserted if need be."""
        key = (table.name, *values.values())
        if key not in self._known:
            where = sa.and_(*(table.c[name] == value for name, value in values.items()))
            connection.execute(self._insert(table).values(**values).on_conflict_do_nothing())
            self._known[key] = int(connection.execute(sa.select(table.c.id).where(where)).scalar_one())
        return self._known[key]

    def write(self, records: Iterable[Record]) -> int:
        """Adds records in one transaction and returns how many were new; a match that is there already stays as it is."""
        known = dict(self._known)
        try:
            with self._connection(write=True) as connection:
                schema.lock(connection)  # two that write the same matches do it one after the other
                found = list(records)
                return sum(self._write(connection, found[k : k + _CHUNK]) for k in range(0, len(found), _CHUNK))
        except BaseException:
            self._known = known  # rows that were rolled back have no id
            raise

    def _write(self, connection: sa.Connection, records: Sequence[Record]) -> int:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        by_key = {record.match.key: record for record in records}
        here = sa.select(MATCHES.c.key, MATCHES.c.id).where(MATCHES.c.key.in_(list(by_key)))
        before = {row.key for row in connection.execute(here)}
        fresh = [record for key, record in by_key.items() if key not in before]
        if not fresh:
            return 0
        inner = [content(r.actions, r.detail, r.digest, r.contained) for r in fresh]
        rows = [
            {
                "key": record.match.key, "seed": record.match.seed, "reason": record.reason, "culprit": record.culprit,
                "detail": record.detail, "moves": record.moves, "winner": record.winner, "actions": record.actions,
                "digest": record.digest, "played_at": now, "contained": record.contained, "content": digest, "seal": seal,
                "ruleset": self._id(
                    connection, RULESETS, game=record.match.game, version=record.match.version,
                    parameters=record.match.parameters_text,
                ),
            }
            for record, digest, seal in zip(fresh, inner, _seals(fresh, inner))
        ]  # fmt: skip
        connection.execute(MATCHES.insert(), rows)
        numbers = {row.key: row.id for row in connection.execute(here)}
        seats = [
            {
                "match": numbers[record.match.key], "seat": seat, "agent": self._id(connection, AGENTS, name=name),
                "return": record.returns[seat], "decisions": record.decisions[seat], "seconds": record.seconds[seat],
                "tie_break": record.tie_break[seat] if record.tie_break else None,
                "team": record.teams[seat] if record.teams else None,
            }
            for record in fresh
            for seat, name in enumerate(record.match.seats)
        ]  # fmt: skip
        connection.execute(SEATS.insert(), seats)
        return len(fresh)

    def keys(self, ruleset: Ruleset) -> set[str]:
        """The keys (`Match.key`) of the matches that were played under this ruleset."""
        with self._connection() as connection:
            query = sa.select(MATCHES.c.key).join(RULESETS).where(*_is(ruleset))
            return set(connection.execute(query).scalars())

    def played_by(self, ruleset: Ruleset, code: str) -> None:
        """Notes which code (a digest of its sources) is about to play matches of this ruleset."""
        with self._connection(write=True) as connection:
            schema.lock(connection)
            number = self._id(
                connection, RULESETS, game=ruleset.game.name, version=ruleset.game.version,
                parameters=parameters_text(ruleset.parameters),
            )  # fmt: skip
            found = self._code(connection, number)
            if found is None:
                older = connection.execute(sa.select(MATCHES.c.id).where(MATCHES.c.ruleset == number).limit(1)).first()
                noted = code if older is None else MIXED
                connection.execute(META.insert().values(name=f"code {number}", value=noted))
            elif found != code:
                connection.execute(META.update().where(META.c.name == f"code {number}").values(value=MIXED))

    def code(self, ruleset: Ruleset) -> str | None:
        """The digest of the code that played the matches of this ruleset, `MIXED` if there was more than one, `None` if
        it was not noted."""
        with self._connection() as connection:
            number = connection.execute(sa.select(RULESETS.c.id).where(*_is(ruleset))).scalar()
            return None if number is None else self._code(connection, number)

    def _code(self, connection: sa.Connection, number: int) -> str | None:
        return connection.execute(sa.select(META.c.value).where(META.c.name == f"code {number}")).scalar()

    def contents(self) -> list[tuple[str, int, str, int]]:
        """What is in the store: (game, version, parameters as JSON, number of matches)."""
        with self._connection() as connection:
            columns = (RULESETS.c.game, RULESETS.c.version, RULESETS.c.parameters)
            query = sa.select(*columns, sa.func.count()).join(MATCHES).group_by(*columns).order_by(*columns)
            return [tuple(row) for row in connection.execute(query)]

    def require(self, ruleset: Ruleset) -> None:
        """Raises `StoreError` if a file holds results of other games only: a league keeps to its own file."""
        contents = self.contents()
        games = sorted({game for game, *_ in contents})
        if self.is_file and games and ruleset.game.name not in games:
            raise StoreError(
                f"{self.place} holds the results of {', '.join(games)}, not of {ruleset.game.name}; "
                "choose another file with --store"
            )

    def results(self, ruleset: Ruleset, undamaged: bool = False) -> Results:
        """All results under this ruleset, in the order in which they were written.

        Args:
            undamaged: leave out matches that do not agree with their seals, instead of refusing.

        Raises:
            DamagedStore: if there are such matches.
        """
        results, damaged = self.examine(ruleset)
        if damaged and not undamaged:
            raise DamagedStore(self.place, damaged)
        return results

    def examine(self, ruleset: Ruleset) -> tuple[Results, list[int]]:
        """The sound results under this ruleset, and the numbers of the matches that do not agree with their seals."""
        with self._connection() as connection:
            return read_results(connection, _is(ruleset), ruleset.num_players)

    def times(self, ruleset: Ruleset, numbers: np.ndarray) -> np.ndarray:
        """When the matches with these numbers were played, in seconds since 1970: `(n,)` float64."""
        query = sa.select(MATCHES.c.id, MATCHES.c.played_at).join(RULESETS).where(*_is(ruleset))
        with self._connection() as connection:
            found = {row.id: row.played_at for row in connection.execute(query)}
        known: dict[str, float] = {}
        for text in set(found.values()):
            try:
                known[text] = datetime.fromisoformat(text).timestamp()
            except (TypeError, ValueError):
                known[text] = 0.0
        return np.array([known[found[number]] for number in numbers.tolist()], np.float64)

    def different_games(self, ruleset: Ruleset) -> int:
        """How many of the ruleset's games are no repetition of another, by the same agents with the same actions."""
        columns = (MATCHES.c.id, MATCHES.c.actions, SEATS.c.agent)
        joined = MATCHES.join(RULESETS).join(SEATS)
        query = sa.select(*columns).select_from(joined).where(*_is(ruleset)).order_by(MATCHES.c.id, SEATS.c.seat)
        games: dict[int, tuple[Any, ...]] = {}
        with self._connection() as connection:
            for row in connection.execute(query):
                games[row.id] = (*games.get(row.id, (bytes(row.actions),)), row.agent)
        return len(set(games.values()))

    def record(self, number: int | str) -> Record:
        """The full record of a match: by its number, or by the beginning of its key (8 digits or more).

        Raises:
            StoreError: if there is none, or several.
            DamagedStore: if it does not agree with its digests.
        """
        text = str(number)
        by_number = text.isdigit() and len(text) < 8
        if not by_number and len(text) < 8:
            raise StoreError(f"{text!r} is no match: give its number, or at least 8 digits of its key")
        where = MATCHES.c.id == int(text) if by_number else MATCHES.c.key.startswith(text.lower(), autoescape=True)
        with self._connection() as connection:
            columns = (RULESETS.c.game, RULESETS.c.version, RULESETS.c.parameters)
            found = connection.execute(sa.select(MATCHES, *columns).join(RULESETS).where(where).limit(2)).all()
            if len(found) != 1:
                many = "several matches" if found else "no match"
                raise StoreError(f"{self.place} holds {many} {text!r}")
            row = found[0]
            seats = connection.execute(
                sa.select(SEATS, AGENTS.c.name).join(AGENTS).where(SEATS.c.match == row.id).order_by(SEATS.c.seat)
            ).all()
        try:
            return _record(row, seats)
        except (TypeError, ValueError, LookupError, AttributeError):
            raise DamagedStore(self.place, [row.id]) from None

    def close(self) -> None:
        """Closes the connections."""
        self._engine.dispose()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is(ruleset: Ruleset) -> tuple[Any, ...]:
    return (
        RULESETS.c.game == ruleset.game.name,
        RULESETS.c.version == ruleset.game.version,
        RULESETS.c.parameters == parameters_text(ruleset.parameters),
    )


def _record(row: Any, seats: Sequence[Any]) -> Record:
    """The record that these rows hold.

    Raises:
        ValueError: if it does not agree with its digests, or has not all its seats.
    """
    match = Match(row.game, row.version, json.loads(row.parameters), tuple(s.name for s in seats), row.seed)
    breaks, teams = tuple(s.tie_break for s in seats), tuple(s.team for s in seats)
    record = Record(
        match=match,
        actions=bytes(row.actions),
        returns=tuple(s._mapping["return"] for s in seats),
        moves=row.moves,
        reason=row.reason,
        culprit=row.culprit,
        detail=row.detail,
        decisions=tuple(s.decisions for s in seats),
        seconds=tuple(s.seconds for s in seats),
        tie_break=None if None in breaks else breaks,
        digest=row.digest,
        teams=None if None in teams else teams,
        contained=row.contained,
    )
    sound = (
        match.key == row.key
        and record.winner == row.winner
        and row.content == content(record.actions, record.detail, record.digest, record.contained)
        and row.seal == _seal(record)
    )
    if not sound:
        raise ValueError(row.key)
    return record


def _seal(record: Record) -> int:
    """The seal of one record."""
    return _seals([record], [content(record.actions, record.detail, record.digest, record.contained)])[0]


def _seals(records: Sequence[Record], contents: Sequence[int]) -> list[int]:
    """The seals of records, whose contents have these digests."""
    found: dict[str, int] = {}
    sizes: dict[int, list[int]] = {}
    for k, record in enumerate(records):
        sizes.setdefault(len(record.returns), []).append(k)
    for seats, members in sizes.items():
        some = [records[k] for k in members]
        columns = [
            np.array([r.match.seed for r in some], np.int64), np.array([r.winner for r in some]),
            np.array([r.moves for r in some]), np.array([REASONS.index(r.reason) for r in some]),
            np.array([-1 if r.culprit is None else r.culprit for r in some]),
            np.array([contents[k] for k in members], np.int64),
            np.array([[_name_hash(name) for name in r.match.seats] for r in some], np.int64),
            np.array([r.returns for r in some], np.float64), np.array([r.decisions for r in some], np.int64),
            np.array([r.seconds for r in some], np.float64),
            np.array([r.tie_break or (np.nan,) * seats for r in some], np.float64),
            np.array([r.teams or range(seats) for r in some], np.int64),
        ]  # fmt: skip
        keys = [r.match.key for r in some]
        found.update(zip(keys, seals(keys, columns).tolist()))
    return [found[record.match.key] for record in records]


_name_hash = lru_cache(maxsize=10_000)(text_hash)


def _require_file(path: Path, create: bool) -> None:
    if path.is_dir():
        raise StoreError(f"{path} is a folder; a store is a file, such as {path / 'league.sqlite'}")
    if not path.exists() and not create:
        raise StoreError(f"there is no store at {path}; leagues are played with: asobiba league run GAME")
    if create:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder {path.parent} cannot be made: {error}") from None


def _url(place: str) -> tuple[sa.URL, Path | None]:
    if "://" not in place:
        path = Path(place)
        return sa.URL.create("sqlite", database=str(path)), path
    try:
        url = sa.make_url(place)
        if url.drivername in ("postgresql", "postgres"):
            url = url.set(drivername="postgresql+psycopg")
        backend = url.get_backend_name()
    except (sa.exc.SQLAlchemyError, ValueError) as error:
        raise StoreError(f"cannot read the store's URL {place!r}: {error}") from None
    if backend not in ("sqlite", "postgresql"):
        raise StoreError(f"a store is a SQLite file or a postgresql:// URL, not {place!r}")
    return url, Path(url.database) if backend == "sqlite" and url.database else None


def _by_hand(connection: Any, _: Any) -> None:
    """Transactions begin where `_begin` says, not where the driver guesses."""
    connection.isolation_level = None


def _write_ahead(connection: Any, _: Any) -> None:
    _by_hand(connection, _)
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout=30000")
    # Readers do not wait for the writer, and a killed process leaves whole transactions.
    deadline = time.monotonic() + 30
    while True:  # another process may be doing the same with a new file; that is not waited for by the timeout
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

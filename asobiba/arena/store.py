"""Where results live: a SQLite file by default, PostgreSQL by URL. Every match stands in it once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from asobiba.arena.match import Match, Record, parameters_text
from asobiba.core import AsobibaError, Game, MissingExtra, Ruleset

_FORMAT = "1"
_tables = sa.MetaData()
_meta = sa.Table(
    "asobiba_meta", _tables, sa.Column("name", sa.String(40), primary_key=True), sa.Column("value", sa.Text)
)
_rulesets = sa.Table(
    "rulesets",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("game", sa.String(100), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("parameters", sa.Text, nullable=False),
    sa.UniqueConstraint("game", "version", "parameters"),
)
_agents = sa.Table(
    "agents",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
)
_matches = sa.Table(
    "matches",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.String(32), nullable=False, unique=True),
    sa.Column("ruleset", sa.ForeignKey("rulesets.id"), nullable=False, index=True),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("reason", sa.String(20), nullable=False),
    sa.Column("culprit", sa.Integer),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("moves", sa.Integer, nullable=False),
    sa.Column("winner", sa.Integer, nullable=False),
    sa.Column("actions", sa.LargeBinary, nullable=False),
    sa.Column("digest", sa.String(16), nullable=False),
    sa.Column("played_at", sa.String(25), nullable=False),
)
_seats = sa.Table(
    "seats",
    _tables,
    sa.Column("match", sa.ForeignKey("matches.id"), primary_key=True),
    sa.Column("seat", sa.Integer, primary_key=True),
    sa.Column("agent", sa.ForeignKey("agents.id"), nullable=False, index=True),
    sa.Column("return", sa.Float(53), nullable=False),
    sa.Column("decisions", sa.Integer, nullable=False),
    sa.Column("seconds", sa.Float(53), nullable=False),
    sa.Column("tie_break", sa.Float(53)),
)


class StoreError(AsobibaError, OSError):
    """A store that cannot be opened, read or written."""


@dataclass(frozen=True)
class Result:
    """What ratings and tables need of one match.

    Args:
        number: its number in the store, for `asobiba replay`.
        seats: the agents, first seat first.
        winner: the winning seat, or -1.
        The rest is as in `Record`.
    """

    number: int
    seats: tuple[str, ...]
    seed: int
    returns: tuple[float, ...]
    winner: int
    moves: int
    reason: str
    culprit: int | None
    decisions: tuple[int, ...]
    seconds: tuple[float, ...]
    tie_break: tuple[float, ...] | None


def default_store(game: Game) -> Path:
    """Where the league of a game keeps its results, relative to the working folder."""
    return Path("runs") / "league" / f"{game.name}.sqlite"


class Store:
    """Results in a database.

    Args:
        place: the path of a SQLite file, or an SQLAlchemy URL (`postgresql://user@host/database`).
        create: make it if it is not there; otherwise it must exist.

    Raises:
        StoreError: if it cannot be opened, is no database, or holds something else.
    """

    def __init__(self, place: str | Path, create: bool = True):
        self.place = str(place)
        url, path = _url(self.place)
        if path is not None:
            if path.is_dir():
                raise StoreError(f"{path} is a folder; a store is a file, such as {path / 'league.sqlite'}")
            if not path.exists() and not create:
                raise StoreError(f"there is no store at {path}; leagues are played with: asobiba league run GAME")
            if create:
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                except OSError as error:
                    raise StoreError(f"the folder {path.parent} cannot be made: {error}") from None
        self.is_file = path is not None
        try:
            self._engine = sa.create_engine(url)
        except ModuleNotFoundError as error:
            if url.get_backend_name() == "postgresql":
                raise MissingExtra(error.name or "psycopg", "postgres") from None
            raise StoreError(f"the driver of {self.place!r} is not installed: {error}") from None
        except sa.exc.ArgumentError as error:
            raise StoreError(f"cannot read the store's URL {self.place!r}: {error}") from None
        if url.get_backend_name() == "sqlite":
            sa.event.listen(self._engine, "connect", _pragmas)
        self._known: dict[tuple, int] = {}
        with self._connection(write=create) as connection:
            self._check(connection, create)

    def _check(self, connection: sa.Connection, create: bool) -> None:
        present = set(sa.inspect(connection).get_table_names())
        if _meta.name not in present:
            others = present - {"spatial_ref_sys"}
            if others and self.is_file:
                raise StoreError(
                    f"{self.place} is a database of something else (tables: {', '.join(sorted(others)[:5])}); "
                    "choose another file for the results"
                )
            if not create:
                raise StoreError(f"{self.place} holds no results; leagues are played with: asobiba league run GAME")
            _tables.create_all(connection)
            connection.execute(_meta.insert().values(name="format", value=_FORMAT))
            return
        found = connection.execute(sa.select(_meta.c.value).where(_meta.c.name == "format")).scalar()
        if found != _FORMAT:
            raise StoreError(f"{self.place} has the format {found!r}, this asobiba reads {_FORMAT!r}")
        missing = set(_tables.tables) - present
        if missing:
            raise StoreError(f"{self.place} is damaged: the tables {', '.join(sorted(missing))} are missing")

    @contextmanager
    def _connection(self, write: bool = False) -> Iterator[sa.Connection]:
        """A connection, in a transaction when writing; errors of the database become `StoreError`."""
        try:
            with self._engine.begin() if write else self._engine.connect() as connection:
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
        new = 0
        known = dict(self._known)
        try:
            with self._connection(write=True) as connection:
                for record in records:
                    new += self._write(connection, record)
        except BaseException:
            self._known = known  # rows that were rolled back have no id
            raise
        return new

    def _write(self, connection: sa.Connection, record: Record) -> bool:
        match = record.match
        ruleset = self._id(
            connection, _rulesets, game=match.game, version=match.version, parameters=match.parameters_text
        )
        row = self._insert(_matches).values(
            key=match.key, ruleset=ruleset, seed=match.seed, reason=record.reason, culprit=record.culprit,
            detail=record.detail, moves=record.moves, winner=record.winner, actions=record.actions,
            digest=record.digest, played_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )  # fmt: skip
        number = connection.execute(row.on_conflict_do_nothing().returning(_matches.c.id)).scalar()
        if number is None:
            return False
        rows = [
            {
                "match": number,
                "seat": seat,
                "agent": self._id(connection, _agents, name=name),
                "return": record.returns[seat],
                "decisions": record.decisions[seat],
                "seconds": record.seconds[seat],
                "tie_break": record.tie_break[seat] if record.tie_break else None,
            }
            for seat, name in enumerate(match.seats)
        ]
        connection.execute(_seats.insert(), rows)
        return True

    def keys(self, ruleset: Ruleset) -> set[str]:
        """The keys (`Match.key`) of the matches that were played under this ruleset."""
        with self._connection() as connection:
            query = sa.select(_matches.c.key).join(_rulesets).where(*_is(ruleset))
            return set(connection.execute(query).scalars())

    def contents(self) -> list[tuple[str, int, str, int]]:
        """What is in the store: (game, version, parameters as JSON, number of matches)."""
        with self._connection() as connection:
            columns = (_rulesets.c.game, _rulesets.c.version, _rulesets.c.parameters)
            query = sa.select(*columns, sa.func.count()).join(_matches).group_by(*columns).order_by(*columns)
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

    def results(self, ruleset: Ruleset) -> list[Result]:
        """All results under this ruleset, in the order in which they were written."""
        columns = (
            _matches.c.id, _matches.c.seed, _matches.c.winner, _matches.c.moves, _matches.c.reason,
            _matches.c.culprit, _agents.c.name, _seats.c["return"], _seats.c.decisions, _seats.c.seconds,
            _seats.c.tie_break,
        )  # fmt: skip
        joined = _matches.join(_rulesets).join(_seats).join(_agents)
        query = sa.select(*columns).select_from(joined).where(*_is(ruleset)).order_by(_matches.c.id, _seats.c.seat)
        found: list[Result] = []
        rows: list[Any] = []
        with self._connection() as connection:
            for row in connection.execute(query):
                if rows and rows[0].id != row.id:
                    found.append(_result(rows))
                    rows = []
                rows.append(row)
        if rows:
            found.append(_result(rows))
        return found

    def different_games(self, ruleset: Ruleset) -> int:
        """How many of the ruleset's games are no repetition of another, by the same agents with the same actions."""
        columns = (_matches.c.id, _matches.c.actions, _seats.c.agent)
        joined = _matches.join(_rulesets).join(_seats)
        query = sa.select(*columns).select_from(joined).where(*_is(ruleset)).order_by(_matches.c.id, _seats.c.seat)
        games: dict[int, tuple[Any, ...]] = {}
        with self._connection() as connection:
            for row in connection.execute(query):
                games[row.id] = (*games.get(row.id, (bytes(row.actions),)), row.agent)
        return len(set(games.values()))

    def record(self, number: int | str) -> Record:
        """The full record of a match: by its number, or by the beginning of its key (8 digits or more).

        Raises:
            StoreError: if there is none, or several.
        """
        text = str(number)
        by_number = text.isdigit() and len(text) < 8
        if not by_number and len(text) < 8:
            raise StoreError(f"{text!r} is no match: give its number, or at least 8 digits of its key")
        where = _matches.c.id == int(text) if by_number else _matches.c.key.startswith(text.lower(), autoescape=True)
        with self._connection() as connection:
            columns = (_rulesets.c.game, _rulesets.c.version, _rulesets.c.parameters)
            found = connection.execute(sa.select(_matches, *columns).join(_rulesets).where(where).limit(2)).all()
            if len(found) != 1:
                many = "several matches" if found else "no match"
                raise StoreError(f"{self.place} holds {many} {text!r}")
            row = found[0]
            seats = connection.execute(
                sa.select(_seats, _agents.c.name).join(_agents).where(_seats.c.match == row.id).order_by(_seats.c.seat)
            ).all()
        match = Match(row.game, row.version, json.loads(row.parameters), tuple(s.name for s in seats), row.seed)
        result = _plain(seats)
        return Record(
            match, bytes(row.actions), result["returns"], row.moves, row.reason, row.culprit, row.detail,
            result["decisions"], result["seconds"], result["tie_break"], row.digest,
        )  # fmt: skip

    def close(self) -> None:
        """Closes the connections."""
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is(ruleset: Ruleset) -> tuple[Any, ...]:
    return (
        _rulesets.c.game == ruleset.game.name,
        _rulesets.c.version == ruleset.game.version,
        _rulesets.c.parameters == parameters_text(ruleset.parameters),
    )


def _plain(rows: Sequence[Any]) -> dict[str, Any]:
    breaks = tuple(row.tie_break for row in rows)
    return {
        "returns": tuple(row._mapping["return"] for row in rows),
        "decisions": tuple(row.decisions for row in rows),
        "seconds": tuple(row.seconds for row in rows),
        "tie_break": None if None in breaks else breaks,
    }


def _result(rows: Sequence[Any]) -> Result:
    first = rows[0]
    return Result(
        number=first.id, seats=tuple(row.name for row in rows), seed=first.seed, winner=first.winner,
        moves=first.moves, reason=first.reason, culprit=first.culprit, **_plain(rows),
    )  # fmt: skip


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


def _pragmas(connection: Any, _: Any) -> None:
    cursor = connection.cursor()
    # Readers do not wait for the writer, and a killed process leaves whole transactions.
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA busy_timeout=30000")
    cursor.close()

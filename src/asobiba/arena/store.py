"""Store of results: a SQLite file by default, PostgreSQL by URL. Every match is stored once."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from asobiba.arena import schema
from asobiba.arena.ledger import (
    ListSeal,
    UsedSecret,
    now,
    open_secret,
    publish_secrets,
    read_secret,
    secret_number,
    used_secrets,
)
from asobiba.arena.match import Match, MatchRecord, parameters_text
from asobiba.arena.reading import Examined, changed_contents, read_results
from asobiba.arena.record_seals import Entry, Listed, record_seal, record_seals
from asobiba.arena.results import Result, Results
from asobiba.arena.schema import AGENTS, MATCHES, META, RULESETS, SEATS, SECRETS
from asobiba.arena.seals import content
from asobiba.arena.secret import Secret
from asobiba.arena.store_place import StoreError, chosen_store, connect, default_store, hidden, require_file, url_of
from asobiba.core import Ruleset

__all__ = ["MIXED", "DamagedStore", "Result", "Store", "StoreError", "chosen_store", "default_store"]
_CHUNK = 1000
"""Records of one statement."""
MIXED = "mixed"
"""Stands for the digest if a league's matches were played by more than one edition of the code."""


class DamagedStore(StoreError):
    """Raised for a store with matches that do not agree with their seals, or with an incomplete list.

    Args:
        numbers: of these matches.
        faults: of the list.
    """

    def __init__(self, place: str, numbers: Sequence[int], faults: Sequence[str] = ()):
        told = list(faults[:3]) + (["..."] if len(faults) > 3 else [])
        if numbers:
            some = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
            told.insert(0, f"{len(numbers)} matches do not agree with their digests or lack a part (numbers {some})")
        super().__init__(
            f"{place}: {'; '.join(told)}; somebody or something has changed them. Compare all with: asobiba league verify "
            "GAME; show what is sound with --undamaged"
        )
        self.numbers, self.faults = tuple(numbers), tuple(faults)


class Store:
    """Results in a database.

    Args:
        place: the path of a SQLite file, or an SQLAlchemy URL (`postgresql://user@host/database`).
        create: make it if it is not there; otherwise it must exist, and is only read: it may lie on a read-only medium.

    Raises:
        StoreError: if it cannot be opened, is no database, or holds something else.
    """

    def __init__(self, place: str | Path, create: bool = True):
        self.place = hidden(str(place))
        self.upgraded: Path | None = None
        """The copy of the older store that this one was upgraded from."""
        url, path = url_of(str(place))
        if path is not None:
            require_file(path, create)
        self.is_file = path is not None
        self._temporary: tempfile.TemporaryDirectory | None = None
        self._writes = create
        self._engine = connect(url, path, writes=create)
        self._known: dict[tuple, int] = {}
        try:
            self._prepare(path, create)
        except StoreError:
            if path is None or create:
                raise
            self._engine.dispose()
            self._engine = connect(url, path, writes=create, frozen=True)  # as on a medium that cannot be written
            self._prepare(path, create)

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
        """Upgrades a copy of an older store that is only read; the copy is deleted when this store is closed."""
        self._engine.dispose()
        self._temporary = tempfile.TemporaryDirectory(prefix="asobiba-store-")
        copy = Path(self._temporary.name) / path.name
        try:
            schema.copy_sqlite(path, copy)
        except sqlite3.Error as error:
            raise StoreError(f"the store {self.place} cannot be used: {error}") from None
        with Store(copy):
            pass
        self._engine = connect(*url_of(str(copy)), writes=self._writes)

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
        missing = schema.missing_tables(found, present)
        if missing:
            raise StoreError(f"{self.place} is damaged: the tables {', '.join(sorted(missing))} are missing")
        return found

    @contextlib.contextmanager
    def _connection(self, write: bool = False) -> Iterator[sa.Connection]:
        """A connection, in a transaction when writing; errors of the database become `StoreError`."""
        try:
            if write:
                with self._engine.execution_options(write=True).begin() as connection:
                    yield connection
            else:
                with self._reader.connect() as connection:
                    yield connection
        except sa.exc.SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            raise StoreError(f"the store {self.place} cannot be used: {str(cause).strip()}") from None

    @property
    def _reader(self) -> sa.Engine:
        """A connection that sees one snapshot of the store, whatever others write meanwhile."""
        if self._engine.dialect.name == "postgresql":
            return self._engine.execution_options(isolation_level="REPEATABLE READ")
        return self._engine

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

    def write(self, records: Iterable[MatchRecord], secret: Secret | None = None) -> int:
        """Adds records in one transaction and returns how many were new; a match that is already there is not changed.

        Args:
            secret: from which the seeds of all these matches follow.

        Raises:
            ValueError: if they do not.
        """
        known = dict(self._known)
        try:
            with self._connection(write=True) as connection:
                schema.lock(connection)  # writers of the same matches take turns
                found = list(records)
                _require_seeds(found, secret)
                parts = [found[k : k + _CHUNK] for k in range(0, len(found), _CHUNK)]
                return sum(self._write(connection, part, secret, now()) for part in parts)
        except BaseException:
            self._known = known  # rows that were rolled back have no id
            raise

    def _ruleset(self, connection: sa.Connection, of: Match | Ruleset) -> int:
        """The row of a ruleset, inserted if need be."""
        if isinstance(of, Match):
            game, version, text = of.game, of.version, of.parameters_text
        else:
            game, version, text = of.game.name, of.game.version, parameters_text(of.parameters)
        return self._id(connection, RULESETS, game=game, version=version, parameters=text)

    def _write(
        self, connection: sa.Connection, records: Sequence[MatchRecord], secret: Secret | None, time: str
    ) -> int:
        by_key = {record.match.key: record for record in records}
        here = sa.select(MATCHES.c.key, MATCHES.c.id).where(MATCHES.c.key.in_(list(by_key)))
        before = {row.key for row in connection.execute(here)}
        fresh = [record for key, record in by_key.items() if key not in before]
        rulesets: dict[int, list[MatchRecord]] = {}
        for record in fresh:
            rulesets.setdefault(self._ruleset(connection, record.match), []).append(record)
        for ruleset, some in rulesets.items():
            self._write_list(connection, ruleset, some, secret, time)
        return len(fresh)

    def _write_list(
        self, connection: sa.Connection, ruleset: int, fresh: Sequence[MatchRecord], secret: Secret | None, time: str
    ) -> None:
        """Adds matches at the end of the list of their ruleset."""
        listed = ListSeal.read(connection, ruleset)
        number = None if secret is None else secret_number(connection, ruleset, secret, secret.seed is not None)
        inner = [content(r.actions, r.detail, r.digest, r.contained) for r in fresh]
        entries = [Entry(listed.count + k, time, "" if secret is None else secret.text) for k in range(len(fresh))]
        found = record_seals(fresh, inner, entries)
        rows = [
            {
                "key": record.match.key, "seed": record.match.seed, "reason": record.reason, "culprit": record.culprit,
                "detail": record.detail, "moves": record.moves, "winner": record.winner, "actions": record.actions,
                "digest": record.digest, "played_at": time, "contained": record.contained, "content": digest,
                "seal": seal, "ruleset": ruleset, "secret": number, "sequence": entry.sequence,
            }
            for record, digest, seal, entry in zip(fresh, inner, found, entries)
        ]  # fmt: skip
        here = sa.select(MATCHES.c.key, MATCHES.c.id).where(MATCHES.c.key.in_([r.match.key for r in fresh]))
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
        listed.extended(found).write(connection, ruleset)

    def secret(self, ruleset: Ruleset, given: Secret | None = None) -> Secret:
        """The secret that further matches of this ruleset are played under.

        It is the one that the store keeps and has not published, or a new one.

        Args:
            given: this one instead; it counts as published.
        """
        if given is None:
            with self._connection() as connection:
                number = self._number(connection, ruleset)
                found = None if number is None else open_secret(connection, number)
            if found is not None:
                return found
        with self._connection(write=True) as connection:
            schema.lock(connection)
            number = self._ruleset(connection, ruleset)
            if given is not None:
                secret_number(connection, number, given, published=True)
                return given
            found = open_secret(connection, number)  # somebody else may have been here meanwhile
            if found is None:
                found = Secret.draw()
                secret_number(connection, number, found, published=False)
            return found

    def publish_secrets(self, ruleset: Ruleset) -> None:
        """Publishes the secrets of this ruleset; further matches get a new one."""
        if not any(one.secret is None and one.commitment for one in self.secrets(ruleset)):
            return
        with self._connection(write=True) as connection:
            schema.lock(connection)
            publish_secrets(connection, self._ruleset(connection, ruleset))

    def secrets(self, ruleset: Ruleset) -> list[UsedSecret]:
        """The secret that the seeds of the ruleset's matches follow from."""
        with self._connection() as connection:
            number = self._number(connection, ruleset)
            return [] if number is None else used_secrets(connection, number)

    def _number(self, connection: sa.Connection, ruleset: Ruleset) -> int | None:
        return connection.execute(sa.select(RULESETS.c.id).where(*_is(ruleset))).scalar()

    def keys(self, ruleset: Ruleset) -> set[str]:
        """The keys (`Match.key`) of the matches that were played under this ruleset."""
        with self._connection() as connection:
            query = sa.select(MATCHES.c.key).join(RULESETS).where(*_is(ruleset))
            return set(connection.execute(query).scalars())

    def played_by(self, ruleset: Ruleset, code: str) -> None:
        """Notes which code (a digest of its sources) is about to play matches of this ruleset."""
        with self._connection(write=True) as connection:
            schema.lock(connection)
            number = self._ruleset(connection, ruleset)
            found = self._code(connection, number)
            if found is None:
                older = connection.execute(sa.select(MATCHES.c.id).where(MATCHES.c.ruleset == number).limit(1)).first()
                noted = code if older is None else MIXED
                connection.execute(META.insert().values(name=f"code {number}", value=noted))
            elif found != code:
                connection.execute(META.update().where(META.c.name == f"code {number}").values(value=MIXED))

    def code(self, ruleset: Ruleset) -> str | None:
        """The digest of the code that played the matches of this ruleset, `MIXED` if there was more than one, `None` if
        unknown.
        """
        with self._connection() as connection:
            number = self._number(connection, ruleset)
            return None if number is None else self._code(connection, number)

    def _code(self, connection: sa.Connection, number: int) -> str | None:
        return connection.execute(sa.select(META.c.value).where(META.c.name == f"code {number}")).scalar()

    def contents(self) -> list[tuple[str, int, str, int]]:
        """Content of the store: (game, version, parameters as JSON, number of matches)."""
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

    def results(self, ruleset: Ruleset, undamaged: bool = False, contents: bool = False) -> Results:
        """All results under this ruleset, in the order in which they were written.

        Args:
            undamaged: the sound ones, instead of refusing.
            contents: whether to check also the parts that ratings do not read, such as actions; a few seconds for a
                million matches.

        Raises:
            DamagedStore: if there are matches that do not agree with their seals, or the list is incomplete.
        """
        found = self.examine(ruleset)
        changed: set[int] = set()
        if contents:
            with self._connection() as connection:
                number = self._number(connection, ruleset)
                changed = set() if number is None else changed_contents(connection, number)
        if (changed or not found.sound) and not undamaged:
            raise DamagedStore(self.place, tuple(sorted({*found.damaged, *changed})), found.faults)
        kept = ~np.isin(found.results.number, list(changed))
        return found.results if kept.all() else found.results.take(np.flatnonzero(kept))

    def examine(self, ruleset: Ruleset) -> Examined:
        """The sound results under this ruleset, and the faults of the others and of the list."""
        with self._connection() as connection:
            number = self._number(connection, ruleset)
            return Examined(Results.of([])) if number is None else read_results(connection, number, ruleset.num_players)

    def times(self, ruleset: Ruleset, numbers: np.ndarray) -> np.ndarray:
        """The times at which the matches with these numbers were played, in seconds since 1970: `(n,)` float64."""
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

    def game_seeds(self, ruleset: Ruleset, numbers: np.ndarray) -> np.ndarray:
        """The seeds of the chance of the games with these numbers: `(n,)` int64."""
        found = {}
        with self._connection() as connection:
            for row in connection.execute(_matches().where(*_is(ruleset))):
                match = Match(ruleset.game.name, ruleset.game.version, ruleset.parameters, (), row.seed)
                secret = None if row.bits is None else read_secret(row.bits, row.public_seed)
                found[row.id] = row.seed if secret is None else secret.game_seed(match)
        return np.array([found[number] for number in numbers.tolist()], np.int64)

    def different_games(self, ruleset: Ruleset) -> int:
        """Number of the ruleset's games that do not repeat another by the same agents with the same actions."""
        columns = (MATCHES.c.id, MATCHES.c.actions, SEATS.c.agent)
        joined = MATCHES.join(RULESETS).join(SEATS)
        query = sa.select(*columns).select_from(joined).where(*_is(ruleset)).order_by(MATCHES.c.id, SEATS.c.seat)
        games: dict[int, tuple[Any, ...]] = {}
        with self._connection() as connection:
            for row in connection.execute(query):
                games[row.id] = (*games.get(row.id, (bytes(row.actions),)), row.agent)
        return len(set(games.values()))

    def record(self, number: int | str) -> MatchRecord:
        """The full record of a match: by its number, or by the beginning of its key (8 digits or more).

        Raises:
            StoreError: if there is none, or several.
            DamagedStore: if it does not agree with its digests.
        """
        text = str(number)
        by_number = text.isascii() and text.isdigit() and len(text) < 8
        if not by_number and len(text) < 8:
            raise StoreError(f"{text!r} is not a match: give its number, or at least 8 digits of its key")
        where = MATCHES.c.id == int(text) if by_number else MATCHES.c.key.startswith(text.lower(), autoescape=True)
        with self._connection() as connection:
            found = connection.execute(_matches().where(where).limit(2)).all()
            if len(found) != 1:
                many = "several matches" if found else "no match"
                raise StoreError(f"{self.place} holds {many} {text!r}")
            row = found[0]
            seats = connection.execute(_seats().where(SEATS.c.match == row.id)).all()
        try:
            return _record(row, seats)
        except (TypeError, ValueError, LookupError, AttributeError):
            raise DamagedStore(self.place, [row.id]) from None

    def listed(self, ruleset: Ruleset, numbers: Sequence[int] | None = None) -> Iterator[Listed]:
        """The matches of this ruleset (with these numbers) in the order of their list, without damaged ones."""
        with self._connection() as connection:
            ruleset_number = self._number(connection, ruleset)
            here = MATCHES.c.ruleset == ruleset_number
            places = sa.select(MATCHES.c.id).where(here).order_by(MATCHES.c.sequence, MATCHES.c.id)
            wanted = list(connection.execute(places).scalars())
            if numbers is not None:
                chosen = set(numbers)
                wanted = [number for number in wanted if number in chosen]
            for begin in range(0, len(wanted), _CHUNK):
                part = wanted[begin : begin + _CHUNK]
                rows = {row.id: row for row in connection.execute(_matches().where(MATCHES.c.id.in_(part)))}
                seats: dict[int, list[Any]] = {}
                for seat in connection.execute(_seats().where(SEATS.c.match.in_(part))):
                    seats.setdefault(seat.match, []).append(seat)
                for number in part:
                    with contextlib.suppress(TypeError, ValueError, LookupError, AttributeError):
                        row = rows[number]
                        entry = Entry(row.sequence, row.played_at, row.bits or "")
                        yield Listed(number, _record(row, seats[number]), entry, row.seal)

    def list_seal(self, ruleset: Ruleset) -> ListSeal:
        """Number of matches of this ruleset that were written, and the sum of their seals."""
        with self._connection() as connection:
            number = self._number(connection, ruleset)
            return ListSeal() if number is None else ListSeal.read(connection, number)

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


def _matches() -> sa.Select:
    """Matches with their rulesets and secrets."""
    columns = (RULESETS.c.game, RULESETS.c.version, RULESETS.c.parameters)
    secret = (SECRETS.c.bits, SECRETS.c.seed.label("public_seed"))
    rulesets = MATCHES.join(RULESETS, MATCHES.c.ruleset == RULESETS.c.id)
    return sa.select(MATCHES, *columns, *secret).select_from(
        rulesets.outerjoin(SECRETS, MATCHES.c.secret == SECRETS.c.id)
    )


def _seats() -> sa.Select:
    """Seats with the names of their agents, in order."""
    return sa.select(SEATS, AGENTS.c.name).join(AGENTS).order_by(SEATS.c.match, SEATS.c.seat)


def _record(row: Any, seats: Sequence[Any]) -> MatchRecord:
    """The record that these rows hold.

    Raises:
        ValueError: if it does not agree with its digests, or lacks a seat.
    """
    match = Match(row.game, row.version, json.loads(row.parameters), tuple(s.name for s in seats), row.seed)
    if row.bits is not None:
        match = read_secret(row.bits, row.public_seed).deal(match)
    breaks, teams = tuple(s.tie_break for s in seats), tuple(s.team for s in seats)
    record = MatchRecord(
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
        and row.seal == record_seal(record, Entry(row.sequence, row.played_at, row.bits or ""))
    )
    if not sound:
        raise ValueError(row.key)
    return record


def _require_seeds(records: Sequence[MatchRecord], secret: Secret | None) -> None:
    for record in records:
        if record.match.seeds != (() if secret is None else secret.seeds(record.match)):
            raise ValueError(f"the seeds of match {record.match.key} do not follow from the secret that was given")

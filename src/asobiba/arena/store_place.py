"""The place of a store of results, and connections to it: a SQLite file, or PostgreSQL by URL."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from asobiba.core import AsobibaError, Game, MissingExtra


class StoreError(AsobibaError, OSError):
    """A store that cannot be opened, read or written."""


VARIABLE = "ASOBIBA_STORE"
"""The environment variable that names a store where no `--store` is given."""


def chosen_store(game: Game, text: str | None = None) -> str | Path:
    """The store that a command line names, without a password that other users could read there.

    Args:
        text: a path, a URL without a password, or `@FILE`: a file that holds a URL; `None`: what `$ASOBIBA_STORE` says (with
            a password, if need be), or `default_store`.

    Raises:
        StoreError: for a URL with a password, and for a file that others may read.
    """
    if text is None:
        return os.environ.get(VARIABLE) or default_store(game)
    if text.startswith("@"):
        return _read_place(Path(text[1:]))
    if "://" in text and hidden(text) != text:
        raise StoreError(
            f"--store {hidden(text)} has a password in it, and everybody on this machine can read command lines. Put the URL "
            f"into a file (--store @FILE) or into the variable {VARIABLE}, or leave the password out and put it into "
            "~/.pgpass or the variable PGPASSWORD"
        )
    return text


def _read_place(file: Path) -> str:
    try:
        mode, text = file.stat().st_mode, file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"cannot read the store's URL from {file}: {error}") from None
    if os.name == "posix" and mode & 0o077:
        raise StoreError(f"{file}, which holds the store's URL, may be read by others: chmod 600 {file}")
    if not text or "\n" in text:
        raise StoreError(
            f"{file} holds no URL of a store: expected one line, such as postgresql://user:password@host/database"
        )
    return text


def hidden(place: str) -> str:
    """A store's place without its password."""
    return re.sub(r"([?&]password=)[^&]*", r"\1***", re.sub(r"(://[^/@:]*:)[^/]*@", r"\1***@", place))


def default_store(game: Game) -> Path:
    """File in which the league of a game keeps its results, relative to the working folder."""
    return Path("runs") / "league" / f"{game.name}.sqlite"


def require_file(path: Path, create: bool) -> None:
    """Raises `StoreError` if there is no file at `path`, or no folder for a new one."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder; a store is a file, such as {path / 'league.sqlite'}")
    if not path.exists() and not create:
        raise StoreError(f"there is no store at {path}; leagues are played with: asobiba league run GAME")
    if create:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder {path.parent} cannot be made: {error}") from None


def url_of(place: str) -> tuple[sa.URL, Path | None]:
    """The URL of a store, and its file if it is one. Raises `StoreError` for other databases."""
    if "://" not in place:
        path = Path(place)
        return sa.URL.create("sqlite", database=str(path)), path
    try:
        url = sa.make_url(place)
        if url.drivername in ("postgresql", "postgres"):
            url = url.set(drivername="postgresql+psycopg")
        backend = url.get_backend_name()
    except (sa.exc.SQLAlchemyError, ValueError) as error:
        raise StoreError(f"cannot read the store's URL {hidden(place)!r}: {type(error).__name__}") from None
    if backend not in ("sqlite", "postgresql"):
        raise StoreError(f"a store is a SQLite file or a postgresql:// URL, not {hidden(place)!r}")
    return url, Path(url.database) if backend == "sqlite" and url.database else None


def connect(url: sa.URL, path: Path | None, *, writes: bool, frozen: bool = False) -> sa.Engine:
    """Connections to a store.

    Args:
        url, path: as `url_of` gives them.
        writes: whether it may be written.
        frozen: whether it lies on a read-only medium.

    Raises:
        StoreError: if there is no driver, or the URL is none.
        MissingExtra: if the driver of PostgreSQL is not installed.
    """
    shown = hidden(str(url))
    try:
        if path is not None and not writes:
            how = "?mode=ro&immutable=1" if frozen else "?mode=ro"
            place = path.absolute().as_uri() + how
            engine = sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(place, uri=True, timeout=30))
        else:
            # A database without an encoding returns bytes, unless the connection names one.
            text = {"client_encoding": "utf8"} if url.get_backend_name() == "postgresql" else {}
            engine = sa.create_engine(url, connect_args=text)
    except ModuleNotFoundError as error:
        if url.get_backend_name() == "postgresql":
            raise MissingExtra(error.name or "psycopg", "postgres") from None
        raise StoreError(f"the driver of {shown!r} is not installed: {error}") from None
    except sa.exc.ArgumentError as error:
        raise StoreError(f"cannot read the store's URL {shown!r}: {error}") from None
    if url.get_backend_name() == "sqlite":
        sa.event.listen(engine, "connect", _write_ahead if writes else _by_hand)
        sa.event.listen(engine, "begin", _begin)
    return engine


def _by_hand(connection: Any, _: Any) -> None:
    """Transactions begin where `_begin` says, not where the driver guesses."""
    connection.isolation_level = None


def _write_ahead(connection: Any, _: Any) -> None:
    _by_hand(connection, _)
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout=30000")
    # Readers do not wait for the writer, and a killed process leaves only whole transactions.
    deadline = time.monotonic() + 30
    while True:  # another process may be doing the same with a new file; the timeout does not cover that
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

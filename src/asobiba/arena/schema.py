"""The tables of a store, their creation, and their upgrade from older formats (with Alembic).

`matches.content` and `matches.seal` are digests of a match (`asobiba.arena.seals`), `matches.sequence` is its place in the
list of its ruleset's matches (`asobiba.arena.ledger`).
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import sqlalchemy as sa

FORMAT = "3"
_REVISIONS = {"1": "0001", "2": "0002", "3": "0003"}
"""The Alembic revision of every format that a store may have."""
_SINCE_3 = {"secrets"}
TABLES = sa.MetaData()
META = sa.Table("asobiba_meta", TABLES, sa.Column("name", sa.String(40), primary_key=True), sa.Column("value", sa.Text))
RULESETS = sa.Table(
    "rulesets",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("game", sa.String(100), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("parameters", sa.Text, nullable=False),
    sa.UniqueConstraint("game", "version", "parameters"),
)
AGENTS = sa.Table(
    "agents",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
)
SECRETS = sa.Table(
    "secrets",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("ruleset", sa.ForeignKey("rulesets.id"), nullable=False),
    sa.Column("bits", sa.String(32), nullable=False),
    sa.Column("seed", sa.BigInteger),
    sa.Column("made_at", sa.String(25), nullable=False),
    sa.Column("published_at", sa.String(25)),
    sa.UniqueConstraint("ruleset", "bits"),
)
MATCHES = sa.Table(
    "matches",
    TABLES,
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
    sa.Column("contained", sa.Text, nullable=False, server_default=""),
    sa.Column("secret", sa.ForeignKey("secrets.id")),
    sa.Column("sequence", sa.Integer),
    sa.Column("content", sa.BigInteger),
    sa.Column("seal", sa.BigInteger),
)
SEATS = sa.Table(
    "seats",
    TABLES,
    sa.Column("match", sa.ForeignKey("matches.id"), primary_key=True),
    sa.Column("seat", sa.Integer, primary_key=True),
    sa.Column("agent", sa.ForeignKey("agents.id"), nullable=False, index=True),
    sa.Column("return", sa.Float(53), nullable=False),
    sa.Column("decisions", sa.Integer, nullable=False),
    sa.Column("seconds", sa.Float(53), nullable=False),
    sa.Column("tie_break", sa.Float(53)),
    sa.Column("team", sa.Integer),
)


def create(connection: sa.Connection) -> None:
    """Creates the tables, inside an exclusive transaction."""
    TABLES.create_all(connection)
    connection.execute(META.insert().values(name="format", value=FORMAT))


def lock(connection: sa.Connection) -> None:
    """Waits until no other process writes (SQLite's write transactions are exclusive anyway)."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(742837460)"))


def format_of(connection: sa.Connection) -> str | None:
    """The format of the store, or `None` if there is none."""
    if not sa.inspect(connection).has_table(META.name):
        return None
    return connection.execute(sa.select(META.c.value).where(META.c.name == "format")).scalar()


def missing_tables(found: str | None, present: set[str]) -> set[str]:
    """The tables that a store of this format lacks."""
    return set(TABLES.tables) - present - (set() if found == FORMAT else _SINCE_3)


def upgradable(found: str | None) -> bool:
    """Whether a store of this format can be brought up to date."""
    return found in _REVISIONS and found != FORMAT


def upgrade(connection: sa.Connection, found: str) -> None:
    """Brings the tables up to date, inside a transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.stamp(config, _REVISIONS[found])
    command.upgrade(config, "head")
    connection.execute(META.update().where(META.c.name == "format").values(value=FORMAT))


def keep_copy(path: Path, found: str) -> Path:
    """A copy of a SQLite store beside it, made before it is upgraded; an older copy stays."""
    place = path.with_name(f"{path.name}.format{found}")
    number = 1
    while place.exists():
        number += 1
        place = path.with_name(f"{path.name}.format{found}.{number}")
    copy_sqlite(path, place)
    return place


def copy_sqlite(source: Path, target: Path) -> None:
    """Copies a SQLite file with what its write-ahead log holds."""
    with sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True) as old, sqlite3.connect(target) as new:
        old.backup(new)
    old.close()
    new.close()

"""The ledger of a store: for each ruleset the number of its matches, the sum of their seals, and the secrets.

Every match has a place in the list (`matches.sequence`: 0, 1, 2, ...), which its seal covers. So a deleted match leaves
a gap, a match added by hand has no place, and a moved match does not agree with its seal. Places are assigned within
the transaction that writes the matches; such transactions are serialised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import sqlalchemy as sa

from asobiba.arena.schema import MATCHES, META, SECRETS
from asobiba.arena.secret import Secret

_MASK = (1 << 63) - 1
_MOST_NAMED = 1000
"""Gaps that are listed one by one."""


@dataclass(frozen=True)
class ListSeal:
    """Number of matches of a ruleset, and the sum of their seals modulo 2**63."""

    count: int = 0
    total: int = 0

    def extended(self, seals: Sequence[int]) -> ListSeal:
        """The seal of the list extended by further matches."""
        return ListSeal(self.count + len(seals), (self.total + sum(seals)) & _MASK)

    @classmethod
    def read(cls, connection: sa.Connection, ruleset: int) -> ListSeal:
        """Reads the seal of this ruleset's list."""
        text = connection.execute(sa.select(META.c.value).where(META.c.name == _name(ruleset))).scalar()
        count, _, total = (text or "0 0").partition(" ")
        return cls(int(count), int(total))

    def write(self, connection: sa.Connection, ruleset: int) -> None:
        """Writes the seal in place of the previous one."""
        connection.execute(META.delete().where(META.c.name == _name(ruleset)))
        connection.execute(META.insert().values(name=_name(ruleset), value=f"{self.count} {self.total}"))

    def missing(self, sequences: np.ndarray) -> list[str]:
        """The empty places of the list, given the places `(n,)` of all its matches."""
        present = np.zeros(self.count, bool)
        present[sequences[(sequences >= 0) & (sequences < self.count)]] = True
        missing = np.flatnonzero(~present)
        found = [
            f"the match at place {place + 1} of {self.count} is missing" for place in missing[:_MOST_NAMED].tolist()
        ]
        if len(missing) > _MOST_NAMED:
            found.append(f"and {len(missing) - _MOST_NAMED} others are missing")
        return found

    def disagreement(self, seals: np.ndarray) -> list[str]:
        """A fault of the list when every match agrees with its seal and none is missing: `(n,)` int64 seals."""
        if sum(seals.tolist()) & _MASK == self.total:
            return []
        return ["the list of matches does not agree with its digest: a match was put in the place of another"]


def _name(ruleset: int) -> str:
    return f"list {ruleset}"


def out_of_place(sequences: np.ndarray, count: int) -> np.ndarray:
    """The matches without a place in a list of `count`, or with a duplicate place: `(n,)` bool."""
    wrong = (sequences < 0) | (sequences >= count)
    first = np.unique(sequences, return_index=True)[1]
    again = np.ones(len(sequences), bool)
    again[first] = False
    return wrong | again


def now() -> str:
    """The current time as text for the record."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_secret(bits: str, seed: int | None) -> Secret:
    """The secret of a row."""
    return Secret(bytes.fromhex(bits), seed)


def secret_number(connection: sa.Connection, ruleset: int, secret: Secret, published: bool = False) -> int:
    """The row of this secret, added if it is missing.

    Args:
        published: whether the secret is public from now on.
    """
    where = (SECRETS.c.ruleset == ruleset) & (SECRETS.c.bits == secret.text)
    if published:
        connection.execute(SECRETS.update().where(where & SECRETS.c.published_at.is_(None)).values(published_at=now()))
    found = connection.execute(sa.select(SECRETS.c.id).where(where)).scalar()
    if found is None:
        made = now()
        row = {"ruleset": ruleset, "bits": secret.text, "seed": secret.seed, "made_at": made}
        connection.execute(SECRETS.insert().values(**row, published_at=made if published else None))
        found = connection.execute(sa.select(SECRETS.c.id).where(where)).scalar_one()
    return int(found)


def open_secret(connection: sa.Connection, ruleset: int) -> Secret | None:
    """The secret of this ruleset that is not published."""
    where = (SECRETS.c.ruleset == ruleset) & SECRETS.c.published_at.is_(None)
    row = connection.execute(sa.select(SECRETS.c.bits, SECRETS.c.seed).where(where).order_by(SECRETS.c.id)).first()
    return None if row is None else read_secret(row.bits, row.seed)


def publish_secrets(connection: sa.Connection, ruleset: int) -> None:
    """Retires the secrets of this ruleset: no further match is played under them."""
    where = (SECRETS.c.ruleset == ruleset) & SECRETS.c.published_at.is_(None)
    connection.execute(SECRETS.update().where(where).values(published_at=now()))


@dataclass(frozen=True)
class UsedSecret:
    """A secret that matches were played under; `secret` is `None` where it is not published, or there was none.

    Args:
        games: number of games played under it.
        public: number of these that were played when it was public.
        commitment: SHA-256 of the secret.
    """

    games: int
    public: int
    secret: Secret | None
    commitment: str


def used_secrets(connection: sa.Connection, ruleset: int) -> list[UsedSecret]:
    """The secrets of the ruleset's matches, oldest first."""
    late = sa.func.sum(sa.case((MATCHES.c.played_at > SECRETS.c.published_at, 1), else_=0))
    columns = (SECRETS.c.id, SECRETS.c.bits, SECRETS.c.seed, SECRETS.c.published_at)
    query = (
        sa.select(*columns, sa.func.count().label("games"), late.label("late"))
        .select_from(MATCHES.outerjoin(SECRETS, MATCHES.c.secret == SECRETS.c.id))
        .where(MATCHES.c.ruleset == ruleset)
        .group_by(*columns)
        .order_by(sa.nulls_first(SECRETS.c.id))  # as SQLite does; PostgreSQL puts them last
    )
    found = []
    for row in connection.execute(query):
        if row.bits is None:
            found.append(UsedSecret(row.games, row.games, None, ""))
            continue
        secret = read_secret(row.bits, row.seed)
        known = row.published_at is not None
        public = row.games if row.seed is not None else int(row.late)
        found.append(UsedSecret(row.games, public, secret if known else None, secret.commitment))
    return found


def seeds_note(used: Sequence[UsedSecret]) -> str:
    """A sentence on the origin of these games' seeds, and on how many of them were public during play."""
    told = []
    for one in used:
        games = f"{one.games} game{'s' if one.games != 1 else ''}"
        if not one.commitment:
            told.append(f"The seeds of {games} were public: they follow from the numbers of their deals.")
        elif one.secret is not None and one.secret.seed is not None:
            told.append(f"The seeds of {games} were public: they follow from --seed {one.secret.seed}.")
        elif one.secret is not None:
            late = f" ({one.public} of them were played after it was published)" if one.public else ""
            told.append(f"The seeds of {games} follow from the secret {one.secret.text}{late}.")
        else:
            told.append(
                f"The seeds of {games} follow from a secret that is not published yet (its SHA-256: {one.commitment})."
            )
    return " ".join(told)

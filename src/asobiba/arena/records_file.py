"""The matches of a league in one compact file, from which anybody can replay them all.

`records.xz` is XZ over one line of JSON and columns of numbers. The header describes the league (game, version,
parameters, agents, secrets, code) and lists the columns with their dtypes and shapes; columns are little-endian, byte
by byte of all entries (all first bytes, then all second ones, ...), which compresses better. `lzma` and `numpy` are
enough to read it.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.arena.ledger import ListSeal, out_of_place
from asobiba.arena.match import REASONS, Match, MatchRecord, action_dtype, parameters_text
from asobiba.arena.record_seals import Entry, Listed, record_seals
from asobiba.arena.results import Result, Results
from asobiba.arena.seals import content
from asobiba.arena.secret import Secret
from asobiba.core import AsobibaError, Ruleset

NAME = "records.xz"
FORMAT = 1
_MOST_BYTES = 4 << 30
"""Limit of an unpacked file: above any league, and a protection against decompression bombs."""


class RecordsError(AsobibaError, ValueError):
    """A file of records that cannot be read."""


def write_records(
    path: Path, ruleset: Ruleset, listed: Sequence[Listed], total: ListSeal, about: dict[str, Any]
) -> str:
    """Writes the matches of a league; returns the SHA-256 of the unpacked contents (`RecordsFile.sha256`).

    Args:
        listed: in the order of their list.
        total: the seal of the list.
        about: further entries of the header, such as the digest of the code.
    """
    columns, tables = _columns(ruleset, listed)
    header = {
        "format": FORMAT, "game": ruleset.game.name, "version": ruleset.game.version,
        "parameters": json.loads(parameters_text(ruleset.parameters)), "asobiba": version("asobiba"),
        "numpy": version("numpy"), "numba": version("numba"), **about, "matches": len(listed),
        "list": [total.count, total.total], "reasons": REASONS, **tables,
        "columns": [[name, column.dtype.str, column.shape] for name, column in columns.items()],
    }  # fmt: skip
    data = json.dumps(header, separators=(",", ":")).encode() + b"\n"
    data += b"".join(_planes(column) for column in columns.values())
    path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    return hashlib.sha256(data).hexdigest()


def _planes(column: np.ndarray) -> bytes:
    little = np.ascontiguousarray(column).astype(column.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).reshape(-1, column.dtype.itemsize).T.tobytes()


def _numbered(values: Iterable[Any]) -> tuple[list[Any], np.ndarray]:
    """The distinct values, and the index of each given value among them."""
    found: dict[Any, int] = {}
    where = [found.setdefault(value, len(found)) for value in values]
    return list(found), np.array(where, np.uint32)


def _columns(ruleset: Ruleset, listed: Sequence[Listed]) -> tuple[dict[str, np.ndarray], dict[str, list[Any]]]:
    records, n, k = [one.record for one in listed], len(listed), ruleset.num_players
    agents, seats = _numbered(name for record in records for name in record.match.seats)
    deals, deal = _numbered(record.match.seed for record in records)
    times, time = _numbered(one.entry.played_at for one in listed)
    details, detail = _numbered(record.detail for record in records)
    kinds, contained = _numbered(record.contained for record in records)
    secrets, secret = _numbered(one.entry.secret for one in listed)
    dtype = action_dtype(ruleset)

    def table(values: Iterable[Any], dtype: Any) -> np.ndarray:
        return np.array(list(values), dtype).reshape(n, k)

    columns: dict[str, np.ndarray] = {
        "sequence": np.array([one.entry.sequence for one in listed], np.int32),
        "seal": np.array([one.seal for one in listed], np.int64),
        "seats": seats.reshape(n, k), "deals": np.array(deals, np.int64), "deal": deal, "secret": secret, "time": time,
        "detail": detail, "contained": contained,
        "reason": np.array([REASONS.index(r.reason) for r in records], np.int8),
        "culprit": np.array([-1 if r.culprit is None else r.culprit for r in records], np.int16),
        "moves": np.array([r.moves for r in records], np.int32),
        "digest": np.array([int(r.digest, 16) for r in records], np.uint64),
        "returns": table((r.returns for r in records), np.float64),
        "decisions": table((r.decisions for r in records), np.int32),
        "seconds": table((r.seconds for r in records), np.float64),
        "tie_break": table((r.tie_break or (np.nan,) * k for r in records), np.float64),
        "teams": table((r.teams or (-1,) * k for r in records), np.int16),
        "length": np.array([len(r.actions) // dtype.itemsize for r in records], np.int32),
        "actions": np.frombuffer(b"".join(r.actions for r in records), dtype),
    }  # fmt: skip
    return columns, {"agents": agents, "times": times, "details": details, "kinds": kinds, "secrets": secrets}


class RecordsFile:
    """The matches in a file of records.

    Args:
        path: of the file.

    Attributes:
        header: the header's entries.
        ruleset: the game and its parameters.
        sha256: of its unpacked contents: 64 hexadecimal digits.

    Raises:
        RecordsError: if it is not a file of records, or is damaged.
    """

    def __init__(self, path: Path):
        self.path = path
        try:
            data = _unpacked(path)
            line, _, body = data.partition(b"\n")
            self.header = json.loads(line)
            self._columns = _read_columns(self.header, body)
            self.ruleset = _ruleset(self.header)
            self._secrets = [self.secret(text) for text in self.header["secrets"]]
            self._check()
        except OSError as error:
            raise RecordsError(f"{path} cannot be read: {error.strerror}") from None
        except AsobibaError:
            raise
        except (lzma.LZMAError, EOFError, ValueError, LookupError, TypeError, RecursionError, AttributeError) as error:
            raise RecordsError(f"{path} is not a file of records, or damaged: {error}") from None
        self.sha256 = hashlib.sha256(data).hexdigest()

    def secret(self, text: str) -> Secret | None:
        """The secret of an entry's text, with its public seed if it has one; `None` for an empty text."""
        if not text:
            return None
        return replace(Secret.of_text(text), seed=self.header.get("public_seeds", {}).get(text))

    def _check(self) -> None:
        columns, n = self._columns, self.header["matches"]
        tables = {"seats": "agents", "time": "times", "detail": "details", "contained": "kinds", "secret": "secrets"}
        sizes = {name: len(self.header[table]) for name, table in tables.items()}
        sizes |= {"deal": len(columns["deals"]), "reason": len(REASONS)}
        for name, column in columns.items():
            if name not in ("deals", "actions") and len(column) != n:
                raise ValueError(f"the column {name!r} has {len(column)} entries, not {n}")
            if name in sizes and len(column) and not (int(column.min()) >= 0 and int(column.max()) < sizes[name]):
                raise ValueError(f"the column {name!r} names what is not in the header")
        if (columns["length"] < 0).any() or columns["length"].sum(dtype=np.int64) != len(columns["actions"]):
            raise ValueError("the actions are more or fewer than the matches have")
        if self.header["reasons"] != list(REASONS) or columns["seats"].shape != (n, self.ruleset.num_players):
            raise ValueError("it names other reasons, or other seats, than this asobiba knows")

    def __len__(self) -> int:
        return len(self._columns["seal"])

    @cached_property
    def _begins(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self._columns["length"], dtype=np.int64)])

    def listed(self, rows: Iterable[int] | None = None) -> Iterator[Listed]:
        """The matches (of these rows); their numbers are their places in the list, from 1."""
        columns, header = self._columns, self.header
        for row in range(len(self)) if rows is None else rows:
            seats = tuple(header["agents"][agent] for agent in columns["seats"][row].tolist())
            seed = int(columns["deals"][columns["deal"][row]])
            match = Match(self.ruleset.game.name, self.ruleset.game.version, header["parameters"], seats, seed)
            secret = self._secrets[columns["secret"][row]]
            breaks, teams = columns["tie_break"][row].tolist(), columns["teams"][row].tolist()
            culprit = int(columns["culprit"][row])
            record = MatchRecord(
                match=match if secret is None else secret.deal(match),
                actions=columns["actions"][self._begins[row] : self._begins[row + 1]].tobytes(),
                returns=tuple(columns["returns"][row].tolist()),
                moves=int(columns["moves"][row]),
                reason=REASONS[columns["reason"][row]],
                culprit=None if culprit < 0 else culprit,
                detail=header["details"][columns["detail"][row]],
                decisions=tuple(columns["decisions"][row].tolist()),
                seconds=tuple(columns["seconds"][row].tolist()),
                tie_break=None if breaks[0] != breaks[0] else tuple(breaks),
                digest=f"{int(columns['digest'][row]):016x}",
                teams=None if teams[0] < 0 else tuple(teams),
                contained=header["kinds"][columns["contained"][row]],
            )
            entry = Entry(
                int(columns["sequence"][row]), header["times"][columns["time"][row]],
                header["secrets"][columns["secret"][row]],
            )  # fmt: skip
            yield Listed(entry.sequence + 1, record, entry, int(columns["seal"][row]))

    def faults(self) -> list[tuple[str, str]]:
        """The entries that do not agree with the seals, without replaying: their names and faults."""
        columns = self._columns
        total = ListSeal(*self.header["list"])
        places = columns["sequence"].astype(np.int64)
        found = [("list", fault) for fault in total.missing(places)]
        wrong = out_of_place(places, total.count)
        for row, (one, seal) in enumerate(zip(self.listed(), self._seals(), strict=True)):
            if wrong[row]:
                found.append((f"match {one.number}", "has no place in the list"))
            elif seal != one.seal:
                found.append((f"match {one.number}", "does not agree with its digest"))
        moved = np.flatnonzero(np.diff(places) <= 0)
        found += [(f"match {places[row + 1] + 1}", f"comes after match {places[row] + 1}") for row in moved.tolist()]
        return found or [("list", fault) for fault in total.disagreement(columns["seal"])]

    def _seals(self) -> list[int]:
        listed = list(self.listed())
        inner = [content(r.actions, r.detail, r.digest, r.contained) for r in (one.record for one in listed)]
        return record_seals([one.record for one in listed], inner, [one.entry for one in listed])

    def results(self) -> Results:
        """The columns that tables read."""
        return Results.of([_result(one) for one in self.listed()])


def published_match(folder: Path, number: str) -> MatchRecord:
    """A match of a published league, by its number.

    Args:
        folder: with `records.xz`; or the file itself.

    Raises:
        RecordsError: if the records cannot be read, or have no match of this number.
    """
    file = RecordsFile(folder / NAME if folder.is_dir() else folder)
    for one in file.listed():
        if str(one.number) == number:
            return one.record
    raise RecordsError(f"{file.path} has no match {number!r}; there are {len(file)}, from 1")


def _result(one: Listed) -> Result:
    r = one.record
    return Result(
        number=one.number,
        seats=r.match.seats,
        seed=r.match.seed,
        returns=r.returns,
        winner=r.winner,
        moves=r.moves,
        reason=r.reason,
        culprit=r.culprit,
        decisions=r.decisions,
        seconds=r.seconds,
        tie_break=r.tie_break,
        teams=r.teams,
    )


def _unpacked(path: Path) -> bytes:
    decompressor, found = lzma.LZMADecompressor(lzma.FORMAT_XZ), bytearray()
    with path.open("rb") as file:
        while not decompressor.eof:
            block = file.read(1 << 20) if decompressor.needs_input else b""
            if decompressor.needs_input and not block:
                raise EOFError("it ends too early")
            found += decompressor.decompress(block, 1 << 24)
            if len(found) > _MOST_BYTES:
                raise ValueError(f"it holds more than {_MOST_BYTES} bytes")
        if decompressor.unused_data or file.read(1):
            raise ValueError("something follows its end")
    return bytes(found)


def _ruleset(header: dict[str, Any]) -> Ruleset:
    return Match(header["game"], header["version"], header["parameters"], (), 0).ruleset()


def _read_columns(header: dict[str, Any], body: bytes) -> dict[str, np.ndarray]:
    if header["format"] != FORMAT:
        raise ValueError(f"its format is {header['format']!r}, this asobiba reads {FORMAT}")
    found, begin = {}, 0
    for name, dtype_text, shape in header["columns"]:
        dtype = np.dtype(dtype_text)
        if dtype.kind not in "iuf" or not all(isinstance(size, int) and size >= 0 for size in shape):
            raise ValueError(f"the column {name!r} is not an array of numbers")
        size = dtype.itemsize * int(np.prod(shape, dtype=object))
        part = np.frombuffer(body[begin : begin + size], np.uint8)
        if len(part) != size:
            raise ValueError(f"the column {name!r} is cut short")
        found[name] = np.ascontiguousarray(part.reshape(dtype.itemsize, -1).T).view(dtype).reshape(shape)
        begin += size
    if begin != len(body):
        raise ValueError("something follows its last column")
    return found

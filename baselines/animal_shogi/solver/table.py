"""The table of animal shogi's exact values as a file: written once by `asobiba solve animal_shogi`, then memory-mapped.

The file begins with a line of JSON, padded with spaces to 4096 bytes: format, sections, SHA-256 of the rest, and what
the solver counted. A section per material follows: a set of the numbers that are positions (one bit each), how many of
them precede every 512th number, and one byte a position: plies to the end (odd: won for the player to move, even:
lost), or `DRAW_BYTE`. Positions in which a lion can be caught need no byte. Distances follow the published analysis:
plies up to the move that catches a lion, or that brings one's own lion safely to the far rank.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.animal_shogi.solver.index import MATERIALS, WHOLE_GAME, material_counts
from asobiba.baselines.animal_shogi.solver.lookup import (
    BITS_PER_RANK,
    DRAW_BYTE,
    held_positions,
    mark_stored,
    move_values,
    pack_values,
    position_values,
)
from asobiba.core import AsobibaError

FORMAT = "asobiba animal_shogi table 1"
FILE_NAME = "animal_shogi.table"
_HEADER = 4096
_CHUNK = 1 << 24
Progress = Callable[[str, float, float], None]


class TableMissing(AsobibaError, FileNotFoundError):
    """Raised when the table of exact values is missing."""


class TableError(AsobibaError, ValueError):
    """Raised for a file that is not a table, is damaged, or lacks the requested values."""


def data_folder() -> Path:
    """Folder of solved tables: `$ASOBIBA_DATA_DIR`, or `asobiba` in the user's data folder. Not created here."""
    if chosen := os.environ.get("ASOBIBA_DATA_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "asobiba"


def table_path(path: str | os.PathLike[str] | None = None) -> Path:
    """The file of the table: `path` if one is given, else the usual one in `data_folder()`."""
    return Path(path) if path else data_folder() / FILE_NAME


def write_table(path: Path, solved: Mapping[int, np.ndarray], notes: Mapping[str, Any] | None = None) -> Path:
    """Writes the bytes of solved materials (material -> bytes as `retrograde` leaves them) as a table.

    The file appears under its name only when it is complete.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    digest = hashlib.sha256()
    sections, place = [], 0
    with open(part, "wb") as file:
        file.write(b" " * _HEADER)
        for material, values in sorted(solved.items()):
            words = np.zeros(-(-len(values) // BITS_PER_RANK) * (BITS_PER_RANK // 64), np.uint64)
            mark_stored(values, words, 0, len(values))
            ranks = np.zeros(len(words) * 64 // BITS_PER_RANK, np.uint32)
            packed = np.empty(int(np.bitwise_count(words).sum(dtype=np.int64)), np.uint8)
            pack_values(values, ranks, packed)
            section = {"material": material, "numbers": len(values), "positions": len(packed)}
            for name, array in (("words", words), ("ranks", ranks), ("values", packed)):
                data = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data.cast("B")
                section[name] = place
                file.write(data)
                digest.update(data)
                padding = bytes(-len(data) % 64)
                file.write(padding)
                digest.update(padding)
                place += len(data) + len(padding)
            sections.append(section)
        header = {"format": FORMAT, "sha256": digest.hexdigest(), "bytes": place, "sections": sections}
        text = json.dumps({**header, "notes": dict(notes or {})}).encode()
        if len(text) >= _HEADER:
            raise TableError(f"the notes of a table must fit {_HEADER} bytes with its header; they have {len(text)}")
        file.seek(0)
        file.write(text.ljust(_HEADER - 1) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    return path


class ValueTable:
    """Exact values of positions, from a memory-mapped file. Use `ValueTable.open`."""

    def __init__(self, path: Path, header: Mapping[str, Any], data: np.ndarray):
        self.path, self.header, self._data = path, dict(header), data
        whole = len(data) // 8 * 8
        self._words = data[:whole].view(np.dtype("<u8"))
        self._ranks = data[:whole].view(np.dtype("<u4"))
        self._sections = np.full((MATERIALS, 3), -1, np.int64)
        for section in header["sections"]:
            self._sections[section["material"]] = section["words"] // 8, section["ranks"] // 4, section["values"]

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None = None, *, checksum: bool = False) -> ValueTable:
        """Opens a table, the usual one by default. Tables are shared: opening one twice gives the same object.

        Args:
            path: the file; see `table_path`.
            checksum: compute the checksum of the whole file (about half a second).

        Raises:
            TableMissing: if there is no such file; the message names the command that makes it.
            TableError: if the file is not a table, is cut short, or (with `checksum`) has a wrong checksum.
        """
        file = table_path(path)
        try:
            stat = file.stat()
        except OSError:
            raise TableMissing(
                f"no table of animal shogi's exact values at {file}. Make it with: asobiba solve animal_shogi "
                "(some minutes, about 1 GB of memory, 155 MB on disk); ASOBIBA_DATA_DIR names another folder."
            ) from None
        table = _open(file, stat.st_mtime_ns, stat.st_size)
        if checksum:
            table.require_checksum()
        return table

    def require_checksum(self) -> None:
        """Computes the checksum of the data.

        Raises:
            TableError: if it is not the one that the file names.
        """
        digest = hashlib.sha256()
        for start in range(0, len(self._data), _CHUNK):
            digest.update(np.ascontiguousarray(self._data[start : start + _CHUNK]).data)
        if digest.hexdigest() != self.header["sha256"]:
            raise TableError(
                f"{self.path} is damaged: its checksum is wrong. Make it again: asobiba solve animal_shogi"
            )

    @property
    def materials(self) -> tuple[int, ...]:
        """The materials that it holds; `WHOLE_GAME` is the game itself."""
        return tuple(section["material"] for section in self.header["sections"])

    @property
    def whole(self) -> bool:
        """Whether it holds the game itself."""
        return WHOLE_GAME in self.materials

    def values(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of many positions at once.

        Args:
            positions: `(n,)` int64, positions from the mover's side as the field `position` of a state has them.

        Returns:
            Outcomes for the player to move, `(n,)` int8 (1 won, 0 drawn, -1 lost), and plies to the end under best
            play, `(n,)` int16 (-1 in a draw, 0 where the game is over).

        Raises:
            TableError: for a position whose material the table does not hold.
        """
        positions = np.ascontiguousarray(positions, np.int64)
        outcomes, plies = np.empty(len(positions), np.int8), np.empty(len(positions), np.int16)
        position_values(positions, self._sections, self._words, self._ranks, self._data, outcomes, plies)
        self._require(outcomes)
        return outcomes, plies

    def move_values(self, positions: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Result of every legal action.

        Args:
            positions: `(n,)` int64, as for `values`.
            legal: `(n, actions)` int8 masks.

        Returns:
            Outcomes for the mover, `(n, actions)` int8, -2 for illegal actions; and plies to the end, this move
            included, `(n, actions)` int16 (-1 in a draw).

        Raises:
            TableError: for a position whose material the table does not hold.
        """
        positions = np.ascontiguousarray(positions, np.int64)
        legal = np.ascontiguousarray(legal, np.int8)
        outcomes, plies = np.empty(legal.shape, np.int8), np.empty(legal.shape, np.int16)
        move_values(positions, legal, self._sections, self._words, self._ranks, self._data, outcomes, plies)
        self._require(outcomes)
        return outcomes, plies

    def distances(self, material: int = WHOLE_GAME) -> np.ndarray:
        """Counts of a material's positions that end after 0, 1, 2 ... plies, draws last: `(DRAW_BYTE + 1,)` integers.

        All legal positions in which no lion can be caught at once, reachable or not. Takes about a second.
        """
        start, count = next((s["values"], s["positions"]) for s in self.header["sections"] if s["material"] == material)
        counts = np.zeros(DRAW_BYTE + 1, np.int64)
        for first in range(start, start + count, _CHUNK):
            part = self._data[first : min(first + _CHUNK, start + count)]
            counts += np.bincount(part, minlength=DRAW_BYTE + 1)
        return counts

    def stored(self, material: int, first: int, last: int, before: int) -> tuple[np.ndarray, np.ndarray]:
        """The numbers from `first` to `last - 1` that the table holds, and their bytes; `before` precede them."""
        section = next(s for s in self.header["sections"] if s["material"] == material)
        begin = first // 8
        bits = np.unpackbits(self._data[section["words"] + begin : section["words"] + -(-last // 8)], bitorder="little")
        numbers = np.flatnonzero(bits[first - 8 * begin : last - 8 * begin]) + first
        start = section["values"] + before
        return numbers, np.array(self._data[start : start + len(numbers)])

    def held(self, material: int, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of these numbers of a material those that the table holds.

        Returns:
            Their positions, `(n,)` int64, as the field `position` of a state has them, from the mover's side; and the
            outcomes for the mover, `(n,)` int8.
        """
        numbers = np.ascontiguousarray(numbers, np.int64)
        positions, outcomes = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int8)
        count = held_positions(
            numbers=numbers,
            material=material,
            section=self._sections[material],
            words=self._words,
            ranks=self._ranks,
            values=self._data,
            positions=positions,
            outcomes=outcomes,
        )
        return positions[:count], outcomes[:count]

    def _require(self, outcomes: np.ndarray) -> None:
        if (outcomes == 2).any():
            counts = [material_counts(m) for m in self.materials]
            held = ", ".join(f"{e} elephants, {g} giraffes, {c} chicks" for e, g, c in counts)
            raise TableError(f"{self.path} does not hold a position with these pieces; it holds: {held}")


@lru_cache(maxsize=8)
def _open(path: Path, modified: int, size: int) -> ValueTable:
    with open(path, "rb") as file:
        head = file.read(_HEADER)
    try:
        header = json.loads(head)
        expected, kind = header["bytes"], header["format"]
    except (ValueError, KeyError, TypeError, UnicodeDecodeError):
        raise TableError(f"{path} is not a table of animal shogi: it does not begin with a header") from None
    if kind != FORMAT:
        raise TableError(
            f"{path} has the format {kind!r}, expected {FORMAT!r}. Make it again: asobiba solve animal_shogi"
        )
    if size != _HEADER + expected:
        raise TableError(
            f"{path} has {size} bytes, expected {_HEADER + expected}: it was cut short. "
            "Make it again: asobiba solve animal_shogi"
        )
    return ValueTable(path, header, np.memmap(path, np.uint8, "r", _HEADER, (expected,)))

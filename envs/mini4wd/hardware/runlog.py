"""The log of a run: every byte that came or went, with its time, and every step; and a transport that plays it back.

A log is JSON lines. The first is the header. Then, in the order in which they happened (`t` in s of the host's monotonic
clock, bytes in hexadecimal):

    {"r": t, "b": bytes}     bytes received; empty when the wait ended without any
    {"w": t, "b": bytes}     bytes sent
    {"n": t}                 the clock was read
    {"k": t}                 the stop key was pressed
    {"x": t, "e": text}      the port failed
    {"o": t, "ok": bool}     the port was opened
    {"a": [action], "o": sha, "i": {...}}   a step: the action, a digest of the observation, and its numbers
    {"reset": seed}          a reset

An environment depends on nothing else, so a replay gives the same observations, bit for bit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from asobiba.core import AsobibaError
from asobiba.envs.mini4wd.hardware.transport import LinkError, Transport

FORMAT = "asobiba-mini4wd-run"
VERSION = 1


class LogError(AsobibaError, ValueError):
    """A file that is not a log of a run, or that is damaged."""


class ReplayOver(AsobibaError, EOFError):
    """Raised when the recording has ended, or a request differs from the recorded one."""


class RunLog:
    """Writes a log. `header` holds everything that a replay needs."""

    def __init__(self, path: str | Path, header: dict[str, Any]):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] | None = self.path.open("w", encoding="utf-8")
        self.add({"format": FORMAT, "version": VERSION, **header})

    def add(self, entry: dict[str, Any]) -> None:
        """Writes one line (nothing once the log is closed)."""
        if self._file is not None:
            self._file.write(json.dumps(entry, separators=(",", ":")) + "\n")

    def flush(self) -> None:
        """Makes sure that what has been written survives the process."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Ends the log."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_log(path: str | Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header and the entries of a log; a last line that was cut off is left out.

    Raises:
        LogError: naming the line that cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        raise LogError(f"there is no log {str(path)!r}")
    entries: list[dict[str, Any]] = []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            if not isinstance(entry, dict):
                raise ValueError
        except ValueError:
            if number == len(lines) and number > 1:
                break
            raise LogError(f"line {number} of {str(path)!r} is not an entry of a run log: {line[:60]!r}") from None
        entries.append(entry)
    if not entries or entries[0].get("format") != FORMAT:
        raise LogError(f"{str(path)!r} is not a log of a mini 4WD run: its first line must say {FORMAT!r}")
    if entries[0].get("version") != VERSION:
        raise LogError(f"{str(path)!r} is of version {entries[0].get('version')!r}; this program reads {VERSION}")
    return entries[0], entries[1:]


class LoggingTransport(Transport):
    """Passes everything on to another transport and logs it."""

    def __init__(self, inner: Transport, log: RunLog):
        self._inner = inner
        self._log = log

    def now(self) -> float:
        time = self._inner.now()
        self._log.add({"n": time})
        return time

    def read(self, deadline: float) -> tuple[float, bytes]:
        try:
            time, data = self._inner.read(deadline)
        except LinkError as error:
            self._log.add({"x": self._inner.now(), "e": str(error)})
            raise
        self._log.add({"r": time, "b": data.hex()})
        return time, data

    def write(self, data: bytes) -> float:
        try:
            time = self._inner.write(data)
        except LinkError as error:
            self._log.add({"x": self._inner.now(), "e": str(error)})
            raise
        self._log.add({"w": time, "b": data.hex()})
        return time

    def sleep_until(self, time: float) -> None:
        self._inner.sleep_until(time)

    def discard_unsent(self) -> None:
        self._inner.discard_unsent()

    def open(self) -> bool:
        opened = self._inner.open()
        self._log.add({"o": self._inner.now(), "ok": opened})
        return opened

    def stop_pressed(self) -> bool:
        pressed = self._inner.stop_pressed()
        if pressed:
            self._log.add({"k": self._inner.now()})
        return pressed

    def close(self) -> None:
        self._inner.close()


class ReplayTransport(Transport):
    """Returns the recorded bytes and events in their order.

    Bytes that are sent are compared with those of the log: `differing` counts the writes that were not the same.
    """

    def __init__(self, entries: list[dict[str, Any]]):
        self._entries: Iterator[dict[str, Any]] = iter(
            [e for e in entries if "a" not in e and "reset" not in e and "event" not in e]
        )
        self._next = next(self._entries, None)
        self._last = 0.0
        self.differing = 0

    def _take(self, kind: str) -> dict[str, Any]:
        entry = self._next
        if entry is None:
            raise ReplayOver("the recording has ended")
        if kind not in entry and "x" not in entry:
            raise ReplayOver(f"the recording goes on with {entry}, the environment does otherwise")
        self._next = next(self._entries, None)
        if "x" in entry:
            raise LinkError(entry["e"])
        self._last = entry[kind]
        return entry

    def now(self) -> float:
        return self._take("n")["n"]

    def read(self, deadline: float) -> tuple[float, bytes]:
        entry = self._take("r")
        return entry["r"], bytes.fromhex(entry["b"])

    def write(self, data: bytes) -> float:
        entry = self._take("w")
        self.differing += entry["b"] != data.hex()
        return entry["w"]

    def sleep_until(self, time: float) -> None:
        """Recorded time does not pass by waiting."""

    def open(self) -> bool:
        return self._take("o")["ok"]

    def stop_pressed(self) -> bool:
        if self._next is not None and "k" in self._next:
            self._take("k")
            return True
        return False

"""A program in its own process, spoken to line by line; it cannot hang, flood or kill its caller.

Every wait has a deadline. Writing never blocks on a program that does not read; its output is read in the background
with a bounded length and number of lines; standard error is drained and its end kept for error messages; closing kills
the program together with the processes that it started.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import shlex
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO

from asobiba.core.errors import AsobibaError
from asobiba.protocols.sandbox import Sandbox, kill_session
from asobiba.protocols.stopwatch import OUTSIDE_SIGNALS, Stopwatch

LONGEST_LINE = 1 << 16
"""Bytes of a line that are kept; the rest of a longer line is dropped."""
_MOST_LINES = 4096
_STDERR_BYTES = 2000
_END = None
STOPPED_SECONDS = 60.0
"""Seconds to wait for a program that was stopped from outside."""
OUTSIDE_CODES = frozenset(code for number in OUTSIDE_SIGNALS for code in (-number, 128 + number))
"""Exit codes of programs that were ended from outside."""


class EngineError(AsobibaError, RuntimeError):
    """Raised for an external program that does not behave as it should."""


class EngineTimeout(EngineError, TimeoutError):
    """An external program that does not answer in time."""


class EngineDied(EngineError):
    """An external program that has ended."""


class EngineMissing(EngineDied):
    """An external program that cannot be started."""


class EngineKilled(EngineDied):
    """An external program that was killed from outside, as by an out-of-memory killer; the fault is unknown."""


class HostedFault(EngineError):
    """Exception of an agent in its own process; the message is the exception's."""


class IllegalAnswer(EngineError):
    """An answer that is not a legal action, whether or not it can be read."""


def split_command(command: str | Sequence[str]) -> list[str]:
    """The words of a command line, quoted as in a shell.

    Raises:
        EngineError: if there are none, or a quotation mark is not closed.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    except ValueError as error:
        raise EngineError(f"cannot read the command {command!r}: {error}") from None
    if not words:
        raise EngineError("no command given: expected a program and its arguments, such as './engine --threads 1'")
    return words


class EngineProcess:
    """A running program: `send` it lines, `read_line` its answers, `close` it.

    Args:
        command: the program and its arguments.
        cwd: its working folder.
        env: variables added to its environment; all of it in a sandbox.
        sandbox: contains the program; `None` (for a trusted program) does not. An agent takes
            `asobiba.protocols.sandbox.current()` when it is built.
        readable: files and folders that it may read in the sandbox, beside what `command` names.

    Raises:
        EngineMissing: if it cannot be started.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        *,
        sandbox: Sandbox | None,
        readable: Sequence[str | os.PathLike[str]] = (),
    ):
        self.command = split_command(command)
        self._stderr: deque[bytes] = deque(maxlen=32)
        self._lines: queue.Queue[str | None] = queue.Queue(_MOST_LINES)
        self._closing = threading.Event()
        options: dict = {"process_group": 0} if os.name == "posix" else {"creationflags": 0x200}
        try:
            self._process = (
                sandbox.start(self.command, readable, env)
                if sandbox
                else subprocess.Popen(
                    self.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=cwd,
                    env={**os.environ, **(env or {})},
                    bufsize=0,
                    **options,
                )
            )
        except OSError as error:
            raise EngineMissing(f"cannot start {self.command[0]!r}: {error.strerror or error}") from None
        self._finalizer = weakref.finalize(self, _kill, self._process)
        # The threads hold no reference to this object, so that a forgotten one is collected and its program killed.
        reader = (self._process.stdout, self._lines, self._closing)
        self._reader = threading.Thread(target=_read_lines, args=reader, daemon=True)
        self._reader.start()
        self._drainer = threading.Thread(target=_drain, args=(self._process.stderr, self._stderr), daemon=True)
        self._drainer.start()
        if os.name == "posix":
            os.set_blocking(self._process.stdin.fileno(), False)  # type: ignore[union-attr]

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the program is running."""
        return self._process.poll() is None

    def send(self, line: str, timeout: float = 5.0) -> None:
        """Writes a line.

        Raises:
            EngineDied: if the program has ended.
            EngineTimeout: if it does not take the line off its input in `timeout` seconds.
        """
        data = line.replace("\n", " ").encode("utf-8", "replace") + b"\n"
        deadline = time.monotonic() + timeout
        file = self._process.stdin
        assert file is not None
        if file.closed:
            raise self._end("was closed")
        while data:
            try:
                written = os.write(file.fileno(), data)
                data = data[written:]
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise EngineTimeout(f"{self.command[0]!r} does not read its input ({timeout:g} s)") from None
                select.select([], [file], [], min(left, 0.1))
                if not self.alive:
                    raise self._end("ended") from None
            except (OSError, ValueError):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(1)
                raise self._end("ended") from None

    def read_line(self, deadline: float) -> str:
        """The next line, without its end.

        Args:
            deadline: a `time.monotonic()` until which to wait.

        Raises:
            EngineTimeout: if none comes in time.
            EngineDied: if the program has ended and all its lines were read.
        """
        while True:
            left = deadline - time.monotonic()
            try:
                line = self._lines.get(timeout=max(left, 0)) if left > 0 else self._lines.get_nowait()
            except queue.Empty:
                raise EngineTimeout(f"{self.command[0]!r} did not answer in time") from None
            if line is _END:
                with contextlib.suppress(queue.Full):
                    self._lines.put_nowait(_END)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(1)
                raise self._end("closed its output" if self.alive else "ended")
            return line

    def read_answer(self, seconds: float) -> str:
        """The next line, for which the program may think so long; a time in which it, or this process, was stopped does
        not count.

        Raises:
            EngineTimeout: if none comes in time.
            EngineKilled: if it stays stopped.
            EngineDied: as `read_line`.
        """
        watch = Stopwatch(self.pid)
        while True:
            with contextlib.suppress(EngineTimeout):
                return self.read_line(time.monotonic() + max(min(0.05, seconds - watch.seconds), 1e-3))
            watch.look()
            if watch.seconds >= seconds:
                raise EngineTimeout(f"did not answer within {seconds:.3g} s{self._last_words()}")
            if watch.stopped > STOPPED_SECONDS:
                raise EngineKilled(f"was stopped from outside for {watch.stopped:.0f} s")

    def wait_for(self, *words: str, timeout: float, others: list[str] | None = None) -> str:
        """The next line that begins with one of the words; other lines are skipped (and added to `others`).

        Raises:
            EngineTimeout: if none comes in `timeout` seconds, whatever other lines come.
            EngineDied: if the program ends.
        """
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self.read_line(deadline)
            except EngineTimeout:
                raise EngineTimeout(
                    f"{self.command[0]!r} did not answer {' or '.join(words)} in {timeout:g} s{self._last_words()}"
                ) from None
            if line.split(None, 1)[:1] and line.split(None, 1)[0] in words:
                return line
            if others is not None and len(others) < _MOST_LINES:
                others.append(line)
            if time.monotonic() > deadline:
                raise EngineTimeout(
                    f"{self.command[0]!r} did not answer {' or '.join(words)} in {timeout:g} s, only other lines"
                )

    def skip_lines(self) -> None:
        """Forgets what was printed up to now."""
        with contextlib.suppress(queue.Empty):
            for _ in range(_MOST_LINES):
                if self._lines.get_nowait() is _END:
                    self._lines.put_nowait(_END)
                    return

    def stderr_tail(self) -> str:
        """The end of what the program wrote to standard error."""
        return b"".join(self._stderr)[-_STDERR_BYTES:].decode("utf-8", "replace").strip()

    def close(self, farewell: str | None = None, grace: float = 0.5) -> None:
        """Says `farewell`, waits `grace` seconds for the program to end, then kills it and all that it started."""
        self._closing.set()
        if self.alive and farewell is not None:
            with contextlib.suppress(EngineError):
                self.send(farewell, timeout=min(grace, 0.2))
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace)
        self._finalizer()
        for thread in (self._reader, self._drainer):
            thread.join(1)

    def _last_words(self) -> str:
        tail = self.stderr_tail()
        return f"; it wrote: {tail[-300:]}" if tail else ""

    def _end(self, what: str) -> EngineDied:
        """Exception to raise when the process has ended."""
        text = self._obituary(what)
        # A sandbox tells the death of the program inside as 128 and the signal.
        return (EngineKilled if self._process.poll() in OUTSIDE_CODES else EngineDied)(text)

    def _obituary(self, what: str) -> str:
        code = self._process.poll()
        if code is not None:
            self._drainer.join(0.5)  # its last lines may still be on their way
        how = "" if code is None else f" with exit status {code}" if code >= 0 else f", killed by signal {-code}"
        return f"{self.command[0]!r} {what}{how}{self._last_words()}"


def _read_lines(file: IO[bytes], lines: queue.Queue[str | None], closing: threading.Event) -> None:
    """Puts the lines of `file` into the queue; a full queue makes the program wait. Closes the file at its end.

    Nobody else closes it: between two reads its number could become that of the next program's output.
    """
    kept, skipping = b"", False
    with file, contextlib.suppress(OSError, ValueError):
        while chunk := os.read(file.fileno(), 1 << 14):
            *whole, rest = chunk.split(b"\n")
            for piece in whole:
                if not skipping and not _put(lines, kept + piece, closing):
                    return
                kept, skipping = b"", False
            kept = (kept + rest) if not skipping else b""
            if len(kept) > LONGEST_LINE:
                if not _put(lines, kept, closing):
                    return
                kept, skipping = b"", True
        if kept:
            _put(lines, kept, closing)
    _put(lines, _END, closing)


def _put(lines: queue.Queue[str | None], line: bytes | None, closing: threading.Event) -> bool:
    text = None if line is None else line[:LONGEST_LINE].decode("utf-8", "replace").rstrip("\r")
    while not closing.is_set():
        try:
            lines.put(text, timeout=0.2)
            return True
        except queue.Full:
            continue
    return False


def _drain(file: IO[bytes], kept: deque[bytes]) -> None:
    with file, contextlib.suppress(OSError, ValueError):
        while chunk := os.read(file.fileno(), 1 << 12):
            kept.append(chunk)


def _kill(process: subprocess.Popen) -> None:
    """Ends the program and its process group, and takes its exit status. What it wrote ends with it."""
    if sys.platform == "win32":
        if process.poll() is None:
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
    else:
        # The group outlives its leader: children of a program that has ended are killed too.
        kill_session(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()

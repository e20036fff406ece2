"""Keys of the terminal, without waiting for Enter: the human stop key, and driving by keyboard."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable
from typing import IO, Any

HOLD = "Hold the space bar down for as long as the car may drive."


class Keys:
    """Reads single keys from a terminal. Use as a context manager, which gives the terminal back as it was.

    Called, it says whether a key has been pressed since it was last asked: the human stop key is any key.

    Args:
        stream: the terminal's input; standard input by default. Without a terminal no key is ever pressed.
    """

    def __init__(self, stream: IO[Any] | None = None):
        stream = stream or sys.stdin
        self._descriptor = stream.fileno() if stream is not None and stream.isatty() else None
        self._saved: list[Any] | None = None
        if self._descriptor is not None and os.name == "posix":
            import termios
            import tty

            self._saved = termios.tcgetattr(self._descriptor)
            tty.setcbreak(self._descriptor)

    @property
    def there(self) -> bool:
        """Whether there is a terminal."""
        return self._descriptor is not None

    def __call__(self) -> bool:
        return bool(self.read())

    def read(self, seconds: float = 0.0) -> str:
        """The keys that have been pressed since this was last called; waits up to so many seconds for the first."""
        if self._descriptor is None:
            time.sleep(seconds)
            return ""
        if os.name == "nt":
            return self._read_console(seconds)
        pressed = ""
        while select.select([self._descriptor], [], [], 0.0 if pressed else seconds)[0]:
            if not (data := os.read(self._descriptor, 64)):
                break
            pressed += data.decode(errors="replace")
        return pressed

    @staticmethod
    def _read_console(seconds: float) -> str:
        import msvcrt

        end = time.monotonic() + seconds
        while not msvcrt.kbhit() and time.monotonic() < end:  # type: ignore[attr-defined]
            time.sleep(0.001)
        pressed = ""
        while msvcrt.kbhit():  # type: ignore[attr-defined]
            pressed += msvcrt.getwch()  # type: ignore[attr-defined]
        return pressed

    def close(self) -> None:
        """Gives the terminal back as it was."""
        if self._saved is not None:
            import termios

            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._saved)  # type: ignore[arg-type]
            self._saved = None

    def __enter__(self) -> Keys:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class DeadMan:
    """A key that is held down: the terminal repeats it, and the car may drive while the repeats come.

    Args:
        read: as in `Keys.read`.
        clock: seconds.
        only: the key to hold; any other one stops the car. `None`: any key may be held, and another one taken up.

    Attributes:
        held: whether the key has been seen to repeat.
    """

    FIRST, REPEAT = 1.0, 0.25
    """So long after a new key the terminal's repeats must begin, and so long after a repeat the next one must come, s."""

    def __init__(
        self, read: Callable[[float], str], clock: Callable[[], float] = time.monotonic, only: str | None = " "
    ):
        self._read, self._clock, self._only = read, clock, only
        self._last = ""
        self._at = float("-inf")
        self._other = False
        self.held = False

    def read(self, seconds: float = 0.0) -> str:
        """The keys, passed on."""
        keys = self._read(seconds)
        for key in keys:
            self._other = self._other or (self._only is not None and key != self._only)
            now = self._clock()
            self.held = key == self._last and now - self._at <= self.FIRST
            self._last, self._at = key, now
        return keys

    @property
    def released(self) -> bool:
        """Whether the key has been let go of, or another one was pressed."""
        return self._other or self._clock() - self._at > (self.REPEAT if self.held else self.FIRST)

    def __call__(self) -> bool:
        self.read()
        return self.released

    def wait(self) -> None:
        """Returns once the key is held down."""
        self._other = self.held = False
        while not self.held or self.released:
            self._other = False
            self.read(0.05)

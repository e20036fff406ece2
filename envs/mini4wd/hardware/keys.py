"""Keys of the terminal, without waiting for Enter: the human stop key, and driving by keyboard."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from typing import IO, Any


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

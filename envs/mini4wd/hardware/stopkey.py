"""The human stop key: any key on the terminal."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from typing import IO, Any


class StopKey:
    """Says whether a key has been pressed since it was last asked; never waits. Use as a context manager.

    Args:
        stream: the terminal's input; standard input by default. What is no terminal is never pressed.
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

    def __call__(self) -> bool:
        if self._descriptor is None:
            return False
        if os.name == "nt":
            import msvcrt

            pressed = bool(msvcrt.kbhit())  # type: ignore[attr-defined]
            while msvcrt.kbhit():  # type: ignore[attr-defined]
                msvcrt.getwch()  # type: ignore[attr-defined]
            return pressed
        pressed = False
        while select.select([self._descriptor], [], [], 0)[0]:
            if not os.read(self._descriptor, 64):
                break
            pressed = True
        return pressed

    def close(self) -> None:
        """Gives the terminal back as it was."""
        if self._saved is not None:
            import termios

            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._saved)  # type: ignore[arg-type]
            self._saved = None

    def __enter__(self) -> StopKey:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""Ways to exchange bytes with a car, each with its clock: a serial port, a simulated car, (in `runlog`) a recording."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

from asobiba.core import AsobibaError, MissingExtra

try:
    import serial
except ImportError as error:
    raise MissingExtra("pyserial", "hil") from error


class LinkError(AsobibaError, OSError):
    """The port failed, or the car does not answer."""


class Clock(Protocol):
    """Time in s that never goes back."""

    def now(self) -> float: ...

    def sleep_until(self, time: float) -> None: ...


class MonotonicClock:
    """The computer's own."""

    def now(self) -> float:
        return time.monotonic()

    def sleep_until(self, time_: float) -> None:
        remaining = time_ - time.monotonic()
        if remaining > 0:
            time.sleep(remaining)


class VirtualClock:
    """Moves only when somebody sleeps: a simulated run as fast as the computer can."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def sleep_until(self, time: float) -> None:
        self.time = max(self.time, time)


class Transport(ABC):
    """Bytes to and from a car, and the clock by which they are counted. No call blocks beyond its bound."""

    @abstractmethod
    def now(self) -> float:
        """The time, s."""

    @abstractmethod
    def read(self, deadline: float) -> tuple[float, bytes]:
        """Waits for bytes until `deadline`; returns when it ended and what came, `b""` if nothing did.

        Raises:
            LinkError: if the port has failed.
        """

    @abstractmethod
    def write(self, data: bytes) -> float:
        """Sends bytes; returns when they were handed over.

        Raises:
            LinkError: if the port has failed or does not take them at once.
        """

    @abstractmethod
    def sleep_until(self, time: float) -> None:
        """Lets time pass without reading."""

    def discard_unsent(self) -> None:  # noqa: B027 - most transports keep nothing back
        """Drops what has been written but has not left: an old command must not arrive late."""

    def open(self) -> bool:
        """Opens the port, again if it has failed. Whether it is open now."""
        return True

    def stop_pressed(self) -> bool:
        """Whether the human stop key has been pressed since the last call."""
        return False

    def close(self) -> None:  # noqa: B027 - most transports hold nothing
        """Gives the port back."""


class SerialTransport(Transport):
    """A serial port by pyserial: wired, Bluetooth SPP (`/dev/rfcomm0`), XBee, a pty, or a URL such as `socket://`.

    Args:
        port: path, name or pyserial URL.
        baudrate: bits per second.
        stop_key: a function that says whether the human stop key has been pressed since it was last asked.
    """

    WRITE_TIMEOUT = 0.02
    POLL = 0.0005
    """Between two looks at a port that cannot be waited for (URLs, Windows)."""

    def __init__(self, port: str, baudrate: int = 115200, stop_key: Callable[[], bool] | None = None):
        self.port = port
        self.baudrate = baudrate
        self._stop_key = stop_key
        self._serial: Any = None

    def open(self) -> bool:
        self.close()
        try:
            self._serial = serial.serial_for_url(
                self.port, baudrate=self.baudrate, timeout=0, write_timeout=self.WRITE_TIMEOUT,
                **({} if "://" in self.port else {"exclusive": True}),
            )  # fmt: skip
        except (OSError, ValueError) as error:
            self._serial = None
            self.failure = str(error)
            return False
        with contextlib.suppress(Exception):  # only some adapters have it; it saves up to 16 ms with FTDI chips
            self._serial.set_low_latency_mode(True)
        return True

    failure = "it has not been opened"
    """The reason why the port is not open."""

    def now(self) -> float:
        return time.monotonic()

    def sleep_until(self, time_: float) -> None:
        time.sleep(max(0.0, time_ - time.monotonic()))

    def read(self, deadline: float) -> tuple[float, bytes]:
        port = self._opened()
        try:
            while True:
                if data := port.read(max(1, min(port.in_waiting, 4096))):
                    return self.now(), data
                if (remaining := deadline - self.now()) <= 0:
                    return self.now(), b""
                self._wait(port, remaining)
        except (OSError, TypeError, AttributeError) as error:  # pyserial raises the latter two when a port vanishes
            raise self._failed(error) from error

    def _wait(self, port: Any, remaining: float) -> None:
        try:
            select.select([port.fileno()], [], [], remaining)
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) == errno.EBADF:
                raise
            time.sleep(min(remaining, self.POLL))

    def write(self, data: bytes) -> float:
        port = self._opened()
        try:
            taken = self._write(port, data)
        except (OSError, TypeError, AttributeError) as error:
            raise self._failed(error) from error
        if taken < len(data):
            self.discard_unsent()
            raise LinkError(f"{self.port} takes no bytes")
        return self.now()

    @staticmethod
    def _write(port: Any, data: bytes) -> int:
        # pyserial's own write waits, and calls a write that was done late a failure.
        try:
            descriptor = port.fileno()
        except (OSError, AttributeError):
            descriptor = None
        try:
            if descriptor is None or os.name == "nt":
                port.write(data)
                return len(data)
            return os.write(descriptor, data)
        except (BlockingIOError, serial.SerialTimeoutException):
            return 0

    def discard_unsent(self) -> None:
        if self._serial is not None:
            with contextlib.suppress(Exception):
                self._serial.reset_output_buffer()

    def stop_pressed(self) -> bool:
        return self._stop_key is not None and self._stop_key()

    def close(self) -> None:
        if self._serial is not None:
            with contextlib.suppress(Exception):
                self._serial.close()
            self._serial = None

    def _opened(self) -> Any:
        if self._serial is None:
            raise LinkError(f"{self.port} is not open: {self.failure}")
        return self._serial

    def _failed(self, error: Exception) -> LinkError:
        self.failure = str(error)
        self.close()
        return LinkError(f"{self.port} failed: {error}")

"""The car's program in Python, as `firmware/mini4wd` has it in C++, and a transport to a car that is simulated with it.

What moves is the `Body`: the simulator's car in `body`, something simpler in tests.
"""

from __future__ import annotations

from typing import Protocol

from asobiba.envs.mini4wd.hardware.codec import (
    STOP,
    Codec,
    Command,
    Drive,
    DriveMode,
    Hello,
    Telemetry,
)
from asobiba.envs.mini4wd.hardware.transport import Clock, MonotonicClock, Transport


class Sensed(Protocol):
    """What a body's sensors say: six raw integers (acceleration, angular rate), degrees Celsius, V, pulses."""

    raw: tuple[int, ...]
    temperature: float
    battery: float
    pulses: int


class Body(Protocol):
    """What the car's program is built into."""

    def advance(self, seconds: float, drive: Drive) -> None:
        """Time passes while the motor is driven so."""

    def sense(self) -> Sensed:
        """Reads the sensors."""


class CarProgram:
    """Obeys commands, keeps the limits, reports. Time is the car's own, s since it was switched on.

    Args:
        codec: the protocol (the car's end of it).
        body: what it drives.
    """

    LINK_TIMEOUT = 0.2
    REVERSE_LIMIT = 0.1
    LATE = 0.1
    DRIFT = 0.01
    TICK = 0.001
    IDENTITY = 0x68
    ACCELERATION_SCALE, RATE_SCALE = 2048.0, 16.4

    def __init__(self, codec: Codec, body: Body):
        self.codec = codec
        self.body = body
        self.time = 0.0
        self.drive = STOP
        self.link_timed_out = True
        self.reverse_limited = False
        self._session = 0
        self._number = 0
        self._command_number: int | None = None
        self._command_at = float("-inf")
        self._reverse_since: float | None = None
        self._fastest: tuple[float, float] | None = None
        self._refused = 0
        self._ticks = 0
        self._period_ticks = round(codec.telemetry_period / self.TICK)
        self._outbox: list[bytes] = []

    def receive(self, data: bytes) -> None:
        """Bytes have come."""
        for message in self.codec.read_commands(data):
            if isinstance(message, int):
                self._open(message)
            elif self._acceptable(message):
                self._obey(message)
            else:
                self._refused += 1

    def _open(self, session: int) -> None:
        self._session, self._command_number, self._fastest = session, None, None
        self.drive, self.link_timed_out = STOP, True
        self._outbox.append(
            self.codec.answer(
                Hello(
                    session, 1, self.IDENTITY, self.codec.telemetry_period, self.LINK_TIMEOUT, self.REVERSE_LIMIT, 1,
                    self.ACCELERATION_SCALE, self.RATE_SCALE,
                )
            )
        )  # fmt: skip

    def _acceptable(self, command: Command) -> bool:
        if not self.codec.confirms:
            return True
        if command.session != self._session or self._session == 0:
            return False
        if self._command_number is not None and not 0 < (command.number - self._command_number) % 65536 < 32768:
            return False
        delay = self.time - command.host_ms / 1000
        if self._fastest is None:
            self._fastest = (delay, self.time)
        fastest, since = self._fastest
        self._fastest = (min(fastest + self.DRIFT * (self.time - since), delay), self.time)
        return delay - self._fastest[0] <= self.LATE

    def _obey(self, command: Command) -> None:
        self._command_number = command.number
        self._command_at = self.time
        self.link_timed_out = False
        if command.drive.mode != DriveMode.REVERSE:
            self._reverse_since, self.reverse_limited = None, False
        elif self._reverse_since is None:
            self._reverse_since = self.time
        self.drive = STOP if self.reverse_limited else command.drive

    def advance(self, until: float) -> None:
        """Runs to this time, tick by tick; telemetry gathers in `take`."""
        while (self._ticks + 1) * self.TICK <= until + 1e-9:
            self._ticks += 1
            self.time = self._ticks * self.TICK
            if not self.link_timed_out and self.time - self._command_at >= self.LINK_TIMEOUT - 1e-9:
                self.drive, self.link_timed_out = STOP, True
            if self._reverse_since is not None and self.time - self._reverse_since >= self.REVERSE_LIMIT - 1e-9:
                if self.drive.mode == DriveMode.REVERSE:
                    self.drive, self.reverse_limited = STOP, True
            self.body.advance(self.TICK, self.drive)
            if self._ticks % self._period_ticks == 0:
                self._report()

    def _report(self) -> None:
        sensed = self.body.sense()
        self._outbox.append(
            self.codec.telemetry(
                Telemetry(
                    session=self._session,
                    number=self._number,
                    car_time=self.time,
                    acknowledged=self._command_number,
                    age=None if self._command_number is None else self.time - self._command_at,
                    drive=self.drive,
                    link_timed_out=self.link_timed_out,
                    reverse_limited=self.reverse_limited,
                    sensor_fault=False,
                    acceleration=(0.0, 0.0, 0.0),
                    rate=(0.0, 0.0, 0.0),
                    raw=sensed.raw,
                    temperature=sensed.temperature,
                    battery=sensed.battery,
                    pulses=sensed.pulses,
                    damaged=self.codec.bad,
                    refused=self._refused,
                )
            )
        )
        self._number += 1

    def take(self) -> bytes:
        """What the car has sent since this was last called."""
        data = b"".join(self._outbox)
        self._outbox.clear()
        return data


class SimulatedTransport(Transport):
    """A simulated car at the other end: the simulator in real time, or on a virtual clock as fast as it will go.

    Args:
        program: the car.
        clock: real time by default.
        stop_key: as in `SerialTransport`.
    """

    port = "sim"

    def __init__(self, program: CarProgram, clock: Clock | None = None, stop_key=None):
        self.program = program
        self.clock = clock or MonotonicClock()
        self._origin = self.clock.now()
        self._stop_key = stop_key

    def open(self) -> bool:
        """The car's time goes on from here: what passed before was not its own."""
        self._origin = self.clock.now() - self.program.time
        return True

    def now(self) -> float:
        return self.clock.now()

    def sleep_until(self, time: float) -> None:
        self.clock.sleep_until(time)

    def _catch_up(self) -> None:
        self.program.advance(self.clock.now() - self._origin)

    def read(self, deadline: float) -> tuple[float, bytes]:
        while True:
            self._catch_up()
            data = self.program.take()
            now = self.clock.now()
            if data or now >= deadline:
                return now, data
            next_tick = self._origin + self.program.time + self.program.TICK
            self.clock.sleep_until(min(deadline, max(next_tick, now + 1e-4)))

    def write(self, data: bytes) -> float:
        self._catch_up()
        self.program.receive(data)
        return self.clock.now()

    def stop_pressed(self) -> bool:
        return self._stop_key is not None and self._stop_key()

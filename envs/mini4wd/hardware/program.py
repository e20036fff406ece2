"""The car's program in Python, a twin of the C++ program in `firmware/mini4wd`, and a transport to a simulated car with
it.

The `Body` moves: the simulator's car in `body`, something simpler in tests.
"""

from __future__ import annotations

import random
from collections import deque
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
from asobiba.envs.mini4wd.profile import BATTERY_LOW, STANDING, Profile, load_profile

PROFILE_OF_CODEC = {"asobiba": "atmega328p", "aichip": "rt_ai_chip"}
"""The shipped car that speaks a codec."""


class Wire:
    """One direction of a link: pieces of bytes arrive in order, each `delay` s after it was sent, or are lost.

    Args:
        delay: s.
        loss: share of pieces that are lost.
        seed: of the losses.
    """

    def __init__(self, delay: float, loss: float, seed: int):
        self.delay = delay
        self.loss = loss
        self._queue: deque[tuple[float, bytes]] = deque()
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Begins the losses anew. What is under way arrives."""
        self._random = random.Random(seed)

    def put(self, now: float, data: bytes) -> None:
        """Sends a piece."""
        if data and not (self.loss and self._random.random() < self.loss):
            self._queue.append((now + self.delay, data))

    def get(self, now: float) -> bytes:
        """Bytes that have arrived by now."""
        pieces = []
        while self._queue and self._queue[0][0] <= now + 1e-9:
            pieces.append(self._queue.popleft()[1])
        return b"".join(pieces)


class Sensed(Protocol):
    """Readings of a body's sensors: six raw integers (acceleration, angular rate), degrees Celsius, V, pulses, and how long
    ago the last pulse came, s (`None`: there was none)."""

    raw: tuple[int, ...]
    temperature: float
    battery: float
    pulses: int
    pulse_age: float | None


class Body(Protocol):
    """The body that the car's program is built into."""

    def advance(self, seconds: float, drive: Drive) -> None:
        """Time passes while the motor is driven so."""

    def sense(self) -> Sensed:
        """Reads the sensors."""


class CarProgram:
    """Obeys commands, keeps the limits, reports. Time is the car's own, s since it was switched on.

    Args:
        codec: the protocol (the car's end of it).
        body: what it drives.
        profile: its limits and its period; by default that of the shipped car with this codec.
    """

    LATE = 0.1
    DRIFT = 0.01
    TICK = 0.001
    IDENTITY = 0x68
    ACCELERATION_SCALE, RATE_SCALE = 2048.0, 16.4

    def __init__(self, codec: Codec, body: Body, profile: Profile | None = None):
        self.codec = codec
        self.body = body
        self.profile = profile or load_profile(PROFILE_OF_CODEC[codec.name])
        limits = self.profile.values
        self._link_timeout, self._reverse_limit = limits["link_timeout"], limits["reverse_limit"]
        self._battery_limit, self._maximum_duty = limits["battery_limit"], limits["maximum_duty"]
        self._battery_grace = limits["battery_grace"]
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
        self._period_ticks = round(self.profile.sample_ms / 1000 / self.TICK)
        self._low_since: float | None = None
        self._idle, self._driven = round(STANDING / self.TICK), 0  # ticks
        self.battery_low = False
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
                    session, 2, self.IDENTITY, self.profile.sample_ms / 1000, self._link_timeout, self._reverse_limit, 1,
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
        wanted = command.drive
        if wanted.mode in (DriveMode.FORWARD, DriveMode.REVERSE):
            wanted = Drive(wanted.mode, min(wanted.duty, self._maximum_duty))
        elif not self.profile.values["modes"]:
            wanted = Drive(DriveMode.FORWARD, 0.0)
        self.drive = STOP if self.reverse_limited or self.battery_low else wanted

    def advance(self, until: float) -> None:
        """Runs to this time, tick by tick; telemetry gathers in `take`."""
        while (self._ticks + 1) * self.TICK <= until + 1e-9:
            self._ticks += 1
            self.time = self._ticks * self.TICK
            if not self.link_timed_out and self.time - self._command_at >= self._link_timeout - 1e-9:
                self.drive, self.link_timed_out = STOP, True
            if self._reverse_since is not None and self.time - self._reverse_since >= self._reverse_limit - 1e-9:
                if self.drive.mode == DriveMode.REVERSE:
                    self.drive, self.reverse_limited = STOP, True
            if self.drive.signed != 0.0:
                self._driven = self._driven + 1 if self._idle < round(STANDING / self.TICK) else 1
                self._idle = 0
            else:
                self._idle += 1
            self.body.advance(self.TICK, self.drive)
            if self._ticks % self._period_ticks == 0:
                self._report()

    def _watch_battery(self, volts: float) -> None:
        if volts >= self._battery_limit or self._driven * self.TICK < self._battery_grace - 1e-9:
            self._low_since = None
        elif self._low_since is None:
            self._low_since = self.time
        elif self.time - self._low_since >= BATTERY_LOW - 1e-9:
            self.drive, self.battery_low = STOP, True

    def _report(self) -> None:
        sensed = self.body.sense()
        self._watch_battery(sensed.battery)
        said = self._command_number if self.profile.acknowledges else None
        self._outbox.append(
            self.codec.telemetry(
                Telemetry(
                    session=self._session,
                    number=self._number,
                    car_time=self.time,
                    acknowledged=said,
                    age=None if said is None else self.time - self._command_at,
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
                    pulse_age=sensed.pulse_age,
                    battery_low=self.battery_low,
                    damaged=self.codec.bad,
                    refused=self._refused,
                )
            )
        )
        self._number += 1

    def take(self) -> bytes:
        """Bytes that the car has sent since the last call."""
        return b"".join(self.take_pieces())

    def take_pieces(self) -> list[bytes]:
        """The same, message by message."""
        pieces, self._outbox = self._outbox, []
        return pieces


class SimulatedTransport(Transport):
    """A simulated car at the other end: the simulator in real time, or on a virtual clock as fast as it will go.

    Both directions have the delay and the loss of the car's profile.

    Args:
        program: the car.
        clock: real time by default.
        stop_key: as in `SerialTransport`.
        seed: of the losses.
    """

    port = "sim"

    def __init__(self, program: CarProgram, clock: Clock | None = None, stop_key=None, seed: int = 0):
        self.program = program
        self.clock = clock or MonotonicClock()
        self._origin = self.clock.now()
        self._stop_key = stop_key
        profile = program.profile
        # The sensor's own sample is half its period old on the mean; the rest of the latency is the wire's.
        up = max(profile.values["latency"] - 0.5 / profile.imu_hz, 0.0)
        self._up = Wire(up, profile.values["drop_rate"], seed)
        self._down = Wire(profile.values["action_delay"], profile.values["command_loss"], seed + 1)
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Begins the wire's losses anew, and lets the car's frames fall anywhere between the host's steps."""
        self._up.reseed(seed)
        self._down.reseed(seed + 1)
        self._origin -= random.Random(seed + 2).random() * self.program.profile.sample_ms / 1000

    def open(self) -> bool:
        """The car's time goes on from here: what passed before was not its own."""
        self._origin = self.clock.now() - self.program.time
        return True

    def now(self) -> float:
        return self.clock.now()

    def sleep_until(self, time: float) -> None:
        self.clock.sleep_until(time)

    def _catch_up(self) -> None:
        until = self.clock.now() - self._origin
        while self.program.time + self.program.TICK <= until + 1e-9:
            if data := self._down.get(self.program.time):
                self.program.receive(data)
            self.program.advance(self.program.time + self.program.TICK)
            for piece in self.program.take_pieces():
                self._up.put(self.program.time, piece)

    def read(self, deadline: float) -> tuple[float, bytes]:
        while True:
            self._catch_up()
            now = self.clock.now()
            data = self._up.get(now - self._origin)
            if data or now >= deadline:
                return now, data
            next_tick = self._origin + self.program.time + self.program.TICK
            self.clock.sleep_until(min(deadline, max(next_tick, now + 1e-4)))

    def write(self, data: bytes) -> float:
        self._catch_up()
        self._down.put(self.clock.now() - self._origin, data)
        return self.clock.now()

    def stop_pressed(self) -> bool:
        return self._stop_key is not None and self._stop_key()

"""The car's own program on an emulated chip, in a simulated car: `firmware/mini4wd` as hardware in the loop.

The emulator (`make -C firmware/mini4wd emulator`) runs the compiled program on simavr's ATmega328P. Its serial port is
a pty, to which the adapter talks as to any other port; its I2C sensor and its motor pins are joined to a `Body` here.
Time is the chip's: it goes on only while the adapter waits, so that nothing depends on how fast the computer is.
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from asobiba.envs.mini4wd.hardware.codec import Drive, DriveMode
from asobiba.envs.mini4wd.hardware.program import Body, Sensed
from asobiba.envs.mini4wd.hardware.transport import LinkError, SerialTransport


@dataclass(frozen=True)
class Pins:
    """Activity of the motor pins over a while: their shares of it, and when they last changed, s of the chip's clock."""

    forward: float
    reverse: float
    brake: float
    free: float
    changed: float

    @property
    def drive(self) -> Drive:
        """Command that the motor got: an H-bridge between pulses shorts it."""
        if self.forward or self.reverse:
            mode = DriveMode.FORWARD if self.forward >= self.reverse else DriveMode.REVERSE
            return Drive(mode, abs(self.forward - self.reverse))
        return Drive(DriveMode.BRAKE if self.brake >= self.free else DriveMode.FREE)


class EmulatedChip:
    """The emulator's process.

    Args:
        emulator, firmware: the two files that `make` builds.

    Raises:
        LinkError: if the emulator does not start.
    """

    def __init__(self, emulator: str | Path, firmware: str | Path):
        self._process = subprocess.Popen(
            [str(emulator), str(firmware)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.port = self._answer()
        self.time = 0.0
        self.to_host = 0
        self.pins = Pins(0.0, 0.0, 0.0, 1.0, 0.0)

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise LinkError(f"the emulator has ended with code {self._process.wait()}")
        return line

    def ask(self, request: str) -> str:
        """Sends one line of the emulator's language (see `emulator.c`) and returns the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(request + "\n")
        self._process.stdin.flush()
        return self._answer()

    def run(self, until: float, from_host: int) -> Pins:
        """Runs to this time, s, once the chip's port has got so many bytes from the host in all."""
        now, to_host, *shares, changed = self.ask(f"run {round(until * 1e6)} {from_host}").split()
        self.time = int(now) / 1e6
        self.to_host = int(to_host)
        self.pins = Pins(*(int(share) / 1e6 for share in shares), changed=int(changed) / 1e6)  # type: ignore[misc]
        return self.pins

    def show(self, sensed: Sensed, pulses: int, tick: float) -> int:
        """Puts a body's sensors to the chip's pins and bus, for a run of `tick` s; returns the pulses shown so far.

        Pulses of the body's last tick are shown in the next: each a tick late, none out of step.
        """
        self.ask("sense " + " ".join(map(str, sensed.raw)) + f" {round((sensed.temperature - 36.53) * 340)}")
        self.ask(f"battery {round(sensed.battery * 1000)}")
        new = (sensed.pulses - pulses) & 0xFFFF
        if 0 < new < 0x8000:  # fewer than before: a fresh car has been placed
            when = ""
            if sensed.pulse_age is not None:
                when = f" {max(round((0.98 * tick - min(sensed.pulse_age, 0.9 * tick)) * 1e6), 2)}"
            self.ask(f"pulses {new}{when}")
        return sensed.pulses

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


class EmulatedTransport(SerialTransport):
    """The serial port of an emulated chip, in lockstep with it and with the body that it drives.

    Args:
        chip: the emulated chip.
        body: the car around it.
        tick: how often body and chip are brought together, s.
    """

    PATIENCE = 20.0
    """Longest time that bytes may take through the operating system, s of the wall clock."""

    def __init__(self, chip: EmulatedChip, body: Body, tick: float = 0.001):
        super().__init__(chip.port)
        self.chip = chip
        self.body = body
        self.tick = tick
        self._from_host = 0
        self._taken = 0
        self._pulses = 0
        self._ticks = 0

    def now(self) -> float:
        return self._ticks * self.tick

    def sleep_until(self, time_: float) -> None:
        while self.now() < time_ - self.tick / 2:
            self.advance()

    def advance(self) -> None:
        """One tick: the sensors show the body's state to the chip, the chip runs, its pins drive the body."""
        self._pulses = self.chip.show(self.body.sense(), self._pulses, self.tick)
        self._ticks += 1
        pins = self.chip.run(self.now(), self._from_host)
        self.body.advance(self.tick, pins.drive)
        if self._serial is not None:
            self._await_bytes()

    def _await_bytes(self) -> None:
        # The kernel hands bytes through a pty a moment later: wait for those that the chip has sent.
        end = time.monotonic() + self.PATIENCE
        while self._serial.in_waiting < self.chip.to_host - self._taken:
            if time.monotonic() > end:
                raise LinkError("bytes that the chip sent have not come through the pty")
            time.sleep(0)

    def read(self, deadline: float) -> tuple[float, bytes]:
        port = self._opened()
        while True:
            if waiting := port.in_waiting:
                data = port.read(waiting)
                self._taken += len(data)
                return self.now(), data
            if self.now() >= deadline - self.tick / 2:
                return self.now(), b""
            self.advance()

    def write(self, data: bytes) -> float:
        time_ = super().write(data)
        self._from_host += len(data)
        return time_

    def discard_unsent(self) -> None:
        """The chip takes what is written in step with its clock: nothing waits."""

    def open(self) -> bool:
        opened = super().open()
        if opened:
            # Bytes that the chip sent while nobody listened are gone, as on a wire.
            self._serial.reset_input_buffer()
            self._taken = self.chip.to_host
        return opened

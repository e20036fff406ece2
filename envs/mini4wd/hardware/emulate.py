"""A car without a car: its program, the simulator's physics around it, and a pty to talk to, in real time.

It serves to try everything that is done with a real car: `asobiba hil emulate` prints the path of a serial port. The
program is the compiled one on an emulated ATmega328P, or its twin in Python, which also speaks the AI chip's protocol.
The person who puts a real car back on the start is simulated too: a car that has moved and then stays braked for a
while, or has left the course, is put on the start again.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import tty
from collections.abc import Callable
from pathlib import Path

from asobiba.envs.mini4wd.hardware.body import SimulatedBody
from asobiba.envs.mini4wd.hardware.codec import Drive, DriveMode, make_codec
from asobiba.envs.mini4wd.hardware.emulation import EmulatedChip
from asobiba.envs.mini4wd.hardware.program import CarProgram
from asobiba.envs.mini4wd.profile import Profile, firmware_header

TICK = 0.001
"""Interval at which program and physics are brought together, s."""
PUT_BACK = 1.5
"""A car that has moved and stands for so long, or is out for so long, is put on the start, s."""
MOST_BEHIND = 0.25
"""If the computer falls further behind, the time is skipped, s."""
FIRMWARE = Path(__file__).resolve().parents[3] / "firmware" / "mini4wd" / "build"
"""Output folder of `make -C firmware/mini4wd all emulator`, in a checkout."""


def built_for_another(folder: Path, profile: Profile) -> list[str]:
    """Differences between a built program and this profile, such as `kReverseLimitMs is 100, not 60`.

    Args:
        folder: where `make` built it.
    """
    built, wanted = (
        dict(re.findall(r"^constexpr \w+ (\w+) = (\w+);", text, re.M))
        for text in ((folder / "program" / "profile.h").read_text(encoding="utf-8"), firmware_header(profile))
    )
    return [
        f"{name} is {built.get(name, 'unknown')}, not {value}"
        for name, value in wanted.items()
        if built.get(name) != value
    ]


class ProgramPort:
    """The program in Python behind a pty.

    Args:
        body: what it drives.
        codec: its protocol.
    """

    def __init__(self, body: SimulatedBody, codec: str):
        self.program = CarProgram(make_codec(codec), body, body.profile)
        self._ours, self._theirs = os.openpty()
        tty.setraw(self._theirs)
        os.set_blocking(self._ours, False)
        self.port = os.ttyname(self._theirs)

    @property
    def drive(self) -> Drive:
        """Command that the motor gets."""
        return self.program.drive

    def tick(self, until: float) -> None:
        """Runs to this time of the car, s."""
        with contextlib.suppress(BlockingIOError, OSError):
            self.program.receive(os.read(self._ours, 4096))
        self.program.advance(until)
        if sent := self.program.take():
            with contextlib.suppress(BlockingIOError):  # without a reader the bytes are lost, as on a wire
                os.write(self._ours, sent)

    def close(self) -> None:
        """Takes the port away."""
        os.close(self._ours)
        os.close(self._theirs)


class ChipPort:
    """The compiled program on the emulated chip, behind the emulator's pty.

    Args:
        body: what it drives.
        emulator, firmware: the files that `make` builds.
    """

    def __init__(self, body: SimulatedBody, emulator: Path, firmware: Path):
        self.chip = EmulatedChip(emulator, firmware)
        self.port = self.chip.port
        self._body = body
        self._pulses = 0

    @property
    def drive(self) -> Drive:
        """Command that the motor gets."""
        return self.chip.pins.drive

    def tick(self, until: float) -> None:
        """Runs to this time of the car, s."""
        self._pulses = self.chip.show(self._body.sense(), self._pulses, TICK)
        pins = self.chip.run(until, 0)
        self._body.advance(TICK, pins.drive)

    def close(self) -> None:
        """Ends the emulator."""
        self.chip.close()


class EmulatedCar:
    """A car that drives in real time until told to stop.

    Args:
        body: the physics.
        port: the program around it and its port.
        report: called with a line of text when something happens to the car.
    """

    def __init__(
        self, body: SimulatedBody, port: ProgramPort | ChipPort, report: Callable[[str], None] = lambda text: None
    ):
        self.body = body
        self.port = port
        self._report = report
        self._moved = False
        self._idle_since: float | None = None
        self.behind = 0.0

    def run(self, over: Callable[[], bool]) -> None:
        """Drives until `over` says so. What the computer cannot keep up with is counted in `behind`, s."""
        origin, ticks = time.monotonic(), 0
        while not over():
            ahead = (ticks + 1) * TICK - (time.monotonic() - origin)
            if ahead > 0:
                time.sleep(ahead)
            elif -ahead > MOST_BEHIND:
                origin += -ahead
                self.behind += -ahead
            ticks += 1
            self.port.tick(ticks * TICK)
            if ticks % 20 == 0:
                self._look_after(ticks * TICK)

    def _look_after(self, now: float) -> None:
        out = self.body.cause != "running"
        driven = self.port.drive.mode in (DriveMode.FORWARD, DriveMode.REVERSE)
        if driven and not out:
            self._moved, self._idle_since = True, None
            return
        if not self._moved or (not out and abs(self.body.speed) > 0.02):
            self._idle_since = None
            return
        if self._idle_since is None:
            self._idle_since = now
            if out:
                self._report(f"out after {self.body.progress:.2f} m: {self.body.cause}")
        elif now - self._idle_since >= PUT_BACK and not driven:
            self._report(f"stood at {self.body.progress:.2f} m; back on the start")
            self.body.place()
            self._moved, self._idle_since = False, None

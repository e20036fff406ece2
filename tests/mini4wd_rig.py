"""Helpers that the tests of the mini 4WD's hardware share: bodies without a simulator, and the built firmware."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import threading
import time
import tty
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import debian_program

from asobiba.envs.mini4wd.hardware.codec import Command, Drive, DriveMode, make_codec
from asobiba.envs.mini4wd.hardware.program import CarProgram

FIRMWARE = Path(__file__).parents[1] / "firmware" / "mini4wd"


@dataclass
class Sensed:
    """The readings of a body's sensors."""

    raw: tuple[int, ...]
    temperature: float = 25.0
    battery: float = 2.9
    pulses: int = 0
    pulse_age: float | None = None


class Bench:
    """A car on a stand: it lies still, and notes what its motor was told and when, s."""

    def __init__(self, raw: tuple[int, ...] = (10, -20, -2048, 5, -3, 150)):
        self.raw = raw
        self.time = 0.0
        self.drives: list[tuple[float, Drive]] = []
        self.pulses = 0
        self.battery = 2.9

    def advance(self, seconds: float, drive: Drive) -> None:
        if not self.drives or self.drives[-1][1] != drive:
            self.drives.append((self.time, drive))
        self.time += seconds
        if drive.mode == DriveMode.FORWARD:
            self.pulses += round(drive.duty * 2)

    def sense(self) -> Sensed:
        return Sensed(self.raw, battery=self.battery, pulses=self.pulses)


def _debian_file(path: str, package: str) -> None:
    if not Path(path).exists():
        message = f"{path} is missing; on Debian: apt-get install {package}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)


def build_firmware(folder: Path) -> tuple[Path, Path]:
    """Builds the car's program and the emulator; returns both files."""
    debian_program("make", "make")
    debian_program("gcc", "gcc")
    debian_program("avr-g++", "gcc-avr")
    debian_program("avr-size", "binutils-avr")
    _debian_file("/usr/include/stdio.h", "libc6-dev")
    _debian_file("/usr/lib/avr/include/avr/io.h", "avr-libc")
    _debian_file("/usr/include/simavr/sim_avr.h", "libsimavr-dev")
    made = subprocess.run(
        ["make", "-C", str(FIRMWARE), f"BUILD={folder}", "all", "emulator"], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return folder / "mini4wd.elf", folder / "emulator"


class NotingProgram(CarProgram):
    """A car's program that notes every command that it obeys: (wall time, command)."""

    def __init__(self, codec, body):
        super().__init__(codec, body)
        self.obeyed: list[tuple[float, Command]] = []

    def _obey(self, command: Command) -> None:
        self.obeyed.append((time.monotonic(), command))
        super()._obey(command)


class PtyCar(threading.Thread):
    """A car at the other end of a pty, in real time, whose wire can be made bad.

    `fault` is None or one of: lost, doubled, corrupted, reordered (one frame or command in three), late (by 0.4 s),
    jittery (by up to 50 ms), silent (neither sends nor takes a byte), garbage (nothing but, as fast as it goes),
    noisy (garbage between the frames).
    """

    def __init__(self, folder: Path, codec: str = "asobiba"):
        super().__init__(daemon=True)
        self.path = folder / "car"
        self.body = Bench((10, -20, 2048, 5, -3, 150) if codec == "asobiba" else (10, -20, -2048, 5, -3, 150))
        self.program = NotingProgram(make_codec(codec), self.body)
        self.fault: str | None = None
        self.slowest = 0.0
        """The longest time between two looks at the wire, s; on a busy machine it is long."""
        self._random = random.Random(4)
        self._queues: dict[str, list[tuple[float, bytes]]] = {"in": [], "out": []}
        self._held: dict[str, bytes | None] = {"in": None, "out": None}
        self._over = threading.Event()
        self._plugged = threading.Lock()
        self._descriptors: tuple[int, int] | None = None
        self.plug_in()
        self.start()

    def plug_in(self) -> None:
        """The port is there (again)."""
        ours, theirs = os.openpty()
        tty.setraw(theirs)
        os.set_blocking(ours, False)
        self.path.unlink(missing_ok=True)
        self.path.symlink_to(os.ttyname(theirs))
        with self._plugged:
            self._descriptors = (ours, theirs)

    def unplug(self) -> None:
        """The port vanishes, under whoever has it open."""
        with self._plugged:
            descriptors, self._descriptors = self._descriptors, None
        self.path.unlink(missing_ok=True)
        for descriptor in descriptors or ():
            os.close(descriptor)

    def stop(self) -> None:
        self._over.set()
        self.join()
        self.unplug()

    def run(self) -> None:
        origin = now = time.monotonic()
        while not self._over.wait(0.001):
            before, now = now, time.monotonic()
            self.slowest = max(self.slowest, now - before)
            self.program.advance(now - origin)
            sent = self.program.take()
            with self._plugged:
                if self._descriptors is None or self.fault == "silent":
                    continue
                ours = self._descriptors[0]
                if self.fault == "garbage":
                    self._write(ours, self._random.randbytes(4096))
                    self._read(ours)
                    continue
                self._write(ours, self._bad_wire("out", self._pieces(sent), now))
                if self.fault == "noisy":
                    self._write(ours, self._random.randbytes(50) + b"\0")
                self.program.receive(self._bad_wire("in", self._pieces(self._read(ours)), now))

    def _pieces(self, data: bytes) -> list[bytes]:
        if self.program.codec.name == "aichip":
            size = 43 if data.startswith(b"\xff\xff") else 10
            return [data[k : k + size] for k in range(0, len(data), size)]
        return [piece + b"\0" for piece in data.split(b"\0") if piece]

    def _bad_wire(self, way: str, pieces: list[bytes], now: float) -> bytes:
        out = []
        for piece in pieces:
            hit = self._random.random() < 1 / 3
            delay = {"late": 0.4, "jittery": self._random.random() * 0.05}.get(self.fault or "", 0.0)
            if self.fault == "lost" and hit:
                continue
            if self.fault == "corrupted" and hit:
                place = self._random.randrange(len(piece))
                piece = piece[:place] + bytes([piece[place] ^ 1 << self._random.randrange(8)]) + piece[place + 1 :]
            out.append((now + delay, piece))
            if self.fault == "doubled" and hit:
                out.append((now + delay, piece))
            if self.fault == "reordered" and hit and self._held[way] is None:
                self._held[way] = out.pop()[1]
            elif self._held[way] is not None:
                out.append((now, self._held[way] or b""))
                self._held[way] = None
        queue = self._queues[way]
        queue += out
        due = [piece for at, piece in queue if at <= now]
        queue[:] = [entry for entry in queue if entry[0] > now]
        return b"".join(due)

    @staticmethod
    def _write(descriptor: int, data: bytes) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(descriptor, data)

    @staticmethod
    def _read(descriptor: int) -> bytes:
        with contextlib.suppress(BlockingIOError, OSError):
            return os.read(descriptor, 4096)
        return b""

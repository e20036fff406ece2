"""What the tests of the mini 4WD's hardware share: bodies without a simulator, and the built firmware."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import debian_program

from asobiba.envs.mini4wd.hardware.codec import Drive, DriveMode

FIRMWARE = Path(__file__).parents[1] / "firmware" / "mini4wd"


@dataclass
class Sensed:
    """What a body's sensors say."""

    raw: tuple[int, ...]
    temperature: float = 25.0
    battery: float = 2.9
    pulses: int = 0


class Bench:
    """A car on a stand: it lies still, and notes what its motor was told and when, s."""

    def __init__(self, raw: tuple[int, ...] = (10, -20, -2048, 5, -3, 150)):
        self.raw = raw
        self.time = 0.0
        self.drives: list[tuple[float, Drive]] = []
        self.pulses = 0

    def advance(self, seconds: float, drive: Drive) -> None:
        if not self.drives or self.drives[-1][1] != drive:
            self.drives.append((self.time, drive))
        self.time += seconds
        if drive.mode == DriveMode.FORWARD:
            self.pulses += round(drive.duty * 2)

    def sense(self) -> Sensed:
        return Sensed(self.raw, pulses=self.pulses)


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

"""The mini 4WD's program, built for ATmega328P and run, that very file, on an emulated chip."""

from __future__ import annotations

import re
import subprocess

import pytest
from conftest import debian_program
from mini4wd_rig import Bench, build_firmware

from asobiba.envs.mini4wd.hardware.body import SimulatedBody
from asobiba.envs.mini4wd.hardware.codec import AsobibaCodec, Command, Drive, DriveMode, Hello, Telemetry
from asobiba.envs.mini4wd.hardware.emulation import EmulatedChip, EmulatedTransport
from asobiba.envs.mini4wd.hardware.env import HardwareEnv
from asobiba.envs.mini4wd.hardware.program import CarProgram

FLASH, SRAM = 32 * 1024, 2 * 1024
LARGEST_BOOTLOADER, STACK = 2 * 1024, 512
SESSION = 7


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build_firmware(tmp_path_factory.mktemp("firmware"))


class Wire:
    """An emulated chip on a bench, spoken to byte by byte."""

    def __init__(self, built):
        firmware, emulator = built
        self.body = Bench()
        self.chip = EmulatedChip(emulator, firmware)
        self.transport = EmulatedTransport(self.chip, self.body)
        assert self.transport.open()
        self.codec = AsobibaCodec()
        self.number = 0
        self.messages: list = []
        self.pass_time(0.05)

    def pass_time(self, seconds: float) -> list:
        end = self.transport.now() + seconds
        news = []
        while True:
            _, data = self.transport.read(end)
            news += self.codec.read(data)
            if not data:
                self.messages += news
                return news

    def greet(self) -> Hello:
        self.transport.write(self.codec.hello(SESSION))
        return next(m for m in self.pass_time(0.03) if isinstance(m, Hello))

    def say(self, drive: Drive, *, number: int | None = None, delay: float = 0.0, session: int = SESSION) -> bytes:
        if number is None:
            self.number = number = self.number + 1
        data = self.codec.command(Command(session, number, round((self.transport.now() - delay) * 1000) + 5000, drive))
        self.transport.write(data)
        return data

    def newest(self) -> Telemetry:
        return [m for m in self.messages if isinstance(m, Telemetry)][-1]


@pytest.fixture
def wire(built):
    wire = Wire(built)
    yield wire
    wire.transport.close()
    wire.chip.close()


def test_program_fits_the_chip(built, capsys):
    size = debian_program("avr-size", "binutils-avr")
    report = subprocess.run([size, str(built[0])], capture_output=True, text=True, check=True).stdout
    text, data, bss = map(int, re.search(r"^\s*(\d+)\s+(\d+)\s+(\d+)", report, re.M).groups())
    with capsys.disabled():
        print(
            f"\nfirmware: {text + data} of {FLASH} bytes of flash, {data + bss} of {SRAM} bytes of SRAM before the stack"
        )
    assert text + data <= FLASH - LARGEST_BOOTLOADER
    assert data + bss <= SRAM - STACK


def test_it_answers_reports_and_obeys(wire):
    wire.pass_time(0.05)
    assert wire.newest().link_timed_out
    hello = wire.greet()
    assert (hello.session, hello.version, hello.sensor) == (SESSION, 2, 0x68)
    assert (hello.telemetry_period, hello.link_timeout, hello.reverse_limit) == (0.01, 0.2, 0.1)
    assert (hello.acceleration_scale, hello.rate_scale) == (2048.0, 16.4)
    for drive, shares in [
        (Drive(DriveMode.FORWARD, 0.25), (0.25, 0, 0.75, 0)),
        (Drive(DriveMode.FORWARD, 1.0), (1, 0, 0, 0)),
        (Drive(DriveMode.FORWARD, 0.0), (0, 0, 1, 0)),
        (Drive(DriveMode.REVERSE, 0.6), (0, 0.6, 0.4, 0)),
        (Drive(DriveMode.FREE), (0, 0, 0, 1)),
        (Drive(DriveMode.BRAKE), (0, 0, 1, 0)),
    ]:
        wire.say(drive)
        wire.pass_time(0.03)
        pins = wire.chip.pins
        assert (pins.forward, pins.reverse, pins.brake, pins.free) == pytest.approx(shares, abs=0.002)
        report = wire.newest()
        assert report.drive.mode == drive.mode
        assert report.drive.duty == pytest.approx(drive.duty, abs=1e-4)
        assert report.acknowledged == wire.number
        assert report.age == pytest.approx(0.023, abs=0.006)
        assert not report.link_timed_out
        assert report.raw == wire.body.raw
        assert report.battery == pytest.approx(2.9, abs=0.006)
        assert report.temperature == pytest.approx(25.0, abs=0.02)
    frames = [m for m in wire.messages if isinstance(m, Telemetry)]
    assert [m.number for m in frames] == list(range(frames[0].number, frames[0].number + len(frames)))
    assert frames[-1].pulses == pytest.approx(wire.body.pulses, abs=1)  # the last one may still be high
    assert wire.body.pulses > 50
    assert wire.codec.bad == 0


def test_silence_brakes_within_200_ms(wire):
    wire.greet()
    for _ in range(10):
        wire.say(Drive(DriveMode.FORWARD, 0.7))
        wire.pass_time(0.02)
    sent = wire.transport.now() - 0.02
    assert wire.chip.pins.forward == pytest.approx(0.7, abs=0.002)
    wire.pass_time(0.15)
    assert wire.chip.pins.forward == pytest.approx(0.7, abs=0.002)
    wire.pass_time(0.1)
    assert wire.chip.pins.brake == 1
    # The command itself takes 1.4 ms over the wire.
    assert 0.19 < wire.chip.pins.changed - sent <= 0.2 + 0.0025
    assert wire.newest().link_timed_out
    wire.say(Drive(DriveMode.FORWARD, 0.3))
    wire.pass_time(0.03)
    assert wire.chip.pins.forward == pytest.approx(0.3, abs=0.002)


def test_reverse_lasts_100_ms_at_most(wire):
    wire.greet()
    for _ in range(10):
        wire.say(Drive(DriveMode.REVERSE, 1.0))
        wire.pass_time(0.02)
    began = next(time for time, drive in wire.body.drives if drive == Drive(DriveMode.REVERSE, 1.0))
    ended = next(time for time, drive in wire.body.drives if time > began)
    assert ended - began == pytest.approx(0.1, abs=0.002)
    assert wire.chip.pins.brake == 1
    assert wire.newest().reverse_limited
    wire.say(Drive(DriveMode.FORWARD, 0.2))
    wire.pass_time(0.02)
    assert wire.chip.pins.forward > 0
    wire.say(Drive(DriveMode.REVERSE, 0.5))
    wire.pass_time(0.02)
    assert wire.chip.pins.reverse == pytest.approx(0.5, abs=0.002)


def test_old_strange_and_damaged_commands_are_refused(wire):
    wire.say(Drive(DriveMode.FORWARD, 1.0))  # nobody has greeted the car
    wire.pass_time(0.03)
    assert wire.chip.pins.brake == 1
    wire.greet()
    first = wire.say(Drive(DriveMode.FORWARD, 0.2))
    wire.pass_time(0.02)
    wire.say(Drive(DriveMode.FORWARD, 0.4))
    wire.pass_time(0.02)
    before = wire.newest()
    wire.transport.write(first)  # doubled, and behind its successor
    wire.say(Drive(DriveMode.FORWARD, 0.9), number=wire.number - 1)  # reordered
    wire.say(Drive(DriveMode.FORWARD, 0.9), delay=0.15)  # late
    wire.say(Drive(DriveMode.FORWARD, 0.9), number=wire.number + 5, session=SESSION + 1)  # of another session
    wire.pass_time(0.03)
    after = wire.newest()
    assert wire.chip.pins.forward == pytest.approx(0.4, abs=0.002)
    assert after.refused - before.refused == 4
    damaged = bytearray(wire.codec.command(Command(SESSION, 100, 5000, Drive(DriveMode.FORWARD, 0.9))))
    damaged[9] ^= 0x10
    wire.transport.write(bytes(damaged) + bytes(range(1, 256)) + b"\0" + b"\xff" * 300 + b"\0")
    wire.pass_time(0.08)
    wire.say(Drive(DriveMode.FORWARD, 0.4))
    wire.pass_time(0.03)
    assert wire.newest().damaged - before.damaged == 3
    assert wire.chip.pins.forward == pytest.approx(0.4, abs=0.002)
    wire.say(Drive(DriveMode.FORWARD, 0.6))
    wire.pass_time(0.03)
    assert wire.chip.pins.forward == pytest.approx(0.6, abs=0.002)


def test_garbage_at_full_rate_does_not_keep_it_driving(wire):
    wire.greet()
    wire.say(Drive(DriveMode.FORWARD, 0.5))
    said = wire.transport.now()
    generator = bytes((37 * k * k + 11 * k) % 256 for k in range(230))  # 20 ms of bytes at 115200 baud
    for _ in range(15):
        wire.transport.write(generator)
        wire.pass_time(0.02)
    assert wire.chip.pins.brake == 1
    assert 0.19 < wire.chip.pins.changed - said <= 0.2025
    # The last piece of garbage is still on its way; then it listens again.
    wire.pass_time(0.05)
    wire.say(Drive(DriveMode.FORWARD, 0.5))
    wire.pass_time(0.03)
    assert wire.chip.pins.forward == pytest.approx(0.5, abs=0.002)


def test_a_sensor_that_comes_off_is_reported_and_the_car_still_obeys(wire):
    wire.greet()
    wire.say(Drive(DriveMode.FORWARD, 0.5))
    wire.pass_time(0.03)
    wire.chip.ask("sensor 0")
    wire.say(Drive(DriveMode.FORWARD, 0.3))
    wire.pass_time(0.05)
    assert wire.newest().sensor_fault
    assert wire.chip.pins.forward == pytest.approx(0.3, abs=0.002)
    wire.chip.ask("sensor 1")
    wire.greet()  # which looks for the sensor again and brakes
    wire.pass_time(0.05)
    assert wire.chip.pins.brake == 1


def test_a_brown_out_leaves_the_car_standing(wire):
    wire.greet()
    wire.say(Drive(DriveMode.FORWARD, 1.0))
    wire.pass_time(0.03)
    wire.chip.ask("reset")
    for _ in range(3):
        wire.say(Drive(DriveMode.FORWARD, 1.0))
        wire.pass_time(0.02)
    assert wire.chip.pins.brake == 1
    assert wire.newest().session == 0


def test_the_program_in_python_is_the_same_car(wire):
    # The simulated car's program is this one's twin: the same commands at the same times, compared every millisecond.
    script = {0.02: None, 0.05: Drive(DriveMode.FORWARD, 0.4), 0.07: Drive(DriveMode.FORWARD, 0.8)}
    script |= {0.10 + 0.02 * k: Drive(DriveMode.REVERSE, 0.5) for k in range(8)}
    script |= {0.30: Drive(DriveMode.FREE), 0.32: Drive(DriveMode.FORWARD, 0.6), 0.34: "again", 0.36: "late"}
    script |= {0.70: Drive(DriveMode.FORWARD, 0.1), 0.72: Drive(DriveMode.BRAKE)}
    twin_body = Bench()
    twin = CarProgram(AsobibaCodec(), twin_body)
    data = b""
    begin = wire.transport.now()
    twin.advance(begin)
    for millisecond in range(800):
        time = millisecond / 1000
        if time in script:
            what = script[time]
            if what is None:
                data = wire.codec.hello(SESSION)
                wire.transport.write(data)
            elif what == "again":
                wire.transport.write(data)
            else:
                late = what == "late"
                data = wire.say(Drive(DriveMode.FORWARD, 1.0) if late else what, delay=0.15 if late else 0.0)
            twin.receive(data)
        wire.pass_time(0.001)
        twin.advance(wire.transport.now())

    def changes(drives):
        return [(drive.mode, round(drive.duty, 2)) for _, drive in drives]

    # A change within a millisecond shows as a mixture in between; a command takes 1.4 ms over the wire.
    chip = [(t, d) for t, d in wire.body.drives if t >= begin]
    settled = [
        entry for entry, after in zip(chip, [*chip[1:], (9.0, None)], strict=True) if after[0] - entry[0] > 0.0015
    ]
    program = [(t, d) for t, d in twin_body.drives if t >= begin]
    assert changes(settled) == changes(program)
    assert len(program) == 9
    for (chip_time, _), (program_time, _) in zip(settled, program, strict=True):
        assert chip_time == pytest.approx(program_time, abs=0.0035)


@pytest.fixture
def loop(built):
    """The adapter, the pty, the chip with its program, and the simulator around its sensor and its motor pins."""
    firmware, emulator = built
    body = SimulatedBody(course="junior", randomise="none", lane=1)
    chip = EmulatedChip(emulator, firmware)
    transport = EmulatedTransport(chip, body)
    env = HardwareEnv(transport, course="junior", laps=1, place=lambda message: body.place())
    yield env, transport, chip, body
    env.close()
    chip.close()


def test_it_drives_a_lap_and_brakes_when_the_link_is_cut(loop, capsys):
    env, transport, chip, body = loop
    lap = float(env.ruleset.params[0]["lap_length"])
    observation, info = env.reset()
    assert env.observation_space.contains(observation)
    steps, done = 0, False
    while not done:
        observation, _, terminated, truncated, info = env.step([0.7, 0.0])
        done = terminated or truncated
        steps += 1
        assert info["stale_ms"] < 20
        assert not info["deadline_missed"]
    assert info["cause"] == "finished"
    assert body.cause == "running"
    assert body.progress > 0.8 * lap  # the gyro sees the end of the last corner, not the start line
    assert (info["lost"], info["late"], info["bad_frames"]) == (0, 0, 0)
    lap_time = 0.02 * steps
    assert chip.pins.brake == 1  # an episode ends with the car braked

    env.reset()
    while body.progress < lap / 2:
        *_, terminated, truncated, info = env.step([0.7, 0.0])
        assert not terminated
        assert not truncated
    speed = body.speed
    assert speed > 1.0
    assert chip.pins.forward == pytest.approx(0.7, abs=0.002)
    cut = transport.now()
    last_command = cut - 0.02
    transport.close()
    while transport.now() < cut + 0.3:
        transport.advance()
    assert chip.pins.brake == 1
    braked = chip.pins.changed
    assert cut < braked < cut + 0.2
    assert braked <= last_command + 0.2025  # a command takes 1.4 ms over the wire
    assert body.speed < speed - 0.1
    *_, terminated, truncated, info = env.step([0.7, 0.0])  # the port is there again, the episode is not
    assert truncated
    assert not terminated
    assert info["cause"].startswith("link lost")
    assert chip.pins.brake == 1
    with capsys.disabled():
        print(
            f"\nlap of {lap:.2f} m in {lap_time:.2f} s on the emulated chip, round trip {info['round_trip_ms']:.1f} ms; "
            f"link cut at {speed:.2f} m/s: braked {1000 * (braked - last_command):.1f} ms after the last command"
        )

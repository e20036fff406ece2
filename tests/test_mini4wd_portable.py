"""The part of the car's program that knows no chip, built for this computer: protocol, limits, sensors' registers."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import pytest
from conftest import debian_program
from mini4wd_rig import FIRMWARE, Bench

from asobiba.envs.mini4wd.hardware.codec import AsobibaCodec, Command, Drive, DriveMode, Hello, Telemetry
from asobiba.envs.mini4wd.hardware.emulate import built_for_another
from asobiba.envs.mini4wd.hardware.program import CarProgram
from asobiba.envs.mini4wd.profile import firmware_header, load_profile

PAGE = Path(__file__).parents[1] / "docs" / "mini4wd" / "protocol.md"
REST = [0, 0, 2048, 0, 0, 0]


class Board:
    """The library, loaded afresh: a board whose time moves when told."""

    def __init__(self, library: Path, folder: Path):
        copy = folder / "board.so"  # a copy of its own: static variables begin anew
        copy.write_bytes(library.read_bytes())
        self._library = ctypes.CDLL(str(copy))
        self._library.host_sent.restype = ctypes.c_size_t
        self._out = (ctypes.c_uint8 * 4096)()
        self.period = 10
        self.time = 0
        self.codec = AsobibaCodec()

    def sensor(self, address: int, first: int, data: bytes) -> None:
        self._library.host_sensor(address, first, data, len(data))

    def inputs(self, battery: int, pulses: int = 0, at_us: int = 0) -> None:
        self._library.host_inputs(battery, pulses, ctypes.c_uint32(at_us))

    def begin(self) -> None:
        self._library.host_begin(1)

    def tick(self, count: int = 1, data: bytes = b"") -> bytes:
        sent = b""
        for k in range(count):
            self._library.host_receive(data if k == 0 else b"", len(data) if k == 0 else 0)
            self.time += 1
            self._library.host_tick(self.time % self.period == 0)
            sent += bytes(self._out[: self._library.host_sent(self._out)])
        return sent

    @property
    def drive(self) -> tuple[DriveMode, float]:
        return DriveMode(self._library.host_mode()), self._library.host_duty() / 32767

    def register(self, number: int) -> int:
        return self._library.host_register(number)


@pytest.fixture(scope="module", params=["src", "esp32/main"])
def library(request, tmp_path_factory):
    debian_program("make", "make")
    debian_program("g++", "g++")
    folder = tmp_path_factory.mktemp("host")
    made = subprocess.run(
        ["make", "-C", str(FIRMWARE), f"BUILD={folder}", f"PROFILE_DIR={request.param}", "host"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    return folder / "libmini4wd.so"


@pytest.fixture
def board(library, tmp_path):
    board = Board(library, tmp_path)
    board.sensor(0x68, 0x75, b"\x68")
    board.inputs(2900)
    board.begin()
    return board


def test_the_headers_are_what_the_profiles_say():
    for folder, name in (("src", "atmega328p"), ("esp32/main", "esp32")):
        assert (FIRMWARE / folder / "profile.h").read_text() == firmware_header(load_profile(name))


def test_a_program_that_was_built_for_another_profile_is_named(tmp_path):
    (tmp_path / "program").mkdir()
    other = load_profile({"base": "atmega328p", "battery_limit": 2.0, "acknowledges": 0})
    (tmp_path / "program" / "profile.h").write_text(firmware_header(other))
    assert built_for_another(tmp_path, other) == []
    assert built_for_another(tmp_path, load_profile("atmega328p")) == [
        "kBatteryLimitMv is 2000, not 1600",
        "kAcknowledges is false, not true",
    ]


def vectors(sender: str) -> list[tuple[str, bytes]]:
    rows = re.findall(rf"^\| {sender} \| (\w+: .*) \| `([0-9a-f ]+)` \|$", PAGE.read_text(), re.M)
    return [(text, bytes.fromhex(data)) for text, data in rows]


def numbers(text: str) -> list[int]:
    return [int(n, 16) if "x" in n else int(n) for n in re.findall(r"-?(?:0x[0-9A-F]+|\d+)", text)]


def test_both_sides_agree_with_the_vectors_of_the_page(board):
    assert len(vectors("host")) == 5
    assert len(vectors("car")) == 4
    codec = AsobibaCodec()
    for text, data in vectors("host"):
        (message,) = codec.read_commands(data)
        given = numbers(text)
        if text.startswith("hello"):
            assert message == given[0]
            assert codec.hello(message) == b"\0" + data
        else:
            assert [message.session, message.number, message.host_ms] == given[:3]
            assert message.drive.mode.name.lower() in text
            assert round(message.drive.duty * 32767) == (given[3] if len(given) > 3 else 0)
            assert codec.command(message) == b"\0" + data
    for text, data in vectors("car"):
        (message,) = AsobibaCodec().read(data)
        if isinstance(message, Hello):
            assert [message.session, message.version, message.sensor] == numbers(text)[:3]
            assert AsobibaCodec().answer(message) == data
        else:
            assert isinstance(message, Telemetry)
            assert [message.session, message.number] == numbers(text)[:2]
            assert AsobibaCodec().telemetry(message) == data
    # The program in C++: it answers the first vector with the car's first, byte for byte, and obeys the second.
    hello, answer = vectors("host")[0][1], vectors("car")[0][1]
    assert answer in board.tick(2, hello)
    board.tick(1, vectors("host")[1][1])
    assert board.drive == (DriveMode.FORWARD, pytest.approx(16384 / 32767))
    board.tick(1, vectors("host")[3][1])  # of another session
    assert board.drive[0] == DriveMode.FORWARD


def test_it_is_the_program_in_python(library, tmp_path):
    # The same bytes at the same milliseconds: what the motor gets, and what is reported, are the same.
    profile = load_profile("atmega328p")
    board = Board(library, tmp_path)
    board.sensor(0x68, 0x75, b"\x68")
    board.begin()
    codec, twin_codec = AsobibaCodec(), AsobibaCodec()
    bench = Bench(tuple(REST))
    twin = CarProgram(codec, bench, profile)
    script = {20: None, 50: Drive(DriveMode.FORWARD, 0.4), 300: Drive(DriveMode.FORWARD, 0.8)}
    script |= {400 + 20 * k: Drive(DriveMode.REVERSE, 0.5) for k in range(8)}
    script |= {600: Drive(DriveMode.FREE), 620: Drive(DriveMode.FORWARD, 1.0), 640: Drive(DriveMode.BRAKE)}
    number, seen = 0, []
    for millisecond in range(900):
        data = b""
        if millisecond in script:
            drive = script[millisecond]
            number += 1
            data = codec.hello(3) if drive is None else codec.command(Command(3, number, millisecond, drive))
        battery = 1.2 if millisecond > 680 else 2.9  # half a second later it brakes for good
        board.inputs(round(battery * 1000))
        bench.battery = battery
        sent = board.tick(1, data)
        twin.advance((millisecond + 1) / 1000)
        twin.receive(data)
        if millisecond % 20 == 10:
            assert board.drive == (twin.drive.mode, pytest.approx(twin.drive.duty, abs=1e-4)), millisecond
        seen += [m for m in twin_codec.read(sent) if isinstance(m, Telemetry)]
    assert [m.number for m in seen] == list(range(90))
    reported = [m for m in AsobibaCodec().read(twin.take()) if isinstance(m, Telemetry)]
    for ours, theirs in zip(seen, reported, strict=True):
        assert (ours.drive, ours.link_timed_out, ours.reverse_limited) == (
            theirs.drive, theirs.link_timed_out, theirs.reverse_limited,
        )  # fmt: skip
    assert {m.drive.mode for m in seen} == set(DriveMode)


def test_a_low_battery_brakes_for_good(board):
    board.tick(1, board.codec.hello(5))
    for k in range(300):
        board.inputs(1500)
        sent = board.tick(10, board.codec.command(Command(5, k + 1, 10 * k, Drive(DriveMode.FORWARD, 0.5))))
        low = board.codec.read(sent)[-1].battery_low
        assert low == (k >= 200 + 50), k  # two seconds of a standing start, then half a second of frames
        assert board.drive[0] == (DriveMode.BRAKE if low else DriveMode.FORWARD)


def test_a_motor_that_starts_its_car_may_pull_the_battery_down(board):
    board.tick(1, board.codec.hello(5))
    number = 0

    def drive(steps, duty, millivolts):
        nonlocal number
        board.inputs(millivolts)
        for _ in range(steps):
            number += 1
            sent = board.tick(10, board.codec.command(Command(5, number, 10 * number, Drive(DriveMode.FORWARD, duty))))
        return board.codec.read(sent)[-1].battery_low

    assert not drive(180, 1.0, 1200)  # stalled, on healthy cells
    assert not drive(300, 1.0, 2200)
    assert not drive(40, 1.0, 1200)
    assert not drive(110, 0.0, 2900)  # a stand: the grace begins anew
    assert not drive(180, 1.0, 1200)
    assert not drive(60, 0.0, 2900)  # a pause does not
    assert drive(90, 1.0, 1200)


def test_a_pulse_is_reported_with_its_age(board):
    board.tick(95)
    board.inputs(2900, 7, 93_500)
    (frame,) = board.codec.read(board.tick(5))
    assert (frame.pulses, frame.pulse_age) == (7, pytest.approx(0.1 - 0.0935, abs=1e-5))
    (frame,) = board.codec.read(board.tick(700))[-1:]
    assert frame.pulse_age is None


@pytest.mark.parametrize(
    ("name", "address", "register", "identity", "first", "big", "per_g", "per_dps", "degrees"),
    [
        ("MPU-6050", 0x68, 0x75, 0x68, 0x3B, True, 2048.0, 16.4, 36.53 + 340 / 340),
        ("MPU-6500", 0x68, 0x75, 0x70, 0x3B, True, 2048.0, 16.4, 21 + 340 / 333.87),
        ("MPU-9250", 0x68, 0x75, 0x71, 0x3B, True, 2048.0, 16.4, 21 + 340 / 333.87),
        ("LSM6DS3", 0x6A, 0x0F, 0x69, 0x20, False, 1 / 0.488e-3, 1 / 0.07, 25 + 340 / 16),
        ("LSM6DS3TR-C", 0x6A, 0x0F, 0x6A, 0x20, False, 1 / 0.488e-3, 1 / 0.07, 25 + 340 / 256),
    ],
)
def test_every_sensor_is_found_by_its_name_and_read_by_its_map(
    library, tmp_path, name, address, register, identity, first, big, per_g, per_dps, degrees
):
    board = Board(library, tmp_path)
    order = "big" if big else "little"
    words = {"acc": [100, -200, 2048], "gyro": [5, -6, 32767], "temperature": [340]}
    parts = ("acc", "temperature", "gyro") if big else ("temperature", "gyro", "acc")
    data = b"".join(w.to_bytes(2, order, signed=True) for part in parts for w in words[part])
    board.sensor(address, register, bytes([identity]))
    board.sensor(address, first, data)
    board.begin()
    hello = next(m for m in board.codec.read(board.tick(2, board.codec.hello(9))) if isinstance(m, Hello))
    assert hello.sensor == identity
    assert hello.acceleration_scale == pytest.approx(per_g, rel=1e-3)
    assert hello.rate_scale == pytest.approx(per_dps, rel=1e-3)
    (frame,) = board.codec.read(board.tick(10))
    assert frame.raw == tuple(words["acc"] + words["gyro"])
    assert frame.temperature == pytest.approx(degrees, abs=0.15)
    assert not frame.sensor_fault
    # Both full scales are the widest: 16 g and 2000 degrees per second. Rate and filter are the nearest to the profile's:
    # 200 and 94 Hz, or 208 and 50 Hz.
    slow = "kImuBandwidthHz = 50;" in (library.parent / "portable" / "profile.h").read_text()
    if big:
        assert (board.register(0x1B) >> 3 & 3, board.register(0x1C) >> 3 & 3) == (3, 3)
        assert 1000 / (1 + board.register(0x19)) == 200
        assert board.register(0x1A) == (3 if slow else 2)  # 44 and 94 Hz
        assert identity == 0x68 or board.register(0x1D) == board.register(0x1A)
    else:
        assert (board.register(0x10) >> 2 & 3, board.register(0x11) >> 2 & 3) == (1, 3)
        assert board.register(0x10) >> 4 == board.register(0x11) >> 4 == 5  # 208 Hz
        if identity == 0x69:
            assert board.register(0x13) & 0x80  # what CTRL1_XL asks for holds
            assert board.register(0x10) & 3 == (3 if slow else 2)  # 50 and 100 Hz
        else:
            assert board.register(0x10) & 3 == (2 if slow else 0)  # a quarter and a half of the rate


def test_no_sensor_is_a_fault(library, tmp_path):
    board = Board(library, tmp_path)
    board.begin()
    (frame,) = board.codec.read(board.tick(10))
    assert frame.sensor_fault

"""The pages for people who build a car: the protocol's vectors read anew, the guide in two languages, the wiring."""

from __future__ import annotations

import math
import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from asobiba.api import Batch
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.car import BATTERY_R, MOTOR_R, VOLTAGE, WIRING_R, batteries, load_car, motors
from asobiba.envs.mini4wd.profile import BRIDGE_R, load_profile
from asobiba.envs.mini4wd.simulate import lap_run

ROOT = Path(__file__).parents[1]
DOCS, FIRMWARE = ROOT / "docs" / "mini4wd", ROOT / "firmware" / "mini4wd"
PROTOCOL = (DOCS / "protocol.md").read_text()

# The protocol, written from its page alone: no line of the program's is used.


def unstuffed(data: bytes) -> bytes:
    """COBS: a block begins with its length, and all but the last end in a zero that was taken out."""
    assert data.endswith(b"\0")
    out, rest = b"", data[:-1]
    assert 0 not in rest
    while rest:
        length = rest[0]
        out += rest[1:length] + (b"\0" if length < 0xFF and len(rest) > length else b"")
        rest = rest[length:]
    return out


def crc16(data: bytes) -> int:
    """CRC-16/IBM-3740, bit by bit."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def layouts() -> dict[tuple[str, str], str]:
    """The fields of each message as `struct` writes them, from the page's table."""
    rows = re.findall(r"^\| (host|car) \| (\w+) \| (\d+) \| (u8 .*) \|$", PROTOCOL, re.M)
    found = {}
    for sender, name, size, fields in rows:
        letters = "<"
        for field in fields.split(";"):
            kind, count = re.match(r"(u8|u16|u32|i16)(?: × (\d))?", field.strip()).groups()
            letters += {"u8": "B", "u16": "H", "u32": "I", "i16": "h"}[kind] * int(count or 1)
        assert struct.calcsize(letters) == int(size)
        found[sender, name] = letters
    return found


C, T, FREE = ord("C"), ord("T"), 3
VECTORS = [
    ("host", "hello", (ord("H"), 7, 2)),
    ("host", "command", (C, 7, 1, 1000, 1, 16384)),
    ("host", "command", (C, 7, 65535, 4294967295, 2, 32767)),
    ("host", "command", (C, 255, 256, 0, 0, 0)),
    ("host", "command", (C, 1, 2, 20, FREE, 0)),
    ("car", "hello", (ord("h"), 7, 2, 0x68, 10, 200, 100, 1, 20480, 1640)),
    ("car", "telemetry", (T, 7, 258, 1234567, 1, 420, 1, 16384, 0, 1, -2, 2048, 32767, -32768, 0, 2500, 2900, 12, 1230, 0, 0)),
    ("car", "telemetry", (T, 0, 0, 10000, 0, 65535, 0, 0, 1, 0, 0, 2048, 0, 0, 0, 2000, 3000, 0, 65535, 0, 0)),
    ("car", "telemetry", (T, 9, 65535, 2000000, 300, 65000, 0, 0, 15, *[-1] * 6, -550, 1500, 65535, 0, 255, 255)),
]  # fmt: skip


def test_the_vectors_say_what_the_page_says_they_do():
    assert crc16(b"123456789") == 0x29B1
    rows = re.findall(r"^\| (host|car) \| (\w+): .* \| `([0-9a-f ]+)` \|$", PROTOCOL, re.M)
    kinds = layouts()
    assert [(sender, name) for sender, name, _ in rows] == [(sender, name) for sender, name, _ in VECTORS]
    for (sender, name, data), (_, _, values) in zip(rows, VECTORS, strict=True):
        frame = unstuffed(bytes.fromhex(data))
        assert len(frame) <= 48
        assert crc16(frame[:-2]) == int.from_bytes(frame[-2:], "big")
        assert struct.unpack(kinds[sender, name], frame[:-2]) == values, name


# The guide


def sections(name: str) -> list[str]:
    text = re.sub(r"\]\([^)]*\)", "]", (DOCS / name).read_text())
    return re.split(r"^## .*$", text, flags=re.M)


def tables(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def test_both_languages_of_the_guide_say_the_same():
    english, japanese = sections("build.md"), sections("build.ja.md")
    assert len(english) == len(japanese) == 8
    for one, other in zip(english[1:], japanese[1:], strict=True):
        figures, theirs = (set(re.findall(r"\d+(?:\.\d+)?", text)) for text in (one, other))
        assert figures == theirs
        assert len(re.findall(r"^(?:\d\.|\*) ", one, re.M)) == len(re.findall(r"^(?:\d\.|\*) ", other, re.M))
        commands, theirs = (re.findall(r"^    ([^#\n]*)", text, re.M) for text in (one, other))
        assert [c.strip() for c in commands] == [c.strip() for c in theirs]
        rows, theirs = tables(one), tables(other)
        assert [len(row) for row in rows] == [len(row) for row in theirs]
        for row, same in zip(rows, theirs, strict=True):
            if row[1].endswith(" A"):
                assert row[1:] == same[1:]


def test_currents_are_those_of_the_motors():
    resistance = {"DRV8212P": 0.28, "DRV8850": 0.065, "without a bridge": 0.0}
    rows = [row for row in tables(sections("build.md")[1]) if row[1].endswith(" A")]
    assert len(rows) == 9
    for title, *cells in rows:
        motor = motors()[title.lower().replace("-", "_")]
        for cell, (bridge, ohms) in zip(cells, resistance.items(), strict=True):
            # 2.8 V through cells, bridge and winding.
            amperes = 2.8 / (batteries()["nimh"]["battery_resistance"] + ohms + motor["resistance"])
            assert float(cell.removesuffix(" A")) == pytest.approx(amperes, abs=0.051), (title, bridge)


def test_the_leagues_car_is_the_one_of_the_guide():
    car, electronics, guide = load_car("dash").values, load_profile("atmega328p").values, sections("build.md")[2]
    weights = [int(row[2].removesuffix(" g")) for row in tables(guide) if row[2].endswith(" g")]
    assert sum(weights) == pytest.approx(1000 * car["mass"], abs=1)
    stall = car["voltage"] / (
        car["resistance"] + electronics["bridge_resistance"] + car["battery_resistance"] + car["wiring_resistance"]
    )
    for text in (
        f"has {electronics['bridge_resistance']:g} Ω, the cells {car['battery_resistance']:g} Ω",
        f"wires {car['wiring_resistance']:g} Ω: at the start the motor draws {stall:.1f} A",
        f"balance {1000 * car['cg_rear']:.0f} mm ahead",
        f"centre is {1000 * car['cg_height']:.0f} mm high",
    ):
        assert text in re.sub(r"\s+", " ", guide)
    ohms = car["voltage"] / stall
    volts = car["torque_constant"] * car["gear_ratio"] / (car["tyre_diameter"] / 2)  # a m/s
    for text in (
        f"4 m/s draws {(car['voltage'] + 4 * volts) / ohms:.1f} A",
        f"from {(4 * ohms - car['voltage']) / volts:.2f} m/s on",
    ):
        assert text in re.sub(r"\s+", " ", guide)
    tips = math.degrees(math.atan(car["tread"] / 2 / car["cg_height"]))
    assert 60 <= tips < 61
    assert math.degrees(math.atan(car["tread"] / 2 / 0.022)) == pytest.approx(55, abs=1)
    three_laps = [
        lap_run("dash", "junior_hill", 0.6, lane=1, profile=profile).finish_time
        for profile in (
            "atmega328p",
            {"base": "atmega328p", "bridge_resistance": 0, "brake_resistance": 0, "dead_time": 0},
        )
    ]
    assert three_laps == pytest.approx([12.3, 9.5], abs=0.06)


def test_the_guide_says_how_many_cars_start_with_more_than_the_bridge_can_carry():
    batch = Batch(GAME.ruleset(course="junior_hill", car="dash"), 20_000)
    batch.reset(seed=1)
    car, electronics = batch.states["car"][:, 0], batch.states["sensor"][:, 0]
    ohms = car[:, MOTOR_R] + car[:, BATTERY_R] + car[:, WIRING_R] + electronics[:, BRIDGE_R]
    share = float(np.mean(car[:, VOLTAGE] / ohms > 4.0))
    assert f"draw around this one, {share:.1%} start with more".replace("%", " %") in sections("build.md")[2]


def test_the_wiring_is_the_programs():
    labels = {e.text for e in ElementTree.parse(DOCS / "schematic.svg").iter() if e.text and e.text.strip()}
    source = {name: (FIRMWARE / "src" / f"{name}.cpp").read_text() for name in ("bridge", "inputs", "twi", "motor")}
    readme = (FIRMWARE / "README.md").read_text()
    guides = [(DOCS / name).read_text() for name in ("build.md", "build.ja.md")]
    # Pins of the ATmega328P: what the program names, and what an Arduino's board calls it.
    for file, code, pin in [
        ("bridge", "kIn1 = _BV(PB1)", "D9"), ("bridge", "kIn2 = _BV(PB2)", "D10"), ("inputs", "ISR(INT0_vect)", "D2"),
        ("inputs", "ADMUX = _BV(REFS0);", "A0"),
    ]:  # fmt: skip
        assert code in source[file]
        assert pin in labels
        assert pin in readme
        assert all(pin in guide for guide in guides)
    assert "PORTC |= _BV(PC4) | _BV(PC5)" in source["twi"]
    assert {"A4 SDA", "A5 SCL", "D0, D1", "IN1", "IN2", "switch", "nSLEEP to VCC: awake"} <= labels
    board = (FIRMWARE / "esp32" / "main" / "board.h").read_text()
    pins = re.findall(
        r"kIn1 = (\d+), kIn2 = (\d+), kSda = (\d+), kScl = (\d+), kTachometer = (\d+), .*// GPIO(\d+)", board
    )
    table = tables((FIRMWARE / "esp32" / "README.md").read_text())
    columns = {"DevKitC (ESP32)": pins[0], "XIAO ESP32-S3": pins[1], "XIAO ESP32-C3": pins[2]}
    for place, title in enumerate(table[0][1:], 1):
        told = [n for row in (table[2], table[3], table[5], table[4]) for n in re.findall(r"GPIO(\d+)", row[place])]
        assert tuple(told) == columns[title]

"""The wire protocols of the mini 4WD: every message both ways, and what damaged bytes do."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asobiba.envs.mini4wd.hardware.codec import (
    AiChipCodec,
    AsobibaCodec,
    Command,
    Drive,
    DriveMode,
    Hello,
    Telemetry,
    frame,
    make_codec,
    unframe,
)


def telemetry(number: int = 0, time: float = 1.0, **changes) -> Telemetry:
    values = {
        "session": 7, "number": number, "car_time": time, "acknowledged": 3, "age": 0.0042,
        "drive": Drive(DriveMode.FORWARD, 0.5), "link_timed_out": False, "reverse_limited": False,
        "sensor_fault": False, "acceleration": (0, 0, 0), "rate": (0, 0, 0), "raw": (1, -2, -2048, 32767, -32768, 0),
        "temperature": 25.0, "battery": 2.9, "pulses": 12, "pulse_age": 0.0123,
        "battery_low": True, "damaged": 1, "refused": 2,
    }  # fmt: skip
    return Telemetry(**{**values, **changes})


def test_crc_is_the_published_one():
    # CRC-16/IBM-3740, also called CCITT-FALSE: check value 0x29B1 of "123456789" (reveng.sourceforge.io/crc-catalogue).
    decoded = frame(b"123456789")
    assert unframe(decoded[:-1]) == b"123456789"
    assert decoded[-3:-1] == b"\x29\xb1"


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=60))
def test_frames_hold_no_zero_and_come_back(payload):
    framed = frame(payload)
    assert framed.count(0) == 1
    assert framed.endswith(b"\0")
    assert unframe(framed[:-1]) == payload


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=40), st.data())
def test_a_damaged_frame_is_refused(payload, data):
    framed = bytearray(frame(payload)[:-1])
    place = data.draw(st.integers(0, len(framed) - 1))
    framed[place] ^= 1 << data.draw(st.integers(0, 7))
    assert unframe(bytes(framed)) != payload or bytes(framed) == frame(payload)[:-1]


def test_own_protocol_carries_every_field():
    car, host = AsobibaCodec(), AsobibaCodec()
    sent = telemetry()
    (received,) = host.read(car.telemetry(sent))
    assert received.raw == sent.raw
    assert received.acceleration[2] == -1.0
    assert received.rate[0] == pytest.approx(32767 / 16.4)
    for name in (
        "session",
        "number",
        "car_time",
        "acknowledged",
        "battery",
        "pulses",
        "battery_low",
        "damaged",
        "refused",
    ):
        assert getattr(received, name) == getattr(sent, name)
    assert received.age == pytest.approx(sent.age, abs=1e-5)
    assert received.pulse_age == pytest.approx(sent.pulse_age, abs=1e-5)
    assert received.drive.duty == pytest.approx(0.5, abs=1e-4)
    hello = Hello(9, 1, 0x69, 0.01, 0.2, 0.1, 4, 2049.2, 14.29)
    assert host.read(car.answer(hello)) == [hello]
    assert host.acceleration_scale == 2049.2
    command = Command(7, 65535, 2**32 - 1, Drive(DriveMode.REVERSE, 0.25))
    assert car.read_commands(host.hello(9) + host.command(command))[0] == 9
    (again,) = car.read_commands(host.command(command))
    assert (again.session, again.number, again.host_ms, again.drive.mode) == (7, 65535, 2**32 - 1, DriveMode.REVERSE)
    assert again.drive.duty == pytest.approx(0.25, abs=1e-4)


def test_ai_chip_frames_have_the_published_layout():
    command = AiChipCodec().command(Command(0, 0, 0, Drive(DriveMode.REVERSE, 1.0)))
    assert command == b"cmd\x00" + struct.pack("<h", -32767) + bytes(4)
    assert AiChipCodec().command(Command(0, 0, 0, Drive(DriveMode.BRAKE))) == b"cmd" + bytes(7)
    data = AiChipCodec().telemetry(telemetry(number=200, fields=(("is_curve", 1.0), ("logic_battery", 3.8))))
    assert len(data) == 43
    assert data[:7] == bytes([0xFF, 0xFF, 0x52, 0x54, 0x34, 0x57, 0x00])
    assert data[7] == 200
    assert struct.unpack_from("<3h", data, 8) == (1, -2, -2048)
    assert struct.unpack_from("<3h", data, 16) == (32767, -32768, 0)
    assert struct.unpack_from("<h", data, 30)[0] == 16384
    assert data[33] == 1
    assert struct.unpack_from("<I", data, 35)[0] == 1000
    assert struct.unpack_from("<H", data, 41)[0] == round(2.9 * 13107)
    (received,) = AiChipCodec().read(data)
    assert dict(received.fields)["is_curve"] == 1
    assert received.battery == pytest.approx(2.9, abs=1e-4)
    assert received.acceleration[2] == -1.0
    assert received.session is None


@pytest.mark.parametrize("name", ["asobiba", "aichip"])
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_readers_survive_any_bytes_and_any_pieces(name, data):
    # Garbage without a frame's end, then six good frames: the reader never raises, and believes the last ones again.
    car, host = make_codec(name), make_codec(name)
    noise = data.draw(st.binary(max_size=300))
    good = b"".join(car.telemetry(telemetry(number=k, time=1 + 0.05 * k)) for k in range(6))
    stream = noise + good
    cut = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    received = []
    for start, end in zip([0, *cut], [*cut, len(stream)], strict=True):
        received += host.read(stream[start:end])
    numbers = [message.number for message in received if isinstance(message, Telemetry)]
    assert numbers[-3:] == [3, 4, 5]


def test_ai_chip_doubts_a_frame_that_does_not_go_on():
    car, host = AiChipCodec(), AiChipCodec()
    frames = [car.telemetry(telemetry(number=k, time=1 + 0.05 * k)) for k in range(6)]
    damaged = bytearray(frames[2])
    damaged[36] ^= 0x40  # its clock jumps by 16 s
    impossible = bytearray(frames[3])
    impossible[42] = 0xFF  # a motor battery of 5 V
    received = host.read(frames[0] + frames[1] + bytes(damaged) + bytes(impossible) + frames[4] + frames[5])
    assert [message.number for message in received] == [0, 1, 4, 5]
    assert host.bad == 2
    # A chip that was switched off and on again is believed from its second frame on, without losing the first.
    restarted = [car.telemetry(telemetry(number=k, time=0.05 * k)) for k in range(3)]
    assert [m.number for m in host.read(b"".join(restarted))] == [0, 1, 2]


def test_unknown_codec_is_named():
    with pytest.raises(ValueError, match=r"'xbee'.*'asobiba', 'aichip'"):
        make_codec("xbee")

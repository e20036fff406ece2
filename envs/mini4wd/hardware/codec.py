"""Messages on the wire, and the two codecs that turn them into bytes and back.

`AsobibaCodec` speaks with `firmware/mini4wd`: COBS frames with CRC-16, numbered both ways. `AiChipCodec` speaks with
RT Corporation's AI chip (RT-AICHIP): commands of 10 bytes, telemetry of 43 bytes, neither with a checksum
(github.com/rt-net/AIchip).

Readers take bytes as they come, in pieces of any size, and never raise: unreadable bytes are counted and skipped.
"""

from __future__ import annotations

import binascii
import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum

from asobiba.core import MissingExtra

try:
    from cobs import cobs
except ImportError as error:
    raise MissingExtra(error.name or "cobs", "hil") from error

FULL_DUTY = 32767
"""A duty of 1 on the wire."""


class DriveMode(IntEnum):
    """Drive modes of the motor; the numbers are those on the wire."""

    BRAKE = 0
    FORWARD = 1
    REVERSE = 2
    FREE = 3


@dataclass(frozen=True, slots=True)
class Drive:
    """A command to the motor: a mode, and a duty in [0, 1] for forward and reverse."""

    mode: DriveMode
    duty: float = 0.0

    @property
    def signed(self) -> float:
        """The duty with the sign of the direction; 0 for brake and free."""
        return {DriveMode.FORWARD: self.duty, DriveMode.REVERSE: -self.duty}.get(self.mode, 0.0)


STOP = Drive(DriveMode.BRAKE)


@dataclass(frozen=True, slots=True)
class Command:
    """Host to car: number (counts around at 2^16), host time in ms, and what to do."""

    session: int
    number: int
    host_ms: int
    drive: Drive


@dataclass(frozen=True, slots=True)
class Hello:
    """Car to host: the car's identity and its limits. Scales are LSB per g and LSB per degree per second."""

    session: int
    version: int
    sensor: int
    telemetry_period: float
    link_timeout: float
    reverse_limit: float
    reset_cause: int
    acceleration_scale: float
    rate_scale: float


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Car to host: the car's sensors and present command.

    `number` counts around. `car_time` in s. `acknowledged` is the number of the last command obeyed, `age` the time
    since then in s (`None`: not known). `acceleration` in g and `rate` in degrees per second, each x, y, z; both also
    as `raw`, six integers. `temperature` in degrees Celsius, `battery` (the motor's) in V, `pulses` of the tachometer and
    `pulse_age`, how long ago the last of them came, s (`None`: longer than 0.65 s). `battery_low`: the car brakes for good.
    `damaged` and `refused` count the car's bad frames and stale commands. `fields` has what only one codec knows.
    """

    session: int | None
    number: int
    car_time: float
    acknowledged: int | None
    age: float | None
    drive: Drive
    link_timed_out: bool
    reverse_limited: bool
    sensor_fault: bool
    acceleration: tuple[float, float, float]
    rate: tuple[float, float, float]
    raw: tuple[int, ...]
    temperature: float
    battery: float
    pulses: int | None = None
    pulse_age: float | None = None
    battery_low: bool = False
    damaged: int = 0
    refused: int = 0
    fields: tuple[tuple[str, float], ...] = ()


Message = Hello | Telemetry


class Codec(ABC):
    """One protocol, both ends of it: the car's end is what the simulated car speaks.

    `good`, `bad` and `skipped` count frames read, frames refused, and bytes passed over.
    """

    name: str
    modulus: int
    """Telemetry numbers count around at this."""
    confirms: bool
    """Whether telemetry names the command that the car obeys, and hellos are answered."""

    def __init__(self) -> None:
        self.good = self.bad = self.skipped = 0

    @abstractmethod
    def command(self, command: Command) -> bytes:
        """A command as bytes."""

    @abstractmethod
    def hello(self, session: int) -> bytes:
        """The question that opens a session; empty where the protocol has none."""

    @abstractmethod
    def read(self, data: bytes) -> list[Message]:
        """The car's messages that these bytes complete."""

    @abstractmethod
    def read_commands(self, data: bytes) -> list[Command | int]:
        """The car's end: commands (and sessions that open, as integers) that these bytes complete."""

    @abstractmethod
    def telemetry(self, message: Telemetry) -> bytes:
        """The car's end: telemetry as bytes; the sensor's values are taken from `raw`."""

    @abstractmethod
    def answer(self, message: Hello) -> bytes:
        """The car's end: the answer to `hello`; empty where the protocol has none."""


def _wire_duty(duty: float) -> int:
    return round(min(max(duty, 0.0), 1.0) * FULL_DUTY)


class _Frames:
    """Takes COBS frames apart: bytes in, payloads out whose CRC is right."""

    LONGEST = 64

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._overflow = False

    def take(self, data: bytes, codec: Codec) -> list[bytes]:
        payloads = []
        *ended, rest = data.split(b"\0")
        for part in ended:
            self._add(part, codec)
            frame = bytes(self._buffer)
            if frame or self._overflow:
                payload = None if self._overflow else unframe(frame)
                if payload is None:
                    codec.bad += 1
                    codec.skipped += len(frame) + 1
                else:
                    payloads.append(payload)
            self._buffer.clear()
            self._overflow = False
        self._add(rest, codec)
        return payloads

    def _add(self, part: bytes, codec: Codec) -> None:
        room = self.LONGEST - len(self._buffer)
        if len(part) > room:
            self._overflow = True
            codec.skipped += len(part) - max(room, 0)
        self._buffer += part[: max(room, 0)]


def _crc16(data: bytes) -> int:
    return binascii.crc_hqx(data, 0xFFFF)  # CRC-16/IBM-3740


def frame(payload: bytes) -> bytes:
    """COBS of the payload and its CRC-16/IBM-3740 (high byte first), then a zero byte."""
    return cobs.encode(payload + _crc16(payload).to_bytes(2, "big")) + b"\0"


def unframe(data: bytes) -> bytes | None:
    """The payload of one frame (without its zero byte), or `None` if it is damaged."""
    try:
        decoded = cobs.decode(data)
    except cobs.DecodeError:
        return None
    if len(decoded) < 3 or _crc16(decoded[:-2]) != int.from_bytes(decoded[-2:], "big"):
        return None
    return decoded[:-2]


class AsobibaCodec(Codec):
    """The protocol of `firmware/mini4wd`; its messages are written down in `firmware/mini4wd/src/link.h`."""

    name = "asobiba"
    modulus = 1 << 16
    confirms = True
    VERSION = 2

    _BREAK = b"\0"
    """Sent before a frame: it ends whatever half frame the car has still got."""
    _HELLO = struct.Struct("<BBB")
    _COMMAND = struct.Struct("<BBHIBH")
    _ANSWER = struct.Struct("<8B2H")
    _TELEMETRY = struct.Struct("<BBHIHHBHB6hhHHHBB")
    _LINK_TIMED_OUT, _REVERSE_LIMITED, _SENSOR_FAULT, _BATTERY_LOW = 1, 2, 4, 8

    def __init__(self) -> None:
        super().__init__()
        self._frames = _Frames()
        self._car_frames = _Frames()
        # Until the car has said which sensor it has: an MPU-6050's.
        self.acceleration_scale = 2048.0
        self.rate_scale = 16.4

    def command(self, command: Command) -> bytes:
        drive = command.drive
        return self._BREAK + frame(
            self._COMMAND.pack(
                ord("C"), command.session, command.number & 0xFFFF, command.host_ms & 0xFFFFFFFF,
                drive.mode, _wire_duty(drive.duty),
            )
        )  # fmt: skip

    def hello(self, session: int) -> bytes:
        return self._BREAK + frame(self._HELLO.pack(ord("H"), session, self.VERSION))

    def read(self, data: bytes) -> list[Message]:
        messages: list[Message] = []
        for payload in self._frames.take(data, self):
            message = self._message(payload)
            if message is None:
                self.bad += 1
            else:
                self.good += 1
                messages.append(message)
        return messages

    def _message(self, payload: bytes) -> Message | None:
        if payload[0] == ord("h") and len(payload) == self._ANSWER.size:
            _, session, version, sensor, period, timeout, reverse, cause, acceleration, rate = self._ANSWER.unpack(
                payload
            )
            if acceleration and rate:
                self.acceleration_scale, self.rate_scale = acceleration / 10, rate / 100
            return Hello(
                session, version, sensor, period / 1000, timeout / 1000, reverse / 1000, cause,
                acceleration / 10, rate / 100,
            )  # fmt: skip
        if payload[0] != ord("T") or len(payload) != self._TELEMETRY.size:
            return None
        _, session, number, time_us, acknowledged, age, mode, duty, flags, *rest = self._TELEMETRY.unpack(payload)
        raw = tuple(rest[:6])
        temperature, battery, pulses, pulse_age, damaged, refused = rest[6:]
        if mode > DriveMode.FREE:
            return None
        return Telemetry(
            session=session,
            number=number,
            car_time=time_us / 1e6,
            acknowledged=None if age == 0xFFFF and acknowledged == 0 else acknowledged,
            age=None if age == 0xFFFF else age / 1e5,
            drive=Drive(DriveMode(mode), duty / FULL_DUTY),
            link_timed_out=bool(flags & self._LINK_TIMED_OUT),
            reverse_limited=bool(flags & self._REVERSE_LIMITED),
            sensor_fault=bool(flags & self._SENSOR_FAULT),
            acceleration=tuple(v / self.acceleration_scale for v in raw[:3]),
            rate=tuple(v / self.rate_scale for v in raw[3:]),
            raw=raw,
            temperature=temperature / 100,
            battery=battery / 1000,
            pulses=pulses,
            pulse_age=None if pulse_age == 0xFFFF else pulse_age / 1e5,
            battery_low=bool(flags & self._BATTERY_LOW),
            damaged=damaged,
            refused=refused,
        )

    def read_commands(self, data: bytes) -> list[Command | int]:
        found: list[Command | int] = []
        for payload in self._car_frames.take(data, self):
            if payload[0] == ord("H") and len(payload) == self._HELLO.size:
                _, session, version = self._HELLO.unpack(payload)
                if version == self.VERSION and session:
                    found.append(session)
                    continue
            elif payload[0] == ord("C") and len(payload) == self._COMMAND.size:
                _, session, number, host_ms, mode, duty = self._COMMAND.unpack(payload)
                if mode <= DriveMode.FREE:
                    drive = Drive(DriveMode(mode), min(duty, FULL_DUTY) / FULL_DUTY)
                    found.append(Command(session, number, host_ms, drive))
                    continue
            self.bad += 1
        return found

    def telemetry(self, message: Telemetry) -> bytes:
        flags = (
            self._LINK_TIMED_OUT * message.link_timed_out
            | self._REVERSE_LIMITED * message.reverse_limited
            | self._SENSOR_FAULT * message.sensor_fault
            | self._BATTERY_LOW * message.battery_low
        )
        pulse_age = 0xFFFF if message.pulse_age is None else min(int(message.pulse_age * 1e5), 0xFFFF)
        age = 0xFFFF if message.age is None else min(int(message.age * 1e5), 0xFFFF)
        return frame(
            self._TELEMETRY.pack(
                ord("T"), message.session or 0, message.number % self.modulus,
                round(message.car_time * 1e6) & 0xFFFFFFFF, (message.acknowledged or 0) & 0xFFFF, age,
                message.drive.mode, _wire_duty(message.drive.duty), flags, *message.raw,
                round(message.temperature * 100), round(message.battery * 1000), (message.pulses or 0) & 0xFFFF, pulse_age,
                message.damaged & 0xFF, message.refused & 0xFF,
            )
        )  # fmt: skip

    def answer(self, message: Hello) -> bytes:
        return frame(
            self._ANSWER.pack(
                ord("h"), message.session, message.version, message.sensor, round(message.telemetry_period * 1000),
                round(message.link_timeout * 1000), round(message.reverse_limit * 1000), message.reset_cause,
                round(message.acceleration_scale * 10), round(message.rate_scale * 100),
            )
        )  # fmt: skip


class AiChipCodec(Codec):
    """RT Corporation's AI chip: 10-byte commands, 43-byte telemetry every 50 ms, no checksum in either direction.

    A frame is believed if its seven marker bytes are there, its values are possible, and its counter and clock go on
    from the frame before; one that does not go on is believed once the next frame goes on from it. The chip knows a
    duty but no modes: brake and free are sent as duty 0. Its program has no link watchdog that is written down:
    only the host's limits hold, so a person must be able to reach the car's switch.
    """

    name = "aichip"
    modulus = 1 << 8
    confirms = False

    MAGIC = b"\xff\xff\x52\x54\x34\x57\x00"
    LENGTH = 43
    _COMMAND = struct.Struct("<3sBh4x")
    _BODY = struct.Struct("<B3hh3h3hhhBBBIHH")
    ACCELERATION_SCALE, RATE_SCALE, VOLT_SCALE = 2048.0, 16.4, 13107.0
    MAGNETIC_SCALE = 0.3
    _LEAST_PERIOD, _MOST_PERIOD = 0.03, 0.08
    """A frame comes 46 to 58 ms after the one before in recorded logs (github.com/KobaTaii/mini4wd-env-recg)."""

    def __init__(self) -> None:
        super().__init__()
        self._buffer = bytearray()
        self._car_buffer = bytearray()
        self._last: tuple[int, float] | None = None
        self._candidate: Telemetry | None = None

    def command(self, command: Command) -> bytes:
        return self._COMMAND.pack(b"cmd", 0, round(command.drive.signed * FULL_DUTY))

    def hello(self, session: int) -> bytes:
        return b""

    def answer(self, message: Hello) -> bytes:
        return b""

    def read(self, data: bytes) -> list[Message]:
        self._buffer += data
        messages: list[Message] = []
        while True:
            start = self._buffer.find(self.MAGIC)
            if start < 0:
                keep = next((k for k in range(len(self.MAGIC) - 1, 0, -1) if self._buffer.endswith(self.MAGIC[:k])), 0)
                self.skipped += len(self._buffer) - keep
                del self._buffer[: len(self._buffer) - keep]
                return messages
            self.skipped += start
            del self._buffer[:start]
            if len(self._buffer) < self.LENGTH:
                return messages
            message = self._telemetry(bytes(self._buffer[: self.LENGTH]))
            if message is None:
                self.bad += 1
                self.skipped += len(self.MAGIC)
                del self._buffer[: len(self.MAGIC)]  # the true frame may begin inside
                continue
            del self._buffer[: self.LENGTH]
            messages += self._believe(message)

    def _telemetry(self, data: bytes) -> Telemetry | None:
        values = self._BODY.unpack(data[len(self.MAGIC) :])
        number, raw = values[0], values[1:4] + values[5:8]
        temperature = values[4] / 340 + 35
        magnetic, angle, duty = values[8:11], values[11], values[12]
        flags, time_ms, lipo, motor = (
            values[13:16],
            values[16],
            values[17] / self.VOLT_SCALE,
            values[18] / self.VOLT_SCALE,
        )
        possible = -40 <= temperature <= 85 and max(flags) <= 1 and lipo <= 4.5 and motor <= 4.5 and duty >= -FULL_DUTY
        if not possible:
            return None
        mode = DriveMode.FORWARD if duty > 0 else DriveMode.REVERSE if duty < 0 else DriveMode.BRAKE
        return Telemetry(
            session=None,
            number=number,
            car_time=time_ms / 1000,
            acknowledged=None,
            age=None,
            drive=Drive(mode, abs(duty) / FULL_DUTY),
            link_timed_out=False,
            reverse_limited=False,
            sensor_fault=False,
            acceleration=tuple(v / self.ACCELERATION_SCALE for v in raw[:3]),
            rate=tuple(v / self.RATE_SCALE for v in raw[3:]),
            raw=raw,
            temperature=temperature,
            battery=motor,
            fields=(
                *((f"magnetic_{axis}", v * self.MAGNETIC_SCALE) for axis, v in zip("xyz", magnetic, strict=True)),
                ("angle", float(angle)),
                *((name, float(v)) for name, v in zip(("is_stop", "is_curve", "is_slope"), flags, strict=True)),
                ("logic_battery", lipo),
            ),
        )

    def _goes_on(self, before: tuple[int, float], message: Telemetry) -> bool:
        frames = (message.number - before[0]) % self.modulus
        elapsed = message.car_time - before[1]
        return frames > 0 and self._LEAST_PERIOD * frames <= elapsed <= self._MOST_PERIOD * frames

    def _believe(self, message: Telemetry) -> list[Telemetry]:
        here = (message.number, message.car_time)
        believed = []
        if self._last is None or self._goes_on(self._last, message):
            believed = [message]
        elif self._candidate is not None and self._goes_on((self._candidate.number, self._candidate.car_time), message):
            believed = [self._candidate, message]
            self.bad -= 1
        if not believed:
            self._candidate = message
            self.bad += 1
            return []
        self._candidate = None
        self._last = here
        self.good += len(believed)
        return believed

    def read_commands(self, data: bytes) -> list[Command | int]:
        self._car_buffer += data
        found: list[Command | int] = []
        while (start := self._car_buffer.find(b"cmd")) >= 0 and len(self._car_buffer) - start >= self._COMMAND.size:
            _, kind, duty = self._COMMAND.unpack(self._car_buffer[start : start + self._COMMAND.size])
            del self._car_buffer[: start + self._COMMAND.size]
            if kind == 0:
                mode = DriveMode.FORWARD if duty > 0 else DriveMode.REVERSE if duty < 0 else DriveMode.BRAKE
                found.append(Command(0, 0, 0, Drive(mode, min(abs(duty), FULL_DUTY) / FULL_DUTY)))
        if start < 0:
            del self._car_buffer[:-2]
        return found

    def telemetry(self, message: Telemetry) -> bytes:
        extra = dict(message.fields)
        body = self._BODY.pack(
            message.number % self.modulus, *message.raw[:3], round((message.temperature - 35) * 340), *message.raw[3:],
            *(round(extra.get(f"magnetic_{axis}", 0) / self.MAGNETIC_SCALE) for axis in "xyz"),
            round(extra.get("angle", 0)), round(message.drive.signed * FULL_DUTY),
            *(round(extra.get(name, 0)) for name in ("is_stop", "is_curve", "is_slope")),
            round(message.car_time * 1000) & 0xFFFFFFFF,
            round(extra.get("logic_battery", 3.8) * self.VOLT_SCALE), round(message.battery * self.VOLT_SCALE),
        )  # fmt: skip
        return self.MAGIC + body


CODECS: dict[str, type[Codec]] = {codec.name: codec for codec in (AsobibaCodec, AiChipCodec)}


def make_codec(name: str) -> Codec:
    """A fresh codec by name.

    Raises:
        ValueError: for another name.
    """
    if name not in CODECS:
        raise ValueError(f"codec is {name!r}; it must be one of {', '.join(map(repr, CODECS))}")
    return CODECS[name]()

"""The conversation with a car: sessions, numbered commands, the newest frame, and the quality of the link."""

from __future__ import annotations

import contextlib
import secrets
from collections import deque
from dataclasses import dataclass, field

from asobiba.envs.mini4wd.hardware.codec import STOP, Codec, Command, Drive, Hello, Telemetry
from asobiba.envs.mini4wd.hardware.transport import LinkError, Transport


@dataclass
class LinkCounts:
    """Counts of a link since it was opened."""

    sent: int = 0
    send_failures: int = 0
    received: int = 0
    lost: int = 0
    doubled: int = 0
    reordered: int = 0
    late: int = 0
    reopened: int = 0
    round_trips: deque[float] = field(default_factory=lambda: deque(maxlen=100_000))


class Link:
    """Commands out, telemetry in, over one transport. Not for use by several threads.

    Every command is newly made when it is sent, with the next number; none is ever kept to be sent again, and what the
    port has not yet sent of an old one is dropped first when the car does not confirm.

    Args:
        codec: the protocol.
        transport: the way to the car; the link opens and closes it.
        timeout: without a valid frame for so long the link is lost, s.
        session: number before that of the first session, 1 to 255; drawn by default. Every `open` begins another one.
    """

    REOPEN_EVERY = 0.05
    LATE = 0.1
    """A frame that comes so much later than the fastest one, s, is ignored: its contents are out of date."""
    DRIFT = 0.01
    """The two clocks may drift apart by this share."""

    def __init__(self, codec: Codec, transport: Transport, timeout: float = 0.2, session: int | None = None):
        self.codec = codec
        self.transport = transport
        self.timeout = timeout
        self.session = session or secrets.randbelow(255) + 1
        self.counts = LinkCounts()
        self.hello: Hello | None = None
        self.newest: Telemetry | None = None
        self.newest_at = float("-inf")
        self.down: str | None = "it has not been opened"
        self.restarted = False
        self.gap = 0.0
        self._number = 0
        self._sent_at: dict[int, float] = {}
        self._acknowledged: int | None = None
        self._last_car_time: float | None = None
        self._fastest: tuple[float, float] | None = None
        self._reopen_at = float("-inf")

    # -- opening and closing

    def open(self, patience: float = 5.0) -> None:
        """Opens the port and greets the car, which brakes and counts its commands from anew.

        Args:
            patience: how long to wait for an answer, s; an Arduino restarts when its port is opened, and its boot
                loader waits up to 2 s.

        Raises:
            LinkError: if the port cannot be opened or nobody answers in time.
        """
        end = self.transport.now() + patience
        self._forget()
        if self.down is not None:
            while not self.transport.open():
                now = self.transport.now()
                if now >= end:
                    reason = getattr(self.transport, "failure", "")
                    raise LinkError(f"cannot open {getattr(self.transport, 'port', 'the port')}: {reason}")
                self.transport.sleep_until(now + self.REOPEN_EVERY)
            self.down = None
        # A new session, so that bytes of the last one on the wire are ignored.
        self.session = self.session % 255 + 1
        self._drain()
        greeted_at = float("-inf")
        while True:
            now = self.transport.now()
            if now >= end:
                raise LinkError(
                    f"no car answers within {patience} s: {self.counts.received} valid frames, {self.codec.bad} bad "
                    f"ones, {self.codec.skipped} bytes passed over. Is it switched on? Is the codec "
                    f"{self.codec.name!r} and the baud rate right?"
                )
            try:
                if now - greeted_at >= 0.1:
                    greeted_at = now
                    self.send(STOP) if not self.codec.confirms else self._greet()
                self.receive(now + 0.02)
            except LinkError as error:
                self.down = str(error)
            if self.down is not None:
                self._reopen()
            if self.newest is not None and (self.hello is not None or not self.codec.confirms):
                return

    def _drain(self) -> None:
        for _ in range(64):
            try:
                if not self.transport.read(float("-inf"))[1]:
                    return
            except LinkError as error:
                self.down = str(error)
                return

    def _greet(self) -> None:
        self.transport.write(self.codec.hello(self.session))

    def _forget(self) -> None:
        self.hello = None
        self.newest = None
        self.newest_at = float("-inf")
        self.restarted = False
        self.gap = 0.0
        self._number = 0
        self._sent_at.clear()
        self._acknowledged = self._last_car_time = self._fastest = None

    def _reopen(self) -> None:
        now = self.transport.now()
        if now < self._reopen_at:
            return
        self._reopen_at = now + self.REOPEN_EVERY
        if self.transport.open():
            self.counts.reopened += 1
            self.down = None

    def close(self) -> None:
        """Brakes the car, as well as the link allows, and gives the port back."""
        self.brake()
        self.transport.close()
        self.down = "it has been closed"

    # -- sending

    def send(self, drive: Drive) -> float | None:
        """Sends a command; returns its time, or `None` if the port did not take it."""
        if self.down is not None:
            return None
        self._number = (self._number + 1) & 0xFFFF
        if self.codec.confirms and self._unconfirmed() > 3:
            self.transport.discard_unsent()
        now = self.transport.now()
        self.counts.sent += 1
        try:
            data = self.codec.command(Command(self.session, self._number, int(now * 1000), drive))
            self._sent_at[self._number] = self.transport.write(data)
        except LinkError:
            self.counts.send_failures += 1
            return None
        if len(self._sent_at) > 1000:
            del self._sent_at[next(iter(self._sent_at))]
        return now

    def _unconfirmed(self) -> int:
        return (self._number - (self._acknowledged or 0)) & 0xFFFF

    def brake(self) -> None:
        """Asks for short-brake several times, so that one lost frame does not matter. Never raises."""
        with contextlib.suppress(Exception):
            self.transport.discard_unsent()
            for _ in range(3):
                self.send(STOP)
                if self.down is None:
                    self.receive(self.transport.now() + 0.003)

    # -- receiving

    def receive(self, deadline: float) -> list[tuple[float, Telemetry]]:
        """Takes in what comes until `deadline`; returns the frames worth having, with their times of arrival.

        Doubled, reordered and late frames are counted and passed over, damaged ones are the codec's to refuse. A port
        that fails is opened again every 50 ms; the time passes all the same.
        """
        frames: list[tuple[float, Telemetry]] = []
        while True:
            if self.down is not None:
                self._reopen()
            try:
                if self.down is not None:
                    now = self.transport.now()
                    if now >= deadline:
                        return frames
                    self.transport.sleep_until(min(deadline, now + 0.005))
                    continue
                time, data = self.transport.read(deadline)
            except LinkError as error:
                self.down = str(error)
                continue
            if not data:
                return frames
            for message in self.codec.read(data):
                if isinstance(message, Hello):
                    if message.session == self.session:
                        self.hello = message
                elif self._take(message, time):
                    frames.append((time, message))
            if time >= deadline:
                return frames

    def _take(self, message: Telemetry, time: float) -> bool:
        if self.codec.confirms and message.session != self.session:
            # A restarted car has no session and obeys no command until it is greeted.
            if self.hello is not None and message.session == 0:
                self.restarted = True
            return False
        newest = self.newest
        if newest is not None:
            modulus = self.codec.modulus
            step = (message.number - newest.number) % modulus
            if step == 0:
                self.counts.doubled += 1
                return False
            if step > modulus // 2:
                self.counts.reordered += 1
                return False
            self.counts.lost += step - 1
            self.gap = max(self.gap, message.car_time - newest.car_time)
        if self._is_late(message, time):
            self.counts.late += 1
            self.newest = message  # it is the newest known, though it does not count as a sign of life
            return False
        self.counts.received += 1
        self.newest = message
        self.newest_at = time
        if message.acknowledged is not None and message.acknowledged != self._acknowledged:
            self._acknowledged = message.acknowledged
            if (sent := self._sent_at.get(message.acknowledged)) is not None and message.age is not None:
                self.counts.round_trips.append(max(time - sent - message.age, 0.0))
        return True

    def _is_late(self, message: Telemetry, time: float) -> bool:
        delay = time - message.car_time
        if self._fastest is None or self._last_car_time is None or message.car_time < self._last_car_time:
            self._fastest = (delay, time)
        self._last_car_time = message.car_time
        fastest, since = self._fastest
        fastest = min(fastest + self.DRIFT * (time - since), delay)
        self._fastest = (fastest, time)
        return delay - fastest > self.LATE

    # -- what the link is worth

    def silence(self, now: float) -> float:
        """Seconds since the newest valid frame."""
        return now - self.newest_at

    def lost_cause(self, now: float) -> str | None:
        """The reason why the link is lost, or `None` while it holds."""
        if self.restarted:
            return "the car has restarted (a brown-out, or its reset button)"
        if self.gap > self.timeout:
            return f"link lost: no valid frame for {self.gap * 1000:.0f} ms of the car's time"
        if self.silence(now) <= self.timeout:
            return None
        if self.down is not None:
            return f"link lost: {self.down}"
        return f"link lost: no valid frame for {self.silence(now) * 1000:.0f} ms"

    @property
    def round_trip(self) -> float | None:
        """The last measured time from command to confirmation, without what the car took between, s."""
        return self.counts.round_trips[-1] if self.counts.round_trips else None

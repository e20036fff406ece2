"""Quality of a link and of a car's sensors: latency, jitter, losses, noise at rest, gyro bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asobiba.envs.mini4wd.hardware.codec import STOP, Hello, Telemetry
from asobiba.envs.mini4wd.hardware.link import Link


@dataclass(frozen=True)
class LinkReport:
    """The result of `check_link`. Times in ms, accelerations in g, rates in degrees per second.

    `round_trips` from command to confirmation without the car's own waiting (empty where the car does not confirm),
    `intervals` between two frames' arrivals, `ages` of the newest frame at the end of a step, `overruns`: how late steps
    ended. Means and standard deviations of the sensors are `(3,)`, in the sensor's own axes.
    """

    hello: Hello | None
    steps: int
    frames: int
    lost: int
    bad: int
    skipped: int
    doubled: int
    reordered: int
    late: int
    send_failures: int
    round_trips: np.ndarray
    intervals: np.ndarray
    ages: np.ndarray
    overruns: np.ndarray
    acceleration_mean: np.ndarray
    acceleration_noise: np.ndarray
    rate_mean: np.ndarray
    rate_noise: np.ndarray
    battery: float
    temperature: float

    @property
    def loss_rate(self) -> float:
        """Share of the car's frames that did not come."""
        return self.lost / max(self.lost + self.frames, 1)


def check_link(link: Link, seconds: float = 5.0, period: float = 0.02) -> LinkReport:
    """Measures a link with the car standing still and braked. The link must be open.

    Args:
        link: the link.
        seconds: duration.
        period: control period, s.
    """
    transport = link.transport
    frames: list[tuple[float, Telemetry]] = []
    ages, overruns = [], []
    counts, codec = link.counts, link.codec
    first = (counts.lost, codec.bad, codec.skipped, counts.doubled, counts.reordered, counts.late, counts.send_failures)
    tick = begun = transport.now()
    steps = 0
    while tick - begun < seconds:
        tick += period
        link.send(STOP)
        frames += link.receive(tick)
        now = transport.now()
        ages.append(link.silence(now))
        overruns.append(now - tick)
        tick = max(tick, now - period)
        steps += 1
    last = (counts.lost, codec.bad, codec.skipped, counts.doubled, counts.reordered, counts.late, counts.send_failures)
    lost, bad, skipped, doubled, reordered, late, failures = (b - a for a, b in zip(first, last, strict=True))
    acceleration = np.array([f.acceleration for _, f in frames]).reshape(-1, 3)
    rate = np.array([f.rate for _, f in frames]).reshape(-1, 3)
    some = len(frames) > 0
    zeros = np.zeros(3)
    return LinkReport(
        hello=link.hello,
        steps=steps,
        frames=len(frames),
        lost=lost,
        bad=bad,
        skipped=skipped,
        doubled=doubled,
        reordered=reordered,
        late=late,
        send_failures=failures,
        round_trips=np.array(counts.round_trips) * 1e3,
        intervals=np.diff([time for time, _ in frames]) * 1e3,
        ages=np.array(ages) * 1e3,
        overruns=np.array(overruns) * 1e3,
        acceleration_mean=acceleration.mean(axis=0) if some else zeros,
        acceleration_noise=acceleration.std(axis=0) if some else zeros,
        rate_mean=rate.mean(axis=0) if some else zeros,
        rate_noise=rate.std(axis=0) if some else zeros,
        battery=float(np.mean([frame.battery for _, frame in frames])) if some else 0.0,
        temperature=frames[-1][1].temperature if some else 0.0,
    )


def histogram(values: np.ndarray, bins: int = 10) -> list[tuple[float, float, int]]:
    """Rows (from, to, count) over the values up to their 99th percentile; the last row is open."""
    if len(values) == 0:
        return []
    top = float(np.percentile(values, 99))
    edges = np.linspace(min(float(values.min()), 0.0), max(top, 1e-3), bins + 1)
    counts = np.histogram(values, edges)[0].tolist()
    rows = [(float(a), float(b), int(n)) for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)]
    return [*rows, (float(edges[-1]), float("inf"), int((values > edges[-1]).sum()))]

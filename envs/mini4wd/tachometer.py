"""Wheel speed from a tachometer's pulses, for both the simulator and the hardware environment. A kernel."""

from __future__ import annotations

from asobiba.core import kernel
from asobiba.core.elementary import exp

LEAST_INTERVAL = 1e-4
"""s; the least time assumed between two pulses."""


@kernel
def wheel_speed(speed, pulses, edge, seen_pulses, seen_edge, now, per_pulse, time_constant):
    """The measured speed after another telemetry frame, m/s; never negative, for a pulse tells no direction.

    Args:
        speed: the previous measurement, m/s.
        pulses, edge: pulses so far, and the time of the last one, s.
        seen_pulses, seen_edge: the same of the frame at which a pulse was last counted.
        now: time of the frame, s, on the clock of `edge`.
        per_pulse: distance of the tyre per pulse, m.
        time_constant: of the low pass, s.
    """
    if pulses != seen_pulses:
        between = max(edge - seen_edge, LEAST_INTERVAL)
        measured = (pulses - seen_pulses) * per_pulse / between
        share = 1.0
        if time_constant > 0.0:
            share = 1.0 - exp(-between / time_constant)
        return speed + share * (measured - speed)
    # No pulse since: the wheel has turned by less than one.
    return min(speed, per_pulse / max(now - seen_edge, LEAST_INTERVAL))

"""The host's safety limits on all commands to the car."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from asobiba.core import GameParameterError
from asobiba.envs.mini4wd.hardware.codec import STOP, Drive, DriveMode


@dataclass(frozen=True)
class Limits:
    """Safety limits of a real car.

    Args:
        max_duty: greatest duty in either direction, (0, 1].
        reverse_pulse: longest time in reverse, s, [0, 0.1]; then short-brake until something else is asked for.
        link_timeout: the link is lost after so long without a valid frame, s, [0.05, 1].
        max_run_time: an episode ends after so long, s, (0, 600].
        min_battery: an episode ends when the motor battery falls below this, V, [0, 5].
    """

    max_duty: float = 1.0
    reverse_pulse: float = 0.1
    link_timeout: float = 0.2
    max_run_time: float = 60.0
    min_battery: float = 0.0

    _RANGES = {  # noqa: RUF012 - not a field
        "max_duty": (0.0, 1.0, "(0, 1]"),
        "reverse_pulse": (0.0, 0.1, "[0, 0.1] s"),
        "link_timeout": (0.05, 1.0, "[0.05, 1] s"),
        "max_run_time": (0.0, 600.0, "(0, 600] s"),
        "min_battery": (0.0, 5.0, "[0, 5] V"),
    }

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            low, high, text = self._RANGES[field.name]
            number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
            if not number or not low <= value <= high or (text.startswith("(") and value == low):
                raise GameParameterError(f"{field.name} is {value!r}; it must be a number in {text}")


class Governor:
    """Limits commands to the allowed ones. One per episode; times are of one monotonic clock, s."""

    def __init__(self, limits: Limits):
        self.limits = limits
        self._reverse_began: float | None = None
        self._exhausted = False

    def allow(self, wanted: Drive, now: float, lasts: float) -> Drive:
        """Limits on the command from `now` on for `lasts` seconds.

        A reverse pulse that would outlast the limit is a short-brake, and so is every further reverse until another
        mode has been asked for.
        """
        if wanted.mode != DriveMode.REVERSE or wanted.duty == 0:
            self._reverse_began, self._exhausted = None, False
        else:
            if self._reverse_began is None:
                self._reverse_began = now
            # Half a step of tolerance: ticks jitter, and the car keeps the limit itself to the millisecond.
            if now - self._reverse_began + lasts / 2 > self.limits.reverse_pulse:
                self._exhausted = True
            if self._exhausted:
                return STOP
        if wanted.mode in (DriveMode.FORWARD, DriveMode.REVERSE):
            return Drive(wanted.mode, min(wanted.duty, self.limits.max_duty))
        return Drive(wanted.mode)

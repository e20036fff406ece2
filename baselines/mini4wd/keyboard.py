"""Driving by keyboard: the last key that was pressed is the command. For teaching; contests forbid it in a race."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from asobiba.baselines.mini4wd.learning import Tape, record_tape
from asobiba.core import GameParameterError, Ruleset
from asobiba.envs.mini4wd.hardware.keys import Keys
from asobiba.envs.mini4wd.layout import control_ms_of
from asobiba.envs.mini4wd.simulate import SELECTORS

KEYS: dict[str, tuple[float, float]] = {
    **{str(digit): (digit / 9, SELECTORS["drive"]) for digit in range(10)},
    " ": (0.0, SELECTORS["brake"]),
    "f": (0.0, SELECTORS["free"]),
    "r": (-1.0, SELECTORS["drive"]),
}
"""Key -> duty and mode selector: digits are the duty in ninths, blank brakes, f frees the motor, r reverses."""
HELP = "0-9: duty, blank: brake, f: free, r: reverse."


class KeyDriver:
    """Takes its command from the keys: the last key with a meaning counts, until another is pressed.

    Args:
        read: waits up to so many seconds and returns the keys that were pressed, or "".

    Attributes:
        stopped: whether a key without a meaning has been pressed: on a real car it is the stop key.
    """

    def __init__(self, read: Callable[[float], str]):
        self._read = read
        self._command = (0.0, SELECTORS["free"])
        self.stopped = False

    def command(self, seconds: float = 0.0) -> tuple[float, float]:
        """Duty and mode selector, after waiting up to so many seconds for a key."""
        for key in self._read(seconds):
            self.stopped = self.stopped or key not in KEYS
            self._command = KEYS.get(key, self._command)
        return self._command


def record_keys(ruleset: Ruleset, read: Callable[[float], str], clock: Callable[[], float] = time.monotonic) -> Tape:
    """Records a run of the nominal simulated car in real time.

    Args:
        read: as in `KeyDriver`.
        clock: seconds.
    """
    driver = KeyDriver(read)
    step = control_ms_of(ruleset) / 1000
    due = [clock()]

    def drive(view: np.void) -> tuple[float, float]:
        due[0] += step
        while True:
            command = driver.command(max(due[0] - clock(), 0.0))
            if clock() >= due[0]:
                return command

    return record_tape(ruleset, drive, "keyboard")


def teach_by_keyboard(ruleset: Ruleset) -> Tape:
    """Records a run from the terminal's keyboard.

    Raises:
        GameParameterError: where there is no terminal.
    """
    with Keys() as keys:
        if not keys.there:
            raise GameParameterError(
                "teaching from the keyboard needs a terminal; name a controller with --teacher instead"
            )
        print(f"{HELP} Interrupt with Ctrl-C.", file=sys.stderr)
        return record_keys(ruleset, keys.read)

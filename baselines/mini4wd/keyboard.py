"""Teaching a run from the keyboard: the simulator runs in real time and takes the last key as its command."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable

import numpy as np

from asobiba.baselines.mini4wd.learning import Tape, record_tape
from asobiba.core import GameParameterError, Ruleset
from asobiba.envs.mini4wd.simulate import SELECTORS

KEYS: dict[str, tuple[float, float]] = {
    **{str(digit): (digit / 9, SELECTORS["drive"]) for digit in range(10)},
    " ": (0.0, SELECTORS["brake"]),
    "f": (0.0, SELECTORS["free"]),
    "r": (-1.0, SELECTORS["drive"]),
}
"""Key -> duty and mode selector: digits are the duty in ninths, blank brakes, f frees the motor, r reverses."""


def record_keys(
    ruleset: Ruleset, read_key: Callable[[float], str], clock: Callable[[], float] = time.monotonic
) -> Tape:
    """Records a run of the nominal car in real time.

    Args:
        read_key: waits up to so many seconds and returns the key that was pressed, or "".
        clock: seconds.
    """
    command = [0.0, SELECTORS["free"]]
    step = ruleset.parameters["control_ms"] / 1000
    due = [clock()]

    def drive(view: np.void) -> list[float]:
        due[0] += step
        while True:
            key = read_key(max(due[0] - clock(), 0.0))
            if key in KEYS:
                command[:] = KEYS[key]
            if clock() >= due[0]:
                return list(command)

    return record_tape(ruleset, drive, "keyboard")


def teach_by_keyboard(ruleset: Ruleset) -> Tape:
    """Records a run from the terminal's keyboard.

    Raises:
        GameParameterError: where there is no terminal.
    """
    if not sys.stdin.isatty():
        raise GameParameterError(
            "teaching from the keyboard needs a terminal; name a controller with --teacher instead"
        )
    import termios
    import tty

    print("0-9: duty, blank: brake, f: free, r: reverse. Interrupt with Ctrl-C.", file=sys.stderr)
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)

    def read_key(seconds: float) -> str:
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        return sys.stdin.read(1) if ready else ""

    try:
        tty.setcbreak(number)
        return record_keys(ruleset, read_key)
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)

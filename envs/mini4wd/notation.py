"""Text for actions and states."""

from __future__ import annotations

import re

import numpy as np

from asobiba.core import NotationError, Ruleset
from asobiba.envs.mini4wd.layout import LEVELS
from asobiba.envs.mini4wd.physics import CAUSES
from asobiba.envs.mini4wd.simulate import SELECTORS

_EXPECTED = 'an action is "drive +0.50" (duty from -1.00 to +1.00), "brake" or "free"'


def _text(duty: float, selector: float) -> str:
    if selector < 0:
        return "free" if selector < -0.5 else "brake"
    return f"drive {duty:+.2f}"


def action_to_text(ruleset: Ruleset, state: np.void, action: object) -> str:
    """`drive +0.50`, `brake` or `free`; of a race both, with a comma between."""
    if ruleset.discrete:
        return _text(*LEVELS[int(action)])  # type: ignore[call-overload]
    rows = np.atleast_2d(np.asarray(action, float))
    return ", ".join(_text(row[0], row[1] if len(row) > 1 else 0.0) for row in rows)


def text_to_action(ruleset: Ruleset, state: np.void, text: str) -> object:
    """The action of this text; duties are rounded to hundredths by it. In a race: of one car, or of both, a row a car.

    Raises:
        NotationError: for text of another form, or a level that the game with discrete actions does not have.
    """
    rows = [_row(part.strip()) for part in text.split(",")]
    if len(rows) not in (1, ruleset.num_players):
        raise NotationError(f"{text!r} has {len(rows)} actions; {_EXPECTED}")
    if ruleset.discrete:
        for number, level in enumerate(LEVELS):
            if _text(*level) == _text(*rows[0]):
                return number
        raise NotationError(f"{text!r} is not a level of this game: {', '.join(_text(*level) for level in LEVELS)}")
    size = ruleset.action_space.shape[0]  # type: ignore[index]
    if size == 1 and any(selector < 0 for _, selector in rows):
        raise NotationError(f"{text!r}: the game with actions='duty' has no drive modes; say drive and a duty")
    array = np.array(rows, np.float32)[:, :size]
    return array if len(rows) > 1 else array[0]


def _row(text: str) -> tuple[float, float]:
    if text in ("brake", "free"):
        return 0.0, SELECTORS[text]
    match = re.fullmatch(r"drive ([+-]?[0-9]+(?:\.[0-9]+)?)", text)
    if match is None or abs(float(match[1])) > 1:
        raise NotationError(f"{text!r} is not an action; {_EXPECTED}")
    return float(match[1]), SELECTORS["drive"]


def board_text(ruleset: Ruleset, state: np.void, seat: int | None = None) -> str:
    """The whole state, or what the car of `seat` senses, as text."""
    lines = []
    for k in range(ruleset.num_players):
        if seat is not None and k != seat:
            continue
        imu = state["imu"][k, -1]
        lines.append(f"{ruleset.players[k]}: t {float(state['clock'][k]):.2f} s, {float(state['voltage'][k]):.2f} V")
        lines.append("  acc  " + " ".join(f"{value:+7.3f}" for value in imu[:3]) + " g")
        lines.append("  gyro " + " ".join(f"{value:+7.3f}" for value in imu[3:]) + " rad/s")
        duty, selector = state["actions"][k, 0]
        lines.append(f"  last action: {_text(float(duty), float(selector))}")
        if seat is None:
            lines.append(
                f"  lap {int(state['lap'][k]) + 1}, lane {int(state['lane'][k]) + 1}, {float(state['progress'][k]):.3f} m, "
                f"{float(state['v'][k]):.3f} m/s{', in the air' if state['airborne'][k] else ''}"
            )
            if state["cause"][k]:
                lines.append(f"  out: {CAUSES[int(state['cause'][k])]}")
            if state["finish_time"][k]:
                lines.append(f"  finished after {float(state['finish_time'][k]):.3f} s")
    return "\n".join(lines)

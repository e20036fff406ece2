"""Pictures: the sheet from the hog line to the back line, numbered stones, the paths of the last shot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from asobiba.api.scene import (
    ACTION,
    DONE,
    ENDING,
    SPOT,
    Entries,
    Pen,
    begin,
    begin_words,
    circle,
    drawing,
    line,
    number,
    path,
    place,
    point,
    rectangle,
    text,
    word,
)  # fmt: skip
from asobiba.core import Ruleset, compiled
from asobiba.envs.curling.layout import SPINS, TARGET_X, TARGET_Y, WEIGHTS
from asobiba.envs.curling.motion import T0, at_time
from asobiba.envs.curling.scratch import stack_rows
from asobiba.envs.curling.shots import draw_shot, hit_shot
from asobiba.envs.curling.simulate import Result, Shot, simulate
from asobiba.envs.curling.simulation import TRACE_COLUMNS, run_shot
from asobiba.envs.curling.simulators import RADIUS
from asobiba.envs.curling.telling import named_shot

FPS = 15.0
"""Pictures per second of a film."""
_SCALE, _LEFT, _TOP, _PANEL = 88.0, 12.0, 12.0, 270.0
_SIDE = 2.375
"""m from the centre line to the edge of the sheet, as drawn."""
_FRONT, _BEHIND = 6.9, 2.1
"""m before and behind the tee where the picture ends."""
_WIDTH, _HEIGHT = 2 * _SIDE * _SCALE + 3 * _LEFT + _PANEL, (_FRONT + _BEHIND) * _SCALE + 2 * _TOP
_RIGHT = 2 * _LEFT + 2 * _SIDE * _SCALE
_ROW = 30
_FRAMES = 30
_STRETCHES, _POINTS = 96, 16
"""Most stretches of a shot that are drawn, and points of each."""
_TRACE_AT = len(TARGET_X) + len(TARGET_Y)
"""The numbers of the drawing: the targets' coordinates, then room for the stretches of the last shot."""

TEXTS, STYLES = Entries(), Entries()
_END, _EXTRA, _OF, _OVER, _SHOT, _OF_16 = (
    TEXTS(each) for each in ("end ", "extra end ", " of ", ", over", "shot ", " of 16")
)
_SIDES_AT = TEXTS("first")
TEXTS("second")
_COLON, _HAMMER, _BLANK, _PLUS = (TEXTS(each) for each in (": ", " (hammer)", " ", "+"))
_LAST, _COMMA, _SPEED, _FOUL = (TEXTS(each) for each in ("last shot", ", ", " m/s", "foul: taken back"))
_SPINS_AT = TEXTS("ccw")
TEXTS("cw")
_WEIGHTS_AT = TEXTS(WEIGHTS[0])
for _weight in WEIGHTS[1:]:
    TEXTS(_weight)
_CONCEDE, _CONCEDED, _IS_OVER = (TEXTS(each) for each in ("concede", " conceded", "the game is over"))
_WINS, _DRAWN = TEXTS(" side wins "), TEXTS("the score is level: ")
_THE = TEXTS("the ")
_HOW_AT = TEXTS("click a target on the sheet,")
TEXTS("then a weight, then a spin")
_X, _Y = TEXTS("x "), TEXTS(" y ")
_VX, _VY, _OPEN, _CLOSED, _OFF = (TEXTS(each) for each in ("vx ", " vy ", " (", ")", "off the sheet"))
_OF_10, _PLACES = TEXTS(" of 10"), TEXTS(" places stones")

_PAPER, _ICE = STYLES("class='paper' fill='#ffffff'"), STYLES("fill='#eef4f8' stroke='#444455'")
_LINES, _GREY = STYLES("stroke='#445566' stroke-width='1'"), STYLES("fill='#777777'")
_FAINT_GREY = STYLES("fill='#777777' opacity='0.35'")
_COLOURS, _INKS = ("#d7263d", "#f2c14e"), ("#ffffff", "#222222")
_RINGS = ((1.83, "#8db7da"), (1.22, "#ffffff"), (0.61, "#efb4ba"), (0.15, "#ffffff"))
_RINGS_AT = len(STYLES)
for _, _colour in _RINGS:
    STYLES.append(f"fill='{_colour}' stroke='#556677'")
_SIZES = tuple(radius for radius, _ in _RINGS)
_STONES_AT, _FAINT_AT, _NUMBERS_AT, _PALE_AT, _WAYS_AT, _MARKS_AT = range(len(STYLES), len(STYLES) + 12, 2)
for _form in (
    "fill='{0}'", "fill='{0}' opacity='0.35'", "font-size='15' text-anchor='middle' fill='{1}'",
    "font-size='15' text-anchor='middle' fill='{1}' opacity='0.35'",
    "fill='none' stroke='{0}' stroke-width='3' opacity='0.55'", "fill='{0}' stroke='#555555'",
):  # fmt: skip
    for _pair in zip(_COLOURS, _INKS, strict=True):
        STYLES.append(_form.format(*_pair))
_WORDS = STYLES("class='ink' font-size='22' fill='#222222'")
_SMALL = STYLES("class='ink' font-size='17' fill='#222222'")
_BUTTON = STYLES("fill='#dbe7f0' stroke='#556677'")
_BUTTON_TEXT = STYLES("font-size='20' text-anchor='middle' fill='#222222'")
_TARGET = STYLES("fill='#334455' opacity='0.45'")

_TARGETS = len(TARGET_X) * len(TARGET_Y)
_COUNT_Y, _KINDS = len(TARGET_Y), len(WEIGHTS)
_WEIGHT_SPOTS, _SPIN_SPOTS, _CONCEDE_SPOT = _TARGETS, _TARGETS + len(WEIGHTS), _TARGETS + len(WEIGHTS) + len(SPINS)
_BUTTONS_TOP, _BUTTON_HEIGHT, _BUTTON_WIDTH = 430.0, 44.0, 116.0


def data(ruleset: Ruleset) -> np.ndarray:
    """The targets' x and y, m, and room for the last shot."""
    return np.array([*TARGET_X, *TARGET_Y, *[0.0] * (_STRETCHES * TRACE_COLUMNS)])


@compiled()
def _trace(model, side, back, release, stones, in_play, thrown, vx, vy, spin, trace):
    """The stretches of a shot from this position, which it changes."""
    return run_shot(model, side, back, release, stones, in_play, thrown, (vx, vy, spin), trace)


@compiled()
def _along(model, trace, n, share):
    """The place `(x, y)`, m, of the stone of stretch `n` after this share of its time."""
    m = stack_rows()
    m[0, T0] = trace[n, 1]
    for k in range(1, 7):
        m[0, k] = trace[n, 2 + k]
    x, y, _, _ = at_time(model, m, 0, trace[n, 1] + share * (trace[n, 2] - trace[n, 1]))
    return x, y


@drawing
def _right(x):
    """m from the centre line as a coordinate of the picture."""
    return _LEFT + (_SIDE + x) * _SCALE


@drawing
def _down(y):
    """m from the tee as a coordinate of the picture."""
    return _TOP + (_BEHIND - y) * _SCALE


@drawing
def spots(s, p, d, action, out):
    """The target, the weight and the spin, or `concede`."""
    if action >= _TARGETS * _KINDS * 2:
        out[0, 0], out[1, 0] = 1, _CONCEDE_SPOT
        return
    out[0, 0] = 3
    out[1, 0] = action // 2 // _KINDS
    out[2, 0] = _WEIGHT_SPOTS + action // 2 % _KINDS
    out[3, 0] = _SPIN_SPOTS + action % 2


@drawing
def tell(s, p, d, what, about, out):
    begin_words(out)
    if what == ENDING:
        _ending(s, out)
    elif what == DONE:
        if s.conceded >= 0:
            word(out, _CONCEDE)
        elif s.run[0] != 0.0 or s.run[1] != 0.0:
            _named(s, p, 1, out)
    elif what == ACTION:
        if about >= _TARGETS * _KINDS * 2:
            word(out, _CONCEDE)
            return
        target = about // 2 // _KINDS
        word(out, _WEIGHTS_AT + about // 2 % _KINDS)
        word(out, _BLANK)
        _metres(d[target // _COUNT_Y], out)
        word(out, _BLANK)
        _metres(d[len(TARGET_X) + target % _COUNT_Y], out)
        word(out, _BLANK)
        word(out, _SPINS_AT + about % 2)
    elif what == SPOT:
        if about < _TARGETS:
            word(out, _X)
            _metres(d[about // _COUNT_Y], out)
            word(out, _Y)
            _metres(d[len(TARGET_X) + about % _COUNT_Y], out)
        elif about < _SPIN_SPOTS:
            word(out, _WEIGHTS_AT + about - _WEIGHT_SPOTS)
        elif about < _CONCEDE_SPOT:
            word(out, _SPINS_AT + about - _SPIN_SPOTS)
        else:
            word(out, _CONCEDE)


@compiled()
def _aimed(model, release, x, y, spin, speed):
    """The velocity of a stone that stops at a place (speed 0), or passes it with this speed: `(vx, vy)`, m/s."""
    if speed == 0.0:
        return draw_shot(model, release, x, y, spin)
    return hit_shot(model, release, x, y, spin, speed)


@compiled()
def _name(model, release, weights, area, delivery):
    """The weight, the target and whether they are exact."""
    return named_shot(model, release, weights, area, delivery)


@drawing
def _named(s, p, exactly, out):
    """The last shot as intended; `exactly`: with its velocity, where the rounded target gives another one, or none lies on the sheet."""
    vx, vy, spin = s.asked[0], s.asked[1], s.asked[2]
    area = (p.side, p.hog, p.far, 1000.0) if p.by_target else (p.side, p.hog, p.back, 100.0)
    weight, x, y, exact = _name(p.model, p.release, p.weights[: 0 if p.by_target else 3], area, (vx, vy, spin))
    if weight < 0 and exactly == 0:
        word(out, _OFF)
    elif weight < 0:
        _velocity(vx, vy, out)
    else:
        word(out, _WEIGHTS_AT + weight)
        word(out, _BLANK)
        _metres(x, out)
        word(out, _BLANK)
        _metres(y, out)
    word(out, _BLANK)
    word(out, _SPINS_AT if spin > 0 else _SPINS_AT + 1)
    if exactly and weight >= 0 and exact == 0 and p.by_target == 0:
        word(out, _OPEN)
        _velocity(vx, vy, out)
        word(out, _CLOSED)


@drawing
def _velocity(vx, vy, out):
    word(out, _VX)
    number(out, vx, 4)
    word(out, _VY)
    number(out, vy, 4)


@drawing
def answer(s, p, d, out):
    """The continuous action of the controls' weight, x, y (m) and spin."""
    weight, x, y, spin = int(out[1, 0]), out[2, 0], out[3, 0], 1.0 - 2.0 * out[4, 0]
    if p.by_target:
        a, b = x / p.target_side, (2 * y - p.hog - p.far) / (p.far - p.hog)
    else:
        vx, vy = _aimed(p.model, p.release, x, y, spin, p.weights[weight - 1] if weight > 0 else 0.0)
        a, b = vx / p.lateral, (2 * vy - p.slowest - p.fastest) / (p.fastest - p.slowest)
    out[0, 0], out[1, 0], out[2, 0], out[3, 0], out[4, 0] = 4 if p.concession else 3, a, b, spin, 0.0


@drawing
def _metres(value, out):
    """A coordinate of a target, without zeros at its end."""
    places, rest = 3, int(abs(value) * 1000 + 0.5)
    while places > 0 and rest % 10 == 0:
        places, rest = places - 1, rest // 10
    number(out, value, places)


@drawing
def _ending(s, out):
    if s.conceded >= 0:
        word(out, _THE)
        word(out, _SIDES_AT + int(s.conceded))
        word(out, _CONCEDED)
    elif s.total[0] == s.total[1]:
        word(out, _DRAWN)
        _score(s, 0, out)
    else:
        ahead = 0 if s.total[0] > s.total[1] else 1
        word(out, _THE)
        word(out, _SIDES_AT + ahead)
        word(out, _WINS)
        _score(s, ahead, out)


@drawing
def _score(s, side, out):
    number(out, s.total[side])
    word(out, _COLON)
    number(out, s.total[1 - side])


@drawing
def scene(s, p, d, mask, seat, last, out):
    """The position; after an end, its final position (faint), with the paths of the last shot."""
    paint(s, p, d, mask, 0, out)


@drawing
def paint(s, p, d, mask, first_shot, out):
    """The scene of a game whose ends begin with this shot: 0, or 6 in mixed doubles, where positioned stones have the number 0."""
    begin(out, _WIDTH, _HEIGHT)
    rectangle(out, _PAPER, 0, 0, _WIDTH, _HEIGHT)
    rectangle(out, _ICE, _right(-_SIDE), _TOP, 2 * _SIDE * _SCALE, (_FRONT + _BEHIND) * _SCALE)
    for k in range(len(_SIZES)):
        circle(out, _RINGS_AT + k, _right(0.0), _down(0.0), _SIZES[k] * _SCALE)
    line(out, _LINES, _right(0.0), _down(_BEHIND), _right(0.0), _down(-_FRONT))
    for y in (0.0, p.back - RADIUS, p.hog - RADIUS):
        line(out, _LINES, _right(-_SIDE), _down(y), _right(_SIDE), _down(y))
    first = _first_of_last_shot(s)
    shown = s.shot > 0 or not (s.run[0] != 0.0 or s.run[1] != 0.0)
    for k in range(16):
        if shown and s.in_play[k]:
            _stone(s.stones[k, 0], s.stones[k, 1], (first + k) % 2, (k - first_shot) // 2 + 1, 0, out)
        elif not shown and s.last_in_play[k]:
            _stone(s.last_stones[k, 0], s.last_stones[k, 1], (first + k) % 2, (k - first_shot) // 2 + 1, 1, out)
    choosing = mask.shape[0] > 0 and mask[0] != 0
    _panel(s, p, choosing, first_shot, out)
    _legend(out)
    if choosing:
        _places(d, mask, out)
    _ways(s, p, d, first, out)  # last: it plays the shot again in the state's own arrays


@drawing
def _stone(x, y, side, name, faint, out):
    a, b = _right(x), _down(y)
    circle(out, _FAINT_GREY if faint else _GREY, a, b, RADIUS * _SCALE)
    circle(out, (_FAINT_AT if faint else _STONES_AT) + side, a, b, 0.7 * RADIUS * _SCALE)
    text(out, (_PALE_AT if faint else _NUMBERS_AT) + side, a, b + 5)
    number(out, name)


@drawing
def _ways(s, p, d, first, out):
    """The paths of the stones that the last shot moved."""
    if s.run[0] == 0.0 and s.run[1] == 0.0:
        return
    trace = as_strided(d[_TRACE_AT:], (_STRETCHES, TRACE_COLUMNS), (8 * TRACE_COLUMNS, 8))
    thrown = (int(s.shot) + 15) % 16
    spin = s.run[2] * p.spin
    count = _trace(
        p.model, p.side, p.back, p.release, stones=s.before, in_play=s.before_in_play, thrown=thrown, vx=s.run[0],
        vy=s.run[1], spin=spin, trace=trace,
    )  # fmt: skip
    for n in range(count):
        side, begun = (first + int(trace[n, 0])) % 2, 0
        if trace[n, 2] - trace[n, 1] < 0.01:
            continue
        for k in range(_POINTS + 1):
            x, y = _along(p.model, trace, n, k / _POINTS)
            if y > -_FRONT:
                if begun == 0:
                    path(out, _WAYS_AT + side)
                    begun = 1
                point(out, _right(x), _down(y))


@drawing
def _first_of_last_shot(s):
    """Side that threw first in the end of the last shot: the hammer may have changed hands since."""
    thrown = s.run[0] != 0.0 or s.run[1] != 0.0
    if s.shot > 0 or not thrown:
        return 1 - int(s.hammer)
    # The side with the hammer now did not score, unless neither did.
    nearest, team = 1e9, -1
    for k in range(16):
        if s.last_in_play[k]:
            away = s.last_stones[k, 0] * s.last_stones[k, 0] + s.last_stones[k, 1] * s.last_stones[k, 1]
            if away < nearest:
                nearest, team = away, k % 2
    end = int(s.end) - 1
    scored = 0 <= end < s.scores.shape[1] and (s.scores[0, end] != 0 or s.scores[1, end] != 0)
    if scored and team >= 0:
        winner = 1 - int(s.hammer)
        return winner if team == 0 else 1 - winner
    return 1 - int(s.hammer)


@drawing
def _panel(s, p, choosing, first_shot, out):
    """End and shot, the score, the last shot."""
    y, ends, end, shot = 40, int(p.ends), int(s.end), int(s.shot)
    thrown = s.run[0] != 0.0 or s.run[1] != 0.0
    over = shot == 0 and thrown and s.conceded < 0
    now = end if over else end + 1
    text(out, _WORDS, _RIGHT, y)
    word(out, _END if now <= ends else _EXTRA)
    number(out, now if now <= ends else now - ends)
    if now <= ends:
        word(out, _OF)
        number(out, ends)
    if over:
        word(out, _OVER)
    else:
        y += _ROW
        text(out, _WORDS, _RIGHT, y)
        word(out, _SHOT)
        number(out, max(shot - first_shot, 0))
        word(out, _OF_10 if first_shot else _OF_16)
    for side in range(2):
        y += _ROW
        text(out, _WORDS, _RIGHT, y)
        word(out, _SIDES_AT + side)
        word(out, _COLON)
        number(out, s.total[side])
        if s.hammer == side:
            word(out, _HAMMER)
        y += _ROW
        if end > 0:
            text(out, _WORDS, _RIGHT + 14, y)
            _by_end(s, side, min(end, ends), out)
    if thrown:
        y += _ROW
        text(out, _WORDS, _RIGHT, y)
        word(out, _LAST)
        y += _ROW
        text(out, _WORDS, _RIGHT + 14, y)
        _named(s, p, 0, out)
        y += _ROW
        text(out, _SMALL, _RIGHT + 14, y - 5)
        number(out, s.run[0], 3, 1)
        word(out, _COMMA)
        number(out, s.run[1], 3)
        word(out, _SPEED)
        if s.foul:
            y += _ROW
            text(out, _WORDS, _RIGHT + 14, y)
            word(out, _FOUL)
    if s.terminated:
        y += _ROW
        text(out, _WORDS, _RIGHT, y)
        _ending(s, out)
    elif shot < first_shot:
        y += _ROW
        text(out, _WORDS, _RIGHT, y)
        word(out, _SIDES_AT + int(s.to_move))
        word(out, _PLACES)
    elif choosing:
        for k in range(2):
            text(out, _SMALL, _RIGHT, _BUTTONS_TOP - 36 + 22 * k)
            word(out, _HOW_AT + k)


@drawing
def _by_end(s, side, played, out):
    for k in range(min(played, s.scores.shape[1])):
        number(out, s.scores[side, k])
        word(out, _BLANK)
    if s.extra[0] != 0 or s.extra[1] != 0:
        word(out, _PLUS)
        number(out, s.extra[side])


@drawing
def _legend(out):
    for side in range(2):
        circle(out, _MARKS_AT + side, _RIGHT + 8, _HEIGHT - 60 + _ROW * side, 9)
        text(out, _WORDS, _RIGHT + 24, _HEIGHT - 53 + _ROW * side)
        word(out, _SIDES_AT + side)


@drawing
def _places(d, mask, out):
    """The places to click for a shot of the discrete game."""
    for target in range(_TARGETS):
        x, y = _right(d[target // _COUNT_Y]), _down(d[len(TARGET_X) + target % _COUNT_Y])
        circle(out, _TARGET, x, y, 3)
        place(out, target, x - 13, y - 16, 26, 32)
    for k in range(_KINDS):
        _button(_WEIGHT_SPOTS + k, _WEIGHTS_AT + k, k % 2, k // 2, out)
    for k in range(2):
        _button(_SPIN_SPOTS + k, _SPINS_AT + k, k, 3, out)
    if mask.shape[0] > _TARGETS * _KINDS * 2:
        _button(_CONCEDE_SPOT, _CONCEDE, 0, 5, out)


@drawing
def _button(spot, label, column, row, out):
    x, y = _RIGHT + column * (_BUTTON_WIDTH + 10), _BUTTONS_TOP + row * (_BUTTON_HEIGHT + 6)
    rectangle(out, _BUTTON, x, y, _BUTTON_WIDTH, _BUTTON_HEIGHT, 6)
    text(out, _BUTTON_TEXT, x + _BUTTON_WIDTH / 2, y + 29)
    word(out, label)
    place(out, spot, x, y, _BUTTON_WIDTH, _BUTTON_HEIGHT)


def last_shot(ruleset: Ruleset, state: np.void) -> tuple[Result, np.void] | None:
    """A replay of the last shot, and the position before it; `None` if there was none."""
    if not state["run"].any():
        return None
    position = ruleset.zeros()[0]
    position["stones"], position["in_play"] = state["before"], state["before_in_play"]
    position["shot"] = (int(state["shot"]) - 1) % 16
    vx, vy, spin = (float(v) for v in state["run"])
    return simulate(ruleset, position, Shot(vx, vy, 1 if spin > 0 else -1)), position


def controls(ruleset: Ruleset) -> dict[str, Any]:
    """A shot as a weight, a target, which a click on the sheet sets, and a spin."""
    weights = list(WEIGHTS[: 1 if ruleset.parameters.get("actions") == "target" else None])
    places: list[dict[str, Any]] = [
        {"name": "x, m", "low": -2.2, "high": 2.2, "step": 0.05, "axis": "x"},
        {"name": "y, m", "low": -6.0, "high": 2.0, "step": 0.05, "axis": "y"},
    ]
    (x, y), scale = (_right(0.0), _down(0.0)), (1 / _SCALE, -1 / _SCALE)
    for one, zero, factor in zip(places, (x, y), scale, strict=True):
        one.update(value=0, origin=-zero * factor, scale=factor)
    return {
        "fields": [{"name": "weight", "choices": weights}, *places, {"name": "spin", "choices": ["ccw", "cw"]}],
        "hint": "Click where the stone should go. A draw stops there; soft, firm and hard go on past it.",
    }


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: Any = None) -> str:
    """The position as an SVG picture; after an end, its final position (faint)."""
    return Pen(ruleset).svg(state, seat)


def frames(ruleset: Ruleset, before: np.void, action: Any, after: np.void) -> Iterator[str]:
    """The pictures of a shot: every stone on its way, then the position after it."""
    shot, pen = last_shot(ruleset, after) if int(after["conceded"]) < 0 else None, Pen(ruleset)
    if shot is not None:
        result, _ = shot
        # The long way to the house is skipped: the film begins when the stone enters the picture.
        times = np.linspace(0.0, result.seconds, 600)
        places = result.trajectories(times)
        thrown = int(before["shot"])
        seen = np.flatnonzero(places[:, thrown, 1] > -_FRONT)
        begin = times[seen[0]] if len(seen) else 0.0
        moving = before.copy()
        moving["shot"], moving["run"] = thrown + 1, 0.0
        for now in result.trajectories(np.linspace(begin, result.seconds, _FRAMES)):
            moving["in_play"] = ~np.isnan(now[:, 0]) & (np.nan_to_num(now[:, 1], nan=-1e9) > -_FRONT)
            moving["stones"] = np.where(moving["in_play"][:, None] != 0, now, 0.0)
            yield pen.svg(moving)
    yield pen.svg(after)

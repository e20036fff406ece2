"""Pictures: the sheet from the hog line to the back line, numbered stones, the paths of the last shot."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np

from asobiba.core import Ruleset
from asobiba.envs.curling.layout import TARGET_X, TARGET_Y, WEIGHTS, simulator_of
from asobiba.envs.curling.simulate import Result, Shot, simulate
from asobiba.envs.curling.simulators import RADIUS

FPS = 15.0
"""Pictures per second of a film."""
_SCALE, _LEFT, _TOP, _PANEL = 88.0, 12.0, 12.0, 250.0
_FRONT = 6.9
"""m before the tee where the picture ends."""
_COLOURS = ("#d7263d", "#f2c14e")
_NUMBERS = ("#ffffff", "#222222")
_RINGS = ((1.83, "#8db7da"), (1.22, "#ffffff"), (0.61, "#efb4ba"), (0.15, "#ffffff"))
_BEHIND = 2.1
_WIDTH, _HEIGHT = 2 * 2.375 * _SCALE + 3 * _LEFT + _PANEL, (_FRONT + _BEHIND) * _SCALE + 2 * _TOP
_FRAMES = 30


def _at(x: float, y: float) -> tuple[float, float]:
    return _LEFT + (2.375 + x) * _SCALE, _TOP + (_BEHIND - y) * _SCALE


def _sheet(ruleset: Ruleset) -> list[str]:
    sim = simulator_of(ruleset)
    x0, y0 = _at(-2.375, _BEHIND)
    parts = [
        f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{4.75 * _SCALE:.1f}" height="{(_FRONT + _BEHIND) * _SCALE:.1f}" '
        'fill="#eef4f8" stroke="#445"/>'
    ]
    cx, cy = _at(0, 0)
    for radius, colour in _RINGS:
        parts.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="{radius * _SCALE:.1f}" fill="{colour}" stroke="#567"/>')
    lines = [(-2.375, 0, 2.375, 0), (0, _BEHIND, 0, -_FRONT)]
    lines += [(-2.375, y, 2.375, y) for y in (sim.back - RADIUS, sim.hog - RADIUS)]
    for x1, y1, x2, y2 in lines:
        (a, b), (c, d) = _at(x1, y1), _at(x2, y2)
        parts.append(f'<path d="M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" stroke="#456" stroke-width="1"/>')
    return parts


def _stone(place: np.ndarray, side: int, number: int, faint: bool = False) -> str:
    a, b = _at(float(place[0]), float(place[1]))
    return (
        f'<g opacity="{0.35 if faint else 1}"><circle cx="{a:.1f}" cy="{b:.1f}" r="{RADIUS * _SCALE:.1f}" fill="#777"/>'
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{0.7 * RADIUS * _SCALE:.1f}" fill="{_COLOURS[side]}"/>'
        f'<text x="{a:.1f}" y="{b + 4:.1f}" text-anchor="middle" font-size="12" fill="{_NUMBERS[side]}">{number}</text></g>'
    )


def _when(ends: int, state: np.void, moving: bool) -> str:
    """Number of the shot and the end: the shot on its way, or, between two ends, the end that is over."""
    end, shot = int(state["end"]), int(state["shot"])
    over = shot == 0 and bool(state["run"].any()) and not moving and int(state["conceded"]) < 0
    number = end if over else end + 1
    name = f"end {number} of {ends}" if number <= ends else f"extra end {number - ends}"
    return f"{name}, over" if over else f"{name}, shot {shot + moving} of 16"


def _panel(ruleset: Ruleset, state: np.void, moving: bool = False) -> list[str]:
    x = 2 * _LEFT + 4.75 * _SCALE
    names = ruleset.players
    ends = int(ruleset.params["ends"][0])
    rows = [_when(ends, state, moving)]
    for side in range(2):
        by_end = " ".join(str(int(v)) for v in state["scores"][side][: min(int(state["end"]), ends)]) or "-"
        if state["extra"].any():
            by_end += f" +{int(state['extra'][side])}"
        hammer = " (hammer)" if int(state["hammer"]) == side else ""
        rows += [f"{names[side]}: {int(state['total'][side])}{hammer}", f"   {by_end}"]
    if state["run"].any() and not moving:
        vx, vy, spin = (float(v) for v in state["run"])
        rows += ["last shot", f"   {vx:+.3f}, {vy:.3f} m/s {'ccw' if spin > 0 else 'cw'}"]
        if state["foul"]:
            rows.append("   foul: taken back")
    if state["conceded"] >= 0:
        rows.append(f"{names[int(state['conceded'])]} conceded")
    if state["terminated"]:
        rows.append("the game is over")
    parts = []
    for k, row in enumerate(rows):
        parts.append(f'<text x="{x:.0f}" y="{40 + 24 * k}" font-size="15" xml:space="preserve">{escape(row)}</text>')
    for side in range(2):
        parts.append(
            f'<circle cx="{x + 6:.0f}" cy="{_HEIGHT - 60 + 24 * side:.0f}" r="7" fill="{_COLOURS[side]}" stroke="#555"/>'
            f'<text x="{x + 20:.0f}" y="{_HEIGHT - 55 + 24 * side:.0f}" font-size="15">{names[side]}</text>'
        )
    return parts


def last_shot(ruleset: Ruleset, state: np.void) -> tuple[Result, np.void] | None:
    """A replay of the last shot, and the position before it; `None` if there was none."""
    if not state["run"].any():
        return None
    position = ruleset.zeros()[0]
    position["stones"], position["in_play"] = state["before"], state["before_in_play"]
    position["shot"] = (int(state["shot"]) - 1) % 16
    vx, vy, spin = (float(v) for v in state["run"])
    return simulate(ruleset, position, Shot(vx, vy, 1 if spin > 0 else -1)), position


def _ways(ruleset: Ruleset, state: np.void, first: int) -> list[str]:
    shot = last_shot(ruleset, state)
    if shot is None:
        return []
    result, _ = shot
    places = result.trajectories(np.linspace(0.0, result.seconds, 400))
    parts = []
    for k in range(16):
        way = places[:, k][~np.isnan(places[:, k, 0])]
        way = way[way[:, 1] > -_FRONT]
        if len(way) < 2 or np.ptp(way, axis=0).max() < 1e-3:
            continue
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in (_at(*p) for p in way))
        colour = _COLOURS[(first + k) % 2]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="3" opacity="0.55"/>')
    return parts


def _page(parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH:.0f}" height="{_HEIGHT:.0f}" '
        f'viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}"><rect width="100%" height="100%" fill="#ffffff"/>'
        f'<g font-family="sans-serif" fill="#222">{"".join(parts)}</g></svg>'
    )


def controls(ruleset: Ruleset) -> dict[str, Any]:
    """A shot as a weight, a target, which a click on the sheet sets, and a spin."""
    weights = list(WEIGHTS[: 1 if ruleset.parameters.get("actions") == "target" else None])
    places: list[dict[str, Any]] = [
        {"name": "x, m", "low": -2.2, "high": 2.2, "step": 0.05, "axis": "x"},
        {"name": "y, m", "low": -6.0, "high": 2.0, "step": 0.05, "axis": "y"},
    ]
    if ruleset.discrete:
        for place, values in zip(places, (TARGET_X, TARGET_Y), strict=True):
            place["choices"] = [f"{value + 0.0:g}" for value in values]  # + 0.0: never -0
    (x, y), scale = _at(0.0, 0.0), (1 / _SCALE, -1 / _SCALE)
    for place, zero, factor in zip(places, (x, y), scale, strict=True):
        place.update(value=0, origin=-zero * factor, scale=factor)
    return {
        "fields": [{"name": "weight", "choices": weights}, *places, {"name": "spin", "choices": ["ccw", "cw"]}],
        "suggestions": ["concede"] if ruleset.parameters["concession"] else [],
        "hint": "Click where the stone shall go, from the tee. A draw stops there; soft, firm and hard go through it.",
    }


def _first_of_last_shot(state: np.void) -> int:
    """Side that threw first in the end of the last shot: the hammer may have changed hands since."""
    if int(state["shot"]) > 0 or not state["run"].any():
        return 1 - int(state["hammer"])
    last = int(state["end"]) - 1
    scored = int(state["hammer"])  # the side with the hammer now did not score, unless neither did
    column = state["scores"][:, last] if 0 <= last < state["scores"].shape[1] else np.zeros(2)
    if column.any():
        score = _points(state)
        winner = 1 - scored
        return winner if score > 0 else 1 - winner
    return 1 - scored


def _points(state: np.void) -> int:
    """Points of the last end for the team that threw first in it, from the position of its stones."""
    here = [(float(np.hypot(*state["last_stones"][k])), k) for k in range(16) if state["last_in_play"][k]]
    if not here:
        return 0
    return 1 if min(here)[1] % 2 == 0 else -1


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: Any = None) -> str:
    """The position as an SVG picture; after an end, its final position (faint)."""
    first = _first_of_last_shot(state)
    parts = [*_sheet(ruleset), *_ways(ruleset, state, first)]
    fresh = int(state["shot"]) == 0 and state["last_in_play"].any()
    stones, in_play = ("last_stones", "last_in_play") if fresh else ("stones", "in_play")
    for k in range(16):
        if state[in_play][k]:
            parts.append(_stone(state[stones][k], (first + k) % 2, k // 2 + 1, faint=fresh))
    return _page([*parts, *_panel(ruleset, state)])


def frames(ruleset: Ruleset, before: np.void, action: Any, after: np.void) -> Iterator[str]:
    """The pictures of a shot: every stone on its way, then the position after it."""
    shot = last_shot(ruleset, after) if int(after["conceded"]) < 0 else None
    if shot is not None:
        result, _ = shot
        first = 1 - int(before["hammer"])
        # The long way to the house is skipped: the film begins when the stone enters the picture.
        times = np.linspace(0.0, result.seconds, 600)
        places = result.trajectories(times)
        thrown = int(before["shot"])
        seen = np.flatnonzero(places[:, thrown, 1] > -_FRONT)
        begin = times[seen[0]] if len(seen) else 0.0
        for now in result.trajectories(np.linspace(begin, result.seconds, _FRAMES)):
            parts = _sheet(ruleset)
            for k in range(16):
                if not np.isnan(now[k, 0]) and now[k, 1] > -_FRONT:
                    parts.append(_stone(now[k], (first + k) % 2, k // 2 + 1))
            yield _page([*parts, *_panel(ruleset, before, moving=True)])
    yield svg(ruleset, after, last_action=action)

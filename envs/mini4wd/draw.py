"""Pictures: the course in plan, its height profile and the trace of speeds, with the cars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from asobiba.core import Ruleset
from asobiba.core.states import view_of
from asobiba.envs.mini4wd.course import BASE, HEIGHT, LENGTH, NEXT_LANE, Course, lane_offsets, load_course, poses
from asobiba.envs.mini4wd.layout import TRACE_CELLS
from asobiba.envs.mini4wd.physics import CAUSES

_WIDTH, _PLAN, _PROFILE, _MARGIN = 900, 520, 190, 30
_CARS = ("#d7263d", "#1b6ca8")
_FASTEST = 7.0


def plan_points(course: Course, offset: float, parts: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Points along a line `offset` m to the left of the centre: (x, y), and the distance along the centre, m."""
    points, along, at = [], [], 0.0
    for (x, y, heading, _), segment in zip(poses(course.segments), course.segments):
        ahead, _, degrees, _ = segment.displacement
        m = segment.measures
        length = abs(math.radians(degrees)) * m["radius"] if degrees else ahead
        angle = math.radians(heading)
        for k in range(parts):
            share = k / parts
            forward, left = ahead * share, offset
            if degrees:
                turn = math.radians(abs(degrees)) * share
                radius = m["radius"] - segment.sign * offset
                forward = radius * math.sin(turn)
                left = segment.sign * (m["radius"] - radius * math.cos(turn))
            elif segment.kind == "wave":
                left += segment.sign * m["offset"] * 0.5 * (1 - math.cos(2 * math.pi * share))
            points.append(
                (
                    x + forward * math.cos(angle) - left * math.sin(angle),
                    y + forward * math.sin(angle) + left * math.cos(angle),
                )
            )
            along.append(at + length * share)
        at += length
    points.append(points[0])
    along.append(at)
    return np.array(points), np.array(along)


def lap_shares(course: Course) -> np.ndarray:
    """Share of the lap (along the mean of all lanes, as the cars' progress) at the beginning of every piece."""
    lengths = course.pieces[:, 0, BASE]
    return np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum()


def height_profile(course: Course, lane: int) -> tuple[np.ndarray, np.ndarray]:
    """Height (m) along a lap that begins in `lane`: (distance along the mean of all lanes, height)."""
    table, distance, height, at = course.pieces, [], [], 0.0
    for row in table:
        theta, curve, length = row[lane, 2], row[lane, 3], row[lane, LENGTH]
        for k in range(5):
            u = length * k / 4
            rise = (math.cos(theta) - math.cos(theta + curve * u)) / curve if abs(curve) > 1e-9 else u * math.sin(theta)
            distance.append(at + row[0, BASE] * k / 4)
            height.append(row[lane, HEIGHT] + rise)
        at += row[0, BASE]
        lane = int(row[lane, NEXT_LANE])
    return np.array(distance), np.array(height)


def _colour(speed: float) -> str:
    share = min(max(speed / _FASTEST, 0.0), 1.0)
    return f"hsl({220 - 220 * share:.0f},85%,45%)"


class _Plan:
    """Scales metres of the plan to the picture."""

    def __init__(self, course: Course):
        self.course = course
        self.offsets = lane_offsets(course)
        self.edge = (course.lanes / 2) * course.pitch
        self.centre, self.along = plan_points(course, 0.0, 16)
        low, high = self.centre.min(axis=0) - self.edge - 0.1, self.centre.max(axis=0) + self.edge + 0.1
        size = high - low
        self.scale = min((_WIDTH - 2 * _MARGIN) / size[0], (_PLAN - 2 * _MARGIN - 20) / size[1])
        self.origin = np.array([_WIDTH / 2, _PLAN / 2 + 12]) + np.array([-1, 1]) * self.scale * (low + high) / 2

    def at(self, points: np.ndarray) -> np.ndarray:
        """Places in the picture of points in metres."""
        return self.origin + self.scale * np.asarray(points) * np.array([1, -1])

    def line(self, offset: float, style: str) -> str:
        """A line along the course."""
        points = self.at(plan_points(self.course, offset, 16)[0])
        return f'<path d="M{" L".join(f"{x:.1f},{y:.1f}" for x, y in points)} Z" fill="none" {style}/>'

    def place(self, share: float, offset: float) -> tuple[float, float, float]:
        """Where a car is: x, y in the picture and its heading in degrees (clockwise)."""
        points, along = plan_points(self.course, offset, 16)
        at = (share % 1.0) * along[-1]
        k = min(int(np.searchsorted(along, at, side="right")) - 1, len(along) - 2)
        part = (at - along[k]) / max(along[k + 1] - along[k], 1e-9)
        a, b = self.at(points[k]), self.at(points[k + 1])
        x, y = a + part * (b - a)
        return float(x), float(y), math.degrees(math.atan2(b[1] - a[1], b[0] - a[0]))


def _track(plan: _Plan) -> list[str]:
    course = plan.course
    wide = course.lanes * course.pitch * plan.scale
    parts = [
        plan.line(0.0, f'stroke="#3a3f47" stroke-width="{wide + 5:.1f}" stroke-linejoin="round"'),
        plan.line(0.0, f'stroke="#e9ecef" stroke-width="{wide:.1f}" stroke-linejoin="round"'),
    ]
    for k in range(course.lanes - 1):
        offset = (course.lanes / 2 - k - 1) * course.pitch
        parts.append(plan.line(offset, 'stroke="#8a929c" stroke-width="1.2"'))
    names = {
        "lane_changer": "LC",
        "slope_up": "up",
        "slope_down": "down",
        "table_top": "top",
        "jump": "jump",
        "bank": "bank",
        "wave": "wave",
    }
    at = 0.0
    for (x, y, heading, _), segment in zip(poses(course.segments), course.segments):
        ahead, left, degrees, _ = segment.displacement
        angle = math.radians(heading)
        if segment.kind in names:
            forward, aside = ahead / 2, left / 2
            mx = x + forward * math.cos(angle) - aside * math.sin(angle)
            my = y + forward * math.sin(angle) + aside * math.cos(angle)
            px, py = plan.at([mx, my])
            parts.append(
                f'<text x="{px:.1f}" y="{py + 4:.1f}" text-anchor="middle" font-size="12" fill="#5b2a86" font-weight="bold">{names[segment.kind]}</text>'
            )
        if segment.kind == "start":
            half, side = segment.measures["length"] / 2, course.lanes * course.pitch / 2
            ends = [
                (x + half * math.cos(angle) - o * math.sin(angle), y + half * math.sin(angle) + o * math.cos(angle))
                for o in (side, -side)
            ]
            (ax, ay), (bx, by) = plan.at(ends[0]), plan.at(ends[1])
            parts.append(
                f'<line x1="{ax:.1f}" y1="{ay:.1f}" x2="{bx:.1f}" y2="{by:.1f}" stroke="#111" stroke-width="4" stroke-dasharray="4 3"/>'
            )
        at += abs(degrees) or ahead
    return parts


def _car(x: float, y: float, heading: float, colour: str, scale: float) -> str:
    length, width = max(0.15 * scale, 20), max(0.095 * scale, 12)
    return (
        f'<g transform="translate({x:.1f},{y:.1f}) rotate({heading:.1f})">'
        f'<rect x="{-length / 2:.1f}" y="{-width / 2:.1f}" width="{length:.1f}" height="{width:.1f}" rx="4" fill="{colour}" stroke="#111"/>'
        f'<polygon points="{length / 2:.1f},0 {length / 4:.1f},{-width / 3:.1f} {length / 4:.1f},{width / 3:.1f}" fill="#fff"/></g>'
    )


def _profile(course: Course, traces: Sequence[np.ndarray], cars: Sequence[tuple[float, str]], lane: int) -> list[str]:
    """Height profile, and over it the speed that each cell of the lap last saw."""
    top, high = _PLAN + 10, _PROFILE - 40
    left, wide = _MARGIN + 14, _WIDTH - 2 * _MARGIN - 20
    bottom = top + high
    distance, height = height_profile(course, lane)
    length = course.lap_length
    tallest = max(float(height.max()), 0.12) * 2.5
    points = " ".join(
        f"{left + wide * d / length:.1f},{bottom - high * h / tallest:.1f}" for d, h in zip(distance, height)
    )
    parts = [
        f'<polygon points="{left},{bottom} {points} {left + wide},{bottom}" fill="#cfd8dc" stroke="#607d8b"/>',
        f'<line x1="{left}" y1="{bottom}" x2="{left + wide}" y2="{bottom}" stroke="#333"/>',
    ]
    for speed in (2, 4, 6):
        y = bottom - high * speed / _FASTEST
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + wide}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{left - 4}" y="{y + 4:.1f}" text-anchor="end" font-size="11" fill="#666">{speed}</text>'
        )
    start = course.start_distance / length
    for trace, colour in zip(traces, _CARS):
        cells = [(k, float(v)) for k, v in enumerate(trace) if v > 0]
        for k, v in cells:
            x = left + wide * (((k + 0.5) / TRACE_CELLS + start) % 1.0)
            y = bottom - high * min(v / _FASTEST, 1)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"/>')
    for share, colour in cars:
        x = left + wide * (share % 1.0)
        parts.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="{colour}" stroke-width="2"/>')
    parts.append(f'<text x="{left}" y="{bottom + 16}" font-size="12" fill="#444">0 m</text>')
    parts.append(
        f'<text x="{left + wide}" y="{bottom + 16}" text-anchor="end" font-size="12" fill="#444">{length:.2f} m</text>'
    )
    parts.append(
        f'<text x="{_WIDTH / 2}" y="{bottom + 16}" text-anchor="middle" font-size="12" fill="#444">height profile and speed (m/s) along the lap</text>'
    )
    return parts


def _document(parts: Sequence[str]) -> str:
    size = f'width="{_WIDTH}" height="{_PLAN + _PROFILE}" viewBox="0 0 {_WIDTH} {_PLAN + _PROFILE}"'
    body = "".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif"><rect width="100%" height="100%" fill="#fbfbf8"/>{body}</svg>'


def _title(text: str) -> str:
    return f'<text x="{_MARGIN}" y="24" font-size="16" fill="#222">{escape(text)}</text>'


def course_svg(course: Course) -> str:
    """A course alone: plan and height profile."""
    plan = _Plan(course)
    lane = course.lanes - 1
    title = f"{course.title}: {course.lanes} lanes, {len(course.segments)} parts, {course.lap_length:.2f} m a lap"
    return _document([_title(title), *_track(plan), *_profile(course, [], [], lane)])


def _share(course: Course, state: np.void, k: int) -> float:
    return (float(state["progress"][k]) + course.start_distance) / course.lap_length


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: Any = None) -> str:
    """The course with the cars and the trace of their speeds; a seat sees its senses, not where the car is.

    Returns:
        An SVG document of 900 x 710.
    """
    course = load_course(ruleset.parameters["course"])
    plan = _Plan(course)
    if seat is not None:
        view = view_of(ruleset, state, seat)
        return _document([_title(_senses(view, seat)), *_track(plan), *_profile(course, [], [], course.lanes - 1)])
    cars, shares, words = [], [], []
    for k in range(ruleset.num_players):
        share = _share(course, state, k)
        colour = _CARS[k % 2]
        x, y, heading = plan.place(share, float(plan.offsets[int(state["lane"][k])]))
        cars.append(_car(x, y, heading, colour, plan.scale))
        shares.append((share, colour))
        cause = int(state["cause"][k])
        finish = float(state["finish_time"][k])
        end = f", out: {CAUSES[cause]}" if cause else f", {finish:.2f} s" if finish else ""
        flying = ", in the air" if state["airborne"][k] else ""
        words.append(
            f"{ruleset.players[k]}: lap {int(state['lap'][k]) + 1}, lane {int(state['lane'][k]) + 1}, {float(state['v'][k]):.2f} m/s{flying}{end}"
        )
    trail = []
    if ruleset.num_players == 1:
        for cell, v in enumerate(state["cell_speed"][0]):
            if v > 0:
                x, y, _ = plan.place((cell + 0.5) / TRACE_CELLS + course.start_distance / course.lap_length, 0.0)
                trail.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_colour(float(v))}"/>')
    title = f"{course.title}   t = {float(state['clock'][0]):.2f} s   {'   '.join(words)}"
    traces = [state["cell_speed"][k] for k in range(ruleset.num_players)]
    profile = _profile(course, traces, shares, int(state["lane"][0]) if course.lanes == 1 else course.lanes - 1)
    return _document([_title(title), *_track(plan), *trail, *cars, *profile])


def _senses(view: np.void, seat: int) -> str:
    imu = view["imu"][seat, -1]
    duty = view["actions"][seat, 0, 0]
    return (
        f"t = {float(view['clock'][seat]):.2f} s   {float(view['voltage'][seat]):.2f} V   duty {duty:+.2f}   "
        f"acc {imu[0]:+.2f} {imu[1]:+.2f} {imu[2]:+.2f} g   gyro {imu[3]:+.1f} {imu[4]:+.1f} {imu[5]:+.1f} rad/s"
    )


__all__ = ["course_svg", "height_profile", "lap_shares", "plan_points", "svg"]

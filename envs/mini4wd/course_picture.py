"""The constant part of a picture: the course in plan, with its bridges, and the height of the road along a lap."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np

from asobiba.envs.mini4wd.course import (
    BASE,
    CURVE,
    HEIGHT,
    KAPPA,
    LENGTH,
    NEXT_LANE,
    PREVIOUS_LANE,
    START,
    THETA,
    Course,
    Segment,
    bridge_lane,
    lane_offsets,
    poses,
    rise_along,
)

WIDTH, PLAN, PROFILE, MARGIN, HEAD = 900, 540, 190, 30, 56
CARS = ("#d7263d", "#1b6ca8")
FASTEST, RED, TALLEST = 7.0, 5.0, 0.12
"""Ends of the scales of speed and of its colours (m/s) and, at least, of height (m)."""
_INK = 'class="ink"'
_HALO = 'font-weight="bold" stroke="#fff" stroke-width="4" stroke-linejoin="round"'
PARTS = 8
"""Steps in which a piece is drawn."""
_NAMES = {
    "lane_changer": "LC", "slope_up": "up", "slope_down": "down", "table_top": "top", "jump": "jump", "bank": "bank",
    "wave": "wave",
}  # fmt: skip


def plan_of(course: Course) -> np.ndarray:
    """The plan: x ahead of the start, y to its left (m) and heading (rad) along the middle of every piece and lane.

    Returns:
        `(pieces, lanes, PARTS + 1, 3)` float64, in equal steps along the piece.
    """
    table, offsets = course.pieces, lane_offsets(course)
    plan = np.zeros((len(table), course.lanes, PARTS + 1, 3))
    ends = [*course.first_pieces[1:], len(table)]
    for segment, (x, y, degrees, _), first, end in zip(
        course.segments, poses(course.segments), course.first_pieces, ends, strict=False
    ):
        heading = math.radians(degrees)
        for lane in range(course.lanes):
            at = np.array([x - offsets[lane] * math.sin(heading), y + offsets[lane] * math.cos(heading), heading])
            for piece in range(first, end):
                plan[piece, lane, 0] = at
                for k in range(PARTS):
                    at = at + _step(table[piece, lane], segment, (k + 0.5) / PARTS, at[2])
                    plan[piece, lane, k + 1] = at
    return plan


def _step(row: np.ndarray, segment: Segment, share: float, heading: float) -> np.ndarray:
    """From one point of the plan to the next. A bank is drawn as if it lay flat."""
    grade = 0.0 if segment.kind == "bank" else row[THETA] + row[CURVE] * row[LENGTH] * share
    length = row[LENGTH] / PARTS * math.cos(grade)
    turn = row[KAPPA] * length
    chord = length if abs(turn) < 1e-9 else 2 * math.sin(turn / 2) / row[KAPPA]
    middle = heading + turn / 2
    return np.array([chord * math.cos(middle), chord * math.sin(middle), turn])


def lanes_of_lap(course: Course, piece: int, lane: int) -> np.ndarray:
    """The lane of every piece in the lap of a car that is here, `(pieces,)`."""
    table = course.pieces
    for at in range(piece, 0, -1):
        lane = int(table[at, lane, PREVIOUS_LANE])
    lanes = np.zeros(len(table), int)
    for at in range(len(table)):
        lanes[at] = lane
        lane = int(table[at, lane, NEXT_LANE])
    return lanes


def height_profile(course: Course, lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Height (m) along a lap in these lanes of the pieces: (distance along the mean of all lanes, height)."""
    rows = course.pieces[np.arange(len(lanes)), lanes]
    share = np.linspace(0.0, 1.0, PARTS + 1)
    along = rows[:, START, None] + rows[:, BASE, None] * share
    height = rows[:, HEIGHT, None] + rise_along(
        rows[:, LENGTH, None] * share, rows[:, THETA, None], rows[:, CURVE, None]
    )
    return along.ravel(), height.ravel()


class CoursePicture:
    """A scaled course: the places of things in the picture, and its constant parts."""

    def __init__(self, course: Course):
        self.course = course
        self.plan = plan_of(course)
        edge = 0.5 * course.pitch + 0.05
        points = self.plan[..., :2].reshape(-1, 2)
        low, high = points.min(axis=0) - edge, points.max(axis=0) + edge
        size = high - low
        self.scale = min((WIDTH - 2 * MARGIN) / size[0], (PLAN - HEAD - MARGIN) / size[1])
        middle = np.array([WIDTH / 2, (PLAN - MARGIN + HEAD) / 2])
        self._origin = middle + np.array([-1, 1]) * self.scale * (low + high) / 2
        self.left, self.right = MARGIN + 16, WIDTH - MARGIN - 16
        self.bottom, self.top = PLAN + PROFILE - 30, PLAN + 16
        bridged = [lanes_of_lap(course, 0, lane) for lane in range(course.lanes)]
        self.tallest = max(TALLEST, *(float(height_profile(course, lanes)[1].max()) for lanes in bridged)) * 1.6
        ends = [*course.first_pieces[1:], len(course.pieces)]
        self.on_bridges = {
            (piece, bridge_lane(segment, course))
            for segment, first, end in zip(course.segments, course.first_pieces, ends, strict=True)
            for piece in range(first, end)
        }
        """Pieces and lanes that cross others on a bridge."""
        ground, bridges = self._stretches()
        self.ground = "".join([*self._road(ground), *self._start(), *self._scales()])
        self.bridges = "".join(self._road(bridges))
        self.labels = "".join(self._labels())

    def at(self, points: Any) -> np.ndarray:
        """Places in the picture of points of the plan, m."""
        return self._origin + self.scale * np.asarray(points)[..., :2] * np.array([1, -1])

    def place(self, piece: int, lane: int, share: float, aside: float = 0.0) -> tuple[float, float, float]:
        """Place of a car in the picture: x, y, and its heading in degrees clockwise."""
        k = min(int(share * PARTS), PARTS - 1)
        part = share * PARTS - k
        x, y, heading = (1 - part) * self.plan[piece, lane, k] + part * self.plan[piece, lane, k + 1]
        px, py = self.at([x - aside * math.sin(heading), y + aside * math.cos(heading)])
        return float(px), float(py), -math.degrees(heading)

    def along(self, distance: float) -> float:
        """x of the profile at this distance from the first piece, m."""
        return self.left + (self.right - self.left) * distance / self.course.lap_length

    def level(self, height: float) -> float:
        """y of the profile at this height, m."""
        return self.bottom - (self.bottom - self.top) * height / self.tallest

    def pace(self, speed: float) -> float:
        """y of the profile at this speed, m/s."""
        return self.bottom - (self.bottom - self.top) * min(speed / FASTEST, 1.0)

    def _line(self, points: np.ndarray, colour: str, width: float) -> str:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in self.at(points))
        return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width:.1f}"/>'

    def _stretches(self) -> tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]]:
        """Rows of (piece, lane) that follow one another in driving order: those on the ground, and the bridges."""
        stretches: tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]] = ([], [])
        for first in range(self.course.lanes):
            lap = list(enumerate(lanes_of_lap(self.course, 0, first).tolist()))
            for bridge, stretch in itertools.groupby(lap, self.on_bridges.__contains__):
                stretches[bridge].append(list(stretch))
        return stretches

    def _road(self, stretches: Sequence[Sequence[tuple[int, int]]]) -> Iterator[str]:
        """Fences and lanes; higher is bluer."""
        wide = self.course.pitch * self.scale
        lines = []
        for stretch in stretches:
            piece, lane = stretch[-1]
            after = (piece + 1) % len(self.plan), int(self.course.pieces[piece, lane, NEXT_LANE])
            points = np.concatenate([*(self.plan[at] for at in stretch), self.plan[after][:2]])
            lines.append((stretch, points))
        for _, points in lines:
            yield self._line(points, "#3a3f47", wide + 4)
        for stretch, points in lines:
            yield self._line(points, "#eceff1", wide - 1.2)
            for at in stretch:
                yield from self._heights(at, wide - 1.2)

    def _heights(self, at: tuple[int, int], wide: float) -> Iterator[str]:
        row = self.course.pieces[at]
        for k in range(PARTS):
            u = row[LENGTH] * (k + 0.5) / PARTS
            height = row[HEIGHT] + float(rise_along(u, row[THETA], row[CURVE]))
            if height > 0.002:
                yield self._line(self.plan[at][k : k + 3], _shade(height / self.tallest), wide)

    def _start(self) -> Iterator[str]:
        piece, half = 0, self.course.lanes * self.course.pitch / 2
        x, y, heading = self.plan[piece, :, PARTS // 2].mean(axis=0)
        across = np.array([-math.sin(heading), math.cos(heading)])
        (ax, ay), (bx, by) = self.at([np.array([x, y]) + side * half * across for side in (1, -1)])
        yield (
            f'<line x1="{ax:.1f}" y1="{ay:.1f}" x2="{bx:.1f}" y2="{by:.1f}" stroke="#111" stroke-width="4" '
            'stroke-dasharray="4 3"/>'
        )
        px, py = self.at([x + 0.14 * math.cos(heading), y + 0.14 * math.sin(heading)])
        size = 0.05 * self.scale
        yield (
            f'<path d="M{-size:.1f},{-size:.1f} L{size:.1f},0 L{-size:.1f},{size:.1f}" fill="none" stroke="#111" '
            f'stroke-width="2" transform="translate({px:.1f},{py:.1f}) rotate({-math.degrees(heading):.1f})"/>'
        )

    def _labels(self) -> Iterator[str]:
        ends = [*self.course.first_pieces[1:], len(self.plan)]
        for segment, first, end in zip(self.course.segments, self.course.first_pieces, ends, strict=True):
            if segment.kind in _NAMES:
                points = self.plan[first:end].mean(axis=1).reshape(-1, 3)
                x, y = self.at(points[len(points) // 2])
                yield _text(x, y + 5, _NAMES[segment.kind], "#fff", "middle", _HALO, 15)
                yield _text(x, y + 5, _NAMES[segment.kind], "#5b2a86", "middle", 'font-weight="bold"', 15)

    def _scales(self) -> Iterator[str]:
        for speed in range(2, int(FASTEST), 2):
            y = self.pace(speed)
            yield f'<line x1="{self.left}" y1="{y:.1f}" x2="{self.right}" y2="{y:.1f}" stroke="#ddd"/>'
            yield _text(self.left - 5, y + 4, str(speed), "#555", "end", _INK, 17)
        yield f'<line x1="{self.left}" y1="{self.bottom}" x2="{self.right}" y2="{self.bottom}" stroke="#333"/>'
        yield _text(self.left - 5, self.top + 4, "m/s", "#555", "end", _INK, 17)
        step = 50 if self.tallest < 0.3 else 100
        for height in range(0, int(self.tallest * 900), step):
            yield _text(self.right + 5, self.level(height / 1000) + 4, str(height), "#4f83ad", size=17)
        yield _text(self.right + 5, self.top + 4, "mm", "#4f83ad", size=17)
        yield _text(self.left, self.bottom + 20, "0 m", "#444", more=_INK, size=17)
        yield _text(self.right, self.bottom + 20, f"{self.course.lap_length:.2f} m", "#444", "end", _INK, 17)
        yield _text(
            (self.left + self.right) / 2,
            self.bottom + 20,
            "height of the road and speed along the lap",
            "#444",
            "middle",
            _INK,
            17,
        )

    def profile(self, lanes: np.ndarray, colour: str = "#cfd8dc", opacity: float = 1.0) -> str:
        """The road's height along a lap in these lanes."""
        distance, height = height_profile(self.course, lanes)
        path = " ".join(f"{self.along(d):.1f},{self.level(h):.1f}" for d, h in zip(distance, height, strict=True))
        return (
            f'<polygon points="{self.left},{self.bottom} {path} {self.right},{self.bottom}" fill="{colour}" '
            f'fill-opacity="{opacity}" stroke="#607d8b"/>'
        )

    def document(
        self,
        lines: Sequence[tuple[str, str]],
        ground: Sequence[str],
        bridges: Sequence[str] = (),
        top: Sequence[str] = (),
    ) -> str:
        """The picture: lines of (text, colour), the course, and what lies on its ground, on its bridges, on top."""
        words = "".join(
            _text(MARGIN, 22 + 19 * k, text, colour, size=16 if k == 0 else 14)
            for k, (text, colour) in enumerate(lines)
        )
        size = f'width="{WIDTH}" height="{PLAN + PROFILE}" viewBox="0 0 {WIDTH} {PLAN + PROFILE}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
            f'<rect width="100%" height="100%" fill="#fbfbf8"/>{words}{self.ground}{"".join(ground)}{self.bridges}'
            f"{''.join(bridges)}{self.labels}{''.join(top)}</svg>"
        )


@lru_cache(maxsize=16)
def picture_of(course: Course) -> CoursePicture:
    return CoursePicture(course)


def _text(x: float, y: float, text: str, colour: str, anchor: str = "start", more: str = "", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" {more}>'
        f"{escape(text)}</text>"
    )


def _shade(share: float) -> str:
    """Colour of the road at a share of the greatest height."""
    low, high = np.array([236, 239, 241]), np.array([92, 140, 190])
    red, green, blue = np.rint(low + min(share, 1.0) * (high - low)).astype(int)
    return f"#{red:02x}{green:02x}{blue:02x}"


def course_svg(course: Course) -> str:
    """A course alone: plan, and the height profile of the lap that begins in the rightmost lane."""
    picture = picture_of(course)
    title = f"{course.title}: {course.lanes} lanes, {len(course.segments)} parts, {course.lap_length:.2f} m a lap"
    return picture.document([(title, "#222")], [picture.profile(lanes_of_lap(course, 0, course.lanes - 1))])

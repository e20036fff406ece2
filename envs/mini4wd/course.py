"""Courses: read from YAML, checked, and turned into the table of pieces that the kernels drive on.

A segment is a part as sold (a corner, a slope, a lane changer). Each segment becomes one or more
pieces; inside a piece the lateral curvature, the vertical curvature and the cant of every lane are constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np
import yaml

from asobiba.core import GameParameterError
from asobiba.core.elementary import asin, atan, cos, hypot, sin, sincos
from asobiba.envs.mini4wd.fields import Field, choice, read_fields, require_known, require_mapping

MAX_PIECES, MAX_LANES = 160, 5

# Columns of the table of pieces, one row a piece and lane.
LENGTH, KAPPA, THETA, CURVE, CANT, HEIGHT, DROP, BASE, START, NEXT_LANE, PREVIOUS_LANE, KIND = range(12)
COLUMNS = (
    "path length, m",
    "lateral curvature, 1/m, positive to the left",
    "grade at the beginning, rad, positive uphill",
    "vertical curvature, 1/m, positive in a hollow, negative on a crest",
    "cant, rad, positive where the outer side is the higher one",
    "height at the beginning, m",
    "fall of the road at the end (the lip of a jump), m",
    "mean path length of all lanes, m",
    "distance from the first piece along the mean of all lanes, m",
    "lane in which the next piece is entered",
    "lane in which the previous piece was left",
    "kind of the segment, index into KINDS",
)
KINDS = ("start", "straight", "corner", "wave", "slope_up", "slope_down", "table_top", "jump", "bank", "lane_changer")
LANE_CHANGER = KINDS.index("lane_changer")

_LENGTH = Field("length", "m", 0.05, 5.0, None, "length along the centre, horizontal")
_RADIUS = Field("radius", "m", 0.45, 5.0, None, "radius of the centre line")
_RISE = Field("rise", "m", 0.01, 0.5, None, "height between the two ends")
_CREST = Field("crest_radius", "m", 0.05, 5.0, None, "radius of the vertical arcs at foot and crest")
PART_FIELDS: dict[str, tuple[Field, ...]] = {
    "start": (_LENGTH,),
    "straight": (_LENGTH,),
    "corner": (_RADIUS, Field("angle", "degrees", 5, 180, None, "how far it turns")),
    "wave": (_LENGTH, Field("offset", "m", 0.005, 0.1, None, "how far it leads aside and back")),
    "slope_up": (_LENGTH, _RISE, _CREST),
    "slope_down": (_LENGTH, _RISE, _CREST),
    "table_top": (_LENGTH, _RISE, _CREST, Field("flat", "m", 0, 5, None, "length of the flat top")),
    "jump": (_LENGTH, _RISE, _CREST),
    "bank": (
        _RADIUS,
        Field("angle", "degrees", 180, 180, None, "how far it turns: a U-turn on a tilted plane"),
        Field("tilt", "degrees", 1, 40, None, "tilt of the plane"),
        Field("approach", "m", 0.1, 2, None, "length of the curved approach at either end"),
        _CREST,
    ),
    "lane_changer": (
        _LENGTH,
        Field("bridge", "m", 0.02, 0.2, None, "height of the bridge"),
        Field("top", "m", 0, 3, None, "length of its flat top"),
        _CREST,
    ),
}
TURNS = {"corner": ("left", "right"), "bank": ("left", "right"), "wave": ("left", "right")}
CROSSINGS = ("right_to_left", "left_to_right")
_COUNT = Field("count", "", 1, 100, 1, "how many of it follow one another", integer=True)
_CLOSED_TO, _CLOSED_TO_DEGREES = 0.005, 0.5


@cache
def systems() -> dict[str, Any]:
    """The track systems: name -> lanes, pitch and parts with their measures."""
    text = (files("asobiba.envs.mini4wd") / "parts" / "systems.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


@dataclass(frozen=True)
class Segment:
    """A part in its place. `measures`: as in `PART_FIELDS`; `turn`: "left" or "right"; `crossing`: of a lane changer."""

    number: int
    kind: str
    measures: Mapping[str, float]
    turn: str = "left"
    crossing: str = "right_to_left"

    @property
    def sign(self) -> float:
        """1 where it turns left, -1 where it turns right."""
        return 1.0 if self.turn == "left" else -1.0

    @property
    def displacement(self) -> tuple[float, float, float, float]:
        """End of the segment: metres ahead, metres to the left, degrees to the left, metres up."""
        m = self.measures
        if self.kind in ("corner", "bank"):
            (sine, cosine), radius = sincos(math.radians(m["angle"])), m["radius"]
            return float(radius * sine), float(self.sign * radius * (1 - cosine)), self.sign * m["angle"], 0.0
        if self.kind == "table_top":
            return 2 * m["length"] + m["flat"], 0.0, 0.0, 0.0
        rise = {"slope_up": 1.0, "slope_down": -1.0}.get(self.kind, 0.0) * m.get("rise", 0.0)
        return m["length"], 0.0, 0.0, rise

    def __str__(self) -> str:
        return f"segment {self.number} ({self.kind})"


@dataclass(frozen=True, eq=False)
class Course:
    """A closed course.

    Args:
        name, title: for files and for people.
        lanes: number of lanes; lane 0 is the leftmost.
        pitch: distance between the middles of two lanes, m.
        segments: in driving order; the first is the start.
    """

    name: str
    title: str
    lanes: int
    pitch: float
    segments: tuple[Segment, ...]

    @cached_property
    def pieces(self) -> np.ndarray:
        """The table of pieces for the kernels: `(number of pieces, lanes, len(COLUMNS))` float64.

        Raises:
            GameParameterError: if a segment has a shape that cannot be built, or there are too many.
        """
        rows: list[np.ndarray] = []
        for segment in self.segments:
            try:
                rows += _pieces(segment, self)
            except ValueError as error:
                raise GameParameterError(f"course {self.name}, {segment}: {error}") from None
        if len(rows) > MAX_PIECES:
            raise GameParameterError(f"course {self.name} has {len(rows)} pieces; at most {MAX_PIECES} are possible")
        table = np.stack(rows)
        height = np.zeros(self.lanes)
        for k, row in enumerate(table):
            row[:, HEIGHT] = height
            row[:, BASE] = _added(row[:, LENGTH]) / self.lanes
            height = height + rise_along(row[:, LENGTH], row[:, THETA], row[:, CURVE]) - row[:, DROP]
            if k + 1 < len(table):
                changed = np.empty(self.lanes)
                changed[row[:, NEXT_LANE].astype(int)] = height
                height = changed
        table[:, :, START] = np.concatenate([[0.0], np.cumsum(table[:-1, 0, BASE])])[:, None]
        for k in range(len(table)):
            for lane in range(self.lanes):
                table[(k + 1) % len(table), int(table[k, lane, NEXT_LANE]), PREVIOUS_LANE] = lane
        table.setflags(write=False)
        return table

    @cached_property
    def first_pieces(self) -> tuple[int, ...]:
        """The number of the first piece of every segment."""
        counts = [len(_pieces(segment, self)) for segment in self.segments]
        return tuple(np.cumsum([0, *counts[:-1]]).tolist())

    @property
    def lap_length(self) -> float:
        """Length of a lap along the mean of all lanes, m."""
        return _added(self.pieces[:, 0, BASE])

    def lane_length(self, lane: int) -> float:
        """Length of one lane, m; a car that changes lanes drives on parts of several."""
        return _added(self.pieces[:, lane, LENGTH])

    @property
    def start_distance(self) -> float:
        """Place of the cars before a run and of the lap counter: the middle of the start, m from its beginning."""
        return self.segments[0].measures["length"] / 2


def _added(values: np.ndarray) -> float:
    """The sum in order; NumPy adds in another order, and Python from 3.12 on in yet another."""
    return float(np.cumsum(values)[-1])


def _sines(angles: Any) -> np.ndarray:
    return np.array([sin(each) for each in np.ravel(angles)]).reshape(np.shape(angles))


def _cosines(angles: Any) -> np.ndarray:
    return np.array([cos(each) for each in np.ravel(angles)]).reshape(np.shape(angles))


def rise_along(length: Any, theta: Any, curve: Any) -> Any:
    """Rise of the road over the next `length` metres, m, from its grade there and its vertical curvature."""
    bent = np.abs(curve) > 1e-9
    safe = np.where(bent, curve, 1.0)
    return np.where(bent, (_cosines(theta) - _cosines(theta + curve * length)) / safe, length * _sines(theta))


def _row(
    course: Course,
    segment: Segment,
    length: Any,
    kappa: Any = 0.0,
    theta: Any = 0.0,
    curve: Any = 0.0,
    cant: Any = 0.0,
    drop: Any = 0.0,
) -> np.ndarray:
    row = np.zeros((course.lanes, len(COLUMNS)))
    for column, value in ((LENGTH, length), (KAPPA, kappa), (THETA, theta), (CURVE, curve), (CANT, cant), (DROP, drop)):
        row[:, column] = value
    row[:, NEXT_LANE] = np.arange(course.lanes)
    row[:, KIND] = KINDS.index(segment.kind)
    return row


def lane_offsets(course: Course) -> np.ndarray:
    """Offset of each lane to the left of the centre line, m: `(lanes,)`."""
    return ((course.lanes - 1) / 2 - np.arange(course.lanes)) * course.pitch


def _root(function: Callable[[float], float], high: float) -> float:
    """The zero of a function that is not positive at 0 and not negative at `high`, to the last bit, by bisection."""
    low = 0.0
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        if function(middle) < 0.0:
            low = middle
        else:
            high = middle


@cache
def _profile(length: float, rise: float, radius: float) -> list[tuple[float, float, float]]:
    """A slope of two arcs and a straight between them: (path length, first grade, vertical curvature) each."""
    steepest = 2 * float(atan(rise / length))
    largest = length / (2 * float(sin(steepest)))
    if radius > largest:
        raise ValueError(
            f"crest_radius is {radius:g}, but a rise of {rise:g} m over {length:g} m allows at most {largest:.3g} m"
        )

    def too_far(theta: float) -> float:
        sine, cosine = sincos(theta)
        return length * sine - rise * cosine - 2 * radius * (1 - cosine)

    theta = _root(too_far, steepest)
    sine, cosine = map(float, sincos(theta))
    between = (length - 2 * radius * sine) / cosine
    return [(radius * theta, 0.0, 1 / radius), (between, theta, 0.0), (radius * theta, theta, -1 / radius)]


def _downhill(profile: list[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    return [(length, -(theta + curve * length), curve) for length, theta, curve in reversed(profile)]


@cache
def _ramp(length: float, rise: float, radius: float) -> list[tuple[float, float, float]]:
    """A jump ramp of half the part's length: a hollow arc, then straight up to the lip."""
    ramp = length / 2

    def height(theta: float) -> float:
        sine, cosine = sincos(theta)
        return radius * (1 - cosine) + (ramp - radius * sine) / cosine * sine - rise

    steepest = min(float(asin(min(1.0, ramp / radius))), math.radians(60))
    if height(steepest) < 0:
        raise ValueError(f"rise is {rise:g}, which a ramp of {ramp:g} m with crest_radius {radius:g} cannot reach")
    theta = _root(height, steepest)
    sine, cosine = map(float, sincos(theta))
    return [(radius * theta, 0.0, 1 / radius), ((ramp - radius * sine) / cosine, theta, 0.0)]


def _shift(length: float, aside: float) -> tuple[float, float]:
    """Two equal arcs that lead `aside`: radius and path length of each."""
    radius = (length * length + aside * aside) / (4 * aside)
    return radius, radius * 2 * float(atan(aside / length))


def _pieces(segment: Segment, course: Course) -> list[np.ndarray]:
    m, kind = segment.measures, segment.kind

    def row(length: Any, **values: Any) -> np.ndarray:
        return _row(course, segment, length, **values)

    if kind in ("start", "straight"):
        return [row(m["length"])]
    if kind == "corner":
        radii = m["radius"] - segment.sign * lane_offsets(course)
        return [row(radii * math.radians(m["angle"]), kappa=segment.sign / radii)]
    if kind == "wave":
        radius, arc = _shift(m["length"] / 2, m["offset"])
        return [row(arc, kappa=segment.sign * side / radius) for side in (1, -1, -1, 1)]
    if kind in ("slope_up", "slope_down", "table_top"):
        up = _profile(m["length"], m["rise"], m["crest_radius"])
        profile = {"slope_up": up, "slope_down": _downhill(up)}.get(kind) or [
            *up,
            (m["flat"], 0.0, 0.0),
            *_downhill(up),
        ]
        return [row(length, theta=theta, curve=curve) for length, theta, curve in profile if length > 1e-6]
    if kind == "jump":
        rows = [
            row(length, theta=theta, curve=curve)
            for length, theta, curve in _ramp(m["length"], m["rise"], m["crest_radius"])
        ]
        rows[-1][:, DROP] = m["rise"]
        return [*rows, row(m["length"] / 2)]
    if kind == "bank":
        return _bank(segment, course)
    return _lane_changer(segment, course)


def _bank(segment: Segment, course: Course) -> list[np.ndarray]:
    """A curved approach onto a tilted plane, a U-turn on it, and the approach down again."""
    m = segment.measures
    tilt, approach = math.radians(m["tilt"]), m["approach"]
    radii = m["radius"] - segment.sign * lane_offsets(course)
    rows = [_row(course, segment, approach, curve=tilt / approach)]
    parts = 8
    grades = [asin(sin(tilt) * cos(k * math.pi / parts)) for k in range(parts + 1)]
    for k in range(parts):
        length = radii * math.pi / parts
        middle = asin(sin(tilt) * sin((k + 0.5) * math.pi / parts))
        rows.append(
            _row(course, segment, length, kappa=segment.sign / radii, theta=grades[k],
                 curve=(grades[k + 1] - grades[k]) / length, cant=middle)
        )  # fmt: skip
    return [*rows, _row(course, segment, approach, theta=-tilt, curve=tilt / approach)]


def bridge_lane(segment: Segment, course: Course) -> int | None:
    """The lane that crosses the others of a lane changer on its bridge; `None` for other segments."""
    if segment.kind != "lane_changer":
        return None
    return course.lanes - 1 if segment.crossing == "right_to_left" else 0


def _lane_changer(segment: Segment, course: Course) -> list[np.ndarray]:
    """One lane crosses all others on a bridge; the others move one lane aside under it."""
    m, lanes, crossing = segment.measures, course.lanes, bridge_lane(segment, course)
    leftwards = -1.0 if crossing == 0 else 1.0
    under_radius, under_arc = _shift(m["length"], course.pitch)
    radius, arc = _shift(m["length"], (lanes - 1) * course.pitch)
    if m["top"] > arc:
        raise ValueError(f"top is {m['top']:g}, but the bridge's ramps need half of its {2 * arc:.3g} m")
    up = _profile(arc - m["top"] / 2, m["bridge"], m["crest_radius"])
    profile = [*up, (m["top"] / 2, 0.0, 0.0), (m["top"] / 2, 0.0, 0.0), *_downhill(up)]
    half = len(profile) // 2
    rows = []
    for k, (length, theta, curve) in enumerate(profile):
        side = leftwards if k < half else -leftwards
        row = _row(course, segment, under_arc / half, kappa=-side / under_radius)
        row[crossing, [LENGTH, KAPPA, THETA, CURVE]] = length, side / radius, theta, curve
        rows.append(row)
    after = np.arange(lanes) + leftwards
    after[crossing] = 0 if leftwards > 0 else lanes - 1
    rows[-1][:, NEXT_LANE] = after
    return rows


def _segment(number: int, entry: Any, system: Mapping[str, Any], where: str) -> tuple[Segment, int]:
    if isinstance(entry, str):
        entry = {"kind": entry}
    entry = dict(require_mapping(entry, f"{where}, segment {number}"))
    kinds = tuple(system["parts"])
    if "kind" not in entry:
        raise GameParameterError(f"{where}, segment {number}: kind is missing; it must be one of {', '.join(kinds)}")
    kind = choice(entry.pop("kind"), kinds, "kind", f"{where}, segment {number}")
    where = f"{where}, segment {number} ({kind})"
    count = int(_COUNT.check(entry.pop("count", 1), where))
    words = {}
    for name, legal, kinds_with_it in (("turn", ("left", "right"), TURNS), ("crossing", CROSSINGS, ("lane_changer",))):
        if name in entry and kind in kinds_with_it:
            words[name] = choice(entry.pop(name), legal, name, where)
    measures = read_fields({**system["parts"][kind], **entry}, PART_FIELDS[kind], where)
    return Segment(number, kind, measures, **words), count


def build_course(data: Mapping[str, Any], where: str) -> Course:
    """A course from its description, checked.

    Args:
        data: name, system and segments, as in a course's file.
        where: its name in messages.

    Raises:
        GameParameterError: naming the segment and the reason, for a part that does not exist, a measure outside its
            range, or a course that does not close.
    """
    require_known(data, ("name", "title", "source", "system", "segments"), where)
    for name in ("name", "system", "segments"):
        if name not in data:
            raise GameParameterError(f"{where}: {name} is missing")
    system = systems()[choice(data["system"], tuple(systems()), "system", where)]
    entries = data["segments"]
    if not isinstance(entries, list) or not entries:
        raise GameParameterError(f"{where}: segments must be a list of parts, not {entries!r}")
    segments: list[Segment] = []
    for entry in entries:
        segment, count = _segment(len(segments) + 1, entry, system, where)
        for _ in range(count):
            segments.append(Segment(len(segments) + 1, segment.kind, segment.measures, segment.turn, segment.crossing))
    course = Course(
        str(data["name"]),
        str(data.get("title", data["name"])),
        int(system["lanes"]),
        float(system["pitch"]),
        tuple(segments),
    )
    _require_start(course, where)
    _require_closed(course, where)
    course.pieces  # noqa: B018 - shapes that cannot be built are refused here
    return course


def _require_start(course: Course, where: str) -> None:
    starts = [s for s in course.segments if s.kind == "start"]
    if course.segments[0].kind != "start":
        raise GameParameterError(f"{where}: {course.segments[0]} comes first, but a course begins with its start")
    if len(starts) > 1:
        raise GameParameterError(f"{where}: {starts[1]} is a second start; a course has one")


def _require_closed(course: Course, where: str) -> None:
    x, y, heading, z = final_pose(course.segments)
    turned = round(heading / 360)
    reasons = []
    off = heading - 360 * (turned or math.copysign(1, heading))
    if abs(off) > _CLOSED_TO_DEGREES:
        reasons.append(f"it has turned {heading:g} degrees instead of a full turn")
    if hypot(x, y) > _CLOSED_TO:
        reasons.append(f"its end lies {x:+.3f} m ahead and {y:+.3f} m to the left of the start")
    if abs(z) > _CLOSED_TO:
        reasons.append(f"its end lies {z:+.3f} m above the start")
    if reasons:
        raise GameParameterError(f"{where} does not close after {course.segments[-1]}: {', and '.join(reasons)}")


def final_pose(segments: tuple[Segment, ...] | list[Segment]) -> tuple[float, float, float, float]:
    """End of segments laid from the origin: x ahead, y to the left (m), degrees turned to the left, height (m)."""
    return poses(segments)[-1]


def poses(segments: tuple[Segment, ...] | list[Segment]) -> list[tuple[float, float, float, float]]:
    """The pose before every segment and after the last: x, y (m), heading (degrees, to the left), height (m)."""
    x = y = heading = z = 0.0
    found = [(x, y, heading, z)]
    for segment in segments:
        ahead, left, degrees, up = segment.displacement
        sine, cosine = map(float, sincos(math.radians(heading)))
        x += ahead * cosine - left * sine
        y += ahead * sine + left * cosine
        heading += degrees
        z += up
        found.append((x, y, heading, z))
    return found

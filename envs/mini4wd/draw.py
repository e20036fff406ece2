"""Pictures: the course in plan, its height profile and the trace of speeds, with the cars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from asobiba.api.scene import (
    ACTION,
    ENDING,
    Entries,
    Pen,
    begin,
    begin_words,
    drawing,
    line,
    number,
    rectangle,
    symbol,
    text,
    word,
)  # fmt: skip
from asobiba.core import Ruleset
from asobiba.core.elementary import cos, sin
from asobiba.core.states import is_over, view_of
from asobiba.envs.mini4wd.course import BASE, LENGTH, PREVIOUS_LANE, START
from asobiba.envs.mini4wd.course_picture import (
    CARS,
    FASTEST,
    MARGIN,
    PARTS,
    PLAN,
    PROFILE,
    RED,
    WIDTH,
    course_svg,
    height_profile,
    lanes_of_lap,
    picture_of,
    plan_of,
)
from asobiba.envs.mini4wd.course_source import load_course
from asobiba.envs.mini4wd.layout import LEVELS, TRACE_CELLS, control_ms_of
from asobiba.envs.mini4wd.physics import CAUSES

FPS = 10.0
"""Pictures per second of a film in real time; `frames` draws this many per second."""
SPECTATOR = True
"""Drivers stand beside the course and see the cars, although policies do not."""
_DEGREES = 180 / math.pi

TEXTS, STYLES = Entries(), Entries()
_T, _SECONDS, _MARK, _METRES = (TEXTS(each) for each in (", t = ", " s", ", mark at ", " m"))
_COLON_LAP, _LANE, _SPEED, _DUTY, _BRAKE, _FREE = (
    TEXTS(each) for each in (": lap ", ", lane ", " m/s", ", duty ", ", brake", ", free")
)
_COMMA, _IN_AIR, _IS_OUT, _AFTER = (TEXTS(each) for each in (", ", ", in the air", ", out: ", ", "))
_CAUSES_AT = len(TEXTS)
for _name in CAUSES:
    TEXTS.append(_name)
_PLAYERS_AT = len(TEXTS)
for _name in ("car", "first", "second"):
    TEXTS.append(_name)
_SENSE_T, _VOLT, _SENSE_DUTY, _ACC, _BLANK, _GYRO, _RADIANS = (
    TEXTS(each) for each in ("t = ", " s, ", " V, duty ", "acc ", " ", " g, gyro ", " rad/s")
)
_FINISHED, _TIME_UP, _STOPPED_AT, _WINS_AT, _NOBODY = (
    TEXTS(each) for each in ("finished in ", "the time is up after ", "stopped at ", "the first car wins", "a draw")
)
_SECOND_WINS, _LEFT_COURSE = TEXTS("the second car wins"), TEXTS("out: ")
_DRIVE, _BRAKES, _FREES = TEXTS("drive "), TEXTS("brake"), TEXTS("free")
_TITLE_AT = len(TEXTS)
"""The course's title stands behind the texts that all rulesets share."""

_PAPER = STYLES("class='paper' fill='#fbfbf8'")
_HEADLINE = STYLES("class='ink' font-size='20' fill='#222222'")
_LINES_AT = len(STYLES)
for _colour in ("#222222", *CARS):
    STYLES(f"class='ink' font-size='17' fill='{_colour}'")
_CURVES_AT = len(STYLES)
for _colour in CARS:
    STYLES(f"stroke='{_colour}' stroke-width='2' stroke-linecap='round'")
_UPRIGHT_AT = len(STYLES)
for _colour in CARS:
    STYLES(f"stroke='{_colour}' stroke-opacity='0.4'")
_SHADES = 23
_SPEEDS_AT = len(STYLES)
for _shade_number in range(_SHADES):
    STYLES(f"stroke='hsl({220 - 10 * _shade_number},85%,45%)' stroke-width='6' stroke-linecap='round'")
_GROUND, _BRIDGES, _LABELS, _CROSS = range(4)
_CARS_AT, _SIDES_AT = 4, 8
_PROFILES_AT = 10
"""Numbers of the symbols: parts of the course, the cars (on the road, in the air), the cars from the side, profiles."""
_PLAYERS, _LEFT_END, _RIGHT_END, _TOP_END, _BOTTOM_END, _TALLEST_AT, _SCALE, _POSITION, _LANES, _NUMBERS = range(10)
_PLAN_AT = 10
"""The numbers of the drawing: as named, then the plan of every piece and lane, then for every cell of the trail its
distance (m), piece and share of it and, for each lane, place in the picture and whether it is on a bridge; last, room for
the lanes of a lap."""
_CELL = 3 * (PARTS + 1)


def texts(ruleset: Ruleset) -> Sequence[str]:
    """The texts, with the course's title."""
    return [*TEXTS, load_course(ruleset.parameters["course"]).title]


def symbols(ruleset: Ruleset) -> Sequence[str]:
    """The course's parts and the cars, in SVG."""
    course = load_course(ruleset.parameters["course"])
    picture = picture_of(course)
    length, width = max(0.155 * picture.scale, 20), max(0.095 * picture.scale, 12)
    half = length / 2
    cross = (
        f"<path d='M{-half:.1f},{-half:.1f} L{half:.1f},{half:.1f} M{-half:.1f},{half:.1f} L{half:.1f},{-half:.1f}' "
        "stroke='#111' stroke-width='4'/>"
    )
    cars = [
        f"<rect class='car' x='{-half:.1f}' y='{-width / 2:.1f}' width='{length:.1f}' height='{width:.1f}' rx='4' fill='{colour}' "
        f"stroke='{edge}' stroke-width='1.5'/><polygon points='{half:.1f},0 {length / 6:.1f},{-width / 3:.1f} "
        f"{length / 6:.1f},{width / 3:.1f}' fill='#fff'/>"
        for colour in CARS
        for edge in ("#111", "#fff")
    ]
    sides = [f"<rect x='-8' y='-8' width='16' height='7' rx='2' fill='{colour}' stroke='#111'/>" for colour in CARS]
    profiles = [
        picture.profile(lanes_of_lap(course, 0, lane), "#cfd8dc" if k == 0 else CARS[k], 1.0 if k == 0 else 0.15)
        for k in range(2)
        for lane in range(course.lanes)
    ]
    return [picture.ground, picture.bridges, picture.labels, cross, *cars, *sides, *profiles]


def data(ruleset: Ruleset) -> np.ndarray:
    """The places of things in the picture (see `_PLAN_AT`)."""
    course = load_course(ruleset.parameters["course"])
    picture = picture_of(course)
    head = [
        ruleset.num_players, picture.left, picture.right, picture.top, picture.bottom, picture.tallest, picture.scale,
        "reward_stop" in (ruleset.dtype.names or ()), course.lanes, 0 if ruleset.discrete else ruleset.actions_shape[-1],
    ]  # fmt: skip
    places = [
        np.column_stack([picture.at(picture.plan[piece, lane]), picture.plan[piece, lane, :, 2]])
        for piece in range(len(course.pieces))
        for lane in range(course.lanes)
    ]
    cells: list[float] = []
    for cell in range(TRACE_CELLS):
        distance = ((cell + 0.5) / TRACE_CELLS * course.lap_length + course.start_distance) % course.lap_length
        at = int(np.searchsorted(course.pieces[:, 0, START], distance, side="right")) - 1
        share = min((distance - course.pieces[at, 0, START]) / course.pieces[at, 0, BASE], 1.0)
        cells += [distance, at, share]
        for lane in range(course.lanes):
            x, y, _ = picture.place(at, lane, share)
            cells += [x, y, (at, lane) in picture.on_bridges]
    return np.array([*head, *np.ravel(places), *cells, *[0.0] * len(course.pieces)], float)


@drawing
def tell(s, p, d, what, about, out):
    begin_words(out)
    if what == ENDING:
        _ending(s, d, out)
    elif what == ACTION:
        duty, selector = LEVELS[about][0], LEVELS[about][1]
        if selector < 0:
            word(out, _FREES if selector < -0.5 else _BRAKES)
        else:
            word(out, _DRIVE)
            number(out, duty, 2, 1)


@drawing
def _ending(s, d, out):
    if d[_PLAYERS] > 1 and s.rewards[0] != s.rewards[1]:
        word(out, _WINS_AT if s.rewards[0] > s.rewards[1] else _SECOND_WINS)
    elif d[_PLAYERS] > 1:
        word(out, _NOBODY)
    elif s.cause[0] != 0:
        word(out, _LEFT_COURSE)
        word(out, _CAUSES_AT + int(s.cause[0]))
    elif s.finish_time[0] > 0:
        word(out, _FINISHED)
        number(out, s.finish_time[0], 2)
        word(out, _SECONDS)
    elif d[_POSITION] != 0 and s.terminated != 0:
        word(out, _STOPPED_AT)
        number(out, s.progress[0], 2)
        word(out, _METRES)
    else:
        word(out, _TIME_UP)
        number(out, s.clock[0], 2)
        word(out, _SECONDS)


@drawing
def answer(s, p, d, out):
    """The action of the controls' duty and mode, or of the command chosen."""
    if d[_NUMBERS] == 0:
        out[0, 0] = 1
        return
    duty, mode = out[1, 0], int(out[2, 0])
    out[0, 0], out[1, 0] = d[_NUMBERS], duty if mode == 0 else 0.0
    out[2, 0] = 0.5 if mode == 0 else -0.25 if mode == 1 else -0.75


@drawing
def scene(s, p, d, mask, seat, last, out):
    """The course with the cars and the trace of their speeds; a seat sees its sensors' readings, not the car's place."""
    begin(out, WIDTH, PLAN + PROFILE)
    rectangle(out, _PAPER, 0, 0, WIDTH, PLAN + PROFILE)
    lanes = int(d[_LANES])
    if seat >= 0:
        _senses(s, seat, out)
        symbol(out, _GROUND, 0, 0)
        symbol(out, _PROFILES_AT + lanes - 1, 0, 0)
        symbol(out, _BRIDGES, 0, 0)
        symbol(out, _LABELS, 0, 0)
        return
    players = int(d[_PLAYERS])
    text(out, _HEADLINE, MARGIN, 22)
    word(out, _TITLE_AT)
    word(out, _T)
    number(out, s.clock[0], 2)
    word(out, _SECONDS)
    if d[_POSITION] != 0:
        word(out, _MARK)
        number(out, s.target[0], 2)
        word(out, _METRES)
    for k in range(players):
        _words(s, d, k, out)
    symbol(out, _GROUND, 0, 0)
    for k in range(players):
        symbol(out, _PROFILES_AT + k * lanes + _first_lane(s, p, k), 0, 0)
        _trail(s, p, d, k, 0, out)
    symbol(out, _BRIDGES, 0, 0)
    for k in range(players):
        _trail(s, p, d, k, 1, out)
    symbol(out, _LABELS, 0, 0)
    for k in range(players):
        _car(s, p, d, k, out)


@drawing
def _first_lane(s, p, k):
    """The lane in which the car's lap began."""
    lane = int(s.lane[k])
    for at in range(int(s.piece[k]), 0, -1):
        lane = int(p.track[at, lane, PREVIOUS_LANE])
    return lane


@drawing
def _along(p, d, distance):
    """x of the profile at this distance from the first piece, m."""
    return d[_LEFT_END] + (d[_RIGHT_END] - d[_LEFT_END]) * distance / p.lap_length


@drawing
def _pace(d, speed):
    """y of the profile at this speed, m/s."""
    return d[_BOTTOM_END] - (d[_BOTTOM_END] - d[_TOP_END]) * min(speed / FASTEST, 1.0)


@drawing
def _place_of(d, lanes, piece, lane, share, aside):
    """Place of a car in the picture: x, y, and its heading in degrees clockwise."""
    k = min(int(share * PARTS), PARTS - 1)
    part = share * PARTS - k
    at = _PLAN_AT + (piece * lanes + lane) * _CELL + 3 * k
    x = (1 - part) * d[at] + part * d[at + 3]
    y = (1 - part) * d[at + 1] + part * d[at + 4]
    heading = (1 - part) * d[at + 2] + part * d[at + 5]
    if aside != 0.0:
        x, y = x - aside * d[_SCALE] * sin(heading), y - aside * d[_SCALE] * cos(heading)
    return x, y, -heading * _DEGREES


@drawing
def _words(s, d, k, out):
    text(out, _LINES_AT + 1 + k, MARGIN, 43 + 20 * k)
    word(out, _PLAYERS_AT if d[_PLAYERS] == 1 else _PLAYERS_AT + 1 + k)
    word(out, _COLON_LAP)
    number(out, s.lap[k] + 1)
    word(out, _LANE)
    number(out, s.lane[k] + 1)
    word(out, _COMMA)
    number(out, s.progress[k], 2)
    word(out, _METRES)
    word(out, _COMMA)
    number(out, s.v[k], 2)
    word(out, _SPEED)
    if s.actions[k, 0, 1] >= 0:
        word(out, _DUTY)
        number(out, s.actions[k, 0, 0], 2, 1)
    else:
        word(out, _BRAKE if s.actions[k, 0, 1] >= -0.5 else _FREE)
    if s.airborne[k]:
        word(out, _IN_AIR)
    if s.cause[k]:
        word(out, _IS_OUT)
        word(out, _CAUSES_AT + int(s.cause[k]))
    elif s.finish_time[k]:
        word(out, _AFTER)
        number(out, s.finish_time[k], 2)
        word(out, _SECONDS)


@drawing
def _senses(s, seat, out):
    """The readings of the car's own sensors."""
    at = s.imu.shape[1] - 1
    text(out, _LINES_AT, MARGIN, 22)
    word(out, _SENSE_T)
    number(out, s.clock[seat], 2)
    word(out, _VOLT)
    number(out, s.voltage[seat], 2)
    word(out, _SENSE_DUTY)
    number(out, s.actions[seat, 0, 0], 2, 1)
    text(out, _LINES_AT, MARGIN, 41)
    word(out, _ACC)
    for k in range(6):
        number(out, s.imu[seat, at, k], 2 if k < 3 else 1, 1)
        word(out, _GYRO if k == 2 else _RADIANS if k == 5 else _BLANK)


@drawing
def _smoothed(s, k, cell, before, after):
    """The median of the speeds of three cells: a fast car passes a cell now and then without a step in it, and there the
    last lap's speed still stands."""
    a, b, c = s.cell_speed[k, before], s.cell_speed[k, cell], s.cell_speed[k, after]
    return max(min(a, b), min(max(a, b), c))


@drawing
def _seen_before(s, k, cell, newest):
    """The next cell back from `cell` with a speed, on the lap that lies behind the car; -1: none."""
    back = (newest - cell) % TRACE_CELLS
    while back < TRACE_CELLS - 3:
        back += 1
        at = (newest - back) % TRACE_CELLS
        if s.cell_speed[k, at] > 0:
            return at
    return -1


@drawing
def _trail(s, p, d, k, bridges, out):
    """The speeds of the lap that lies behind the car: a curve in the profile and, of a single car, a coloured line in the
    plan; of the latter the parts on bridges, or the others with the curve."""
    pieces, piece, lane = int(p.pieces), int(s.piece[k]), int(s.lane[k])
    room = d.shape[0] - pieces
    for back in range(pieces):
        at = (piece - back) % pieces
        d[room + at] = lane
        lane = int(p.track[at, lane, PREVIOUS_LANE])
    share = s.u[k] / p.track[piece, int(s.lane[k]), LENGTH]
    laps = s.progress[k] / p.lap_length
    newest = int((laps - int(laps)) * TRACE_CELLS)
    cell = newest if s.cell_speed[k, newest] > 0 else _seen_before(s, k, newest, newest)
    after = cell
    while cell >= 0:
        before = _seen_before(s, k, cell, newest)
        if before < 0:
            return
        if (cell - before) % TRACE_CELLS <= 4:
            earlier = _seen_before(s, k, before, newest)
            fast = _smoothed(s, k, cell, before, after)
            slow = _smoothed(s, k, before, before if earlier < 0 else earlier, cell)
            # Where the car is now it was a lap ago, too, perhaps in another lane.
            older = lane if before != newest else -1
            _stretch(
                p=p, d=d, k=k, bridges=bridges, before=before, cell=cell, slow=slow, fast=fast, piece=piece, share=share,
                older=older, room=room, first_cell=cell == newest, out=out,
            )  # fmt: skip
        after, cell = cell, before


@drawing
def _stretch(p, d, k, bridges, before, cell, slow, fast, piece, share, older, room, first_cell, out):
    """From one cell of the trail to the next."""
    lanes = int(d[_LANES])
    size = 3 + 3 * lanes
    cells = d.shape[0] - int(p.pieces) - TRACE_CELLS * size
    a, b = cells + before * size, cells + cell * size
    if bridges == 0 and d[b] > d[a]:
        line(out, _CURVES_AT + k, _along(p, d, d[a]), _pace(d, slow), _along(p, d, d[b]), _pace(d, fast))
    if d[_PLAYERS] > 1:
        return
    here = _trail_lane(d, a, piece, share, older, room)
    there = _trail_lane(d, b, piece, share, -1 if first_cell else older, room)
    if d[b + 5 + 3 * there] == bridges:
        shade = int(min(max(fast / RED, 0.0), 1.0) * (_SHADES - 1) + 0.5)
        line(
            out, _SPEEDS_AT + shade, d[a + 3 + 3 * here], d[a + 4 + 3 * here], d[b + 3 + 3 * there], d[b + 4 + 3 * there]
        )  # fmt: skip


@drawing
def _trail_lane(d, at, piece, share, older, room):
    """The lane that the car drove in this cell of the trail."""
    if older >= 0 and int(d[at + 1]) == piece and d[at + 2] > share:
        return older
    return int(d[room + int(d[at + 1])])


@drawing
def _car(s, p, d, k, out):
    """The car in plan (a cross through it where it is out), and at its height over the profile."""
    piece, lane = int(s.piece[k]), int(s.lane[k])
    share = min(max(s.u[k] / p.track[piece, lane, LENGTH], 0.0), 1.0)
    x, y, heading = _place_of(d, int(d[_LANES]), piece, lane, share, s.y[k] if s.airborne[k] else 0.0)
    symbol(out, _CARS_AT + 2 * k + (1 if s.airborne[k] else 0), x, y, 1.0, heading)
    if s.cause[k]:
        symbol(out, _CROSS, x, y, 1.0, heading)
    px = _along(p, d, p.track[piece, lane, START] + share * p.track[piece, lane, BASE])
    py = d[_BOTTOM_END] - (d[_BOTTOM_END] - d[_TOP_END]) * s.z[k] / d[_TALLEST_AT]
    line(out, _UPRIGHT_AT + k, px, d[_TOP_END], px, d[_BOTTOM_END])
    symbol(out, _SIDES_AT + k, px, py, 1.0, -s.pitch[k] * _DEGREES)


@lru_cache(maxsize=16)
def _pen(ruleset: Ruleset) -> Pen:
    return Pen(ruleset)


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: Any = None) -> str:
    """The course with the cars and the trace of their speeds; a seat sees its sensors' readings, not the car's place.

    Returns:
        An SVG document of 900 x 730.
    """
    return _pen(ruleset).svg(state if seat is None else view_of(ruleset, state, seat), seat)


def steps_per_second(ruleset: Ruleset) -> float:
    """Control steps in a second of the race."""
    return 1000.0 / control_ms_of(ruleset)


def controls(ruleset: Ruleset) -> dict[str, Any]:
    """The controls of a driver in the page, read at every step of `seconds`."""
    if ruleset.discrete:
        levels = ["free" if w < -0.5 else "brake" if w < 0 else f"drive {duty:+.2f}" for duty, w in LEVELS]
        fields: list[dict[str, Any]] = [{"name": "command", "choices": levels}]
    else:
        modes = ["drive"] if ruleset.parameters.get("actions") == "duty" else ["drive", "brake", "free"]
        fields = [
            {"name": "duty", "low": -1.0, "high": 1.0, "step": 0.05, "value": 0.5},
            {"name": "mode", "choices": modes},
        ]
    return {"fields": fields, "hint": "Go starts and stops the clock."}


def frames(ruleset: Ruleset, before: np.void, action: Any, after: np.void) -> Iterator[str]:
    """The pictures of a step in a film: one every tenth of a second, and the last."""
    ticks = [math.floor(float(state["clock"][0]) * FPS + 1e-6) for state in (before, after)]
    if ticks[1] > ticks[0] or is_over(after):
        yield svg(ruleset, after)


__all__ = [

    "controls",
    "course_svg",
    "frames",
    "height_profile",
    "lanes_of_lap",
    "plan_of",
    "steps_per_second",
    "svg",
]  # fmt: skip

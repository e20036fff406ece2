"""Random closed courses from junior parts: the same seed gives the same course.

Half a course is a random walk of corners and straights that turns by 180 degrees; the same corners and straights once
more lead back to the beginning, in position and heading, because the second half is the first turned about a point.
Pairs of opposite straights and parts of equal displacement (waves, slopes, jumps, banks, the lane changer) then make
the halves differ. Courses that run into themselves are drawn again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from asobiba.core import GameParameterError, compiled
from asobiba.core.elementary import hypot, sincos
from asobiba.core.random import random_below, random_uniform, seed_record
from asobiba.core.record import SAMPLER
from asobiba.envs.mini4wd.course import Course, build_course, final_pose, poses

_TRIES = 2000
_WIDTH = 0.42
"""Distance that the middles of two stretches of track keep, m: the outer width of the track is 370 mm."""
_STRAIGHT = 0.54


@compiled()
def _begin(records, seed):
    seed_record(records[0], seed)


@compiled()
def _below(records, n):
    return random_below(records[0], n)


@compiled()
def _uniform(records):
    return random_uniform(records[0])


class _Draw:
    """Draws from asobiba's generator, so that a seed means the same on every machine."""

    def __init__(self, seed: int):
        self._records = np.zeros(1, SAMPLER)
        _begin(self._records, seed)

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        return int(_below(self._records, n))

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return float(_uniform(self._records)) < p

    def shuffled(self, items: list) -> list:
        """The items in random order."""
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
        return items


def _half(draw: _Draw) -> list[str]:
    """Corners ("l", "r") and straights ("s") that turn left by 180 degrees in all."""
    extra = draw.below(3)  # pairs of a left and a right corner beyond the U-turn
    groups = draw.shuffled(["l"] * (4 + extra) + ["r"] * extra)
    parts: list[str] = []
    for corner in groups:
        for _ in range(draw.below(3) if draw.chance(0.45) else 0):
            parts.append("s")
        parts.append(corner)
    return parts


def _simple(plan: list[str]) -> list[dict[str, Any]]:
    turns = {"l": "left", "r": "right"}
    return [{"kind": "straight"} if part == "s" else {"kind": "corner", "turn": turns[part]} for part in plan]


def _free_of_itself(entries: list[dict[str, Any]]) -> bool:
    """Whether stretches that do not follow one another keep their distance."""
    course = build_course({"name": "draft", "system": "junior", "segments": [{"kind": "start"}, *entries]}, "draft")
    points, along, at = [], [], 0.0
    for (x, y, heading, _), segment in zip(poses(course.segments), course.segments):
        ahead, _, degrees, _ = segment.displacement
        sine, cosine = map(float, sincos(math.radians(heading)))
        parts = 6
        radius = segment.measures.get("radius", 0.0) if degrees else 0.0
        length = abs(math.radians(degrees)) * radius if degrees else ahead
        for k in range(parts):
            share = k / parts
            if degrees:
                across, onwards = map(float, sincos(abs(math.radians(degrees) * share)))
                forward, left = radius * across, segment.sign * radius * (1 - onwards)
            else:
                forward, left = ahead * share, 0.0
            points.append(
                (
                    x + forward * cosine - left * sine,
                    y + forward * sine + left * cosine,
                )
            )
            along.append(at + length * share)
        at += length
    place, distance = np.array(points), np.array(along)
    gaps = np.abs(distance[:, None] - distance[None, :])
    gaps = np.minimum(gaps, at - gaps)
    across, up = (place[:, None, :] - place[None, :, :]).transpose(2, 0, 1)
    return bool(np.all((across * across + up * up)[gaps > 1.0] > _WIDTH * _WIDTH))


def _runs(plan: list[str]) -> list[tuple[int, int]]:
    """Runs of consecutive straights: (first, number)."""
    runs, k = [], 0
    while k < len(plan):
        if plan[k] == "s":
            first = k
            while k < len(plan) and plan[k] == "s":
                k += 1
            runs.append((first, k - first))
        k += 1
    return runs


def _decorate(plan: list[str], draw: _Draw) -> list[dict[str, Any]]:
    """Puts parts of equal displacement in the place of straights and U-turns."""
    entries: list[dict[str, Any] | None] = list(_simple(plan))
    runs = draw.shuffled(_runs(plan))
    longest = max(runs, key=lambda run: run[1])
    changed = False
    for first, number in [longest, *(run for run in runs if run != longest)]:
        if number >= 3 and not changed:  # one lane changer, so that every car passes every lane
            entries[first] = {"kind": "lane_changer"}
            entries[first + 1] = entries[first + 2] = None
            changed = True
        elif number >= 4 and draw.chance(0.7):
            if draw.chance(0.6):
                entries[first] = {"kind": "jump"}
            else:
                entries[first], entries[first + 1] = {"kind": "slope_up"}, {"kind": "slope_down"}
        elif number >= 3 and draw.chance(0.5):
            entries[first], entries[first + 1] = {"kind": "slope_up"}, {"kind": "slope_down"}
        elif draw.chance(0.25):
            entries[first] = {"kind": "wave", "turn": "left" if draw.chance(0.5) else "right"}
    k = 0
    while k + 4 <= len(plan):
        if plan[k : k + 4] == ["l"] * 4 and draw.chance(0.4):
            entries[k] = {"kind": "bank", "turn": "left"}
            entries[k + 1] = entries[k + 2] = entries[k + 3] = None
            k += 4
        else:
            k += 1
    return [entry for entry in entries if entry is not None]


def random_course(seed: int) -> Course:
    """A random closed course of up to 56 parts of 540 mm with one lane changer.

    Args:
        seed: a whole number from 0; `load_course("random:SEED")` is the same.

    Raises:
        GameParameterError: for another seed.
    """
    if not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise GameParameterError(
            f"the seed of a random course is {seed!r}, but must be a whole number from 0 to 2**63 - 1"
        )
    draw = _Draw(seed)
    for _ in range(_TRIES):
        half = _half(draw)
        plan = [*half, *half]
        plan = _with_pairs(plan, draw)
        if not any(number >= 3 for _, number in _runs(plan)) or not 18 <= len(plan) <= 55:
            continue
        # The plan begins with the start, which is a straight; another of the opposite heading balances it.
        first = [{"kind": "start"}, *_simple(plan)]
        if not _closes(first) or not _free_of_itself(first[1:]):
            continue
        entries = _decorate(plan, draw)
        data = {
            "name": f"random:{seed}",
            "title": f"Random course {seed}",
            "system": "junior",
            "segments": [{"kind": "start"}, *entries],
        }
        try:
            if _free_of_itself(entries):
                return build_course(data, "random course")
        except GameParameterError:  # a bank's longer approaches may be out of balance
            continue
    raise GameParameterError(f"no course was found from seed {seed} in {_TRIES} attempts; take another seed")


def _headings(plan: list[str]) -> list[int]:
    """Heading before every part in eighths of a turn."""
    found, heading = [], 0
    for part in plan:
        found.append(heading % 8)
        heading += {"l": 1, "r": -1}.get(part, 0)
    return found


def _with_pairs(plan: list[str], draw: _Draw) -> list[str]:
    """Adds a straight against the start's heading, and a few pairs of opposite straights."""
    backwards = [k for k, heading in enumerate(_headings(plan)) if heading == 4]
    if not backwards:
        return plan
    plan = list(plan)
    plan.insert(backwards[draw.below(len(backwards))], "s")
    for _ in range(1 + draw.below(4)):
        headings = _headings(plan)
        k = draw.below(len(plan))
        opposite = [j for j, heading in enumerate(headings) if heading == (headings[k] + 4) % 8]
        if opposite:
            j = opposite[draw.below(len(opposite))]
            many = 1 + draw.below(3)
            for place in sorted((j, k), reverse=True):
                plan[place:place] = ["s"] * many
    return plan


def _closes(entries: list[dict[str, Any]]) -> bool:
    try:
        course = build_course({"name": "draft", "system": "junior", "segments": entries}, "draft")
    except GameParameterError:
        return False
    x, y, _, _ = final_pose(course.segments)
    return bool(hypot(x, y) < 1e-6)

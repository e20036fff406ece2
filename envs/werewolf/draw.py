"""The village as a picture, in SVG: the players in a circle, claims, votes as arrows, deaths by day, and a log in plain
English of the day or, at the end, of the whole game."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from asobiba.core import Ruleset
from asobiba.envs.werewolf.layout import PHASES, ROLES, WOLVES
from asobiba.envs.werewolf.notation import plain_story

_WIDTH, _HEIGHT, _CENTRE, _RADIUS, _HEAD = 1060, 620, (340, 330), 190, 25
_TIP = 5.6
_LOG, _TOP, _HEADING = 700, 60, "# "
_INK, _PAPER, _DEAD, _ARROW, _LINES = "#26323f", "#f7f5ef", "#b9b4a8", "#8d5a2b", 25
_COLOURS = {
    0: "#e6e2d6",
    1: "#cfe3c4",
    2: "#c9d8f0",
    3: "#dccdf0",
    4: "#f3e3b3",
    5: "#f0cfa6",
    6: "#e5a3a0",
}


def _place(k: int, players: int) -> tuple[float, float]:
    angle = 2 * math.pi * k / players - math.pi / 2
    return _CENTRE[0] + _RADIUS * math.cos(angle), _CENTRE[1] + _RADIUS * math.sin(angle)


def _arrow(a: tuple[float, float], b: tuple[float, float]) -> str:
    length = math.hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    dx, dy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
    begin = (a[0] + dx * _HEAD, a[1] + dy * _HEAD)
    end = (b[0] - dx * (_HEAD + 8), b[1] - dy * (_HEAD + 8))
    tip = ((_TIP, 0), (-_TIP, _TIP), (-_TIP, -_TIP))
    corners = " ".join(f"{end[0] + dx * u - dy * v:.1f},{end[1] + dy * u + dx * v:.1f}" for u, v in tip)
    return (
        f'<path d="M{begin[0]:.1f} {begin[1]:.1f}L{end[0]:.1f} {end[1]:.1f}" stroke="{_ARROW}" stroke-width="1.6" '
        f'fill="none"/><polygon points="{corners}" fill="{_ARROW}"/>'
    )


def _fate(state: np.void, k: int) -> str:
    for day, player in enumerate(state["executed"]):
        if int(player) == k + 1:
            return f"executed, day {day}"
    for day, player in enumerate(state["victim"]):
        if int(player) == k + 1:
            return f"killed, night {day}"
    return ""


def _label(x: float, y: float, lines: list[str]) -> str:
    # Outside the circle of players, where no arrow goes.
    dx, dy = (x - _CENTRE[0]) / _RADIUS, (y - _CENTRE[1]) / _RADIUS
    anchor = "start" if dx > 0.3 else "end" if dx < -0.3 else "middle"
    left = x + (_HEAD + 8) * (dx if anchor == "middle" else math.copysign(1, dx))
    top = y + dy * (_HEAD + 8) + 4
    if anchor == "middle":
        top += 8 if dy > 0 else -12 * (len(lines) - 1) - 4
    else:
        top -= 6 * (len(lines) - 1)
    return "".join(
        f'<text x="{left:.1f}" y="{top + 12 * row:.1f}" text-anchor="{anchor}" font-size="11">{text}</text>'
        for row, text in enumerate(lines)
    )


def _story(state: np.void, days: range) -> list[str]:
    """The log: a heading for each day, then utterances and deaths; if it does not fit, only its end."""
    lines = []
    for day in days:
        if told := plain_story(state, day):
            lines += [f"{_HEADING}Day {day}", *told]
    return lines if len(lines) <= _LINES else ["...", *lines[1 - _LINES :]]


def _written(lines: list[str]) -> str:
    out = []
    for k, line in enumerate(lines):
        heading = line.startswith(_HEADING)
        style = 'font-weight="bold"' if heading else ""
        out.append(
            f'<text x="{_LOG if heading else _LOG + 12}" y="{_TOP + 22 * k}" font-size="12" {style}>'
            f"{escape(line.removeprefix(_HEADING)[:58])}</text>"
        )
    return "".join(out)


def last_ballot(state: np.void) -> tuple[int, np.ndarray] | None:
    """The latest ballot that shows a vote: its day and each seat's vote (from 1), or `None`."""
    for day in range(min(int(state["day"]), len(state["votes"]) - 1), -1, -1):
        for ballot in (1, 0):
            if state["votes"][day, ballot].any():
                return day, state["votes"][day, ballot]
    return None


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: object = None) -> str:
    """A picture of the village.

    Args:
        seat: the state is drawn as this seat's view; roles that it does not know are not drawn.
        last_action: not used; utterances stand in the log.
    """
    players = ruleset.num_players
    known = state["role"]
    if seat is not None and not state["terminated"]:
        wolf = int(known[seat]) == len(ROLES)
        known = np.array([r if k == seat or (wolf and r == len(ROLES)) else 0 for k, r in enumerate(known)])
    out = []
    ballot = last_ballot(state)
    if ballot is not None:
        secret = not int(ruleset.params["contest"][0]) and ballot[0] == int(state["day"]) and not state["terminated"]
        for k, target in enumerate(ballot[1][:players]):
            if target and (seat is None or seat == k or not secret):
                out.append(_arrow(_place(k, players), _place(int(target) - 1, players)))
    for k in range(players):
        x, y = _place(k, players)
        dead = bool(state["left"][k])
        out.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_HEAD}" fill="{_COLOURS[int(known[k])]}" '
            f'stroke="{_DEAD if dead else _INK}" stroke-width="{3 if k == seat else 1.5}" opacity="{0.45 if dead else 1}"/>'
        )
        if dead:
            out.append(
                f'<path d="M{x - 17:.1f} {y - 17:.1f}l34 34m0 -34l-34 34" stroke="{_DEAD}" stroke-width="2" fill="none" '
                'opacity="0.6"/>'
            )
        out.append(f'<text x="{x:.1f}" y="{y + 5:.1f}" text-anchor="middle" font-weight="bold">{k + 1}</text>')
        role = ROLES[int(known[k]) - 1].lower() if known[k] else ""
        claim = f"claims {ROLES[int(state['claimed'][k]) - 1].lower()}" if state["claimed"][k] else ""
        out.append(_label(x, y, [text for text in (role, claim, _fate(state, k)) if text]))
    day = int(state["day"])
    over = bool(state["terminated"])
    title = PHASES[int(state["phase"])]
    if over:
        won = {int(state["team"][k]) for k in range(players) if state["win_reward"][k] > 0}
        title = f"the {'wolves' if WOLVES in won else 'villagers'} have won"
    log = _written(_story(state, range(day + 1) if over else range(day, day + 1)))
    votes = f"arrows: the votes of day {ballot[0]}" if ballot is not None else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="14" fill="{_INK}">'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="{_PAPER}"/>'
        f'<text x="24" y="36" font-size="20" font-weight="bold">Day {day} - {title}</text>'
        f'<text x="24" y="58" font-size="12">{votes}</text>'
        f"{''.join(out)}{log}</svg>"
    )

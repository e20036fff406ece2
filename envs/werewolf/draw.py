"""The village as a picture, in SVG: the players in a circle, claims, votes as arrows, deaths by day, the day's talk."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from asobiba.core import Ruleset
from asobiba.envs.werewolf.layout import PHASES, ROLES
from asobiba.envs.werewolf.notation import plain_talk

_WIDTH, _HEIGHT, _CENTRE, _RADIUS, _HEAD = 980, 620, (310, 320), 220, 25
_INK, _PAPER, _DEAD, _ARROW, _LINES = "#26323f", "#f7f5ef", "#b9b4a8", "#8d5a2b", 20
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
    return (
        f'<path d="M{begin[0]:.1f} {begin[1]:.1f}L{end[0]:.1f} {end[1]:.1f}" stroke="{_ARROW}" stroke-width="1.6" '
        'fill="none" marker-end="url(#tip)"/>'
    )


def _fate(state: np.void, k: int) -> str:
    for day, player in enumerate(state["executed"]):
        if int(player) == k + 1:
            return f"executed, day {day}"
    for day, player in enumerate(state["victim"]):
        if int(player) == k + 1:
            return f"killed, night {day}"
    return ""


def last_ballot(state: np.void) -> tuple[int, np.ndarray] | None:
    """The latest ballot that shows a vote: its day and whom each seat voted for (from 1), or `None`."""
    for day in range(min(int(state["day"]), len(state["votes"]) - 1), -1, -1):
        for ballot in (1, 0):
            if state["votes"][day, ballot].any():
                return day, state["votes"][day, ballot]
    return None


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: object = None) -> str:
    """A picture of the village.

    Args:
        seat: the state is drawn as this seat's view; roles that it does not know are not drawn.
        last_action: not used; what was said stands in the log.
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
        colour = _COLOURS[int(known[k])]
        edge = _DEAD if dead else _INK
        out.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_HEAD}" fill="{colour}" stroke="{edge}" '
            f'stroke-width="{3 if k == seat else 1.5}" opacity="{0.45 if dead else 1}"/>'
        )
        out.append(f'<text x="{x:.1f}" y="{y + 5:.1f}" text-anchor="middle" font-weight="bold">{k + 1}</text>')
        below = ROLES[int(known[k]) - 1].lower() if known[k] else ""
        claim = f"claims {ROLES[int(state['claimed'][k]) - 1].lower()}" if state["claimed"][k] else ""
        for row, text in enumerate(filter(None, (below, claim, _fate(state, k)))):
            out.append(
                f'<text x="{x:.1f}" y="{y + 40 + 12 * row:.1f}" text-anchor="middle" font-size="11">{text}</text>'
            )
        if dead:
            out.append(
                f'<path d="M{x - 17:.1f} {y - 17:.1f}l34 34m0 -34l-34 34" stroke="{_DEAD}" stroke-width="3" fill="none"/>'
            )
    day = int(state["day"])
    title = "the game is over" if state["terminated"] else PHASES[int(state["phase"])]
    said = plain_talk(state, day)
    shown = said[-_LINES:]
    log = "".join(
        f'<text x="640" y="{96 + 24 * k}" font-size="12">{escape(line[:58])}</text>' for k, line in enumerate(shown)
    )
    votes = f"arrows: the votes of day {ballot[0]}" if ballot is not None else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="14" fill="{_INK}">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{_ARROW}"/></marker></defs>'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="{_PAPER}"/>'
        f'<text x="24" y="36" font-size="20" font-weight="bold">Day {day} - {title}</text>'
        f'<text x="24" y="58" font-size="12">{votes}</text>'
        f'<text x="640" y="66" font-size="15" font-weight="bold">Said on day {day}</text>{"".join(out)}{log}</svg>'
    )

"""The village as a picture: a row for each player with what is known of him and what he said last, votes as arrows."""

from __future__ import annotations

import numpy as np

from asobiba.api.scene import (
    Entries,
    Pen,
    begin,
    circle,
    drawing,
    number,
    path,
    place,
    point,
    rectangle,
    symbol,
    text,
    word,
)  # fmt: skip
from asobiba.core import Ruleset
from asobiba.envs.werewolf.layout import SKIP, WHISPER
from asobiba.envs.werewolf.words import (
    CLAIMS_TO_BE,
    DOT,
    ELLIPSIS,
    EXECUTED_ON,
    IS_AT,
    JAPANESE,
    KILLED_IN,
    NIGHT_ENDS,
    ROLES_AT,
    TEXTS,
    THE_DAY_ENDS,
    VOTES_OF,
    VOTES_OF_ENDS,
    WHISPERED,
    YOU_ARE,
    YOU_END,
    agent,
    ending,
    moment,
    opening,
    spots,
    tell,
)

LANGUAGES = {"ja": JAPANESE}
_WIDTH, _TOP, _ROW, _BOTTOM, _HEAD, _LEFT = 400, 62, 42, 28, 15, 44
_ARROWS, _BULGE, _POINTS = 344, 44, 8
_INK = "#26323f"
_COLOURS = ("#e6e2d6", "#cfe3c4", "#c9d8f0", "#dccdf0", "#f3e3b3", "#f0cfa6", "#e5a3a0")
"""Of players whose role is not known, and of the roles."""
STYLES, SYMBOLS = Entries(), Entries()
_PAPER, _SEAT = STYLES("class='paper' fill='#f7f5ef'"), STYLES("fill='#8d8a5a' fill-opacity='0.22'")
_HEADS_AT = STYLES(f"fill='{_COLOURS[0]}' stroke='{_INK}' stroke-width='1.5'")
for _colour in _COLOURS[1:]:
    STYLES(f"fill='{_colour}' stroke='{_INK}' stroke-width='1.5'")
_DEAD_AT = STYLES(f"fill='{_COLOURS[0]}' stroke='#b9b4a8' stroke-width='1.5' opacity='0.6'")
for _colour in _COLOURS[1:]:
    STYLES(f"fill='{_colour}' stroke='#b9b4a8' stroke-width='1.5' opacity='0.6'")
_NUMBER = STYLES("font-size='15' font-weight='bold' text-anchor='middle' fill='#26323f'")
_TITLE = STYLES(f"class='ink' font-size='18' font-weight='bold' fill='{_INK}'")
_WORDS = STYLES(f"class='ink' font-size='14' fill='{_INK}'")
_ARC, _TIP = STYLES("stroke='#b0713a' stroke-width='1.6' fill='none'"), STYLES("fill='#b0713a'")
_CROSS = SYMBOLS("<path d='M-11 -11L11 11M11 -11L-11 11' stroke='#8f3b33' stroke-width='2.5' fill='none'/>")


@drawing
def _fate(s, k, out):
    """When and how a player died; whether he did."""
    for day in range(s.executed.shape[0]):
        if s.executed[day] == k + 1:
            word(out, EXECUTED_ON)
            number(out, day)
            word(out, THE_DAY_ENDS)
            return True
        if s.victim[day] == k + 1:
            word(out, KILLED_IN)
            number(out, day)
            word(out, NIGHT_ENDS)
            return True
    return False


@drawing
def _found(s, k):
    """The result of a divination or of the medium for a player: 1 human, 2 werewolf, 0 none."""
    for day in range(s.divine.shape[0]):
        if s.divine[day] == k + 1:
            return int(s.divine_result[day])
        if s.executed[day] == k + 1 and s.medium_result[day] > 0:
            return int(s.medium_result[day])
    return 0


@drawing
def _last_row(table, rows, day, k):
    """The first row of a player's last utterance of the day, or -1."""
    for row in range(rows - 1, -1, -1):
        if table[row, 0] != day:
            return -1
        if table[row, 2] == k + 1:
            while (
                row > 0
                and table[row - 1, 2] == k + 1
                and table[row - 1, 1] == table[row, 1]
                and table[row - 1, 0] == day
            ):
                row -= 1
            return row
    return -1


@drawing
def _said(table, row, out):
    """An utterance in a line: of a sentence with operands only how it begins."""
    opening(out, int(table[row, 3]), int(table[row, 4]) - 1, int(table[row, 5]))
    if row + 1 < table.shape[0] and table[row, 3] > SKIP:
        if (
            table[row + 1, 0] == table[row, 0]
            and table[row + 1, 1] == table[row, 1]
            and table[row + 1, 2] == table[row, 2]
        ):
            word(out, ELLIPSIS)


@drawing
def _about(s, k, y, seat, out):
    """Two lines about a player: who he is or claims to be, and what he said last today, or how he died."""
    role, claim, found = int(s.role[k]), int(s.claimed[k]), _found(s, k)
    text(out, _WORDS, _LEFT, y + 17)
    begun = False
    if role > 0:
        word(out, ROLES_AT + role - 1)
        begun = True
    elif found > 0:
        word(out, IS_AT + found - 1)
        begun = True
    if claim > 0:
        if begun:
            word(out, DOT)
        word(out, CLAIMS_TO_BE)
        word(out, ROLES_AT + claim - 1)
    text(out, _WORDS, _LEFT, y + 35)
    if _fate(s, k, out):
        return
    if s.phase == WHISPER:
        row = _last_row(s.whispers, int(s.whisper_rows), s.day, k)
        if row >= 0:
            word(out, WHISPERED)
            _said(s.whispers, row, out)
            return
    row = _last_row(s.talk, int(s.talk_rows), s.day, k)
    if row >= 0:
        _said(s.talk, row, out)


@drawing
def _ballot(s):
    """The latest ballot that shows a vote: twice its day, plus 1 for the second of a day; or -1."""
    for day in range(min(int(s.day), s.votes.shape[0] - 1), -1, -1):
        for ballot in range(1, -1, -1):
            for k in range(s.left.shape[0]):
                if s.votes[day, ballot, k] > 0:
                    return 2 * day + ballot
    return -1


@drawing
def _arrow(voter, target, players, out):
    """From a voter's row to another, the further the rows the wider."""
    y, to = _TOP + (voter + 0.5) * _ROW, _TOP + (target + 0.5) * _ROW
    wide = 6 + _BULGE * abs(target - voter) / max(players - 1, 1)
    path(out, _ARC)
    for k in range(_POINTS + 1):
        t = k / _POINTS
        point(out, _ARROWS + 4 * wide * t * (1 - t) + 5 * t, y + (to - y) * t)
    path(out, _TIP, closed=1)
    point(out, _ARROWS - 2, to)
    point(out, _ARROWS + 7, to - 4)
    point(out, _ARROWS + 7, to + 4)


@drawing
def scene(s, p, d, mask, seat, last, out):
    """The players, each with two lines; arrows lead from voters to whom they voted for in the latest ballot."""
    players = int(p.players)
    height = _TOP + players * _ROW + _BOTTOM
    begin(out, _WIDTH, height)
    rectangle(out, _PAPER, 0, 0, _WIDTH, height)
    text(out, _TITLE, 12, 26)
    if s.terminated:
        ending(s, out)
    else:
        moment(s, p, out)
    if seat >= 0 and s.role[seat] > 0:
        text(out, _WORDS, 12, 48)
        word(out, YOU_ARE)
        agent(out, seat)
        word(out, DOT)
        word(out, ROLES_AT + int(s.role[seat]) - 1)
        word(out, YOU_END)
    for k in range(players):
        y = _TOP + k * _ROW
        if k == seat:
            rectangle(out, _SEAT, 4, y, _WIDTH - 8, _ROW, 8)
        circle(out, (_DEAD_AT if s.left[k] else _HEADS_AT) + int(s.role[k]), 24, y + _ROW / 2, _HEAD)
        if s.left[k]:
            symbol(out, _CROSS, 24, y + _ROW / 2)
        text(out, _NUMBER, 24, y + _ROW / 2 + 5)
        number(out, k + 1)
        _about(s, k, y, seat, out)
    ballot = _ballot(s)
    if ballot >= 0:
        for k in range(players):
            target = int(s.votes[ballot // 2, ballot % 2, k])
            if target > 0:
                _arrow(k, target - 1, players, out)
        text(out, _WORDS, 12, height - 10)
        word(out, VOTES_OF)
        number(out, ballot // 2)
        word(out, VOTES_OF_ENDS)
    for k in range(players):
        place(out, k, 2, _TOP + k * _ROW, _WIDTH - 4, _ROW)


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: object = None) -> str:
    """A picture of the village.

    Args:
        seat: the state is drawn as this seat's view.
        last_action: not used; utterances stand beside who said them.
    """
    return Pen(ruleset).svg(state, seat, last_action)


__all__ = ["LANGUAGES", "STYLES", "SYMBOLS", "TEXTS", "scene", "spots", "svg", "tell"]

"""Battleship as a picture: a sea chart per board, in SVG."""

from __future__ import annotations

import textwrap

import numpy as np

from asobiba.core import Ruleset
from asobiba.core.states import legal_actions
from asobiba.envs.battleship.notation import afloat_text
from asobiba.envs.battleship.record import HIT, MISS

_CELL, _GAP, _TOP, _EDGE = 28, 48, 64, 36
_LETTER = 6  # width of a letter of the captions, at the widest average
_SEA, _LINE, _TEXT, _SHIP, _SHIP_EDGE = "#dbe9f4", "#9db8cf", "#1d3347", "#5f7285", "#33424f"
_HIT_COLOUR, _MISS_COLOUR, _LAST = "#c8342b", "#ffffff", "#f0a500"


def _board(
    ruleset: Ruleset,
    left: int,
    title: str,
    places: list[tuple[int, int]],
    marks: list[tuple[int, str]],
    last: int | None,
) -> str:
    height, width = int(ruleset.params["height"][0]), int(ruleset.params["width"][0])
    cells = height * width
    out = [f'<text x="{left}" y="{_TOP - 32}" font-size="15" font-weight="bold">{title}</text>']
    out.append(f'<rect x="{left}" y="{_TOP}" width="{width * _CELL}" height="{height * _CELL}" fill="{_SEA}"/>')
    for place, size in places:
        down, cell = divmod(place, cells)
        row, column = divmod(cell, width)
        w, h = (1, size) if down else (size, 1)
        out.append(
            f'<rect x="{left + column * _CELL + 3}" y="{_TOP + row * _CELL + 3}" width="{w * _CELL - 6}" '
            f'height="{h * _CELL - 6}" rx="11" fill="{_SHIP}" stroke="{_SHIP_EDGE}" stroke-width="1.5"/>'
        )
    lines = [f"M{left + c * _CELL} {_TOP}v{height * _CELL}" for c in range(width + 1)]
    lines += [f"M{left} {_TOP + r * _CELL}h{width * _CELL}" for r in range(height + 1)]
    out.append(f'<path d="{"".join(lines)}" stroke="{_LINE}" fill="none"/>')
    for column in range(width):
        x = left + column * _CELL + _CELL // 2
        out.append(f'<text x="{x}" y="{_TOP - 8}" text-anchor="middle">{chr(ord("A") + column)}</text>')
    for row in range(height):
        y = _TOP + row * _CELL + _CELL // 2 + 4
        out.append(f'<text x="{left - 8}" y="{y}" text-anchor="end">{row + 1}</text>')
    for cell, kind in marks:
        row, column = divmod(cell, width)
        x, y = left + column * _CELL + _CELL // 2, _TOP + row * _CELL + _CELL // 2
        if kind == "miss":
            out.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{_MISS_COLOUR}" stroke="{_LINE}" stroke-width="1.5"/>')
        else:
            ring = f'<circle cx="{x}" cy="{y}" r="12" fill="none" stroke="{_HIT_COLOUR}" stroke-width="2"/>'
            out.append((ring if kind == "sunk" else "") + f'<circle cx="{x}" cy="{y}" r="7" fill="{_HIT_COLOUR}"/>')
    if last is not None:
        row, column = divmod(last, width)
        out.append(
            f'<rect x="{left + column * _CELL + 1}" y="{_TOP + row * _CELL + 1}" width="{_CELL - 2}" '
            f'height="{_CELL - 2}" fill="none" stroke="{_LAST}" stroke-width="3"/>'
        )
    return "".join(out)


def _caption(ruleset: Ruleset, state: np.void, shooter: int, width: int) -> list[str]:
    return textwrap.wrap(f"afloat, as told: {afloat_text(ruleset, state, shooter)}", width // _LETTER)


def targets(ruleset: Ruleset) -> dict[str, tuple[float, float, float, float]]:
    """The clickable cells of the boards, by the number of their owner and of the cell: x, y, width, height."""
    width, cells = int(ruleset.params["width"][0]), int(ruleset.params["cells"][0])
    board_width = max(width * _CELL, 300)
    found: dict[str, tuple[float, float, float, float]] = {}
    for index, owner in enumerate((1,) if ruleset.num_players == 1 else (0, 1)):
        left = _EDGE + index * (board_width + _GAP)
        for cell in range(cells):
            row, column = divmod(cell, width)
            found[f"{owner}-{cell}"] = (left + column * _CELL, _TOP + row * _CELL, _CELL, _CELL)
    return found


def clicks(ruleset: Ruleset, state: np.void) -> dict[int, list[str]]:
    """For each legal action the cells to click: one of the other's sea, or the two ends of a ship of the own fleet."""
    mover, cells = int(state["to_move"]), int(ruleset.params["cells"][0])
    sizes = ruleset.params["sizes"][0]
    ship = int(state["placed"][mover])
    found = {}
    for action in legal_actions(ruleset, state).tolist():
        if ship == len(sizes):
            found[action] = [f"{1 - mover}-{action}"]
            continue
        down, cell = divmod(action, cells)
        last = cell + (int(sizes[ship]) - 1) * (int(ruleset.params["width"][0]) if down else 1)
        found[action] = [f"{mover}-{cell}", f"{mover}-{last}"]
    return found


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: int | None = None) -> str:
    """A picture of the state: the fleets with the shots fired at them.

    Args:
        seat: the seat whose knowledge is drawn; `None` draws both fleets.
        last_action: the action that led here; a shot is framed.
    """
    p = ruleset.params[0]
    height, width, cells = int(p["height"]), int(p["width"]), int(p["cells"])
    sizes = [int(size) for size in p["sizes"]]
    owners = (1,) if ruleset.num_players == 1 else (0, 1)
    last_side = None
    if last_action is not None and 0 <= last_action < cells:
        shooters = [
            k for k in range(2) if state["shots"][k] and state["shot_number"][k, last_action] == state["shots"][k]
        ]
        last_side = shooters[0] if len(shooters) == 1 else 1 - int(state["to_move"]) if shooters else None
    boards, board_width, most_lines = [], max(width * _CELL, 300), 1
    whole = state.copy()  # its captions are the longest: all pictures of a game have one size
    whole["told_afloat"] = 1
    for index, owner in enumerate(owners):
        shooter = 1 - owner
        # The answers that this shooter was told, or the fleet itself for a viewer who knows it.
        known = seat is None or (seat == owner and ruleset.num_players > 1)
        places = [(int(place), sizes[k]) for k, place in enumerate(state["places"][owner]) if known and place >= 0]
        marks = [
            (c, "miss" if answer == MISS else "hit" if answer == HIT else "sunk")
            for c, answer in enumerate(state["answers"][shooter])
            if answer
        ]
        title = "Fleet" if ruleset.num_players == 1 else f"Fleet of the {ruleset.players[owner]} side"
        title += f" - shots {int(state['shots'][shooter])}"
        left = _EDGE + index * (board_width + _GAP)
        boards.append(_board(ruleset, left, title, places, marks, last_action if last_side == shooter else None))
        told = _caption(ruleset, state, shooter, board_width)
        most_lines = max(most_lines, len(_caption(ruleset, whole, shooter, board_width)))
        boards += [
            f'<text x="{left}" y="{_TOP + height * _CELL + 24 + 14 * k}" font-size="11">{line}</text>'
            for k, line in enumerate(told)
        ]
    full_width = 2 * _EDGE + len(owners) * board_width + (len(owners) - 1) * _GAP
    full_height = _TOP + height * _CELL + 30 + 14 * most_lines
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{full_width}" height="{full_height}" '
        f'viewBox="0 0 {full_width} {full_height}" font-family="sans-serif" font-size="12" fill="{_TEXT}">'
        f'<rect width="{full_width}" height="{full_height}" fill="#f7fafc"/>{"".join(boards)}</svg>'
    )

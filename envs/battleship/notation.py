"""Battleship in text: shots such as `B4`, placements such as `carrier B4 across`, positions and boards.

A column is a letter (A leftmost), a row a number (1 on top). A position lists the contents of the state, per side:

    first: fleet carrier B4 across, destroyer A1 down; shots A1 B2 C3; second: fleet ...; shots ...

Shots stand in the order in which they were fired; the answers follow from the fleets.
"""

from __future__ import annotations

import re

import numpy as np

from asobiba.core import NotationError, PositionError, Ruleset, compiled
from asobiba.core.states import seed_states
from asobiba.envs.battleship.parameters import ship_names
from asobiba.envs.battleship.placement import clashes_with_earlier, complete_fleet, fits_board
from asobiba.envs.battleship.record import HIT
from asobiba.envs.battleship.rules import put_ship, shoot

_DIRECTIONS = ("across", "down")
_UNKNOWN, _MISS, _HIT, _SUNK = ".", "o", "x", "#"


def names_of(ruleset: Ruleset) -> tuple[str, ...]:
    """Names of the ships of this ruleset, in the order of the fleet."""
    return ship_names([int(size) for size in ruleset.params["sizes"][0]])


def cell_to_text(ruleset: Ruleset, cell: int) -> str:
    """A cell as `B4`."""
    row, column = divmod(int(cell), int(ruleset.params["width"][0]))
    return f"{chr(ord('A') + column)}{row + 1}"


def text_to_cell(ruleset: Ruleset, text: str) -> int:
    """The cell that `B4` names. Raises `NotationError` for text that names none."""
    height, width = int(ruleset.params["height"][0]), int(ruleset.params["width"][0])
    match = re.fullmatch(r"([A-Za-z])([1-9][0-9]?)", text.strip())
    if match:
        column, row = ord(match[1].upper()) - ord("A"), int(match[2]) - 1
        if row < height and column < width:
            return row * width + column
    last = cell_to_text(ruleset, height * width - 1)
    raise NotationError(f"{text!r} is not a cell; a cell is a column letter and a row number, from A1 to {last}")


@compiled()
def _put_ship(states, params, side, ship, place):
    # 0 if the ship was put there, 1 if it leaves the board, 2 if it clashes with an earlier one.
    s, p = states[0], params[0]
    if not fits_board(p, place, p.sizes[ship]):
        return 1
    if clashes_with_earlier(p, s.places[side], ship, place):
        return 2
    put_ship(s, p, side, ship, place)
    return 0


@compiled()
def _leaves_room(states, params, side, scratch):
    # Whether the ships that are not placed yet find room; `scratch` is a second array of states.
    scratch[0] = states[0]
    return complete_fleet(params[0], scratch[0].places[side], np.int64(states[0].placed[side]))


@compiled()
def _shoot(states, params, side, cell):
    return shoot(states[0], params[0], side, cell)


def _placing(state: np.void, ruleset: Ruleset) -> bool:
    side = max(int(state["to_move"]), 0)
    return int(state["placed"][side]) < ruleset.params["sizes"].shape[1]


def placement_to_text(ruleset: Ruleset, ship: int, place: int) -> str:
    """A ship (numbered from 0) and its placement as `carrier B4 across`."""
    down, cell = divmod(int(place), int(ruleset.params["cells"][0]))
    return f"{names_of(ruleset)[ship]} {cell_to_text(ruleset, cell)} {_DIRECTIONS[down]}"


def action_to_text(ruleset: Ruleset, state: np.void, action: int) -> str:
    """The action of the side to move: `B4`, or `carrier B4 across` while it places its fleet."""
    if _placing(state, ruleset):
        return placement_to_text(ruleset, int(state["placed"][int(state["to_move"])]), int(action))
    return cell_to_text(ruleset, int(action))


def _text_to_placement(ruleset: Ruleset, ship: int, text: str) -> int:
    name = names_of(ruleset)[ship]
    words = text.split()
    if words and words[0].lower() == name:
        words = words[1:]
    if len(words) != 2 or words[1].lower() not in _DIRECTIONS:
        raise NotationError(
            f"{text!r} is not a placement of the {name}; write for example: {name} B4 across, or: B4 down"
        )
    down = _DIRECTIONS.index(words[1].lower())
    return down * int(ruleset.params["cells"][0]) + text_to_cell(ruleset, words[0])


def text_to_action(ruleset: Ruleset, state: np.void, text: str) -> int:
    """The action that the text means for the side to move; the ship's name may be left out.

    Raises:
        NotationError: for text that is not a move here.
    """
    if _placing(state, ruleset):
        return _text_to_placement(ruleset, int(state["placed"][int(state["to_move"])]), text)
    return text_to_cell(ruleset, text)


def _attack_only(ruleset: Ruleset) -> bool:
    return ruleset.num_players == 1


def state_to_text(ruleset: Ruleset, state: np.void) -> str:
    """The position; hidden placements of a view are left out, so that only whole states can be read back."""
    parts = []
    for side, name in enumerate(("first", "second")):
        fleet = ", ".join(
            placement_to_text(ruleset, ship, place)
            for ship, place in enumerate(state["places"][side])
            if ship < int(state["placed"][side]) and place >= 0
        )
        numbers = state["shot_number"][side]
        shots = " ".join(cell_to_text(ruleset, c) for c in np.argsort(numbers, kind="stable") if numbers[c] > 0)
        parts.append(f"{name}: fleet {fleet or '-'}; shots {shots or '-'}")
    return "; ".join(parts)


_POSITION = re.compile(
    r"\s*first:\s*fleet\s+(.+?);\s*shots\s+(.+?);\s*second:\s*fleet\s+(.+?);\s*shots\s+(.+?)\s*", re.DOTALL
)


def text_to_state(ruleset: Ruleset, text: str) -> np.void:
    """The state of this text.

    Raises:
        NotationError: for text of another form.
        PositionError: for a position that cannot occur, with the reason.
    """
    match = _POSITION.fullmatch(text)
    if match is None:
        raise NotationError(
            f"{text[:60]!r} is not a battleship position; expected: first: fleet carrier A1 across, ...; shots B4 ...; "
            "second: fleet ...; shots ... (a dash where there are none)"
        )
    p = ruleset.params[0]
    records = ruleset.zeros()
    seed_states(records, 0)
    attack, ships = _attack_only(ruleset), p["sizes"].shape[0]
    rules = _PositionRules(ruleset)
    for side in range(2):
        rules.begin(records, side)
        fleet = [] if match[1 + 2 * side] == "-" else match[1 + 2 * side].split(",")
        if attack and side == 0:
            if fleet:
                raise PositionError("in the one-sided game the first side has no fleet; write: first: fleet -")
            continue
        if len(fleet) > ships:
            raise PositionError(f"the fleet has {ships} ships, the position places {len(fleet)}")
        for ship, part in enumerate(fleet):
            rules.place(records, side, ship, _text_to_placement(ruleset, ship, part), part.strip())
        if attack and len(fleet) < ships:
            raise PositionError(f"the fleet has {ships} ships, the position places {len(fleet)}")
        rules.finish(records, side)
    shots = [[] if match[k] == "-" else [text_to_cell(ruleset, word) for word in match[k].split()] for k in (2, 4)]
    rules.play(records, shots)
    return records[0]


class _PositionRules:
    """Builds a state record with the rules' own kernels, checking on the way."""

    def __init__(self, ruleset: Ruleset):
        self.ruleset = ruleset
        self.p = ruleset.params.view(np.recarray)[0]
        self.ships = self.p.sizes.shape[0]

    def begin(self, records: np.ndarray, side: int) -> None:
        state = records[0]
        state["told_afloat"][side] = 1
        state["places"][side] = -1
        state["afloat"][side] = self.ships
        if _attack_only(self.ruleset) and side == 0:
            state["placed"][0] = self.ships

    def place(self, records: np.ndarray, side: int, ship: int, place: int, text: str) -> None:
        wrong = _put_ship(records, self.ruleset.params, side, ship, place)
        if wrong:
            problem = "does not lie on the board" if wrong == 1 else "overlaps or touches another one"
            raise PositionError(f"{text}: the ship {problem}")

    def finish(self, records: np.ndarray, side: int) -> None:
        state, ships = records[0], self.ships
        placed = int(state["placed"][side])
        if placed < ships:
            if not _leaves_room(records, self.ruleset.params, side, self.ruleset.zeros()):
                raise PositionError("these ships leave no room for the rest of the fleet")

    def play(self, records: np.ndarray, shots: list[list[int]]) -> None:
        state, params, ships = records[0], self.ruleset.params[0], self.ships
        attack = _attack_only(self.ruleset)
        placed = [int(n) for n in state["placed"]]
        if any(shots) and min(placed) < ships:
            raise PositionError("shots are fired only when both fleets are placed")
        if placed[1] > 0 and placed[0] < ships:
            raise PositionError("the second side places its fleet after the first side")
        if attack and shots[1]:
            raise PositionError("in the one-sided game the second side does not shoot")
        state["steps"] = sum(map(len, shots)) + (0 if attack or int(params["placement"]) >= 0 else sum(placed))
        state["to_move"] = 0 if attack or placed[0] < ships or placed[1] == ships else 1
        side, done = 0, [0, 0]
        while not state["terminated"] and done[side] < len(shots[side]):
            cell = shots[side][done[side]]
            done[side] += 1
            if state["shot_number"][side, cell]:
                raise PositionError(f"{cell_to_text(self.ruleset, cell)} is shot at twice by the same side")
            state["rewards"][:] = 0
            hit = bool(_shoot(records, self.ruleset.params, side, cell))
            if state["afloat"][1 - side] == 0:
                state["terminated"], state["end_reason"] = 1, 1
            if attack:
                state["rewards"][0] = params["shot_reward"]
                continue
            if state["terminated"]:
                state["rewards"][side], state["rewards"][1 - side] = 1, -1
            if not (hit and params["hit_again"]):
                side = 1 - side
            state["to_move"] = side
        if done != [len(shots[0]), len(shots[1])]:
            raise PositionError(
                f"the sides cannot have fired {len(shots[0])} and {len(shots[1])} shots: after {done[0]} and {done[1]} "
                + ("the game is over" if state["terminated"] else "it is the other side's turn")
            )


def _grid(ruleset: Ruleset, symbols: list[str]) -> list[str]:
    height, width = int(ruleset.params["height"][0]), int(ruleset.params["width"][0])
    lines = ["   " + " ".join(chr(ord("A") + c) for c in range(width))]
    for row in range(height):
        lines.append(f"{row + 1:2d} " + " ".join(symbols[row * width : (row + 1) * width]))
    return lines


def _target_board(ruleset: Ruleset, state: np.void, side: int) -> list[str]:
    symbols = (_UNKNOWN, _MISS, _HIT, _SUNK)
    return _grid(ruleset, [symbols[min(int(answer), HIT + 1)] for answer in state["answers"][side]])


def _own_board(ruleset: Ruleset, state: np.void, side: int) -> list[str]:
    symbols = [
        (_HIT if shot else str(ship % 10)) if ship else (_MISS if shot else _UNKNOWN)
        for ship, shot in zip(state["fleet"][side], state["answers"][1 - side], strict=True)
    ]
    return _grid(ruleset, symbols)


def _beside(left: list[str], right: list[str]) -> list[str]:
    return [f"{a}     {b}" for a, b in zip(left, right, strict=True)]


def afloat_text(ruleset: Ruleset, state: np.void, side: int) -> str:
    """The opponent's ships that are afloat, according to the announcements to `side`."""
    ships = ruleset.params["sizes"].shape[1]
    afloat = state["told_afloat"][side]
    if int(ruleset.params["sunk"][0]) == 1:
        return f"{int(afloat.sum())} of {ships} ships"
    named = [f"{n} ({s})" for n, s, a in zip(names_of(ruleset), ruleset.params["sizes"][0], afloat, strict=True) if a]
    return ", ".join(named) or "none"


def board_text(ruleset: Ruleset, state: np.void, seat: int | None = None) -> str:
    """Both boards of each seat, or of one seat alone: its shots (`o` miss, `x` hit, `#` sinking) and its own fleet."""
    sides = (0,) if _attack_only(ruleset) else (0, 1) if seat is None else (seat,)
    lines: list[str] = []
    for side in sides:
        shots = _target_board(ruleset, state, side)
        if _attack_only(ruleset):
            title = f"shots: {int(state['shots'][0])}"
            lines += [title, *(shots if seat is not None else _beside(shots, _own_board(ruleset, state, 1)))]
        else:
            head = f"{ruleset.players[side]} side: shots"
            own = _own_board(ruleset, state, side)
            lines += [f"{head:<{len(shots[0])}}     own fleet", *_beside(shots, own)]
        lines.append(f"opponent's ships afloat: {afloat_text(ruleset, state, side)}")
    if state["terminated"] and not _attack_only(ruleset):
        winner = ruleset.players[int(np.argmax(state["rewards"]))]
        lines.append(f"over: the {winner} side won")
    elif not state["truncated"] and not _attack_only(ruleset):
        lines.append(f"to move: {ruleset.players[int(state['to_move'])]}")
    return "\n".join(lines)

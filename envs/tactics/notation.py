"""Actions and positions as text, for both games.

Cells are named by a column letter and a row number from the upper left corner of the map, whose outer ring is a1, b1,
... An action is `b2-d4` (the unit on b2 goes to d4), `b2-d4xd5` (and attacks d5), `b2xb4` (attacks from where it stands),
`b2-b2` (stays) or `end`; in words it is `b2`, then `to d4`, then `hit d5` or `wait`. `resign` exists if the rules allow
it.

A position is `MAP TURN RED BLUE`: units are type, hit points and cell, such as `I10c4`, a `+` behind those that have
moved in this turn, `-` for one that is lost, separated by commas. In words `b2` or `b2>d4` follows: the choices so far.
"""

from __future__ import annotations

import re

import numpy as np

from asobiba.core import IllegalAction, NotationError, PositionError, Ruleset
from asobiba.envs.tactics import layout
from asobiba.envs.tactics.maps import SIDES
from asobiba.envs.tactics.orders import Order, action_of, board_size, end_of_turn, order_of, standing_on, targets
from asobiba.envs.tactics.units import COSTS, MARKS, MOVES, NAMES, TERRAIN_MARKS, TERRAINS

LETTERS = "abcdefghijklmn"
LEGEND = (
    "Capitals are red, small letters blue: "
    + ", ".join(f"{mark} {name}" for mark, name in zip(MARKS, NAMES))
    + "; then hit points, and * where the unit may still move.\nTerrain: "
    + ", ".join(f"{mark} {name}" for mark, name in zip(TERRAIN_MARKS, TERRAINS))
    + "."
)
"""The meaning of the signs of `board_text`."""
LOOKS_LIKE = "actions look like this: b2-d4, b2-d4xd5, b2xb4, end"
WORDS_LOOK_LIKE = "actions look like this: b2, to d4, hit d5, wait, end"
_CELL = "([a-n])([1-9][0-9]?)"
_ACTION = re.compile(f"{_CELL}(?:-{_CELL})?(?:x{_CELL})?")
_UNIT = re.compile(f"([{MARKS}])([1-9]|10){_CELL}([+]?)")
_FINAL = ("end", "resign")


def in_words(ruleset: Ruleset) -> bool:
    """Whether this is the game in words."""
    return "phase" in (ruleset.dtype.names or ())


def cell_name(ruleset: Ruleset, cell: int) -> str:
    """Such as `b2`."""
    row, column = divmod(int(cell), board_size(ruleset))
    return f"{LETTERS[column]}{row + 1}"


def _cell(ruleset: Ruleset, letter: str, number: str, text: str) -> int:
    size = board_size(ruleset)
    column, row = LETTERS.index(letter), int(number) - 1
    if column >= size or row >= size:
        raise NotationError(f"{text!r}: {letter}{number} is not on a board of {size} x {size} cells")
    return row * size + column


def action_to_text(ruleset: Ruleset, state: np.void, action: int) -> str:
    """The text of an action of the player to move."""
    cells = board_size(ruleset) ** 2
    if in_words(ruleset):
        if action >= cells:
            return ("wait", *_FINAL)[action - cells]
        return ("", "to ", "hit ")[int(state["phase"])] + cell_name(ruleset, action)
    end = end_of_turn(ruleset, state)
    if action >= end:
        return _FINAL[action - end]
    order = order_of(ruleset, state, action)
    origin = int(state["cell"][int(state["to_move"]), order.unit])
    move = "" if order.goal == origin and order.target >= 0 else f"-{cell_name(ruleset, order.goal)}"
    attack = f"x{cell_name(ruleset, order.target)}" if order.target >= 0 else ""
    return cell_name(ruleset, origin) + move + attack


def text_to_action(ruleset: Ruleset, state: np.void, text: str) -> int:
    """The action that the text means for the player to move.

    Raises:
        NotationError: for text that is no action here, with the reason.
        IllegalAction: for a unit that has moved already.
    """
    text = text.strip()
    if in_words(ruleset):
        return _word(ruleset, state, text)
    if text in _FINAL[: 1 + bool(ruleset.parameters["resign"])]:
        return end_of_turn(ruleset, state) + _FINAL.index(text)
    found = _ACTION.fullmatch(text)
    if not found:
        raise NotationError(f"{text!r} is not an action; {LOOKS_LIKE}")
    origin = _cell(ruleset, found[1], found[2], text)
    goal = _cell(ruleset, found[3], found[4], text) if found[3] else origin
    target = _cell(ruleset, found[5], found[6], text) if found[5] else -1
    unit = _own_unit(ruleset, state, origin, text)
    if not found[3] and not found[5]:
        raise NotationError(f"{text!r} does not say where the unit goes (to stay: {text}-{text}); {LOOKS_LIKE}")
    action = action_of(ruleset, state, Order(unit, goal, target))
    if action is None:
        name = NAMES[int(state["kind"][int(state["to_move"]), unit])]
        raise NotationError(f"{text!r}: no {name} attacks {cell_name(ruleset, target)} from {cell_name(ruleset, goal)}")
    return action


def _own_unit(ruleset: Ruleset, state: np.void, cell: int, text: str) -> int:
    side = int(state["to_move"])
    unit = standing_on(state, side, cell)
    if unit is None:
        raise NotationError(f"{text!r}: no {SIDES[side]} unit stands on {cell_name(ruleset, cell)}; {LOOKS_LIKE}")
    if state["moved"][unit]:
        name = NAMES[int(state["kind"][side, unit])]
        raise IllegalAction(
            f"{text!r}: the {name} on {cell_name(ruleset, cell)} has moved already in this turn; choose another unit, or end"
        )
    return unit


def _word(ruleset: Ruleset, state: np.void, text: str) -> int:
    cells, phase = board_size(ruleset) ** 2, int(state["phase"])
    final = ("wait", *_FINAL[: 1 + bool(ruleset.parameters["resign"])])
    if text in final:
        return cells + final.index(text)
    found = re.fullmatch(f"(to |hit |){_CELL}", text)
    if not found or found[1] != ("", "to ", "hit ")[phase]:
        now = ("a unit is chosen", "a destination is chosen", "a target is chosen")[phase]
        raise NotationError(f"{text!r} is not an action where {now}; {WORDS_LOOK_LIKE}")
    cell = _cell(ruleset, found[2], found[3], text)
    if phase == 0:
        _own_unit(ruleset, state, cell, text)
    return cell


def map_name(ruleset: Ruleset, board: int) -> str:
    """The name of a map, without blanks."""
    return "_".join(layout.maps_of(ruleset)[board].name.split())


def setting_text(ruleset: Ruleset) -> str:
    """The maps of a ruleset, by name."""
    names = [map_.name for map_ in layout.maps_of(ruleset)]
    if len(names) == 1:
        return f"Map: {names[0]}"
    if len(names) == layout.MOST_MAPS:
        return f"Maps: {len(names)} generated ones, one drawn for each deal"
    return f"Maps, one drawn for each deal: {', '.join(names)}"


def state_to_text(ruleset: Ruleset, state: np.void) -> str:
    """The position as text."""
    parts = [map_name(ruleset, int(state["board"])), str(int(state["turns"]))]
    mover = int(state["turns"]) & 1
    for side in (0, 1):
        units = []
        for k in range(len(state["moved"])):
            hp = int(state["hp"][side, k])
            name = f"{MARKS[int(state['kind'][side, k])]}{hp}{cell_name(ruleset, int(state['cell'][side, k]))}"
            units.append(name + "+" * int(side == mover and state["moved"][k]) if hp else "-")
        while len(units) > 1 and units[-1] == "-":
            units.pop()
        parts.append(",".join(units))
    if in_words(ruleset) and state["phase"]:
        chosen = cell_name(ruleset, int(state["cell"][mover, int(state["unit"])]))
        parts.append(chosen + (f">{cell_name(ruleset, int(state['goal']))}" if state["phase"] == 2 else ""))
    return " ".join(parts)


def text_to_state(ruleset: Ruleset, text: str) -> np.void:
    """The state of a position, as if the game began there (so it counts no steps yet).

    Raises:
        NotationError: for text of another form.
        PositionError: for a position that cannot occur, naming the reason.
    """
    words = text.split()
    if not 4 <= len(words) <= 4 + in_words(ruleset) or not re.fullmatch("[0-9]{1,9}", words[1]):
        raise NotationError(
            f"{text!r} is not a position: expected MAP TURN RED BLUE, such as duel 0 I10b2,P4c3 I10g7,P4f6"
        )
    names = [map_name(ruleset, k) for k in range(len(layout.maps_of(ruleset)))]
    if words[0] not in names:
        raise PositionError(f"{text!r}: {words[0]!r} is none of the maps {', '.join(names)}")
    state = ruleset.zeros()[0]
    board = state["board"] = names.index(words[0])
    map_ = layout.maps_of(ruleset)[board]
    if int(words[1]) > map_.turn_limit:
        raise PositionError(f"{text!r}: turn {words[1]} is after the last of map {map_.name!r}, {map_.turn_limit}")
    state["turns"] = int(words[1])
    mover = state["to_move"] = int(words[1]) & 1
    taken: set[int] = set()
    for side in (0, 1):
        _place(ruleset, state, words[2 + side].split(","), side, mover, taken)
    lost = [side for side in (0, 1) if not state["hp"][side].any()]
    if len(lost) == 2:
        raise PositionError(f"{text!r}: both sides have lost all units")
    if lost or state["turns"] >= map_.turn_limit:
        lead = int(state["hp"][0].sum()) - int(state["hp"][1].sum())
        winner = 1 - lost[0] if lost else 0 if lead > map_.hp_threshold else 1 if -lead > map_.hp_threshold else -1
        state["terminated"], state["end_reason"] = 1, 1
        if winner >= 0:
            state["rewards"] = (1, -1) if winner == 0 else (-1, 1)
    elif len(words) == 5:
        _choose(ruleset, state, words[4])
    return state


def _place(ruleset: Ruleset, state: np.void, units: list[str], side: int, mover: int, taken: set[int]) -> None:
    size, map_ = board_size(ruleset), layout.maps_of(ruleset)[int(state["board"])]
    if len(units) > len(state["moved"]):
        raise PositionError(
            f"{SIDES[side]} has {len(units)} units; a board of size {size} has room for {len(state['moved'])}"
        )
    for k, unit in enumerate(units):
        if unit == "-":
            continue
        found = _UNIT.fullmatch(unit)
        if not found:
            raise NotationError(
                f"{unit!r} is not a unit: expected type ({', '.join(MARKS)}), hit points and cell, such as I10c4"
            )
        cell = _cell(ruleset, found[3], found[4], unit)
        kind, x, y = MARKS.index(found[1]), cell % size, cell // size
        code = int(map_.terrain[y][x]) if y < map_.height and x < map_.width else 0
        if COSTS[MOVES[kind], code] == 0:
            raise PositionError(f"{unit}: a {NAMES[kind]} cannot stand on {TERRAINS[code]}")
        if cell in taken:
            raise PositionError(f"{unit}: another unit stands there")
        taken.add(cell)
        if found[5] and side != mover:
            raise PositionError(f"{unit}: it is {SIDES[mover]}'s turn, no {SIDES[side]} unit has moved in it")
        state["hp"][side, k], state["cell"][side, k], state["kind"][side, k] = int(found[2]), cell, kind
        if found[5]:
            state["moved"][k] = 1


def _choose(ruleset: Ruleset, state: np.void, text: str) -> None:
    found = re.fullmatch(f"{_CELL}(?:>{_CELL})?", text)
    if not found:
        raise NotationError(f"{text!r} does not say what is chosen: expected b2, or b2>d4")
    state["unit"] = _own_unit(ruleset, state, _cell(ruleset, found[1], found[2], text), text)
    state["phase"] = 1
    if found[3]:
        goal = _cell(ruleset, found[3], found[4], text)
        if not ruleset_mask(ruleset, state)[goal] or not targets(ruleset, state, int(state["unit"]), goal):
            raise PositionError(f"{text}: the unit cannot go there, or finds nothing to attack there")
        state["phase"], state["goal"] = 2, goal


def ruleset_mask(ruleset: Ruleset, state: np.void) -> np.ndarray:
    """The legal actions of the player to move."""
    from asobiba.core.states import action_mask

    return action_mask(ruleset, state)


def outcome_text(state: np.void) -> str:
    """Reason why the game ended, or an empty text."""
    if not (state["terminated"] or state["truncated"]):
        return ""
    return {0: "drawn", 1: "red wins", -1: "blue wins"}[int(np.sign(state["rewards"][0]))]


def board_text(ruleset: Ruleset, state: np.void, seat: int | None = None) -> str:
    """The map with its units: capitals are red, small letters blue, numbers hit points; a star marks units that may
    still move.
    """
    map_, size = layout.maps_of(ruleset)[int(state["board"])], board_size(ruleset)
    mover = int(state["to_move"])
    over = bool(state["terminated"] or state["truncated"])
    units = {}
    for side in (0, 1):
        for k in range(len(state["moved"])):
            if state["hp"][side, k]:
                mark = MARKS[int(state["kind"][side, k])]
                ready = side == mover and not state["moved"][k] and not over
                name = f"{mark.lower() if side else mark}{int(state['hp'][side, k])}{'*' if ready else ''}"
                units[int(state["cell"][side, k])] = name
    lines = ["   " + "".join(f"{letter:<5}" for letter in LETTERS[: map_.width]).rstrip()]
    for y, row in enumerate(map_.terrain):
        cells = (TERRAIN_MARKS[int(code)] + units.get(y * size + x, "") for x, code in enumerate(row))
        lines.append(f"{y + 1:>2} " + "".join(f"{cell:<5}" for cell in cells).rstrip())
    hp = [int(state["hp"][side].sum()) for side in (0, 1)]
    turn = f"turn {int(state['turns'])} of {map_.turn_limit}"
    lines.append(
        f"{map_name(ruleset, int(state['board']))}, {turn}: red {hp[0]}, blue {hp[1]}, threshold {map_.hp_threshold}"
    )
    lines.append(outcome_text(state) or f"{SIDES[mover]} to move" + _chosen_text(ruleset, state))
    return "\n".join(lines)


def _chosen_text(ruleset: Ruleset, state: np.void) -> str:
    if not in_words(ruleset) or not state["phase"]:
        return ""
    mover, unit = int(state["to_move"]), int(state["unit"])
    text = f": {NAMES[int(state['kind'][mover, unit])]} {cell_name(ruleset, int(state['cell'][mover, unit]))}"
    return text + (f" to {cell_name(ruleset, int(state['goal']))}" if state["phase"] == 2 else "")

"""Moves and positions as text.

* Moves: `B3B2` moves the piece on B3 to B2, `C*B2` drops a chick on B2 (E elephant, G giraffe), `+` marks a chick that
  becomes a hen. Read are also USI's moves (`2c2b`, `C*2b`; files 3, 2, 1 for A, B, C, ranks a to d), the Japanese way
  (`B2ひよこ`, with the origin where two could: `B2ひよこ(B3)`, and 打 for a drop), and the three-character codes of
  `console_text` (`472`: hexadecimal origin, destination and piece, squares counted from A4).
* Positions: SFEN, `gle/1c1/1C1/ELG b - 1`: rank 1 first, capitals are the first player's, `+C` (or H) is a hen; `b` if
  the first player is to move, `w` if the second; hands such as `2Ce` (a dash for none); the move number. A finished
  game may have a caught lion in hand.
"""

from __future__ import annotations

import re

import numpy as np

from asobiba.core import NotationError, Ruleset, compiled
from asobiba.envs.animal_shogi import rules
from asobiba.envs.animal_shogi.board import DROPS, OFFSETS, STEP
from asobiba.envs.animal_shogi.position import board_of, hands_of, set_up, touched_last

LOOKS_LIKE = (
    "pieces, squares and drops look like this: B3B2 (the piece on B3 to B2), C*B2 (a chick dropped on B2; E elephant, "
    "G giraffe); or in USI 2c2b, C*2b; or B2ひよこ"
)
JAPANESE = ("ひよこ", "ぞう", "きりん", "にわとり", "らいおん")
"""Names by kind: chick, elephant, giraffe, hen, lion."""
_SHORT = {"C": "ひ", "E": "ぞ", "G": "き", "H": "に", "L": "ら", "c": "ヒ", "e": "ゾ", "g": "キ", "h": "ニ", "l": "ラ"}
_CODES = {"C": "2", "H": "4", "E": "6", "G": "8", "L": "a"}
_OUTCOMES = {
    rules.LION_TAKEN: "the lion is caught",
    rules.TRY: "try",
    rules.REPETITION: "the position stands for the third time",
    rules.NO_MOVE: "no move is left",
}
_SQUARE = "([A-Ca-c][1-4])"
_MOVE = re.compile(rf"{_SQUARE}[-x]?{_SQUARE}\+?")
_DROP = re.compile(rf"([CEGceg])\*{_SQUARE}")
_USI_MOVE = re.compile(r"([1-3][a-d])([1-3][a-d])\+?")
_USI_DROP = re.compile(r"([CEG])\*([1-3][a-d])")
_CODE = re.compile(r"([0-9a-bf])([0-9a-b])([2468a])")
_SPOKEN = re.compile(rf"{_SQUARE}({'|'.join(JAPANESE)})(打)?(?:\({_SQUARE}\))?")
_SFEN = re.compile(r"(\S+)\s+([bw])\s+(-|[0-9A-Za-z]+)(?:\s+([0-9]{1,6}))?")


@compiled()
def _legal(states, params, mask):
    rules.legal(states[0], params[0], mask)


def legal_now(ruleset: Ruleset, state: np.void) -> np.ndarray:
    """The actions of the player to move, `(k,)`; none when the game is over."""
    mask = np.zeros(ruleset.num_actions, np.int8)
    if not (state["terminated"] or state["truncated"]):
        states = ruleset.zeros()
        states[0] = state
        _legal(states, ruleset.params, mask)
    return np.flatnonzero(mask)


def square_name(square: int, side: int) -> str:
    """The name of a square counted from `side`'s left corner: A1 to C4."""
    square = 11 - square if side else square
    return "ABC"[square % 3] + str(4 - square // 3)


def square_number(name: str, side: int) -> int:
    """The square that `square_name` names."""
    square = "ABC".index(name[0].upper()) + 3 * (4 - int(name[1]))
    return 11 - square if side else square


def usi_square(square: int, side: int) -> str:
    """The square in USI: files 3 to 1 from the first player's left, ranks a to d from the second player's home."""
    name = square_name(square, side)
    return f"{3 - 'ABC'.index(name[0])}{'abcd'[int(name[1]) - 1]}"


def _from_usi(text: str, side: int) -> int:
    return square_number("ABC"[3 - int(text[0])] + str("abcd".index(text[1]) + 1), side)


def action_parts(state: np.void, action: int) -> tuple[int, int, int]:
    """Kind of the piece, origin (-1 for a drop) and destination of an action, squares from the mover's side."""
    action = int(action)
    if action >= DROPS:
        return (action - DROPS) // 12 + 1, -1, (action - DROPS) % 12
    origin = action % 12
    return int(state["position"]) >> (4 * origin) & 7, origin, int(STEP[action // 12, origin])


def _written(state: np.void, action: int, name) -> str:
    side = int(state["to_move"])
    kind, origin, to = action_parts(state, action)
    if origin < 0:
        return f"{'CEG'[kind - 1]}*{name(to, side)}"
    if to < 0:
        raise NotationError(f"action {action} leads off the board")
    return name(origin, side) + name(to, side) + ("+" if kind == 1 and to >= 9 else "")


def action_to_text(ruleset: Ruleset, state: np.void, action: int) -> str:
    """The action as `B3B2`, `B2B1+` or `C*B2`."""
    return _written(state, action, square_name)


def action_to_usi(ruleset: Ruleset, state: np.void, action: int) -> str:
    """The action as USI writes it: `2c2b`, `2b2a+` or `C*2b`."""
    return _written(state, action, usi_square)


def action_to_japanese(ruleset: Ruleset, state: np.void, action: int) -> str:
    """The action as `B2ひよこ`; a drop as `B2ひよこ打`; the origin follows in brackets where two pieces could move there."""
    side = int(state["to_move"])
    kind, origin, to = action_parts(state, action)
    text = square_name(to, side) + JAPANESE[kind - 1]
    if origin < 0:
        return text + "打"
    others = [action_parts(state, a) for a in legal_now(ruleset, state)]
    rivals = [o for k, o, t in others if (k, t) == (kind, to) and o >= 0 and o != origin]
    return text + (f"({square_name(origin, side)})" if rivals else "")


def action_code(ruleset: Ruleset, state: np.void, action: int) -> str:
    """The three characters of `console_text`: origin (f: from the hand), destination, piece; squares from A4 = 0."""
    side = int(state["to_move"])
    kind, origin, to = action_parts(state, action)
    turn = (lambda k: 11 - k) if side else (lambda k: k)
    return ("f" if origin < 0 else f"{turn(origin):x}") + f"{turn(to):x}" + _CODES["CEGHL"[kind - 1]]


def text_to_action(ruleset: Ruleset, state: np.void, text: str) -> int:
    """The action that the text means for the player to move.

    Raises:
        NotationError: for text that is not a move of any of the forms, or that fits no or several legal moves.
    """
    side, text = int(state["to_move"]), text.strip()
    for pattern, square in ((_MOVE, square_number), (_USI_MOVE, _from_usi)):
        if found := pattern.fullmatch(text):
            return _move(square(found[1], side), square(found[2], side), text)
    for pattern, square in ((_DROP, square_number), (_USI_DROP, _from_usi)):
        if found := pattern.fullmatch(text):
            return DROPS + 12 * "CEG".index(found[1].upper()) + square(found[2], side)
    if _CODE.fullmatch(text):
        fitting = [a for a in legal_now(ruleset, state) if action_code(ruleset, state, a) == text]
    elif found := _SPOKEN.fullmatch(text):
        fitting = _spoken(ruleset, state, found)
    else:
        raise NotationError(f"{text!r} is not a move: {LOOKS_LIKE}")
    if len(fitting) == 1:
        return int(fitting[0])
    which = ", ".join(action_to_text(ruleset, state, a) for a in fitting)
    raise NotationError(
        f"{text!r} could be {which}: name the origin too" if fitting else f"{text!r} fits no legal move; {LOOKS_LIKE}"
    )


def _move(origin: int, to: int, text: str) -> int:
    for direction in range(len(OFFSETS)):
        if STEP[direction, origin] == to:
            return 12 * direction + origin
    raise NotationError(f"{text!r}: no piece moves further than to a neighbouring square; {LOOKS_LIKE}")


def _spoken(ruleset: Ruleset, state: np.void, found: re.Match) -> list[int]:
    side, kind, to = int(state["to_move"]), JAPANESE.index(found[2]) + 1, square_number(found[1], int(state["to_move"]))
    fitting = []
    for action in legal_now(ruleset, state):
        k, origin, target = action_parts(state, action)
        # As in shogi, a bare name means a piece on the board where one can go there.
        if (k, target) == (kind, to) and (found[4] is None or origin == square_number(found[4], side)):
            fitting.append((origin < 0, int(action)))
    dropped = found[3] is not None or all(drop for drop, _ in fitting)
    return [action for drop, action in fitting if drop == dropped]


def state_to_text(ruleset: Ruleset, state: np.void) -> str:
    """The position as SFEN, without its history (which counts for repetitions); so its move number is always 1."""
    board = board_of(state)
    ranks = []
    for top in (9, 6, 3, 0):
        rank = "".join("+" + "Cc"[x.islower()] if x in "Hh" else x for x in board[top : top + 3])
        ranks.append(re.sub(r"\.+", lambda run: str(len(run[0])), rank))
    held = ""
    for hand, case in zip(hands_of(state), (str.upper, str.lower)):
        held += "".join(f"{hand[k] if hand[k] > 1 else ''}{case(k)}" for k in "LGEC" if hand[k])
    return f"{'/'.join(ranks)} {'bw'[int(state['to_move'])]} {held or '-'} 1"


def text_to_state(ruleset: Ruleset, text: str) -> np.void:
    """The state of an SFEN position, as if the game began there (so it counts no moves yet).

    Raises:
        NotationError: for text of another form.
        PositionError: for a position that cannot occur, naming the reason.
    """
    found = _SFEN.fullmatch(text.strip())
    if not found:
        raise NotationError(f"{text!r} is not a position: expected SFEN, such as gle/1c1/1C1/ELG b - 1")
    ranks = found[1].split("/")
    if len(ranks) != 4:
        raise NotationError(
            f"{found[1]!r} has {len(ranks)} ranks, expected four: rank 1 first, such as gle/1c1/1C1/ELG"
        )
    board = [letter for rank in reversed(ranks) for letter in _rank(rank)]
    hands: tuple[dict[str, int], dict[str, int]] = ({}, {})
    if found[3] != "-":
        if not re.fullmatch(r"([0-9]?[CEGLcegl])+", found[3]):
            raise NotationError(f"{found[3]!r} is not a hand: expected - or letters C, E, G with a count, such as 2Ce")
        for count, letter in re.findall(r"([0-9]?)([A-Za-z])", found[3]):
            hand = hands[letter.islower()]
            hand[letter.upper()] = hand.get(letter.upper(), 0) + int(count or 1)
    return set_up(ruleset, board, hands, "bw".index(found[2]))


def _rank(rank: str) -> list[str]:
    letters: list[str] = []
    for promoted, letter in re.findall(r"(\+?)(.)", rank):
        if letter in "123" and not promoted:
            letters += ["."] * int(letter)
        elif letter in "-." and not promoted:
            letters.append(".")
        elif letter.upper() in "CEGHL" and (not promoted or letter in "Cc"):
            letters.append("Hh"[letter.islower()] if promoted else letter)
        else:
            raise NotationError(
                f"{promoted + letter!r} in rank {rank!r} is not a piece: C, E, G, L, +C (or H), small letters, 1 to 3"
            )
    if len(letters) != 3:
        raise NotationError(f"rank {rank!r} has {len(letters)} squares, expected three")
    return letters


def outcome_text(state: np.void) -> str:
    """Reason why the game ended, or an empty text."""
    outcome = int(state["outcome"])
    if not outcome:
        return ""
    result = {0: "draw", 1: "the first player wins", -1: "the second player wins"}
    return f"{_OUTCOMES[outcome]}: {result[int(np.sign(state['rewards'][0]))]}"


def board_text(ruleset: Ruleset, state: np.void, seat: int | None = None) -> str:
    """The board with rank 1 at the top; capitals are the first player's, H is a hen.

    A star marks the player to move, brackets the squares of the last move, an apostrophe the squares that can be moved
    to.
    """
    board, hands, mover = board_of(state), hands_of(state), int(state["to_move"])
    held = [" ".join(f"{k}x{hand[k]}" for k in "LGEC" if hand[k]) or "-" for hand in hands]
    touched = touched_last(state)
    targets = {action_parts(state, action)[2] for action in legal_now(ruleset, state)}
    targets = {11 - square if mover else square for square in targets}
    lines = [f"second{'*' if mover else ' '}  hand {held[1].lower()}", "    A   B   C"]
    for row in (3, 2, 1, 0):
        cells = [
            f"{'[' if k in touched else ' '}{board[k]}{']' if k in touched else ' '}{chr(39) if k in targets else ' '}"
            for k in range(3 * row, 3 * row + 3)
        ]
        lines.append(f" {4 - row} " + "".join(cells).rstrip())
    lines.append(f"first{' ' if mover else '*'}   hand {held[0]}")
    if end := outcome_text(state):
        lines.append(end)
    return "\n".join(lines)


def console_text(ruleset: Ruleset, state: np.void) -> str:
    """The board and the numbered moves as the Japanese console version prints them."""
    board, hands = board_of(state), hands_of(state)
    held = ["".join(_SHORT[k if player == 0 else k.lower()] * hands[player][k] for k in "LGEC") for player in (0, 1)]
    lines = ["-" * 23, f"後手持ち駒: {held[1]}", " |A|B|C|"]
    for row in (3, 2, 1, 0):
        lines.append(f"{4 - row}|" + "|".join(_SHORT.get(x, " ") for x in board[3 * row : 3 * row + 3]) + "|")
    mover = "後手" if state["to_move"] else "先手"
    lines += [f"先手持ち駒: {held[0]}", f"指し手: {mover} ", "-" * 23, "コード 着手可能手(合法手)"]
    moves = [(action_code(ruleset, state, a), a) for a in legal_now(ruleset, state)]
    for code, action in sorted(moves):
        lines.append(f"{code}  {action_to_japanese(ruleset, state, action)}")
    return "\n".join(lines)

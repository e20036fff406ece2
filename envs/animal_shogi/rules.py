"""The rules of animal shogi on state records; `board` holds positions and moves."""

from __future__ import annotations

from asobiba.core import kernel
from asobiba.envs.animal_shogi.board import (
    ACTION,
    COUNT,
    TARGET,
    any_move,
    attacked,
    destination,
    flip,
    moved,
    safe,
)

LION_TAKEN, TRY, REPETITION, NO_MOVE = 1, 2, 3, 4
START = 0xADB090010352


@kernel
def begin(s, position, side):
    """Makes `position` (from the side of `side`, who is to move) the first of a game."""
    s.position = position
    s.to_move = side
    s.keys[0, 0] = position | (side << 60)
    s.occurrences = 1


@kernel
def reset(s, p):
    begin(s, START, 0)


@kernel
def legal(s, p, mask):
    mask[:] = 0
    position = s.position
    check = p.legal_check != 0
    hands = (position >> 48) & 63
    for square in range(12):
        piece = (position >> (4 * square)) & 15
        if piece == 0:
            if hands != 0:
                for kind in range(3):
                    if (hands >> (2 * kind)) & 3 and (not check or safe(position, 96 + 12 * kind + square)):
                        mask[96 + 12 * kind + square] = 1
        elif piece < 8:
            for k in range(COUNT[piece, square]):
                there = (position >> (4 * TARGET[piece, square, k])) & 15
                if there == 0 or there >= 8:
                    action = ACTION[piece, square, k]
                    if not check or safe(position, action):
                        mask[action] = 1


@kernel
def decided(before, after, to, try_at_once):
    """What a move to square `to` decides, as (outcome, 1 if the mover wins, -1 if he loses).

    `before` and `after` are positions from the mover's side; nothing is decided where the outcome is 0.
    """
    if (before >> (4 * to)) & 15 == 13:
        return 1, 1
    for square in range(3):
        if (before >> (4 * square)) & 15 == 13:
            return 2, -1  # the opponent's lion came to the mover's home rank and still stands there
    if try_at_once and to >= 9 and (after >> (4 * to)) & 15 == 5 and not attacked(after, to):
        return 2, 1
    return 0, 0


@kernel
def finish(s, outcome, winner):
    """Ends the game; `winner` is a seat, or -1 for a draw."""
    s.terminated = 1
    s.outcome = outcome
    if winner >= 0:
        s.rewards[winner] = 1
        s.rewards[1 - winner] = -1


@kernel
def step(s, p, action):
    mover = s.to_move
    before = s.position
    after = moved(before, action)
    outcome, sign = decided(before, after, destination(action), p.try_at_once != 0)
    position = flip(after)
    s.position = position
    s.to_move = 1 - mover
    # Positions of one side to move stand in one row, so that the search for repetitions reads memory in order.
    key = position | ((1 - mover) << 60)
    ply = s.steps + 1
    row, last = ply & 1, ply >> 1
    s.keys[row, last] = key
    occurrences = 0
    for k in range(last + 1):
        occurrences += s.keys[row, k] == key
    s.occurrences = occurrences
    if outcome != 0:
        finish(s, outcome, mover if sign > 0 else 1 - mover)
    elif occurrences >= 3:
        finish(s, 3, -1)
    elif not any_move(position, p.legal_check != 0):
        finish(s, 4, mover)


@kernel
def write_position(position, out, start):
    """Sets the planes of one position: 10 of pieces at `start`."""
    for square in range(12):
        piece = (position >> (4 * square)) & 15
        if piece != 0:
            plane = piece - 1 if piece < 8 else piece - 4
            out[start + 12 * plane + square] = 1


@kernel
def write_hands(position, out, start):
    """Sets 12 flags at `start`: of each kind in hand at least one, at least two; the viewer's, then the opponent's."""
    hands = (position >> 48) & 0xFFF
    for k in range(6):
        count = (hands >> (2 * k)) & 3
        if count >= 1:
            out[start + 2 * k] = 1
        if count >= 2:
            out[start + 2 * k + 1] = 1


@kernel
def observe(s, p, player, out):
    out[:] = 0
    mine = s.to_move == player
    positions = p.history + 1
    position = s.position if mine else flip(s.position)
    write_position(position, out, 0)
    write_hands(position, out, 120 * positions)
    for back in range(1, positions):
        ply = s.steps - back
        if ply >= 0:
            position = s.keys[ply & 1, ply >> 1] & 0xFFFFFFFFFFFFFFF
            if mine != (back & 1 == 0):
                position = flip(position)
            write_position(position, out, 120 * back)
            write_hands(position, out, 120 * positions + 12 * back)
    rest = 132 * positions
    out[rest] = s.occurrences >= 2
    out[rest + 1] = player == 0
    out[rest + 2] = mine

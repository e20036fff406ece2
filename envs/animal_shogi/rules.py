"""The rules of animal shogi on state records; `board` holds positions and moves."""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.animal_shogi.board import (
    BOARD,
    any_move,
    attacked,
    destination,
    flip,
    lowest_square,
    movable,
    moved,
    occupied,
    safe,
)

LION_TAKEN, TRY, REPETITION, NO_MOVE = 1, 2, 3, 4
START = 0xADB090010352
PLANE = np.array([0, 0, 12, 24, 36, 48, 0, 0, 0, 60, 72, 84, 96, 108, 0, 0], np.int64)
"""Where the observation plane of each piece begins."""


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
def write_squares(bits, out, start):
    """Writes 12 zeros or ones at `start`: whether bit `4 * square` is set."""
    for square in range(12):
        out[start + square] = (bits >> (4 * square)) & 1


@kernel
def legal(s, p, mask):
    position = s.position
    moves = movable(position)
    write_squares(moves[0], mask, 0)
    write_squares(moves[1], mask, 12)
    write_squares(moves[2], mask, 24)
    write_squares(moves[3], mask, 36)
    write_squares(moves[4], mask, 48)
    write_squares(moves[5], mask, 60)
    write_squares(moves[6], mask, 72)
    write_squares(moves[7], mask, 84)
    hands = (position >> 48) & 63
    mask[96:] = 0
    if hands != 0:
        empty = BOARD & ~occupied(position)
        for kind in range(3):
            if (hands >> (2 * kind)) & 3:
                write_squares(empty, mask, 96 + 12 * kind)
    if p.legal_check != 0:
        for action in range(132):
            if mask[action] != 0 and not safe(position, action):
                mask[action] = 0


@kernel
def decided(before, after, to, try_at_once):
    """What a move to square `to` decides, as (outcome, 1 if the mover wins, -1 if he loses).

    `before` and `after` are positions from the mover's side; nothing is decided where the outcome is 0.
    """
    if (before >> (4 * to)) & 15 == 13:
        return 1, 1
    others = (before & 0xFFF) ^ 0xDDD
    if (others - 0x111) & ~others & 0x888:
        return 2, -1  # the opponent's lion (13 on one of three squares) came to the mover's home rank and stands there
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
    left = occupied(position)
    while left != 0:
        square = lowest_square(left)
        left &= left - 1
        out[start + PLANE[(position >> (4 * square)) & 15] + square] = 1


@kernel
def write_hands(position, out, start):
    """Sets 12 flags at `start`: of each kind in hand at least one, at least two; the viewer's, then the opponent's."""
    hands = (position >> 48) & 0xFFF
    for k in range(6):
        count = (hands >> (2 * k)) & 3
        out[start + 2 * k] = count >= 1
        out[start + 2 * k + 1] = count >= 2


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

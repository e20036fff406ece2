"""The rules of animal shogi on state records; `board` holds positions and moves."""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.animal_shogi.board import (
    DROPS,
    SQUARES,
    any_move,
    attacked,
    destination,
    flip,
    moved,
    moves,
    safe_moves,
)

LION_TAKEN, TRY, REPETITION, NO_MOVE = 1, 2, 3, 4
START = 0xADB090010352
PLANES = 10 * SQUARES
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int8)
"""`[byte, k]`: bit `k` of the byte."""
_CELLS = np.full((SQUARES, 16), PLANES, np.uint8)
"""`[square, piece]`: which cell of the ten planes stands for the piece; without one, the cell after the last."""
for _plane, _piece in enumerate((1, 2, 3, 4, 5, 9, 10, 11, 12, 13)):
    _CELLS[:, _piece] = _plane * SQUARES + np.arange(SQUARES)
_HANDS = np.array([[(h >> (2 * k) & 3) >= n for k in range(4) for n in (1, 2)] for h in range(256)]).astype(np.int8)
"""`[byte, 2 * k + n - 1]`: whether count `k` of the four in the byte is at least `n`."""


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
def write_bits(bits, out, start):
    """Writes the lowest eight bits as zeros and ones from `start` on."""
    for k in range(8):
        out[start + k] = _BITS[bits & 255, k]


@kernel
def legal(s, p, mask):
    position = s.position
    forwards, backwards, drops = moves(position)
    if p.legal_check != 0:
        forwards = safe_moves(position, forwards, 0)
        backwards = safe_moves(position, backwards, 48)
        drops = safe_moves(position, drops, DROPS)
    for byte in range(6):
        write_bits(forwards >> (8 * byte), mask, 8 * byte)
        write_bits(backwards >> (8 * byte), mask, 48 + 8 * byte)
    for byte in range(4):
        write_bits(drops >> (8 * byte), mask, 96 + 8 * byte)
    for k in range(4):
        mask[128 + k] = _BITS[drops >> 32, k]


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
    # Positions of one side to move stand in one row, so that the search for repetitions reads memory in order. What a
    # player has just moved stands back at the earliest after his next move, so the last position is no candidate.
    key = position | ((1 - mover) << 60)
    ply = s.steps + 1
    row, last = ply & 1, ply >> 1
    s.keys[row, last] = key
    occurrences = 1
    for k in range(last - 1):
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
    """Writes ten planes at `start`; the cell after them is left arbitrary."""
    for k in range(PLANES):
        out[start + k] = 0
    for square in range(SQUARES):
        out[start + _CELLS[square, (position >> (4 * square)) & 15]] = 1


@kernel
def write_hands(position, out, start):
    """Writes 12 flags at `start`: of each kind in hand at least one, at least two; the viewer's, then the opponent's."""
    hands = position >> 48
    for k in range(8):
        out[start + k] = _HANDS[hands & 255, k]
    for k in range(4):
        out[start + 8 + k] = _HANDS[(hands >> 8) & 15, k]


@kernel
def position_seen(s, mine, back):
    """The position `back` moves ago from the viewer's side, 0 before the beginning; `mine`: the viewer is to move now."""
    ply = s.steps - back
    if ply < 0:
        return 0
    position = s.keys[ply & 1, ply >> 1] & 0xFFFFFFFFFFFFFFF
    return position if mine == (back & 1 == 0) else flip(position)


@kernel
def observe(s, p, player, out):
    mine = s.to_move == player
    position = s.position if mine else flip(s.position)
    positions = p.history + 1
    write_position(position, out, 0)
    for back in range(1, positions):
        write_position(position_seen(s, mine, back), out, PLANES * back)
    hands = PLANES * positions
    write_hands(position, out, hands)
    for back in range(1, positions):
        write_hands(position_seen(s, mine, back), out, hands + 12 * back)
    rest = hands + 12 * positions
    out[rest] = s.occurrences >= 2
    out[rest + 1] = player == 0
    out[rest + 2] = mine

"""A position in one integer, and the tables of moves.

A position is a non-negative `int64` from the mover's side: 12 squares of 4 bits, square 0 first, then six counts of
pieces in hand of 2 bits each (the mover's chicks, elephants, giraffes, then the opponent's). Squares are numbered from
the mover's left corner: 0 to 2 is his home rank, 9 to 11 the far one, forward is +3. A square holds 0 (empty), one of
the mover's pieces (1 to 5) or one of the opponent's (9 to 13). With the side to move in bit 60 the integer is an exact
key: two positions are equal if and only if their keys are.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel

CHICK, ELEPHANT, GIRAFFE, HEN, LION = 1, 2, 3, 4, 5
OPPONENT = 8
SQUARES, DIRECTIONS = 12, 8
DROPS = DIRECTIONS * SQUARES
ACTIONS = DROPS + 3 * SQUARES
FAR_RANK = 9
HANDS = 48
BOARD_BITS = (1 << HANDS) - 1
SIDE_BIT = 60
OFFSETS = (2, 3, 4, -1, 1, -4, -3, -2)
"""What each direction adds to a square: forward left, forward, forward right, left, right, back left, back, back right."""

_GOES = {CHICK: (1,), ELEPHANT: (0, 2, 5, 7), GIRAFFE: (1, 3, 4, 6), HEN: (0, 1, 2, 3, 4, 6), LION: tuple(range(8))}


def _tables():
    step = np.full((DIRECTIONS, SQUARES), -1, np.int8)
    for direction, offset in enumerate(OFFSETS):
        sideways = {2: -1, 3: 0, 4: 1, -1: -1, 1: 1, -4: -1, -3: 0, -2: 1}[offset]
        for square in range(SQUARES):
            if 0 <= square % 3 + sideways < 3 and 0 <= square + offset < SQUARES:
                step[direction, square] = square + offset
    goes = np.zeros(6, np.int64)
    count = np.zeros((6, SQUARES), np.int64)
    target = np.zeros((6, SQUARES, DIRECTIONS), np.int64)
    action = np.zeros((6, SQUARES, DIRECTIONS), np.int64)
    reach = np.zeros((16, SQUARES), np.int64)
    for kind, directions in _GOES.items():
        for direction in directions:
            goes[kind] |= 1 << direction
            for square in range(SQUARES):
                to = int(step[direction, square])
                if to >= 0:
                    k = count[kind, square]
                    target[kind, square, k], action[kind, square, k] = to, direction * SQUARES + square
                    count[kind, square] += 1
                    reach[kind, square] |= 1 << to
                    reach[kind + OPPONENT, SQUARES - 1 - square] |= 1 << (SQUARES - 1 - to)
    return step.astype(np.int64), goes, count, target, action, reach


STEP, GOES, COUNT, TARGET, ACTION, REACH = _tables()
"""`STEP[direction, square]`: where it leads or -1. `GOES[kind]`: bits of a kind's directions. `COUNT`, `TARGET`,
`ACTION` `[kind, square, k]`: a kind's moves from a square. `REACH[piece, square]`: bits of the squares it attacks."""

_DE_BRUIJN = 0x03F79D71B4CB0A89


LOWEST = np.zeros(64, np.int64)
"""The square of a lone bit `4 * square`, by de Bruijn's multiplication."""
for _bit in range(64):
    LOWEST[(((1 << _bit) * _DE_BRUIJN) & (1 << 64) - 1) >> 58] = _bit // 4

BOARD = 0x111111111111
"""Bit `4 * square` of every square."""
NOT_LEFT, NOT_RIGHT = (sum(1 << (4 * square) for square in range(SQUARES) if square % 3 != file) for file in (0, 2))

HAND_OF = np.array([0, 48, 50, 52], np.int64)
"""The bit where the count of a kind in the mover's hand stands."""

TAKES = np.array([0] * 9 + [1 << 48, 1 << 50, 1 << 52, 1 << 48, 0, 0, 0], np.int64)
"""What taking a piece adds to the mover's hand; a hen is taken as a chick, a lion vanishes."""

BECOMES = np.array([[HEN if kind == CHICK and to >= FAR_RANK else kind for to in range(SQUARES)] for kind in range(8)])
"""`BECOMES[kind, square]`: what a piece is after moving to a square."""


@kernel
def piece_at(position, square):
    """What stands on a square: 0, 1 to 5 (the mover's), 9 to 13 (the opponent's)."""
    return (position >> (4 * square)) & 15


@kernel
def occupied(position):
    """Bit `4 * square` for each square with a piece on it."""
    return (position | (position >> 1) | (position >> 2)) & BOARD


@kernel
def own_pieces(position):
    """Bit `4 * square` for each of the mover's pieces."""
    return occupied(position) & ~(position >> 3)


@kernel
def lowest_square(bits):
    """The square of the lowest of such bits."""
    return LOWEST[(((bits & -bits) * _DE_BRUIJN) >> 58) & 63]


@kernel
def flip(position):
    """The same position from the other side."""
    b = position & 0xFFFFFFFFFFFF
    b = ((b >> 4) & 0x0F0F0F0F0F0F) | ((b & 0x0F0F0F0F0F0F) << 4)
    b = ((b >> 8) & 0x00FF00FF00FF) | ((b & 0x00FF00FF00FF) << 8)
    b = (b >> 32) | (b & 0xFFFF0000) | ((b & 0xFFFF) << 32)
    b ^= ((b | (b >> 1) | (b >> 2)) & 0x111111111111) << 3
    hands = (position >> 48) & 0xFFF
    return b | (((hands >> 6) | ((hands & 63) << 6)) << 48)


@kernel
def destination(action):
    """The square that an action puts a piece on."""
    if action >= 96:
        return (action - 96) % 12
    return STEP[action // 12, action % 12]


@kernel
def moved(position, action):
    """The position after an action, still from the side of the player who made it. A lion that is taken vanishes."""
    if action >= 96:
        kind = (action - 96) // 12 + 1
        return (position - (1 << HAND_OF[kind])) | (kind << (4 * ((action - 96) % 12)))
    origin = action % 12
    to = STEP[action // 12, origin]
    kind = (position >> (4 * origin)) & 15
    taken = (position >> (4 * to)) & 15
    after = position & ~((15 << (4 * origin)) | (15 << (4 * to)))
    return (after + TAKES[taken]) | (BECOMES[kind, to] << (4 * to))


@kernel
def attacked(position, square):
    """Whether a piece of the opponent attacks the square."""
    for direction in range(8):
        neighbour = STEP[direction, square]
        if neighbour >= 0:
            piece = (position >> (4 * neighbour)) & 15
            if piece >= 8 and (GOES[piece - 8] >> direction) & 1:
                return True
    return False


@kernel
def lion_square(position):
    """Where the mover's lion stands, or -1."""
    for square in range(12):
        if (position >> (4 * square)) & 15 == 5:
            return square
    return -1


@kernel
def safe(position, action):
    """Whether the mover's lion cannot be taken in the move after this action."""
    after = moved(position, action)
    return not attacked(after, lion_square(after))


@kernel
def movable(position):
    """For each of the eight directions bit `4 * square` of every piece of the mover that can move in it."""
    own = own_pieces(position)
    low, middle, high = position & own, (position >> 1) & own, (position >> 2) & own
    lion, hen, giraffe, elephant = high & low, high & ~low, middle & low, middle & ~low
    diagonal = lion | elephant
    orthogonal = lion | hen | giraffe
    forward = orthogonal | (low & ~middle & ~high)
    ahead = diagonal | hen
    free = BOARD & ~own
    return (
        ahead & NOT_LEFT & (free >> 8),
        forward & (free >> 12),
        ahead & NOT_RIGHT & (free >> 16),
        orthogonal & NOT_LEFT & (free << 4),
        orthogonal & NOT_RIGHT & (free >> 4),
        diagonal & NOT_LEFT & (free << 16),
        orthogonal & (free << 12),
        diagonal & NOT_RIGHT & (free << 8),
    )


@kernel
def any_move(position, check):
    """Whether the mover has a move; with `check` one that leaves his lion safe."""
    hands = (position >> 48) & 63
    if hands != 0 and not check:
        return True
    moves = movable(position)
    for direction in range(8):
        left = moves[direction]
        if left != 0 and not check:
            return True
        while left != 0:
            if safe(position, 12 * direction + lowest_square(left)):
                return True
            left &= left - 1
    if check and hands != 0:
        for square in range(12):
            if (position >> (4 * square)) & 15 == 0:
                for kind in range(3):
                    if (hands >> (2 * kind)) & 3 and safe(position, 96 + 12 * kind + square):
                        return True
    return False

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
HALF = 4 * SQUARES
"""Moves come in three words of bits: the first four directions, the last four from action `HALF` on, the drops."""
FAR_RANK = 9
PIECE_MASK = 15
HANDS, OPPONENT_HANDS = 48, 54
HAND_MASK = 63
"""The six bits of one side's hand, once shifted down by `HANDS` or `OPPONENT_HANDS`."""
BOARD_BITS = (1 << HANDS) - 1
SIDE_BIT = 60
POSITION_MASK = (1 << SIDE_BIT) - 1
OFFSETS = (2, 3, 4, -1, 1, -4, -3, -2)
"""Offset of each direction: forward left, forward, forward right, left, right, back left, back, back right."""

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
"""`STEP[direction, square]`: the square reached, or -1. `GOES[kind]`: bits of a kind's directions. `COUNT`, `TARGET`,
`ACTION` `[kind, square, k]`: a kind's moves from a square. `REACH[piece, square]`: bits of the squares it attacks."""

ROW = (1 << SQUARES) - 1
"""Twelve bits, one for each square."""
NOT_LEFT, NOT_RIGHT = (sum(1 << square for square in range(SQUARES) if square % 3 != file) for file in (0, 2))

_AHEAD, _FORWARD, _ACROSS, _DIAGONAL, _OWN = range(0, 5 * SQUARES, SQUARES)


def _movers():
    """For the contents of two neighbouring squares (a byte of a position): five rows of twelve bits, of the mover's pieces
    that move diagonally forward, forward, straight, diagonally, and of all."""
    rows = np.zeros(256, np.int64)
    for byte in range(256):
        for k, piece in enumerate((byte & 15, byte >> 4)):
            if piece in _GOES:
                for row, direction in ((_AHEAD, 0), (_FORWARD, 1), (_ACROSS, 3), (_DIAGONAL, 5)):
                    rows[byte] |= (direction in _GOES[piece]) << (row + k)
                rows[byte] |= 1 << (_OWN + k)
    return rows


_MOVERS = _movers()
_DROPPED = np.array([sum(ROW << (12 * k) for k in range(3) if (hand >> (2 * k)) & 3) for hand in range(64)], np.int64)
"""For the counts in the mover's hand: a row of twelve ones for each kind that he holds."""

_DE_BRUIJN = 0x03F79D71B4CB0A89
_LOWEST = np.zeros(64, np.int64)
for _bit in range(64):
    _LOWEST[(((1 << _bit) * _DE_BRUIJN) & (1 << 64) - 1) >> 58] = _bit

_ORIGIN = np.array([4 * (action % SQUARES) for action in range(DROPS)] + [SIDE_BIT] * (ACTIONS - DROPS), np.int64)
"""Position of the bits of the square that an action leaves; for a drop, a place where no bit of a position is set."""
_TO = np.append(STEP.ravel(), np.arange(DROPS, ACTIONS) % SQUARES)
_DROP = np.zeros(ACTIONS, np.int64)
"""Change of a position by a drop: the piece on the board, and one piece less in hand."""
for _kind in (CHICK, ELEPHANT, GIRAFFE):
    for _square in range(SQUARES):
        _DROP[DROPS + SQUARES * (_kind - 1) + _square] = (_kind << (4 * _square)) - (1 << (HANDS + 2 * (_kind - 1)))

TAKES = np.zeros(16, np.int64)
for _kind, _as in ((CHICK, CHICK), (ELEPHANT, ELEPHANT), (GIRAFFE, GIRAFFE), (HEN, CHICK)):
    TAKES[OPPONENT + _kind] = 1 << (HANDS + 2 * (_as - 1))
"""Change of the mover's hand by a capture; a hen is taken as a chick, a lion vanishes."""

BECOMES = np.array([[HEN if kind == CHICK and to >= FAR_RANK else kind for to in range(SQUARES)] for kind in range(8)])
"""`BECOMES[kind, square]`: the kind of a piece after moving to a square."""


@kernel
def piece_at(position, square):
    """Piece on a square: 0 for none, 1 to 5 (the mover's), 9 to 13 (the opponent's)."""
    return (position >> (4 * square)) & PIECE_MASK


@kernel
def flip(position):
    """The same position from the other side."""
    b = position & BOARD_BITS
    b = ((b >> 4) & 0x0F0F0F0F0F0F) | ((b & 0x0F0F0F0F0F0F) << 4)
    b = ((b >> 8) & 0x00FF00FF00FF) | ((b & 0x00FF00FF00FF) << 8)
    b = (b >> 32) | (b & 0xFFFF0000) | ((b & 0xFFFF) << 32)
    b ^= ((b | (b >> 1) | (b >> 2)) & 0x111111111111) << 3
    mine, theirs = (position >> HANDS) & HAND_MASK, (position >> OPPONENT_HANDS) & HAND_MASK
    return b | (theirs << HANDS) | (mine << OPPONENT_HANDS)


@kernel
def destination(action):
    """The square that an action puts a piece on."""
    return _TO[action]


@kernel
def moved(position, action):
    """The position after an action, still from the side of the player who made it. A lion that is taken vanishes."""
    origin, to = _ORIGIN[action], _TO[action]
    kind = (position >> origin) & PIECE_MASK
    taken = piece_at(position, to)
    lifted = position + _DROP[action] + TAKES[taken] - (kind << origin)
    return lifted + ((BECOMES[kind, to] - taken) << (4 * to))


@kernel
def attacked(position, square):
    """Whether a piece of the opponent attacks the square."""
    for direction in range(DIRECTIONS):
        neighbour = STEP[direction, square]
        if neighbour >= 0:
            piece = piece_at(position, neighbour)
            if piece >= OPPONENT and (GOES[piece - OPPONENT] >> direction) & 1:
                return True
    return False


@kernel
def lion_square(position):
    """Square of the mover's lion, or -1."""
    for square in range(SQUARES):
        if piece_at(position, square) == LION:
            return square
    return -1


@kernel
def safe(position, action):
    """Whether the mover's lion cannot be taken in the move after this action."""
    after = moved(position, action)
    return not attacked(after, lion_square(after))


@kernel
def lowest_bit(bits):
    """The number of the lowest bit that is set (de Bruijn's multiplication)."""
    return _LOWEST[(((bits & -bits) * _DE_BRUIJN) >> 58) & 63]


@kernel
def empty_squares(position):
    """Bit `square` of every empty square."""
    pieces = (position | (position >> 1) | (position >> 2)) & 0x111111111111
    pieces = (pieces | (pieces >> 3)) & 0x030303030303
    pieces = (pieces | (pieces >> 6)) & 0x000F000F000F
    return ~(pieces | (pieces >> 12) | (pieces >> 24)) & ROW


@kernel
def moves(position):
    """The moves as bits: actions 0 to 47, actions 48 to 95, and the drops, 96 to 131; they may leave the lion to be caught."""
    movers = _MOVERS[position & 255]
    movers |= _MOVERS[(position >> 8) & 255] << 2
    movers |= _MOVERS[(position >> 16) & 255] << 4
    movers |= _MOVERS[(position >> 24) & 255] << 6
    movers |= _MOVERS[(position >> 32) & 255] << 8
    movers |= _MOVERS[(position >> 40) & 255] << 10
    ahead = (movers >> _AHEAD) & ROW
    forward = (movers >> _FORWARD) & ROW
    across = (movers >> _ACROSS) & ROW
    diagonal = (movers >> _DIAGONAL) & ROW
    free = ~(movers >> _OWN) & ROW
    forwards = (
        (ahead & NOT_LEFT & (free >> 2))
        | (forward & (free >> 3)) << 12
        | (ahead & NOT_RIGHT & (free >> 4)) << 24
        | (across & NOT_LEFT & (free << 1)) << 36
    )
    backwards = (
        (across & NOT_RIGHT & (free >> 1))
        | (diagonal & NOT_LEFT & (free << 4)) << 12
        | (across & (free << 3)) << 24
        | (diagonal & NOT_RIGHT & (free << 2)) << 36
    )
    hand = (position >> HANDS) & HAND_MASK
    drops = 0
    if hand != 0:
        empty = empty_squares(position)
        drops = (empty | (empty << 12) | (empty << 24)) & _DROPPED[hand]
    return forwards, backwards, drops


@kernel
def safe_moves(position, bits, first):
    """The given moves (as bits, with `first` the action of bit 0) that leave the mover's lion safe."""
    left = bits
    while left != 0:
        if not safe(position, first + lowest_bit(left)):
            bits &= ~(left & -left)
        left &= left - 1
    return bits


@kernel
def is_position(position, lion_caught):
    """Whether an integer is a position of these rules: two of each kind of piece, and each side's lion on the board.

    With `lion_caught` the mover's lion is off the board, as it is once it was taken.
    """
    if position != position & POSITION_MASK:
        return False
    chicks, elephants, giraffes, mine, theirs = 0, 0, 0, 0, 0
    for square in range(SQUARES):
        piece = piece_at(position, square)
        kind = piece & (OPPONENT - 1)
        if kind > LION or piece == OPPONENT:
            return False
        chicks += kind in (CHICK, HEN)
        elephants += kind == ELEPHANT
        giraffes += kind == GIRAFFE
        mine += piece == LION
        theirs += piece == OPPONENT + LION
    for hand in (HANDS, OPPONENT_HANDS):
        chicks += (position >> hand) & 3
        elephants += (position >> (hand + 2)) & 3
        giraffes += (position >> (hand + 4)) & 3
    return chicks == 2 and elephants == 2 and giraffes == 2 and theirs == 1 and mine == (0 if lion_caught else 1)


@kernel
def action_between(before, after, check):
    """The action of the mover of `before` that leads to `after` (from the other side), or -1; with `check` a safe one."""
    forwards, backwards, drops = moves(before)
    wanted = flip(after)
    for part in range(3):
        bits = forwards if part == 0 else (backwards if part == 1 else drops)
        first = HALF * part
        while bits != 0:
            action = first + lowest_bit(bits)
            if moved(before, action) == wanted:
                return action if not check or safe(before, action) else -1
            bits &= bits - 1
    return -1


@kernel
def any_move(position, check):
    """Whether the mover has a move; with `check` one that leaves his lion safe."""
    if not check and (position >> HANDS) & HAND_MASK != 0:
        return True
    forwards, backwards, drops = moves(position)
    if not check:
        return (forwards | backwards) != 0
    return (
        safe_moves(position, forwards, 0) != 0
        or safe_moves(position, backwards, HALF) != 0
        or safe_moves(position, drops, DROPS) != 0
    )

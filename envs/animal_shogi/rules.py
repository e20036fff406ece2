"""The rules of animal shogi on state records; `board` holds positions and moves."""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.animal_shogi.board import (
    CHICK,
    DROPS,
    ELEPHANT,
    FAR_RANK,
    GIRAFFE,
    HALF,
    HANDS,
    HEN,
    LION,
    OPPONENT,
    POSITION_MASK,
    SIDE_BIT,
    SQUARES,
    action_between,
    any_move,
    attacked,
    destination,
    flip,
    is_position,
    lion_square,
    moved,
    moves,
    piece_at,
    safe_moves,
)

UNDECIDED, LION_TAKEN, TRY, REPETITION, NO_MOVE = 0, 1, 2, 3, 4
OCCURRENCES = 3
"""Number of occurrences of a position that makes a draw."""
START = 0xADB090010352
_SIDE = (CHICK, ELEPHANT, GIRAFFE, HEN, LION)
PLANES = 2 * len(_SIDE) * SQUARES
_HOME_RANK = 0xFFF
_LIONS_AT_HOME = 0x111 * (OPPONENT + LION)
"""The opponent's lion on each square of the mover's home rank."""
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int8)
"""`[byte, k]`: bit `k` of the byte."""
_CELLS = np.full((SQUARES, 16), PLANES, np.uint8)
"""`[square, piece]`: which cell of the ten planes stands for the piece; without one, the cell after the last."""
for _plane, _piece in enumerate(_SIDE + tuple(OPPONENT + kind for kind in _SIDE)):
    _CELLS[:, _piece] = _plane * SQUARES + np.arange(SQUARES)
_HANDS = np.array([[(h >> (2 * k) & 3) >= n for k in range(4) for n in (1, 2)] for h in range(256)]).astype(np.int8)
"""`[byte, 2 * k + n - 1]`: whether count `k` of the four in the byte is at least `n`."""


@kernel
def begin(s, position, side):
    """Makes `position` (from the side of `side`, who is to move) the first of a game."""
    s.position = position
    s.to_move = side
    s.keys[0, 0] = position | (np.int64(side) << SIDE_BIT)
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
        backwards = safe_moves(position, backwards, HALF)
        drops = safe_moves(position, drops, DROPS)
    for byte in range(6):
        write_bits(forwards >> (8 * byte), mask, 8 * byte)
        write_bits(backwards >> (8 * byte), mask, HALF + 8 * byte)
    for byte in range(4):
        write_bits(drops >> (8 * byte), mask, DROPS + 8 * byte)
    for k in range(4):
        mask[DROPS + 32 + k] = _BITS[drops >> 32, k]


@kernel
def decided(before, after, to, try_at_once):
    """Result of a move to square `to`, as (outcome, 1 if the mover wins, -1 if he loses).

    `before` and `after` are positions from the mover's side; nothing is decided where the outcome is 0.
    """
    if piece_at(before, to) == OPPONENT + LION:
        return LION_TAKEN, 1
    others = (before & _HOME_RANK) ^ _LIONS_AT_HOME  # a square is 0 here if the opponent's lion stands on it
    if (others - 0x111) & ~others & 0x888:
        return TRY, -1  # it came to the mover's home rank and was not caught
    if try_at_once and to >= FAR_RANK and piece_at(after, to) == LION and not attacked(after, to):
        return TRY, 1
    return UNDECIDED, 0


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
    mover = np.int64(s.to_move)
    before = s.position
    after = moved(before, action)
    outcome, sign = decided(before, after, destination(action), p.try_at_once != 0)
    position = flip(after)
    s.position = position
    s.to_move = 1 - mover
    # Positions of one side to move stand in one row, so that the search for repetitions reads memory in order. What a
    # player has just moved stands back at the earliest after his next move, so the last position is no candidate.
    key = position | ((1 - mover) << SIDE_BIT)
    ply = s.steps + 1
    row, last = ply & 1, ply >> 1
    s.keys[row, last] = key
    occurrences = 1
    for k in range(last - 1):
        occurrences += s.keys[row, k] == key
    s.occurrences = occurrences
    if outcome != UNDECIDED:
        finish(s, outcome, mover if sign > 0 else 1 - mover)
    elif occurrences >= OCCURRENCES:
        finish(s, REPETITION, -1)
    elif not any_move(position, p.legal_check != 0):
        finish(s, NO_MOVE, mover)


@kernel
def write_position(position, out, start):
    """Writes ten planes at `start`; the cell after them is left arbitrary."""
    for k in range(PLANES):
        out[start + k] = 0
    for square in range(SQUARES):
        out[start + _CELLS[square, piece_at(position, square)]] = 1


@kernel
def write_hands(position, out, start):
    """Writes 12 flags at `start`: of each kind in hand at least one, at least two; the viewer's, then the opponent's."""
    hands = position >> HANDS
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
    position = s.keys[ply & 1, ply >> 1] & POSITION_MASK
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


@kernel
def decided_at_first(position, p):
    """Result of a position that a game begins with, as (outcome, 1 if the player to move wins, -1 if not)."""
    other = flip(position)
    mine, theirs = lion_square(position), lion_square(other)
    if mine < 0:
        return LION_TAKEN, -1
    if mine >= FAR_RANK:
        return TRY, 1
    if p.try_at_once != 0 and theirs >= FAR_RANK and not attacked(other, theirs):
        return TRY, -1
    if not any_move(position, p.legal_check != 0):
        return NO_MOVE, -1
    return UNDECIDED, 0


@kernel
def lion_left_to_be_caught(position):
    """Whether the side that is not to move has its lion where it can be caught."""
    other = flip(position)
    theirs = lion_square(other)
    return theirs >= 0 and attacked(other, theirs)


@kernel
def valid(s, p):
    """Whether a record is a state of these rules: the positions that it keeps follow from one another by legal moves,
    and the counts and the outcome agree with them.
    """
    check = p.legal_check != 0
    plies = np.int64(s.steps)
    if plies < 0 or plies > p.max_steps or (s.terminated != 0 and s.truncated != 0):
        return False
    if s.terminated != 0 and s.outcome == UNDECIDED and s.keys[plies & 1, plies >> 1] == 0:
        plies -= 1  # the game was not ended by a move
    if plies < 0 or (s.truncated == 0 and s.terminated == 0 and plies == p.max_steps):
        return False
    if (s.truncated != 0 and plies != p.max_steps) or s.position != s.keys[plies & 1, plies >> 1] & POSITION_MASK:
        return False
    for row in range(2):
        for k in range(s.keys.shape[1]):
            if 2 * k + row > plies and s.keys[row, k] != 0:
                return False
    before = np.int64(0)
    outcome, sign = UNDECIDED, 0
    for ply in range(plies + 1):
        if outcome != UNDECIDED:
            return False  # the game was over
        key = s.keys[ply & 1, ply >> 1]
        position = key & POSITION_MASK
        side = key >> SIDE_BIT
        if side != s.to_move ^ ((plies - ply) & 1) or not is_position(
            position, ply == plies and s.outcome == LION_TAKEN
        ):
            return False
        if ply == 0:
            outcome, sign = decided_at_first(position, p)
            if check and outcome == UNDECIDED and lion_left_to_be_caught(position):
                return False
        else:
            action = action_between(before, position, check)
            if action < 0:
                return False
            outcome, sign = decided(before, flip(position), destination(action), p.try_at_once != 0)
            sign = -sign  # of the player now to move
            if outcome == UNDECIDED and not any_move(position, check):
                outcome, sign = NO_MOVE, -1
        occurrences = 1
        for k in range(ply >> 1):
            occurrences += s.keys[ply & 1, k] == key
        if occurrences >= OCCURRENCES and outcome in (UNDECIDED, NO_MOVE):
            outcome, sign = REPETITION, 0
        if ply == plies and s.occurrences != occurrences:
            return False
        before = position
    if outcome != s.outcome or (outcome != UNDECIDED and s.terminated == 0):
        return False
    if s.rewards[0] == 0 and s.rewards[1] == 0:
        return True
    won = sign if s.to_move == 0 else -sign
    return s.terminated != 0 and (outcome == UNDECIDED or (s.rewards[0] == won and s.rewards[1] == -won))

"""The rules of Bao as kernels: sowing, endless moves, captures, repetition.

The board is a ring of `ring = 2 * holes` holes, clockwise: the first player's row, then the second player's. One byte
holds the seeds of one hole, and each row has words of its own (one of 64 bits for up to eight holes, two for more), so
that one sowing of `n` seeds from hole `i` is one addition of `p.sow[i, n]`, which also empties the hole, and a row is
empty when its words are 0. The tests of array shapes below are decided when the rules are compiled.

**Endless moves.** Sowing on is injective: from a board and the hole where a sowing ended, one walks back, taking one
seed from each hole, to the first hole that is empty, and that is where the sowing began. A move that never ends visits
finitely many boards, so it returns to one it has been at; because the step is injective, the first to come again is
the board and hole it began with. Comparing with the start after every sowing therefore finds endless moves exactly.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel, random_below

ILLEGAL, LOSES, DRAWS = 0, 1, 2
REPETITION_OFF, REPETITION_DRAW, REPETITION_FIRST_LOSES, REPETITION_SECOND_LOSES = 0, 1, 2, 3
RUNNING, ROW_EMPTY, REPEATED, ENDLESS, BLOCKED = 0, 1, 2, 3, 4
ENDLESS_MOVE = -1
"""Last hole that `sow_on` returns for a move that never ends."""

_BYTE = np.uint64(0xFF)
_ZERO = np.uint64(0)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_GATHER = np.uint64(0x0102040810204080)
"""Multiplied by bits `8 * k`, gives the same bits side by side in the highest byte."""
_LOWEST = np.array([0] + [(bits & -bits).bit_length() - 1 for bits in range(1, 256)])
"""The number of the lowest bit that is set in a byte."""


@kernel
def slot_of(p, hole):
    """The byte that holds hole `hole` of the ring: rows of fewer than eight (or sixteen) holes leave bytes unused."""
    holes = p.sow.shape[0] // 2
    row_bytes = 4 * p.sow.shape[2]
    return hole if hole < holes else hole + (row_bytes - holes)


@kernel
def seeds_in(p, b0, b1, b2, b3, hole):
    """Seeds in hole `hole` of the ring (`int64`) of a board of up to four words."""
    slot = slot_of(p, hole)
    word = b0
    if slot >= 8:
        word = b1
    if p.sow.shape[2] > 2 and slot >= 16:
        word = b2
        if slot >= 24:
            word = b3
    return np.int64((word >> np.uint64((slot & 7) << 3)) & _BYTE)


@kernel
def sow_on(p, b0, b1, b2, b3, hole):
    """Sows from `hole` (not empty) until a seed falls into an empty hole.

    Returns the four words of the board before the capture and the hole of the last seed, or `ENDLESS_MOVE`.
    """
    ring = p.sow.shape[0]
    words = p.sow.shape[2]
    a0, a1, a2, a3 = b0, b1, b2, b3
    at = np.int64(hole)
    hand = seeds_in(p, b0, b1, b2, b3, at)
    while True:
        last = np.int64(np.uint64(at + hand) % np.uint64(ring))
        there = seeds_in(p, b0, b1, b2, b3, last)
        b0 += p.sow[at, hand, 0]
        b1 += p.sow[at, hand, 1]
        if words > 2:
            b2 += p.sow[at, hand, 2]
            b3 += p.sow[at, hand, 3]
        if hand < ring:
            hand = there + 1  # known before the board is, which saves time
        else:
            hand = seeds_in(p, b0, b1, b2, b3, last)
        at = last
        if hand == 1:
            return b0, b1, b2, b3, at
        if at == hole and b0 == a0 and b1 == a1 and b2 == a2 and b3 == a3:
            return b0, b1, b2, b3, np.int64(ENDLESS_MOVE)


@kernel
def board_words(s):
    """The four words of the board of state `s` (those beyond its size are 0)."""
    if s.board.shape[0] > 2:
        return s.board[0], s.board[1], s.board[2], s.board[3]
    return s.board[0], s.board[1], _ZERO, _ZERO


@kernel
def store_board(s, b0, b1, b2, b3):
    """Writes the four words as the board of `s`."""
    s.board[0] = b0
    s.board[1] = b1
    if s.board.shape[0] > 2:
        s.board[2] = b2
        s.board[3] = b3


@kernel
def a_row_is_empty(s):
    """Whether no seed lies in one of the rows."""
    if s.board.shape[0] > 2:
        return s.board[0] | s.board[1] == _ZERO or s.board[2] | s.board[3] == _ZERO
    return s.board[0] == _ZERO or s.board[1] == _ZERO


@kernel
def filled(word):
    """Bit `k` (of eight, `int64`) for each byte `k` of a word that is not 0."""
    tops = (((word & _LOW_BITS) + _LOW_BITS) | word) & ~_LOW_BITS
    return np.int64(((tops >> np.uint64(7)) * _GATHER) >> np.uint64(56))


@kernel
def playable(s, p):
    """The moves of the player to move as bits: bit `k` is his `k`-th hole."""
    holes = p.sow.shape[0] // 2
    b0, b1, b2, b3 = board_words(s)
    if s.board.shape[0] > 2:
        bits = filled(b0) | (filled(b1) << 8) if s.to_move == 0 else filled(b2) | (filled(b3) << 8)
    else:
        bits = filled(b0 if s.to_move == 0 else b1)
    if p.endless == ILLEGAL:
        first = np.int64(s.to_move) * holes
        left = bits
        while left != 0:
            k = _LOWEST[left & 255] if left & 255 else 8 + _LOWEST[left >> 8]
            if sow_on(p, b0, b1, b2, b3, first + k)[4] < 0:
                bits ^= 1 << k
            left &= left - 1
    return bits


@kernel
def finish(s, winner, outcome):
    """Ends the game; `winner` is 0 or 1, or -1 for a draw."""
    s.rewards[0] = 0.0 if winner < 0 else (1.0 if winner == 0 else -1.0)
    s.rewards[1] = -s.rewards[0]
    s.terminated = 1
    s.outcome = outcome
    s.moves = 0


@kernel
def finish_by_count(s, p, outcome):
    """Every seed left goes to the owner of the row it lies in; more seeds win."""
    ring = p.sow.shape[0]
    b0, b1, b2, b3 = board_words(s)
    for i in range(ring):
        s.stores[0 if 2 * i < ring else 1] += seeds_in(p, b0, b1, b2, b3, i)
    store_board(s, _ZERO, _ZERO, _ZERO, _ZERO)
    difference = np.int64(s.stores[0]) - np.int64(s.stores[1])
    finish(s, -1 if difference == 0 else (0 if difference > 0 else 1), outcome)


@kernel
def remember(s):
    """Adds the board to those since the last capture; returns how often it has now stood with this player to move.

    A capture takes seeds off the board for good, so no position from before it can come again.
    """
    words = s.board.shape[0]
    last = np.int64(s.quiet)
    if last >= s.history.shape[0]:
        return 1
    count = 1
    for earlier in range(last - 2, -1, -2):
        same = True
        for w in range(words):
            same = same and s.history[earlier, w] == s.board[w]
        if same:
            count += 1
    for w in range(words):
        s.history[last, w] = s.board[w]
    s.quiet = last + 1
    return count


@kernel
def begin_turn(s, p):
    """Begins a turn: detects an empty row or a repetition, or finds the moves."""
    if a_row_is_empty(s):
        finish_by_count(s, p, ROW_EMPTY)
        return
    if p.repetition != REPETITION_OFF:
        s.occurrences = remember(s)
        if s.occurrences >= p.occurrences:
            loser = np.int64(p.repetition) - REPETITION_FIRST_LOSES
            finish(s, 1 - loser if loser >= 0 else -1, REPEATED)
            return
    s.moves = playable(s, p)
    if s.moves == 0:
        finish_by_count(s, p, BLOCKED)


@kernel
def reset(s, p):
    """The starting board; a random one has seeds in both rows and a move to play."""
    s.last_hole = -1
    s.last_end = -1
    for w in range(s.board.shape[0]):
        s.board[w] = p.start[w]
    while p.random_start != 0:
        for w in range(s.board.shape[0]):
            s.board[w] = _ZERO
        for _ in range(p.total):
            slot = slot_of(p, random_below(s, p.sow.shape[0]))
            s.board[slot >> 3] += np.uint64(1) << np.uint64((slot & 7) << 3)
        if not a_row_is_empty(s) and playable(s, p) != 0:
            break
    begin_turn(s, p)


@kernel
def legal(s, p, mask):
    """Holes of the mover's row that he may sow from."""
    moves = np.int64(s.moves)
    for k in range(p.sow.shape[0] // 2):
        mask[k] = (moves >> k) & 1


@kernel
def step(s, p, action):
    """One move: sow on from the mover's `action`-th hole, capture, hand over."""
    ring = p.sow.shape[0]
    mover = np.int64(s.to_move)
    b0, b1, b2, b3 = board_words(s)
    b0, b1, b2, b3, last = sow_on(p, b0, b1, b2, b3, np.int64(action) + mover * (ring // 2))
    s.to_move = 1 - mover
    s.last_hole = np.int64(action) + mover * (ring // 2)
    s.last_end = last
    s.last_captured = 0
    if last < 0:
        finish(s, 1 - mover if p.endless == LOSES else -1, ENDLESS)
        return
    opposite = ring - 1 - last
    captured = seeds_in(p, b0, b1, b2, b3, opposite)
    store_board(s, b0, b1, b2, b3)
    if captured != 0:
        slot = slot_of(p, opposite)
        s.board[slot >> 3] &= ~(_BYTE << np.uint64((slot & 7) << 3))
        s.stores[mover] += captured
        s.last_captured = captured
        s.quiet = 0
    begin_turn(s, p)


@kernel
def write_row(low, high, holes, out, start):
    """Writes the counts of the holes of a row, whose words are given, from `start` on."""
    for k in range(holes):
        out[start + k] = ((low if k < 8 else high) >> np.uint64(8 * (k & 7))) & _BYTE


@kernel
def observe(s, p, player, out):
    """The viewer's row clockwise, the other row clockwise, both stores, occurrences, whether he is to move."""
    ring = p.sow.shape[0]
    holes = ring // 2
    b0, b1, b2, b3 = board_words(s)
    if s.board.shape[0] > 2:
        if player == 1:
            b0, b1, b2, b3 = b2, b3, b0, b1
        write_row(b0, b1, holes, out, 0)
        write_row(b2, b3, holes, out, holes)
    else:
        if player == 1:
            b0, b1 = b1, b0
        write_row(b0, _ZERO, holes, out, 0)
        write_row(b1, _ZERO, holes, out, holes)
    out[ring] = s.stores[player]
    out[ring + 1] = s.stores[1 - player]
    out[ring + 2] = s.occurrences
    out[ring + 3] = 1 if s.to_move == player else 0


@kernel
def seeds_on(p, b0, b1, b2, b3):
    """Seeds on a board, or -1 if its words are no board: seeds where there is no hole."""
    holes = p.sow.shape[0] // 2
    row_words = p.sow.shape[2] // 2
    total = np.int64(0)
    for byte in range(8 * p.sow.shape[2]):
        word = b0 if byte < 8 else (b1 if byte < 16 else (b2 if byte < 24 else b3))
        seeds = np.int64((word >> np.uint64((byte & 7) << 3)) & _BYTE)
        if seeds != 0 and byte % (8 * row_words) >= holes:
            return np.int64(-1)
        total += seeds
    return total


@kernel
def valid_history(s, p):
    """Whether the boards since the last capture hold as many seeds as the present one, which is the last of them, and
    `occurrences` counts it among them."""
    b0, b1, b2, b3 = board_words(s)
    quiet = np.int64(s.quiet)
    if quiet < 1 or quiet > s.history.shape[0] or quiet > s.steps + 1:
        return False
    on_board = seeds_on(p, b0, b1, b2, b3)
    count, same = 0, False
    for k in range(quiet):
        h0, h1, h2, h3 = s.history[k, 0], s.history[k, 1], _ZERO, _ZERO
        if s.board.shape[0] > 2:
            h2, h3 = s.history[k, 2], s.history[k, 3]
        if seeds_on(p, h0, h1, h2, h3) != on_board:
            return False
        same = h0 == b0 and h1 == b1 and h2 == b2 and h3 == b3
        if same and (quiet - 1 - k) % 2 == 0:
            count += 1
    return same and s.occurrences == count


@kernel
def valid(s, p):
    """Whether a record is a state of these rules: its seeds add up, its moves are those of its board, and its counts
    those of the boards that it keeps.
    """
    ring, steps, outcome = np.int64(p.sow.shape[0]), np.int64(s.steps), np.int64(s.outcome)
    b0, b1, b2, b3 = board_words(s)
    on_board = seeds_on(p, b0, b1, b2, b3)
    if on_board < 0 or on_board + np.int64(s.stores[0]) + np.int64(s.stores[1]) != p.total:
        return False
    if s.last_hole < -1 or s.last_hole >= ring or s.last_end < -1 or s.last_end >= ring or s.last_captured > p.total:
        return False
    if steps < 0 or steps > p.max_steps or outcome > BLOCKED or s.occurrences > p.occurrences:
        return False
    # Reason of the game's end: the rules (`outcome`), a fault (terminated without one), the number of steps, or nothing.
    if (s.terminated != 0 and s.truncated != 0) or (outcome != RUNNING and s.terminated == 0):
        return False
    if (s.truncated != 0 and steps != p.max_steps) or (steps == p.max_steps and s.terminated == 0 and s.truncated == 0):
        return False
    if s.terminated == 0 and (s.rewards[0] != 0 or s.rewards[1] != 0):
        return False
    if (outcome == ENDLESS and p.endless == ILLEGAL) or (outcome == BLOCKED and p.endless != ILLEGAL):
        return False
    if outcome in (ROW_EMPTY, BLOCKED):
        return on_board == 0 and s.moves == 0
    if a_row_is_empty(s):
        return False
    if outcome != RUNNING:
        if s.moves != 0:
            return False
    elif s.moves == 0 or s.moves != playable(s, p):
        return False
    if p.repetition == REPETITION_OFF:
        return s.occurrences == 0 and s.quiet == 0 and outcome != REPEATED
    return valid_history(s, p) and (s.occurrences >= p.occurrences) == (outcome == REPEATED)

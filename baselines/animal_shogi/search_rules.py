"""Animal shogi's search module for alpha-beta: positions, moves and the evaluation.

The evaluation is a weighted sum of the terms of Hiroshi Gomi's tutorial (2010): material, attacks, check and escape, try
and escape, the lion's rank, and the relations of the pieces. `TERMS` documents them; `features` computes them.
"""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.animal_shogi.board import (
    ACTION,
    CHICK,
    COUNT,
    DROPS,
    ELEPHANT,
    FAR_RANK,
    GIRAFFE,
    HAND_MASK,
    HANDS,
    LION,
    OPPONENT,
    REACH,
    SIDE_BIT,
    SQUARES,
    TARGET,
    any_move,
    destination,
    flip,
    moved,
    piece_at,
    safe,
)
from asobiba.envs.animal_shogi.rules import decided

TERMS = {
    "chick": (100, "a chick on the board"),
    "elephant": (300, "an elephant on the board"),
    "giraffe": (330, "a giraffe on the board"),
    "hen": (380, "a hen on the board"),
    "chick_in_hand": (130, "a chick in hand"),
    "elephant_in_hand": (340, "an elephant in hand"),
    "giraffe_in_hand": (370, "a giraffe in hand"),
    "attacks": (6, "a square that a piece attacks, counted for each piece"),
    "catch": (20000, "the player to move can catch the lion"),
    "check": (40, "the player who has just moved attacks the lion"),
    "escapes": (8, "a square that the lion could go to without being caught"),
    "try_now": (15000, "the player to move can bring his lion to the far rank, safe from capture"),
    "try_next": (60, "the player who has just moved could do so next"),
    "lion_rank": (10, "a rank that the lion has advanced"),
    "protected": (12, "a piece that stands on a square its own side attacks"),
    "threatened": (-25, "a piece that stands on a square the other side attacks"),
    "turn": (15, "to be on the move"),
}
"""Each term: its default weight and what it counts: for the player to move, less the same for his opponent."""

WEIGHTS = {name: weight for name, (weight, _) in TERMS.items()}
GROUPS = {
    "material": (
        "chick", "elephant", "giraffe", "hen", "chick_in_hand", "elephant_in_hand", "giraffe_in_hand",
    ),
    "attacks": ("attacks",),
    "check": ("catch", "check", "escapes"),
    "try": ("try_now", "try_next"),
    "lion_rank": ("lion_rank",),
    "relations": ("protected", "threatened"),
}  # fmt: skip
"""The tutorial's six evaluations, as the terms that make each."""

_BITS = np.array([bin(bits).count("1") for bits in range(4096)], np.int64)
_TURNED = np.array([int(f"{bits:012b}"[::-1], 2) for bits in range(4096)], np.int64)
_CAPTURE_ORDER = np.array([0, 20, 50, 55, 60, 999], np.int64)


def position_fields(ruleset):
    return [("position", np.int64)]


def max_moves(ruleset):
    return 64


def repetition(ruleset):
    return 3, 0


def game_keys(ruleset, state):
    plies = int(state["steps"]) + 1
    keys = np.zeros(plies, np.int64)
    keys[0::2] = state["keys"][0, : (plies + 1) // 2]
    keys[1::2] = state["keys"][1, : plies // 2]
    return keys


@kernel
def past_keys(s, p, keys):
    """`game_keys` as a kernel: how many there are."""
    plies = np.int64(s.steps) + 1
    for k in range(plies):
        keys[k] = s.keys[k & 1, k >> 1]
    return plies


@kernel
def load(s, p, node):
    node.position = s.position
    node.side = s.to_move
    node.key = s.position | (np.int64(s.to_move) << SIDE_BIT)


@kernel
def add_moves(node, p, tactical):
    """Writes the moves with their order; with `tactical` only captures and tries."""
    position = node.position
    check = p.legal_check != 0
    hands = (position >> HANDS) & HAND_MASK
    count = 0
    for square in range(SQUARES):
        piece = piece_at(position, square)
        if piece == 0:
            if hands != 0 and not tactical:
                for kind in range(3):
                    if (hands >> (2 * kind)) & 3:
                        action = DROPS + SQUARES * kind + square
                        if not check or safe(position, action):
                            node.moves[count] = action
                            node.order[count] = 0
                            count += 1
        elif piece < OPPONENT:
            for k in range(COUNT[piece, square]):
                to = TARGET[piece, square, k]
                there = piece_at(position, to)
                if there == 0 or there >= OPPONENT:
                    order = 0
                    if there != 0:
                        order = _CAPTURE_ORDER[there - OPPONENT] + (10 - piece if there != OPPONENT + LION else 0)
                    elif to >= FAR_RANK and piece == LION:
                        order = 70
                    elif to >= FAR_RANK and piece == CHICK:
                        order = 15
                    if not tactical or order >= 20:
                        action = ACTION[piece, square, k]
                        if not check or safe(position, action):
                            node.moves[count] = action
                            node.order[count] = order
                            count += 1
    return count


@kernel
def generate(node, p):
    return add_moves(node, p, False)


@kernel
def generate_tactical(node, p):
    return add_moves(node, p, True)


@kernel
def play(node, child, p, move):
    before = node.position
    after = moved(before, move)
    outcome, sign = decided(before, after, destination(move), p.try_at_once != 0)
    position = flip(after)
    side = 1 - np.int64(node.side)
    child.position = position
    child.side = side
    child.key = position | (side << SIDE_BIT)
    if outcome == 0 and ((position >> HANDS) & HAND_MASK) == 0 and not any_move(position, False):
        return 1
    return sign


@kernel
def side_terms(w, lion, own, reach, others, attacks, to_move):
    """The terms of one side: its lion's square counted from its own corner, and bits of squares seen from there: where
    its pieces stand (without the lion), what they attack, what the other side attacks."""
    escapes = REACH[LION, lion] & ~(others | own)
    total = w.attacks * attacks + w.escapes * _BITS[escapes] + w.lion_rank * (lion // 3)
    total += w.protected * _BITS[own & reach] + w.threatened * _BITS[own & others]
    if escapes >= 1 << FAR_RANK:
        total += w.try_now if to_move else w.try_next
    return total


@kernel
def evaluate(node, p, w):
    position = node.position
    reach = 0
    reach_theirs = 0
    own = 0
    own_theirs = 0
    attacks = 0
    attacks_theirs = 0
    lion = 0
    lion_theirs = 0
    total = 0
    for square in range(SQUARES):
        piece = piece_at(position, square)
        if piece == 0:
            continue
        sign = 1
        kind = piece
        if piece < OPPONENT:
            reach |= REACH[piece, square]
            attacks += COUNT[piece, square]
            own |= 1 << square
        else:
            kind = piece - OPPONENT
            sign = -1
            reach_theirs |= REACH[piece, square]
            attacks_theirs += COUNT[kind, SQUARES - 1 - square]
            own_theirs |= 1 << square
        if kind == LION:
            if sign > 0:
                lion = square
            else:
                lion_theirs = square
        elif kind == CHICK:
            total += sign * w.chick
        elif kind == ELEPHANT:
            total += sign * w.elephant
        elif kind == GIRAFFE:
            total += sign * w.giraffe
        else:
            total += sign * w.hen
    hands = position >> HANDS
    if hands != 0:
        total += w.chick_in_hand * ((hands & 3) - ((hands >> 6) & 3))
        total += w.elephant_in_hand * (((hands >> 2) & 3) - ((hands >> 8) & 3))
        total += w.giraffe_in_hand * (((hands >> 4) & 3) - ((hands >> 10) & 3))
    if (reach >> lion_theirs) & 1:
        total += w.catch
    if (reach_theirs >> lion) & 1:
        total -= w.check
    own &= ~(1 << lion)
    own_theirs &= ~(1 << lion_theirs)
    total += side_terms(w, lion, own, reach, reach_theirs, attacks, True)
    total -= side_terms(
        w,
        SQUARES - 1 - lion_theirs,
        _TURNED[own_theirs],
        _TURNED[reach_theirs],
        _TURNED[reach],
        attacks_theirs,
        False,
    )
    return total + w.turn

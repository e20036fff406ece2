"""Moves of animal shogi on the position of `index.py`, forward and backward, as numbers of positions."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.animal_shogi.solver.index import (
    LOW,
    OPEN_PLACEMENTS,
    PLACEMENT,
    POP,
    ROTATE,
    SQUARES,
    mirror_order,
    number_of,
)
from asobiba.core import kernel

_DIAGONAL = ((-1, -1), (-1, 1), (1, -1), (1, 1))
_STRAIGHT = ((0, -1), (0, 1), (1, 0), (-1, 0))


def _reach(steps: tuple[tuple[int, int], ...]) -> np.ndarray:
    masks = []
    for square in range(SQUARES):
        rank, file = divmod(square, 3)
        targets = [(rank + up, file + right) for up, right in steps]
        masks.append(sum(1 << (3 * r + f) for r, f in targets if 0 <= r < 4 and 0 <= f < 3))
    table = np.array(masks, np.int64)
    table.setflags(write=False)
    return table


LION = _reach(_DIAGONAL + _STRAIGHT)
ELEPHANT = _reach(_DIAGONAL)
GIRAFFE = _reach(_STRAIGHT)
CHICK = _reach(((1, 0),))
HEN = _reach((*_STRAIGHT, (1, -1), (1, 1)))
CHICK_DOWN = _reach(((-1, 0),))
HEN_DOWN = _reach((*_STRAIGHT, (-1, -1), (-1, 1)))
"""Squares that a piece reaches; `_DOWN` for a piece of the opponent, and for where a piece of the mover comes from."""

MOST_MOVES, MOST_PREDECESSORS = 96, 512
"""Room for the moves of any position, and for those that lead to it.

At most 7 pieces move to 8 squares or fewer, and at most 6 in hand of 3 kinds drop on 10 squares or fewer, not both; a
move backwards may have taken nothing or one of 4 kinds.
"""
GOES_ON, LION_LOST, TRIED = 0, 1, 2
"""Result of a move: the game goes on; the opponent can catch the lion; a lion on the goal rank and safe."""
_GOAL = 9


@kernel
def catchers(square, lion, e, g, c, h, own):
    """The mover's pieces that attack `square` (a mask)."""
    return (LION[square] & (1 << lion)) | (
        ((ELEPHANT[square] & e) | (GIRAFFE[square] & g) | (CHICK_DOWN[square] & c) | (HEN_DOWN[square] & h)) & own
    )


@kernel
def attackers(square, lion, e, g, c, h, own):
    """The opponent's pieces that attack `square` (a mask); `own` are the mover's, `lion` is the opponent's."""
    return (LION[square] & (1 << lion)) | (
        ((ELEPHANT[square] & e) | (GIRAFFE[square] & g) | (CHICK[square] & c) | (HEN[square] & h)) & ~own
    )


@kernel
def turned(material, position):
    """The same board from the other side, with the other player to move."""
    mine, theirs, e, g, c, h, own, he, hg, hc = position
    every = e | g | c | h
    return (
        11 - theirs,
        11 - mine,
        np.int64(ROTATE[e]),
        np.int64(ROTATE[g]),
        np.int64(ROTATE[c]),
        np.int64(ROTATE[h]),
        np.int64(ROTATE[every & ~own]),
        material // 9 - np.int64(POP[e]) - he,
        material // 3 % 3 - np.int64(POP[g]) - hg,
        material % 3 - np.int64(POP[c | h]) - hc,
    )


@kernel
def turned_number(material, position):
    """The number of the position after a move, given as the player sees it who has moved."""
    return number_of(material, turned(material, position))


@kernel
def _note(out, row, n, material, position, ranked):
    mine, theirs, e, g, c, h, own = position[:7]
    result = GOES_ON
    if attackers(mine, theirs, e, g, c, h, own) != 0:
        result = LION_LOST
    elif mine >= _GOAL:
        result = TRIED
    number = np.int64(0)
    if ranked:
        number = turned_number(material, position)
    out[row, n] = (number << 2) | result
    return n + 1


@kernel
def successors(out, row, material, position, ranked):
    """Writes a word per legal move into `out[row]`, and returns how many there are.

    A word is `4 * number + result`: the number of the position after the move as the opponent sees it, and one of
    `GOES_ON`, `LION_LOST`, `TRIED`. Moves that catch the lion are not among them (`catchers` counts those). With
    `ranked` false the numbers are left out.
    """
    mine, theirs, e, g, c, h, own, he, hg, hc = position
    n = 0
    every = e | g | c | h
    foes = every & ~own
    blocked = own | (1 << mine)
    blocked_or_lion = blocked | (1 << theirs)
    # One's own piece or lion on `origin` goes to `target` and takes what is there.
    movers = blocked
    while movers != 0:
        piece = movers & -movers
        movers ^= piece
        origin = np.int64(LOW[piece])
        if origin == mine:
            reach = LION[origin]
        elif piece & e:
            reach = ELEPHANT[origin]
        elif piece & g:
            reach = GIRAFFE[origin]
        elif piece & c:
            reach = CHICK[origin]
        else:
            reach = HEN[origin]
        reach &= ~blocked_or_lion
        while reach != 0:
            target = reach & -reach
            reach ^= target
            keep = ~target
            te, tg, tc, th = he, hg, hc, h
            if target & foes:
                if target & e:
                    te += 1
                elif target & g:
                    tg += 1
                else:
                    tc += 1
            e2, g2, c2, h2, own2, mine2 = e & keep, g & keep, c & keep, th & keep, own, mine
            if origin == mine:
                mine2 = np.int64(LOW[target])
            else:
                own2 = (own ^ piece) | target
                if piece & e:
                    e2 = (e2 ^ piece) | target
                elif piece & g:
                    g2 = (g2 ^ piece) | target
                elif piece & c:
                    c2 ^= piece
                    if target >> _GOAL:
                        h2 |= target
                    else:
                        c2 |= target
                else:
                    h2 = (h2 ^ piece) | target
            n = _note(out, row, n, material, (mine2, theirs, e2, g2, c2, h2, own2, te, tg, tc), ranked)
    if he | hg | hc:
        empty = 0xFFF & ~(every | (1 << mine) | (1 << theirs))
        while empty != 0:
            target = empty & -empty
            empty ^= target
            if he:
                n = _note(
                    out, row, n, material, (mine, theirs, e | target, g, c, h, own | target, he - 1, hg, hc), ranked
                )
            if hg:
                n = _note(
                    out, row, n, material, (mine, theirs, e, g | target, c, h, own | target, he, hg - 1, hc), ranked
                )
            if hc:
                n = _note(
                    out, row, n, material, (mine, theirs, e, g, c | target, h, own | target, he, hg, hc - 1), ranked
                )
    return n


@kernel
def _before(out, row, n, material, position, once):
    if once and mirror_order(material, position) > 0:
        return n
    out[row, n] = number_of(material, position)
    return n + 1


@kernel
def _arrivals(out, row, n, material, position, target, once):
    """The position before a move without capture, and those in which it took a piece on `target`."""
    mine, theirs, e, g, c, h, own, he, hg, hc = position
    n = _before(out, row, n, material, position, once)
    if he:
        n = _before(out, row, n, material, (mine, theirs, e | target, g, c, h, own, he - 1, hg, hc), once)
    if hg:
        n = _before(out, row, n, material, (mine, theirs, e, g | target, c, h, own, he, hg - 1, hc), once)
    if hc:
        n = _before(out, row, n, material, (mine, theirs, e, g, c | target, h, own, he, hg, hc - 1), once)
        n = _before(out, row, n, material, (mine, theirs, e, g, c, h | target, own, he, hg, hc - 1), once)
    return n


@kernel
def predecessors(out, row, material, position):
    """Writes into `out[row]` the numbers of the positions from which one move leads here; returns how many there are.

    Only positions in which the game goes on. Every move counts, as it does in `successors`, except that two moves that
    are mirror images of each other count once. Positions that the numbering does not use are among them: the caller's
    table says so.
    """
    once = mirror_order(material, position) == 0
    mine, theirs, e, g, c, h, own, he, hg, hc = turned(material, position)
    # Now as the player sees it who has just moved. Before, he could not catch the lion: at most one piece gives check,
    # and then it is the one that moved.
    checking = catchers(theirs, mine, e, g, c, h, own)
    if POP[checking] > 1:
        return 0
    n = 0
    every = e | g | c | h
    empty = 0xFFF & ~(every | (1 << mine) | (1 << theirs))
    candidates = checking if checking != 0 else own | (1 << mine)
    while candidates != 0:
        piece = candidates & -candidates
        candidates ^= piece
        target = np.int64(LOW[piece])
        if target == mine:
            origins = LION[target] & empty & ~LION[theirs]
            while origins != 0:
                origin = origins & -origins
                origins ^= origin
                home = np.int64(LOW[origin])
                if PLACEMENT[home, theirs] >= OPEN_PLACEMENTS:
                    continue
                n = _arrivals(out, row, n, material, (home, theirs, e, g, c, h, own, he, hg, hc), piece, once)
            continue
        if PLACEMENT[mine, theirs] >= OPEN_PLACEMENTS:
            continue
        # Which kind the piece is of, as a mask of ones: it goes back to an origin, or to the hand it was dropped from.
        is_e, is_g, is_c, is_h = -(piece & e != 0), -(piece & g != 0), -(piece & c != 0), -(piece & h != 0)
        others, e2, g2, c2, h2 = own ^ piece, e & ~piece, g & ~piece, c & ~piece, h & ~piece
        if is_e:
            origins = ELEPHANT[target] & ~ELEPHANT[theirs]
        elif is_g:
            origins = GIRAFFE[target] & ~GIRAFFE[theirs]
        elif is_h:
            origins = HEN_DOWN[target] & ~HEN_DOWN[theirs]
        else:
            origins = CHICK_DOWN[target] & ~CHICK_DOWN[theirs] if target < _GOAL else 0
        origins &= empty
        while origins != 0:
            origin = origins & -origins
            origins ^= origin
            n = _arrivals(
                out, row, n, material, (mine, theirs, e2 | (is_e & origin), g2 | (is_g & origin), c2 | (is_c & origin), h2 | (is_h & origin), others | origin, he, hg, hc), piece, once,
            )  # fmt: skip
        if not is_h:
            n = _before(
                out, row, n, material, (mine, theirs, e2, g2, c2, h2, others, he - is_e, hg - is_g, hc - is_c), once
            )
            continue
        origin = CHICK_DOWN[target] & empty & ~CHICK_DOWN[theirs]
        if origin != 0 and target >= _GOAL:  # a chick that became a hen
            n = _arrivals(
                out, row, n, material, (mine, theirs, e, g, c | origin, h2, others | origin, he, hg, hc), piece, once
            )
    return n


@kernel
def goes_on(mine, theirs, e, g, c, h, own):
    """Whether the mover cannot catch the lion and the opponent's lion is not on its goal rank."""
    return theirs >= 3 and mine < _GOAL and catchers(theirs, mine, e, g, c, h, own) == 0

"""A dense numbering of the positions of animal shogi and of its sub-games with fewer pieces.

A position is seen by the player to move, who moves up: square `3 * rank + file`, rank 0 is his own last rank. It is
held in integers, sets of squares as 12-bit masks:

    mine, theirs    squares of the two lions
    e, g, c, h      squares of all elephants, giraffes, chicks, hens
    own             squares of the mover's pieces other than his lion
    he, hg, hc      how many elephants, giraffes, chicks he has in hand; what is neither there nor on the board is in
                    the opponent's hand

A *position* is the tuple of these ten, *pieces* that of the last eight. A *material* says how many elephants, giraffes and chicks are in the game: captured pieces change hands and never
leave, so that the positions of one material are closed under moves. The game itself has two of each.

The number of a position is `lions * SIZE[material] + rest`. Mirror images are folded: `lions` counts the 72 placements
of the two lions up to mirroring, first the 21 in which a game can go on (neither lion on its goal rank, not adjacent).
Where both lions stand on the middle file, the image with the smaller `rest` is meant. `rest` is a mixed-radix number:
how many of each kind are on the board (27 shapes), then for each kind its squares among those still free, its owners,
the mover's share of the hand, and which chicks are hens.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from asobiba.core import kernel

SQUARES, FULL = 12, 0xFFF
MATERIALS = 27
WHOLE_GAME = 26
OPEN_PLACEMENTS = 21


def material_code(elephants: int, giraffes: int, chicks: int) -> int:
    """The material with so many pieces of each kind (0 to 2)."""
    return (elephants * 3 + giraffes) * 3 + chicks


def material_counts(material: int) -> tuple[int, int, int]:
    """Number of elephants, giraffes and chicks of a material."""
    return material // 9, material // 3 % 3, material % 3


def _rotate(mask: int) -> int:
    return sum(1 << (11 - s) for s in range(SQUARES) if mask >> s & 1)


def _mirror_square(s: int) -> int:
    return s // 3 * 3 + 2 - s % 3


def _mirror(mask: int) -> int:
    return sum(1 << _mirror_square(s) for s in range(SQUARES) if mask >> s & 1)


POP = np.array([m.bit_count() for m in range(FULL + 1)], np.int8)
"""Number of squares in a mask."""
LOW = np.array([(m & -m).bit_length() - 1 for m in range(FULL + 1)], np.int8)
"""The first square of a mask (-1 if it has none)."""
ROTATE = np.array([_rotate(m) for m in range(FULL + 1)], np.int16)
"""A mask seen from the other side of the board."""
MIRROR = np.array([_mirror(m) for m in range(FULL + 1)], np.int16)
"""A mask with the files exchanged."""
NTH = np.full((FULL + 1, SQUARES), -1, np.int8)
"""The n-th square of a mask."""
for _m in range(FULL + 1):
    for _n, _s in enumerate(s for s in range(SQUARES) if _m >> s & 1):
        NTH[_m, _n] = _s

PAIR_LOW = np.zeros(66, np.int8)
PAIR_HIGH = np.zeros(66, np.int8)
for _low, _high in combinations(range(SQUARES), 2):
    PAIR_LOW[comb(_high, 2) + _low] = _low
    PAIR_HIGH[comb(_high, 2) + _low] = _high


def _placements() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    going_on: list[tuple[int, int]] = []
    decided: list[tuple[int, int]] = []
    for mine in range(SQUARES):
        for theirs in range(SQUARES):
            if mine == theirs or (mine, theirs) > (_mirror_square(mine), _mirror_square(theirs)):
                continue
            near = max(abs(mine // 3 - theirs // 3), abs(mine % 3 - theirs % 3)) <= 1
            (decided if near or mine >= 9 or theirs < 3 else going_on).append((mine, theirs))
    lions = np.array(going_on + decided, np.int8)
    number = np.full((SQUARES, SQUARES), -1, np.int8)
    image = np.zeros((SQUARES, SQUARES), np.int8)
    for k, (mine, theirs) in enumerate(lions):
        mirrored = _mirror_square(mine), _mirror_square(theirs)
        number[mirrored] = number[mine, theirs] = k
        image[mirrored] = 1
        image[mine, theirs] = 2 if mirrored == (mine, theirs) else 0
    return lions, number, image


LIONS, PLACEMENT, IMAGE = _placements()
"""Lions of each placement; placement of two lions; whether to take it as it is (0), mirrored (1) or either way (2)."""
PLACEMENTS = len(LIONS)


def _radices() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    # [in the game, on the board, free squares before]
    plain = np.ones((3, 3, 13), np.int64)
    chicks = np.ones((3, 3, 13), np.int64)
    for total in range(3):
        for board in range(total + 1):
            for free in range(13):
                places = comb(free, board) * (total - board + 1)
                plain[total, board, free] = places * 2**board
                chicks[total, board, free] = places * 4**board
    start = np.full((MATERIALS, 28), np.iinfo(np.int64).max, np.int64)
    size = np.zeros(MATERIALS, np.int64)
    for material in range(MATERIALS):
        ne, ng, nc = material_counts(material)
        for shape in range(27):
            e, g, c = material_counts(shape)
            if e <= ne and g <= ng and c <= nc:
                start[material, shape] = size[material]
                size[material] += plain[ne, e, 10] * plain[ng, g, 10 - e] * chicks[nc, c, 10 - e - g]
    return plain, chicks, start, size


PLAIN, CHICKS, START, SIZE = _radices()
"""Sizes of the parts of a number; where each shape begins; how many `rest` numbers a material has."""
for _table in (POP, LOW, ROTATE, MIRROR, NTH, PAIR_LOW, PAIR_HIGH, LIONS, PLACEMENT, IMAGE, PLAIN, CHICKS, START, SIZE):
    _table.setflags(write=False)


def open_numbers(material: int) -> int:
    """Number of table entries for placements in which a game can go on."""
    return OPEN_PLACEMENTS * int(SIZE[material])


def all_numbers(material: int) -> int:
    """Number of table entries, decided placements included."""
    return PLACEMENTS * int(SIZE[material])


@kernel
def _part(mask, free, own, hand, total):
    """Squares, owners and hand of one kind as a number."""
    count = np.int64(POP[mask])
    if count == 0:
        return hand
    first = mask & -mask
    code = np.int64(POP[free & (first - 1)])
    owners = np.int64((own & first) != 0)
    if count == 2:
        second = mask ^ first
        high = np.int64(POP[free & (second - 1)])
        code += high * (high - 1) // 2
        owners |= np.int64((own & second) != 0) << 1
    return ((code << count) | owners) * (total - count + 1) + hand


@kernel
def rest_of(material, lions, pieces):
    """The part of a position's number that stands for all but the lions; `lions` is their mask."""
    e, g, c, h, own, he, hg, hc = pieces
    ne, ng, nc = material // 9, material // 3 % 3, material % 3
    chicks = c | h
    on_e, on_g, on_c = np.int64(POP[e]), np.int64(POP[g]), np.int64(POP[chicks])
    free = 0xFFF ^ lions
    code = _part(e, free, own, he, ne)
    free ^= e
    code = code * PLAIN[ng, on_g, 10 - on_e] + _part(g, free, own, hg, ng)
    free ^= g
    code = code * CHICKS[nc, on_c, 10 - on_e - on_g] + (_part(chicks, free, own, hc, nc) << on_c)
    if h != 0:
        first = chicks & -chicks
        code += np.int64((h & first) != 0)
        if on_c == 2:
            code += np.int64((h & (chicks ^ first)) != 0) << 1
    return START[material, (on_e * 3 + on_g) * 3 + on_c] + code


@kernel
def mirrored_rest(material, lions, pieces):
    """`rest_of` the mirror image."""
    e, g, c, h, own, he, hg, hc = pieces
    return rest_of(
        material,
        np.int64(MIRROR[lions]),
        (
            np.int64(MIRROR[e]),
            np.int64(MIRROR[g]),
            np.int64(MIRROR[c]),
            np.int64(MIRROR[h]),
            np.int64(MIRROR[own]),
            he,
            hg,
            hc,
        ),
    )


@kernel
def number_of(material, position):
    """The number of a position."""
    mine, theirs = position[:2]
    pieces = position[2:]
    lions = (1 << mine) | (1 << theirs)
    image = IMAGE[mine, theirs]
    if image == 1:
        rest = mirrored_rest(material, lions, pieces)
    else:
        rest = rest_of(material, lions, pieces)
        if image == 2:
            rest = min(rest, mirrored_rest(material, lions, pieces))
    return np.int64(PLACEMENT[mine, theirs]) * SIZE[material] + rest


@kernel
def mirror_order(material, position):
    """-1 if this image is the one that the number means, 1 if it is the other one, 0 if both are the same."""
    mine, theirs = position[:2]
    pieces = position[2:]
    image = IMAGE[mine, theirs]
    if image != 2:
        return -1 if image == 0 else 1
    lions = (1 << mine) | (1 << theirs)
    rest = rest_of(material, lions, pieces)
    other = mirrored_rest(material, lions, pieces)
    return -1 if rest < other else (1 if rest > other else 0)


@kernel
def _squares(code, count, free):
    if count == 0:
        return 0
    if count == 1:
        return 1 << np.int64(NTH[free, code])
    return (1 << np.int64(NTH[free, PAIR_LOW[code]])) | (1 << np.int64(NTH[free, PAIR_HIGH[code]]))


@kernel
def _chosen(bits, mask):
    """The squares of `mask` whose bit is set, first square first."""
    first = mask & -mask
    chosen = 0
    if bits & 1:
        chosen |= first
    if bits & 2:
        chosen |= mask ^ first
    return chosen


@kernel
def position_of(material, number):
    """The position of a number."""
    placement = number // SIZE[material]
    rest = number - placement * SIZE[material]
    mine, theirs = np.int64(LIONS[placement, 0]), np.int64(LIONS[placement, 1])
    shape = 0
    for k in range(27):  # absent shapes begin at infinity
        if START[material, k] <= rest:
            shape = k
    rest -= START[material, shape]
    ne, ng, nc = material // 9, material // 3 % 3, material % 3
    on_e, on_g, on_c = shape // 9, shape // 3 % 3, shape % 3
    free = 0xFFF ^ (1 << mine) ^ (1 << theirs)
    radix = CHICKS[nc, on_c, 10 - on_e - on_g]
    code_c = rest % radix
    rest //= radix
    radix = PLAIN[ng, on_g, 10 - on_e]
    code_g = rest % radix
    code_e = rest // radix

    he = code_e % (ne - on_e + 1)
    code_e //= ne - on_e + 1
    e = _squares(code_e >> on_e, on_e, free)
    own = _chosen(code_e & 3 & ((1 << on_e) - 1), e)
    free ^= e
    hg = code_g % (ng - on_g + 1)
    code_g //= ng - on_g + 1
    g = _squares(code_g >> on_g, on_g, free)
    own |= _chosen(code_g & ((1 << on_g) - 1), g)
    free ^= g
    hens = code_c & ((1 << on_c) - 1)
    code_c >>= on_c
    hc = code_c % (nc - on_c + 1)
    code_c //= nc - on_c + 1
    chicks = _squares(code_c >> on_c, on_c, free)
    own |= _chosen(code_c & ((1 << on_c) - 1), chicks)
    h = _chosen(hens, chicks)
    return mine, theirs, e, g, chicks ^ h, h, own, he, hg, hc

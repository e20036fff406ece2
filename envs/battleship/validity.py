"""Whether a record is a state of battleship: everything it keeps is derived anew from the fleets and the order of shots."""

from __future__ import annotations

import numpy as np

from asobiba.core import kernel
from asobiba.envs.battleship.placement import clashes_with_earlier, complete_fleet, fits_board, placement_stride
from asobiba.envs.battleship.record import HIT, MISS, SUNK_KIND, SUNK_ONLY, is_shot


@kernel
def valid_fleet(s, p, side):
    """Whether the first `placed` ships of a side lie on the board as its plane shows, without a clash, and leave room for
    the others, which lie nowhere."""
    ships, placed = p.sizes.shape[0], np.int64(s.placed[side])
    places = s.places[side]
    covered = np.int64(0)
    for ship in range(ships):
        size, place = np.int64(p.sizes[ship]), np.int64(places[ship])
        if ship >= placed:
            if place != -1 or s.unhit[side, ship] != 0:
                return False
            continue
        if place < 0 or place >= 2 * p.cells or not fits_board(p, place, size):
            return False
        if clashes_with_earlier(p, places, ship, place):
            return False
        cell, stride = place % p.cells, placement_stride(p, place)
        hits = 0
        for _ in range(size):
            if s.fleet[side, cell] != ship + 1:
                return False
            hits += is_shot(s, 1 - side, cell)
            cell += stride
        if s.unhit[side, ship] != size - hits:
            return False
        covered += size
    for cell in range(p.cells):
        covered -= s.fleet[side, cell] != 0
    if covered != 0:
        return False
    if p.tight != 0 and 0 < placed < ships:
        room = complete_fleet(p, places, placed)
        for ship in range(placed, ships):
            places[ship] = -1
        return room
    return True


@kernel
def no_fleet(s, p, side):
    """Whether a side has no ship on the board: the attacker of the one-sided game."""
    for ship in range(p.sizes.shape[0]):
        if s.places[side, ship] != -1 or s.unhit[side, ship] != 0:
            return False
    for cell in range(p.cells):  # noqa: SIM110 - a kernel has no generators
        if s.fleet[side, cell] != 0:
            return False
    return True


@kernel
def last_hit(s, p, side, ship):
    """The cell of a ship (placed by the opponent of `side`) that `side` hit last, or -1 if it is not sunk."""
    place = np.int64(s.places[1 - side, ship])
    cell, stride = place % p.cells, placement_stride(p, place)
    last = cell
    for _ in range(p.sizes[ship]):
        if not is_shot(s, side, cell):
            return np.int64(-1)
        if s.shot_number[side, cell] > s.shot_number[side, last]:
            last = cell
        cell += stride
    return last


@kernel
def valid_answers(s, p, side):
    """Whether the shots of a side are numbered from 1 on, and it was told of each what the fleet before it gives.

    The opponent's fleet has passed `valid_fleet`; where ships are missing, there are no shots.
    """
    other, ships, shots = 1 - side, p.sizes.shape[0], np.int64(s.shots[side])
    if shots < 0 or shots > p.cells or (shots > 0 and s.placed[other] < ships):
        return False
    for number in range(1, shots + 1):
        found = 0
        for cell in range(p.cells):
            found += s.shot_number[side, cell] == number
        if found != 1:
            return False
    fired = 0
    for cell in range(p.cells):
        ship = np.int64(s.fleet[other, cell]) - 1
        answer = np.int64(s.answers[side, cell])
        if s.shot_number[side, cell] == 0:
            if answer != 0:
                return False
            continue
        fired += 1
        if ship < 0:
            if answer != MISS:
                return False
            continue
        mark, last = np.int64(0), last_hit(s, p, side, ship)
        if last >= 0 and p.sunk == SUNK_ONLY:
            mark = np.int64(ships + 1 if cell == last else 0)
        elif last >= 0 and (cell == last or p.sunk != SUNK_KIND):
            mark = ship + 1
        if answer != HIT + mark:
            return False
    return fired == shots


@kernel
def valid_told(s, p, side):
    """Whether the ships afloat, counted and as told to `side`, are those of the opponent that are not sunk."""
    other, ships = 1 - side, p.sizes.shape[0]
    afloat = ships
    for ship in range(ships):
        sunk = s.places[other, ship] >= 0 and s.unhit[other, ship] == 0
        afloat -= sunk
        if p.sunk != SUNK_ONLY and s.told_afloat[side, ship] != (0 if sunk else 1):
            return False
    if s.afloat[other] != afloat:
        return False
    if p.sunk == SUNK_ONLY:
        for ship in range(ships):
            if s.told_afloat[side, ship] != (1 if ship < afloat else 0):
                return False
    return True


@kernel
def misses_of(s, p, side):
    """Number of a side's shots that missed."""
    misses = 0
    for cell in range(p.cells):
        misses += s.answers[side, cell] == MISS
    return misses


@kernel
def hit_last(s, p, side):
    """Whether the last shot of a side hit."""
    for cell in range(p.cells):
        if s.shots[side] > 0 and s.shot_number[side, cell] == s.shots[side]:
            return s.answers[side, cell] >= HIT
    return False


@kernel
def valid_turn(s, p):
    """Whether the side to move is the one whose turn it is after the shots fired so far."""
    ships = p.sizes.shape[0]
    if s.placed[0] < ships:
        return s.placed[1] == 0 and s.to_move == 0
    if s.placed[1] < ships:
        return s.to_move == 1
    ahead = np.int64(s.shots[0]) - np.int64(s.shots[1])
    if p.hit_again != 0:  # a turn is over with a miss
        ahead = misses_of(s, p, 0) - misses_of(s, p, 1)
        won = s.afloat[0] == 0 or s.afloat[1] == 0
        if hit_last(s, p, 1 - s.to_move) or (won and not hit_last(s, p, s.to_move)):
            return False
    elif (s.afloat[0] == 0 or s.afloat[1] == 0) and not hit_last(s, p, 1 - s.to_move):
        return False
    return ahead == s.to_move


@kernel
def valid_end(s, p, played):
    """Whether steps and flags fit so many actions and the fleets afloat; a fault ends a game without an action."""
    steps = np.int64(s.steps)
    won = s.afloat[0] == 0 or s.afloat[1] == 0
    if (s.afloat[0] == 0 and s.afloat[1] == 0) or (s.terminated != 0 and s.truncated != 0):
        return False
    if won and s.terminated == 0:
        return False
    if steps != played and (steps != played + 1 or won or s.terminated == 0):
        return False
    if s.truncated != 0 or (s.terminated == 0 and steps >= p.max_steps):
        return s.truncated != 0 and steps == p.max_steps
    return True


@kernel
def clear_scratch(s, p):
    """Whether what `resample` works with is empty, as it leaves it."""
    for ship in range(p.sizes.shape[0]):
        for slot in range(s.scratch.shape[1]):
            if s.scratch[ship, slot] != 0:
                return False
    return True


@kernel
def valid(s, p):
    """Whether a record is a state of battleship."""
    ships, placed = p.sizes.shape[0], np.int64(0)
    for side in range(2):
        if s.placed[side] < 0 or s.placed[side] > ships or (p.placement >= 0 and s.placed[side] != ships):
            return False
        placed += s.placed[side]
    for side in range(2):
        if not valid_fleet(s, p, side):
            return False
    for side in range(2):
        if not valid_answers(s, p, side) or not valid_told(s, p, side):
            return False
    played = np.int64(s.shots[0]) + np.int64(s.shots[1]) + (placed if p.placement < 0 else 0)
    if s.terminated == 0 and (s.rewards[0] != 0 or s.rewards[1] != 0):
        return False
    return valid_turn(s, p) and valid_end(s, p, played) and clear_scratch(s, p)


@kernel
def valid_attack(s, p):
    """Whether a record is a state of the one-sided game: side 1 owns the fleet and never shoots."""
    ships = p.sizes.shape[0]
    if s.to_move != 0 or s.placed[0] != ships or s.placed[1] != ships or s.shots[1] != 0 or s.afloat[0] != ships:
        return False
    for cell in range(p.cells):
        if s.answers[1, cell] != 0 or s.shot_number[1, cell] != 0:
            return False
    for ship in range(ships):
        if s.told_afloat[1, ship] != 1:
            return False
    if not no_fleet(s, p, 0) or not valid_fleet(s, p, 1) or not valid_answers(s, p, 0) or not valid_told(s, p, 0):
        return False
    return valid_end(s, p, np.int64(s.shots[0])) and clear_scratch(s, p)

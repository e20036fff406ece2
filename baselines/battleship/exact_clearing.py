"""The exact game of hiding and searching on small boards: best searches, best fleets, and the equilibrium.

The hider chooses a fleet, the searcher shoots until it is sunk and pays a shot each time. A position of the searcher is the
set of cells that it shot at and the set of fleets that fit the answers. The best search against any mixture of fleets
follows by dynamic programming over these positions; the equilibrium by linear programs to which best searches are added
until none is better (double oracle; McMahan, Gordon and Blum 2003), averaged over the symmetries of the board.

The searcher shoots at once at a cell that all fleets cover: it must be paid for anyway, and its answer may help.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asobiba.baselines.battleship.exploiting import _asked, _Attack, _Board
from asobiba.core import Agent, GameParameterError, Ruleset, compiled
from asobiba.core.random import mix64
from asobiba.envs.battleship.record import SUNK_PLACE

MOST_POSITIONS = 6_000_000
_FULL = -1.0


@compiled()
def _slot(keys, first, second):
    last = np.uint64(keys.shape[0] - 1)  # a power of two less one
    slot = np.int64(mix64(first) & last)
    while keys[slot, 0] != 0 and (keys[slot, 0] != first or keys[slot, 1] != second):
        slot = (slot + 1) & np.int64(last)
    return slot


@compiled()
def _key(ships, shot, fleets, marks):
    # 128 bits for a position. Shots where none of the fleets has a ship make no difference.
    union = np.uint64(0)
    for fleet in fleets:
        for ship in range(ships.shape[1]):
            union |= ships[fleet, ship]
    first, second = mix64((shot & union) + np.uint64(1)), mix64(~(shot & union))
    for fleet in fleets:
        first ^= marks[fleet, 0]
        second ^= marks[fleet, 1]
    return max(first, np.uint64(1)), second


@compiled()
def _left(ships, fleet, shot):
    # Cells of a fleet that were not shot at.
    count = 0
    for ship in range(ships.shape[1]):
        left = ships[fleet, ship] & ~shot
        while left != 0:
            left &= left - np.uint64(1)
            count += 1
    return count


@compiled()
def _answer(ships, fleet, shot, cell, only):
    # 0: a miss; 1: a hit; 2 and above: the ship that sank; -1: the last one. `shot` has the cell.
    bit, hit, afloat = np.uint64(1) << np.uint64(cell), -1, 0
    for ship in range(ships.shape[1]):
        if ships[fleet, ship] & bit:
            hit = ship
        afloat += ships[fleet, ship] & ~shot != 0
    if afloat == 0:
        return -1
    if hit < 0:
        return 0
    if ships[fleet, hit] & ~shot:
        return 1
    return 2 if only else 2 + hit


@compiled()
def _choices(ships, fleets, shot, weights, cells, missed):
    # Writes the weight that each cell misses; returns the cell that all fleets cover, or -1.
    for cell in range(cells):
        bit = np.uint64(1) << np.uint64(cell)
        missed[cell] = np.inf
        if shot & bit:
            continue
        weight, covered = 0.0, 0
        for fleet in fleets:
            over = np.uint64(0)
            for ship in range(ships.shape[1]):
                over |= ships[fleet, ship]
            if over & bit:
                covered += 1
            else:
                weight += weights[fleet]
        if covered == fleets.shape[0]:
            return cell
        if covered > 0:
            missed[cell] = weight
    return -1


@compiled()
def _search(ships, weights, marks, cells, only, shot, fleets, table):
    """The least sum of weighted shots to sink these fleets, told apart by answers alone; -1 if the table is full."""
    keys, values, best, count = table
    if fleets.shape[0] == 1:
        return weights[fleets[0]] * _left(ships, fleets[0], shot)
    first, second = _key(ships, shot, fleets, marks)
    slot = _slot(keys, first, second)
    if keys[slot, 0] != 0:
        return values[slot]
    if 2 * count[0] >= keys.shape[0]:
        return _FULL
    total, base = 0.0, 0.0
    for fleet in fleets:
        total += weights[fleet]
        base += weights[fleet] * _left(ships, fleet, shot)
    missed = np.empty(cells)
    sure = _choices(ships, fleets, shot, weights, cells, missed)
    least, chosen = np.inf, sure
    group, kinds = np.empty(fleets.shape[0], np.int64), ships.shape[1] + 2
    for _ in range(cells):
        cell = sure if sure >= 0 else np.argmin(missed)
        if sure < 0 and base + missed[cell] >= least:
            break
        missed[cell] = np.inf
        after, value = shot | np.uint64(1) << np.uint64(cell), total
        for n in range(fleets.shape[0]):
            group[n] = _answer(ships, fleets[n], after, cell, only)
        for kind in range(kinds):
            part = fleets[group == kind]
            if part.shape[0] > 0:
                found = _search(ships, weights, marks, cells, only, after, part, table)
                if found == _FULL:
                    return _FULL
                value += found
        if value < least:
            least, chosen = value, cell
        if sure >= 0:
            break
    slot = _slot(keys, first, second)
    keys[slot, 0], keys[slot, 1], values[slot], best[slot] = first, second, least, chosen
    count[0] += 1
    return least


@compiled()
def _follow(ships, marks, only, shot, fleets, keys, best, number, shots):
    # Writes how many shots the best search needs for each fleet.
    if fleets.shape[0] == 1:
        shots[fleets[0]] = number + _left(ships, fleets[0], shot)
        return
    first, second = _key(ships, shot, fleets, marks)
    cell = np.int64(best[_slot(keys, first, second)])
    after, group = shot | np.uint64(1) << np.uint64(cell), np.empty(fleets.shape[0], np.int64)
    for n in range(fleets.shape[0]):
        group[n] = _answer(ships, fleets[n], after, cell, only)
        if group[n] < 0:
            shots[fleets[n]] = number + 1
    for kind in range(ships.shape[1] + 2):
        part = fleets[group == kind]
        if part.shape[0] > 0:
            _follow(ships, marks, only, after, part, keys, best, number + 1, shots)


@dataclass(frozen=True)
class Search:
    """The best search against a mixture of fleets.

    Attributes:
        mean: its mean shots.
        shots: `(fleets,)` its shots for each fleet of the board.
        positions: that were looked at.
    """

    mean: float
    shots: np.ndarray
    positions: int


@dataclass(frozen=True)
class Equilibrium:
    """The equilibrium of hiding and searching on a small board.

    Attributes:
        low, high: what the hider's mixture costs every searcher at least, and the searcher's mixture at most.
        hider: `(fleets,)` probabilities.
        searches: number of best searches that the searcher's mixture was made of.
    """

    low: float
    high: float
    hider: np.ndarray
    searches: int


class SmallBoard:
    """Hiding and searching on a board whose fleets can be listed.

    Raises:
        GameParameterError: for boards of more than 64 cells, fleets too many to list, or sinkings told with their place.
    """

    def __init__(self, ruleset: Ruleset):
        self.ruleset, self.board = ruleset, _Board(ruleset)
        if self.board.cells > 64:
            raise GameParameterError(f"exact searches take boards of at most 64 cells, this one has {self.board.cells}")
        if int(self.board.p.sunk) == SUNK_PLACE:
            raise GameParameterError("exact searches take the rules where the place of a sunk ship is not told")
        self.fleets = self.board.fleets
        self._ships = np.array([self.board.ships(fleet) for fleet in self.fleets], np.uint64)
        draws = np.random.default_rng(1).integers(1, 1 << 63, (len(self.fleets), 2), np.uint64)
        self._marks = draws
        self._slots = 1 << 16
        self._only = int(self.board.p.sunk) != 0

    def search(self, weights: np.ndarray) -> Search:
        """The best search against fleets in these proportions, `(fleets,)`.

        Raises:
            GameParameterError: if there are too many positions.
        """
        weights = weights / weights.sum()
        everyone, mean = np.arange(len(self.fleets)), _FULL
        while mean == _FULL:
            if self._slots > 2 * MOST_POSITIONS:
                raise GameParameterError(f"more than {MOST_POSITIONS:,} positions; take a smaller board or fleet")
            keys, values = np.zeros((self._slots, 2), np.uint64), np.zeros(self._slots)
            best, count = np.zeros(self._slots, np.int8), np.zeros(1, np.int64)
            table = keys, values, best, count
            mean = _search(
                self._ships, weights, self._marks, self.board.cells, self._only, np.uint64(0), everyone, table
            )
            self._slots *= 4 if mean == _FULL else 1
        shots = np.zeros(len(self.fleets), np.int64)
        _follow(self._ships, self._marks, self._only, np.uint64(0), everyone, keys, best, 0, shots)
        return Search(float(mean), shots, int(count[0]))

    def orbits(self) -> np.ndarray:
        """`(fleets,)`: a number for each class of fleets alike under the symmetries of the board."""
        height, width = self.board.p.height, self.board.p.width
        cells = np.arange(height * width).reshape(height, width)
        images = [m for turn in range(4) for m in (np.rot90(cells, turn), np.rot90(cells, turn)[:, ::-1])]
        images = [image.ravel() for image in images if image.shape == cells.shape]
        numbers: dict[tuple, int] = {}
        found = []
        for ships in self._ships.tolist():
            moved = min(
                tuple(sum(1 << int(at) for k, at in enumerate(image) if bits >> k & 1) for bits in ships)
                for image in images
            )
            found.append(numbers.setdefault(moved, len(numbers)))
        return np.array(found)

    def equilibrium(self, gap: float = 1e-6, most: int = 500) -> Equilibrium:
        """The equilibrium, as the double oracle finds it, up to `gap` shots or after `most` searches."""
        orbits = self.orbits()
        sizes = np.bincount(orbits).astype(float)
        mixture, high = np.ones(len(sizes)) / len(sizes), np.inf
        low, hider = -np.inf, mixture
        columns: list[np.ndarray] = []
        while True:
            answer = self.search((mixture / sizes)[orbits])
            if answer.mean > low:
                low, hider = answer.mean, mixture
            if high - low <= gap or len(columns) == most:
                return Equilibrium(low, high, (hider / sizes)[orbits], len(columns))
            columns.append(np.bincount(orbits, answer.shots) / sizes)
            mixture, high = _best_mixture(np.array(columns))

    def shots_of(self, agent: Agent) -> np.ndarray:
        """`(fleets,)` float64: the exact mean shots of an agent for each fleet.

        Raises:
            GameParameterError: for agents whose shots do not follow from their answers, or that shoot in too many ways.
        """
        agent.prepare(self.ruleset)
        attack = _Attack(self.board, _asked(self.ruleset, self.board, agent, 0))
        starts = [attack.begun(fleet) for fleet in self.fleets]
        mean = np.zeros(len(attack.classes))
        for number, following in enumerate(attack.classes):  # a class comes after those that it leads to
            mean[number] = sum(chance * (1.0 + mean[child]) for child, chance in following)
        return mean[starts]


def _best_mixture(columns: np.ndarray) -> tuple[np.ndarray, float]:
    """The hider's best mixture against searches, `(searches, orbits)`, and what it costs: max v with columns @ mixture >= v."""
    from scipy.optimize import linprog

    searches, orbits = columns.shape
    rows = np.hstack([-columns, np.ones((searches, 1))])
    equal = np.append(np.ones(orbits), 0.0)[None]
    bounds = [(0, None)] * orbits + [(None, None)]
    aim = np.append(np.zeros(orbits), -1.0)
    found = linprog(aim, rows, np.zeros(searches), equal, [1.0], bounds, "highs")
    mixture = np.maximum(found.x[:-1], 0.0)
    return mixture / mixture.sum(), float(found.x[-1])

"""A plain and slow implementation of the rules, to read beside the paper; the tests compare the fast rules with it."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from asobiba.envs.tactics.maps import Map
from asobiba.envs.tactics.units import COSTS, INDIRECT, MOVEMENT, MOVES, POWER, STARS

Cell = tuple[int, int]


@dataclass
class Piece:
    """A unit on the map."""

    kind: int
    side: int
    hp: int
    at: Cell
    moved: bool = False


def damage(attacker: int, hp: int, target: int, stars: int, target_hp: int) -> int:
    """Damage of a unit type with `hp` hit points to another on `stars` (which aircraft do not have)."""
    if MOVES[target] == 0:
        stars = 0
    return min(target_hp, int((POWER[attacker][target] * hp + 70) // (100 + stars * target_hp)))


class SlowGame:
    """A game on a map. An action is `None` (end the turn) or (unit, cell it goes to, cell it attacks or `None`)."""

    def __init__(self, map_: Map):
        self.map = map_
        self.sides = [[Piece(u.kind, side, u.hp, (u.x, u.y), u.moved) for u in map_.of_side(side)] for side in (0, 1)]
        self.turn = 0
        self.over = False
        self.winner: int | None = None

    @property
    def mover(self) -> int:
        return self.turn % 2

    def terrain(self, cell: Cell) -> int:
        return int(self.map.terrain[cell[1]][cell[0]])

    def on(self, cell: Cell) -> Piece | None:
        """The unit that stands on a cell."""
        return next((piece for side in self.sides for piece in side if piece.hp > 0 and piece.at == cell), None)

    def destinations(self, piece: Piece) -> set[Cell]:
        """The cells on which a unit may end its move: shortest paths by cost, not through enemies."""
        costs, best, waiting = COSTS[MOVES[piece.kind]], {piece.at: 0}, [(0, piece.at)]
        while waiting:
            spent, (x, y) = heapq.heappop(waiting)
            for cell in ((x, y - 1), (x + 1, y), (x, y + 1), (x - 1, y)):
                cost = int(costs[self.terrain(cell)])
                there = self.on(cell)
                if cost == 0 or (there is not None and there.side != piece.side):
                    continue
                total = spent + cost
                if total <= MOVEMENT[piece.kind] and total < best.get(cell, 99):
                    best[cell] = total
                    heapq.heappush(waiting, (total, cell))
        return {cell for cell in best if cell == piece.at or self.on(cell) is None}

    def actions(self) -> list[tuple[int, Cell, Cell | None] | None]:
        """Every action of the side to move."""
        found: list[tuple[int, Cell, Cell | None] | None] = [None]
        if self.over:
            return []
        enemies = [piece for piece in self.sides[1 - self.mover] if piece.hp > 0]
        for number, piece in enumerate(self.sides[self.mover]):
            if piece.hp == 0 or piece.moved:
                continue
            for cell in self.destinations(piece):
                found.append((number, cell, None))
                for enemy in enemies:
                    distance = abs(cell[0] - enemy.at[0]) + abs(cell[1] - enemy.at[1])
                    if INDIRECT[piece.kind]:
                        if cell == piece.at and distance in (2, 3):
                            found.append((number, cell, enemy.at))
                    elif distance == 1:
                        found.append((number, cell, enemy.at))
        return found

    def play(self, action: tuple[int, Cell, Cell | None] | None) -> None:
        """Plays an action of `actions`."""
        own = self.sides[self.mover]
        if action is not None:
            number, cell, target = action
            piece = own[number]
            piece.at, piece.moved = cell, True
            if target is not None:
                enemy = self.on(target)
                assert enemy is not None
                self.attack(piece, enemy)
                for side in (0, 1):
                    if not any(unit.hp for unit in self.sides[side]):
                        self.over, self.winner = True, 1 - side
                        return
            if any(unit.hp and not unit.moved for unit in own):
                return
        for unit in own:
            unit.moved = False
        self.turn += 1
        if self.turn == self.map.turn_limit:
            self.over = True
            red, blue = (sum(unit.hp for unit in side) for side in self.sides)
            if red > blue + self.map.hp_threshold:
                self.winner = 0
            elif blue > red + self.map.hp_threshold:
                self.winner = 1

    def attack(self, piece: Piece, enemy: Piece) -> tuple[int, int]:
        """An exchange; returns the damage done and that of the counter-attack."""
        done = damage(piece.kind, piece.hp, enemy.kind, int(STARS[self.terrain(enemy.at)]), enemy.hp)
        enemy.hp -= done
        back = 0
        if enemy.hp > 0 and not INDIRECT[piece.kind] and not INDIRECT[enemy.kind]:
            back = damage(enemy.kind, enemy.hp, piece.kind, int(STARS[self.terrain(piece.at)]), piece.hp)
            piece.hp -= back
        return done, back

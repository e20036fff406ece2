"""Random games of `tactics` beside another implementation of its rules, action by action.

`python tests/tactics_beside_tubstap.py FOLDER MAPS [--games N]`: FOLDER is a checkout of github.com/TaylorNeller/TUBSTAP_Taylor,
whose `Taylor/port` is the TUBSTAP program in Python; MAPS is a folder of `.tbsmap` files, such as its `bin/Release/map`.
Compared are all actions of each position, every unit afterwards, the course of turns, the end and the result. What the
port leaves to its game manager (who is to move, when it ends, who has won) follows `GameManager.py`.

With 100 games on each of that folder's puzzle_A3 (13 units a side), genmap-4u-1 and genmap-4u-3 (cannons that begin on
mountains), 14,180 actions of units differ nowhere. The repository has no licence, so that its maps are not shipped.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.core import states
from asobiba.core.game import Ruleset
from asobiba.envs.tactics import GAME, orders
from asobiba.envs.tactics.maps import MapError, load_map, write_map

Cell = tuple[int, int]
Key = tuple[Cell, Cell, Cell | None]


def our_actions(ruleset: Ruleset, state: np.void) -> dict[Key, int]:
    """The units' actions of a position by the cells that they go from, go to and attack."""
    size, mover = orders.board_size(ruleset), int(state["to_move"])

    def cell(number: int) -> Cell:
        return number % size, number // size

    found = {}
    for action in map(int, states.legal_actions(ruleset, state)):
        if action < orders.end_of_turn(ruleset, state):
            order = orders.order_of(ruleset, state, action)
            target = cell(order.target) if order.target >= 0 else None
            found[cell(int(state["cell"][mover, order.unit])), cell(order.goal), target] = action
    return found


def our_units(ruleset: Ruleset, state: np.void) -> list[list[tuple[int, ...]]]:
    """Place, hit points and type of each side's units."""
    size = orders.board_size(ruleset)
    return [
        sorted(
            (int(cell) % size, int(cell) // size, int(hp), int(kind))
            for cell, hp, kind in zip(state["cell"][side], state["hp"][side], state["kind"][side])
            if hp
        )
        for side in (0, 1)
    ]


class Port:
    """A game on the port's map."""

    def __init__(self, text: str):
        from Map import Map  # type: ignore[import-not-found]

        self.map = Map(raw_map_str=text)
        self.map.set_turn_count(0)
        self.mover = 0

    def actions(self) -> dict[Key, Any]:
        from AiTools import AiTools  # type: ignore[import-not-found]

        return {
            (
                (a.from_x_pos, a.from_y_pos),
                (a.destination_x_pos, a.destination_y_pos),
                (a.attack_x_pos, a.attack_y_pos) if a.target_unit_id >= 0 else None,
            ): a
            for a in AiTools.get_all_actions(self.mover, self.map)
        }

    def units(self) -> list[list[tuple[int, ...]]]:
        alive = [unit for unit in self.map.get_units() if unit is not None]
        return [
            sorted((u.x_pos, u.y_pos, u.get_HP(), u.get_type_of_unit()) for u in alive if u.get_team_color() == side)
            for side in (0, 1)
        ]

    def play(self, action: Any) -> list[int] | None:
        """Plays an action, or ends the turn (`None`). Returns the rewards where the game is over."""
        if action is None:
            self.map.finish_all_units_action(self.mover)
        else:
            self.map.execute_action(action)
        lost = [side for side in (0, 1) if self.map.get_num_of_alive_color_units(side) == 0]
        if not lost and not self.map.is_all_unit_action_finished(self.mover):
            return None
        self.map.enable_units_action(self.mover)
        self.map.inc_turn_count()
        self.mover = 1 - self.mover
        if not lost and self.map.get_turn_count() < self.map.get_turn_limit():
            return None
        red, blue = (sum(unit[2] for unit in side) for side in self.units())
        least = 0 if lost else self.map.get_draw_hp_threshold()
        return [1, -1] if red > blue + least else [-1, 1] if blue > red + least else [0, 0]


def play(ruleset: Ruleset, text: str, generator: random.Random) -> int:
    """A random game on both; returns how many actions of units it had."""
    port, state, count = Port(text), states.new_state(ruleset, 0), 0
    eager = generator.choice((0.2, 0.8, 0.95))
    rewards = None
    while rewards is None:
        ours, theirs = our_actions(ruleset, state), port.actions()
        assert set(ours) == set(theirs), set(ours) ^ set(theirs)
        assert int(state["to_move"]) == port.mover
        attacks = [key for key in ours if key[2] is not None]
        if not ours or generator.random() < 0.02:
            state, rewards = states.step(ruleset, state, orders.end_of_turn(ruleset, state)), port.play(None)
        else:
            key = generator.choice(sorted(attacks if attacks and generator.random() < eager else ours, key=repr))
            state, rewards = states.step(ruleset, state, ours[key]), port.play(theirs[key])
            count += 1
        assert our_units(ruleset, state) == port.units()
        assert states.is_over(state) == (rewards is not None)
    assert state["rewards"].tolist() == rewards
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("maps", type=Path)
    parser.add_argument("--games", type=int, default=2, help="on each map")
    options = parser.parse_args()
    sys.path[:0] = [str(options.folder / "Taylor" / "port"), str(options.folder / "Taylor")]
    generator, maps, actions = random.Random(0), 0, 0
    for path in sorted(options.maps.rglob("*.tbsmap")):
        try:
            text = write_map(load_map(str(path)))
        except MapError as error:
            print(f"left out: {error}")
            continue
        maps += 1
        for _ in range(options.games):
            actions += play(GAME.ruleset(map=str(path)), text, generator)
    print(f"{maps} maps, {maps * options.games} games, {actions} unit actions: no difference")


if __name__ == "__main__":
    main()

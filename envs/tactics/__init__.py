"""Turn-based tactics: the academic turn-based strategy rules (TUBSTAP), as two games.

## Description

Two armies on a map of square cells, red and blue. In a turn a side moves each of its units once, in any order, and may
end the turn before all have moved. Units move orthogonally by movement points that terrain costs; they pass through
units of their own side but not through the other's, and end on an empty cell or stay where they were. A unit may attack
a neighbouring enemy after its move; the cannon attacks at a distance of 2 or 3 instead of moving. Nothing is hidden,
and only the choice of the map is left to chance.

Unit types: fighter F and attacker A fly; panzer P, cannon U and anti-air R drive; infantry I walks. Terrains: plain,
sea, wood, mountain, road, fortress, with 1, 0, 3, 4, 0, 4 stars of defence (none for aircraft). Movement points,
terrain costs and attack powers stand in `units.yml`.

An attack takes `floor((power * attacker's hit points + 70) / (100 + stars * defender's hit points))` hit points. If the
defender survives and neither is a cannon, it strikes back with the hit points it has left. A unit without hit points is
removed.

`tactics` is the form for search: one action is the whole order of a unit. `tactics_steps` is the same game in smaller
actions, for learning: the player chooses a unit, then its destination, then a target. The module `orders` converts
positions and actions of one form into those of the other.

## Action Space

A board of `size` n has n * n cells, cell `n * y + x`, and U units a side: 6, 10 and 13 on the boards of 8, 10 and 14.

* `tactics`: `Discrete(U * (5 * n * n + 20) + 1)`, 2,041, 5,201 or 13,001 actions. Those of unit `u` begin at
  `u * (5 * n * n + 20)`: `5 * cell` goes to a cell, `5 * cell + 1 + d` goes there and attacks the cell above, right of,
  below or left of it, `5 * n * n + k` fires the cannon at the `k`-th of the 20 cells 2 or 3 away, row by row. The last
  action ends the turn. A turn whose units have all moved ends by itself.
* `tactics_steps`: `Discrete(n * n + 2)`: a cell (of a unit, then of its destination, then of its target; the third
  decision comes only where there is something to attack), then wait (no attack) and end the turn.

With `resign` there is one more action, the last one, which resigns.

## Observation Space

A flat `int8` vector of zeros and ones, own and other from the viewer's side; planes are `(n, n)`, rows from the top:

* `terrain` (6): plain, sea, wood, mountain, road, fortress; cells that nobody may enter, and cells beyond a smaller
  map, are all zero.
* `own` (6), `other` (6): the viewer's units and the other side's by type, in the order F, A, P, U, R, I.
* `hit_points` (10): plane `k` marks units of more than `k` hit points. `ready` (1): units that may still move.
* `turns_left` (50,): entry `k` is 1 where it is more than `k`. `threshold` (38,): likewise for more than 0 to 19, then
  for more than 20, 30, ... 190. `red` (1,): the viewer is red. `to_move` (1,): the viewer is to move.
* `tactics_steps` only: `phase` (3,): unit, destination or target is chosen; `chosen` (1), `goal` (1): the chosen unit
  and its destination.

## State

`hp`, `cell`, `kind` (2, U): hit points, cell and type of each unit of red and blue; 0 hit points is lost. `moved` (U,):
units of the side to move that have moved. `board`: the map's number. `turns`: turns so far. In `tactics_steps` also
`phase` (0 unit, 1 destination, 2 target), `unit` and `goal`: the choices so far.

## Rewards

At the end +1 for the winner and -1 for the loser, 0 for both in a draw, and 0 before.

## Starting State

The map's units; red moves first. If there are several maps, one is drawn. Units that the map marks as having moved
cannot act in their side's first turn. A unit may begin where it cannot go, such as a cannon on a mountain. On shipped maps where the armies stand so close that the first strike would
decide, some of red's units are marked as having moved, and hit points differ slightly.

## Episode End

* A side without units has lost.
* After the map's `TURNLIMIT` turns, both sides' counted: the side whose sum of hit points exceeds the other's by more
  than `HPTHRESHOLD` wins; otherwise it is a draw.
* `resign`, where it is allowed, loses.

## Arguments

`map="all"`: all shipped maps of the board; or the name of one, a path ending in `.tbsmap`, or `"generated"`: 32 random
maps on which both sides stand alike. `size=0`: the board, 8, 10 or 14; 0 is the smallest that holds the map (8 for `all`
and `generated`). `map_seed=0`: of generated maps. `resign=False`.

## References

* Turn-Based Strategy games as an Academic Platform (TUBSTAP), Japan Advanced Institute of Science and Technology:
  rules for experts, rule set 0100.
* Tomihiro Fujiki, Kokolo Ikeda and Simon Viennot, "A platform for turn-based strategy games, with a comparison of
  Monte-Carlo algorithms", IEEE Conference on Computational Intelligence and Games, 2015.
* Kosuke Muto and Junji Nishino, "Making the search of turn-based strategy games efficient by fuzzy evaluation" (in
  Japanese), Game AI Tournaments (GAT), 2016: M-UCT and F-UCT.

## Version History

* v1 (2026-11-24): 13 units a side on the board of 14; units may begin on cells that they cannot enter; `turns_left` and
  `threshold` distinguish up to 50 turns and 200 hit points.
* v0 (2026-11-22): first version.
"""

from __future__ import annotations

from asobiba.api import expose
from asobiba.core import Game, Layout
from asobiba.envs.tactics import rules, steps
from asobiba.envs.tactics.layout import make_layout


def _flat(map: str = "all", size: int = 0, map_seed: int = 0, resign: bool = False) -> Layout:
    return make_layout(map, size, map_seed, resign, steps=False)


def _steps(map: str = "all", size: int = 0, map_seed: int = 0, resign: bool = False) -> Layout:
    return make_layout(map, size, map_seed, resign, steps=True)


def hit_points(ruleset, state):
    """The sums of both sides' hit points; they decide a match of two games of which each side won one."""
    return tuple(int(state["hp"][side].sum()) for side in (0, 1))


_EVIDENCE = (
    "published exchanges and damage tables, random games against an independent slow implementation and, on 62 published "
    "maps, against TUBSTAP's Python port"
)

_VARIANTS: dict[str, dict[str, int | str]] = {
    "10x10": {"size": 10},
    "14x14": {"size": 14},
    "generated": {"map": "generated"},
}

GAME = Game(
    name="tactics",
    version=1,
    title="Turn-based tactics",
    layout=_flat,
    rules=rules,
    players=("red", "blue"),
    variants=_VARIANTS,
    notation="asobiba.envs.tactics.notation",
    draw="asobiba.envs.tactics.draw",
    tie_break=hit_points,
    evidence=_EVIDENCE,
)

STEPS = Game(
    name="tactics_steps",
    version=1,
    title="Turn-based tactics in words",
    layout=_steps,
    rules=steps,
    players=("red", "blue"),
    variants=_VARIANTS,
    notation="asobiba.envs.tactics.notation",
    draw="asobiba.envs.tactics.draw",
    tie_break=hit_points,
    evidence=_EVIDENCE,
)

env, raw_env, parallel_env = expose(GAME)

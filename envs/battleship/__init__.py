"""Battleship (戦艦ゲーム), and its one-sided form BattleshipAttack.

## Description

Two sides hide a fleet each on a board of 10 x 10 cells: a carrier of 5 cells, a battleship of 4, a transport and a
submarine of 3, a destroyer of 2. Then they shoot in turn, one cell a turn, and are told *miss*, *hit*, or *sunk* with
the kind of the ship (but not where it lies). The first side to sink the other's whole fleet wins. The rules are those
of the study of attack and placement strategies named below; its variants are parameters.

`BattleshipAttack` (`asobiba/battleship_attack-v0`) has one hidden fleet and one player, who tries to sink it in as few
shots as possible; it is meant for training and for measuring attack strategies.

## Action Space

`Discrete(2 * cells)` with `cells = height * width` and `cell = row * width + column`. While a side places its fleet,
ship by ship in the order of `fleet`, action `cell` puts the ship across (its leftmost cell there) and `cells + cell`
puts it down (its topmost cell there). In the shooting, action `cell` shoots at that cell; the upper half is illegal
then. With `placement`, and in `BattleshipAttack`, every action is a shot: `Discrete(cells)`.

The first side places its whole fleet, then the second side, then the first side shoots. PettingZoo's `agent_selection`
is the side that acts; both sides may know it.

## Observation Space

One flat int8 vector of these channels, from the point of view of the side that observes. Planes have the shape
(1, height, width); lists have one entry a ship, in the order of `fleet`.

| channel | shape | content |
|---|---|---|
| misses | plane | own shots answered *miss* |
| hits | plane | own shots answered *hit* or *sunk* |
| sinkings | plane | number (from 1) of the ship that was announced sunk by the shot here; number of ships + 1 if the kind is not told; if the place is told, all cells of the ship are marked |
| afloat | list | 1 for each of the opponent's ships still afloat; if the kind is not told, as many ones as ships afloat |
| own_fleet | plane | number (from 1) of the own ship here |
| incoming | plane | the opponent's shots |
| own_afloat | list | 1 for each own ship placed and afloat |
| placing | list | 1 for the ship that this side places next |

`BattleshipAttack` has the first four.

## Rewards

+1 for sinking the last ship, -1 for losing it, 0 otherwise. `BattleshipAttack`: -1 / cells for every shot, so that a
game of n shots returns -n / cells; an illegal action costs -1.

## Starting State

Empty boards; or, with `placement`, both fleets placed by that strategy. In `BattleshipAttack` the strategy always
places the fleet.

## State

Arrays have a row a side; a cell is `row * width + column`, ships are in the order of `fleet`. In `BattleshipAttack` side 1
owns the fleet.

* `answers` (int8, 2 x cells): what the side was told of the cell it shot at: 0 nothing yet, 1 miss, 2 hit, above that 2 plus
  the number in the channel `sinkings`.
* `fleet` (int8, 2 x cells): number (from 1) of the own ship here, or 0.
* `shot_number` (uint8, int16 from 256 cells on; 2 x cells): the number of the side's shot at this cell, from 1; 0 if there was none.
* `told_afloat` (int8, 2 x ships): the channel `afloat`: the opponent's ships afloat, as this side was told.
* `places` (int16, 2 x ships): the action that placed the own ship, or -1.
* `unhit` (int8, 2 x ships): cells of the own ship that are not hit; 0 before it is placed.
* `shots` (int16, 2): shots fired. `afloat` (int8, 2): own ships not sunk. `placed` (int8, 2): own ships placed.
* `scratch` (int16, ships x 4): what `resample` works with; always 0 outside it.

## Episode End

The game ends when one fleet is sunk. There are no draws. A game has at most twice as many actions as there are cells
and ships.

## Arguments

* `height`, `width` (10): rows and columns, 1 to 26.
* `fleet` ((5, 4, 3, 3, 2)): sizes of the ships, also as text `5,4,3,3,2`.
* `touching` ("allowed"): "allowed"; "corners" (ships of a side may touch at corners only); "never".
* `hit_again` (False): whether a hit earns another shot.
* `sunk` ("kind"): what is told when a ship sinks: "kind"; "only" (that a ship sank); "place" (its kind and cells).
* `placement` (None; "r" in `BattleshipAttack`): a strategy that places both fleets, so that the game begins with the
  shooting: `r` (uniformly random), `ed1` (along the edge), `ed2` (within two cells of the edge), `pkXxY` such as
  `pk2x10` (all but the smallest ship packed into a rectangle of X by Y cells, the smallest outside it), and `rsp`,
  `ed1sp`, `ed2sp`, `pkspXxY`, where ships do not touch along an edge (in `pksp`, only the smallest ship is kept apart).

`BattleshipAttack` has no `hit_again`.

`resample` draws a fleet that fits all answers of a seat, with the probability that the game deals it: that of the
strategy with `placement`, uniform otherwise. It draws by rejection. After 256 rejections (in long games; early with
`pk`) it takes some fitting fleet found from random starts; these are not drawn with the right probabilities, and
with `pk` one may lie outside a rectangle.

## References

* "Evaluation of Attacking and Placing Strategies in a Classic Battleship Game" (戦艦ゲームにおいて相手モデルを立て
  ない場合の攻撃及び配置戦略の評価; in Japanese, with an English abstract): rules, variants, strategies and tables.

## Version History

* v0 (2026-11-21): first version.
"""

from __future__ import annotations

from collections.abc import Sequence

from asobiba.api import expose
from asobiba.core import Game, Layout
from asobiba.envs.battleship import attack, rules
from asobiba.envs.battleship.parameters import CLASSIC_FLEET, make_layout
from asobiba.envs.battleship.symmetry import symmetries


def _battleship(
    height: int = 10,
    width: int = 10,
    fleet: Sequence[int] | str = CLASSIC_FLEET,
    touching: str = "allowed",
    hit_again: bool = False,
    sunk: str = "kind",
    placement: str | None = None,
) -> Layout:
    return make_layout(height, width, fleet, touching, hit_again, sunk, placement, attack=False)


def _battleship_attack(
    height: int = 10,
    width: int = 10,
    fleet: Sequence[int] | str = CLASSIC_FLEET,
    touching: str = "allowed",
    sunk: str = "kind",
    placement: str = "r",
) -> Layout:
    return make_layout(height, width, fleet, touching, False, sunk, placement, attack=True)


_EVIDENCE = "published number of fleets (30,093,975,536) and hit rates of the published strategies"

GAME = Game(
    name="battleship",
    version=0,
    title="Battleship",
    layout=_battleship,
    rules=rules,
    information="hidden",
    chance=True,
    variants={"dealt": {"placement": "r"}, "apart": {"touching": "never"}, "hit_again": {"hit_again": True}},
    notation="asobiba.envs.battleship.notation",
    draw="asobiba.envs.battleship.draw",
    symmetries=symmetries,
    evidence=_EVIDENCE,
)

ATTACK = Game(
    name="battleship_attack",
    version=0,
    title="Battleship, attack only",
    layout=_battleship_attack,
    rules=attack,
    players=("attacker",),
    information="hidden",
    chance=True,
    utility="single_agent",
    reward_range=(-1.0, 0.0),
    variants={"along_the_edge": {"placement": "ed1"}, "apart": {"placement": "rsp", "touching": "never"}},
    notation="asobiba.envs.battleship.notation",
    draw="asobiba.envs.battleship.draw",
    symmetries=symmetries,
    evidence=_EVIDENCE,
)

env, raw_env, parallel_env = expose(GAME)

"""The attack and placement strategies of "Evaluation of Attacking and Placing Strategies in a Classic Battleship Game".

An agent is an attack strategy with a placement strategy: `mp:x=70,placement=ed1sp`. Where the paper leaves a detail
open, these readings were taken; `asobiba reproduce battleship` shows how near they come to the printed figures:

* A ship that was announced sunk is settled if, among the hits up to then, only one line of its size runs through the
  cell that sank it, or if the sunk ships account for all hits; the neighbourhood of hits that are not settled is
  attacked until they are.
* The neighbourhood prefers cells that continue a line of two open hits, then those with the longest line of cells that
  may hold a ship, and leaves out cells where no ship afloat fits.
* A cell is undetermined if the smallest ship afloat fits through it over cells that are not misses and not settled.
* The checkerboard's four sets are the diagonals 0, 2, 1, 3 of period 4, shifted at random; the order within a set is
  random. The figure that shows the paper's own order is lost, and the order matters: centre first would raise the hit
  rate by 0.8 points.
* Inside a set, cells where the largest ship afloat still fits may go first (`cb:largest_first=true`, and MP and LA with
  the same parameter). The text may mean it so; it brings the hit rates up to 0.15 points nearer to the printed ones (see
  the page of the reproduction). The default is the plain order.
* MP and LA count the ships afloat on the cells not shot at; ties are broken at random.
* R places uniformly over all fleets. Touching, where forbidden, means along an edge.
"""

from __future__ import annotations

from asobiba.baselines.battleship.agents import AGENTS as CLASSICAL
from asobiba.baselines.battleship.agents import alone
from asobiba.baselines.battleship.believing import AGENTS as BELIEVING
from asobiba.baselines.battleship.learned import PPO, PolicyWithFleet

_ALL = (*CLASSICAL, *BELIEVING, PPO)
AGENTS = {"battleship": _ALL, "battleship_attack": tuple(map(alone, _ALL))}
LEARNED = {"battleship": PolicyWithFleet}

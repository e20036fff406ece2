"""The attack and placement strategies of "Evaluation of Attacking and Placing Strategies in a Classic Battleship Game".

An agent is an attack strategy with a placement strategy: `mp:x=70,placement=ed1sp`. Where the paper leaves a detail
open, these readings were taken (they give the paper's hit rates, see `asobiba reproduce battleship`):

* A ship that was announced sunk is settled if, among the hits up to then, only one line of its size runs through the
  cell that sank it; hits that are not settled stay open, and their neighbourhood is attacked until they are.
* The neighbourhood prefers cells that continue a line of two open hits, and leaves out cells where no ship afloat fits.
* A cell is undetermined if the smallest ship afloat fits through it over cells that are not misses and not settled.
* MP and LA count the ships afloat on the cells not shot at; ties are broken at random.
"""

from __future__ import annotations

from asobiba.baselines.battleship.agents import AGENTS, ATTACK_AGENTS

AGENTS = {"battleship": AGENTS, "battleship_attack": ATTACK_AGENTS}

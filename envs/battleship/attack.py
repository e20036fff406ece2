"""The rules of battleship's one-sided game: one hidden fleet, fewest shots. Side 1 owns the fleet and never moves."""

from __future__ import annotations

from asobiba.core import kernel
from asobiba.envs.battleship.rules import deal, hide, observe, open_cells, resample, shoot
from asobiba.envs.battleship.validity import valid_attack as valid


@kernel
def reset(s, p):
    s.to_move = 0
    for side in range(2):
        s.afloat[side] = p.sizes.shape[0]
        for ship in range(p.sizes.shape[0]):
            s.told_afloat[side, ship] = 1
            s.places[side, ship] = -1
    s.placed[0] = p.sizes.shape[0]
    deal(s, p, 1)


@kernel
def legal(s, p, mask):
    open_cells(s, p, 0, mask)


@kernel
def step(s, p, action):
    shoot(s, p, 0, action)
    s.rewards[0] = p.shot_reward
    s.terminated = s.afloat[1] == 0


__all__ = ["hide", "legal", "observe", "resample", "reset", "step", "valid"]

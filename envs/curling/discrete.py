"""The rules with a finite choice of shots: targets by weights by spins, or, last, to concede."""

from __future__ import annotations

from asobiba.core import kernel
from asobiba.envs.curling.rules import ask, concede, deliver, observe, reset, valid

__all__ = ["legal", "observe", "reset", "step", "valid"]


@kernel
def legal(s, p, mask):
    for k in range(mask.shape[0]):
        mask[k] = 1


@kernel
def step(s, p, action):
    if action >= p.shots.shape[0]:
        concede(s, p)
    else:
        spin = p.shots[action, 2]
        vx, vy = ask(s, p, p.shots[action, 0], p.shots[action, 1], spin)
        deliver(s, p, vx, vy, spin)

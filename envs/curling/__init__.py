"""Digital curling (デジタルカーリング): curling as two official simulators compute it.

## Description

Two sides deliver eight stones each, in turn, towards a house of rings 38 m away. After sixteen shots the end is over:
the side whose stone lies nearest to the tee scores a point for every stone that lies nearer than the opponent's
nearest. The side that has scored throws first in the next end; the last shot of an end, the hammer, is worth most. A
stone curls to the side of its spin, and no stone goes exactly where it was sent: the simulators add noise to every
shot.

The package declares three games on one set of rules:

* `curling` (`asobiba/Curling-v1`): continuous actions;
* `curling_discrete` (`asobiba/CurlingDiscrete-v1`): a finite choice of targets, weights and spins;
* `curling_end` (`asobiba/CurlingEnd-v1`): one end from a given situation; the reward is the chance of winning after it.

Two simulators: `cs2`, that of the UEC Cup and the GAT tournaments from 2014 to 2018, and `fcv1`, that of Digital Curling
3 and 4. Shots are computed from event to event, without steps of time: see `asobiba.envs.curling.simulation`.
`asobiba.envs.curling.simulate` plays a shot on any position.

```python
import numpy as np
from asobiba.envs.curling import GAME, Shot, simulate
from asobiba.core.states import new_state

ruleset = GAME.ruleset()
state = new_state(ruleset, seed=1)
result = simulate(ruleset, state, Shot.draw(ruleset, 0.0, 0.0, spin=1))
assert np.hypot(*result.stones[0]) < 1e-3
```

## Action Space

`Box(-1, 1, (3,))`. With `actions="velocity"`: sideways and forward speed, scaled to the simulator's ranges (cs2: 3.1 m/s to
either side, 26 to 33.71 m/s forward; fcv1: 0.4 and 2 to 4 m/s), and spin, counter-clockwise from 0 up. With
`actions="target"`: the point where the stone would stop, x up to 2.2 m from the centre line, y from the hog line to 10.95 m
(cs2) or 30 m (fcv1) beyond the tee, and spin. With `concession=True` a fourth number, which concedes above 0.9.

`curling_discrete`: `Discrete(832)`, 13 x 8 targets by four weights by two spins (`layout.TARGET_X`, `TARGET_Y`, `WEIGHTS`,
`SPINS`; spin varies fastest, then weight); with `concession=True` one more, which concedes.

## Observation Space

A flat `float32` vector within -1 and 1. `stones` (2, 8, 4): the player's own stones, then the opponent's, in the order
thrown: x / 2.375 m, y / 8 m (from the tee), distance from the tee / 8 m, and whether it is in play. `shot` (16): the
number of the next shot, one-hot. `end` and `ends_left` / 10, `score`: lead / 8, `hammer`: 1 if the player throws last,
else -1. With `image=True` also `image` (4, 36, 20): own stones, the opponent's, the house, the free guard zone, in
squares of 0.25 m from the back line down to the hog line. `asobiba.envs.curling.mirror` turns states, actions and
observations left to right.

## State

`stones` (16, 2): x, y from the tee, m, in the order thrown in this end (x to the thrower's right, y in the direction of
play); `in_play` (16). `end`, `shot`: ends and shots played. `hammer`: the side that throws last. `foul`: whether the
last shot broke the free guard zone and was taken back. `conceded`: the side that gave up, or -1. `total`, `scores`,
`extra`: points of each side, by end (ten columns), in extra ends. `asked`, `run`: vx, vy (m/s), spin sign of the last
shot as intended and as thrown. `before`, `before_in_play`: the position before the last shot. `last_stones`,
`last_in_play`: the final position of the last end.

## Rewards

`reward="win"`: 1 for the winner of the game, -1 for the loser, 0 for a draw. `"score"`: after every end an eighth of
its points for the side that scored them, minus as much for the other side. `"win_probability"`: at the end of play 2 W
- 1, where W is the win probability of the situation then, by `win_table`.

## Starting State

No stone is in play, in end `first_end`; the first player leads by `lead`, and the side `hammer` throws last.

## Episode End

The game ends after `ends` ends; a tied game goes on for at most `extra_ends` and is then drawn. With `stop_after` it
ends after that many ends. A concession ends it at once.

## Arguments

`simulator="cs2"`: cs2 or fcv1. `ends`: 1 to 10; default by simulator: 10. `noise`: `none`, `uec`, `gat` (cs2; its
default), `dc3` (fcv1; its default), or two standard deviations: of the target at the tee in x and y (m, cs2), or of
speed (m/s) and angle (rad, fcv1). `guards="removal"`: stones in the free guard zone may not be removed by the opponent;
`no_tick`: nor may those that touch the centre line be moved off it; `none`. `guarded_shots`: these rules hold for so
many shots at the start of an end; default by simulator: 4 and 5. `extra_ends`: default by simulator: 0 and 245.
`hammer="second"`: the side that throws last in the first end. `first_end=0`, `lead=0`, `stop_after=0`: the situation,
and ends to be played (0: all). `actions="velocity"` or `target`. `reward="win"`, `score` or `win_probability`.
`concession=False`. `image=False`. `thinking_time`: seconds for all shots of a player in a game. Players that search
until time is up divide it among their shots, and hosts keep the clock by it; default by simulator: 438 and 219.

## References

* Kitasei et al., the digital curling project of The University of Electro-Communications.
* CurlingSimulator 2 as published with the program Ayumu (github.com/YuriCat/AyumuCurling).
* Digital Curling 3 (github.com/digitalcurling/DigitalCurling3), 95 of whose shots are in the tests.
* GAT 2016 (Game AI Tournaments), the abstracts of GCCS, Jiritsu-kun, DIS and of the narrowing by end plans (in Japanese).

## Version History

* v1 (2026-11-23), all three games: elementary functions come from the core, so that every machine gives the same bytes;
  states differ from v0 in the last bits.
* v0 (2026-11-22): first version.
"""

from dataclasses import replace

from asobiba.api import expose
from asobiba.core import Game
from asobiba.envs.curling import discrete, layout, mirror, rules
from asobiba.envs.curling.simulate import Result, Shot, simulate

__all__ = ["DISCRETE", "END", "GAME", "Result", "Shot", "env", "parallel_env", "raw_env", "simulate"]

GAME = Game(
    name="curling",
    version=1,
    title="Digital curling",
    layout=layout.game,
    rules=rules,
    chance=True,
    variants={
        "fcv1": {"simulator": "fcv1"},
        "no_tick": {"simulator": "fcv1", "guards": "no_tick"},
        "exact": {"noise": "none"},
    },
    notation="asobiba.envs.curling.notation",
    draw="asobiba.envs.curling.draw",
    evidence="95 shots of the official simulator fcv1; an integration in frames of 1 ms; published velocities",
)
DISCRETE = replace(
    GAME,
    name="curling_discrete",
    title="Digital curling, discrete shots",
    layout=layout.discrete,
    rules=discrete,
    symmetries=mirror.symmetries,
)
END = replace(GAME, name="curling_end", title="Digital curling, one end", layout=layout.one_end)
env, raw_env, parallel_env = expose(GAME)

"""Digital curling, mixed doubles (ミックスダブルス): curling with five shots a side and a positioned stone each.

## Description

Before an end two stones are placed: a guard, and a stone in the house. The side with the decision on the placement chooses:
if its own stone is the guard, it throws first; if its own stone lies in the house, the other side throws first. Once in a
game each side may choose a power play instead, which moves both stones to one side of the sheet. Then ten stones are
delivered in turn. The positioned stones count like the others. Before the fourth delivered stone no stone may be taken out
of play, the own and the positioned ones included: such a shot is taken back.

The side that did not score decides on the next placement. After a blank end the decision passes to the other side, as in
Digital Curling 4. (By the rules of World Curling it goes to the side that threw first, which differs if the guard was
chosen.)

Shots are those of `curling` on its simulator `fcv1`; `asobiba.envs.curling` describes them. `asobiba.envs.curling.simulate`
plays a shot on any position, and `asobiba.envs.curling.doubles.simulate` has placements and deliveries for hosts.

## Action Space

`Box(-1, 1, (4,))`. The first three numbers are a shot, as in `curling`: with `actions="velocity"` sideways and forward
speed, scaled to 0.4 m/s to either side and 2 to 4 m/s forward, and spin, counter-clockwise from 0 up; with
`actions="target"` the point where the stone would stop, and spin. The fourth is the placement, and is read only where a
placement is due, as nothing else is then: below -0.5 the guard, below 0 the house, below 0.5 a power play to the left,
else to the right. A power play that is not allowed, a second one or one in an extra end, is played as the house. With
`concession=True` a fifth number, which concedes above 0.9.

## Observation Space

A flat `float32` vector within -1 and 1. `stones` (2, 6, 4): the player's own stones, then the opponent's, the positioned one
first, then in the order thrown: x / 2.375 m, y / 8 m (from the tee), distance from the tee / 8 m, and whether it is in play.
`shot` (11), one-hot: a placement is due, or the number of the next shot. `end` and `ends_left` / 10, `score`: lead / 8,
`hammer`: 1 if the player throws last, -1 if the other does, 0 before the placement. `decider`: 1 if the player decided, or
is to decide, on the placement, else -1. `power_plays` (2): whether the player, and the opponent, may still have one.

## State

As in `curling`, with these differences. `stones` (16, 2), `in_play` (16): rows 0 to 3 are empty, row 4 is the positioned
stone of the side that throws first, row 5 that of the other, and rows 6 to 15 are the delivered ones; x, y from the tee,
m. `shot`: the row of the next delivered stone, 6 to 15, or 0 while a placement is due. `hammer`: the side that throws
last; before a placement still that of the last end, or of the side that did not score. `decider`: the side that decides on
the placement of this end. `power_end` (2): the end in which each side had its power play, or -1. `end`: ends played.
`foul`: whether the last shot removed a stone too early and was taken back. `conceded`: the side that gave up, or -1.
`total`, `scores`, `extra`: points of each side, by end (ten columns), in extra ends. `asked`, `run`: vx, vy (m/s), spin sign
of the last shot of this end as intended and as thrown. `before`, `before_in_play`: the position before the last shot.
`last_stones`, `last_in_play`: the final position of the last end.

## Rewards

`reward="win"`: 1 for the winner of the game, -1 for the loser, 0 for a draw. `"score"`: after every end an eighth of its
points for the side that scored them, minus as much for the other side.

## Starting State

The side `hammer` is to place the stones of end `first_end`; the first player leads by `lead`.

## Episode End

The game ends after `ends` ends; a tied game goes on for at most `extra_ends` and is then drawn. With `stop_after` it
ends after that many ends. A concession ends it at once.

## Arguments

`ends=8`: 1 to 10. `noise`: `none`, `dc3` (the default), or two standard deviations, of speed (m/s) and angle (rad).
`pattern=0`: places of the guard, one of six, 0 to 5: -3.055, -3.345, -3.97, -4.26, -4.885 or -5.175 m from the tee.
`extra_ends=245`. `hammer="second"`: the side that decides on the placement in the first end. `first_end=0`, `lead=0`,
`stop_after=0`: the situation, and ends to be played (0: all). `actions="velocity"` or `target`. `reward="win"` or `score`.
`concession=False`. `thinking_time`: seconds for all shots of a player in a game, default 219, as in `curling`.

## References

* Digital Curling 4 (github.com/digitalcurling): its server, whose places, decisions and scores these are, and its library.
* World Curling, The Rules of Curling, R17: mixed doubles.

## Version History

* v0 (2026-11-25): first version.
"""

from asobiba.api import expose
from asobiba.core import Game
from asobiba.envs.curling.doubles import layout, rules

__all__ = ["GAME", "env", "parallel_env", "raw_env"]

GAME = Game(
    name="curling_doubles",
    version=0,
    title="Digital curling, mixed doubles",
    layout=layout.game,
    rules=rules,
    chance=True,
    variants={"exact": {"noise": "none"}},
    notation="asobiba.envs.curling.doubles.notation",
    draw="asobiba.envs.curling.doubles.draw",
    evidence="shots, fouls, placements and scores of Digital Curling 4's own code",
)
env, raw_env, parallel_env = expose(GAME)

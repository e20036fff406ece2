"""Bao, the two-row sowing game whose moves may never end.

## Description

Two players face each other over a ring of holes, `holes` to a row, and move in turn. The player to move takes all seeds
out of one hole of his own row and sows them clockwise, one seed to a hole. If the last seed falls into a hole that
holds seeds, he takes up all seeds of that hole and sows on. If it falls into an empty hole, the move ends: the last
seed stays there, and he captures all seeds of the hole opposite, whichever side it is on. No hole is passed over,
not even the one where a sowing began. A single move may go round the board many times, and some moves never end.
The game ends when a row is empty; whoever then has more seeds wins (see Episode End).

Holes are called a, b, c, ... clockwise from the first player's leftmost hole: with eight holes to a row the first
player owns a to h, the second i to p, and a lies opposite p.

## Action Space

`Discrete(holes)`: hole number `k` of the mover's own row, counted clockwise from his leftmost. A hole is legal if it
holds seeds and, with `endless="illegal"`, if its move ends.

## Observation Space

A flat `uint8` vector of counts: `board` (2, holes), the viewer's row and the other row, both clockwise; `stores` (2,),
the seeds that the viewer and his opponent have captured; `occurrences` (1,), how often the position has stood since the
last capture, this time included; `to_move` (1,), whether the viewer is to move.

## Rewards

At the end +1 for the winner and -1 for the loser, 0 for both in a draw, and 0 before.

## Starting State

`start="alternate"`: 0, 4, 0, 4, ... clockwise from a (32 seeds with eight holes to a row). `"full"`: four seeds in every hole.
`"random"`: as many seeds as in the alternate start, each dropped into a hole at random, drawn again until both rows hold
seeds and the first player has a move. Or any other board, such as `"0,4,0,4/0,4,0,4"`.

## State

* `board` (uint64, 2 words, 4 for more than eight holes): a byte a hole, its seeds, the lowest byte of each row first; the
  first half of the words is the first player's row.
* `stores` (uint8, 2): seeds that each player has captured.
* `occurrences` (uint8): how often this position has stood since the last capture, this time included; 0 where repetition
  is off.
* `outcome` (uint8): 0 running, 1 a row is empty, 2 repetition, 3 an endless move, 4 every move would be endless.
* `last_hole`, `last_end` (int8): the hole of the ring that the last move began from and that of its last seed; -1 before
  the first move, and the latter after an endless one. `last_captured` (uint8): the seeds it captured.
* `moves` (uint16): bit `k` is set where the player to move may sow from his `k`-th hole; 0 at the end.
* `quiet` (int16): boards since the last capture, this one included.
* `history` (uint64, rows as `board`): these boards, in order; rows from `quiet` on are left over and not read.

## Episode End

* A move leaves a row empty, no matter whose: each seed left goes to the owner of the row it lies in, and whoever has
  more seeds wins.
* Where the mover's row holds seeds but every one of his moves is endless and illegal, the game ends in the same way.
  (The source breaks an endless move off and does not say what follows.)
* A position (board and player to move) that stands for the third time (`occurrences`) is a draw.
* An endless move, where it is legal, ends the game: with `endless="loses"` the mover loses, with `"draws"` it is a
  draw.
* Truncation after `max_steps` moves.

## Arguments

`holes=8`: holes in a row, even, 2 to 16. `start="alternate"`. `endless="illegal"`: illegal, loses or draws.
`repetition="draw"`: draw, first_loses or second_loses (the game is lost for that player when a position stands for the
`occurrences`-th time; solvers count repetition against the side that claims) or off. `occurrences=3`. `max_steps=400`.

## References

* Yasuhiro Inahata and Kazuko Takahashi, "Analysis of Cyclic Behavior of Board Game BAO and Its Verification Using
  Model Checker" (in Japanese), Kwansei Gakuin University: the rules, the endless moves, the repetitions.
* Yasuhiro Inahata and Kazuko Takahashi, "Evaluation and analysis of strategies of the board game BAO" (in Japanese),
  Forum on Information Technology (FIT), 2003.
* Larry Russ, The Complete Mancala Games Book, Marlowe & Company, 1995.

## Version History

* v0 (2026-11-21): first version.
"""

from __future__ import annotations

from asobiba.api import expose
from asobiba.core import Game
from asobiba.envs.bao import rules
from asobiba.envs.bao.layout import layout


def seeds_owned(ruleset, state):
    """The seeds that each player has captured; they decide a match of two games of which each side won one."""
    return tuple(int(seeds) for seeds in state["stores"])


GAME = Game(
    name="bao",
    version=0,
    title="Bao",
    layout=layout,
    rules=rules,
    variants={
        "4x2": {"holes": 4},
        "6x2": {"holes": 6},
        "random_start": {"start": "random"},
        "endless_loses": {"endless": "loses"},
    },
    notation="asobiba.envs.bao.notation",
    draw="asobiba.envs.bao.draw",
    tie_break=seeds_owned,
    evidence="the worked examples, endless moves and loops of Inahata and Takahashi, and an independent slow sowing",
)

env, raw_env, parallel_env = expose(GAME)

"""Gogo (五五), five in a row with captures: two aims, a five that must stand, and five captures.

## Description

Two players put stones on the squares of a board in turn. A stone captures two opposing stones if it encloses exactly
these two, in a line in any of eight directions, between itself and another stone of the mover; captured stones leave
the board. One move may capture in several directions; a player may safely put stones between two opposing ones. A line
of five wins if it still stands after the opponent's next move, which may break it by a capture; five captures (ten
stones) win at once. A move that makes two open threes is forbidden to both players.

The rules come from a programming course at Kagawa University; whatever its papers leave open is a parameter, and the
defaults are those on which the programs written for its library agree. Other parameters give related games: see
`preset` below.

## Action Space

`Discrete(board_size ** 2)`: a stone on point `row * board_size + column`, rows from below, columns from the left. In
text `g7` is column g, row 7. Every empty point that is not forbidden is legal.

## Observation Space

A flat `int8` vector of zeros and ones, seen by one player:

* `stones` (2, n, n): the viewer's, the opponent's.
* `takes` (2, n, n): empty points where the viewer, or the opponent, would capture.
* `forbidden` (1, n, n): empty points that the double-three forbids to the viewer.
* `last` (1, n, n): the last stone. `fives` (1, n, n): stones that stand in a five (a provisional one while the game goes on).
* `captured` (2, capture_goal / 2): at least one, two, ... pairs captured by the viewer, by the opponent.
* `first` (1,), `to_move` (1,): the viewer is the first player; the viewer is to move.

## Rewards

At the end +1 for the winner and -1 for the loser, 0 for both in a draw, and 0 before. If each side won one game of a
match of two, the match goes to the side that captured more stones.

## Starting State

An empty board.

## Episode End

* A five that stands after the opponent's reply wins; so does a five that the opponent's own capture has made out of a
  longer line. With `five="perfect"` a five wins at once if no legal capture can break it (and none reaches the goal);
  with `five="at_once"`, and in games without captures, it always wins at once.
* `capture_goal` captured stones win at once. If a five stands against the captor at that moment, he wins all the same
  (`against_five="captor"`); with `"five"` the five wins, with `"draw"` nobody does.
* A player who has no legal move draws the game (`no_move="draw"`) or loses it (`"loses"`), unless a five stands against
  him; then the five wins. Only a full board leaves no legal move: an open three needs empty points on both sides, so
  the empty point nearest to a corner is never forbidden.
* Truncation after `max_steps` moves, by default the most that a game can have.

## Arguments

`preset="gogo"`: `gogo`; `pente` (19, five or more win at once, no double-three, first stone in the centre); `ninuki`
(ninuki-renju: 19, exactly five, open threes with a gap count, the ban lifted for blocking a five, first stone in the
centre, fifth capture against a five draws); `gomoku` (15, nothing is captured, five or more win at once). The others
are `None`, which takes the preset's value; gogo's are:

* `board_size=13`: 9 to 19. `captures=True`. `capture_goal=10`: stones, even, up to 40; 0: captures do not win.
* `five="stands"`: or `"perfect"`, `"at_once"`. `overline="nothing"`: six or more in a row are no five, or `"wins"`.
* `double_three="solid"`: a three is three stones side by side whose both ends are empty; `"broken"`: one with a gap
  counts too; `"allowed"`. A move is judged with the stones as they stand before it captures.
* `lifts_ban="nothing"`: what makes a double-three legal: `"capture"` (the move captures), `"five"` (it makes a five),
  `"block"` (it stops one), or several joined by `+`.
* `opening="free"`: `"centre"` (the first stone in the centre) or `"far"` (and the first player's second at least three
  points from it). `against_five="captor"`, `no_move="draw"`: see Episode End. `max_steps=None`: 1 to 3 n².

## State

* `empty`: empty points. `last_point`: point of the last stone, or -1. `last_taken`: stones that it captured.
* `captured` (2,): stones that each player has captured. `fives` (2,): lines with a five of each player.
* `banned` (2,): points that the double-three forbids to each player. `lifted`: whether `planes` marks lifted bans.
* `outcome`: 0 running, 1 a five, 2 captures, 3 no legal move, 4 a fifth capture against a five that draws.
* `planes`, `lines`: the board and its derived features, in bytes per point and in bits per line; see `board.py`.

## References

* Naoki Hanakawa and Hiroyuki Tominaga, "Support and Practices in an Applied Java Programming Exercise with Board Game
  Strategy and a Contest Style - Refinement of Ranking by Weighted Winning Degree as Rating Index" (in Japanese), Kagawa
  University: the game, its strategies and contest.
* Rules of pente and ninuki-renju as played on pente.org; Wikipedia, "Pente", "Ninuki-renju".

## Version History

* v0 (2026-11-22): first version.
"""

from __future__ import annotations

from asobiba.api import expose
from asobiba.core import Game, Ruleset
from asobiba.core.symmetry import Symmetry, board_symmetries
from asobiba.envs.gogo import rules
from asobiba.envs.gogo.layout import layout


def stones_captured(ruleset, state):
    """The stones that each player has captured; they decide a match of two games of which each side won one."""
    return tuple(int(stones) for stones in state["captured"])


def symmetries(ruleset: Ruleset) -> list[Symmetry]:
    """The seven reflections and turns of the square board."""
    channels = ruleset.layout.observation
    planes = ("stones", "takes", "forbidden", "last", "fives")
    size = channels["last"][-1]
    return [Symmetry(*maps) for maps in board_symmetries(channels, planes, (size, size))]


GAME = Game(
    name="gogo",
    version=0,
    title="Gogo",
    layout=layout,
    rules=rules,
    variants={name: {"preset": name} for name in ("gomoku", "ninuki", "pente")},
    notation="asobiba.envs.gogo.notation",
    draw="asobiba.envs.gogo.draw",
    tie_break=stones_captured,
    symmetries=symmetries,
    evidence="positions for every rule, and random games of all presets against an independent slow implementation",
)
env, raw_env, parallel_env = expose(GAME)

"""`asobiba gogo small-boards`: forced wins from the empty board of 7, 8 and 9 lines, looked for by proof-number search.

The attacker may play anything with his first moves; each later one must threaten to win by fours and captures if the
opponent passed. Every move of both players is tried, so that an answer of "none" holds for all such attacks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from asobiba.baselines.gogo.certificate import is_decided
from asobiba.baselines.gogo.proof_number import CHILDREN, ENTRY, PLIES, SETTINGS, begin, frames_of, search, set_board
from asobiba.core import game
from asobiba.envs.gogo.layout import SMALLEST
from asobiba.envs.gogo.lines import MOST_POINTS
from asobiba.pages import TextTable

SIZES = (7, 8, 9)
PRESETS = ("gogo", "gomoku")
PLAYERS = ("first", "second")
FREE = 2
"""Moves of the attacker that need not threaten."""
THREATS = 1000
"""Positions of one search of fours and captures."""
_TABLE = 1 << 21


@dataclass(frozen=True)
class Bound:
    """Result of a search: `verdict` is won, none or open; `expanded` positions were looked at in `seconds`."""

    preset: str
    size: int
    player: int
    free: int
    verdict: str
    expanded: int
    seconds: float


def bound(preset: str, size: int, player: int, free: int, most: int, moves: Iterable[int] = ()) -> Bound:
    """Searches for a forced win of a player.

    Args:
        preset: of the rules; the board may be smaller than the game's least.
        size: lines of the board.
        player: 0 for the first, 1 for the second.
        free: moves of the attacker, the first ones, that need not threaten anything.
        most: positions that may be expanded.
        moves: points of the opening; none is the empty board.
    """
    ruleset = game("gogo").ruleset(preset=preset, board_size=max(size, SMALLEST))
    params = ruleset.params.copy()
    set_board(params, size)
    settings = np.zeros(1, SETTINGS)
    settings["attacker"], settings["quiet_steps"] = player, 2 * free + player
    settings["width"], settings["threats"], settings["most"] = MOST_POINTS, THREATS, most
    frames, children = frames_of(ruleset), np.zeros(PLIES, CHILDREN)
    begun = time.process_time()
    if begin(ruleset.zeros(), params, frames, np.array([*moves], np.int64)) != 0:
        raise ValueError(f"the opening {[*moves]} ends the game")
    proof, disproof, _, expanded = search(frames, children, params, np.zeros(_TABLE, ENTRY), settings)
    verdict = is_decided(int(proof), int(disproof))
    return Bound(preset, size, player, free, verdict, int(expanded), time.process_time() - begun)


def bounds(free: int, most: int, report: Callable[[str], None] | None = None) -> list[Bound]:
    """The table of the page."""
    bound(PRESETS[0], SIZES[0], 0, 1, 1)  # compiled before anything is timed
    found = []
    for preset in PRESETS:
        for size in SIZES:
            for player in range(2):
                if report is not None:
                    report(f"{preset}, {size} lines, {PLAYERS[player]} player")
                found.append(bound(preset, size, player, free, most))
    return found


def page(found: list[Bound], command: str) -> str:
    """The page, as Markdown."""
    free = found[0].free
    words = {"won": "wins", "none": "none", "open": "not decided"}
    rows = [
        (
            one.preset,
            f"{one.size} x {one.size}",
            PLAYERS[one.player],
            words[one.verdict],
            f"{one.expanded:,}",
            f"{one.seconds:.1f}",
        )
        for one in found
    ]
    table = TextTable(("rules", "board", "attacker", "forced win", "positions", "s"), rows)
    none, won = (sum(one.verdict == verdict for one in found) for verdict in ("none", "won"))
    attack = f"an attack of which only the first {free} moves are free and each later one threatens to win at once"
    said = f"nobody wins by {attack}" if none == len(found) else f"looked for was {attack}"
    return f"""# Gogo on small boards

Of {len(found)} searches, {none} end without a forced win and {won} with one: {said}. Written by
`{command}`.

{table.markdown()}

* *Rules*: `gogo` as the course plays it, five captures included, and `gomoku`, without captures, five or more in a row.
* *A forced win* is looked for by depth-first proof-number search (proof_number.py). The attacker tries every legal move; each
  but his first {free} must make a five or a four, or threaten a win by fours and last captures if the opponent passed. The
  defender tries every legal reply. That search of fours visits at most {THREATS:,} positions a time: an attack whose threat takes
  more to see is not counted.
* *Against published values*: gomoku on 7 x 7 and 8 x 8 is a draw (C.-L. Ko and others, "On solving the 7,7,5-game and the
  8,8,5-game", Theoretical Computer Science 815, 2020), so that no forced win may be found there. It is no more than a check: our
  search proves no draw.
* *Open*: the values of all these boards under Gogo's rules, of gomoku on 9 x 9, and attacks with more free moves. With captures
  the usual proofs of a draw fail: stones of a pairing strategy can be taken off the board, and the argument that an additional
  stone never harms its owner does not hold.

A win that is found can be checked without this package: `asobiba gogo prove POSITION -o win.json` writes every reply down, and
[check_gogo_win.py](../../examples/check_gogo_win.py), a short program that knows the rules alone, plays them all.
"""

"""Hooks of the shared alpha-beta search: players who move again, positions without a move, searches of threats."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from search_toy import value

from asobiba.baselines.search import alpha_beta_loops, placeholder


def test_perfect_play_of_a_game_in_which_players_move_again():
    """Without the compiler: the loops are plain Python, and the toy's heaps are small."""
    values = {value(heap, twos) for heap in range(1, 13) for twos in (0, 1)}
    assert values == {1, 0, -1}
    ended = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("search_toy.py"))],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout == "solved 5 2 [2]\n"


def test_the_loops_are_a_module_over_the_placeholder():
    assert alpha_beta_loops.play is placeholder.play
    assert alpha_beta_loops.solve is placeholder.solve

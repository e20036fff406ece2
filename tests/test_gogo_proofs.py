"""Forced wins of Gogo: the proof-number search, certificates, and the program that checks them without the package."""

from __future__ import annotations

import copy
import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asobiba.baselines.gogo import commands
from asobiba.baselines.gogo.certificate import Prover, Unproved, rule_of
from asobiba.baselines.gogo.small_boards import bound
from asobiba.core.states import new_state
from asobiba.envs.gogo import GAME, notation
from asobiba.envs.gogo.reference import Board

CHECKER = Path(__file__).parents[1] / "examples" / "check_gogo_win.py"
_SPEC = importlib.util.spec_from_file_location("check_gogo_win", CHECKER)
assert _SPEC is not None
assert _SPEC.loader is not None
checker = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(checker)

RULES = (
    ("gogo", {}),
    ("gogo", {"capture_goal": 4, "against_five": "five"}),
    ("gogo", {"five": "perfect", "double_three": "broken", "lifts_ban": "capture+five", "no_move": "loses"}),
    ("ninuki", {"opening": "free"}),
    ("pente", {"opening": "free"}),
    ("gomoku", {}),
)


def checked(certificate):
    """Checks a certificate; returns the number of positions."""
    seen = set()
    checker.check(certificate["nodes"], checker.start(certificate), len(certificate["nodes"]) - 1, seen)
    return len(seen)


@pytest.mark.parametrize(("preset", "changes"), RULES)
def test_the_checker_knows_the_rules(preset, changes):
    generator, ends = random.Random(5), set()
    for number in range(12):
        board = Board.of(preset, board_size=5 + number % 5, **changes)
        game = checker.Game(board.rule, {}, (0, 0), 0)
        while board.result is None:
            assert game.winner is None
            legal = sorted(board.legal())
            assert game.legal(game.mover) == legal
            # Mostly moves that capture or stand beside others, so that games end in all ways.
            close = [q for q in legal if board.enclosed(*q, board.mover) or board.makes_five(*q, board.mover)]
            point = generator.choice(close if close and generator.random() < 0.7 else legal)
            board.play(*point)
            game = game.play(point)
            assert game.taken == board.captured
        assert game.winner == {1: 0, -1: 1, 0: -1}[board.result]
        ends.add(board.why)
    assert "five" in ends
    assert "captures" in ends or not board.rule["captures"]


@pytest.fixture(scope="module")
def prover():
    return Prover(GAME.ruleset(board_size=9))


THREE = "9/9/9/2o6/3xxx3/4o4/9/9/8o x 0-0 -"


@pytest.fixture(scope="module")
def certificate(prover):
    return prover.prove(notation.text_to_state(prover.ruleset, THREE))


def test_a_certificate_holds_against_every_reply(certificate, tmp_path):
    assert checked(certificate) > len(certificate["nodes"])
    path = tmp_path / "win.json"
    path.write_text(json.dumps(certificate))
    told = subprocess.run([sys.executable, "-I", CHECKER, path], capture_output=True, text=True, check=True).stdout
    assert told.startswith("x wins: ")
    assert f", {checked(certificate)} positions, every reply tried" in told


def test_a_certificate_that_was_changed_is_refused(certificate):
    for number, (_, others, named) in enumerate(certificate["nodes"]):
        for key in [None, *named]:
            changed = copy.deepcopy(certificate)
            if key is not None:
                del changed["nodes"][number][2][key]  # this reply is answered as the others are
            elif others >= 0:
                changed["nodes"][number][1] = -1
            else:
                changed["nodes"][number][0] = "a9"
            with pytest.raises(ValueError, match=r"node \d+: "):
                checked(changed)
    elsewhere = {**certificate, "position": THREE.replace("3xxx3", "3xxxo2").replace("2o6", "9")}
    with pytest.raises(ValueError, match=r"is not won|is not legal"):
        checked(elsewhere)


def test_where_nothing_is_found_it_says_so(prover):
    with pytest.raises(Unproved, match="no win by threats in 9/9/"):
        prover.prove(new_state(prover.ruleset, 0))
    assert rule_of(prover.ruleset)["board_size"] == 9
    assert rule_of(prover.ruleset)["five"] == "stands"
    done = CliRunner().invoke(commands.app, ["prove", "e5 f6", "--board-size", "9"])
    assert done.exit_code == 1
    assert "no win by threats" in done.output


def test_small_boards():
    assert bound("gogo", 7, 0, 1, 10_000).verdict == "none"
    # Gomoku on 7 x 7 is a draw (Ko and others, 2020).
    assert bound("gomoku", 7, 0, 2, 10_000).verdict == "none"
    assert bound("gomoku", 7, 0, 2, 100).verdict == "open"
    # Three in the middle against stones in three corners win; two do not, by threats alone.
    three = [7 * 3 + 2, 0, 7 * 3 + 3, 6, 7 * 3 + 4, 42]
    for preset in ("gogo", "gomoku"):
        assert bound(preset, 7, 0, 1, 1000, three).verdict == "won"
        assert bound(preset, 7, 0, 1, 1000, three[:4]).verdict == "none"

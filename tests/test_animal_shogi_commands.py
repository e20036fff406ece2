"""The commands around animal shogi's search, as one types them."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from asobiba.baselines.animal_shogi import pruning, tuning
from asobiba.baselines.animal_shogi.commands import app
from asobiba.baselines.animal_shogi.search_rules import WEIGHTS
from asobiba.core import game

RULES = game("animal_shogi").ruleset()


def run(*words):
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})


def test_the_table_of_pruning():
    result = run("pruning", "--depth", "4")
    assert result.exit_code == 0
    assert "minimax" in result.output
    assert len(re.findall(r"\d+ of 5", result.output)) == 2 * pruning.step_count()


def test_pruning_saves_and_keeps_the_value_until_thresholds_come():
    rows = list(pruning.steps(RULES, 5))
    exact = [row for row in rows if "forward" not in row.name and "deeper" not in row.name]
    assert all(row.equal == row.same_move_value == row.positions for row in exact)
    assert rows[1].nodes < rows[0].nodes / 10
    assert rows[2].nodes < rows[1].nodes
    assert rows[-1].nodes < rows[-2].nodes < rows[-4].nodes


def test_tuning_prints_weights_and_gain():
    result = run("tune", "--games", "20", "--match", "6", "--depth", "1")
    assert result.exit_code == 0
    assert "Elo" in result.output
    assert all(term in result.output for term in WEIGHTS)


def test_tuning_repairs_a_spoilt_weight(monkeypatch):
    # From weights that take an elephant for nothing, self-play finds that it is worth something.
    spoilt = {**WEIGHTS, "elephant": 30, "giraffe": 30, "hen": 30, "elephant_in_hand": 30, "giraffe_in_hand": 30}
    monkeypatch.setattr(tuning, "WEIGHTS", spoilt)
    monkeypatch.setattr("asobiba.baselines.animal_shogi.search_rules.WEIGHTS", spoilt)
    fitted = tuning.fit(RULES, 600, depth=2, seed=1)
    big = ("elephant", "giraffe", "elephant_in_hand", "giraffe_in_hand")
    assert sum(fitted[term] for term in big) > sum(spoilt[term] for term in big)


def test_gain_counts_points():
    gain = tuning.Gain(wins=6, draws=2, losses=2)
    assert (gain.games, gain.score) == (10, 0.7)
    assert gain.elo(gain.score) == pytest.approx(147.19, abs=0.01)


def test_the_listing_of_a_position_and_of_none():
    assert "472  B2ひよこ" in run("listing").output
    result = run("listing", "gle/3/1C1/ELG b -")
    assert result.exit_code == 2
    assert "two chicks and hens" in result.output

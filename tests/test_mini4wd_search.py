"""The planner whose numbers are learned, and the search for them over courses."""

from __future__ import annotations

import csv
import json
from typing import Any

import numpy as np
import pytest

from asobiba.baselines.mini4wd import predict
from asobiba.baselines.mini4wd.calibration import prior_draws
from asobiba.baselines.mini4wd.hidden import settings as calibration_settings
from asobiba.baselines.mini4wd.planner import FILE, FOLDER, LEARNED, plan_cem, settings_of
from asobiba.baselines.mini4wd.search import Field, Search, load_settings, names_of, search
from asobiba.baselines.mini4wd.unseen import held_out
from asobiba.core import GameParameterError
from asobiba.envs.mini4wd.hardware.calibrate import Prior

SMALL: dict[str, Any] = {
    "generations": 2,
    "candidates": 3,
    "elite": 1,
    "runs": 4,
    "courses": {"first": 3300, "count": 4},
}


@pytest.fixture
def settings():
    validation = {"courses": {"first": 3310, "count": 2}, "runs": 4, "seed": 1}
    return load_settings(**SMALL, validation=validation)


def test_on_a_course_of_jumps_it_is_faster_than_predict_and_leaves_it_no_more_often():
    field = Field.of([("jump", "instrumented")], load_settings())
    which, seeds = np.zeros(24, np.int64), 31_000 + np.arange(24)
    mine, other = (field.drive(agent, which, seeds) for agent in (plan_cem(), predict()))
    assert np.isfinite(mine).sum() >= np.isfinite(other).sum()
    both = np.isfinite(mine) & np.isfinite(other)
    assert np.log(other[both] / mine[both]).mean() > 0.05


def test_more_caution_is_slower(settings):
    field = Field.of([("jump", "dash"), ("competition", "dash")], settings)
    which, seeds = np.repeat([0, 1], 4), 32_000 + np.arange(8)
    times = []
    for share in (0.0, 0.6):
        learned = json.loads((FOLDER / FILE).read_text()) | dict.fromkeys(("rollers", "fence", "pitch", "grip"), share)
        agent = plan_cem()
        agent.settings = settings_of(learned)
        times.append(field.drive(agent, which, seeds))
    both = np.isfinite(times[0]) & np.isfinite(times[1])
    assert both.any()
    assert np.log(times[1][both] / times[0][both]).mean() > 0.02


def test_nothing_is_learned_or_validated_on_the_held_out_courses():
    settings = load_settings()
    used = [set(names_of(about["courses"])) for about in (settings, settings["validation"])]
    assert not used[0] & used[1]
    assert not (used[0] | used[1]) & set(held_out().names)
    with pytest.raises(GameParameterError, match="held-out set"):
        load_settings(courses={"first": 49_999, "count": 2})
    with pytest.raises(GameParameterError, match="has no"):
        load_settings(wheels=5)


def test_a_calibrated_ensemble_is_what_is_driven():
    draws = prior_draws(Prior.of("dash", "atmega328p", calibration_settings()["prior"]), 4)
    field = Field.drawn(["random:3300"] * 3, draws, load_settings())
    for k in range(3):
        car, profile = draws.member(k)
        assert np.array_equal(field.params["car"][k, 0], car.vector)
        assert np.array_equal(field.params["sensor"][k], profile.vector())
    assert np.array_equal(field.params["ranges"], np.ones_like(field.params["ranges"]))


def test_a_search_that_was_broken_off_ends_as_one_that_was_not(settings, tmp_path):
    said: list[str] = []
    search(settings, tmp_path / "whole", "a command", said.append)
    Search(settings, tmp_path / "parts").step()  # and broken off
    search(settings, tmp_path / "parts", "a command", said.append)
    for name in (FILE, "config.yml"):
        assert (tmp_path / "parts" / name).read_text() == (tmp_path / "whole" / name).read_text()
    curves = [list(csv.DictReader((tmp_path / name / "curve.csv").open())) for name in ("whole", "parts")]
    assert [{**row, "seconds": ""} for row in curves[0]] == [{**row, "seconds": ""} for row in curves[1]]
    assert len(curves[0]) == 2
    record = json.loads((tmp_path / "parts" / "run.json").read_text())
    assert record["steps"] > 2 * 3 * 4 * 100
    assert [row["driver"] for row in record["validation"]] == ["predict", "start", "found"]
    learned = json.loads((tmp_path / "whole" / FILE).read_text())
    assert all(low <= learned[name] <= high for name, (low, high) in LEARNED.items())
    with pytest.raises(GameParameterError, match="finished or has other settings"):
        Search(settings, tmp_path / "whole")


def test_numbers_that_are_missing_or_out_of_range_are_refused(tmp_path):
    path = tmp_path / "learned.json"
    path.write_text('{"shortest": 0.06}')
    with pytest.raises(GameParameterError, match="must be shortest, longer"):
        plan_cem(str(path))
    path.write_text(json.dumps({name: high + 1 for name, (_, high) in LEARNED.items()}))
    with pytest.raises(GameParameterError, match=r"shortest is 1\.3"):
        plan_cem(str(path))
    with pytest.raises(GameParameterError, match="cannot be read"):
        plan_cem(str(tmp_path / "nothing.json"))

"""Predictive control whose caution a network sets, and its training over courses."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from asobiba.baselines.mini4wd.calibration import prior_draws
from asobiba.baselines.mini4wd.caution import CAUTIONS, FEATURES
from asobiba.baselines.mini4wd.cautious import CautiousDriver
from asobiba.baselines.mini4wd.general import CoursesVecEnv, Field, Trial, load_settings, names_of, train
from asobiba.baselines.mini4wd.hidden import settings as calibration_settings
from asobiba.baselines.mini4wd.unseen import held_out
from asobiba.core import GameParameterError
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.hardware.calibrate import Prior
from asobiba.learn.policy_file import load_policy

NEUTRAL = np.array([0.0, 0.0, -1 / 6], np.float32)


@pytest.fixture(scope="module")
def trial():
    settings = load_settings()
    return Trial(
        {"courses": {"first": 3300, "count": 3}, "cars": ["dash", "stock+torque_tuned"], "runs": 2, "seed": 7}, settings
    )


def test_the_caution_of_predict_drives_like_predict(trial):
    constant = trial.policy(lambda seen: np.repeat(NEUTRAL[None], len(seen), axis=0))
    assert np.array_equal(constant, trial.controller("predict"), equal_nan=True)


def test_features_are_small_and_tell_cars_apart():
    settings = load_settings()
    field = Field.of([("random:3300", "dash"), ("random:3300", "stock")], settings)
    env = CoursesVecEnv(field, 8, settings["reward"], seed=3)
    seen = env.reset()
    assert seen.shape == (8, FEATURES)
    rows, dones = [seen], 0
    for _ in range(150):
        env.step_async(np.zeros((8, CAUTIONS), np.float32))
        observed, rewards, done, _ = env.step_wait()
        rows.append(observed)
        dones += int(done.sum())
        assert np.isfinite(rewards).all()
    assert np.abs(np.concatenate(rows)).max() <= 4.0
    assert np.concatenate(rows).std(axis=0).min() >= 0.0
    again = CoursesVecEnv(field, 8, settings["reward"], seed=3)
    assert np.array_equal(again.reset(), rows[0])  # the same seed, the same cars
    assert len(np.unique(rows[0][:, 21:30], axis=0)) == 2  # what is known of each of the two cars


def test_nothing_is_trained_or_tuned_on_the_held_out_courses():
    settings = load_settings()
    used = [set(names_of(about["courses"])) for about in (settings, settings["evaluation"], settings["validation"])]
    assert sum(map(len, used)) == len(set.union(*used))
    assert not set.union(*used) & set(held_out().names)
    with pytest.raises(GameParameterError, match="held-out set"):
        load_settings(courses={"first": 49_999, "count": 2})
    with pytest.raises(GameParameterError, match="has no"):
        load_settings(wheels=5)


def test_a_calibrated_ensemble_is_what_is_driven():
    settings = load_settings()
    draws = prior_draws(Prior.of("dash", "atmega328p", calibration_settings()["prior"]), 4)
    field = Field.drawn(["random:3300"] * 3, draws, settings)
    for k in range(3):
        car, profile = draws.member(k)
        assert np.array_equal(field.params["car"][k, 0], car.vector)
        assert np.array_equal(field.params["sensor"][k], profile.vector())
    assert np.array_equal(field.params["ranges"], np.ones_like(field.params["ranges"]))


@pytest.mark.slow
def test_a_training_leaves_a_policy_and_says_what_it_did(tmp_path):
    settings = copy.deepcopy(load_settings(total_steps=4096, num_envs=16, courses={"first": 3300, "count": 4}))
    settings["learner"] |= {"n_steps": 64, "batch_size": 256}
    for name in ("evaluation", "validation"):
        settings[name] |= {"courses": {"first": 3310, "count": 2}}
    said: list[str] = []
    record = train(settings, tmp_path / "run", "a command", said.append)
    assert record["steps"] >= 4096
    assert [row["shift"] for row in record["validation"]["rows"]] == settings["validation"]["shifts"]
    driver = CautiousDriver(load_policy(tmp_path / "run" / "policy.safetensors"))
    driver.reset(GAME.ruleset(tachometer=True), 0, 0)
    assert (tmp_path / "run" / "curve.csv").read_text().startswith("steps,finished,faster,practice_finished\n0,")
    with pytest.raises(GameParameterError, match="already holds a run"):
        train(settings, tmp_path / "run", "a command", said.append)

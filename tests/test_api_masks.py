"""Masks as a part of the observation."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from asobiba.api import MaskedObservation, SeatEnv, VectorEnv, VectorMaskedObservation
from asobiba.core import GameParameterError


def test_one_environment_shows_its_mask():
    env = MaskedObservation(SeatEnv("toy_nim", strict=True))
    seen, info = env.reset(seed=3)
    for _ in range(50):
        assert env.observation_space.contains(seen)
        assert (seen["action_mask"] == info["action_mask"]).all()
        seen, _, terminated, truncated, info = env.step(int(seen["action_mask"].argmax()))
        if terminated or truncated:
            assert not info["action_mask"].any()
            assert seen["action_mask"].all()
            seen, info = env.reset()


def test_gymnasium_finds_nothing_wrong():
    check_env(MaskedObservation(SeatEnv("toy_nim")), skip_render_check=True)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_many_games_show_theirs_and_a_step_that_only_resets_takes_any_action(mode):
    env = VectorMaskedObservation(VectorEnv("toy_nim", 8, autoreset_mode=mode))
    seen, infos = env.reset(seed=1)
    over, ended = np.zeros(8, bool), 0
    for _ in range(40):
        assert env.observation_space.contains(seen)
        assert seen["action_mask"][over].all() or mode == "SameStep"
        legal = infos["action_mask"] != 0
        assert (seen["action_mask"][legal.any(1)] == infos["action_mask"][legal.any(1)]).all()
        seen, _, terminated, truncated, infos = env.step(seen["action_mask"].argmax(1))
        over = terminated | truncated
        ended += int(over.sum())
        if mode == "SameStep":
            for i in np.flatnonzero(over):
                assert env.single_observation_space.contains(infos["final_obs"][i])
    assert ended > 20


def test_continuous_actions_have_no_masks():
    with pytest.raises(GameParameterError, match="no masks"):
        MaskedObservation(gymnasium.make("asobiba/Curling-v1"))

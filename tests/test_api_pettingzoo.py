"""PettingZoo environments: what their own tests do not cover."""

from __future__ import annotations

import numpy as np
import pettingzoo
import pytest
from gymnasium.error import ResetNeeded
from pettingzoo.test import max_cycles_test, render_test
from pettingzoo.test.performance_benchmark import performance_benchmark

from asobiba.api import AEC, Parallel
from asobiba.core import GameParameterError, IllegalAction


class LegalModule:
    """A module as `max_cycles_test` expects it; sampling without a mask draws legal actions."""

    def __init__(self, name):
        self.name = name

    def _legal(self, env):
        spaces = dict(env.action_spaces)

        class Legal:
            def __init__(self, agent):
                self.agent = agent

            def sample(self):
                observation = env.observe(self.agent) if isinstance(env, AEC) else env._observe(self.agent)
                mask = observation["action_mask"] if isinstance(observation, dict) else None
                return spaces[self.agent].sample(mask)

        env.action_space = Legal
        return env

    def env(self, max_cycles):
        return self._legal(pettingzoo.make("aec", self.name, max_cycles=max_cycles, **self.options))

    def parallel_env(self, max_cycles):
        return self._legal(pettingzoo.make("parallel", self.name, max_cycles=max_cycles, **self.options))

    @property
    def options(self):
        return {"noise": 0.0} if "push" in self.name else {"slip": 1.0}


@pytest.mark.parametrize("name", ["asobiba/toy_walk-v0", "asobiba/toy_push-v0"])
def test_max_cycles(name, monkeypatch):
    if "push" in name:  # random forces may end the game earlier
        monkeypatch.setattr("gymnasium.spaces.Box.sample", lambda self, mask=None: np.zeros(self.shape, self.dtype))
    max_cycles_test(LegalModule(name))


def test_max_cycles_of_a_game_in_turns():
    env = pettingzoo.make("aec", "asobiba/toy_nim-v0", max_cycles=2)
    env.reset(seed=0)
    taken = 0
    while env.agents:
        observation, _, terminated, truncated, info = env.last()
        if terminated or truncated:
            assert (terminated, truncated, info["end_reason"]) == (False, True, "max_cycles")
            assert not observation["action_mask"].any()
            env.step(None)
        else:
            env.step(int(np.flatnonzero(observation["action_mask"])[0]))
            taken += 1
    assert taken == 4
    with pytest.raises(GameParameterError, match="max_cycles"):
        AEC("toy_nim", max_cycles=0)


def test_rendering():
    modes = {"svg": lambda picture: picture.startswith("<svg")}
    for name in ("asobiba/toy_nim-v0", "asobiba/toy_kuhn-v0", "asobiba/toy_push-v0"):
        render_test(lambda render_mode, name=name: pettingzoo.make("aec", name, render_mode=render_mode), modes)
    env = AEC("toy_nim")
    env.reset()
    with pytest.raises(GameParameterError, match="without render_mode"):
        env.render()


def test_performance_benchmark_runs(monkeypatch, capsys):
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr("time.time", lambda: next(clock))
    performance_benchmark(AEC("toy_kuhn"))
    assert "turns per second" in capsys.readouterr().out


def test_the_dance_after_the_end():
    env = AEC("toy_nim", size=1)
    env.reset(seed=0)
    for heap in range(3):
        env.step(heap)
    assert env.agents == ["player_0", "player_1"]
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert all(env.terminations.values())
    with pytest.raises(ValueError, match="None"):
        env.step(0)
    env.step(None)
    env.step(None)
    assert env.agents == []
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(None)
    with pytest.raises(ResetNeeded, match="call reset"):
        AEC("toy_nim").last()


def test_illegal_and_wrong_actions():
    env = AEC("toy_nim")
    env.reset(seed=0)
    env.step(9)
    assert env.rewards == {"player_0": -1.0, "player_1": 1.0}
    assert env.infos["player_1"] == {"end_reason": "illegal action"}
    env = AEC("toy_nim", strict=True)
    env.reset(seed=0)
    before = env.state_bytes()
    with pytest.raises(IllegalAction, match=r"first may not play 9 \(b5\)"):
        env.step(9)
    with pytest.raises(IllegalAction, match="integer action"):
        env.step("a1")
    assert env.state_bytes() == before
    push = Parallel("toy_push")
    push.reset(seed=0)
    with pytest.raises(IllegalAction, match=r"shape \(1,\)"):
        push.step({"player_0": [0.0, 1.0], "player_1": [0.0, 0.0]})
    push = Parallel("toy_push", strict=True)
    push.reset(seed=0)
    with pytest.raises(IllegalAction, match="outside the action space"):
        push.step({"player_0": [3.0], "player_1": [0.0]})
    aec = AEC("toy_push")
    aec.reset(seed=0)
    with pytest.raises(IllegalAction, match=r"takes one player's action of shape \(1,\)"):
        aec.step([1.0, 2.0])


def test_only_the_mover_has_a_mask():
    env = AEC("toy_kuhn")
    env.reset(seed=1)
    mover, other = env.agent_selection, next(a for a in env.agents if a != env.agent_selection)
    assert env.observe(mover)["action_mask"].any()
    assert not env.observe(other)["action_mask"].any()
    assert not np.array_equal(env.observe(mover)["observation"], env.observe(other)["observation"])


def test_saved_states():
    env = AEC("toy_kuhn")
    env.reset(seed=1)
    data = env.state_bytes()
    env.step(1)
    env.step(0)
    env.load_bytes(data)
    assert env.state_bytes() == data
    assert env.agents == env.possible_agents
    assert env.state().tobytes() == env.record.tobytes()
    env.step(1)


def test_reported_values():
    env = Parallel("toy_walk", slip=1.0)
    _, infos = env.reset(seed=0)
    assert infos["player_0"]["slips"] == 0
    *_, infos = env.step({"player_0": 1})
    assert infos["player_0"]["slips"] == 1

"""The duties of every registered game, in every adaptor. No game is named here; see asobiba.conformance."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba.core.errors import NumbaExperimentalFeatureWarning
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

import asobiba
from asobiba import conformance, game, game_names, games, golden
from asobiba.api import AEC, Parallel, SeatEnv
from asobiba.api.sb3 import SB3VecEnv

GOLDEN = Path(__file__).parent / "golden"
every_game = pytest.mark.parametrize("name", game_names())
# The loop on several threads takes as long to compile as the one on one thread, and all games share it. Games of every kind
# of turns, hidden, continuous and with chance, run it in every run of the tests; the others are slow tests.
THREADED = {one.name for one in games() if not one.package.startswith("asobiba.")} | {"animal_shogi", "curling_end"}


def checks():
    """Every check of every game."""
    for name in game_names():
        for check in conformance.CHECKS:
            slow = check == "any_number_of_threads" and name not in THREADED
            yield pytest.param(name, check, marks=[pytest.mark.slow] if slow else [])


def is_parallel(name):
    ruleset = game(name).ruleset()
    return ruleset.simultaneous or ruleset.num_players == 1


@pytest.mark.parametrize(("name", "check"), list(checks()))
def test_conformance(name, check):
    conformance.CHECKS[check](game(name))


@every_game
def test_golden_playthrough(name):
    path = GOLDEN / f"{name}.txt"
    assert path.exists(), f"write it: python -m asobiba.golden {GOLDEN} {name}"
    text = path.read_text(encoding="utf-8")
    golden.check_playthrough(game(name), text)
    assert golden.record(game(name)) == text, f"write it again: python -m asobiba.golden {GOLDEN} {name}"


@every_game
def test_pettingzoo(name):
    def make():
        return pettingzoo.make("aec", game(name).id)

    api_test(make(), num_cycles=40)
    seed_test(make, num_cycles=20)
    if is_parallel(name):

        def make_parallel():
            return pettingzoo.make("parallel", game(name).id)

        parallel_api_test(make_parallel(), num_cycles=20)
        parallel_seed_test(make_parallel, num_cycles=20)
    else:
        with pytest.raises(asobiba.core.GameParameterError, match="move in turn"):
            pettingzoo.make("parallel", game(name).id)


@every_game
def test_gymnasium_checker_has_nothing_to_say(name, recwarn):
    check_env(gymnasium.make(game(name).gymnasium_id))
    # Compiling says that records with the generator's fields first are passed on as such, which is meant.
    told = [w for w in recwarn if not issubclass(w.category, NumbaExperimentalFeatureWarning)]
    assert [str(w.message) for w in told] == []


@every_game
def test_stable_baselines_checker_has_nothing_to_say(name, recwarn):
    from stable_baselines3.common.env_checker import check_env as check_sb3

    check_sb3(gymnasium.make(game(name).gymnasium_id))
    assert [str(w.message) for w in recwarn] == []


def act(env, info, generator):
    if "action_mask" in info:
        return int(generator.choice(np.flatnonzero(info["action_mask"])))
    box = env.action_space
    return generator.uniform(box.low, box.high).astype(box.dtype)


def play_seat(env, steps, seed):
    generator = np.random.default_rng(seed)
    info = {}
    if env.ruleset.discrete:
        info["action_mask"] = env.action_masks()
    seen = b""
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(act(env, info, generator))
        seen += observation.tobytes() + np.float64(reward).tobytes()
        if terminated or truncated:
            _, info = env.reset()
    return seen + env.state_bytes()


def play_aec(env, steps, seed):
    generator = np.random.default_rng(seed)
    seen = b""
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.reset()
            continue
        if isinstance(observation, dict):
            action = int(generator.choice(np.flatnonzero(observation["action_mask"])))
            observation = observation["observation"]
        else:
            box = env.action_space(env.agent_selection)
            action = generator.uniform(box.low, box.high).astype(box.dtype)
        seen += observation.tobytes() + np.float64(reward).tobytes()
        env.step(action)
    return seen + env.state_bytes()


def play_batch(env, steps, seed):
    seen = b""
    for _ in range(steps):
        observations, rewards, *_ = env.step(np.array(env.games.sample_actions()))
        seen += observations.tobytes() + rewards.tobytes()
    return seen + env.games.states.tobytes()


@every_game
def test_copies_of_environments_continue_identically(name):
    seat = SeatEnv(name)
    seat.reset(seed=3)
    aec = AEC(name)
    aec.reset(seed=3)
    vector = asobiba.make_vec(name, num_envs=3)
    vector.reset(seed=3)
    sb3 = SB3VecEnv(name, num_envs=3, seed=3)
    sb3.reset()
    for env, play in ((seat, play_seat), (aec, play_aec), (vector, play_batch), (sb3, play_batch)):
        play(env, 7, 1)
        twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
        results = [play(one, 25, 2) for one in (env, *twins)]
        assert results[0] == results[1] == results[2], type(env).__name__


@every_game
def test_learner_gets_what_its_seat_gets(name):
    """The rewards of the learner's steps add up to those of its seat, whichever side acted."""
    env = SeatEnv(name)
    generator = np.random.default_rng(0)
    for seed in range(3):
        _, info = env.reset(seed=seed)
        total, over, steps = 0.0, False, 0
        while not over and steps < 400:
            _, reward, terminated, truncated, info = env.step(act(env, info, generator))
            total += reward
            over = terminated or truncated
            steps += 1
        low, high = env.ruleset.return_range
        assert low - 1e-3 <= total <= high + 1e-3
        if terminated and env.ruleset.game.utility == "zero_sum" and env.ruleset.layout.return_range is None:
            assert reward == pytest.approx(float(env.record["rewards"][env.learner]))


@every_game
def test_parallel_and_aec_are_the_same_game(name):
    if not is_parallel(name):
        return
    aec, parallel = AEC(name), Parallel(name)
    aec.reset(seed=5)
    observations, _ = parallel.reset(seed=5)
    generator = np.random.default_rng(5)
    for _ in range(10):
        actions = {}
        for agent in parallel.agents:
            seen = observations[agent]
            if isinstance(seen, dict) and not seen["action_mask"].any():
                continue  # it does not act
            if isinstance(seen, dict):
                actions[agent] = int(generator.choice(np.flatnonzero(seen["action_mask"])))
            else:
                box = parallel.action_space(agent)
                actions[agent] = generator.uniform(box.low, box.high).astype(box.dtype)
        if not actions:
            break
        for agent in list(actions):
            assert aec.agent_selection == agent
            aec.step(actions[agent])
        observations, *_ = parallel.step(actions)
        while len(aec.agents) > len(parallel.agents):
            aec.step(None)  # who has left
        assert aec.state_bytes() == parallel.state_bytes()


@every_game
def test_openspiel(name):
    import pyspiel

    from asobiba.api import openspiel

    declared = game(name)
    if not openspiel.playable(declared):
        with pytest.raises(asobiba.core.GameParameterError, match="no OpenSpiel form"):
            openspiel.register(declared)
        return
    (short,) = openspiel.register(declared)
    spiel = pyspiel.load_game(short)
    assert spiel.num_distinct_actions() == declared.ruleset().num_actions
    generator = np.random.default_rng(0)
    state = spiel.new_initial_state()
    for _ in range(30):
        if state.is_terminal():
            break
        if state.is_simultaneous_node():
            joint = [int(generator.choice(state.legal_actions(k) or [0])) for k in range(spiel.num_players())]
            twin = state.clone()
            twin.apply_actions(joint)
            state.apply_actions(joint)
            assert twin.record.tobytes() == state.record.tobytes()
            continue
        legal = [a for a, _ in state.chance_outcomes()] if state.is_chance_node() else state.legal_actions()
        assert legal == sorted(set(legal))
        action = int(generator.choice(legal))
        assert state.action_to_string(state.current_player(), action)
        twin = state.clone()
        twin.apply_action(action)
        state.apply_action(action)
        assert str(twin) == str(state)
        assert twin.record.tobytes() == state.record.tobytes()
    for player in range(spiel.num_players()):
        assert len(state.observation_tensor(player)) == declared.ruleset().observation_size
        assert state.information_state_string(player) == twin.information_state_string(player)


@every_game
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_play_keeps_the_laws(name, data):
    """Whatever legal actions Hypothesis chooses: turns, masks, rewards and views hold, and bytes carry the state."""
    from asobiba.core import states

    ruleset = game(name).ruleset()
    state = states.new_state(ruleset, data.draw(st.integers(0, 2**64 - 1)))
    low, high = ruleset.game.reward_range
    for ply in range(12):
        if states.is_over(state):
            assert not states.action_mask(ruleset, state).any()
            break
        if not ruleset.discrete:
            box = ruleset.action_space
            unit = data.draw(st.lists(st.floats(0, 1), min_size=(k := int(np.prod(ruleset.actions_shape))), max_size=k))
            action = (box.low + (box.high - box.low) * np.reshape(unit, ruleset.actions_shape)).astype(box.dtype)
        elif ruleset.simultaneous:
            mask = states.action_mask(ruleset, state)
            action = [data.draw(st.sampled_from(np.flatnonzero(row).tolist() or [0])) for row in mask]
        else:
            action = data.draw(st.sampled_from(states.legal_actions(ruleset, state).tolist()))
        after = states.step(ruleset, state, action)
        assert after["steps"] == ply + 1
        assert (after["rewards"] >= low - 1e-6).all()
        assert (after["rewards"] <= high + 1e-6).all()
        assert states.from_bytes(ruleset, states.state_bytes(ruleset, after)).tobytes() == after.tobytes()
        for seat in range(ruleset.num_players):
            view = states.view_of(ruleset, after, seat)
            full = states.resample(ruleset, view, seat, ply)
            assert states.view_of(ruleset, full, seat).tobytes() == view.tobytes()
        state = after


DIGEST = """
import sys
from asobiba import conformance, game
print(conformance.digest_of_play(game(sys.argv[1]).ruleset(), threads=int(sys.argv[2])))
"""


@every_game
def test_two_processes_play_the_same_games(name):
    """Same seed, same bytes: other process, other hash seed, for some games another number of threads."""
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": path}
    command = [sys.executable, "-c", DIGEST, name, str(min(2, os.cpu_count() or 1) if name in THREADED else 1)]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == conformance.digest_of_play(game(name).ruleset(), threads=1)

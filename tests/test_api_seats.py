"""The single-seat environment and its batched forms: they are one and the same game."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import asobiba
from asobiba.api import SeatEnv, Seating, VectorEnv
from asobiba.api.sb3 import SB3VecEnv
from asobiba.core import Agent, GameParameterError, IllegalAction, UnknownAgent, game, make_agent

SEQUENTIAL = [("toy_nim", "random"), ("toy_nim", "bouton"), ("toy_kuhn", "random"), ("toy_kuhn", "bold")]
ALL = [*SEQUENTIAL, ("toy_kuhn", "timid"), ("toy_walk", "random"), ("toy_push", "random")]


class InPython(Agent):
    """Makes a compiled agent play through Python."""

    def __init__(self, inner):
        self.inner = inner

    def reset(self, ruleset, seat, seed):
        self.inner.reset(ruleset, seat, seed)

    def act(self, view, legal):
        return self.inner.act(view, legal)


def chooser(seed):
    generator = np.random.default_rng(seed)

    def choose(env, info):
        if "action_mask" in info:
            return int(generator.choice(np.flatnonzero(info["action_mask"])))
        return generator.uniform(-1, 1, env.action_space.shape).astype(np.float32)

    return choose


def trajectory(env, steps, seed=5, reset_seed=11, choose_seed=3):
    """Everything that a learner sees in `steps` steps, as bytes."""
    choose = chooser(choose_seed)
    seen = []
    observation, info = env.reset(seed=reset_seed)
    seen.append((observation.tobytes(), env.state_bytes()))
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(choose(env, info))
        seen.append((observation.tobytes(), reward, terminated, truncated, env.state_bytes()))
        if terminated or truncated:
            observation, info = env.reset()
            seen.append((observation.tobytes(), env.state_bytes()))
    return seen


@pytest.mark.parametrize(("name", "opponent"), SEQUENTIAL)
def test_compiled_and_python_opponents_play_the_same_games(name, opponent):
    compiled = SeatEnv(name, opponent=opponent)
    python = SeatEnv(name, opponent=InPython(make_agent(game(name), opponent)))
    assert compiled._batch.compiled
    assert not python._batch.compiled
    assert trajectory(compiled, 60) == trajectory(python, 60)


@pytest.mark.parametrize("players", [3, 4])
def test_several_opponents(players):
    compiled = SeatEnv("toy_nim", opponent="bouton", players=players)
    python = SeatEnv("toy_nim", opponent=InPython(make_agent(game("toy_nim"), "bouton")), players=players)
    assert trajectory(compiled, 40) == trajectory(python, 40)


def opponents_of_every_kind(name, opponent, n):
    agent = make_agent(game(name), opponent)
    return {
        "one": opponent,
        "python": InPython(agent),
        "mixed": [opponent if i % 2 else InPython(agent) for i in range(n)],
    }


@pytest.mark.parametrize(("name", "opponent"), ALL)
@pytest.mark.parametrize("kind", ["one", "python", "mixed"])
@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
def test_batch_plays_the_single_games(name, opponent, kind, autoreset):
    n, steps = 3, 30
    batch = Seating(
        game(name).ruleset(),
        n,
        opponent=opponents_of_every_kind(name, opponent, n)[kind],
        autoreset=autoreset,
        recycle=True,
    )
    singles = [SeatEnv(name, opponent=opponent) for _ in range(n)]
    choose = chooser(1)
    observations = batch.reset(seed=20)
    infos = []
    for i, env in enumerate(singles):
        observation, info = env.reset(seed=20 + i)
        infos.append(info)
        assert observation.tobytes() == observations[i].tobytes()
    over = [False] * n
    for _ in range(steps):
        if autoreset == "disabled" and any(over):
            observations = batch.reset(select=np.array(over))
            for i in np.flatnonzero(over):
                observation, infos[i] = singles[i].reset()
                assert observation.tobytes() == observations[i].tobytes()
            over = [False] * n
        actions = [choose(env, info) if not o else 0 for env, info, o in zip(singles, infos, over, strict=True)]
        if not batch.ruleset.discrete:
            actions = [np.zeros(1, np.float32) if o else a for a, o in zip(actions, over, strict=True)]
        observations = batch.step(np.array(actions))
        for i, env in enumerate(singles):
            if over[i]:
                observation, infos[i] = env.reset()
                result = (0.0, False, False)
            else:
                observation, *result, infos[i] = env.step(actions[i])
            assert (batch.gains[i], batch.terminated[i], batch.truncated[i]) == pytest.approx(tuple(result))
            over[i] = bool(result[1] or result[2])
            if over[i] and autoreset == "same_step":
                assert observation.tobytes() == batch.finals[i].tobytes()
                observation, infos[i] = env.reset()
                over[i] = False
            assert observation.tobytes() == observations[i].tobytes()
            assert env.record.tobytes() == batch.states[i].tobytes()
            if "action_mask" in infos[i]:
                assert infos[i]["action_mask"].tobytes() == batch.masks[i].tobytes()


@pytest.mark.parametrize(("name", "opponent"), ALL)
def test_learner_gets_both_outcomes_on_its_own_last_step(name, opponent):
    """Wins and losses both arrive, whichever side ended the game."""
    env = SeatEnv(name, opponent=opponent if opponent != "bouton" else "random")
    choose = chooser(0)
    last = []
    _, info = env.reset(seed=0)
    while len(last) < 60:
        _, reward, terminated, truncated, info = env.step(choose(env, info))
        if terminated or truncated:
            assert reward == pytest.approx(float(env.record["rewards"][env.learner])) or not env.ruleset.simultaneous
            last.append(reward)
            _, info = env.reset()
    if not env._batch.alone:
        assert max(last) > 0 > min(last)


@pytest.mark.parametrize("seat", ["first", "second", "random", 0, 1])
def test_seats(seat):
    env = SeatEnv("toy_nim", seat=seat)
    seats = set()
    for seed in range(20):
        env.reset(seed=seed)
        assert env.to_move == env.learner
        seats.add(env.learner)
    assert seats == {"first": {0}, "second": {1}, "random": {0, 1}}.get(seat, {seat})


def test_seats_by_name():
    env = SeatEnv("toy_nim", players=3, seat="player2")
    env.reset(seed=1)
    assert env.learner == 2
    with pytest.raises(GameParameterError, match=r"no seat 'third'.*'player2'"):
        SeatEnv("toy_nim", seat="third", players=3)


@pytest.mark.parametrize(("name", "opponent"), ALL)
@pytest.mark.parametrize("copier", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e)), lambda e: e.clone()])
def test_copies_continue_identically(name, opponent, copier):
    env = SeatEnv(name, opponent=opponent)
    choose = chooser(4)
    _, info = env.reset(seed=4)
    for _ in range(2):
        *_, terminated, truncated, info = env.step(choose(env, info))
        if terminated or truncated:
            _, info = env.reset()
    twin = copier(env)
    before = env.state_bytes()
    one, two = chooser(9), chooser(9)
    info_two = copy.deepcopy(info)
    for _ in range(20):
        _, *rest, info_two = twin.step(two(twin, info_two))
        if rest[1] or rest[2]:
            _, info_two = twin.reset()
    assert env.state_bytes() == before
    for _ in range(20):
        _, *rest, info = env.step(one(env, info))
        if rest[1] or rest[2]:
            _, info = env.reset()
    assert env.state_bytes() == twin.state_bytes()


@pytest.mark.parametrize(("name", "opponent"), ALL)
@pytest.mark.parametrize("kind", ["one", "mixed"])
def test_copies_of_vector_environments_continue_identically(name, opponent, kind):
    n = 4
    for make in (asobiba.make_vec, SB3VecEnv):
        env = make(name, num_envs=n, opponent=opponents_of_every_kind(name, opponent, n)[kind])
        if make is SB3VecEnv:
            env.seed(3)
            env.reset()
        else:
            env.reset(seed=3)
        for _ in range(5):
            env.step(np.array(env.games.sample_actions()))
        twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
        results = []
        for one in [env, *twins]:
            seen = b""
            for _ in range(20):
                observations, rewards, *_ = one.step(np.array(one.games.sample_actions()))
                seen += observations.tobytes() + rewards.tobytes()
            results.append(seen + one.games.states.tobytes())
        assert results[0] == results[1] == results[2]


def test_self_play_moves_whoever_is_to_move():
    env = gymnasium.make_vec("asobiba/ToyNim-v0", num_envs=16, opponent="self")
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    _, infos = env.reset(seed=1)
    ended = 0
    for _ in range(50):
        to_move = env.states["to_move"].copy()
        over = (env.states["terminated"] | env.states["truncated"]) != 0
        _, rewards, terminated, _, infos = env.step(env.sample_actions())
        assert np.array_equal(infos["mover"], to_move)
        for i in np.flatnonzero(terminated):
            assert rewards[i] == 1  # who takes the last counter wins
            assert infos["rewards"][i].sum() == 0
            assert not infos["action_mask"][i].any()
            ended += 1
        assert not (terminated & over).any()
        assert infos["action_mask"][~terminated].any(axis=1).all()
    assert ended > 20


def test_returned_arrays_are_never_overwritten():
    for env in (
        asobiba.make_vec("toy_nim", num_envs=8, opponent="self"),
        asobiba.make_vec("toy_nim", num_envs=8),
        asobiba.make_vec("toy_kuhn", num_envs=8, opponent="timid", autoreset_mode="SameStep"),
    ):
        observations, infos = env.reset(seed=1)
        kept = [(observations, infos["action_mask"], observations.copy(), infos["action_mask"].copy())]
        for _ in range(30):
            observations, *_, infos = env.step(env.sample_actions())
            kept.append((observations, infos["action_mask"], observations.copy(), infos["action_mask"].copy()))
            if len(kept) > 12:
                kept.pop(0)
            for observed, masks, observed_then, masks_then in kept:
                assert np.array_equal(observed, observed_then)
                assert np.array_equal(masks, masks_then)


def test_final_observations_and_partial_resets():
    env = asobiba.make_vec("toy_nim", num_envs=6, autoreset_mode="SameStep")
    env.reset(seed=0)
    ended = 0
    while ended < 10:
        *_, terminated, truncated, infos = env.step(env.sample_actions())
        done = terminated | truncated
        assert ("final_obs" in infos) == done.any()
        for i in np.flatnonzero(done):
            assert not infos["final_obs"][i].any()  # all heaps are empty
            assert infos["final_info"]["end_reason"][i] == 1
            assert infos["action_mask"][i].any()
            ended += 1
    env = asobiba.make_vec("toy_nim", num_envs=6, autoreset_mode=AutoresetMode.DISABLED)
    with pytest.raises(ResetNeeded):
        env.step(np.zeros(6, np.int64))
    env.reset(seed=0)
    done = np.zeros(6, bool)
    while not done.any():
        *_, terminated, truncated, infos = env.step(env.sample_actions())
        done = terminated | truncated
    with pytest.raises(ResetNeeded, match="reset_mask"):
        env.step(env.sample_actions())
    before = env.states.copy()
    env.reset(options={"reset_mask": done})
    assert before[~done].tobytes() == env.states[~done].tobytes()
    assert not env.states["terminated"].any()
    env.step(env.sample_actions())
    for mask in ([True] * 6, np.ones(5, bool), np.ones(6, np.int8), np.zeros(6, bool)):
        with pytest.raises(GameParameterError, match="reset_mask"):
            env.reset(options={"reset_mask": mask})


def test_seeds_of_a_vector():
    env = asobiba.make_vec("toy_kuhn", num_envs=3)
    first, _ = env.reset(seed=[7, 8, 9])
    second, _ = env.reset(seed=7)
    assert np.array_equal(first, second)
    with pytest.raises(GameParameterError, match="2 seeds were given for 3 games"):
        env.reset(seed=[1, 2])


@pytest.mark.parametrize("camel", ["ToyNim", "ToyKuhn", "ToyWalk", "ToyPush"])
def test_checkers_of_gymnasium_and_sb3_have_nothing_to_say(camel, recwarn):
    from stable_baselines3.common.env_checker import check_env as check_sb3

    env = gymnasium.make(f"asobiba/{camel}-v0")
    check_env(env)
    check_sb3(env)
    assert [str(w.message) for w in recwarn] == []


def test_illegal_actions():
    env = SeatEnv("toy_nim", seat="first")
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(14)
    assert (reward, terminated) == (-1, False) or env.ruleset.parameters["size"] == 5
    env = SeatEnv("toy_nim", seat="first")
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(4)  # five counters from a heap of one
    assert (reward, terminated, truncated, info["end_reason"]) == (-1, True, False, "illegal action")
    assert not info["action_mask"].any()
    with pytest.raises(ResetNeeded):
        env.step(0)
    env = SeatEnv("toy_nim", seat="first", strict=True)
    env.reset(seed=0)
    with pytest.raises(
        IllegalAction, match=r"first may not play 4 \(a5\).*Legal actions: 0 \(a1\), 5 \(b1\), 6 \(b2\)"
    ) as error:
        env.step(4)
    assert "b oo" in str(error.value)
    for bad in ("b1", 1.5, None, [0, 1]):
        with pytest.raises(IllegalAction, match="takes an integer action from 0 to 14"):
            env.step(bad)
    env.step(0)
    vector = asobiba.make_vec("toy_nim", num_envs=2, opponent="self", strict=True)
    vector.reset(seed=0)
    with pytest.raises(IllegalAction, match="Legal actions"):
        vector.step(np.array([0, 4]))
    with pytest.raises(IllegalAction, match="shape"):
        vector.step(np.array([0, 1, 2]))
    with pytest.raises(IllegalAction, match="dtype"):
        vector.step(np.array([0.5, 1.0]))


def test_bad_arguments():
    with pytest.raises(UnknownAgent, match="Did you mean 'bouton'"):
        SeatEnv("toy_nim", opponent="buton")
    with pytest.raises(TypeError, match="opponent must be"):
        SeatEnv("toy_nim", opponent=3)
    with pytest.raises(GameParameterError, match="render_mode must be one of"):
        SeatEnv("toy_nim", render_mode="film")
    with pytest.raises(GameParameterError, match=r"unexpected keyword argument 'heap'.*Did you mean 'heaps'"):
        asobiba.make("toy_nim", heap=3)
    with pytest.raises(GameParameterError, match="2 opponents were given for 3 games"):
        asobiba.make_vec("toy_nim", num_envs=3, opponent=["random", "bouton"])
    with pytest.raises(GameParameterError, match="autoreset_mode"):
        asobiba.make_vec("toy_nim", autoreset_mode="now")
    with pytest.raises(GameParameterError, match="act at once"):
        asobiba.make_vec("toy_push", opponent="self")
    with pytest.raises(GameParameterError, match="num_envs"):
        asobiba.make_vec("toy_nim", num_envs=0)
    with pytest.raises(GameParameterError, match="threads"):
        asobiba.make_vec("toy_nim", threads=10_000)


def test_function_as_opponent():
    seen = []

    def opponent(view, legal):
        seen.append(int(view["cards"].max()))
        assert int(view["rng_key"]) == 0
        return int(np.flatnonzero(legal)[0])

    env = gymnasium.make("asobiba/ToyKuhn-v0", opponent=opponent)
    for seed in range(5):
        _ = env.reset(seed=seed)
        over = False
        while not over:
            *_, terminated, truncated, _ = env.step(1)
            over = terminated or truncated
    assert seen


def test_set_state_and_bytes():
    env = SeatEnv("toy_nim", opponent="bouton", seat="first")
    env.reset(seed=3)
    data = env.state_bytes()
    env.step(0)
    env.load_bytes(data)
    assert env.state_bytes() == data
    env.step(0)
    vector = asobiba.make_vec("toy_nim", num_envs=3, opponent="bouton")
    vector.set_states(env.record)
    assert (vector.games.learners == env.to_move).all()
    vector.step(vector.sample_actions())


def test_domain_randomisation():
    ruleset = game("toy_walk").ruleset()
    params = np.repeat(ruleset.params, 4)
    params["slip"] = [0.0, 0.0, 1.0, 1.0]
    env = asobiba.make_vec("toy_walk", num_envs=4, params=params)
    env.reset(seed=0)
    places = env.states["place"].copy()
    env.step(np.ones(4, np.int64))
    assert (env.states["place"] - places).tolist() == [1, 1, 0, 0]
    with pytest.raises(GameParameterError, match="params must be"):
        asobiba.make_vec("toy_walk", num_envs=3, params=params)


def test_stable_baselines_vec_env():
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.evaluation import evaluate_policy

    env = SB3VecEnv("toy_nim", num_envs=8, opponent="random", seed=1)
    assert env.has_attr("action_masks")
    masks = np.stack(env.env_method("action_masks"))
    assert masks.shape == (8, 15)
    assert masks.dtype == bool
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=2, seed=0)
    model.learn(512)
    assert len(model.ep_info_buffer) > 0
    evaluate_policy(model, env, n_eval_episodes=10)
    env.reset()
    ended = 0
    while ended < 5:
        before = env.games.states.copy()
        observations, _, dones, infos = env.step(np.array(env.games.sample_actions()))
        for i in np.flatnonzero(dones):
            assert infos[i]["episode"]["r"] in (-1, 1)
            assert infos[i]["episode"]["l"] >= 1
            assert not infos[i]["TimeLimit.truncated"]
            assert infos[i]["terminal_observation"].shape == (15,)
            assert observations[i].any()
            ended += 1
        assert len(before) == len(infos) == 8
    assert not SB3VecEnv("toy_push", num_envs=2).has_attr("action_masks")


def test_truncation_in_stable_baselines():
    env = SB3VecEnv("toy_walk", num_envs=4, seed=1, slip=1.0, length=2)
    env.reset()
    for _ in range(16):
        _, _, dones, infos = env.step(np.ones(4, np.int64))
    assert dones.all()
    assert all(info["TimeLimit.truncated"] and info["end_reason"] == "truncation" for info in infos)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_observations_in_floating_point(mode):
    plain = VectorEnv("toy_nim", 6, autoreset_mode=mode)
    turned = VectorEnv("toy_nim", 6, autoreset_mode=mode, dtype="float32")
    pairs = [(plain.reset(seed=3)[0], turned.reset(seed=3)[0])]
    finals = 0
    for _ in range(12):
        actions = plain.sample_actions().copy()
        one, other = plain.step(actions), turned.step(actions)
        pairs.append((one[0], other[0]))
        for done in np.flatnonzero(one[4].get("_final_obs", [])):
            pairs.append((one[4]["final_obs"][done], other[4]["final_obs"][done]))
            finals += 1
    assert (finals > 0) == (mode is AutoresetMode.SAME_STEP)
    for observation, floats in pairs:
        assert floats.dtype == np.float32
        assert (observation == floats).all()
    assert turned.single_observation_space.dtype == np.float32


def test_one_environment_in_floating_point():
    env = gymnasium.make("asobiba/AnimalShogi-v0", dtype="float32")
    check_env(env.unwrapped, skip_render_check=True)
    observation, info = env.reset(seed=1)
    assert observation in env.observation_space
    assert observation.dtype == np.float32
    observation = env.step(int(info["action_mask"].argmax()))[0]
    assert observation.dtype == np.float32
    with pytest.raises(GameParameterError, match="or one of floating-point numbers such as 'float32', not 'int64'"):
        SeatEnv("animal_shogi", dtype="int64")
    with pytest.raises(GameParameterError, match="not 'flaot'"):
        SeatEnv("animal_shogi", dtype="flaot")


def test_an_unknown_parameter_is_answered_as_python_does():
    with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'"):
        gymnasium.make("asobiba/AnimalShogi-v0", frameskip=1)
    with pytest.raises(GameParameterError, match=r"'histery'\. Did you mean 'history'"):
        game("animal_shogi").ruleset(histery=3)

"""Every learner that `--algo` names: it trains, stops and goes on, and its policy plays in a match."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from sb3_contrib.common.maskable.utils import get_action_masks
from scipy.stats import chisquare

from asobiba.api.sb3 import SB3VecEnv
from asobiba.arena.evaluation import evaluate as play
from asobiba.arena.match import Match
from asobiba.arena.playing import play_match
from asobiba.core import game, make_agent
from asobiba.learn import training
from asobiba.learn.agent import PolicyAgent, drawn, load_policy
from asobiba.learn.algorithms import ALGORITHMS
from asobiba.learn.config import ConfigError, load_config
from asobiba.learn.masked import MaskedVecEnv, _legal_at_random, mask_of
from asobiba.learn.masked_choice import MaskedChoice
from asobiba.learn.members import Member
from asobiba.learn.payoff import payoff_matrix
from asobiba.learn.policy_file import PolicyFileError, save_policy
from asobiba.learn.pool import Pool
from asobiba.learn.reporting import Report
from asobiba.learn.shaping import ShapedVecEnv
from asobiba.learn.turning import Turning

ON_POLICY = {"n_steps": 16, "batch_size": 64, "n_epochs": 1}
OFF_POLICY = {"learning_starts": 64, "batch_size": 32, "buffer_size": 1000, "train_freq": 2, "gradient_steps": 1}


def config_of(name, declared, **changes):
    learner = OFF_POLICY if ALGORITHMS[name].off_policy else ON_POLICY
    small = {
        "num_envs": 8,
        "threads": 1,
        "total_steps": 512,
        "checkpoint_every": 128,
        "learner": learner,
        "evaluation": {"against": ["random"], "games": 8, "every": 100000},
    }
    return load_config(declared, algorithm=name, **{**small, **changes})


DISCRETE = [name for name, algorithm in ALGORITHMS.items() if algorithm.discrete and name != "maskable_ppo"]
CONTINUOUS = [name for name, algorithm in ALGORITHMS.items() if algorithm.continuous and name != "maskable_ppo"]


class Stopped(Exception):
    pass


@pytest.mark.parametrize(("name", "played"), [(n, "toy_nim") for n in DISCRETE] + [(n, "toy_push") for n in CONTINUOUS])
def test_it_trains_goes_on_to_the_byte_and_plays(name, played, tmp_path, monkeypatch):
    declared = game(played)
    config = config_of(name, declared)
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    training.train(declared, config, straight, progress=False)
    saves, original = [], training.save_checkpoint

    def save_and_stop(model, path):
        original(model, path)
        saves.append(path)
        if len(saves) == 2:
            raise Stopped

    monkeypatch.setattr(training, "save_checkpoint", save_and_stop)
    with pytest.raises(Stopped):
        training.train(declared, config, stopped, progress=False)
    monkeypatch.undo()
    training.train(declared, config, stopped, progress=False)
    ours, theirs = load_file(stopped / "policy.safetensors"), load_file(straight / "policy.safetensors")
    assert all(torch.equal(ours[key], theirs[key]) for key in theirs)
    ruleset = declared.ruleset()
    text = f"sb3:{straight / 'policy.safetensors'}"
    agents = [make_agent(declared, text), *(make_agent(declared, "random") for _ in range(ruleset.num_players - 1))]
    for seed in range(4):
        record = play_match(Match.of(ruleset, [text] + ["random"] * (ruleset.num_players - 1), seed), agents)
        assert record.reason in ("rules", "step limit", "truncation") or (name == "ppo" and played == "toy_nim"), record


def test_masked_values_learn_to_win(tmp_path):
    """A learner that kept trying illegal actions, which lose, would lose every game."""
    nim = game("toy_nim")
    learner = {"learning_starts": 500, "batch_size": 128, "train_freq": 2, "gradient_steps": 2, "learning_rate": 1e-3}
    config = config_of("dqn", nim, total_steps=6000, num_envs=16, learner=learner)
    config["evaluation"]["games"] = 300
    config["openings"]["plies"] = 0  # of so small a game openings leave little
    results = training.train(nim, config, tmp_path, progress=False)
    assert results[-1].low > 0.52, results[-1]


def test_masks_stand_at_the_end_of_the_observation_and_exploration_keeps_to_them():
    nim = game("toy_nim").ruleset()
    env = MaskedVecEnv(nim, 32, threads=1, seed=0)
    seen = env.reset()
    for _ in range(30):
        masks = mask_of(seen, nim.num_actions)
        assert (masks == env.games.learner_masks).all()
        actions = _legal_at_random(seen, nim.num_actions)
        assert (masks[np.arange(32), actions] == 1).all()
        seen, _, dones, infos = env.step(actions)
        for i in np.flatnonzero(dones):
            assert infos[i]["end_reason"] == "rules"
            assert not mask_of(infos[i]["terminal_observation"], nim.num_actions).any()


def test_recurrent_policies_play_many_games_as_they_play_one(tmp_path):
    nim = game("toy_nim")
    training.train(nim, config_of("recurrent_ppo", nim), tmp_path, progress=False)
    ruleset, agent = nim.ruleset(), PolicyAgent(load_policy(tmp_path / "policy.safetensors"))
    generator = np.random.default_rng(0)
    seen = generator.integers(0, 2, (3, 4, ruleset.observation_size)).astype(ruleset.observation_space.dtype)
    legal = np.ones((4, ruleset.num_actions), np.int8)
    agent.begin_rows(ruleset, 4, 0)
    together = []
    for step in seen:
        agent.choose(step[2:], legal[2:], np.array([2, 3]))
        agent.choose(step[:2], legal[:2], np.array([0, 1]))
        together.append([part.clone() for part in agent._hidden])
    for row in range(4):
        agent.reset(ruleset, 0, 0)
        for step, hidden in zip(seen, together, strict=True):
            agent.choose(step[row : row + 1], legal[:1])
            for mine, theirs in zip(agent._hidden, hidden, strict=True):
                assert torch.allclose(mine[:, 0], theirs[:, row], atol=1e-6)


@pytest.mark.parametrize(
    ("algorithm", "played", "changes", "message"),
    [
        ("sac", "toy_nim", {}, "sac does not fit .* actions are discrete; these do: maskable_ppo"),
        ("dqn", "toy_push", {}, "dqn does not fit .* actions are continuous"),
        ("dqm", "toy_nim", {}, "Did you mean 'dqn'"),
        ("dqn", "toy_nim", {"learner": {"n_steps": 3, "clip_range": 0.1}}, "learner.clip_range: dqn has no such"),
        ("maskable_ppo", "toy_nim", {"learner": {"learnig_rate": 1e-4}}, "Did you mean 'learning_rate'"),
        ("maskable_ppo", "toy_nim", {"learner": {"device": "cuda"}}, "Give --device"),
        ("maskable_ppo", "toy_nim", {"device": "gpu"}, "expected auto, cpu or cuda"),
        ("qrdqn", "toy_nim", {"policy": "board"}, "knows 'mlp' only"),
        ("qrdqn", "toy_nim", {"imitation": {"decisions": 5}}, "imitation teaches"),
        ("maskable_ppo", "toy_nim", {"openings": {"share": 2.0}}, "expected 0 to 1"),
        ("maskable_ppo", "toy_nim", {"openings": {"plies": -1}}, "from 0, or null"),
    ],
)
def test_what_does_not_fit_is_said_at_once(algorithm, played, changes, message):
    with pytest.raises(ConfigError, match=message):
        load_config(game(played), algorithm=algorithm, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"opponents": ["nobody_of_that_name"]},
        {"evaluation": {"against": ["nobody_of_that_name"], "games": 4, "every": 10}},
        {"seat": "third"},
        {"policy_kwargs": {"width_of_nothing": 3}},
        {"start": "/nowhere/policy.safetensors"},
    ],
)
def test_a_wrong_configuration_leaves_the_folder_alone(changes, tmp_path):
    nim, folder = game("toy_nim"), tmp_path / "run"
    config = config_of("maskable_ppo", nim, **changes)
    with pytest.raises(Exception, match=r"."):
        training.train(nim, config, folder, progress=False)
    assert not folder.exists()


def test_what_no_agent_can_play_is_refused_when_it_is_saved(tmp_path):
    from gymnasium import spaces
    from stable_baselines3.common.policies import ActorCriticCnnPolicy, ActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from stable_baselines3.dqn.policies import QNetwork
    from torch import nn

    class Own(BaseFeaturesExtractor):
        def __init__(self, space):
            super().__init__(space, 3)
            self.layer = nn.Linear(space.shape[0], 3)

        def forward(self, observations):
            return self.layer(observations)

    box, actions = spaces.Box(0, 1, (5,), np.float32), spaces.Discrete(3)
    pixels = spaces.Box(0, 255, (3, 36, 36), np.uint8)
    network = QNetwork(box, actions, nn.Flatten(), 5)
    own = ActorCriticPolicy(box, actions, lambda _: 0.0, features_extractor_class=Own)
    cnn = ActorCriticCnnPolicy(pixels, actions, lambda _: 0.0)
    for policy, message in ((network, "QNetwork cannot be played"), (own, "extractor Own"), (cnn, "agents play flat")):
        with pytest.raises(PolicyFileError, match=message):
            save_policy(policy, tmp_path / "policy.safetensors")
    assert not (tmp_path / "policy.safetensors").exists()


def test_the_progress_bar_is_one_line_of_80_columns():
    import io
    from types import SimpleNamespace

    from rich.console import Console

    report = Report(123_456_789)
    report.model = SimpleNamespace(ep_info_buffer=[], _num_timesteps_at_start=0, num_timesteps=0)
    report._began = (0.0, 0)
    scores = [
        SimpleNamespace(seat="all", opponent=f"an_agent_with_a_long_name_{k}", score=0.987, mean_return=0.9)
        for k in range(4)
    ]
    report.evaluated(scores)
    report.num_timesteps = 98_765_432
    assert "98.8M of 123M steps" in report.brief()
    assert "best 99 %" in report.brief()
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    report._bar.update(report._task, completed=report.num_timesteps, description=report.brief())
    console.print(report._bar.make_tasks_table(report._bar.tasks))
    lines = console.file.getvalue().rstrip("\n").splitlines()
    assert len(lines) == 1
    assert "80 %" in lines[0]
    assert "best 99 %" in lines[0]


def test_a_pool_exchanges_opponents_between_games_only_and_goes_on_to_the_byte(tmp_path, monkeypatch):
    nim, within = game("toy_nim"), []
    original = Pool.act_in

    def watched(pool, games, seat, views, legal):
        for number in games.tolist():
            known = pool.__dict__.setdefault("seen", {})
            episode = int(pool._seeds[number])
            within.append(known.setdefault((number, episode), pool.playing[number]) is pool.playing[number])
        return original(pool, games, seat, views, legal)

    monkeypatch.setattr(Pool, "act_in", watched)
    settings = {"snapshot_every": 128, "opponents": ["pool", "random"], "total_steps": 1024, "checkpoint_every": 256}
    config = config_of("maskable_ppo", nim, **settings, pool={"keep": 3})
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    training.train(nim, config, straight, progress=False)
    assert len(within) > 500
    assert all(within)
    monkeypatch.undo()
    model = training.load_checkpoint(straight / training.CHECKPOINT)
    (pool,) = [agent for agent in model.get_env().games.opponents if isinstance(agent, Pool)]
    assert len(pool.members) == 3
    assert pool.members[0].steps == 0
    assert sum(member.games for member in pool.members) > 10
    rows = (straight / "pool.csv").read_text().splitlines()
    assert rows[0] == "steps,opponent,games,score"
    assert len(rows) > 6

    saves, save = [], training.save_checkpoint

    def save_and_stop(model, path):
        save(model, path)
        saves.append(path)
        if len(saves) == 2:
            raise Stopped

    monkeypatch.setattr(training, "save_checkpoint", save_and_stop)
    with pytest.raises(Stopped):
        training.train(nim, config, stopped, progress=False)
    monkeypatch.undo()
    training.train(nim, config, stopped, progress=False)
    ours, theirs = load_file(stopped / "policy.safetensors"), load_file(straight / "policy.safetensors")
    assert all(torch.equal(ours[key], theirs[key]) for key in theirs)


def test_a_pool_draws_as_its_weights_say():
    ruleset = game("toy_nim").ruleset()

    def drawn(progress=0.0, **weights):
        pool = Pool(ruleset, 1, weights, power=1.0, seed=1)
        pool.progress = progress
        # The learner beats the first three times in four and always loses to the second.
        pool.members = [Member(0, None, 96, 73), Member(1, None, 96, 0), Member(2, None, 96, 98)]
        found = [pool.drawn(pool._generator).steps for _ in range(3000)]
        return np.bincount(found, minlength=3) / 3000

    assert drawn(latest=1.0).tolist() == [0, 0, 1]
    assert drawn(uniform=1.0) == pytest.approx([1 / 3] * 3, abs=0.04)
    # 1 - score with the prior of four draws: 0.25, 0.98, 0.0.
    assert drawn(prioritised=1.0) == pytest.approx([0.25 / 1.23, 0.98 / 1.23, 0.0], abs=0.04)
    assert drawn(latest=1.0, uniform=1.0)[2] == pytest.approx(2 / 3, abs=0.04)
    assert drawn(latest=[1.0, 0.0], uniform=[0.0, 1.0])[2] == 1  # from, to
    assert drawn(0.5, latest=[1.0, 0.0], uniform=[0.0, 1.0])[2] == pytest.approx(2 / 3, abs=0.04)
    assert drawn(latest=1.0, anchors=9.0, exploiters=9.0).tolist() == [0, 0, 1]  # there are none


@pytest.mark.slow  # ten seconds: two runs with four exploiters
def test_anchors_and_exploiters_join_the_pool_and_a_killed_run_ends_with_the_same_bytes(tmp_path, monkeypatch):
    nim = game("toy_nim")
    pool = {
        "keep": 3, "anchors": [1.0, 0.5], "agents": ["random"], "exploiters": 1.0, "exploiter_every": 512, "exploiter_steps": 256,
    }  # fmt: skip
    settings = {"snapshot_every": 256, "opponents": ["pool"], "total_steps": 1536, "checkpoint_every": 512}
    evaluation = {"against": ["random"], "games": 16, "every": 384}
    config = config_of("maskable_ppo", nim, **settings, pool=pool, evaluation=evaluation)
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    # Whether so short a training wins is left to chance elsewhere; here every exploiter joins.
    original = training._train_exploiter
    monkeypatch.setattr(training, "_EXPLOITER_GAMES", 20)
    monkeypatch.setattr(training, "play", lambda *given: dataclasses.replace(play(*given), low=0.6))
    training.train(nim, config, straight, progress=False)
    model = training.load_checkpoint(straight / training.CHECKPOINT)
    (found,) = [agent for agent in model.get_env().games.opponents if isinstance(agent, Pool)]
    assert [member.steps for member in found.exploiters] == [512, 1024]
    assert [member.label for member in found.anchors] == ["random"]
    assert all(member.games > 5 for member in [*found.anchors, *found.exploiters])
    steps, names, scores = payoff_matrix(straight)
    assert steps == [256, 512, 768, 1024, 1280]
    assert {"random", "exploiter 512"} <= set(names)
    assert np.nanmin(scores) >= 0
    assert np.nanmax(scores) <= 1
    assert (straight / "payoff.svg").stat().st_size > 1000

    def kill(game, config, policy, steps):
        if steps >= 1024:
            os.kill(os.getpid(), signal.SIGKILL)  # after rows were written that the last checkpoint does not know
        return original(game, config, policy, steps)

    monkeypatch.setattr(training, "_train_exploiter", kill)
    child = multiprocessing.get_context("fork").Process(
        target=training.train, args=(nim, config, killed), kwargs={"progress": False}
    )
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    monkeypatch.setattr(training, "_train_exploiter", original)
    training.train(nim, config, killed, progress=False)
    for name in ("policy.safetensors", "pool.csv", "curve.csv", "practice.csv", "payoff.svg"):
        assert (killed / name).read_bytes() == (straight / name).read_bytes(), name


def test_every_algorithm_has_settings_for_a_game():
    usual = load_config(game("toy_nim"))["total_steps"]
    shipped = {
        "maskable_ppo": "gogo", "ppo": "animal_shogi", "recurrent_ppo": "battleship_attack", "dqn": "bao", "qrdqn": "bao",
        "sac": "curling", "tqc": "curling", "crossq": "curling",
    }  # fmt: skip
    assert shipped.keys() == ALGORITHMS.keys()
    for algorithm, name in shipped.items():
        assert load_config(game(name), algorithm=algorithm)["total_steps"] != usual, algorithm
    assert load_config(game("animal_shogi"), algorithm="ppo")["opponents"] == ["random"]
    assert load_config(game("curling"), algorithm="ppo") == load_config(game("curling")) | {"algorithm": "ppo"}


def test_every_episode_is_seen_through_a_symmetry_of_the_board():
    ruleset = game("animal_shogi").ruleset()
    turning = Turning(ruleset, 16, seed=3)
    plain, turned = (ShapedVecEnv(ruleset, 16, threads=1, seed=5, turning=one) for one in (None, turning))
    seen, looked = plain.reset(), turned.reset()
    generator, images, ended = np.random.default_rng(2), set(), 0
    for _ in range(60):
        rows = turning.rows.copy()
        images.update(rows.tolist())
        assert all((looked[i] == seen[i][turning.turns.observation[rows[i]]]).all() for i in range(16))
        masks = turned.action_masks()
        actions = (masks * (1 - generator.random(masks.shape))).argmax(1)
        meant = np.array([turning.turns.actions[row, action] for row, action in zip(rows, actions)])
        assert plain.action_masks()[np.arange(16), meant].all()
        seen, rewards, dones, infos = plain.step(meant)
        looked, gained, over, told = turned.step(actions)
        assert (gained == rewards).all()
        assert (over == dones).all()
        assert (turning.rows == rows)[~dones].all()
        for i in np.flatnonzero(dones):
            last = infos[i]["terminal_observation"][turning.turns.observation[rows[i]]]
            assert (told[i]["terminal_observation"] == last).all()
            assert told[i]["end_reason"] != "illegal action"
            ended += 1
    assert images == {0, 1}
    assert ended > 20
    with pytest.raises(ConfigError, match="declares no symmetries"):
        load_config(game("toy_nim"), symmetry=True)
    with pytest.raises(ConfigError, match="or none for"):
        load_config(game("battleship"), symmetry=True, train_on={"game": "battleship"})
    mirrored = Turning(game("curling_discrete").ruleset(), 2, seed=0)
    mirrored.rows[:] = 0, 1
    view = np.linspace(-1, 1, mirrored.turns.observation.shape[1], dtype=np.float32)
    plain, other = mirrored.seen(np.stack([view, view]))
    assert (plain == view).all()
    assert (np.abs(other - view) > 1e-3).any()
    assert (mirrored.seen_one(1, other) == view).all()
    config = load_config(game("animal_shogi"), symmetry=True, num_envs=4)
    assert training.new_model(ruleset, config).get_env().turning is not None


def test_snapshots_draw_from_their_distribution_with_one_number():
    generator = np.random.default_rng(4)
    logits = (4 * generator.standard_normal(12)).astype(np.float32)
    logits[[0, 5, 11]] = -np.inf
    expected = np.exp(logits.astype(float) - logits.max())
    expected = 20_000 * expected / expected.sum()
    found = np.bincount(drawn(np.tile(logits, (20_000, 1)), generator.random(20_000)), minlength=12)
    likely = expected > 5
    assert found[np.isinf(logits)].sum() == 0
    assert chisquare(found[likely], expected[likely] * found[likely].sum() / expected[likely].sum()).pvalue > 0.001
    rows = np.where(generator.random((5000, 40)) < 0.2, generator.standard_normal((5000, 40)), -np.inf).astype(
        np.float32
    )
    rows = rows[np.isfinite(rows).any(1)]
    for number in (0.0, 1 - 2.0**-53):
        chosen = drawn(rows, np.full(len(rows), number))
        assert np.isfinite(rows[np.arange(len(rows)), chosen]).all()


def masked_pair(rows=2000, actions=37, seed=0):
    """The same masked distribution by sb3-contrib and by `MaskedChoice`, over the same logits, which take gradients."""
    torch.manual_seed(seed)
    logits = (torch.randn(rows, actions) * 4).requires_grad_()
    masks = torch.rand(rows, actions) < 0.3
    masks[torch.arange(rows), torch.randint(actions, (rows,))] = True
    pair = MaskableCategoricalDistribution(actions), MaskedChoice(actions)
    for each in pair:
        each.proba_distribution(logits).apply_masking(masks.numpy())
    return logits, masks, pair


def test_masked_choice_is_the_distribution_of_sb3_contrib():
    logits, _, (theirs, ours) = masked_pair()
    actions = theirs.sample()
    assert torch.allclose(theirs.log_prob(actions), ours.log_prob(actions), atol=1e-5)
    assert torch.allclose(theirs.entropy(), ours.entropy(), atol=1e-5)
    assert torch.equal(theirs.mode(), ours.mode())
    slopes = []
    for each in (theirs, ours):
        loss = (each.log_prob(actions) * torch.linspace(-1, 1, len(actions)) + each.entropy()).sum()
        slopes.append(torch.autograd.grad(loss, logits, retain_graph=True)[0])
    assert torch.allclose(*slopes, atol=1e-5)
    ours.apply_masking(None)
    theirs.apply_masking(None)
    assert torch.allclose(theirs.entropy(), ours.entropy(), atol=1e-5)


def test_masked_choice_draws_legal_actions_as_often_as_they_are_probable():
    torch.manual_seed(1)
    logits, masks = torch.tensor([[0.0, 1.0, 2.0, 5.0, -1.0]]), np.array([[1, 1, 1, 0, 1]])
    ours = MaskedChoice(5)
    ours.proba_distribution(logits.expand(200_000, -1)).apply_masking(np.repeat(masks, 200_000, 0))
    counts = np.bincount(ours.sample().numpy(), minlength=5)
    wanted = np.exp([0.0, 1.0, 2.0, -np.inf, -1.0])
    assert counts[3] == 0
    kept = wanted > 0
    assert chisquare(counts[kept], 200_000 * wanted[kept] / wanted.sum()).pvalue > 1e-3
    _, masks, (_, ours) = masked_pair(seed=2)
    for _ in range(200):
        assert bool(masks.gather(1, ours.sample()[:, None]).all())


def test_masks_of_all_games_reach_the_learner_without_a_loop(monkeypatch):
    """sb3-contrib stacks what `env_method` returns; a batch is stacked already."""
    env = SB3VecEnv("toy_nim", num_envs=6, seed=0)
    env.reset()
    masks = env.action_masks()
    monkeypatch.setattr(env, "action_masks", lambda: masks)
    stacked = get_action_masks(env)
    assert type(stacked) is np.ndarray
    assert np.shares_memory(stacked, masks)

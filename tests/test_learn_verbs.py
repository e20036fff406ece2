"""Other formats of policies, model cards, several seeds, tuning, exploiters, recorded games."""

from __future__ import annotations

import csv
import json
import multiprocessing
from pathlib import Path

import numpy as np
import pytest
import yaml
from test_algorithms import OFF_POLICY, config_of
from typer.testing import CliRunner

from asobiba import cli
from asobiba.core import Agent, game, make_agent
from asobiba.learn import training
from asobiba.learn.agent import PolicyAgent, load_policy
from asobiba.learn.algorithms import ALGORITHMS
from asobiba.learn.config import load_config
from asobiba.learn.exploiting import exploit
from asobiba.learn.export import export_onnx, export_zip
from asobiba.learn.policy_file import PolicyFileError
from asobiba.learn.run_evaluation import BEGIN, END
from asobiba.learn.seeds import interquartile_mean, train_seeds
from asobiba.learn.tuning import tune

KINDS = [(name, "toy_nim") for name, one in ALGORITHMS.items() if one.discrete] + [
    (name, "toy_push") for name, one in ALGORITHMS.items() if one.continuous
]


def fresh(name, played):
    """A policy with random weights."""
    declared = game(played)
    model = training.new_model(declared.ruleset(), config_of(name, declared))
    model.policy.set_training_mode(False)
    return declared.ruleset(), model.policy


def seen_by(ruleset, count):
    generator = np.random.default_rng(1)
    space = ruleset.observation_space
    observations = generator.uniform(np.maximum(space.low, -2), np.minimum(space.high, 2), (count, *space.shape))
    legal = generator.integers(0, 2, (count, ruleset.num_actions if ruleset.discrete else 0)).astype(np.int8)
    legal[:, :1] = 1
    return observations.astype(np.float32), legal


@pytest.mark.parametrize(("name", "played"), KINDS)
def test_onnx_plays_the_same_actions_and_a_zip_holds_the_same_policy(name, played, tmp_path):
    import onnxruntime

    ruleset, policy = fresh(name, played)
    observations, legal = seen_by(ruleset, 300)

    def chosen(one):
        agent = PolicyAgent(one)
        agent.reset(ruleset, 0, 0)
        return agent.choose(observations, legal)

    export_zip(policy, tmp_path / "policy.zip")
    again = load_policy(tmp_path / "policy.zip", trust=True)
    assert type(again) is type(policy)
    assert np.array_equal(chosen(again), chosen(policy))
    with pytest.raises(PolicyFileError, match="--trust sb3"):
        load_policy(tmp_path / "policy.zip")
    if ALGORITHMS[name].recurrent:
        with pytest.raises(PolicyFileError, match="remembers"):
            export_onnx(policy, tmp_path / "policy.onnx")
        return
    export_onnx(policy, tmp_path / "policy.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx", providers=["CPUExecutionProvider"])
    given = {"observation": observations, "mask": legal.astype(np.float32)}
    actions, *_ = session.run(None, {one.name: given[one.name] for one in session.get_inputs()})
    if ruleset.discrete:
        assert np.array_equal(actions, chosen(policy))
        assert len(set(actions.tolist())) > 1
    else:
        assert np.allclose(actions, chosen(policy), atol=1e-5)


def test_a_run_has_a_model_card_and_is_exported_by_command(tmp_path):
    nim, run = game("toy_nim"), tmp_path / "run"
    training.train(nim, config_of("ppo", nim), run, progress=False, command="asobiba train toy_nim")
    head, _, text = (run / "README.md").read_text(encoding="utf-8").removeprefix("---\n").partition("---\n")
    found = yaml.safe_load(head)
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    metric = found["model-index"][0]["results"][0]["metrics"][0]
    assert metric == {
        "type": "score",
        "name": "score against random",
        "value": round(record["evaluation"][0]["score"], 4),
    }
    assert "asobiba train toy_nim" in text
    for ending in (".onnx", ".zip", ".safetensors"):
        done = CliRunner().invoke(cli.app, ["export", str(run), str(tmp_path / f"policy{ending}")])
        assert done.exit_code == 0, done.output
        assert (tmp_path / f"policy{ending}").stat().st_size > 1000
    refused = CliRunner().invoke(cli.app, ["export", str(run), str(tmp_path / "policy.txt")])
    assert "expected one of .safetensors, .zip, .onnx" in str(refused.exception)


def test_a_run_is_evaluated_again_and_its_record_and_page_follow(tmp_path):
    nim, run = game("toy_nim"), tmp_path / "run"
    training.train(nim, config_of("ppo", nim), run, progress=False, command="asobiba train toy_nim")
    before = json.loads((run / "run.json").read_text(encoding="utf-8"))
    output = tmp_path / "found.json"

    def evaluate(*words):
        return CliRunner().invoke(cli.app, ["evaluate", *map(str, words)])

    done = evaluate(run, "-n", 60, "--seed", 5, "--write", "-o", output)
    assert done.exit_code == 0, done.output
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    found = json.loads(output.read_text(encoding="utf-8"))
    assert [row["opponent"] for row in found] == [row["opponent"] for row in before["evaluation"]] == ["random"]
    games = {"game": nim.id, "parameters": {**nim.ruleset().parameters, "opening_plies": 2}, "seed": 5}
    assert [{**games, **row} for row in record["evaluation"]] == [
        {**row, "agent": "sb3:policy.safetensors"} for row in found
    ]
    assert (record["evaluation"][0]["games"], record["evaluated"]["seed"]) == (60, 5)
    assert {name: record[name] for name in ("command", "steps", "versions")} == {
        name: before[name] for name in ("command", "steps", "versions")
    }
    page = run / "README.md"
    card = page.read_text(encoding="utf-8")
    assert card.startswith("---\nlibrary_name: asobiba\n")
    assert f"| random | 60 | {found[0]['distinct']} | {found[0]['score']:.3f} |" in card
    # A page by hand keeps its text; with two opponents, a line for each.
    page.write_text("\n".join(["# A page", BEGIN, "an old table", END, "Said by hand."]), encoding="utf-8")
    done = evaluate(run, "-n", 8, "-a", "bouton", "-a", "random", "--write")
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# A page\n")
    assert text.endswith("\nSaid by hand.")
    assert "an old table" not in text
    assert text.index("| bouton | 8 |") < text.index("| random | 8 |")
    for words, told in (
        ((run, "-p", "heaps=3"), "its own parameters"),
        (("toy_nim", "bouton", "--write"), "run folder alone"),
        ((tmp_path,), "no run folder"),
    ):
        assert told in str(evaluate(*words).exception)


def test_the_interquartile_mean_leaves_out_the_best_and_the_worst_quarter():
    middle, low, high = interquartile_mean([0.0, 0.5, 0.5, 0.6, 0.7, 0.7, 0.8, 1.0])
    assert middle == pytest.approx((0.5 + 0.6 + 0.7 + 0.7) / 4)
    assert low < middle < high
    assert interquartile_mean([0.3]) == pytest.approx((0.3, 0.3, 0.3))


def test_the_interquartile_mean_is_that_of_rliable():
    """See tests/rliable_fixture.py. Both bootstraps draw their own runs: rliable 50,000 times, this one 2,000."""
    found = json.loads((Path(__file__).parent / "data" / "rliable_iqm.json").read_text(encoding="utf-8"))
    for row in found:
        middle, low, high = interquartile_mean(row["scores"])
        assert middle == pytest.approx(row["mean"], abs=1e-12)
        assert (low, high) == pytest.approx((row["low"], row["high"]), abs=0.02)
    assert max(row["high"] - row["low"] for row in found) > 0.5


def test_several_seeds_are_trained_and_summarised(tmp_path, monkeypatch):
    # Forked workers have the toys' games compiled; the command's are spawned.
    monkeypatch.setattr(multiprocessing, "get_context", lambda _: multiprocessing.context.ForkContext())
    nim, told = game("toy_nim"), []
    config = config_of("ppo", nim, evaluation={"against": ["random"], "games": 40, "every": 256})
    train_seeds(nim, config, tmp_path, 2, "", told.append, False)
    assert len(told) == 2
    scores = [json.loads((tmp_path / f"seed-{k}" / "run.json").read_text())["evaluation"][0]["score"] for k in (0, 1)]
    rows = list(csv.DictReader((tmp_path / "seeds.csv").open(encoding="utf-8")))
    assert [row["runs"] for row in rows] == ["2", "2"]
    assert float(rows[-1]["score"]) == pytest.approx(np.mean(scores), abs=1e-4)


def test_a_study_goes_on_and_its_best_values_are_a_configuration(tmp_path, monkeypatch):
    import optuna

    nim = game("toy_nim")
    changes = {
        "num_envs": 8, "threads": 1, "total_steps": 512, "evaluation": {"against": ["random"], "games": 8, "every": 10**6},
    }  # fmt: skip
    said = []
    tune(nim, tmp_path, trials=2, changes=changes, say=said.append)
    best = tune(nim, tmp_path, trials=3, changes=changes, say=said.append)
    assert [line.partition(":")[0] for line in said] == ["trial 0", "trial 1", "trial 2"]
    (name,) = optuna.get_all_study_names(f"sqlite:///{tmp_path / 'study.db'}")
    study = optuna.load_study(study_name=name, storage=f"sqlite:///{tmp_path / 'study.db'}")
    assert len(study.trials) == 3
    config = load_config(nim, best)
    assert config["learner"]["learning_rate"] == study.best_trial.params["learning_rate"]
    assert config["evaluation"]["every"] == 10**6
    straight = tmp_path / "straight"  # the same trials, not interrupted
    tune(nim, straight, trials=3, changes=changes, say=said.append)
    other = optuna.load_study(study_name=name, storage=f"sqlite:///{straight / 'study.db'}")
    assert [trial.params for trial in other.trials] == [trial.params for trial in study.trials]


def test_tuning_and_several_seeds_as_commands(tmp_path, monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_context", lambda _: multiprocessing.context.ForkContext())
    small = ["num_envs=8", "threads=1", "learner.n_steps=16", "learner.batch_size=64", "evaluation.games=8"]
    settings = [word for text in (*small, "evaluation.every=256") for word in ("--set", text)]

    def call(*words):
        done = CliRunner().invoke(cli.app, [*map(str, words)])
        assert done.exit_code == 0, (done.output, done.exception)
        return done.output

    study, runs = tmp_path / "study", tmp_path / "runs"
    tuned = ["tune", "toy_nim", "--algo", "ppo", "--steps", 512, "-o", study, *settings[:4], *settings[-4:]]
    assert f"Written: {study / 'best.yml'}" in call(*tuned, "--trials", 1)
    assert "trial 1: " in call(*tuned, "--trials", 2)
    trained = ["--algo", "ppo", "--config", study / "best.yml", "--steps", 256, "-o", runs]
    assert "seed 1: " in call("train", "toy_nim", *trained, "--seeds", 2)
    assert load_config(game("toy_nim"), runs / "seed-1" / "config.yml")["seed"] == 1
    assert (runs / "seeds.csv").stat().st_size > 50


def test_hopeless_trials_are_given_up(tmp_path):
    from asobiba.learn import tuning

    nim, values = game("toy_nim"), iter([0.9] * 20 + [0.1] * 5)
    changes = {
        "num_envs": 8, "threads": 1, "total_steps": 512, "evaluation": {"against": ["random"], "games": 4, "every": 10**6},
        "learner": OFF_POLICY,
    }  # fmt: skip
    original = tuning.value_of
    tuning.value_of = lambda results: next(values, 0.1)
    try:
        said = []
        tune(nim, tmp_path, trials=6, algorithm="dqn", changes=changes, say=said.append)
    finally:
        tuning.value_of = original
    assert "trial 5: given up" in said
    assert not (tmp_path / "trial-5").exists()


def nim_with_a_weakness(weak):
    """Plays Bouton's strategy; `weak`: but answers one position, (1, 1, 3), by a blunder."""

    class Player(Agent):
        name = "nim"

        def reset(self, ruleset, seat, seed):
            pass

        def act(self, view, legal):
            return int(self.act_batch(np.array([view]), legal[None])[0])

        def act_batch(self, views, legal):
            return np.array(
                [self.answer(view["heaps"].astype(int), mask) for view, mask in zip(views, legal, strict=True)]
            )

        def answer(self, heaps, mask):
            if weak and heaps.tolist() == [1, 1, 3]:
                return 2 * 5  # leaves (1, 1, 2), where it takes the whole heap and wins
            total = np.bitwise_xor.reduce(heaps)
            for heap, stones in enumerate(heaps):
                if (rest := total ^ stones) < stones:
                    return heap * 5 + stones - rest - 1
            return int(np.flatnonzero(mask)[0])

    return Player()


def test_an_exploiter_finds_a_planted_weakness_and_nothing_where_there_is_none():
    """From (1, 2, 3), whose sum is zero, the first player loses to Bouton's strategy, whatever he does."""
    ruleset, found = game("toy_nim").ruleset(), []
    learner = {"n_steps": 32, "batch_size": 256, "n_epochs": 4, "learning_rate": 1e-3, "ent_coef": 0.05}
    for weak in (False, True):
        settings = {"num_envs": 32, "threads": 1, "seat": "first", "learner": learner}
        agent = ("nim", nim_with_a_weakness(weak))
        found.append(exploit(ruleset, agent, 24_000, games=20, plies=0, seed=1, **settings))
    assert [result.seats[0].score for result in found] == [0.0, 1.0]
    assert "24,000 decisions" in found[0].agent


def test_an_exploiter_of_a_kuhn_poker_player_reaches_the_best_answer():
    """Against who always bets, the best answer folds the jack, is indifferent with the queen and wins two with the king:
    (-1 + 0 + 2) / 3 from both seats, in each of two hands.
    """
    kuhn = game("toy_kuhn")
    settings = {"num_envs": 32, "threads": 1, "learner": {"n_steps": 32, "batch_size": 256, "learning_rate": 3e-3}}
    found = exploit(kuhn.ruleset(), ("bold", make_agent(kuhn, "bold")), 10_000, games=1200, seed=2, **settings)
    assert abs(found.mean_return - 2 / 3) < 1.5 * found.return_half_width


def test_recorded_games_are_loaded_back_by_minari(tmp_path, monkeypatch):
    import minari

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    arguments = [
        "evaluate",
        "toy_nim",
        "bouton",
        "-a",
        "random",
        "-n",
        "20",
        "--openings",
        "0",
        "--record",
        "nim/bouton",
    ]
    done = CliRunner().invoke(cli.app, [*arguments, "-o", str(tmp_path / "found.json")])
    assert done.exit_code == 0, done.output
    (row,) = json.loads((tmp_path / "found.json").read_text())
    ruleset, total = game("toy_nim").ruleset(), 0.0
    for seat, label in enumerate(ruleset.players):
        data = minari.load_dataset(f"nim/bouton-0/{label}-v0")
        assert data.observation_space == ruleset.observation_space
        episodes = list(data.iterate_episodes())
        assert len(episodes) == 10
        assert np.mean([episode.rewards.sum() > 0 for episode in episodes]) == row["seats"][seat]["score"]
        total += sum(episode.rewards.sum() for episode in episodes)
        for episode in episodes:
            assert len(episode.observations) == len(episode.actions) + 1
            assert not episode.truncations.any()
            masks = episode.infos["action_mask"]
            assert (masks[np.arange(len(episode.actions)), episode.actions] == 1).all()
            # The observation shows the stones that the mask lets be taken.
            assert np.array_equal(episode.observations[:-1] > 0, masks[:-1] > 0)
    assert total / 20 == pytest.approx(row["mean_return"])

"""Runs of learning by search: what they leave, what they refuse before a folder is touched, several seeds."""

from __future__ import annotations

import csv
import json
import multiprocessing
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from asobiba import cli
from asobiba.core import AsobibaError, registry
from asobiba.learn import hub
from asobiba.learn.config import ConfigError, load_config
from asobiba.learn.seeds import interquartile_mean

expert = pytest.importorskip("asobiba.learn.expert")
SMALL: dict[str, Any] = {
    "rounds": 3, "games": 16, "simulations": 4, "length": 20, "width": 16, "threads": 1, "batch_size": 32, "window": 500,
    "evaluation": {"games": 8, "every": 2, "openings": 1, "simulations": [0, 4]},
}  # fmt: skip


def nim(**changes):
    return load_config(registry.game("toy_nim"), algorithm="gumbel_az", **{**SMALL, **changes})


def trained(folder, config, **settings):
    return expert.train(registry.game("toy_nim"), config, folder, say=lambda _: None, **settings)


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def call(*words):
    return CliRunner().invoke(cli.app, [str(word) for word in words])


def settings_of(**changes):
    """The words of a command that gives these hyperparameters."""
    flat = {f"evaluation.{k}": v for k, v in SMALL["evaluation"].items()} | {
        k: v for k, v in SMALL.items() if k not in ("evaluation", "rounds")
    }
    return [word for name, value in (flat | changes).items() for word in ("--set", f"{name}={value}")]


@pytest.mark.parametrize(("every", "rounds"), [(2, ["2", "2", "3", "3"]), (3, ["3", "3"]), (100, ["3", "3"])])
def test_a_curve_ends_with_the_last_evaluation_and_a_finished_run_ends_once_more(every, rounds, tmp_path):
    config = nim(evaluation={**SMALL["evaluation"], "every": every})
    trained(tmp_path, config)
    found = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.name != "checkpoint.pt"}
    curve = rows_of(tmp_path / "curve.csv")
    assert [row["round"] for row in curve] == rounds
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    for row, figures in zip(curve[-2:], record["evaluation"], strict=True):
        assert row["simulations"] == str(figures["simulations"])
        assert float(row["score"]) == pytest.approx(figures["score"], abs=1e-4)
    assert b"random, the network alone" in found["curve.svg"]
    assert b"random, 4 simulations" in found["curve.svg"]
    trained(tmp_path, config)
    assert {name: (tmp_path / name).read_bytes() for name in found} == found


def test_a_run_has_all_that_the_hub_is_sent_and_its_card_trains_it_again(tmp_path):
    run, again = tmp_path / "run", tmp_path / "again"
    done = call("train", "toy_nim", "--algo", "gumbel_az", "--steps", 3, "-o", run, *settings_of())
    assert done.exit_code == 0, (done.output, done.exception)
    assert {*hub.NEEDED, "curve.csv", "learning.csv", "curve.svg"} <= {file.name for file in run.iterdir()}
    head, _, text = (run / "README.md").read_text(encoding="utf-8").removeprefix("---\n").partition("---\n")
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    metrics = yaml.safe_load(head)["model-index"][0]["results"][0]["metrics"]
    assert [metric["value"] for metric in metrics] == [round(row["score"], 4) for row in record["evaluation"]]
    assert metrics[1]["name"] == "score against random, 4 simulations"
    assert f"3 rounds of self-play, {record['positions']:,} positions" in text
    commands = [line.split("#")[0].split()[1:] for line in text.splitlines() if line.startswith("    asobiba ")]
    assert [words[0] for words in commands] == ["enjoy", "evaluate", "evaluate", "train"]
    for words in commands:
        given = [str(run / word) if word == "policy.safetensors" else word for word in words]
        given = [word.replace("=policy.", f"={run}/policy.").replace(":policy.", f":{run}/policy.") for word in given]
        given = [{"FOLDER": str(again), "config.yml": str(run / "config.yml")}.get(word, word) for word in given]
        done = call(*given, *(["-n", 4] if words[0] == "evaluate" else []))
        assert done.exit_code == 0, (given, done.output, done.exception)
    assert (again / "policy.safetensors").read_bytes() == (run / "policy.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("game", "changes", "message"),
    [
        ("battleship", {}, "its players do not see everything"),
        ("curling", {}, "its actions are continuous"),
        ("toy_nim", {"start": "/nowhere/policy.safetensors"}, "nowhere"),
        ("toy_nim", {"evaluation": {"against": ["nobody_of_that_name"]}}, "nobody_of_that_name"),
        ("toy_nim", {"parameters": {"no_such": 3}}, "no_such"),
    ],
)
def test_what_is_wrong_is_found_before_a_folder_is_touched(game, changes, message, tmp_path):
    declared = registry.game(game)
    config = load_config(declared, algorithm="gumbel_az", **{"games": 4, "window": 100, **changes})
    with pytest.raises((AsobibaError, FileNotFoundError), match=message):
        expert.train(declared, config, tmp_path / "run", say=lambda _: None)
    assert not (tmp_path / "run").exists()


def test_weights_of_another_network_are_refused_before_the_folder_is_touched(tmp_path):
    start = trained(tmp_path / "first", nim(rounds=1))
    with pytest.raises(ConfigError, match="another network than width, depth and steps describe"):
        trained(tmp_path / "second", nim(width=17, start=str(start)))
    assert not (tmp_path / "second").exists()
    trained(tmp_path / "second", nim(rounds=1, start=str(start)))
    assert "beginning with the weights" in (tmp_path / "second" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evaluation": {"every": 0}}, "evaluation.every is 0; expected at least 1"),
        ({"evaluation": {"against": "random"}}, "expected a list of agents"),
        ({"evaluation": {"simulations": []}}, "expected a list of whole numbers"),
        ({"evaluation": {"simulations": [-1]}}, "expected a list of whole numbers"),
        ({"weight_decay": -1.0}, "weight_decay is -1.0; expected a number from 0"),
        ({"reuse": "much"}, "reuse is 'much'; expected a number from 0"),
        ({"result_share": 1.5}, "result_share is 1.5; expected a number from 0 to 1"),
    ],
)
def test_settings_that_no_run_can_have(changes, message):
    with pytest.raises(ConfigError, match=message):
        load_config(registry.game("toy_nim"), algorithm="gumbel_az", **changes)


def test_options_work_or_are_refused_by_name(tmp_path):
    run = tmp_path / "run"
    command = ["train", "toy_nim", "--algo", "gumbel_az", "--steps", 2, "-o", run, *settings_of()]
    for option in (["--track", "wandb"], ["--device", "cuda"]):
        refused = call(*command, *option)
        assert isinstance(refused.exception, ConfigError)
        assert "gumbel_az" in str(refused.exception)
        assert not run.exists()
    done = call(*command, "--trust", "--no-resume")
    assert done.exit_code == 0, (done.output, done.exception)
    before = {file.name: file.read_bytes() for file in run.iterdir()}
    refused = call(*command, "--no-resume")
    assert "already holds a run" in str(refused.exception)
    assert {file.name: file.read_bytes() for file in run.iterdir()} == before


def test_several_seeds_are_trained_by_search(tmp_path, monkeypatch):
    # Forked workers have the toys' games compiled; the command's are spawned.
    monkeypatch.setattr(multiprocessing, "get_context", lambda _: multiprocessing.context.ForkContext())
    runs = tmp_path / "runs"
    command = ["train", "toy_nim", "--algo", "gumbel_az", "--steps", 3, "-o", runs, *settings_of(seed=4)]
    done = call(*command, "--seeds", 3)
    assert done.exit_code == 0, (done.output, done.exception)
    assert "seed 6: " in done.output
    policies = {(runs / f"seed-{k}" / "policy.safetensors").read_bytes() for k in (4, 5, 6)}
    assert len(policies) == 3
    rows = rows_of(runs / "seeds.csv")
    assert [(row["round"], row["simulations"], row["runs"]) for row in rows] == [
        (number, searched, "3") for number in ("2", "3") for searched in ("0", "4")
    ]
    curves = [rows_of(runs / f"seed-{k}" / "curve.csv") for k in (4, 5, 6)]
    for row, *own in zip(rows, *curves, strict=True):
        middle, low, high = interquartile_mean([float(one["score"]) for one in own])
        assert [float(row[name]) for name in ("score", "low", "high")] == pytest.approx([middle, low, high], abs=1e-4)
    assert b"random, 4 simulations" in (runs / "seeds.svg").read_bytes()
    refused = call(*command, "--seeds", 4, "--no-resume")
    assert "seed-4 already holds a run" in str(refused.exception)
    assert not (runs / "seed-7").exists()

"""Experiment trackers: what they get, and that a run goes on where it was stopped."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from layers import python_with, run_in
from test_algorithms import config_of

from asobiba.core import game
from asobiba.core.errors import MissingExtra
from asobiba.learn import tracking, training

EVALUATION = {"against": ["random"], "games": 8, "every": 128}


class Lines(tracking.Tracker):
    """Keeps what it gets."""

    begun: list = []  # noqa: RUF012
    got: list = []  # noqa: RUF012
    ended = 0

    def begin(self, run, name, config):
        Lines.begun.append((run, name, config["game"], config["learner"]["n_steps"]))
        return run or "run-1"

    def log(self, numbers, step):
        Lines.got.append((step, numbers))

    def close(self):
        Lines.ended += 1


class Stopped(Exception):
    pass


def test_a_tracker_gets_what_tensorboard_gets_and_a_stopped_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setitem(tracking.TRACKERS, "lines", tracking._Kind("json", "lines", Lines))
    nim, folder = game("toy_nim"), tmp_path / "run"
    config = config_of("maskable_ppo", nim, evaluation=EVALUATION)

    def stop(steps, results):
        if steps >= 256:
            raise Stopped

    with pytest.raises(Stopped):
        training.train(nim, config, folder, progress=False, watch=stop, track=["lines", "tensorboard"])
    assert Lines.ended == 1
    training.train(nim, config, folder, progress=False, track=["lines", "tensorboard"])
    assert [run for run, *_ in Lines.begun] == [None, "run-1"]
    assert Lines.begun[0][1:] == ("run", nim.id, 16)
    assert Lines.ended == 2
    assert json.loads((folder / "tracking.json").read_text()) == {"lines": "run-1"}
    steps = [step for step, _ in Lines.got]
    assert steps[-1] == 512
    names = {name for _, numbers in Lines.got for name in numbers}
    assert {"rollout/ep_rew_mean", "evaluation/score_random", "train/loss", "train/entropy_loss"} <= names
    assert all(isinstance(value, float) for _, numbers in Lines.got for value in numbers.values())
    assert list((folder / "tensorboard").rglob("events.out.tfevents*"))


@pytest.mark.parametrize("name", list(tracking.TRACKERS))
def test_a_tracker_that_is_not_installed_is_named_before_the_folder_is_touched(name, tmp_path, monkeypatch):
    nim = game("toy_nim")
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'asobiba\[{name}\]'"):
        training.train(nim, config_of("maskable_ppo", nim), tmp_path / "run", progress=False, track=[name])
    with pytest.raises(tracking.TrackerError, match=r"there are: tensorboard, wandb, mlflow, trackio"):
        training.train(nim, config_of("maskable_ppo", nim), tmp_path / "run", progress=False, track=["comet"])
    assert not (tmp_path / "run").exists()


TRAIN = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {toys!r}]
from test_algorithms import config_of
from asobiba.core import game
from asobiba.learn import training
nim, folder = game("toy_nim"), Path("nim-0")
config = config_of("maskable_ppo", nim, evaluation={evaluation!r})
def stop(steps, results):
    if steps >= 256:
        raise KeyError
try:
    training.train(nim, config, folder, progress=False, watch=stop, track=[{name!r}])
except KeyError:
    training.train(nim, config, folder, progress=False, track=[{name!r}])
"""
READ = {
    "wandb": """
import glob, json, struct
from wandb.proto import wandb_internal_pb2

def records(data):  # LevelDB's log format: blocks of 32 KiB with whole records (1) or first, middle, last parts (2, 3, 4)
    place, whole = 7, b""
    while place + 7 <= len(data):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        _, size, kind = struct.unpack_from("<IHB", data, place)
        whole += data[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):
            yield whole
            whole = b""

runs, found = set(), {}
for file in sorted(glob.glob("nim-0/wandb/offline-run-*/*.wandb")):
    for data in records(open(file, "rb").read()):
        record = wandb_internal_pb2.Record(); record.ParseFromString(data)
        if record.WhichOneof("record_type") == "run":
            runs.add(record.run.run_id)
        if record.WhichOneof("record_type") == "history":
            row = {"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in record.history.item}
            step = row.get("_step", record.history.step.num)
            for name, value in row.items():
                found.setdefault(name, {})[step] = value
""",
    "mlflow": """
import mlflow
client = mlflow.MlflowClient()
(run,) = client.search_runs([client.get_experiment_by_name("asobiba").experiment_id])
runs = {run.info.run_id}
assert run.info.status == "FINISHED" and run.data.params["learner.n_steps"] == "16", run
found = {n: {m.step: m.value for m in client.get_metric_history(run.info.run_id, n)} for n in run.data.metrics}
""",
    "trackio": """
from trackio.sqlite_storage import SQLiteStorage
runs = set(SQLiteStorage.get_runs("asobiba"))
found = {}
for row in SQLiteStorage.get_logs("asobiba", "nim-0"):
    for name, value in row.items():
        found.setdefault(name, {})[row["step"]] = value
""",
}
SHOW = """
import json
print(json.dumps({"runs": sorted(runs), "steps": sorted(found["rollout/ep_rew_mean"]), "score": sorted(found["evaluation/score_random"])}))
"""
PACKAGES = {"wandb": ("wandb",), "mlflow": ("mlflow-skinny",), "trackio": ("trackio>=0.20",)}


@pytest.mark.slow  # installs the tracker
@pytest.mark.parametrize("name", list(PACKAGES))
def test_the_trackers_themselves_hold_one_run_without_the_network(name, tmp_path):
    python = python_with(*PACKAGES[name])
    variables = {
        "WANDB_MODE": "offline",
        "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db",
        "TRACKIO_DIR": f"{tmp_path}/trackio",
    }
    tests = Path(__file__).parent
    script = TRAIN.format(tests=str(tests), toys=str(tests / "toys"), evaluation=EVALUATION, name=name)
    run_in(python, "-c", script, cwd=tmp_path, **variables)
    found = json.loads(run_in(python, "-c", READ[name] + SHOW, cwd=tmp_path, **variables).splitlines()[-1])
    assert len(found["runs"]) == 1
    assert found["steps"][-1] == 512
    assert len(found["score"]) >= 2

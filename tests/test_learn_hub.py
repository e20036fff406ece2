"""Runs that are sent to the Hugging Face Hub and fetched from it: huggingface_hub itself, against a hub on this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from layers import python_with, run_in
from typer.testing import CliRunner

from asobiba import cli
from asobiba.core.errors import MissingExtra
from asobiba.learn import hub

SCRIPT = """
import json, os, sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {toys!r}]
import hub_stub
os.environ |= {{"HF_ENDPOINT": hub_stub.serve(), "HF_TOKEN": hub_stub.TOKEN}}
from test_algorithms import config_of
from typer.testing import CliRunner
from asobiba import cli
from asobiba.core import game
from asobiba.learn import hub, training

def call(*words):
    done = CliRunner().invoke(cli.app, [str(word) for word in words])
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done.output

nim = game("toy_nim")
training.train(nim, config_of("maskable_ppo", nim), "run", progress=False)
told = {{"sent": call("hub", "push", "run", "tester/nim", "-m", "first")}}
call("hub", "push", "run", "tester/nim")  # a repository that exists
told["pulled"] = call("hub", "pull", "tester/nim")
folder = Path("runs/hub/tester-nim")
told["files"] = sorted(file.name for file in folder.iterdir())
told["same"] = all((folder / name).read_bytes() == (Path("run") / name).read_bytes() for name in told["files"])
told["enjoyed"] = call("enjoy", folder)
policy = f"sb3:{{folder / 'policy.safetensors'}}"
call("evaluate", "toy_nim", policy, "-a", "random", "-n", 10)
call("match", "toy_nim", policy, "random", "-n", 4)
small = ["rounds=2", "games=8", "simulations=4", "length=20", "width=16", "threads=1", "evaluation.games=4"]
settings = [word for text in small for word in ("--set", text)]
call("train", "toy_nim", "--algo", "gumbel_az", "-o", "searched", *settings)
call("hub", "push", "searched", "tester/searched")
call("hub", "pull", "tester/searched")
folder = Path("runs/hub/tester-searched")
told["by search"] = sorted(file.name for file in folder.iterdir())
told["same"] &= all((folder / name).read_bytes() == (Path("searched") / name).read_bytes() for name in told["by search"])
call("enjoy", folder)
hub_stub.REPOSITORIES["tester/pickled"] = {{"model.zip": b"PK", "README.md": b"a model of SB3"}}
hub_stub.REPOSITORIES["tester/nim"]["checkpoint.zip"] = b"PK"  # beside a policy: left where it is
told["errors"] = []
for words in (("tester/pickled", "other"), ("tester/none", "other"), ("tester/nim", "run")):
    try:
        hub.pull(*words)
    except hub.HubError as error:
        told["errors"].append(str(error))
told["again"] = sorted(file.name for file in hub.pull("tester/nim", "again").iterdir())
os.environ["HF_TOKEN"] = "hf_wrong"
try:
    hub.push("run", "tester/nim")
except hub.HubError as error:
    told["errors"].append(str(error))
told["seen"] = hub_stub.SEEN
print(json.dumps(told))
"""


@pytest.mark.slow  # installs huggingface_hub
def test_a_run_is_sent_and_fetched_and_plays(tmp_path):
    tests = Path(__file__).parent
    script = SCRIPT.format(tests=str(tests), toys=str(tests / "toys"))
    python = python_with("huggingface_hub")
    # The stub speaks LFS's basic transfer; the hub's own, Xet, is a service apart.
    told = json.loads(
        run_in(python, "-c", script, cwd=tmp_path, HF_HOME=str(tmp_path / "home"), HF_HUB_DISABLE_XET="1")
    )
    assert set(hub.NEEDED) < set(told["files"]) <= set(hub.FILES)
    assert {*hub.NEEDED, "curve.csv", "learning.csv", "curve.svg"} == set(told["by search"])
    assert "checkpoint.zip" not in told["again"]
    assert told["same"]
    assert told["again"] == told["files"]
    assert any(line.startswith("PUT /lfs/") for line in told["seen"])
    pickled, unknown, full, unauthorised = told["errors"]
    assert "model.zip may hold pickles, which are refused" in pickled
    assert "404" in unknown
    assert "run is not empty" in full
    assert "401" in unauthorised


def test_what_is_no_finished_run_is_not_sent(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"pip install 'asobiba\[hub\]'"):
        hub.pull("tester/nim", tmp_path / "pulled")
    monkeypatch.setitem(sys.modules, "huggingface_hub", object())
    with pytest.raises(hub.HubError, match="holds pickles"):
        hub.push(tmp_path / "model.zip", "tester/nim")
    (tmp_path / "policy.safetensors").touch()
    with pytest.raises(hub.HubError, match=r"it has no README.md, config.yml, run.json"):
        hub.push(tmp_path, "tester/nim")
    assert "push" in CliRunner().invoke(cli.app, ["hub", "--help"]).output

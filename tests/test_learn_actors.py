"""Self-play on a Ray cluster: the policy is the same, whoever plays, and if a machine is lost."""

from __future__ import annotations

import json
import os
import signal

import pytest
from arena_tools import ENVIRONMENT
from typer.testing import CliRunner

from asobiba import cli
from asobiba.core import registry
from asobiba.learn.config import ConfigError, load_config

expert = pytest.importorskip("asobiba.learn.expert")
SMALL = {
    "rounds": 3, "games": 40, "simulations": 8, "length": 20, "width": 16, "threads": 1, "batch_size": 32, "window": 2000,
    "opponents": ["self", "pool", "bouton"], "snapshot_every": 1,
    "evaluation": {"games": 4, "every": 100, "openings": 1, "simulations": [4]},
}  # fmt: skip


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes of one CPU each, on this machine; the first one's learner plays on both."""
    import ray
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
    memory = {"object_store_memory": 100 << 20, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **memory})
    nodes.add_node(num_cpus=1, object_store_memory=100 << 20)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def trained(folder, cluster=None, **changes):
    game = registry.game("toy_nim")
    config = load_config(game, algorithm="gumbel_az", **{**SMALL, **changes})
    return expert.train(game, config, folder, say=lambda _: None, cluster=cluster).read_bytes()


def test_the_policy_is_the_same_with_any_number_of_actors_and_if_one_is_killed(tmp_path, cluster, monkeypatch):
    from asobiba.learn import actors

    alone = trained(tmp_path / "alone")
    assert trained(tmp_path / "one", actors.Cluster(1, cluster.address)) == alone
    assert trained(tmp_path / "two", actors.Cluster(2, cluster.address)) == alone
    dead, again = tmp_path / "dead", []
    player, repeat = actors._Player, actors._Units.again

    class Mortal(player):
        """Its process is killed once, while it has the last games of a round."""

        def play(self, unit, shared):
            if unit[0] == 32 and not dead.exists():
                dead.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return player.play(self, unit, shared)

    monkeypatch.setattr(actors, "_Player", Mortal)
    monkeypatch.setattr(actors._Units, "again", lambda units, lost: again.extend(lost) or repeat(units, lost))
    lossy = trained(tmp_path / "lossy", actors.Cluster(2, cluster.address), games=48)
    assert lossy == trained(tmp_path / "more", games=48)
    assert [(first, count) for first, count, _ in again] == [(32, 16)]  # what it was playing, and nothing else


@pytest.mark.slow
def test_a_lost_machine_costs_its_games_only(tmp_path, cluster):
    from asobiba.learn.actors import Cluster

    other = next(node for node in cluster.list_all_nodes() if not node.head)
    said = []

    def lose_it(line):
        said.append(line)
        if len(said) == 1:
            cluster.remove_node(other, allow_graceful=False)

    game = registry.game("toy_nim")
    config = load_config(game, algorithm="gumbel_az", **{**SMALL, "rounds": 200, "simulations": 64})
    lost = expert.train(game, config, tmp_path / "lost", say=lose_it, cluster=Cluster(2, cluster.address))
    assert said
    assert lost.read_bytes() == expert.train(game, config, tmp_path / "alone", say=lambda _: None).read_bytes()
    record = json.loads((tmp_path / "lost" / "run.json").read_text(encoding="utf-8"))
    assert record["rounds"] == 200


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--algo", "gumbel_az", "--executor", "slurm"], "no executor is called 'slurm'; there are: local, ray"),
        (["--algo", "gumbel_az", "--jobs", "2"], "are of --executor ray"),
        (["--executor", "ray"], "is of --algo gumbel_az"),
        (["--algo", "gumbel_az", "--executor", "ray", "--seeds", "2"], "one seed at a time"),
    ],
)
def test_options_of_other_places_are_refused(words, message, tmp_path):
    done = CliRunner().invoke(cli.app, ["train", "toy_nim", "-o", str(tmp_path / "run"), *words])
    assert isinstance(done.exception, ConfigError)
    assert message in str(done.exception)
    assert not (tmp_path / "run").exists()

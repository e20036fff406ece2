"""Ray: the same records as at home, and a player that is killed in mid-match loses and doubles nothing."""

from __future__ import annotations

import sys

import psutil
import pytest
from arena_tools import ENVIRONMENT, ROGUES

from asobiba.arena.cluster import RayExecutor
from asobiba.arena.executors import LocalExecutor
from asobiba.arena.schedule import round_robin
from asobiba.arena.trust import Trust
from asobiba.core import game

sys.path.insert(0, str(ROGUES))
NIM = game("toy_nim").ruleset()


@pytest.fixture
def cluster(monkeypatch):
    import ray

    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
    yield ray
    ray.shutdown()


def players():
    found = []
    for process in psutil.process_iter(["cmdline", "name"]):
        if any("ray::_RayPlayer" in word for word in process.info["cmdline"] or ()):
            found.append(process)
    return found


def test_a_killed_ray_worker_costs_no_match_and_doubles_none(cluster):
    trust = Trust.of(["babbles", "slow"])
    matches = round_robin(NIM, ["random", "bouton", "babbles"], 4) + round_robin(NIM, ["slow", "bouton"], 24)
    killed, records = [], []
    for found in RayExecutor(jobs=2, trust=trust).play(matches):
        records += found
        slow = sum("slow" in record.match.seats for record in records)
        if slow >= 2 and not killed:
            killed = players()[:1]
            for process in killed:
                process.kill()
    assert killed
    assert len(records) == len(matches)
    assert {record.match.key for record in records} == {match.key for match in matches}
    local = {r.match.key: r for found in LocalExecutor(1, trust=trust).play(matches[:12]) for r in found}
    remote = {record.match.key: record for record in records}
    assert all(remote[key].same_play(record) for key, record in local.items())
    assert {r.reason for r in records if "slow" in r.match.seats} == {"rules"}

"""What `test_reproducible` runs in processes of another kind: `python tests/same_bytes.py JSON` prints digests of games and
agents, and replays matches that another process has recorded."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np

from asobiba import digests, game
from asobiba.arena.match import Match
from asobiba.arena.playing import play_match
from asobiba.arena.replay import check_record
from asobiba.core import Agent

KINDS = {
    "as it is": {},
    "a C library without FMA and AVX": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX"},
    "a processor without extensions": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "no compiler": {"NUMBA_DISABLE_JIT": "1"},
}
"""Environments in which the same code must print the same lines."""


class Drawn(Agent):
    """Actions drawn from the whole box, or the legal ones."""

    name = "drawn"

    def reset(self, ruleset, seat, seed):
        self._ruleset, self._draw = ruleset, np.random.default_rng([seed % 2**32, seat])

    def act(self, view, legal):
        if self._ruleset.discrete:
            return int(self._draw.choice(np.flatnonzero(legal)))
        box = self._ruleset.action_space
        return self._draw.uniform(box.low, box.high).astype(box.dtype)


def record_matches(name: str, count: int) -> list:
    """Matches of agents that run in Python, of a game of chance and floats."""
    ruleset = game(name).ruleset()
    return [
        play_match(Match.of(ruleset, ["drawn"] * ruleset.num_players, seed), [Drawn() for _ in ruleset.players])
        for seed in range(count)
    ]


def found(names, records=None, **options) -> list[str]:
    """The lines of this process."""
    for record in pickle.loads(Path(records).read_bytes()) if records else ():
        check_record(record)
    return list(digests.lines(names, **options))


def found_in(kind: str, names, **options) -> list[str]:
    """The lines of a process of this kind."""
    text = json.dumps({"names": names, **options})
    environment = {
        **os.environ,
        **KINDS[kind],
        "ASOBIBA_QUIET": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run(
        [sys.executable, __file__, text], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


if __name__ == "__main__":
    np.seterr(over="ignore")  # without the compiler the generator's products warn as they wrap
    print("\n".join(found(**json.loads(sys.argv[1]))))

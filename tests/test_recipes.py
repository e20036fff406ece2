"""Other people's ways to train, on our games: each far enough to beat random play clearly."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


# A mean return of 0.7 is a score of 85 %; random play against itself returns 0.


def mean_return(script, steps, folder):
    command = [sys.executable, str(EXAMPLES / "recipes" / script), "--steps", str(steps)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return float(re.search(r"mean return (\S+) in 1,000 games", done.stdout)[1])


@pytest.mark.slow
def test_ppo_in_one_file_beats_random_play(tmp_path):
    assert mean_return("cleanrl_ppo.py", 60_000, tmp_path) > 0.7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "script"),
    [("torchrl", "torchrl_ppo.py"), ("tianshou", "tianshou_ppo.py"), ("ray.rllib", "rllib_ppo.py")],
)
def test_other_libraries_beat_random_play(library, script, tmp_path):
    pytest.importorskip(library, reason="pip install 'asobiba[recipes]'")
    assert mean_return(script, 20_000, tmp_path) > 0.7


@pytest.mark.slow
def test_ppo_on_emulated_environments_beats_random_play(tmp_path):
    pytest.importorskip("pufferlib.emulation", reason="pip install --no-deps pufferlib-core")
    assert mean_return("pufferlib_ppo.py", 60_000, tmp_path) > 0.7

"""Other people's ways to train, on our games: each far enough to beat random play clearly."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.slow
def test_ppo_in_one_file_beats_random_play(tmp_path):
    command = [sys.executable, str(EXAMPLES / "recipes" / "cleanrl_ppo.py"), "--steps", "60000"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # A mean return of 0.7 is a score of 85 %; random play against itself returns 0.
    assert float(re.search(r"mean return (\S+) in 1,000 games", done.stdout)[1]) > 0.7

"""What the tests of the arena share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from asobiba.arena.results import Result

FOLDER = Path(__file__).parent
ROGUES = FOLDER / "league_rogues"
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(FOLDER / "toys"), str(ROGUES), os.environ.get("PYTHONPATH", "")]),
    "COLUMNS": "200",
}
COMMAND = [sys.executable, "-m", "asobiba.cli"]


def asobiba(
    *arguments: object, stdin: str = "", cwd: Path | None = None, columns: int = 200
) -> subprocess.CompletedProcess[str]:
    """Runs the command line in a process of its own."""
    environment = {**ENVIRONMENT, "COLUMNS": str(columns)}
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], input=stdin, capture_output=True, text=True, env=environment, cwd=cwd,
        timeout=300, check=False,
    )  # fmt: skip


def result(seats: tuple[str, ...], winner: int, seed: int = 0, tie_break: tuple[float, ...] | None = None) -> Result:
    """A result of two players in which only who won matters."""
    returns = (0.0, 0.0) if winner < 0 else tuple(1.0 if k == winner else -1.0 for k in range(2))
    return Result(0, seats, seed, returns, winner, 10, "rules", None, (5, 5), (0.1, 0.1), tie_break)

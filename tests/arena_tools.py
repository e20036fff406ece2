"""Helpers that the tests of the arena share."""

from __future__ import annotations

import json
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


MANY = """
import contextlib, json, os, sys, tempfile
import asobiba.arena.executors, asobiba.arena.league, asobiba.arena.standings, asobiba.learn.agent  # what takes long
from asobiba import cli

for words in json.loads(sys.argv[1]):
    os.chdir(tempfile.mkdtemp(dir=sys.argv[2]))
    files = [tempfile.TemporaryFile("w+") for _ in range(2)]
    child = os.fork()
    if not child:
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number + 1)
        sys.argv[1:], code = words, 1
        try:
            cli.main()
        except SystemExit as done:
            code = done.code or 0
        finally:
            with contextlib.suppress(BrokenPipeError):
                sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for file in files:
        file.seek(0)
    print(json.dumps([code, *(file.read() for file in files)]), flush=True)
"""


def asobiba_each(commands: list[tuple[str, ...]], folder: Path) -> list[subprocess.CompletedProcess[str]]:
    """Runs command lines, each in an empty folder in `folder` and in a process that begins with all imported."""
    command = [sys.executable, "-c", MANY, json.dumps(commands), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300, check=True)
    answers = map(json.loads, done.stdout.splitlines())
    return [subprocess.CompletedProcess(words, *answer) for words, answer in zip(commands, answers, strict=True)]


def result(seats: tuple[str, ...], winner: int, seed: int = 0, tie_break: tuple[float, ...] | None = None) -> Result:
    """A result of two players in which only who won matters."""
    returns = (0.0, 0.0) if winner < 0 else tuple(1.0 if k == winner else -1.0 for k in range(2))
    return Result(
        number=0,
        seats=seats,
        seed=seed,
        returns=returns,
        winner=winner,
        moves=10,
        reason="rules",
        culprit=None,
        decisions=(5, 5),
        seconds=(0.1, 0.1),
        tie_break=tie_break,
    )

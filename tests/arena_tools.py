"""Helpers that the tests of the arena share."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from functools import cache
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


# Imports take longer than most commands: each runs in a process of its own that begins with all imported.
_SERVER = """
import contextlib, json, os, sys
import asobiba.arena.executors, asobiba.arena.league, asobiba.arena.standings, asobiba.learn.agent  # what takes long
from numba.core.registry import cpu_target
from asobiba import cli

cpu_target.typing_context.refresh(), cpu_target.target_context.refresh()
for line in sys.stdin:
    words, folder, columns, files = json.loads(line)
    child = os.fork()
    if not child:
        for number, file in enumerate(files):
            os.dup2(os.open(file, os.O_RDWR), number)
        sys.stdin = open(0)
        os.chdir(folder)
        os.environ["COLUMNS"] = columns
        sys.argv[1:], code = words, 1
        try:
            cli.main()
        except SystemExit as done:
            code = done.code or 0
        finally:
            with contextlib.suppress(BrokenPipeError):
                sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@cache
def _server() -> subprocess.Popen[str]:
    """Runs one command line after the other; it ends with this process, whose pipe it reads."""
    command = [sys.executable, "-c", _SERVER]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)


def asobiba(
    *arguments: object, stdin: str = "", cwd: Path | None = None, columns: int = 200
) -> subprocess.CompletedProcess[str]:
    """Runs the command line in a process of its own."""
    words, server = [str(word) for word in arguments], _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
        for file, text in zip(files, (stdin, "", "")):
            file.write_text(text, encoding="utf-8")
        request = [words, str(cwd or Path.cwd()), str(columns), [str(file) for file in files]]
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        if not select.select([server.stdout], [], [], 300)[0]:
            server.kill()
            _server.cache_clear()
            raise subprocess.TimeoutExpired(words, 300)
        code = int(server.stdout.readline())
        return subprocess.CompletedProcess(words, code, *(file.read_text(encoding="utf-8") for file in files[1:]))


def asobiba_each(commands: list[tuple[str, ...]], folder: Path) -> list[subprocess.CompletedProcess[str]]:
    """Runs command lines, each in an empty folder in `folder`."""
    return [asobiba(*words, cwd=Path(tempfile.mkdtemp(dir=folder))) for words in commands]


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

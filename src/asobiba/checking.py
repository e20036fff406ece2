"""`asobiba check`: finds the mistakes of a game's author, one at a time, with file and line.

Everything runs in separate processes, so that no author's code can bring this one down:

1. The package is imported, the declaration held to the kernels, and a few games are played in the plain interpreter
   (`asobiba.core.trial`), where an index out of range is an `IndexError`.
2. The kernels are compiled with bounds checks, and the conformance tests (`asobiba.conformance`) run on that.
"""

from __future__ import annotations

import importlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from asobiba.core.errors import AsobibaError, GameMistake
from asobiba.core.game import Game
from asobiba.core.places import nearest, own_frame, told

MISTAKE = 3
"""The exit status of a process that has found one."""


def check(target: str) -> bool:
    """Checks a game, or all games of a package, and prints what is found; whether all is well.

    Args:
        target: the name of a registered game, a package that declares games, or the folder of one.
    """
    folder = Path(target)
    if folder.is_dir() and (folder / "__init__.py").is_file():
        folder = folder.resolve()
        parts = [folder.name]
        while (folder.parent / "__init__.py").is_file():
            folder = folder.parent
            parts.insert(0, folder.name)
        return _stages(".".join(parts), str(folder.parent))
    return _stages(target)


def _stages(target: str, place: str = "") -> bool:
    path = os.pathsep.join(p for p in (place, *sys.path) if p)
    environment = {**os.environ, "PYTHONPATH": path, "ASOBIBA_TRIAL": "0"}
    if not _stage("plain", target, {**environment, "NUMBA_DISABLE_JIT": "1"}):
        return False
    from asobiba.core.cache import cache_folder

    checked = {"NUMBA_BOUNDSCHECK": "1", "ASOBIBA_CACHE_DIR": str(cache_folder() / "checked"), "ASOBIBA_QUIET": "1"}
    return _stage("compiled", target, {**environment, **checked})


def _stage(stage: str, target: str, environment: dict[str, str]) -> bool:
    done = subprocess.run([sys.executable, "-m", __name__, stage, target], env=environment, check=False)
    if done.returncode in (0, MISTAKE):
        return done.returncode == 0
    died = signal.Signals(-done.returncode).name if done.returncode < 0 else f"exit status {done.returncode}"
    print(f"The process that checked it died ({died}) in what the last line above names.")
    return False


def find(target: str) -> list[Game]:
    """The games to check: the one of a registered name, or those that a module declares.

    Raises:
        GameMistake: if the module cannot be imported or declares no game, or no game is called so.
    """
    from asobiba.core.registry import game, game_names, games_of

    if target in game_names():
        return [game(target)]
    try:
        module = importlib.import_module(target)
    except ModuleNotFoundError as error:
        if error.name is None or not target.startswith(error.name):
            raise GameMistake(told(error, None, f"importing {target}")) from error
        raise GameMistake(
            f"{target!r} is neither a game nor a package that can be imported.{nearest(target, game_names())} "
            "A package that is not installed is named by its folder: asobiba check ./my_game"
        ) from None
    except AsobibaError:
        raise
    except Exception as error:
        raise GameMistake(told(error, None, f"importing {target}")) from error
    found = list(dict.fromkeys(value for value in vars(module).values() if isinstance(value, Game)))
    found = found or [game(name) for name in games_of(target)]
    if not found:
        raise GameMistake(
            f"{module.__file__}:1: {target} declares no game; expected `GAME = Game(name=..., ...)` in the module"
        )
    return found


def play_plainly(target: str) -> None:
    """The first stage, in a process in which nothing is compiled."""
    from asobiba.core import trial

    for declared in find(target):
        variants = f", and one of each variant: {', '.join(declared.variants)}" if declared.variants else ""
        print(
            f"{declared.name}: declaration and kernels, then {trial.GAMES} games in the plain interpreter{variants}",
            flush=True,
        )
        trial.play(declared, steps=1000)


def play_compiled(target: str) -> None:
    """The second stage, in a process in which compiled code checks bounds."""
    from asobiba import conformance

    for declared in find(target):
        print(f"{declared.name}: compiled with bounds checks (5 to 15 s the first time), conformance:", flush=True)
        for name, one in conformance.CHECKS.items():
            print(f"  {name}", flush=True)
            try:
                one(declared)
            except AssertionError as error:
                raise GameMistake(f"{_home(declared)}:1: conformance, {name}: {error}") from error
            except Exception as error:
                raise GameMistake(_explained(error, declared, name)) from error
        print(f"{declared.name}: all is well", flush=True)


def _home(declared: Game) -> str:
    return declared.rules.__file__ or declared.name


def _explained(error: Exception, declared: Game, check: str) -> str:
    """An error of compiled code, or of Numba, with the author's line first and Numba's page last."""
    from numba.core.errors import NumbaError

    home = Path(_home(declared)).resolve().parent
    if not isinstance(error, NumbaError):
        where = "" if own_frame(error, home) else f"{_home(declared)}:1: "
        return where + told(error, home, f"conformance, {check}")
    page = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    named = [(Path(file).resolve(), line) for file, line in re.findall(r'File "([^"]+)", line (\d+)', page)]
    places = [(file, line) for file, line in named if home in file.parents]  # Numba names files from the present folder
    where = f"{places[-1][0]}:{places[-1][1]}" if places else f"{_home(declared)}:1"
    return f"{where}: Numba cannot compile this: {_gist(page)}\n\nNumba's own page:\n{page}"


def _gist(page: str) -> str:
    """The line of Numba's page that says what is wrong."""
    lines = [line.strip() for line in page.splitlines() if line.strip()]
    for sign in (
        "unknown attribute",
        "Unknown attribute",
        "No implementation",
        "not enough arguments",
        "undefined",
        "Cannot unify",
    ):
        for line in lines:
            if sign.lower() in line.lower():
                return line
    return lines[1] if len(lines) > 1 else lines[0]


def main() -> None:
    """`python -m asobiba.checking plain|compiled TARGET`."""
    stages: dict[str, Any] = {"plain": play_plainly, "compiled": play_compiled}
    try:
        stages[sys.argv[1]](sys.argv[2])
    except AsobibaError as mistake:
        print(mistake, flush=True)
        sys.exit(MISTAKE)


if __name__ == "__main__":
    main()

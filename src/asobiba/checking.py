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
import threading
import time
import traceback
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from asobiba.core.errors import AsobibaError, GameMistake
from asobiba.core.game import Game
from asobiba.core.places import nearest, own_frame, told

MISTAKE = 3
"""The exit status of a process that has found one."""
PATIENCE = 120.0
"""Seconds that one call of a kernel may take in the plain interpreter."""


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


def _stages(target: str, *place: str) -> bool:
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONPATH": path, "ASOBIBA_TRIAL": "0"}
    if not _stage({**environment, "NUMBA_DISABLE_JIT": "1"}, "plain", target, *place):
        return False
    from asobiba.core.cache import cache_folder

    checked = {"NUMBA_BOUNDSCHECK": "1", "ASOBIBA_CACHE_DIR": str(cache_folder() / "checked"), "ASOBIBA_QUIET": "1"}
    return _stage({**environment, **checked}, "compiled", target, *place)


def _stage(environment: dict[str, str], *arguments: str) -> bool:
    # -P: what lies in the present folder hides no module of Python.
    done = subprocess.run([sys.executable, "-P", "-m", __name__, *arguments], env=environment, check=False)
    if done.returncode in (0, MISTAKE):
        return done.returncode == 0
    died = signal.Signals(-done.returncode).name if done.returncode < 0 else f"exit status {done.returncode}"
    print(f"The process that checked it died ({died}) in what the last line above names.")
    return False


class _Folder(MetaPathFinder):
    """Finds one package in its folder. Its neighbours are found last, so that none hides a module of Python."""

    def __init__(self, name: str, place: str) -> None:
        self._name, self._place = name, place
        known = getattr(sys.modules.get(name), "__file__", None)
        if name in sys.stdlib_module_names or (known and Path(known).parent.parent != Path(place)):
            raise GameMistake(
                f"{Path(place) / name}: there is another module called {name!r} ({known or 'of Python'}); rename the folder"
            )
        sys.meta_path.insert(0, self)
        sys.path.append(place)

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        return PathFinder.find_spec(name, [self._place]) if name == self._name else None


def find(target: str) -> list[Game]:
    """The games to check: the one of a registered name, or those that a module declares.

    Raises:
        GameMistake: if the module cannot be imported or declares no game, or no game is called so.
    """
    from asobiba.core.registry import game, game_names, games_of, register_game

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
    for declared in found:
        if declared.name not in game_names():  # the examples of its page make it by name
            register_game(declared)
    return found


def play_plainly(target: str) -> None:
    """The first stage, in a process in which nothing is compiled."""
    from asobiba.core import trial
    from asobiba.core.mistakes import home_of
    from asobiba.core.outside import require_outside_names

    for declared in find(target):
        _watch(home_of(declared))
        variants = f", and one of each variant: {', '.join(declared.variants)}" if declared.variants else ""
        print(
            f"{declared.name}: declaration and kernels, then {trial.GAMES} games in the plain interpreter{variants}",
            flush=True,
        )
        require_outside_names(declared)
        trial.play(declared, steps=1000)


def _watch(home: Path) -> None:
    """Ends this process, with the line, if one call of a kernel takes longer than `PATIENCE`."""

    def watch() -> None:
        call, since = None, 0.0
        while True:
            time.sleep(min(PATIENCE / 4, 1))
            stack = [frame for frame, _ in traceback.walk_stack(sys._current_frames()[thread])]
            own = [frame for frame in stack if home in Path(frame.f_code.co_filename).resolve().parents]
            if not own or own[-1] is not call:
                call, since = own[-1] if own else None, time.monotonic()
            elif time.monotonic() - since > PATIENCE:
                print(
                    f"{own[0].f_code.co_filename}:{own[0].f_lineno}: `{own[-1].f_code.co_name}` has been running for "
                    f"{PATIENCE:.0f} s: a loop that does not end, or too much work for one call",
                    flush=True,
                )
                os._exit(MISTAKE)

    thread = threading.main_thread().ident or 0
    threading.Thread(target=watch, daemon=True).start()


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
    from numba.core.errors import NumbaError, UnsupportedBytecodeError

    home = Path(_home(declared)).resolve().parent
    if not isinstance(error, (NumbaError, UnsupportedBytecodeError)):
        where = "" if own_frame(error, home) else f"{_home(declared)}:1: "
        return where + told(error, home, f"conformance, {check}")
    page = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    found = re.findall(r'File "([^"]+)", line (\d+)', page) + re.findall(r"Raised from (.+) \((\d+)\)", page)
    named = [(Path(file).resolve(), line) for file, line in found]
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
        "unsupported opcode",
        "Cannot unify",
    ):
        for line in lines:
            if sign.lower() in line.lower():
                return line
    return lines[1] if len(lines) > 1 else lines[0]


def main() -> None:
    """`python -m asobiba.checking plain|compiled TARGET [FOLDER]`, of a package in FOLDER that is not installed."""
    stages: dict[str, Any] = {"plain": play_plainly, "compiled": play_compiled}
    stage, target, *place = sys.argv[1:]
    try:
        if place:
            _Folder(target.partition(".")[0], place[0])
        stages[stage](target)
    except AsobibaError as mistake:
        print(mistake, flush=True)
        sys.exit(MISTAKE)


if __name__ == "__main__":
    main()

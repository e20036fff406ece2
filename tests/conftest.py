"""What all tests share."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

# Tiny games, found through their entry points as any other package's games are.
sys.path.insert(0, str(Path(__file__).parent / "toys"))
# Begun first: minutes long and few, they would be waited for at the end.
_FIRST = (
    "test_documentation.py",
    "test_arena_cluster.py",
    "test_package.py",
    "test_jit_disabled.py",
    "test_mini4wd.py",
)
_BY_GAME = ("test_conformance.py", "test_ptx.py")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


class _ByFileAndGame(LoadScopeScheduling):
    """What one process does: a file, whose tests share fixtures and compiled code; of those that go through all games, a
    game."""

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        game = re.search(r"\[(\w+)", nodeid)
        return f"{file}::{game[1]}" if file.endswith(_BY_GAME) and game else file


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in _FIRST)


def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # xdist would begin the files of many tests first
    return _ByFileAndGame(config, log)


def debian_program(program: str, package: str) -> str:
    """The path of a program that a test runs for real.

    Where it is missing, the test is skipped with the name of the Debian package to install; in CI it fails instead.
    """
    path = shutil.which(program)
    if path is None:
        message = f"{program} is not installed; on Debian: apt-get install {package}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return path

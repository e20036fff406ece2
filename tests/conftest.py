"""What all tests share."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

# Tiny games, found through their entry points as any other package's games are.
sys.path.insert(0, str(Path(__file__).parent / "toys"))
_BY_GAME = ("test_conformance.py", "test_ptx.py", "test_jit_disabled.py")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


def pytest_itemcollected(item):
    """What one process does (`--dist loadgroup`): a file, whose tests share fixtures and compiled code; of the files that go
    through all games, a game."""
    if item.get_closest_marker("xdist_group") is None:
        group = item.nodeid.partition("::")[0]
        game = getattr(item, "callspec", None) and item.callspec.params.get("name")
        if group.endswith(_BY_GAME) and game is not None:
            group += f"::{game}"
        item.add_marker(pytest.mark.xdist_group(group))


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

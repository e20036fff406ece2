"""What all tests share."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

# Tiny games, found through their entry points as any other package's games are.
sys.path.insert(0, str(Path(__file__).parent / "toys"))
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


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

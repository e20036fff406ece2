"""What is installed: a wheel holds all that the sources read."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_a_wheel_holds_every_file_that_lies_beside_the_modules():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = [ROOT / "src" / "asobiba", ROOT / "envs", ROOT / "baselines"]
    packages = [path.parent for folder in folders for path in folder.rglob("__init__.py")]
    # As setuptools reads it: patterns from the folder of every package, not of folders that are none.
    packed = {
        path for package in packages for pattern in settings["package-data"]["*"] for path in package.glob(pattern)
    }
    present = {
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
        and path.suffix != ".py"
        and path.parent.name != "__pycache__"
        and ".egg-info" not in str(path)
    }
    assert ROOT / "envs" / "tactics" / "units.yml" in present
    assert sorted(present - packed) == []

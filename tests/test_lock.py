"""The lock that CI installs from fits what the package asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
APART = {"asobiba", "torch"}
"""Packages that the lock does not hold: this package, and PyTorch, whose build depends on the machine."""


def locked(file):
    """The version and the number of hashes of each package."""
    found = {}
    for part in re.split(r"\n(?=\S)", (ROOT / file).read_text(encoding="utf-8")):
        if match := re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;]+)", part):
            found[canonicalize_name(match[1])] = (match[2], part.count("--hash=sha256:"))
    return found


def test_the_lock_has_all_that_the_tests_need_with_hashes():
    packages = locked("requirements.lock")
    assert len(packages) > 80
    assert min(count for _, count in packages.values()) >= 1
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["dev"]]
    for text in extras["dev"]:
        needed += [one for extra in Requirement(text).extras for one in extras.get(extra, ())]
    for requirement in map(Requirement, needed):
        name = canonicalize_name(requirement.name)
        if name not in APART:
            assert name in packages, f"make lock: {name} is missing"
            assert requirement.specifier.contains(packages[name][0], prereleases=True), f"make lock: {requirement}"


def test_the_lock_agrees_with_the_constraints():
    packages = locked("requirements.lock")
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            name = canonicalize_name(requirement.name)
            if name not in APART:
                assert requirement.specifier.contains(packages[name][0], prereleases=True), f"make lock: {line}"


def test_the_tools_have_hashes_too():
    packages = locked(".ci/tools.lock")
    assert {"uv", "cyclonedx-bom", "pip-audit"} <= packages.keys()
    assert min(count for _, count in packages.values()) >= 1

"""Finds the packages; everything else about the build stands in pyproject.toml.

`envs/` and `baselines/` lie at the root of the repository and are installed inside the package, as
`asobiba.envs` and `asobiba.baselines` (see `tool.setuptools.package-dir`).
"""

from setuptools import find_packages, setup

packages = find_packages(include=["asobiba", "asobiba.*"])
for root in ("envs", "baselines"):
    packages.append(f"asobiba.{root}")
    packages += [f"asobiba.{root}.{name}" for name in find_packages(root)]

setup(packages=packages)

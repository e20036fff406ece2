"""setuptools' own build, after a look at the links to the games and agents (see `src/asobiba/checkout.py`)."""

from __future__ import annotations

import runpy
from pathlib import Path

from setuptools.build_meta import *  # noqa: F403

_CHECKOUT = runpy.run_path(str(Path(__file__).parent / "src" / "asobiba" / "checkout.py"))
_CHECKOUT["require_links"]()

"""setuptools' own build. Before it come a look at the links to the games and agents (see `src/asobiba/checkout.py`) and
the package index's copy of README.md, whose links lead to the repository.
"""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

from setuptools.build_meta import *  # noqa: F403

_ROOT = Path(__file__).parent


def _write_readme() -> None:
    """Writes `build/README.md`; the address is that of pyproject.toml."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project["urls"]["Repository"]
    text = (_ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:|#)", rf"\1{address}/raw/main/", text)
    text = re.sub(r"(?<!!)(\[[^]]*\]\()(?!https?:|#)", rf"\1{address}/blob/main/", text)
    (_ROOT / "build").mkdir(exist_ok=True)
    (_ROOT / "build" / "README.md").write_text(text, encoding="utf-8")


runpy.run_path(str(_ROOT / "src" / "asobiba" / "checkout.py"))["require_links"]()
_write_readme()

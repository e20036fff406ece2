"""setuptools' own build. Before it come a look at the links to the games and agents (see `src/asobiba/checkout.py`) and
the package index's copy of README.md, whose links lead to the repository; after it, an sdist is packed again in one
order and, where `SOURCE_DATE_EPOCH` is set, with that time, so that the same sources give the same bytes.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import runpy
import tarfile
import tomllib
from pathlib import Path
from typing import Any

from setuptools import build_meta
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


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """setuptools' sdist, packed again; returns its name."""
    name = build_meta.build_sdist(sdist_directory, config_settings)
    path = Path(sdist_directory, name)
    date = os.environ.get("SOURCE_DATE_EPOCH")
    packed = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda one: one.name):
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.mtime = int(date) if date else int(member.mtime)
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=int(date or 0)) as compressed:
        compressed.write(packed.getvalue())
    return str(name)


runpy.run_path(str(_ROOT / "src" / "asobiba" / "checkout.py"))["require_links"]()
_write_readme()

"""Checks the links `envs` and `baselines` in this folder, before anything is imported or built.

Git writes a link as a file of text where it may not make one (Windows without its developer mode). What is imported or
built from such a checkout would hold no game.
"""

from __future__ import annotations

from pathlib import Path


def require_links() -> None:
    """Raises `ImportError`, with what to do, if git has checked the links out as files."""
    for name in ("envs", "baselines"):
        link = Path(__file__).with_name(name)
        if link.is_file():
            raise ImportError(
                f"{link} is a file, where a link to the folder {name} belongs: git was not allowed to make it. Allow "
                "links (on Windows: Settings, System, For developers, Developer Mode) and check them out again: "
                "git config core.symlinks true && git checkout -- src/asobiba/envs src/asobiba/baselines"
            )

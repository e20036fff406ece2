"""The cache folder, which holds compiled code and data derived from sources.

The folder is `$ASOBIBA_CACHE_DIR`, or `asobiba` in the user's cache folder, or, where that cannot be written, in the
system's temporary folder.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

_UNUSED_AFTER_DAYS = 30


def cache_folder() -> Path:
    """Folder of generated modules and their compiled code; created if need be."""
    candidates = []
    if chosen := os.environ.get("ASOBIBA_CACHE_DIR"):
        candidates.append(Path(chosen))
    else:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        candidates.append(Path(base) / "asobiba")
        candidates.append(Path(tempfile.gettempdir()) / f"asobiba-{os.environ.get('USER', 'user')}")
    for folder in candidates:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    raise OSError(f"no folder for compiled games can be written: tried {', '.join(map(str, candidates))}")


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file atomically: other processes see either all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.replace(temporary, path)


def touch(path: Path) -> None:
    """Notes, at most once a day, that a folder or file is in use."""
    try:
        if time.time() - path.stat().st_mtime > 86_400:
            os.utime(path)
    except OSError:
        pass  # a read-only cache works all the same


def sweep(root: Path, pattern: str, keep: Path) -> None:
    """Removes folders and files of this pattern that have not been used for a month."""
    for path in root.glob(pattern):
        try:
            if path == keep or time.time() - path.stat().st_mtime <= _UNUSED_AFTER_DAYS * 86_400:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        except OSError:
            continue

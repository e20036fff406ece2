"""Temporary folders that are removed with their process, even if it was killed.

Each folder has a lock file beside it, held by its process. Both are removed when no process holds the lock: by the
process itself when it ends, by its parent when it has killed it, or by the next process that makes a folder.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks; folders go when their process ends
    fcntl = None  # type: ignore[assignment]

_PREFIX, _LOCK = "asobiba-scratch-", ".lock"
_held: dict[tuple[int, str], tuple[int, Path]] = {}
"""Of each process (a forked one is another) and place: its open lock and its folder."""


def scratch_folder(name: str) -> Path:
    """A new empty folder for this process.

    Args:
        name: prefix of its name.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_own()))
    folder.chmod(0o711)  # so that a contained program of another user can reach its own folder inside
    return folder


def sweep() -> int:
    """Removes folders of this user's processes that have ended; returns their number."""
    removed = 0
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*{_LOCK}") if fcntl else ():
        with contextlib.suppress(OSError):
            if lock.is_symlink() or lock.stat().st_uid != os.geteuid():
                continue
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                lock.unlink()
                removed += 1
            finally:
                os.close(descriptor)
    return removed


def _own() -> Path:
    key = (os.getpid(), tempfile.gettempdir())
    if key not in _held or not _held[key][1].is_dir():
        sweep()
        _held[key] = _make()
        atexit.register(_remove, *key)
    return _held[key][1]


def _make() -> tuple[int, Path]:
    if fcntl is None:
        return -1, Path(tempfile.mkdtemp(prefix=_PREFIX))
    while True:
        descriptor, text = tempfile.mkstemp(prefix=_PREFIX, suffix=_LOCK)
        lock = Path(text)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.stat(lock).st_ino == os.fstat(descriptor).st_ino:  # nobody has swept it away since
                folder = lock.with_suffix("")
                folder.mkdir(0o755)  # a contained program may run as another user
                return descriptor, folder
        except (BlockingIOError, FileNotFoundError):
            pass
        os.close(descriptor)


def _remove(pid: int, place: str) -> None:
    if os.getpid() == pid and (held := _held.pop((pid, place), None)):
        descriptor, folder = held
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor >= 0:
            folder.with_name(folder.name + _LOCK).unlink(missing_ok=True)
            os.close(descriptor)

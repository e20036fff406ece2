"""Control groups: limits that hold for the superuser's programs too, to which `RLIMIT_NPROC` does not apply."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "asobiba-"
_ROOT = Path("/sys/fs/cgroup")
_ENTER = 'for f in $0; do echo $$ > "$f" || exit 125; done; exec "$@"'
_numbers = itertools.count()


@dataclass(frozen=True)
class Group:
    """Folders in which the kernel counts the resources of a program and its children.

    Args:
        folders: one, or one for each controller in version 1.
    """

    folders: tuple[Path, ...]

    def enter(self, command: Sequence[str]) -> list[str]:
        """The command, begun inside the group."""
        return ["/bin/sh", "-c", _ENTER, " ".join(str(folder / "cgroup.procs") for folder in self.folders), *command]

    def remove(self) -> None:
        """Removes the group if it is empty."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()


def make_group(processes: int, memory: int, root: Path = _ROOT) -> Group | None:
    """A group of so many processes and threads and so many bytes of memory, the files in tmpfs included, or `None` if
    none can be made.
    """
    sweep(root)
    name = f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
    if (root / "cgroup.controllers").exists():
        wanted = {root / name: {"pids.max": processes, "memory.max": memory}}
    else:
        wanted = {
            root / "pids" / name: {"pids.max": processes},
            root / "memory" / name: {"memory.limit_in_bytes": memory},
        }
    group = Group(tuple(wanted))
    try:
        for folder, limits in wanted.items():
            folder.mkdir()
            for file, value in limits.items():
                (folder / file).write_text(str(value))
    except OSError:
        group.remove()
        return None
    return group


def sweep(root: Path = _ROOT) -> None:
    """Removes groups of processes that have ended."""
    for folder in (root, root / "pids", root / "memory"):
        for group in folder.glob(f"{_PREFIX}*"):
            if not Path(f"/proc/{group.name.split('-')[1]}").exists():
                with contextlib.suppress(OSError):
                    group.rmdir()

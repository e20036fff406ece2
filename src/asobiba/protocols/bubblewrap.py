"""The command line of bubblewrap that contains a program.

The superuser's programs run as the user `nobody`, to whom limits apply: bubblewrap sets up the folders as the
superuser, `setpriv` drops the privileges, and a second bubblewrap forbids further user namespaces.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime",
)  # fmt: skip
NOBODY = 65534
HOME = "/tmp"
_SEPARATE = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
_TIED = ["--die-with-parent", "--new-session", "--clearenv"]
Manner = Literal["nobody", "same"]


@dataclass(frozen=True)
class View:
    """The file system and environment that a contained program sees.

    Args:
        readable: files and folders beside the system's.
        hidden: files and folders that it does not see, wherever they are.
        variables: its environment.
        disk: bytes of each of the places where it may write.
    """

    readable: Sequence[str] = ()
    hidden: Sequence[str] = ()
    variables: Mapping[str, str] | None = None
    disk: int = 64 << 20


def command(view: View, limits: Sequence[str], words: Sequence[str], manner: Manner) -> list[str]:
    """The whole command.

    Args:
        limits: options of `prlimit`.
        words: the program and its arguments.
        manner: whether the program runs as nobody (only the superuser can do that) or as this user.
    """
    limited = [shutil.which("prlimit") or "prlimit", *limits, "--", *words]
    inner = _inner() if manner == "nobody" else []
    outer = ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
    if manner == "same":
        outer = ["--unshare-user", *(["--disable-userns"] if _can_disable() else [])]
    return [_program(), *_SEPARATE, *_TIED, *outer, *_folders(view), "--chdir", HOME, "--", *inner, *limited]


def _inner() -> list[str]:
    become = [
        shutil.which("setpriv") or "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
        "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--",
    ]  # fmt: skip
    if not _can_disable():
        return become
    again = [_program(), "--die-with-parent", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/"]
    return [*become, *again, "--chdir", HOME, "--"]


def _folders(view: View) -> list[str]:
    bounded = ["--size", str(view.disk), "--perms", "1777", "--tmpfs"]
    found: list[str] = []
    for name, value in (view.variables or {}).items():
        found += ["--setenv", name, value]
    for folder in SYSTEM:
        found += ["--ro-bind-try", folder, folder]
    found += ["--proc", "/proc", "--dev", "/dev", *bounded, "/dev/shm", "--remount-ro", "/dev", *bounded, HOME]
    readable = sorted(dict.fromkeys(view.readable), key=lambda folder: folder.count("/"))
    for folder in readable:
        for parent in reversed(Path(folder).parents[:-1]):
            found += ["--perms", "0755", "--dir", str(parent)]
        found += ["--ro-bind-try", folder, folder]
    for path in view.hidden:
        if os.path.exists(path) and any(Path(path).is_relative_to(folder) for folder in readable):
            empty = ["--tmpfs", path, "--remount-ro", path]
            found += empty if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    return [*found, "--remount-ro", "/"]


def _program() -> str:
    return shutil.which("bwrap") or "bwrap"


@cache
def _can_disable() -> bool:
    """Whether this bubblewrap (0.8 and newer) can forbid user namespaces."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        told = subprocess.run([_program(), "--help"], capture_output=True, text=True, timeout=10, check=False)
        return "--disable-userns" in told.stdout + told.stderr
    return False


@cache
def manners() -> tuple[Manner, ...]:
    """The ways of containing programs here, the better one first; empty if bubblewrap is missing or does not work."""
    if shutil.which("bwrap") is None or shutil.which("prlimit") is None:
        return ()
    tried: list[Manner] = ["nobody", "same"] if os.geteuid() == 0 else ["same"]
    return tuple(manner for manner in tried if _works(manner))


def _works(manner: Manner) -> bool:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        words = command(View(variables={"PATH": "/usr/bin:/bin"}), ["--core=0"], ["true"], manner)
        return subprocess.run(words, capture_output=True, timeout=10, check=False).returncode == 0
    return False

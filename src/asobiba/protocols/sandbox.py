"""Containment of programs that nobody has vouched for.

A contained program gets an empty environment, a temporary home, no network, a read-only view of the few folders that it
needs, limits on memory, processes, files and processor time, and a process group and session of its own, all of which
ends with whoever started it. Three tools do it, whichever is there:

* "bubblewrap": `bwrap` (Debian's package bubblewrap), namespaces of its own for files, processes and network.
* "landlock": `unshare` of util-linux for processes and network, and Landlock (the package `landlock`, Linux 5.13) for
  files.
* "limits": the environment, home, group and limits only; no protection of files and network. Leagues say so.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

Kind = Literal["bubblewrap", "landlock", "limits"]
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
)
_NOBODY = 65534

_consent: ContextVar[bool] = ContextVar("consent", default=False)
_current: ContextVar[Sandbox | None] = ContextVar("sandbox", default=None)


@contextlib.contextmanager
def consent(given: bool) -> Iterator[None]:
    """Whether what is built inside may run whatever is in the files that it is given."""
    token = _consent.set(given)
    try:
        yield
    finally:
        _consent.reset(token)


def consented() -> bool:
    """Whether somebody has vouched for the agent that is being built (`--trust`)."""
    return _consent.get()


@contextlib.contextmanager
def programs_in(sandbox: Sandbox | None) -> Iterator[None]:
    """Programs that are started inside, and agents that are built there and start them later, are contained by this."""
    token = _current.set(sandbox)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Sandbox | None:
    """The containment of programs of agents that are built now; `None` outside of leagues, and for trusted ones."""
    return None if _consent.get() else _current.get()


@cache
def best_kind() -> Kind:
    """The strongest containment that works on this machine."""
    probes: dict[Kind, list[str] | None] = {
        "bubblewrap": [*_bwrap("bwrap"), "--ro-bind", "/", "/", "true"] if shutil.which("bwrap") else None,
        "landlock": [*_UNSHARE, "true"] if shutil.which("unshare") and _has_landlock() else None,
    }
    for kind, command in probes.items():
        if command is None:
            continue
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0:
                return kind
    return "limits"


_UNSHARE = ["unshare", "--user", "--map-root-user", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--"]


def _has_landlock() -> bool:
    if importlib.util.find_spec("landlock") is None:
        return False
    import landlock

    with contextlib.suppress(OSError, landlock.LandlockError):
        return landlock.landlock_abi_version() > 0
    return False


def _bwrap(program: str) -> list[str]:
    return [program, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]


@dataclass(frozen=True)
class Sandbox:
    """How programs are contained.

    Args:
        hidden: files and folders that no contained program sees, such as the league's store.
        memory: bytes of address space of each process.
        processes: processes and threads of the program.
        seconds: processor time of each process in its life.
        disk: bytes of each file that it writes, and of its temporary home.
        kind: `None` for the strongest that works here.
    """

    hidden: tuple[str, ...] = ()
    memory: int = 8 << 30
    processes: int = 64
    seconds: int = 6 * 3600
    disk: int = 64 << 20
    kind: Kind | None = None

    @property
    def name(self) -> Kind:
        """Which of the tools does it."""
        return self.kind or best_kind()

    def start(
        self,
        words: Sequence[str],
        readable: Sequence[str | os.PathLike[str]] = (),
        writable: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.Popen:
        """Starts a program with its three standard streams as pipes.

        Args:
            words: the program and its arguments; those that are files, and the folder of the program, can be read.
            readable, writable: further files and folders that it may read, or write.
            environment: all of its environment but `PATH`, `HOME`, `LANG`.
        """
        home = tempfile.mkdtemp(prefix="asobiba-home-")
        inside = "/tmp" if self.name == "bubblewrap" else home
        variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": inside, "TMPDIR": inside}
        variables |= environment or {}
        folders = [str(path) for path in [*_named(words), *readable]]
        words = [os.path.abspath(word) if os.path.exists(word) else word for word in _found(words)]
        limits = self._limits()
        if self.name == "bubblewrap":
            prlimit = shutil.which("prlimit")
            command = (
                self._bubble(folders, writable, variables) + ([prlimit, *limits, "--"] if prlimit else []) + list(words)
            )
            popen_environment = {"PATH": variables["PATH"]}
        else:
            confine = [sys.executable, "-I", str(Path(__file__).with_name("confine.py")), *limits]
            if self.name == "landlock":
                confine = [
                    *_UNSHARE,
                    *confine,
                    *(f"--read={f}" for f in [*_SYSTEM, "/proc", "/dev", *folders, *_python()]),
                ]
                confine += [f"--write={path}" for path in [home, *writable, "/dev/null"]]
            command, popen_environment = [*confine, "--", *words], dict(variables)
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
            cwd=home, env=popen_environment, start_new_session=True, **self._nobody(folders, home),
        )  # fmt: skip
        weakref.finalize(process, shutil.rmtree, home, ignore_errors=True)
        return process

    def _limits(self) -> list[str]:
        return [
            f"--as={self.memory}", f"--nproc={self.processes}", f"--cpu={self.seconds}", f"--fsize={self.disk}",
            "--core=0",
        ]  # fmt: skip

    def _bubble(self, folders: Sequence[str], writable: Sequence[str], variables: Mapping[str, str]) -> list[str]:
        command = _bwrap(shutil.which("bwrap") or "bwrap")
        for name, value in variables.items():
            command += ["--setenv", name, value]
        for folder in _SYSTEM:
            command += ["--ro-bind-try", folder, folder]
        command += ["--proc", "/proc", "--dev", "/dev", "--size", str(self.disk), "--tmpfs", "/tmp"]
        for folder in dict.fromkeys(folders):
            command += ["--ro-bind-try", folder, folder]
        for folder in writable:
            command += ["--bind", folder, folder]
        for path in self.hidden:
            if os.path.exists(path) and any(Path(path).is_relative_to(folder) for folder in folders):
                command += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
        return [*command, "--chdir", "/tmp"]

    def _nobody(self, folders: Sequence[str], home: str) -> dict[str, Any]:
        """The superuser's programs run as nobody, to whom limits apply, where nobody can read what they need."""
        if os.name != "posix" or os.geteuid() != 0 or not all(_open_to_all(Path(f)) for f in folders):
            return {}
        os.chown(home, _NOBODY, _NOBODY)
        return {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}


def _named(words: Sequence[str]) -> list[Path]:
    """What a command line names: its files, and the folder of each, unless that is a home, the root or the present one."""
    found = []
    for word in _found(words):
        path = Path(os.path.abspath(word))
        if os.path.exists(word):
            alone = path.parent in (Path.home(), Path("/"), Path.cwd()) or path.is_dir()
            found += [path if alone else path.parent]
            if path.resolve() != path:
                found.append(path.resolve() if alone else path.resolve().parent)
    return found


def _found(words: Sequence[str]) -> list[str]:
    """The command with the place of its program, if that can be found.

    Raises:
        FileNotFoundError: if there is no such program.
    """
    program = shutil.which(words[0])
    if program is None:
        raise FileNotFoundError(2, "No such program", words[0])
    return [program, *words[1:]]


def _python() -> list[str]:
    return [sys.prefix, sys.base_prefix, str(Path(__file__).parent)]


@cache
def _open_to_all(path: Path) -> bool:
    path = path.resolve()
    with contextlib.suppress(OSError):
        return all(folder.stat().st_mode & 0o001 for folder in path.parents) and bool(path.stat().st_mode & 0o004)
    return True  # what is not there cannot be closed


def kill_session(process: subprocess.Popen) -> None:
    """Ends a program, its process group, and whatever it has started that can be found."""
    import psutil

    found: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        found = psutil.Process(process.pid).children(recursive=True)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for child in found:
        with contextlib.suppress(psutil.Error):
            child.kill()

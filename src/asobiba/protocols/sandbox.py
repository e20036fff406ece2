"""Containment of untrusted programs.

A contained program gets an empty environment, a bounded temporary home, no network, a read-only view of the few folders
that it needs, limits on memory, processes, files and processor time, and its own process group and session, all of
which end with the process that started it. There are three kinds of containment; the strongest that works here is used:

* "bubblewrap": `bwrap` (Debian's package bubblewrap), separate namespaces for files, processes and network.
* "landlock": `unshare` of util-linux for processes and network, and Landlock (the package `landlock`, Linux 5.13) for
  files.
* "limits": the environment, home, group and limits only; no protection of files and network. Leagues say so.

`PROMISES` lists the guarantees of each; the tests check them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from asobiba.protocols import bubblewrap
from asobiba.protocols.cgroups import Group, make_group
from asobiba.protocols.scratch import scratch_folder

Kind = Literal["bubblewrap", "landlock", "limits"]


@dataclass(frozen=True)
class Promise:
    """Limits that containment sets a program.

    Args:
        name: its name in the tests.
        text: for the table in docs/programs.md.
        kept: the kinds that keep it.
    """

    name: str
    text: str
    kept: tuple[Kind, ...]


_ALL: tuple[Kind, ...] = get_args(Kind)
_WALLS: tuple[Kind, ...] = ("bubblewrap", "landlock")
PROMISES = (
    Promise("environment", "sees no variable of its surroundings", _ALL),
    Promise("reading", "reads the system's folders and its own only; neither the store nor other files", _WALLS),
    Promise("writing", "writes to its temporary home only (bubblewrap: to `/dev/shm` too)", _WALLS),
    Promise("disk", "writes 64 MB there, in all its files together (limits: in each file)", _WALLS),
    Promise("network", "reaches no network, not even this machine's own, and no socket of a service", _WALLS),
    Promise("processes", "sees no process but its own, nor their command lines", _WALLS),
    Promise("namespaces", "makes no user namespaces", _WALLS),
    Promise("count", "has 64 processes and threads (the superuser's: as nobody, or in a control group)", _WALLS),
    Promise("memory", "has 8 GB of memory in each process", _ALL),
    Promise("end", "ends with its game, and all that it has started", _WALLS),
)


def promise_table() -> str:
    """Promises of each kind of containment, as Markdown."""
    lines = [f"| a program | {' | '.join(_ALL)} |", f"| --- |{' --- |' * len(_ALL)}"]
    for promise in PROMISES:
        lines.append(f"| {promise.text} | {' | '.join('yes' if kind in promise.kept else 'no' for kind in _ALL)} |")
    return "\n".join(lines) + "\n"


_consent: ContextVar[bool] = ContextVar("consent", default=False)
_current: ContextVar[Sandbox | None] = ContextVar("sandbox", default=None)


@contextlib.contextmanager
def consent(given: bool) -> Iterator[None]:
    """Allows agents built inside to run the code in the files that they are given, or not."""
    token = _consent.set(given)
    try:
        yield
    finally:
        _consent.reset(token)


def consented() -> bool:
    """Whether the user trusts the agent that is being built (`--trust`)."""
    return _consent.get()


@contextlib.contextmanager
def programs_in(sandbox: Sandbox | None) -> Iterator[None]:
    """Programs that are started inside, and agents that are built there and start them later, are contained by this one;
    `None`: by the usual one."""
    token = _current.set(sandbox)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Sandbox | None:
    """The containment of programs of agents that are built now; `None` for trusted ones."""
    return None if _consent.get() else _current.get() or Sandbox()


def works(kind: Kind) -> bool:
    """Whether this machine has what this kind of containment needs."""
    if kind == "bubblewrap":
        return bool(bubblewrap.manners())
    return kind == "limits" or _landlock_works()


@cache
def best_kind() -> Kind:
    """The strongest containment that works on this machine."""
    return next(kind for kind in _ALL if works(kind))


_OVERHEAD = 256 << 20
"""Bytes of memory that a group may use beyond what one process may, so that a process reaches its own limit first."""
_UNSHARE = [
    "unshare",
    "--user",
    "--map-root-user",
    "--net",
    "--ipc",
    "--pid",
    "--mount",
    "--fork",
    "--kill-child",
    "--",
]


@cache
def _landlock_works() -> bool:
    if shutil.which("unshare") is None or importlib.util.find_spec("landlock") is None:
        return False
    import landlock

    with contextlib.suppress(OSError, landlock.LandlockError, subprocess.TimeoutExpired):
        if landlock.landlock_abi_version() > 0:
            process = Sandbox(kind="landlock").start(["true"])
            process.communicate(timeout=30)
            return process.returncode == 0
    return False


@dataclass(frozen=True)
class Sandbox:
    """Containment of programs.

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
        """Kind of this containment."""
        return self.kind or best_kind()

    def start(
        self,
        words: Sequence[str],
        readable: Sequence[str | os.PathLike[str]] = (),
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.Popen:
        """Starts a program with its three standard streams as pipes.

        Args:
            words: the program and its arguments; those that are files, and the folder of the program, can be read.
            readable: further files and folders that it may read.
            environment: all of its environment but `PATH`, `HOME`, `TMPDIR`, `LANG`.
        """
        folders = list(dict.fromkeys(os.path.abspath(path) for path in [*_named(words), *readable]))
        words = [os.path.abspath(word) if os.path.exists(word) else word for word in _found(words)]
        home = None if self.name == "bubblewrap" else scratch_folder("home")
        inside = str(home or bubblewrap.HOME)
        variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": inside, "TMPDIR": inside}
        variables |= environment or {}
        options: dict[str, Any] = {}
        if home is None:
            command = self._bubble(folders, variables, words)
        else:
            command = self._confined(folders, home, words)
            options = _nobody([*folders, *_python()], home)
        group = None
        if os.name == "posix" and os.geteuid() == 0 and not options:
            group = make_group(self.processes, self.memory + 3 * self.disk + _OVERHEAD)
        process = subprocess.Popen(
            group.enter(command) if group else command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, bufsize=0, cwd=home or "/", start_new_session=True,
            env={"PATH": variables["PATH"]} if home is None else variables, **options,
        )  # fmt: skip
        weakref.finalize(process, _tidy, home, group)
        return process

    def _limits(self) -> list[str]:
        return [
            f"--as={self.memory}", f"--nproc={self.processes}", f"--cpu={self.seconds}", f"--fsize={self.disk}",
            "--core=0",
        ]  # fmt: skip

    def _bubble(self, folders: Sequence[str], variables: Mapping[str, str], words: Sequence[str]) -> list[str]:
        manner, *others = bubblewrap.manners() or ("same",)
        if others and not all(_open_to_all(Path(folder)) for folder in folders):
            manner = others[0]  # the user nobody cannot read the superuser's private files
        view = bubblewrap.View(folders, self.hidden, variables, self.disk)
        return bubblewrap.command(view, self._limits(), words, manner)

    def _confined(self, folders: Sequence[str], home: Path, words: Sequence[str]) -> list[str]:
        command = [sys.executable, "-I", str(Path(__file__).with_name("confine.py")), *self._limits()]
        if self.name == "landlock":
            readable = [*bubblewrap.SYSTEM, "/dev", *folders, *_python()]
            walls = [f"--home={home}", f"--size={self.disk}", *(f"--read={folder}" for folder in readable)]
            command = [*_UNSHARE, *command, *walls]
        return [*command, "--", *words]


def _tidy(home: Path | None, group: Group | None) -> None:
    if home is not None:
        shutil.rmtree(home, ignore_errors=True)
    if group is not None:
        group.remove()


def _nobody(folders: Sequence[str], home: Path) -> dict[str, Any]:
    """The superuser's programs run as the user `nobody`, to which limits apply, if that user can read what they need."""
    if os.name != "posix" or os.geteuid() != 0:
        return {}
    closed = [path for folder in folders for path in (Path(folder), *Path(folder).parents) if not _open_to_all(path)]
    if closed:
        return {}
    os.chown(home, bubblewrap.NOBODY, bubblewrap.NOBODY)
    return {"user": bubblewrap.NOBODY, "group": bubblewrap.NOBODY, "extra_groups": []}


def _named(words: Sequence[str]) -> list[Path]:
    """Paths that a command line names: its files, and the folder of each, unless that is a home, the root or the
    working folder.

    Of a program in a folder `bin` also the libraries beside it, and where a link leads, so that interpreters start.
    """
    found = []
    words = _found(words)
    started = [*_interpreter(words[0]), words[0]]
    for word in [*started, *words[1:]]:
        path = Path(os.path.abspath(word))
        if not path.exists():
            continue
        for place in dict.fromkeys((path, path.resolve())):
            alone = path.parent in (Path.home(), Path("/"), Path.cwd()) or path.is_dir()
            found += [place if alone else place.parent]
            if word in started and place.parent.name == "bin" and not alone:
                beside = (place.parent.parent / name for name in ("lib", "lib64", "libexec", "pyvenv.cfg"))
                found += [other for other in beside if other.exists()]
    return found


def _interpreter(program: str) -> list[str]:
    """The program that runs a script, by its first line."""
    with contextlib.suppress(OSError), open(program, "rb") as file:
        first = file.readline(1000).decode("utf-8", "replace").split()
        if first and first[0].startswith("#!/") and os.path.exists(first[0][2:]):
            return [first[0][2:]]
    return []


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


def _open_to_all(path: Path) -> bool:
    """Whether everybody may read this file, or enter and read this folder."""
    with contextlib.suppress(OSError):
        mode = path.stat().st_mode
        wanted = 0o005 if path.is_dir() or os.access(path, os.X_OK) else 0o004
        return mode & wanted == wanted
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

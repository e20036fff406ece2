"""Whatever the league starts is contained, and each kind of containment keeps what the documentation says."""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import psutil
import pytest
from arena_tools import ROGUES

import asobiba
from asobiba.arena.trust import NOBODY, Trust, UncontainedProgram, contained, make_player, trusted
from asobiba.core import game, make_agent
from asobiba.core.agents import LOADERS
from asobiba.protocols import sandbox
from asobiba.protocols.hosted import HostedAgent
from asobiba.protocols.sandbox import PROMISES, Sandbox, best_kind, promise_table

sys.path.insert(0, str(ROGUES))
NIM = game("toy_nim").ruleset()
DOCS = Path(__file__).parent.parent / "docs"
SMALL = {"memory": 512 << 20, "processes": 24, "disk": 4 << 20}


@pytest.fixture
def spy(tmp_path, monkeypatch):
    """The words of a command that starts the spying program, and a socket on which somebody listens."""
    folder, secret = tmp_path / "its own", tmp_path / "others"
    folder.mkdir()
    secret.mkdir()
    program = shutil.copy(ROGUES / "spy.py", folder)
    (secret / "store").write_text("who holds which role")
    monkeypatch.setenv("LEAGUE_SECRET", "the opponent's fleet")
    for path in (tmp_path, *tmp_path.parents[:2]):
        path.chmod(0o755)  # what protects the secret is the containment, not that pytest's folders are closed
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, mark = listener.getsockname()[1], f"mark{os.getpid()}"
        other = subprocess.Popen([sys.executable, "-c", "input()", mark], stdin=subprocess.PIPE)
        try:
            yield [
                sys.executable,
                "-I",
                str(program),
                str(secret / "store")[::-1],
                str(port),
                mark[::-1],
                str(folder / "mark"),
            ]
        finally:
            other.kill()
            other.communicate()


def missing(kind):
    """Whether this machine lacks what this kind of containment needs, asked in another way."""
    if kind == "bubblewrap":
        return (
            subprocess.run(
                ["bwrap", "--unshare-user", "--ro-bind", "/", "/", "true"], capture_output=True, check=False
            ).returncode
            if shutil.which("bwrap")
            else True
        )
    if kind == "landlock":
        return not Path("/proc/sys/user/max_user_namespaces").exists() or not shutil.which("unshare")
    return False


def kept(promise, value):
    """Whether what the spy found is what was promised of the small sandbox."""
    bounds = {"disk": 3 * SMALL["disk"], "count": SMALL["processes"], "memory": SMALL["memory"] >> 20}
    return value <= bounds[promise] if promise in bounds else not value


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock", "limits"])
def test_each_containment_keeps_what_it_promises(kind, spy):
    if not sandbox.works(kind):
        assert missing(kind)
        return
    promised = [p.name for p in PROMISES if kind in p.kept]
    process = Sandbox(kind=kind, **SMALL).start([*spy, *promised])
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors.decode()
    found = json.loads(errors.decode().splitlines()[-1])
    assert found.keys() == set(promised)
    if "end" in promised:
        assert found.pop("end")
        time.sleep(0.2)
        assert not [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "4242.75"]]
    for promise, value in found.items():
        assert kept(promise, value), (promise, value)
    assert not Path(spy[-1]).exists()


def test_the_documentation_has_the_table():
    assert promise_table() in (DOCS / "programs.md").read_text(encoding="utf-8"), f"it should hold:\n{promise_table()}"


LOADER_NAMES = sorted({entry.name for entry in entry_points(group=LOADERS)})
FILES = {"net_uct": ("policy.safetensors",), "sb3": ("policy.zip", "policy.safetensors"), "rules": ("rules.yml",)}
"""The input of a loader that says that it starts nothing."""


def report_of(text):
    """The spying program's report when some game's league begins with it."""
    plain = (one.ruleset() for one in asobiba.core.games())
    for found in (NIM, game("gogo").ruleset(preset="gomoku"), *plain):
        agent = make_player(found.game, text)
        try:
            agent.reset(found, 0, 0)
        except asobiba.core.AsobibaError as error:
            if "{" in str(error):  # its last words
                return json.loads(str(error)[str(error).index("{") :])
        finally:
            agent.close()
    return pytest.fail(f"no game has started {text}")


@pytest.mark.parametrize("name", LOADER_NAMES)
def test_whatever_a_loader_starts_is_contained(name, spy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tricks = ["environment", "reading", "writing", "network", "processes", "namespaces"]
    mark = tmp_path / "ran"
    if name in FILES:
        for file in FILES[name]:
            evil = f"import pathlib; pathlib.Path({str(mark)!r}).touch()"
            payload = f"!!python/object/apply:exec [{json.dumps(evil)}]\n"
            (tmp_path / file).write_bytes(
                b"cbuiltins\nexec\n(V" + evil.encode() + b"\ntR." if file.endswith("zip") else payload.encode()
            )
            assert not contained(NIM.game, f"{name}:{file}")
            for found in (NIM.game, game("gogo")):
                with pytest.raises(asobiba.core.AsobibaError):
                    make_player(found, f"{name}:{'policy=' * (name == 'net_uct')}{file}").prepare(found.ruleset())
        assert not mark.exists()
        return
    words = shlex.join([*spy, *tricks])
    if name == "file":
        source = Path(spy[2]).read_text().replace("sys.argv", f"{[*spy[2:], *tricks]!r}")
        Path(spy[2]).with_name("strategy.py").write_text(f"{source}\nraise RuntimeError(json.dumps(found))\n")
        words = str(Path(spy[2]).with_name("strategy.py"))
    assert contained(NIM.game, f"{name}:{words}")
    found = report_of(f"{name}:{words}")
    for trick in tricks:
        if best_kind() in next(p.kept for p in PROMISES if p.name == trick):
            assert not found[trick], (trick, found)


def test_who_declares_nothing_is_contained_whole(monkeypatch):
    class Entry:
        name, group, value = "quiet", LOADERS, "x:y"

        class dist:
            name = "asobiba"

        def load(self):
            return lambda game, argument: make_agent(game, "random")

    monkeypatch.setattr("asobiba.arena.trust.entry_points", lambda group: [Entry()])
    assert not trusted(NIM.game, "quiet:x")
    assert contained(NIM.game, "quiet:x")
    assert isinstance(make_player(NIM.game, "quiet:x"), HostedAgent)


def test_who_starts_programs_and_contains_none_is_refused(monkeypatch):
    def load(game, argument):
        return make_agent(game, "random")

    load.starts = "program"

    class Entry:
        name, group, value = "careless", LOADERS, "x:y"

        class dist:
            name = "asobiba"

        def load(self):
            return load

    monkeypatch.setattr("asobiba.arena.trust.entry_points", lambda group: [Entry()])
    monkeypatch.setattr("asobiba.core.agents.entry_points", lambda group: [Entry()])
    with pytest.raises(UncontainedProgram, match="keeps no `sandbox`"):
        make_player(NIM.game, "careless:x")


def test_files_are_contained_wherever_an_agent_is_built(tmp_path):
    """In training, evaluation, hosts and pages too, not only in leagues."""
    file = tmp_path / "strategy.py"
    file.write_text("import os\nfrom asobiba.core import Agent\nclass Mine(Agent):\n    reset = None\n    act = None\n")
    assert isinstance(make_agent(NIM.game, f"file:{file}"), HostedAgent)
    with sandbox.consent(True):
        assert type(make_agent(NIM.game, f"file:{file}")).__name__ == "Mine"
    with pytest.raises(asobiba.core.GameParameterError, match="one game at a time"):
        make_agent(NIM.game, f"file:{file}").begin(NIM, (0, 0), (1, 2))


def test_only_the_sandbox_starts_processes():
    """Protocols and the league start programs through `EngineProcess` and `Sandbox`, which contain them."""
    root = Path(asobiba.__file__).parent
    starters = {}
    for file in [*(root / "protocols").rglob("*.py"), *(root / "arena").rglob("*.py"), *(root / "learn").rglob("*.py")]:
        calls = {
            node.func.attr
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("Popen", "run", "check_output", "system", "posix_spawn", "execvp", "popen", "fork")
            and isinstance(node.func.value, ast.Name) and node.func.value.id in ("subprocess", "os", "pty")
        }  # fmt: skip
        if calls:
            starters[file.name] = calls
    assert starters == {
        "bubblewrap.py": {"run"},  # its probes
        "confine.py": {"execvp"},
        "process.py": {"Popen", "run"},  # of who is vouched for; taskkill
        "sandbox.py": {"Popen"},
    }


def test_a_page_contains_its_opponent(tmp_path, monkeypatch):
    from asobiba.targets.playground import local, play

    file, mark = tmp_path / "evil.py", tmp_path / "ran"
    file.write_text(f"open({str(mark)!r}, 'w')\nfrom asobiba_rogues import Raises as Mine\n")
    tables = []
    monkeypatch.setattr(
        local, "serve", lambda ruleset, agent, seat, **options: tables.append(options["build"](ruleset.game, agent))
    )
    ruleset = game("toy_nim").ruleset()
    for text, trust in (
        (f"file:{file}", NOBODY),
        ("raises", NOBODY),
        ("bouton", NOBODY),
        ("raises", Trust.of(["raises"])),
    ):
        play._play_in_browser(ruleset, 0, [text], 0, None, 0, trust, "default")
    assert [isinstance(agent, HostedAgent) for agent in tables] == [True, True, False, False]
    assert not mark.exists()

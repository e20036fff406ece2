"""Every command and snippet of the README, and CONTRIBUTING's game from beginning to end, are run as printed."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent


def fences(text: str, language: str) -> list[str]:
    """The contents of all code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run(command: list[str] | str, folder: Path, answers: str = "", **environment: str) -> str:
    """Runs a command and returns what it prints; fails with it if the command does."""
    done = subprocess.run(
        command,
        cwd=folder,
        shell=isinstance(command, str),
        input=answers,
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **environment},
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-9000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The folder of the README's reader; later commands find the files of earlier ones."""
    return tmp_path_factory.mktemp("reader")


def blocks() -> list[tuple[str, str]]:
    """The README's python blocks whole, and its console commands one by one, in the order of the page."""
    found = []
    for language, text in re.findall(r"^```(python|console)\n(.*?)^```", README, re.DOTALL | re.MULTILINE):
        if language == "python":
            found.append((language, text))
        else:
            commands = [line.partition(" #")[0].strip() for line in text.splitlines()]
            found += [(language, command) for command in commands if command]
    return found


@pytest.mark.parametrize(("language", "text"), blocks(), ids=lambda value: value.split("\n")[0][:50])
def test_readme(folder, language, text):
    if language == "python":
        run([sys.executable, "-c", text], folder)
    elif text.startswith("pip install"):
        run(text, ROOT)
    else:
        run(text, folder, answers="quit\n" if " play " in text else "")


@pytest.mark.slow
def test_the_walk_to_a_published_policy(tmp_path):
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    (block,) = fences(page, "console")
    for line in block.splitlines():
        printed = run(line.partition("  #")[0], tmp_path)
    assert "0 do not agree" in printed
    assert "sb3:policy.safetensors" in (tmp_path / "published" / "README.md").read_text(encoding="utf-8")


def test_make_demo_prints_the_table_and_the_report(tmp_path):
    printed = run(["make", "demo", "DEMO=--minutes 0.2", f"VENV={Path(sys.prefix)}"], ROOT, XDG_DATA_HOME=str(tmp_path))
    for agent in ("mp_exact", "mp", "cb", "rnb", "random"):
        assert agent in printed
    assert "report" in printed.lower()


def test_make_test_runs_pytest():
    assert "pytest" in run(["make", "--dry-run", "test", f"VENV={Path(sys.prefix)}"], ROOT)


def test_pictures_and_pages_that_the_readme_names_exist():
    names = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert any(name.endswith(".svg") for name in names)
    assert [name for name in names if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    "path",
    [p for p in (ROOT / "src").rglob("*.py") if ">>> " in p.read_text(encoding="utf-8")],
    ids=lambda path: path.stem,
)
def test_examples_in_docstrings(path):
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried > 0
    assert failed == 0


def test_contributing_builds_a_whole_game(tmp_path):
    """Follows the page in a copy of the package: writes its files, registers the game, runs the tests."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    package = tmp_path / "asobiba"
    shutil.copytree(
        ROOT / "src" / "asobiba", package, ignore=shutil.ignore_patterns("__pycache__", "envs", "baselines")
    )
    for name in ("envs", "baselines"):
        (package / name).mkdir()
        (package / name / "__init__.py").touch()
    written = []
    for block in fences(page, "python"):
        name = re.match(r"# (\S+)\n", block)
        assert name, "every python block begins with the name of its file"
        where = tmp_path / name[1] if name[1].startswith("tests/") else package / name[1]
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(block.partition("\n")[2], encoding="utf-8")
        written.append(name[1])
    assert {"envs/nim/rules.py", "envs/nim/__init__.py", "baselines/nim/__init__.py", "tests/test_nim.py"} <= {*written}
    (toml,) = fences(page, "toml")
    distribution = tmp_path / "asobiba-0.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: asobiba\nVersion: 0\n")
    (second,) = re.findall(r"^Its line in `pyproject.toml`: `(.+)`", page, flags=re.M)
    toml = toml.replace("\n\n", f"\n{second}\n\n", 1)
    entries = toml.replace('[project.entry-points."', "[").replace('"]', "]").replace('"', "")
    assert "[asobiba.games]\nnim = asobiba.envs.nim:GAME" in entries
    (distribution / "entry_points.txt").write_text(entries)
    path = {"PYTHONPATH": str(tmp_path)}
    run([sys.executable, "-m", "asobiba.golden", "tests/golden", "nim"], tmp_path, **path)
    assert (tmp_path / "tests" / "golden" / "nim.txt").exists()
    printed = run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_nim.py"], tmp_path, **path
    )
    assert "1 passed" in printed
    plain = [sys.executable, "-m", "asobiba.checking", "plain", "pennies"]
    assert "games in the plain interpreter" in run(plain, tmp_path, NUMBA_DISABLE_JIT="1", **path)
    for name in ("conftest.py", "test_conformance.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests" / name)
    printed = run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "tests/test_conformance.py",
            "-k",
            # What a joint game may get wrong is found by these; nim runs all.
            "nim or (pennies and (laws or views or single_steps or notation or documentation or pettingzoo))",
        ],
        tmp_path,
        **path,
    )
    assert re.search(r"\d+ passed", printed)
    assert "failed" not in printed

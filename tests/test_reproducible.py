"""The same bytes in processes of other kinds, and compiled code that could not have others."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import aarch64
import pytest
import same_bytes
from conftest import debian_program

import asobiba
from asobiba import game, game_names

LIBRARY, PLAIN, INTERPRETED = (kind for kind in same_bytes.KINDS if kind != "as it is")
ROOT = Path(asobiba.__file__).parent


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Matches of curling and of mini 4WD, on file."""
    return same_bytes.records_file(tmp_path_factory.mktemp("matches"))


def test_another_c_library_changes_no_byte_of_any_game(records):
    names, given = list(game_names()), {"games": 16, "steps": 40, "agents": False}
    assert same_bytes.found_in(LIBRARY, names, records=records, **given) == same_bytes.found(names, **given)


def test_a_processor_without_extensions_changes_no_byte(records):
    """Of a game of sines and square roots; of all games in a slow test."""
    names, given = ["curling_end"], {"games": 16, "steps": 40, "agents": False}
    assert same_bytes.found_in(PLAIN, names, records=records, **given) == same_bytes.found(names, **given)


def test_the_interpreter_plays_the_same_bytes():
    names, given = ["curling_end", "mini4wd", "battleship"], {"games": 2, "steps": 8, "agents": False}
    assert same_bytes.found_in(INTERPRETED, names, **given) == same_bytes.found(names, **given)


def test_nothing_allows_the_compiler_to_change_results():
    """No option lets it reorder sums or contract products and sums."""
    for folder in (ROOT, ROOT / "envs", ROOT / "baselines"):
        for path in folder.resolve().rglob("*.py"):
            assert not re.search(r"fastmath\W", path.read_text(encoding="utf-8")), path


@pytest.mark.slow
@pytest.mark.parametrize("name", game_names())
def test_all_kinds_of_processes_play_the_same_bytes(name, records):
    """With the digests that stand on the page, where a row of this game is there."""
    lines = same_bytes.found_in_all(name, records)
    page = same_bytes.cells(Path(__file__).parent.parent / "docs" / "reproducible.md")
    assert page.get(game(name).id, same_bytes.cells_of(lines))[:3] == same_bytes.cells_of(lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", game_names())
def test_an_emulated_arm_plays_the_same_bytes(name):
    for program, package in aarch64.PACKAGES.items():
        debian_program(program, package)
    done = subprocess.run([sys.executable, aarch64.__file__, name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert " games equal: " in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", game_names())
def test_emitted_code(name, tmp_path):
    """The assembly of a game's loops and agents calls no library and has no fused instruction; no sum is reordered."""
    script = Path(__file__).with_name("emitted_code.py")
    done = subprocess.run(
        [sys.executable, str(script), name, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) > 2, done.stdout

"""Pages that a command writes are what the committed code writes."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from asobiba import pages
from asobiba.arena.executors import Executor
from asobiba.arena.league import play_missing
from asobiba.arena.publish import publish
from asobiba.arena.schedule import round_robin
from asobiba.arena.store import MIXED, Store
from asobiba.core import game
from asobiba.pages import Page, all_pages, stamp_written
from asobiba.sources import league_digest, source_files, sources_digest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("page", all_pages(ROOT), ids=lambda page: page.path)
def test_a_committed_page_is_as_the_code_writes_it(page):
    assert page.trouble(ROOT) is None


PLAY = """def f(n):
    from asobiba.envs.go import rules
    while n < 9:
        n += 1
    return n, rules, "a.yml"
"""


@pytest.fixture
def folders(tmp_path) -> dict[str, Path]:
    """Two packages of games and agents, in which `rules` is imported by `play`, inside a function."""
    envs, baselines = tmp_path / "envs", tmp_path / "baselines"
    for folder in (envs / "go", baselines / "go", baselines / "chess"):
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    (envs / "go" / "rules.py").write_text('"""Rules."""\nKOMI = 6  # points\n')
    (baselines / "go" / "play.py").write_text(PLAY)
    (baselines / "go" / "a.yml").write_text("1\n")
    (baselines / "go" / "training.yml").write_text("1\n")
    (baselines / "go" / "a.json").write_text("1\n")
    (baselines / "chess" / "play.py").touch()
    return {"asobiba.envs": envs, "asobiba.baselines": baselines}


def test_sources_are_what_modules_import_and_the_data_that_they_name(folders):
    found = source_files(["asobiba.baselines.go.play", "asobiba.core.game", "numpy"], folders)
    assert {*found} == {
        "asobiba.baselines.go.play", "asobiba.envs.go", "asobiba.envs.go.rules", "asobiba.baselines.go/a.yml",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("file", "text", "stale"),
    [
        ("envs/go/rules.py", '"""Other words."""\n\nKOMI = 6  # points\n', False),
        ("envs/go/rules.py", '"""Rules."""\n# a comment\nKOMI  =  6  # points\n', False),
        ("envs/go/rules.py", '"""Rules."""\nKOMI = 7  # points\n', True),
        ("envs/go/rules.py", '"""Rules."""\nKOMI = (\n    6\n)\n', False),
        ("baselines/go/play.py", PLAY.replace("    ", "  "), False),
        ("baselines/go/play.py", PLAY.replace("    return", "        return"), True),
        ("baselines/go/a.yml", "2\n", True),
        ("baselines/go/training.yml", "2\n", False),
        ("baselines/go/a.json", "2\n", False),
        ("baselines/chess/play.py", "X = 1\n", False),
    ],
)
def test_a_digest_changes_with_what_its_code_does(folders, tmp_path, file, text, stale):
    modules = ["asobiba.baselines.go.play"]
    before = sources_digest(modules, folders)
    (tmp_path / file).write_text(text)
    assert (sources_digest(modules, folders) != before) == stale


MODULES = ("asobiba.envs.battleship.rules",)


def test_a_stale_page_is_found(tmp_path, monkeypatch):
    page = Page("page.md", "write it", MODULES, lambda root: "text\n", lambda: [1, 2])
    file = tmp_path / "page.md"
    file.write_text("text\n")
    assert "no digest" in page.trouble(tmp_path)
    page.stamp(tmp_path)
    assert page.trouble(tmp_path) is None
    assert "not what" in replace(page, whole=lambda root: "other text").trouble(tmp_path)
    monkeypatch.setattr(pages, "sources_digest", lambda modules: "0" * 16)
    assert page.trouble(tmp_path) is None, "its probe gives what it gave"
    assert "run `write it`" in replace(page, probe=lambda: [1, 3]).trouble(tmp_path)
    assert "run `write it`" in replace(page, probe=None).trouble(tmp_path)


def test_a_command_stamps_the_pages_that_it_has_written(tmp_path):
    folder = tmp_path / "docs" / "reproductions"
    folder.mkdir(parents=True)
    old, fresh = folder / "gogo.md", folder / "bao.md"
    old.write_text("old\n")
    os.utime(old, (1, 1))
    fresh.write_text("fresh\n")
    stamp_written(tmp_path, time.time() - 1)
    assert old.read_text() == "old\n"
    (page,) = (page for page in all_pages(tmp_path) if page.path == "docs/reproductions/bao.md")
    assert page.trouble(tmp_path) is None
    fresh.write_text("fresh\n")
    stamp_written(tmp_path, 0.0)  # its sources are younger than that
    assert fresh.read_text() == "fresh\n"


class Idle(Executor):
    """Plays nothing."""

    def play(self, matches, until=None, before=None):
        return iter(())


def test_a_league_is_stamped_with_the_code_that_played_it(tmp_path):
    ruleset = game("battleship").ruleset()
    code = league_digest("battleship")
    assert code is not None
    assert league_digest("toy_nim") is None
    with Store(tmp_path / "league.sqlite") as store:
        assert store.code(ruleset) is None
        for _ in range(2):
            assert not list(play_missing(ruleset, round_robin(ruleset, ["r", "cb"], 2), store, Idle(1)))
            assert store.code(ruleset) == code
        publish(ruleset, store, store.results(ruleset), tmp_path / "leaderboards" / "battleship")
        (page,) = all_pages(tmp_path)
        assert page.trouble(tmp_path) is None
        store.played_by(ruleset, "0" * 16)
        assert store.code(ruleset) == MIXED
        publish(ruleset, store, store.results(ruleset), tmp_path / "leaderboards" / "battleship")
        assert "older than its sources" in page.trouble(tmp_path)

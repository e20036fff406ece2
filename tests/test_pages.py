"""Pages that a command writes are what the committed code writes."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from asobiba import pages, publishing
from asobiba.arena import across, learned
from asobiba.arena.commands import ruleset_of
from asobiba.arena.executors import Executor
from asobiba.arena.league import league_agents, play_missing
from asobiba.arena.publish import publish
from asobiba.arena.schedule import round_robin
from asobiba.arena.store import MIXED, Store
from asobiba.core import AsobibaError, game
from asobiba.openings import NoFigure, opened, openings, with_opening, without_opening
from asobiba.pages import _STAMP, Page, all_pages, stamp_written
from asobiba.publishing import commands_of
from asobiba.sources import league_digest, source_files, sources_digest

ROOT = Path(__file__).parent.parent


def test_committed_pages_are_well_formed():
    """Pages that are older than their code are listed by `asobiba publish --list`: they are written again together."""
    for page in all_pages(ROOT):
        text = (ROOT / page.path).read_text(encoding="utf-8")
        assert text.startswith("# "), f"{page.path} does not begin with a title"
        assert _STAMP.search(text), f"{page.path} does not end with the digest of its sources"
        assert all(command.startswith("asobiba ") for command in page.commands), f"{page.path}: {page.command}"


def test_every_published_league_has_commands_that_make_it_again():
    leagues = [page for page in all_pages(ROOT) if page.league]
    assert {page.path for page in leagues} == {
        f"leaderboards/{f.name}/README.md" for f in (ROOT / "leaderboards").iterdir()
    }
    for page in leagues:
        runs = [words for words in commands_of(page) if words[:2] == ["league", "run"]]
        assert len(runs) == 1
        (words,) = runs
        folder = page.path.removesuffix("/README.md")
        assert words[words.index("--publish") + 1] == folder
        assert page.sources() in words[words.index("--store") + 1]
        if page.stale(ROOT):  # played by other commands, perhaps; `asobiba publish --list` names it
            continue
        played = json.loads((ROOT / folder / "results.json").read_text(encoding="utf-8"))
        ruleset = ruleset_of(words[2], [words[k + 1] for k, word in enumerate(words) if word == "-p"])
        assert json.loads(json.dumps(ruleset.parameters)) == played["parameters"]
        agents = words[words.index("--agents") + 1].split() if "--agents" in words else league_agents(ruleset.game)
        agents += [words[k + 1] for k, word in enumerate(words) if word == "-a"]
        assert {line["agent"] for line in played["standings"]} == set(agents)


def test_learned_against_classical_is_what_the_leagues_say():
    assert (ROOT / learned.PAGE).read_text(encoding="utf-8") == learned.page(ROOT), "asobiba league learned --write"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert learned.with_table(readme, ROOT) == readme, "asobiba league learned --write"


def test_the_agents_of_several_courses_are_what_the_leagues_say():
    page = ROOT / "docs" / "mini4wd" / "README.md"
    text = page.read_text(encoding="utf-8")
    assert "written by `asobiba league across` -->" in text
    assert across.with_tables(text, page, ROOT) == text, "asobiba league across --write"
    rows = across.table(ROOT, "mini4wd").rows
    assert len(rows[0]) == 1 + len(across.leagues_of(ROOT, "mini4wd"))


def test_a_game_with_one_league_has_no_table_of_several():
    with pytest.raises(AsobibaError, match="two or more are needed"):
        across.table(ROOT, "battleship")


def _compared(tmp_path, lines, duels=()):
    """The row of a league of these agents (name, rating, half its interval, ms), with these duels."""
    results = {
        "game": "asobiba/animal_shogi-v0",
        "parameters": {"max_steps": 99},
        "standings": [
            {"agent": name, "rating": rating, "low": rating - half, "high": rating + half, "milliseconds": ms}
            for name, rating, half, ms in lines
        ],
        "pairings": [{"agent": "ppo", "opponent": "alpha_beta", "games": 60, "score": 0.4, "low": 0.3, "high": 0.5}],
    }
    folder = tmp_path / "leaderboards" / "animal_shogi"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    (folder / learned.DUELS).write_text(json.dumps(duels), encoding="utf-8")
    run = tmp_path / "baselines" / "animal_shogi" / "policies" / "run.json"
    run.parent.mkdir(parents=True, exist_ok=True)
    run.write_text(json.dumps({"steps": 1_300_000, "core_hours": 0.2}), encoding="utf-8")
    (row,) = learned.table(tmp_path).rows
    return row


def test_the_best_of_each_kind_are_compared(tmp_path):
    lines = [("perfect", 900, 0, 1), ("alpha_beta", 300, 30, 0.25), ("ppo", 220, 40, 0.5), ("minimax", 10, 20, 1)]
    assert _compared(tmp_path, lines) == (
        "[Animal shogi (max_steps=99)](leaderboards/animal_shogi/README.md)",
        "ppo",
        "alpha_beta",
        "0.5 : 0.25 ms = 2",
        "-80 ± 50",
        "40.0 % (30.0 to 50.0) of 60",
        "1.3 M, 0.2 h",
    )


def test_a_learned_agent_that_thinks_longer_is_not_held_against_a_classical_one(tmp_path):
    slow, quick = ("gumbel_az:simulations=400", 400, 40, 12.6), ("gumbel_az", 310, 40, 2)
    row = _compared(tmp_path, [("alpha_beta", 300, 30, 10), slow, quick])
    assert row[1:5] == ("gumbel_az", "alpha_beta", "2 : 10 ms = 0.2", "+10 ± 50")
    assert "none is that quick" not in learned.page(tmp_path)
    assert _compared(tmp_path, [("alpha_beta", 300, 30, 10), (*slow[:3], 12.5), quick])[1] == slow[0]
    assert _compared(tmp_path, [("alpha_beta", 300, 30, 10), slow])[1] == slow[0]
    assert "none is that quick, the best one: Animal shogi (max_steps=99)." in learned.page(tmp_path)


def test_a_duel_under_the_parameters_of_the_league_decides(tmp_path):
    lines = [("alpha_beta", 300, 30, 10), ("gumbel_az:simulations=400", 400, 40, 12), ("ppo", 10, 40, 1)]
    duel = {
        **{"agent": "ppo", "opponent": "alpha_beta", "games": 900, "score": 0.41, "low": 0.4, "high": 0.42},
        **{"milliseconds": 2.0, "opponent_milliseconds": 4.0, "parameters": {"max_steps": 99}},
    }
    row = _compared(tmp_path, lines, [duel])
    assert row[1:6] == ("ppo", "alpha_beta", "2 : 4 ms = 0.5", "-290 ± 50", "41.0 % (40.0 to 42.0) of 900")
    assert _compared(tmp_path, lines, [{**duel, "parameters": {"max_steps": 98}}])[1] == "gumbel_az:simulations=400"


def test_what_a_training_cost_is_found_where_its_record_lies(tmp_path):
    def cost(game, agent):
        return learned._training(tmp_path, game, agent)

    policies = tmp_path / "baselines" / "mini4wd" / "policies"
    (policies / "plan_cem").mkdir(parents=True)
    assert cost("mini4wd_race", "plan_cem") == "not recorded"
    own = policies / "plan_cem" / "run.json"
    own.write_text(json.dumps({"steps": 2_000_000, "core_hours": 0.5, "before": {"steps": 10**6, "core_hours": 0.25}}))
    assert cost("mini4wd", "plan_cem") == cost("mini4wd_race", "plan_cem") == "3 M, 0.75 h"
    (policies / "shots.json").write_text(json.dumps({"steps": 10_000, "learned shots": 20_000}))
    own.write_text(json.dumps({"record": "../shots.json"}))
    assert cost("mini4wd", "plan_cem") == "0.02 M, hours not recorded"


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


COMMANDS = ("asobiba write cheap.md", "asobiba write dear.md", "asobiba write fails.md")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of pages, and a command line that writes them: that of `fails.md` ends with 1 as long as `broken` is there."""
    cli = tmp_path / "asobiba" / "cli.py"
    cli.parent.mkdir()
    (cli.parent / "__init__.py").touch()
    cli.write_text(
        "import sys, pathlib\n"
        "name = sys.argv[2]\n"
        "with open('log', 'a') as log: log.write(name + '\\n')\n"
        "if name == 'fails.md' and pathlib.Path('broken').exists(): sys.exit(1)\n"
        "pathlib.Path(name).write_text('# Written\\n\\n<!-- digest of its sources: ' + 'f' * 16 + ' -->\\n')\n"
    )
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "durations.json").write_text('{"dear.md": 7200, "cheap.md": 60}')
    (tmp_path / "broken").touch()
    found = [Page(command.split()[-1], command, MODULES) for command in COMMANDS]
    monkeypatch.setattr(publishing, "all_pages", lambda root: found)
    monkeypatch.setattr(pages, "sources_digest", lambda modules: "f" * 16)
    return tmp_path


def test_publish_writes_stale_pages_the_cheapest_first_and_goes_on(repository):
    jobs = publishing.stale_pages(repository)
    assert [(job.page.path, job.estimate) for job in jobs] == [
        ("cheap.md", "1 min"), ("dear.md", "2.0 h"), ("fails.md", "nobody knows how long"),
    ]  # fmt: skip
    told = []
    failed = publishing.publish(repository, jobs, told.append)
    assert [job.page.path for job in failed] == ["fails.md"]
    assert (repository / "log").read_text().split() == ["cheap.md", "dear.md", "fails.md"]
    (left,) = publishing.stale_pages(repository)
    assert left.page.path == "fails.md"
    (repository / "broken").unlink()
    assert publishing.publish(repository, [left], told.append) == []
    assert publishing.stale_pages(repository) == []
    assert (repository / "log").read_text().split() == ["cheap.md", "dear.md", "fails.md", "fails.md"]
    assert set(publishing.durations(repository)) == {"cheap.md", "dear.md", "fails.md"}
    assert publishing.durations(repository)["dear.md"] < 7200
    assert publishing.stale_pages(repository, ["che"]) == []
    with pytest.raises(publishing.NoRepository, match=r"cheap\.md"):
        publishing.stale_pages(repository, ["nothing"])


def test_a_page_that_was_never_timed_is_told_by_its_author(repository, monkeypatch):
    page = Page("slow.md", COMMANDS[0], MODULES, expected=5400.0)
    monkeypatch.setattr(publishing, "all_pages", lambda root: [page])
    assert [job.estimate for job in publishing.stale_pages(repository)] == ["about 1.5 h"]


def test_a_page_whose_probe_gives_the_same_is_stamped_and_not_written_again(repository, monkeypatch):
    page = Page("cheap.md", COMMANDS[0], MODULES, probe=lambda: 1)
    (repository / page.path).write_text(pages.stamped("# Old", "0" * 16, page.digest()))
    monkeypatch.setattr(publishing, "all_pages", lambda root: [page])
    (job,) = publishing.stale_pages(repository)
    assert job.why == "its sources have changed"
    assert publishing.publish(repository, [job], lambda text: None) == []
    assert not (repository / "log").exists()
    assert publishing.stale_pages(repository) == []


def test_a_league_without_records_is_stale(tmp_path):
    page = Page("leaderboards/go/README.md", "asobiba league run go", MODULES, league=True)
    folder = tmp_path / "leaderboards" / "go"
    folder.mkdir(parents=True)
    assert page.stale(tmp_path) == "it was never written"
    (folder / "README.md").write_text(pages.stamped("# Go", page.sources()))
    assert "records" in page.stale(tmp_path)
    (folder / "records.xz").touch()
    (folder / "results.json").write_text('{"standings": [{"agent": "gnu"}]}', encoding="utf-8")
    assert page.stale(tmp_path) is None


def test_a_league_with_commands_that_were_not_run_is_stale(tmp_path):
    run = "asobiba league run go -a gnu -a pachi:level=2"
    page = Page(
        "leaderboards/go/README.md",
        f"{run}\nasobiba evaluate go gnu -o leaderboards/go/duels.json",
        MODULES,
        league=True,
    )
    folder = tmp_path / "leaderboards" / "go"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text(pages.stamped("# Go", page.sources()))
    (folder / "records.xz").touch()
    (folder / "results.json").write_text('{"standings": [{"agent": "gnu"}, {"agent": "pachi"}]}', encoding="utf-8")
    assert page.stale(tmp_path) == "not among its agents: pachi:level=2"
    (folder / "results.json").write_text(
        '{"standings": [{"agent": "gnu"}, {"agent": "pachi:level=2"}]}', encoding="utf-8"
    )
    assert page.stale(tmp_path) == "leaderboards/go/duels.json was never written"
    (folder / "duels.json").touch()
    assert page.stale(tmp_path) is None


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


OPENING = "Of 12 boards {loops \\| (\\d+)} loop, and 1,300 do not (`n=7`, 2.5 %)."


def test_an_opening_takes_its_figures_from_the_page():
    page = "# Bao\n\n| boards | 12 |\n| loops | 3 |\n| others | 1,300 | 2.5 |\n"
    text = with_opening(page, OPENING)
    assert "\nOf 12 boards 3 loop, and 1,300 do not (`n=7`, 2.5 %).\n" in text
    assert text.startswith("# Bao\n\n")
    assert with_opening(text, OPENING) == text
    assert without_opening(text) == page


@pytest.mark.parametrize("body", ["12 1,300 2.5", "| loops | 3 | 112 1,300 2.5", "| loops | 3 | 12 1,300 2.51"])
def test_an_opening_says_nothing_that_its_page_does_not(body):
    with pytest.raises(NoFigure):
        with_opening(f"# Bao\n\n{body}\n", OPENING)


def test_a_page_without_a_figure_is_stamped_without_its_opening(tmp_path, capsys):
    folder = tmp_path / "docs" / "reproductions"
    folder.mkdir(parents=True)
    (folder / "openings.yml").write_text("bao: There are 13 loops.\n")
    assert opened(tmp_path, "docs/reproductions/bao.md", "# Bao\n\n12 loops\n") == "# Bao\n\n12 loops\n"
    assert "the page has no number 13" in capsys.readouterr().err
    assert "There are 13" in opened(tmp_path, "docs/reproductions/bao.md", "# Bao\n\n13 loops\n")


def test_every_page_of_the_reproductions_has_its_opening():
    told, written = openings(ROOT), sorted((ROOT / "docs" / "reproductions").glob("*.md"))
    assert sorted(page.stem for page in written) == sorted(told)
    for page in written:
        text = page.read_text(encoding="utf-8")
        assert with_opening(text, told[page.stem]) == text, page.name

"""The parts of the site: its pages and the reference; nothing of a game's page is typed twice.

The site itself is built by `make docs`, in an environment of its own, which also runs the tutorials.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from asobiba.api.render import svg
from asobiba.arena.match import decode_actions
from asobiba.arena.person import tables
from asobiba.arena.records_file import published_match
from asobiba.arena.results import Result, Results
from asobiba.core import agent_declarations, states

ROOT = Path(__file__).parent.parent
SITE = ROOT / "docs" / "_site"
sys.path.insert(0, str(SITE))

import api  # noqa: E402
import films  # noqa: E402
import finish  # noqa: E402
import games  # noqa: E402
import stage  # noqa: E402

PUBLIC = [(module, name) for module in api.PUBLIC for name in api.public_names(module)]


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """The sources of the site, as `make docs` writes them, without compiling anything."""
    out = tmp_path_factory.mktemp("site") / "source"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "SITE_REVISION": "v1.2"}
    done = subprocess.run([sys.executable, SITE / "stage.py", out], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=[f"{module}.{name}" for module, name in PUBLIC])
def test_what_is_public_is_documented(module, name):
    found = importlib.import_module(module)
    assert len(api.text_of(found, name)) > 20
    assert name in api.describe(found, name)


def test_modules_say_what_they_are():
    for module, what in api.PUBLIC.items():
        found = importlib.import_module(module)
        assert what.endswith(".")
        assert len(found.__doc__) > 20
        assert sorted(found.__all__) == sorted({*found.__all__})


def imports_of(code: str) -> list[tuple[str, str]]:
    """The imports of a snippet from asobiba: module and name."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "asobiba":
            found += [(node.module, alias.name) for alias in node.names]
    return found


def snippets() -> list[str]:
    """The Python of README, of the pages for users, and of the examples."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
    found = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.py"))]
    for page in pages:
        for code in re.findall(
            r"^```(?:\{code-cell\} )?python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S
        ):
            if not code.startswith("%%bash"):
                found.append(re.sub(r"^%.*$", "", code, flags=re.M))
    return found


def test_users_are_shown_what_is_public():
    shown = {pair for code in snippets() for pair in imports_of(code)}
    assert len(shown) > 10
    own = {(module, name) for module, name in shown if not module.startswith("asobiba.envs.")}
    assert sorted(own - {*PUBLIC}) == []


@pytest.mark.parametrize("package", games.packages())
def test_the_page_of_a_game_holds_its_declaration(staged, package):
    page = (staged / "games" / f"{package}.md").read_text(encoding="utf-8")
    for section, text in games.sections(package).items():
        assert text in page, f"the section {section} is missing"
    for declared in games.packages()[package]:
        ruleset = declared.ruleset()
        assert f"`{declared.gymnasium_id}`" in page
        assert f"`{ruleset.action_space}`" in page
        for name, value in ruleset.parameters.items():
            assert f"| `{name}` | `{games.cell(repr(value))}` |" in page
        for name, shape in ruleset.layout.observation.items():
            assert f"| `{name}` | `{tuple(shape)}` |" in page
        for agent in agent_declarations(declared).values():
            source = f"<br>*{games.cell(agent.source)}*" if agent.source else ""
            assert f"| `{agent.name}` | {games.cell(agent.description)}{source} |" in page
    for text in tables(games.packages()[package][0]).values():
        assert text in page
    for picture in re.findall(r"media/games/[\w-]+\.svg", page):
        assert (staged / picture).read_text(encoding="utf-8").startswith("<svg")
    for readme in ROOT.glob(f"baselines/{package}/policies/*/README.md"):
        assert f"(../policies/{package}-{readme.parent.name}.md)" in page
    for folder, results in games.leagues(package):
        assert f"(../leagues/{folder}.md)" in page
        for line in results["standings"]:
            assert f"| {line['rank']} | {line['agent']} |" in page


def test_every_league_has_a_film_on_the_page_of_its_game(staged):
    for package in games.packages():
        page = (staged / "games" / f"{package}.md").read_text(encoding="utf-8")
        for league, results in games.leagues(package):
            film = json.loads((staged / "extra" / "films" / f"{league}.json").read_text(encoding="utf-8"))
            frames = ["".join(film["elements"][k] for k in frame) for frame in film["frames"]]
            assert 5 < len(frames) <= films.MOST_FRAMES
            assert all(frame.startswith("<svg") and frame.endswith("</svg>") for frame in frames)
            assert len({*frames}) > len(frames) // 2
            assert f'data-frames="../films/{league}.json"' in page
            number = re.search(rf'Match (\d+) of <a href="\.\./leagues/{league}\.html">', page)[1]
            record = published_match(ROOT / "leaderboards" / league, number)
            assert (record.reason, record.culprit) == ("rules", None)
            assert {*record.match.seats} <= {line["agent"] for line in results["standings"]}
            assert all(f"<code>{agent}</code>" in page for agent in record.match.seats)


def test_the_film_of_bao_is_the_game_on_record(staged):
    """Its last picture is drawn from the position that the rules reach from the seed and the moves on record."""
    film = json.loads((staged / "extra" / "films" / "bao.json").read_text(encoding="utf-8"))
    page = (staged / "games" / "bao.md").read_text(encoding="utf-8")
    number = re.search(r'Match (\d+) of <a href="../leagues/bao.html">', page)[1]
    record = published_match(ROOT / "leaderboards" / "bao", number)
    ruleset = record.match.ruleset().unopened
    state, actions = states.new_state(ruleset, record.match.game_seed), decode_actions(ruleset, record.actions)
    for action in actions:
        state = states.step(ruleset, state, action)
    assert "".join(film["elements"][k] for k in film["frames"][-1]) == svg(ruleset, state, last_action=actions[-1])
    best = [line["agent"] for line in dict(games.leagues("bao"))["bao"]["standings"][:2]]
    assert sorted(record.match.seats) == sorted(best)


def test_a_film_shows_a_decided_game_of_the_best_that_is_longer_than_most():
    def played(number, seats, winner, moves, reason="rules"):
        returns = (0.0, 0.0) if winner < 0 else (1.0, -1.0) if winner == 0 else (-1.0, 1.0)
        return Result(number, seats, 0, returns, winner, moves, reason, None, (moves, 0), (0.0, 0.0), None)

    results = Results.of(
        [
            played(1, ("best", "last"), 0, 30),
            played(2, ("good", "best"), 1, 9),
            played(3, ("best", "good"), 0, 50),
            played(4, ("best", "good"), 0, 40),
            played(5, ("best", "good"), 1, 20),
            played(8, ("good", "best"), 0, 60),
            played(6, ("best", "good"), -1, 41),
            played(7, ("good", "best"), 0, 42, "truncation"),
        ]
    )
    assert films.chosen(results, ["best", "good", "last"]) == 3
    assert films.chosen(results, ["last", "best", "good"]) == 1


def test_every_league_is_on_the_page_of_a_game():
    shown = [folder for package in games.packages() for folder, _ in games.leagues(package)]
    assert sorted(shown) == sorted(path.parent.name for path in (ROOT / "leaderboards").glob("*/results.json"))


def test_links_lead_to_pages_and_else_into_the_repository(tmp_path):
    work = stage.Stage(tmp_path, "v1.2")
    text = "[a](league.md#seeds) [b](../LICENSE) ![c](pictures/bao.svg) [d](../envs/bao/__init__.py)\n```\n[e](nowhere)\n```\n[f\ng](../leaderboards/bao/report.html) [h](https://x.org/y)"
    lines = work.text("docs/x/../wasm.md", "wasm.md", text)
    assert "[a](league.md#seeds)" in lines
    assert f"[b]({stage.ADDRESS}/blob/v1.2/LICENSE)" in lines
    assert "![c](media/docs/pictures/bao.svg)" in lines
    assert (tmp_path / "media" / "docs" / "pictures" / "bao.svg").is_file()
    assert "[d](games/bao.md)" in lines
    assert "[e](nowhere)" in lines
    assert '<a href="reports/bao.html">f\ng</a>' in lines
    assert "[h](https://x.org/y)" in lines
    with pytest.raises(stage.DeadLink, match="nowhere"):
        work.text("docs/wasm.md", "wasm.md", "[a](nowhere.md)")


def test_every_page_of_the_repository_is_on_the_site(staged):
    written = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    written |= {path.relative_to(ROOT).as_posix() for path in ROOT.glob("baselines/*/policies/**/README.md")}
    assert written <= {*stage.pages()}
    for page in stage.pages().values():
        assert (staged / page).is_file()


def test_what_a_page_loads_from_elsewhere_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<script src="https://cdn.org/x.js"></script><a href="https://x.org">x</a><link rel="canonical" href="https://x.org">'
        '<img src="here.png"><a href="gone.html#x">y</a>'
    )
    (tmp_path / "a.css").write_text("@font-face { src: url('//fonts.org/a.woff') } body { background: url(b.png) }")
    assert finish.loaded_from_elsewhere(tmp_path) == ["a.html: https://cdn.org/x.js", "a.css: //fonts.org/a.woff"]
    assert finish.dead_links(tmp_path) == ["a.html: gone.html"]


def test_versions_lie_side_by_side(tmp_path):
    for name in ("main", "v0.9.0", "v0.10.1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "searchindex.js").touch()
    assert finish.enter(tmp_path) == ["v0.10.1", "v0.9.0", "main"]
    assert json.loads((tmp_path / "versions.json").read_text()) == ["v0.10.1", "v0.9.0", "main"]
    assert 'url=v0.10.1/"' in (tmp_path / "index.html").read_text()


def test_tutorials_show_the_examples_as_they_are(staged):
    page = (staged / "tutorials" / "write-an-agent.md").read_text(encoding="utf-8")
    for path in (ROOT / "examples").iterdir():
        if path.suffix in (".py", ".yaml") and not path.name.startswith("check_"):  # agents; others are checkers
            assert f"%%writefile {path.name}\n{path.read_text(encoding='utf-8')}```" in page

"""The agents of a game in all its published leagues, side by side: `asobiba league across`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asobiba.core.errors import AsobibaError
from asobiba.pages import TextTable

_END = "<!-- end -->"
_MARKED = re.compile(
    r"(?P<begin><!-- leagues of (?P<game>\w+): written by `asobiba league across` -->)\n.*?" + re.escape(_END),
    re.DOTALL,
)
"""A place for the table of a game on a page."""


@dataclass(frozen=True)
class Published:
    """A published league.

    Args:
        folder: from the repository's root.
        parameters: of its game.
        standings: its lines by agent (see `asobiba.arena.standings.Standing`).
        alone: whether its ratings are mean returns.
    """

    folder: str
    parameters: dict[str, Any]
    standings: dict[str, dict[str, Any]]
    alone: bool


class TooFewLeagues(AsobibaError):
    """Raised where there is nothing to be compared."""


def leagues_of(root: Path, game_name: str) -> list[Published]:
    """The published leagues of a game, by their folders.

    Raises:
        TooFewLeagues: if there are fewer than two.
    """
    found = []
    for file in sorted(root.glob("leaderboards/*/results.json")):
        results = json.loads(file.read_text(encoding="utf-8"))
        if results["game"].partition("/")[2].rpartition("-v")[0] == game_name:
            lines = {line["agent"]: line for line in results["standings"]}
            folder = file.parent.relative_to(root).as_posix()
            found.append(Published(folder, results["parameters"], lines, results["rating"] == "mean return"))
    if len(found) < 2:
        raise TooFewLeagues(
            f"{game_name} has {len(found)} published league(s) in leaderboards/; two or more are needed"
        )
    return found


def table(root: Path, game_name: str, up: str = "") -> TextTable:
    """Ratings with half their intervals: a row for each agent, a column for each league, named by the parameters in which
    they differ. Agents of all leagues first, by the mean of their ratings; `up` leads from the page to the repository's root.
    """
    leagues = leagues_of(root, game_name)
    names = [name for name in leagues[0].parameters if len({str(each.parameters.get(name)) for each in leagues}) > 1]
    titles = [
        f"[{', '.join(str(each.parameters[name]) for name in names)}]({up}{each.folder}/README.md)" for each in leagues
    ]
    rows = []
    for agent in dict.fromkeys(agent for each in leagues for agent in each.standings):
        lines = [each.standings.get(agent) for each in leagues]
        ratings = [line["rating"] for line in lines if line is not None]
        cells = [
            ""
            if line is None
            else f"{line['rating']:.{3 if each.alone else 0}f} ± {(line['high'] - line['low']) / 2:.{3 if each.alone else 0}f}"
            for each, line in zip(leagues, lines, strict=True)
        ]
        rows.append((len(leagues) - len(ratings), -sum(ratings) / len(ratings), agent, cells))
    return TextTable(("agent", *titles), [(agent, *cells) for _, _, agent, cells in sorted(rows)])


def with_tables(text: str, page: Path, root: Path) -> str:
    """A page's text with the present tables between their marks."""
    up = "../" * (len(page.resolve().relative_to(root.resolve()).parts) - 1)

    def anew(found: re.Match[str]) -> str:
        return f"{found['begin']}\n{table(root, found['game'], up).markdown()}\n{_END}"

    return _MARKED.sub(anew, text)


def write(root: Path) -> list[Path]:
    """Writes the tables into the pages of `docs/` that have their marks; returns these pages."""
    written = []
    for page in sorted((root / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if _MARKED.search(text):
            page.write_text(with_tables(text, page, root), encoding="utf-8")
            written.append(page)
    return written

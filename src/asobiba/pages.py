"""Pages that a command writes, checked against the code that writes them: `python -m asobiba.pages` in the repository.

The pages are those of `docs/reproductions` and the leagues of `leaderboards`. Every one ends with the digest of its
*sources* (see `asobiba.sources`). A page whose sources have changed is stale, and its command must be run again, which
`asobiba publish` does.

A page is stamped by the command that writes it, at its end, if nothing of its sources was changed while it ran. A league
is stamped with the code that played its games, which its store keeps. `--stamp` renews digests, for changes that
cannot have touched what the pages say (such as a new name).

A game's agents may have a module `pages` with `PAGES`, where what a page comes from is not the module `reproduction`, or
where more can be compared: a page that is quick to write whole; one that takes long by a *probe*, a small run of the
same code. Where the sources have changed and the probe still gives the same, the page is as good as it was.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from asobiba.openings import opened, without_opening
from asobiba.sources import league_modules, source_files, sources_digest

_STAMP = re.compile(r"\n<!-- digest of its sources: (\S+?)(?:; of its probe: ([0-9a-f]{16}))? -->\n$")


def reproduction_modules(package: str, *modules: str) -> tuple[str, ...]:
    """A game's rules and agents, and these modules beside its agents."""
    return (
        f"asobiba.envs.{package}",
        f"asobiba.baselines.{package}",
        *(f"asobiba.baselines.{package}.{m}" for m in modules),
    )


@dataclass(frozen=True)
class TextTable:
    """A table to print or to write.

    Args:
        columns, rows: texts.
        title, remark: what stands above it, if anything.
        figures: whether all columns but the first are aligned to the right.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    title: str = ""
    remark: str = ""
    figures: bool = False

    def markdown(self, level: int = 2) -> str:
        """The table in Markdown, with its title as a heading of this level."""
        above = [
            part for text in (self.title and f"{'#' * level} {self.title}", self.remark) if text for part in (text, "")
        ]
        rule = f"|---|{'--:|' * (len(self.columns) - 1)}" if self.figures else f"|{'---|' * len(self.columns)}"
        lines = [*above, f"| {' | '.join(self.columns)} |", rule]
        return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in self.rows)])


def in_hours(seconds: float) -> str:
    """A time by the clock in words, such as `3 min` or `2.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def verdict_table(rows: Sequence[tuple[str, str, str]]) -> TextTable:
    """The opening of a reproduction: a paper's claims, the results here, and the reasons for differences."""
    return TextTable(("the paper says", "here", "where it differs, and why"), rows, "Verdict")


@dataclass(frozen=True)
class Opening:
    """The opening of a reproduction's page.

    Args:
        title, source: of the page, and the paper that it replays.
        command: the command that wrote it.
        seconds: that it took, by the clock.
        verdict: rows of the paper's claim, the result here, and the differences with their reasons.
        words: terms and agents of the page, with their meanings.
        remark: anything else that stands above the verdict.
    """

    title: str
    source: str
    command: str
    seconds: float
    verdict: Sequence[tuple[str, str, str]]
    words: Sequence[tuple[str, str]]
    remark: str = ""

    def markdown(self) -> str:
        """The beginning of the page, without an empty line at its end."""
        terms = "\n".join(f"* *{term}*: {meaning}" for term, meaning in self.words)
        written = f"{self.source} Written by `{self.command}` in {in_hours(self.seconds)} on {os.cpu_count()} cores."
        parts = [
            f"# {self.title}",
            written,
            self.remark,
            verdict_table(self.verdict).markdown(),
            f"## Words\n\n{terms}",
        ]
        return "\n\n".join(part for part in parts if part)


@dataclass(frozen=True)
class Page:
    """A page that a command writes.

    Args:
        path: from the repository's root.
        command: the command that writes it; several lines are commands that run one after the other.
        modules: its sources.
        whole: the text that the command would write, without its stamp, where that is quick; given the root.
        probe: a small run of the code behind it, as JSON-ready values.
        league: whether it is a league, which brings its stamp from its store.
        expected: seconds that it takes about on two cores, where it has not been timed (`docs/durations.json`).
    """

    path: str
    command: str
    modules: tuple[str, ...]
    whole: Callable[[Path], str] | None = None
    probe: Callable[[], Any] | None = None
    league: bool = False
    expected: float | None = None

    @property
    def commands(self) -> list[str]:
        """The commands that write it, in order."""
        return self.command.splitlines()

    def sources(self) -> str:
        """The digest of the present sources."""
        return sources_digest(self.modules)

    def digest(self) -> str:
        """The digest of the probe with the present code."""
        assert self.probe is not None
        return hashlib.blake2b(json.dumps(self.probe(), sort_keys=True).encode(), digest_size=8).hexdigest()

    def stamped(self, text: str) -> str:
        """The text with the digests at its end."""
        return stamped(text, self.sources(), None if self.probe is None else self.digest())

    def stamp(self, root: Path) -> None:
        """Writes the digests at the end of the page, and its opening paragraph."""
        file = root / self.path
        text = opened(root, self.path, file.read_text(encoding="utf-8"))
        file.write_text(self.stamped(text), encoding="utf-8")

    def stale(self, root: Path) -> str | None:
        """The reason why the page does not belong to the present sources, without running anything, or `None`."""
        file = root / self.path
        if not file.is_file():
            return "it was never written"
        stamp = _STAMP.search(file.read_text(encoding="utf-8"))
        if stamp is None:
            return "it has no digest of its sources"
        if self.league and not (file.parent / "records.xz").is_file():
            return "the records of its games are not there"
        return self._unfinished(root) if stamp[1] == self.sources() else "its sources have changed"

    def _unfinished(self, root: Path) -> str | None:
        """What the page's commands would add to a league: an agent that has not played, a file that is not there."""
        if not self.league:
            return None
        results = (root / self.path).parent / "results.json"
        played = {line["agent"] for line in json.loads(results.read_text(encoding="utf-8"))["standings"]}
        for words in map(shlex.split, self.commands):
            named = {
                agent for k, word in enumerate(words) if word in ("-a", "--agents") for agent in words[k + 1].split()
            }
            if words[1:3] == ["league", "run"] and not named <= played:
                return f"not among its agents: {', '.join(sorted(named - played))}"
            for k, word in enumerate(words):
                if word in ("-o", "--output") and not (root / words[k + 1]).is_file():
                    return f"{words[k + 1]} was never written"
        return None

    def trouble(self, root: Path) -> str | None:
        """The reason why the committed page differs from the code's output, or `None`."""
        written = (root / self.path).read_text(encoding="utf-8")
        stamp, text = _STAMP.search(written), without_opening(_STAMP.sub("", written)).rstrip()
        if self.whole is not None and text != self.whole(root).rstrip():
            return f"{self.path} is not what `{self.command}` writes; run it"
        if stamp is None:
            return (
                f"{self.path} has no digest of its sources: run `{self.command}`, or, if the code as it is now wrote it, "
                f"`python -m asobiba.pages --stamp {self.path}`"
            )
        now = self.sources()
        if stamp[1] == now or (stamp[2] is not None and self.probe is not None and stamp[2] == self.digest()):
            return None
        return f"{self.path} is older than its sources (digest {stamp[1]}, now {now}): run `{self.command}`"


def stamped(text: str, sources: str, probe: str | None = None) -> str:
    """A page's text with digests at its end, in the place of older ones."""
    more = "" if probe is None else f"; of its probe: {probe}"
    return f"{unstamped(text)}\n<!-- digest of its sources: {sources}{more} -->\n"


def unstamped(text: str) -> str:
    """A page's text without digests at its end, for a command that adds a section to it."""
    return f"{_STAMP.sub('', text).rstrip()}\n"


def all_pages(root: Path) -> list[Page]:
    """The pages that lie in a repository: those that games' agents declare, and by rule all others."""
    declared = {page.path: page for page in _declared() if (root / page.path).is_file()}
    found = []
    for file in sorted(root.glob("docs/reproductions/*.md")):
        path = file.relative_to(root).as_posix()
        found.append(declared.get(path) or _reproduction(path))
    leagues = _leagues()
    written = {file.parent.relative_to(root).as_posix() for file in root.glob("leaderboards/*/README.md")}
    planned = leagues if (root / "leaderboards").is_dir() and (root / "baselines").is_dir() else {}
    for folder in sorted(written | planned.keys()):
        found.append(_league(root, folder, leagues.get(folder)))
    return found


def _leagues() -> dict[str, str]:
    """The commands that write each published league, by its folder: from `league.yml` beside the agents."""
    import yaml

    found: dict[str, str] = {}
    for package in _packages():
        file = files(package).joinpath("league.yml") if hasattr(importlib.import_module(package), "__path__") else None
        if file is not None and file.is_file():
            for folder, commands in yaml.safe_load(file.read_text(encoding="utf-8")).items():
                found[folder] = "\n".join(commands)
    return found


def _packages() -> list[str]:
    """The packages of all games' agents."""
    from asobiba.core.agents import agent_packages
    from asobiba.core.registry import game_names

    return list(dict.fromkeys(package for name in game_names() for package in agent_packages(name)))


def _declared() -> list[Page]:
    found: list[Page] = []
    for package in _packages():
        module = importlib.import_module(package)
        if hasattr(module, "__path__") and importlib.util.find_spec(f"{package}.pages") is not None:
            found += importlib.import_module(f"{package}.pages").PAGES
    return found


def _reproduction(path: str) -> Page:
    game = Path(path).stem
    return Page(path, f"asobiba reproduce {game}", reproduction_modules(game, "reproduction"))


def _league(root: Path, folder: str, commands: str | None) -> Page:
    """A published league: written by these commands, or as its page says."""
    path = f"{folder}/README.md"
    if commands is None:
        text = (root / path).read_text(encoding="utf-8")
        told = re.search(r"`asobiba league publish (\w+ ?[^`]*)`", text)
        if told is None:
            raise ValueError(f"{path} does not say which command wrote it")
        commands = f"asobiba league run {told[1]} --publish {folder}"
    played = re.search(r"^asobiba league run (\w+)", commands, re.MULTILINE)
    if played is None:
        raise ValueError(f"the commands of {folder} run no league: {commands}")
    return Page(path, commands, league_modules(played[1]), league=True)


def stamp_written(root: Path, since: float) -> None:
    """Stamps the pages of a repository that a command has written since a time (of `time.time()`).

    A page whose sources were changed meanwhile is left without a stamp, and so are leagues, which are stamped where they
    are written.
    """
    files = [*root.glob("docs/reproductions/*.md")]
    if not any(file.stat().st_mtime >= since for file in files):
        return
    for page in all_pages(root):
        if page.league or (root / page.path).stat().st_mtime < since or page.stale(root) is None:
            continue
        if all(file.stat().st_mtime < since for file in source_files(page.modules).values()):
            page.stamp(root)
        else:
            print(f"{page.path} is not stamped: its sources were changed while it was written", file=sys.stderr)


def main() -> int:
    """Compares all pages, or renews their digests. The exit status is 1 if a page is stale."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="only these, such as docs/reproductions/bao.md")
    parser.add_argument("--stamp", action="store_true", help="renew the digests of the pages")
    arguments, root, stale = parser.parse_args(), Path.cwd(), False
    pages = [page for page in all_pages(root) if page.path in arguments.pages or not arguments.pages]
    unknown = set(arguments.pages) - {page.path for page in pages}
    if unknown:
        parser.error(f"no such page: {', '.join(sorted(unknown))}")
    for page in pages:
        if arguments.stamp:
            page.stamp(root)
        trouble = page.trouble(root)
        stale |= trouble is not None
        print(trouble or f"{page.path}: as the code writes it")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())

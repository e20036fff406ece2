"""Plays leagues and pages again that are older than their code: `asobiba publish`, in the repository.

Which commands write a league stands in `league.yml` beside the agents of its game; which write a page, in
`asobiba.pages`. A league plays into a store of its own for each edition of its code (`runs/publish`), so that what was
interrupted goes on where it stopped. How long a page took when it was last written stands in `docs/durations.json`.
"""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from asobiba.core.errors import AsobibaError
from asobiba.pages import Page, all_pages

DURATIONS = Path("docs") / "durations.json"
STORES = Path("runs") / "publish"


class NoRepository(AsobibaError):
    """Raised where there are no pages."""


@dataclass(frozen=True)
class Job:
    """A page that is older than its code, or was never written.

    Args:
        page: the page to write.
        why: the reason why it is stale.
        seconds: that it is expected to take by the clock on this machine's like, or `None` if nobody knows.
        basis: what says so: "timed" when it was last written, what its agents thought ("thinking"), or a "guess".
    """

    page: Page
    why: str
    seconds: float | None
    basis: Literal["timed", "thinking", "guess"] = "timed"

    @property
    def estimate(self) -> str:
        """In words."""
        if self.seconds is None:
            return "nobody knows how long"
        hours = f"{self.seconds / 3600:.1f} h" if self.seconds >= 3600 else f"{max(self.seconds / 60, 1):.0f} min"
        return {"timed": hours, "thinking": f"{hours} of thinking", "guess": f"about {hours}"}[self.basis]


def stale_pages(root: Path, only: Sequence[str] = ()) -> list[Job]:
    """The pages of a repository that are older than their code, the cheapest first; those that nobody knows of last.

    Args:
        only: those whose path holds one of these texts.

    Raises:
        NoRepository: if there are no pages, or none of that name.
    """
    pages = all_pages(root)
    if not pages:
        raise NoRepository(f"{root.resolve()} holds no pages; run this in the repository of asobiba")
    pages = [page for page in pages if not only or any(text in page.path for text in only)]
    if not pages:
        raise NoRepository(f"no page is called {' or '.join(only)}; there are: "
                           f"{', '.join(page.path for page in all_pages(root))}")  # fmt: skip
    known = durations(root)
    found = []
    for page in pages:
        why = page.stale(root)
        if why is not None:
            if page.path in known:
                found.append(Job(page, why, known[page.path]))
            elif page.league:
                found.append(Job(page, why, _thinking(root / page.path), "thinking"))
            else:
                found.append(Job(page, why, page.expected, "guess"))
    return sorted(found, key=lambda job: (job.seconds is None, job.seconds or 0.0, job.page.path))


def durations(root: Path) -> dict[str, float]:
    """Seconds that each page took when it was last written."""
    file = root / DURATIONS
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _note(root: Path, path: str, seconds: float) -> None:
    known = dict(sorted({**durations(root), path: round(seconds, 1)}.items()))
    draft = (root / DURATIONS).with_suffix(".part")
    draft.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    draft.replace(root / DURATIONS)


def _thinking(page: Path) -> float | None:
    """Total time for which the agents of a league thought, shared out to the cores: from its table."""
    table = page.with_name("results.csv")
    if not table.is_file():
        return None
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    seats = max(sum(name.startswith("score_") for name in rows[0]) if rows else 1, 1)
    total = sum(float(r["games"]) * float(r["moves"]) / seats * float(r["milliseconds"]) / 1000 for r in rows)
    return total / (os.cpu_count() or 1)


def commands_of(page: Page) -> list[list[str]]:
    """The command that writes a page, as the arguments of `asobiba`."""
    store = STORES / f"{Path(page.path).parent.name}-{page.sources()}.sqlite"
    return [shlex.split(command.replace("{store}", str(store)))[1:] for command in page.commands]


def take_command(root: Path, page: Page, again: Sequence[str]) -> list[str] | None:
    """The command that takes the games of all other agents from the published league, as the arguments of `asobiba`; `None`
    where it holds nothing to take, or the store has been begun."""
    folder = (root / page.path).parent
    runs = [words for words in commands_of(page) if words[:2] == ["league", "run"]]
    if not again or len(runs) != 1 or not (folder / "records.xz").is_file():
        return None
    words = runs[0]
    store = words[words.index("--store") + 1]
    if (root / store).exists():
        return None
    given = [word for k, word in enumerate(words) if word == "-p" or words[k - 1] == "-p"]
    named = [word for agent in again for word in ("--again", agent)]
    return ["league", "take", words[2], str(folder.relative_to(root)), *given, *named, "--store", store]


def write_page(root: Path, job: Job, tell: Callable[[str], None], again: Sequence[str] = ()) -> bool:
    """Runs a page's commands; returns whether the page is now what its code writes.

    A page with a probe that gives what it gave is stamped instead.

    Args:
        again: if given, a league keeps the games of all agents but these.
    """
    page = job.page
    if page.probe is not None and (root / page.path).is_file() and page.trouble(root) is None:
        page.stamp(root)
        tell(f"{page.path}: a small run gives what it gave; its digest is renewed")
        return True
    (root / STORES).mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    take = take_command(root, page, again)
    for words in [*([take] if take else []), *commands_of(page)]:
        tell(f"asobiba {shlex.join(words)}")
        done = subprocess.run([sys.executable, "-m", "asobiba.cli", *words], cwd=root, check=False)
        if done.returncode == 130:
            raise KeyboardInterrupt
        if done.returncode:
            tell(f"{page.path}: the command ended with {done.returncode}")
            return False
    _note(root, page.path, time.monotonic() - started)
    why = page.stale(root)
    if why is not None:
        tell(f"{page.path} is still stale: {why}")
    return why is None


def publish(root: Path, jobs: Sequence[Job], tell: Callable[[str], None], again: Sequence[str] = ()) -> list[Job]:
    """Writes these pages one after the other; returns those that could not be written.

    It may be stopped at any moment: finished pages stay, and a league resumes with the next call.
    """
    failed = []
    for number, job in enumerate(jobs, 1):
        tell(f"[{number}/{len(jobs)}] {job.page.path} ({job.estimate})")
        if not write_page(root, job, tell, again):
            failed.append(job)
    return failed

"""The league's own costs: workers, tables, the page."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from asobiba.arena.executors import LocalExecutor
from asobiba.arena.match import REASONS
from asobiba.arena.publish import publish
from asobiba.arena.results import Results
from asobiba.arena.schedule import round_robin
from asobiba.arena.standings import standings
from asobiba.arena.store import Store
from asobiba.core import game

GAMES = 100_000
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def worker_start() -> float:
    """Seconds from the start of a worker process to the first record of a game."""
    matches = round_robin(game("battleship").ruleset(), ["r", "rnb"], 2)
    begin = time.perf_counter()
    next(LocalExecutor(1).play(matches))
    return time.perf_counter() - begin


def table_of_a_million() -> float:
    """Seconds of the table, Davidson's model and WWG with its bootstrap, of a million results of 20 agents."""
    ruleset = game("battleship").ruleset()
    generator = np.random.default_rng(0)
    count, agents = 1_000_000, 20
    first = generator.integers(0, agents, count // 2)
    second = (first + generator.integers(1, agents, count // 2)) % agents
    seats = np.stack([first, second], 1).repeat(2, 0)
    seats[1::2] = seats[1::2, ::-1]
    seats = seats.astype(np.int32)
    winner = (generator.random(count) < 1 / (1 + np.exp((seats[:, 0] - seats[:, 1]) / 8))).astype(np.int16)
    returns = np.where(winner[:, None] == np.arange(2), 1.0, -1.0)
    results = Results(
        agents=tuple(f"agent {k:02}" for k in range(agents)),
        number=np.arange(count),
        seed=np.arange(count // 2).repeat(2),
        winner=winner,
        moves=np.full(count, 100),
        reason=np.full(count, REASONS.index("rules"), np.int8),
        culprit=np.full(count, -1, np.int16),
        seats=seats,
        returns=returns,
        decisions=np.full((count, 2), 50),
        seconds=np.full((count, 2), 0.01),
        tie_break=np.full((count, 2), np.nan),
        teams=np.tile(np.arange(2, dtype=np.int16), (count, 1)),
    )
    begin = time.perf_counter()
    standings(ruleset, results)
    return time.perf_counter() - begin


def league_and_page() -> tuple[float, float, float | None]:
    """Seconds of a league of 100,000 games of cb against rnb, from the command to its table; of processor time for that;
    and until a browser has opened its page and all of the page's script has run (`None` without a browser)."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "league.sqlite"
        command = ["league", "run", "battleship", "--agents", "cb rnb", "-n", str(GAMES), "--store", str(store)]
        begin, before = time.perf_counter(), _children()
        subprocess.run([sys.executable, "-m", "asobiba.cli", *command], check=True, capture_output=True)
        played, used = time.perf_counter() - begin, _children() - before
        ruleset = game("battleship").ruleset()
        with Store(store, create=False) as kept:
            page = publish(ruleset, kept, kept.results(ruleset), Path(folder))
        return played, used, open_page(page)


def _children() -> float:
    """Processor time of all processes that this one has started and that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def open_page(page: Path) -> float | None:
    """Seconds that a browser takes from its start until the page stands, less what an empty page takes; `None` without
    a browser."""
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        return None
    empty = page.with_name("empty.html")
    empty.write_text("<!doctype html><title>empty</title>", encoding="utf-8")
    return min(_open(browser, page) for _ in range(3)) - min(_open(browser, empty) for _ in range(3))


def _open(browser: str, page: Path) -> float:
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom"]
        begin = time.perf_counter()
        done = subprocess.run([*command, page.resolve().as_uri()], capture_output=True, text=True, timeout=120)
        seconds = time.perf_counter() - begin
    if "</html>" not in done.stdout:
        raise RuntimeError(f"{browser} did not open {page}: {done.stderr[-500:]}")
    return seconds

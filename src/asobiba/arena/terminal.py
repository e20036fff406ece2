"""Output of leagues and matches while they run and when they are over. Without a terminal: plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from rich.console import Group
from rich.live import Live
from rich.table import Table

from asobiba.arena.league import LeagueRun
from asobiba.arena.lists import console, plain
from asobiba.arena.match import RULES, MatchRecord
from asobiba.arena.results import Result, Results
from asobiba.arena.standings import PROVISIONAL, Standings, columns, narrow_columns, provisional, shown_names
from asobiba.core import Ruleset
from asobiba.progress import progress_bar

_LINE_EVERY = 10.0
"""Seconds between two plain lines."""


class Progress:
    """A bar with the time that is left, or a plain line now and then.

    Args:
        total: matches to be played.
        title: what is being played.
    """

    def __init__(self, total: int, title: str):
        self.total = total
        self.title = title
        self._bar = progress_bar(counted=True)
        self._console = self._bar.console
        self._task = self._bar.add_task(title, total=total)
        self._live = self._console.is_terminal
        self._started = self._last = time.monotonic()
        self._first: tuple[float, int] | None = None

    def __enter__(self) -> Self:
        if self._live:
            self._display().start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._display().stop()

    def _display(self) -> Any:
        return self._bar

    def show(self, done: int) -> None:
        """`done` matches have been played."""
        if self._live:
            self._bar.update(self._task, completed=done)
            return
        now = time.monotonic()
        if now - self._last >= _LINE_EVERY or done == self.total:
            self._last = now
            line = f"{self.title}: {done} of {self.total} matches, {now - self._started:.0f} s"
            if self._first is not None and 0 < self._first[1] < done < self.total:
                began, before = self._first  # what came before it was compiling
                line += f", about {(now - began) / (done - before) * (self.total - done):.0f} s left"
            print(line, file=sys.stderr, flush=True)
        if self._first is None and done:
            self._first = (now, done)


class LeagueProgress(Progress):
    """The same with a table of scores that changes as games end."""

    def __init__(self, ruleset: Ruleset, results: Sequence[Result]):
        super().__init__(0, f"{ruleset.game.title} league")
        self._announced, self._before = False, 0
        self._scores: dict[str, list[float]] = {}
        self._count_all(Results.of(results))
        self._display_live = Live(console=self._console, get_renderable=self._render, refresh_per_second=4)

    def _display(self) -> Any:
        return self._display_live

    def advance(self, state: LeagueRun, records: list[MatchRecord]) -> None:
        """These records were written; `state` is where the league stands."""
        if not self._announced:
            self._announced, self._before = True, state.before
            self.total = state.wanted - state.before
            self._bar.update(self._task, total=self.total)
            if state.before and not self._live:
                print(f"{state.before} of {state.wanted} matches are on record already", file=sys.stderr)
            if self.total and not self._live:
                print(f"{self.title}: {self.total} matches; agents are compiled first", file=sys.stderr, flush=True)
        for record in records:
            self._count(record.match.seats, record.returns)
        if self.total:
            self.show(state.before - self._before + state.played)

    def _count_all(self, results: Results) -> None:
        """Matches that were played before, however many."""
        n = len(results.agents)
        games, gained, scores = np.zeros(n), np.zeros(n), np.zeros(n)
        for seat in range(results.seats.shape[1]):
            who = results.seats[:, seat]
            games += np.bincount(who, minlength=n)
            gained += np.bincount(who, results.returns[:, seat], n)
        others = max(results.seats.shape[1] - 1, 1)
        for a, b, rows, sign in results.pairs():
            for seat, share in ((a, (1 + sign) / 2), (b, (1 - sign) / 2)):
                scores += np.bincount(results.seats[rows, seat], share / others, n)
        for k, name in enumerate(results.agents):
            self._scores[name] = [games[k], gained[k], scores[k]]

    def _count(self, seats: Sequence[str], returns: Sequence[float]) -> None:
        for seat, name in enumerate(seats):
            entry = self._scores.setdefault(name, [0, 0.0, 0.0])
            entry[0] += 1
            entry[1] += returns[seat]
            others = [value for k, value in enumerate(returns) if k != seat]
            if others:
                entry[2] += sum(0.5 * ((returns[seat] > v) + (returns[seat] >= v)) for v in others) / len(others)

    def _render(self) -> Group:
        table = Table("agent", "games", "score", "mean return")
        order = sorted(self._scores.items(), key=lambda item: (-item[1][2] / item[1][0], -item[1][1] / item[1][0]))
        for name, (games, gained, score) in order:
            table.add_row(plain(name), str(int(games)), f"{100 * score / games:.1f} %", f"{gained / games:.3f}")
        if not order:
            return Group("Compiling the agents; the second time they come from the cache ...", self._bar)
        return Group(table, self._bar)


def print_standings(table: Standings, wide: bool = False) -> None:
    """The table of a league: what 80 columns hold, or everything."""
    head, rows = columns(table) if wide else narrow_columns(table)
    shown = Table(title=plain(f"{table.ruleset!r}: {table.games} games"), caption=_reasons(table))
    for name in head:
        left = name in ("agent", "tied with")
        shown.add_column(name, justify="left" if left else "right", no_wrap=wide and name == "agent", overflow="fold")
    for row in rows:
        shown.add_row(*map(plain, row))
    console().print(shown)
    if wide and len(table.lines) > 1 and table.cells:
        _print_cross(table)


def _print_cross(table: Standings) -> None:
    """Scores of each agent against each other."""
    shown = Table(title="score of the row against the column, %")
    shown.add_column("agent", no_wrap=True)
    for line in table.lines:
        shown.add_column(f"#{line.rank}", justify="right")
    names = shown_names([line.agent for line in table.lines])
    for line in table.lines:
        cells = [table.cells.get((line.agent, other.agent)) for other in table.lines]
        shown.add_row(
            plain(f"#{line.rank} {names[line.agent]}"), *("" if c is None else f"{100 * c.score:.1f}" for c in cells)
        )
    console().print(shown)


def _reasons(table: Standings) -> str:
    ended = "ended by " + ", ".join(f"{name}: {count}" for name, count in table.reasons.items() if count)
    marked = f"?: provisional, of fewer than {PROVISIONAL} games" if provisional(table) else ""
    return "\n".join(text for text in (ended, marked, table.seeds) if text)


def print_series(table: Standings, agents: Sequence[str], records: Sequence[MatchRecord], wide: bool = False) -> None:
    """The result of `asobiba match`."""
    print_standings(table, wide)
    if len(agents) == 2 and agents[0] != agents[1]:
        cell = table.cells[agents[0], agents[1]]
        seats = ", ".join(
            f"{100 * score:.1f} % as {name}"
            for name, score in zip(table.ruleset.players, cell.seat_scores)
            if score is not None
        )
        print(
            f"{agents[0]} scores {100 * cell.score:.1f} % against {agents[1]} "
            f"({100 * table.level:.0f} % interval {100 * cell.low:.1f} to {100 * cell.high:.1f}; {seats})"
        )
    for record in [r for r in records if r.culprit is not None and r.reason != RULES][:5]:
        who = record.match.seats[record.culprit or 0]
        print(f"{record.reason}: {who}, deal {record.match.seed}: {record.detail}")

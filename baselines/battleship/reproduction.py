"""Replays the tables of the battleship paper and sets them beside the printed figures."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from zlib import crc32

from asobiba.baselines.battleship.agents import AGENTS
from asobiba.baselines.battleship.duels import Duel, play_duel
from asobiba.baselines.battleship.published import (
    CHECKERBOARD_PAIRS,
    FIGURE_6,
    LARGEST_FIRST,
    PLACEMENTS,
    TABLE_1,
    TABLE_2,
    TABLES,
    Cell,
    apart,
    cells,
    largest_first,
)
from asobiba.core import GameParameterError, KernelAgent, game
from asobiba.core.agents import parse_agent
from asobiba.pages import TextTable, verdict_table


def agent_of(text: str) -> KernelAgent:
    name, parameters = parse_agent(text)
    return {declaration.name: declaration.make for declaration in AGENTS}[name](**parameters)


def cell_seed(cell: Cell) -> int:
    """Every cell plays its own games."""
    return crc32(cell.key.encode()) << 24


class Results:
    """Finished cells, kept in a file of JSON lines, so that a long run can be interrupted and resumed."""

    def __init__(self, path: Path | None, games: int):
        self.path, self.games = path, games
        self.duels: dict[str, Duel] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    row = json.loads(line)
                    duel = Duel(row["games"], tuple(row["wins"]), tuple(row["shots"]), tuple(row["hits"]))
                    key = row["cell"]
                except (ValueError, KeyError, TypeError):
                    continue  # a line that was cut off when the run was killed: its cell is played again
                self.duels[key] = duel
        for cell in cells():  # those of a run with another number of games are played again
            if cell.key in self.duels and self.duels[cell.key].games != games:
                del self.duels[cell.key]

    def add(self, cell: Cell, duel: Duel) -> None:
        self.duels[cell.key] = duel
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"cell": cell.key, **asdict(duel)}) + "\n")

    def __getitem__(self, cell: Cell) -> Duel:
        return self.duels[cell.key]


def play_all(results: Results, progress: Callable[[Cell, int], None], tables: Collection[str] = TABLES) -> None:
    """Plays the cells of these tables that `results` lacks; `progress(cell, n)` is called after every part of n games."""
    ruleset = game("battleship").ruleset()
    for cell in cells(tables):
        if cell.key in results.duels:
            continue
        duel = play_duel(
            ruleset,
            agent_of(cell.first),
            agent_of(cell.second),
            results.games,
            cell_seed(cell),
            lambda n, cell=cell: progress(cell, n),
        )
        results.add(cell, duel)


_PAPER_GAMES = 100_000
TABLE_4_TEXT = """The printed table is lost; the paper's text says that under MP70 only ED1SP beats its original, and explains it. Here
RSP and ED2SP win more than half of their games as well, by less. That MP counts placements in the target phase too, where
ours attacks the neighbourhood of a hit, was tried: it does not turn the table."""


def proportion(successes: int, trials: int) -> tuple[float, float]:
    """A percentage and the half width of its 95 % interval (normal approximation, as in the paper)."""
    share = successes / trials
    return 100 * share, 196 * math.sqrt(share * (1 - share) / trials)


def _row(what: str, paper: float | None, successes: int, trials: int, digits: int, games: int) -> tuple[str, ...]:
    value, half = proportion(successes, trials)
    printed = "-" if paper is None else f"{paper:.{digits}f}"
    # `games` of ours a cell against the paper's 100,000, which scales the interval of the paper's figure.
    verdict = ""
    if paper is not None:
        theirs = half * math.sqrt(games / _PAPER_GAMES)
        verdict = "yes" if abs(value - paper) <= math.hypot(half, theirs) else "no"
    return what, printed, f"{value:.{digits}f}", f"{value - half:.{digits}f} to {value + half:.{digits}f}", verdict


_COLUMNS = ("", "paper", "measured", "95 % interval", "agrees")


def _attack_strategies(results: Results) -> TextTable:
    attack = []
    for (first, second), (win, hit_first, hit_second) in TABLE_1.items():
        duel = results[Cell("table 1", first, second)]
        name = f"{first} - {second}"
        attack.append(_row(f"{name}: wins of the first", win, duel.wins[0], duel.games, 2, results.games))
        attack.append(_row(f"{name}: hit rate of the first", hit_first, duel.hits[0], duel.shots[0], 3, results.games))
        attack.append(
            _row(f"{name}: hit rate of the second", hit_second, duel.hits[1], duel.shots[1], 3, results.games)
        )
    return TextTable(_COLUMNS, attack, "Table 1: attack strategies, random placement")


def _largest_first(results: Results) -> TextTable:
    again = []
    for pair in CHECKERBOARD_PAIRS:
        plain, other, papers = results[Cell("table 1", *pair)], results[largest_first(pair)], TABLE_1[pair]
        for what, seat in (("wins of the first", None), ("hit rate of the first", 0), ("hit rate of the second", 1)):
            paper = papers[0 if seat is None else 1 + seat]
            digits = 2 if seat is None else 3
            before, after = (
                (duel.wins[0], duel.games) if seat is None else (duel.hits[seat], duel.shots[seat])
                for duel in (plain, other)
            )
            row = _row(f"{pair[0]} - {pair[1]}: {what}", paper, *after, digits, results.games)
            again.append((*row[:2], f"{proportion(*before)[0]:.{digits}f}", *row[2:]))
    columns = ("", "paper", "plain", "largest first", "95 % interval", "agrees")
    return TextTable(columns, again, "Table 1 again: CB and MP with `largest_first=true`")


def _counting(results: Results) -> TextTable:
    counting = []
    for x in FIGURE_6:
        first, second = results[Cell("figure 6", f"mp:x={x}", "cb")], results[Cell("figure 6", "cb", f"mp:x={x}")]
        paper = (56.46, 53.62) if x == 70 else (None, None)
        counting.append(_row(f"MP{x} first: wins of MP", paper[0], first.wins[0], first.games, 2, results.games))
        counting.append(_row(f"MP{x} second: wins of MP", paper[1], second.wins[1], second.games, 2, results.games))
    return TextTable(_COLUMNS, counting, "Figure 6: MPx against CB")


def _packed_placements(results: Results) -> TextTable:
    packs = []
    for size, papers in TABLE_2.items():
        for seat, seat_name in enumerate(("first", "second")):
            duels = []
            for other in TABLE_2:
                pair = (size, other) if seat == 0 else (other, size)
                duels.append(results[Cell("table 2", f"mp:placement=pk{pair[0]}", f"mp:placement=pk{pair[1]}")])
            wins, games = sum(d.wins[seat] for d in duels), sum(d.games for d in duels)
            packs.append(_row(f"PK{size} as the {seat_name}", papers[seat], wins, games, 2, results.games))
    return TextTable(_COLUMNS, packs, "Table 2: packed placements under MP70, average wins")


def _placements(results: Results) -> TextTable:
    placing = []
    for placement in PLACEMENTS:
        for seat, seat_name in enumerate(("first", "second")):
            duels = []
            for other in PLACEMENTS:
                pair = (placement, other) if seat == 0 else (other, placement)
                duels.append(results[Cell("table 3", f"mp:placement={pair[0]}", f"mp:placement={pair[1]}")])
            wins, games = sum(d.wins[seat] for d in duels), sum(d.games for d in duels)
            placing.append(_row(f"{placement} as the {seat_name}", None, wins, games, 2, results.games))
    return TextTable(_COLUMNS, placing, "Table 3: placements under MP70, average wins")


def _touching(results: Results, table: str, attack: str, title: str, remark: str = "") -> TextTable:
    rows = []
    for placement in PLACEMENTS:
        free, kept = f"{attack}:placement={placement}", f"{attack}:placement={apart(placement)}"
        first, second = results[Cell(table, kept, free)], results[Cell(table, free, kept)]
        against = f"{apart(placement)} against {placement}"
        rows.append(_row(f"{against}, as the first", None, first.wins[0], first.games, 2, results.games))
        rows.append(_row(f"{against}, as the second", None, second.wins[1], second.games, 2, results.games))
    return TextTable(_COLUMNS, rows, title, remark)


def _touching_under_mp(results: Results) -> TextTable:
    return _touching(results, "table 4", "mp", "Table 4: touching allowed or forbidden, under MP70", TABLE_4_TEXT)


def _touching_under_rnb(results: Results) -> TextTable:
    return _touching(results, "table 5", "rnb", "Table 5: touching allowed or forbidden, under RNB")


_REPORTS: dict[str, Callable[[Results], TextTable]] = {
    "table 1": _attack_strategies,
    LARGEST_FIRST: _largest_first,
    "figure 6": _counting,
    "table 2": _packed_placements,
    "table 3": _placements,
    "table 4": _touching_under_mp,
    "table 5": _touching_under_rnb,
}


def report(results: Results, tables: Collection[str] = TABLES) -> list[TextTable]:
    """The paper's tables, of which these, with the measured figures beside them."""
    return [_REPORTS[name](results) for name in TABLES if name in tables]


def with_tables(page: str, tables: Sequence[TextTable], games: int) -> str:
    """A page with these tables in the place of its own.

    Raises:
        GameParameterError: if the page has another number of games a cell, or lacks one of the tables.
    """
    if f"{games:,} games a cell" not in page:
        raise GameParameterError(f"the page does not have {games:,} games a cell: its other tables must be played too")
    for table in tables:
        name = table.title.partition(":")[0]
        section = re.compile(rf"^## {name}:.*?(?=^## |^<!--|\Z)", re.MULTILINE | re.DOTALL)
        found = section.search(page)
        if found is None:
            raise GameParameterError(f"the page has no section {name!r}")
        page = f"{page[: found.start()]}{table.markdown()}\n\n{page[found.end() :]}"
    return _with_verdict(page.rstrip() + "\n")


_WHY = {
    "Table 1": "The order of the strategies is the paper's. CB and MP hit 0.4 points less often: the checkerboard's order is in a lost figure",
    "Figure 6": "The same gap, which `largest_first` narrows. The other points of the curve cannot be read",
    "Table 2": "The best rectangle is 4x6 here, 2x10 there, by every reading of how a fleet is drawn",
    "Table 3": "R and PK2x10, nearly equal in the text, stand the other way round; its figures cannot be read",
    "Table 4": "ED1SP gains most, as there; that RSP and ED2SP lose does not come out by any reading",
    "Table 5": "As the text says; its figures are lost",
}
"""Why figures of each table do not agree."""


def _with_verdict(page: str) -> str:
    """A page with its verdict before the first of its tables: how many of the figures of each agree, and why others do not."""
    rows = []
    for name, why in _WHY.items():
        found = re.search(rf"^## {name}: (.*?)\n(.*?)(?=^## |^<!--|\Z)", page, re.MULTILINE | re.DOTALL)
        if found is None:
            continue
        agree, apart = (len(re.findall(rf"\| {word} \|$", found[2], re.MULTILINE)) for word in ("yes", "no"))
        count = f"{agree} of {agree + apart} figures agree" if agree + apart else "no figure of the print can be read"
        rows.append((f"{name}: {found[1]}", count, why))
    page = re.sub(r"^## Verdict\n.*?(?=^## )", "", page, flags=re.MULTILINE | re.DOTALL)
    at = page.index("\n## ") + 1
    return f"{page[:at]}{verdict_table(rows).markdown()}\n\n{page[at:]}"


def markdown(results: Results, command: str) -> str:
    """The whole report in Markdown."""
    head = f"""# Battleship: the published tables, replayed

Source: "Evaluation of Attacking and Placing Strategies in a Classic Battleship Game" (in Japanese). Wins and hit rates
in percent, {results.games:,} games a cell. Written by `{command}`. A dash stands where the paper's print is illegible
or its table lost. *agrees*: whether the difference lies within the 95 % interval of the difference of both figures.
The words (r, rnb, cb, mp, la, placements) are explained on [the other page](battleship-readings.md), with other
readings of what differs.
"""
    return _with_verdict("\n\n".join([head.rstrip(), *(table.markdown() for table in report(results))]) + "\n")

"""The papers' matches, played again: `asobiba reproduce curling`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from asobiba.baselines.curling.matches import Result, margins_of, opening_points
from asobiba.core import game

UEC = {"noise": "uec"}
GAT: dict[str, str] = {}


@dataclass(frozen=True)
class Match:
    """A published match.

    Args:
        one, two: the players, without budgets. rules: of the game.
        published: the paper's win rate of `one` and its circumstances.
        games: of the record; the papers played 300 and 500.
    """

    one: str
    two: str
    rules: dict[str, str]
    published: str
    games: int


_JIRITSU = "jiritsu"
MATCHES = (
    Match(
        "gccs",
        "ayumu",
        UEC,
        "0.550 of 500 (227 wins, 87 draws; p .024) with 438 s a game; 0.514 (203, 105; p .307) with 5 s a shot",
        100,
    ),
    Match("gccs", "through", UEC, "0.717 of 300 printed (165 wins, 45 draws: 0.647), 5 s a shot", 100),
    Match("end_plan:shots=12", "ayumu", GAT, "table lost; 500 games, 1 s a shot", 100),
    Match("end_plan:shots=8", "ayumu", GAT, "table lost, p .051; 500 games, 1 s a shot", 100),
    Match("end_plan:shots=4", "ayumu", GAT, "table lost; 500 games, 1 s a shot", 100),
    Match("dis", "gccs", GAT, "0 of 10, -11.8 points a game", 40),
    Match("dis", "ayumu", GAT, "0 of 10, -8.7 points a game", 40),
    Match("dis", _JIRITSU, GAT, "0 of 10, -26.2 points a game", 20),
    Match("dis", "rule_based", GAT, "(not in the paper, whose other opponents are not published)", 40),
    Match("dis", "tee_draw", GAT, "(not in the paper; against Take 4 wins, 2 draws, 4 losses, -0.3 points a game)", 40),
    Match("dis_mixture", "gccs", GAT, "(not in the paper)", 10),
    Match("dis_mixture", "ayumu", GAT, "(not in the paper)", 10),
    Match("dis_mixture", _JIRITSU, GAT, "(not in the paper)", 10),
    Match("dis_mixture", "rule_based", GAT, "(not in the paper)", 40),
    Match("dis_mixture", "tee_draw", GAT, "(not in the paper)", 40),
    Match("dis_mixture", "dis", GAT, "(not in the paper)", 40),
    Match(_JIRITSU, "ayumu", GAT, "(not in the paper; GAT 2018: Jiritsu-kun second, GCCS third)", 20),
    Match("kr_uct", "ayumu", GAT, "(the authors' table was not at hand)", 20),
    Match("kr_uct_prior", "kr_uct", GAT, "(the authors' table was not at hand)", 20),
)
_SEARCHERS = ("gccs", "ayumu", "through", "end_plan", "kr_uct", "kr_uct_prior")


def searches(player: str) -> bool:
    """Whether a player's text names a player that searches by simulations."""
    return player.partition(":")[0] in _SEARCHERS


def with_budget(player: str, simulations: int) -> str:
    """A player's text with its budget, where it searches."""
    if not searches(player):
        return player
    return f"{player}{',' if ':' in player else ':'}simulations={simulations}"


@dataclass(frozen=True)
class Played:
    """A match, the simulations per shot (0: neither player searches), and the results."""

    match: Match
    simulations: int
    result: Result

    def cells(self) -> list[str]:
        """The row of the table."""
        r = self.result
        low, high = r.interval()
        mean = sum(r.margins) / max(len(r.margins), 1)
        spread = math.sqrt(
            sum((m - mean) ** 2 for m in r.margins) / max(len(r.margins) - 1, 1) / max(len(r.margins), 1)
        )
        return [
            f"{self.match.one} : {self.match.two}",
            self.match.published,
            f"{self.simulations:,}" if self.simulations else "",
            f"{r.games}",
            f"{r.wins} / {r.draws} / {r.losses}",
            f"{r.rate:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{mean:+.1f} ± {1.96 * spread:.1f}",
        ]


COLUMNS = (
    "match", "published win rate", "simulations", "games", "wins / draws / losses", "win rate", "95 % interval",
    "points a game",
)  # fmt: skip
_ALIGNED = ("---", "---", "--:", "--:", "---", "--:", "---", "--:")


def play_all(
    simulations: int, games: int, ends: int, only: tuple[int, ...] = (), kept: Iterable[Played] = ()
) -> Iterator[Played]:
    """Plays the matches, one after another. Yields a match after each of its games.

    Args:
        simulations: a shot, of players that search. games: at most so many a match; 0: as many as `Match.games`.
        ends: of a game. only: numbers of the matches to play; none: all.
        kept: what has been played already; its games are not played again.
    """
    known = {(MATCHES.index(row.match), row.simulations): row.result.margins for row in kept}
    for number, match in enumerate(MATCHES):
        if only and number not in only:
            continue
        budget = simulations if searches(match.one) or searches(match.two) else 0
        margins = list(known.get((number, budget), ()))
        one, two = (with_budget(player, budget) for player in (match.one, match.two))
        ruleset = game("curling").ruleset(ends=ends, **match.rules)
        left = range(len(margins), min(games, match.games) if games else match.games)
        for margin in margins_of(ruleset, one, two, left, seed=1000 * number) if left else []:
            margins.append(margin)
            yield Played(match, budget, Result.of(match.one, match.two, margins))


@dataclass(frozen=True)
class Opening:
    """Single ends that measure the value of the book's first three stones of a side.

    Args:
        side: 0 throws first, 1 has the hammer. opener: throws that side's stones, against `ayumu`; rest: plays all that
            follow, on both sides. points: of that side, end by end.
    """

    side: int
    opener: str
    rest: str
    points: tuple[int, ...] = ()

    @property
    def name(self) -> tuple[int, str, str]:
        return self.side, self.opener, self.rest

    def cells(self) -> list[str]:
        """The row of the table."""
        n = max(len(self.points), 1)
        mean = sum(self.points) / n
        spread = math.sqrt(sum((p - mean) ** 2 for p in self.points) / max(n - 1, 1) / n)
        share = sum(p > 0 for p in self.points) / n
        return [
            ("first", "second, with the hammer")[self.side],
            {"gccs": "the book", "ayumu": "search"}[self.opener],
            self.rest,
            f"{mean:+.2f} ± {1.96 * spread:.2f}",
            f"{share:.0%}",
            f"{len(self.points)}",
        ]


OPENINGS = tuple(
    Opening(side, opener, rest)
    for rest in ("jiritsu_depth1:grid=3", "ayumu")
    for side in (0, 1)
    for opener in ("gccs", "ayumu")
)
OPENING_SIMULATIONS = 200
_OPENING_COLUMNS = ("side", "its first three stones", "the rest of the end, both sides", "points", "scores", "ends")


def play_openings(ends: int, kept: Iterable[Opening] = ()) -> Iterator[Opening]:
    """Plays `ends` ends of each of `OPENINGS`, those of `kept` included. Yields an opening after each of its ends."""
    known = {row.name: row.points for row in kept}
    ruleset = game("curling").ruleset(stop_after=1, **UEC)
    for opening in OPENINGS:
        points = known.get(opening.name, ())
        opener, other, rest = (
            with_budget(text, OPENING_SIMULATIONS) for text in (opening.opener, "ayumu", opening.rest)
        )
        for found in opening_points(ruleset, opener, other, rest, opening.side, range(len(points), ends)):
            points += (found,)
            yield Opening(*opening.name, points)


def _gains(openings: list[Opening]) -> Iterator[str]:
    """A line for each player of the rest: what the book gains over both sides. The search against itself gains nothing."""
    for rest in dict.fromkeys(row.rest for row in openings):
        rows = [row.points for row in openings if row.rest == rest and row.opener == "gccs"]
        means = [sum(points) / len(points) for points in rows]
        variance = sum(
            sum((p - m) ** 2 for p in points) / len(points) ** 2 for points, m in zip(rows, means, strict=True)
        )
        if len(rows) == 2:
            yield (
                f"- Followed by `{rest}`, the book gains {sum(means) / 2:+.2f} ± {0.98 * math.sqrt(variance):.2f} points an end "
                "over the search, in the mean of both sides."
            )


def _latest(openings: Iterable[Opening]) -> list[Opening]:
    rows = {row.name: row for row in openings}
    return [rows[row.name] for row in OPENINGS if row.name in rows]


def merged(played: Iterable[Played]) -> list[Played]:
    """The last of every match and budget, in the order of the page."""
    rows = {(MATCHES.index(row.match), row.simulations): row for row in played}
    return [rows[key] for key in sorted(rows)]


def save(played: Iterable[Played], path: Path, ends: int, openings: Iterable[Opening] = ()) -> None:
    """Writes the results so far, for `load`."""
    rows = [
        {"one": row.match.one, "two": row.match.two, "simulations": row.simulations, "margins": row.result.margins}
        for row in merged(played)
    ]
    tried = [
        {"side": row.side, "opener": row.opener, "rest": row.rest, "points": row.points} for row in _latest(openings)
    ]
    matches, singles = (",\n".join("    " + json.dumps(row) for row in each) for each in (rows, tried))
    text = f'{{\n  "ends": {ends},\n  "matches": [\n{matches}\n  ],\n  "openings": [\n{singles}\n  ]\n}}\n'
    path.write_text(text, encoding="utf-8")


def load_openings(path: Path) -> list[Opening]:
    """The openings of a record."""
    if not path.exists():
        return []
    found = json.loads(path.read_text(encoding="utf-8")).get("openings", [])
    return _latest(Opening(row["side"], row["opener"], row["rest"], tuple(row["points"])) for row in found)


def load(path: Path, ends: int) -> list[Played]:
    """Games played so far over as many ends; none where the file is missing or of other games."""
    if not path.exists():
        return []
    record = json.loads(path.read_text(encoding="utf-8"))
    if record["ends"] != ends:
        return []
    known = {(match.one, match.two): match for match in MATCHES}
    return [
        Played(known[row["one"], row["two"]], row["simulations"], Result.of(row["one"], row["two"], row["margins"]))
        for row in record["matches"]
        if (row["one"], row["two"]) in known
    ]


def markdown(played: Iterable[Played], ends: int, output: str, openings: Iterable[Opening] = ()) -> str:
    """The page."""
    rows = merged(played)
    total = sum(row.result.games for row in rows)
    budgets = sorted({row.simulations for row in rows} - {0})
    commands = ", ".join(f"`asobiba reproduce curling --simulations {n}`" for n in budgets)
    lines = [
        "# Digital curling: published matches beside ours",
        "",
        f"Written by {commands or '`asobiba reproduce curling`'} (with `--output {output}`): {total:,} games of {ends} ends, "
        "simulator cs2; noise of the UEC Cup for gccs against ayumu and through, else of GAT. *Simulations* are those a shot of "
        "players that search. The papers' players had seconds instead (about 1.7 million playouts a shot for gccs and ayumu); "
        "what a book saves of the game's time is not spent on later shots here, as in the experiment with 5 s a shot. "
        "Win rates leave drawn games out, as in the papers; intervals are Wilson's, of 95 %. Points are those of the player "
        "named first less the other's.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{'|'.join(_ALIGNED)}|",
        *(f"| {' | '.join(row.cells())} |" for row in rows),
    ]
    missing = len(MATCHES) - len({row.match.one + row.match.two for row in rows})
    if missing:
        lines += ["", f"{len(MATCHES) - missing} of {len(MATCHES)} matches have been played."]
    tried = _latest(openings)
    if tried:
        lines += [
            "",
            "## What the book's openings are worth",
            "",
            f"Single ends from 0 : 0, noise of the UEC Cup (`asobiba reproduce curling --openings {len(tried[0].points)}`). One side's "
            "first three stones come from the book of gccs, or from the search of ayumu; the other side's from the search; who "
            f"plays the rest is the same for both sides. Players that search have {OPENING_SIMULATIONS} simulations a shot. "
            "*Points* are that side's less the other's.",
            "",
            f"| {' | '.join(_OPENING_COLUMNS)} |",
            "|---|---|---|--:|--:|--:|",
            *(f"| {' | '.join(row.cells())} |" for row in tried),
            "",
            *_gains(tried),
        ]
    return "\n".join(lines) + "\n"

"""The papers' matches, played again: `asobiba reproduce curling`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from asobiba.baselines.curling.imitation import path_of
from asobiba.baselines.curling.matches import Result, margin_of, opening_points, play_game
from asobiba.baselines.curling.self_play import table_digest
from asobiba.core import game, make_agent

UEC = {"noise": "uec"}
GAT: dict[str, str] = {}
CLOCK = {"noise": "uec", "thinking_time": 8}
"""A game's time, s of each player, of the matches by the clock: the papers' players had 438 for ten ends."""


@dataclass(frozen=True)
class Match:
    """A published match.

    Args:
        one, two: the players, without budgets. rules: of the game.
        published: the paper's win rate of `one` and its circumstances.
        games: of the record, as many as 40 minutes on two cores allow; the papers played up to 500. paper: a key of `PAPERS`.
    """

    one: str
    two: str
    rules: dict[str, Any]
    published: str
    games: int
    paper: str


_JIRITSU = "jiritsu"
_NO_TABLE = "the rates are pictures that the text at hand lacks"
_OURS = "(not in the paper)"
MATCHES = (
    Match(
        "gccs:clock=true",
        "ayumu:clock=true",
        CLOCK,
        "0.550 of 500 (227 wins, 87 draws; p .024), 438 s a game",
        40,
        "gccs",
    ),
    Match("gccs", "ayumu", UEC, "0.514 of 500 (203 wins, 105 draws; p .307), 5 s a shot", 20, "gccs"),
    Match("gccs", "through", UEC, "0.717 of 300 printed (165 wins, 45 draws: 0.647; p .000), 5 s a shot", 20, "gccs"),
    Match("end_plan:shots=16,system=1", "ayumu", GAT, "A: it loses heavily; 100 games, 1 s a shot", 20, "end plans"),
    Match("end_plan:shots=12,system=1", "ayumu", GAT, f"B: {_NO_TABLE}; 100 games, 1 s a shot", 10, "end plans"),
    Match("end_plan:shots=8,system=1", "ayumu", GAT, f"C: {_NO_TABLE}; 100 games, 1 s a shot", 10, "end plans"),
    Match("end_plan:shots=4,system=1", "ayumu", GAT, f"D: {_NO_TABLE}; 100 games, 1 s a shot", 10, "end plans"),
    Match("end_plan:shots=12", "ayumu", GAT, f"B': {_NO_TABLE}; 500 games, 1 s a shot", 10, "end plans"),
    Match("end_plan:shots=8", "ayumu", GAT, "C': above one half, p .051; 500 games, 1 s a shot", 20, "end plans"),
    Match("end_plan:shots=4", "ayumu", GAT, f"D': {_NO_TABLE}; 500 games, 1 s a shot", 10, "end plans"),
    Match("dis", "gccs", GAT, "0 of 10, -11.8 points a game", 10, "dis"),
    Match("dis", "ayumu", GAT, "0 of 10, -8.7 points a game", 10, "dis"),
    Match("dis", _JIRITSU, GAT, "0 of 10, -26.2 points a game", 6, "dis"),
    Match("dis", "rule_based", GAT, "(the paper's other three opponents are not published)", 40, "dis"),
    Match(
        "dis",
        "tee_draw",
        GAT,
        "(against Take, not published: 4 wins, 2 draws, 4 losses, -0.3 points a game)",
        40,
        "dis",
    ),
    Match("dis_mixture", "ayumu", GAT, _OURS, 10, "dis"),
    Match("dis_mixture", "rule_based", GAT, _OURS, 40, "dis"),
    Match("dis_mixture", "tee_draw", GAT, _OURS, 40, "dis"),
    Match("dis_mixture", "dis", GAT, _OURS, 40, "dis"),
    Match(_JIRITSU, "ayumu", GAT, "(GAT 2018: Jiritsu-kun second, GCCS third)", 10, "jiritsu"),
    Match(_JIRITSU, "jiritsu_depth1", GAT, "(the paper searches two shots deep)", 10, "jiritsu"),
    Match(_JIRITSU, "jiritsu_depth1:grid=3", GAT, "(the same shots, without replies)", 40, "jiritsu"),
    Match(_JIRITSU, "rule_based", GAT, _OURS, 12, "jiritsu"),
    Match("ayumu", "rule_based", GAT, "(in no paper: the sample player of Digital Curling 3)", 24, "kr"),
    Match("kr_uct", "rule_based", GAT, "(in no paper: the sample player of Digital Curling 3)", 24, "kr"),
    Match("kr_uct", "ayumu", GAT, "(the authors' table was not at hand)", 16, "kr"),
    Match("kr_uct_prior", "kr_uct", GAT, "(the authors' table was not at hand)", 10, "kr"),
)
_SEARCHERS = ("gccs", "ayumu", "through", "end_plan", "kr_uct", "kr_uct_prior")
_BY_TABLE = (*_SEARCHERS, "jiritsu", "jiritsu_depth1")
EARLIER = "by an earlier win table"
"""Marks a row whose players went by another win table than today."""


def table_of_players(*players: str) -> str:
    """The digest of the win table that some of these players go by; empty where none does."""
    return table_digest() if any(player.partition(":")[0] in _BY_TABLE for player in players) else ""


def searches(player: str) -> bool:
    """Whether a player's text names a player that searches and whose budget it does not tell."""
    return player.partition(":")[0] in _SEARCHERS and "clock=" not in player


def with_budget(player: str, budget: str) -> str:
    """A player's text with its budget (`simulations=N` or `seconds=S`, of a shot), where it searches."""
    if not searches(player):
        return player
    return f"{player}{',' if ':' in player else ':'}{budget}"


class Usage(NamedTuple):
    """The cost of a searching player: searched shots, seconds, playouts."""

    shots: int = 0
    seconds: float = 0.0
    playouts: int = 0

    def plus(self, agent: Any) -> Usage:
        """With a game of an agent's."""
        clock = getattr(agent, "clock", None)
        if clock is None:
            return self
        return self.added(Usage(clock.shots, clock.spent, clock.lines))

    def added(self, more: Usage) -> Usage:
        """The sum of both."""
        return Usage(self.shots + more.shots, self.seconds + more.seconds, self.playouts + more.playouts)


@dataclass(frozen=True)
class Played:
    """A match, the budget of a shot (empty: neither player has one), the results, what both players spent, and the digest of
    their win table (`table_of_players`).
    """

    match: Match
    budget: str
    result: Result
    usage: tuple[Usage, Usage] = (Usage(), Usage())
    table: str = ""

    @property
    def stale(self) -> bool:
        """Whether the players have another win table now."""
        return self.table != table_of_players(self.match.one, self.match.two)

    def cells(self) -> list[str]:
        """The row of the table."""
        r = self.result
        low, high = r.interval()
        mean = sum(r.margins) / max(len(r.margins), 1)
        spread = math.sqrt(
            sum((m - mean) ** 2 for m in r.margins) / max(len(r.margins) - 1, 1) / max(len(r.margins), 1)
        )
        return [
            f"{self.match.one} : {self.match.two}{f' ({EARLIER})' if self.stale else ''}",
            self.match.published,
            self.budget,
            f"{r.games} of {self.match.games}",
            f"{r.wins} / {r.draws} / {r.losses}",
            f"{r.rate:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{mean:+.1f} ± {1.96 * spread:.1f}",
        ]

    def verdict(self) -> str:
        """Whether the interval lies above, below or around one half."""
        low, high = self.result.interval()
        word = (
            "wins more than half"
            if low > 0.5
            else "wins less than half"
            if high < 0.5
            else "cannot be told from one half"
        )
        return f"`{self.match.one}` against `{self.match.two}` ({self.budget or 'no budget'}): {self.result.rate:.3f}, {word}"


COLUMNS = (
    "match", "published win rate", "budget", "games of planned", "wins / draws / losses", "win rate", "95 % interval",
    "points a game",
)  # fmt: skip
_ALIGNED = ("---", "---", "---", "--:", "---", "--:", "---", "--:")


def play_all(
    budget: str, games: int, ends: int, only: tuple[int, ...] = (), kept: Iterable[Played] = (), workers: int = 1
) -> Iterator[Played]:
    """Plays the matches side by side, so that a run that is stopped leaves a share of each. Yields a match after each of its
    games.

    Args:
        budget: of a shot, of players that search: `simulations=N` or `seconds=S`. games: at most so many a match; 0: as many
            as `Match.games`.
        ends: of a game. only: numbers of the matches to play; none: all.
        kept: what has been played already; its games are not played again, unless they are stale.
        workers: games at a time, a thread each.
    """
    known = {(MATCHES.index(row.match), row.budget): row for row in kept if not row.stale}
    rows: dict[int, Played] = {}
    tasks: list[tuple[float, int, int]] = []
    for number, match in enumerate(MATCHES):
        if only and number not in only:
            continue
        given = budget if searches(match.one) or searches(match.two) else ""
        fresh = Played(match, given, Result(match.one, match.two), table=table_of_players(match.one, match.two))
        rows[number] = known.get((number, given), fresh)
        count = min(games, match.games) if games else match.games
        tasks += [(play / count, number, play) for play in range(rows[number].result.games, count)]

    def play(task: tuple[float, int, int]) -> tuple[int, Usage, Usage]:
        _, number, count = task
        match = MATCHES[number]
        pair = [make_agent(game("curling"), with_budget(one, rows[number].budget)) for one in (match.one, match.two)]
        margin = margin_of(game("curling").ruleset(ends=ends, **match.rules), pair, count, seed=1000 * number)
        return margin, Usage().plus(pair[0]), Usage().plus(pair[1])

    tasks.sort()
    pool = ThreadPoolExecutor(workers)
    try:
        for (_, number, _), (margin, *spent) in zip(tasks, pool.map(play, tasks), strict=True):
            row = rows[number]
            result = Result.of(row.result.one, row.result.two, [*row.result.margins, margin])
            one, two = (a.added(b) for a, b in zip(row.usage, spent, strict=True))
            rows[number] = replace(row, result=result, usage=(one, two))
            yield rows[number]
    finally:
        pool.shutdown(cancel_futures=True)


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
            with_budget(text, f"simulations={OPENING_SIMULATIONS}") for text in (opening.opener, "ayumu", opening.rest)
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


CANDIDATES = ("ayumu", "end_plan:shots=16,system=1", "end_plan:shots=12")
"""The players whose candidates are counted: all of them, program A (figure 2) and program B' (figure 3)."""


def candidate_counts(ends: int) -> dict[str, list[float]]:
    """The mean number of candidates by shot of an end, 16 numbers, in ends of each of `CANDIDATES` against itself."""
    ruleset = game("curling").ruleset(stop_after=1, reward="win_probability")
    found: dict[str, list[float]] = {}
    for text in CANDIDATES:
        pair: list[Any] = [make_agent(ruleset.game, with_budget(text, "simulations=100")) for _ in range(2)]
        total = [0] * 16

        def count(seat: int, view: Any, after: Any, pair: list[Any] = pair, total: list[int] = total) -> None:
            total[int(view["shot"])] += pair[seat].count

        for number in range(ends):
            play_game(ruleset, pair, number, count)
        found[text] = [round(n / ends, 1) for n in total]
    return found


def merged(played: Iterable[Played]) -> list[Played]:
    """The last of every match and budget, in the order of the page."""
    rows = {(MATCHES.index(row.match), row.budget): row for row in played}
    return [rows[key] for key in sorted(rows)]


@dataclass
class Record:
    """All that the page shows: matches, openings, and the candidates by shot (`candidate_counts`)."""

    ends: int
    played: list[Played] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)
    candidates: dict[str, list[float]] = field(default_factory=dict)


def save(record: Record, path: Path) -> None:
    """Writes the results so far, for `load`."""
    rows = [
        {
            "one": row.match.one, "two": row.match.two, "budget": row.budget, "usage": row.usage,
            "margins": row.result.margins, "table": row.table,
        }
        for row in merged(record.played)
    ]  # fmt: skip
    tried = [
        {"side": row.side, "opener": row.opener, "rest": row.rest, "points": row.points}
        for row in _latest(record.openings)
    ]
    matches, singles = (",\n".join("    " + json.dumps(row) for row in each) for each in (rows, tried))
    text = (
        f'{{\n  "ends": {record.ends},\n  "table": "{table_digest()}",\n  "candidates": {json.dumps(record.candidates)},\n'
        f'  "matches": [\n{matches}\n  ],\n'
        f'  "openings": [\n{singles}\n  ]\n}}\n'
    )
    path.write_text(text, encoding="utf-8")


def load(path: Path, ends: int) -> Record:
    """The matches played so far; none if the file is missing or of games of another length. Openings and candidates by
    another win table are left out.
    """
    record = Record(ends)
    if not path.exists():
        return record
    found = json.loads(path.read_text(encoding="utf-8"))
    if found["table"] == table_digest():
        record.candidates = found["candidates"]
        record.openings = _latest(
            Opening(row["side"], row["opener"], row["rest"], tuple(row["points"])) for row in found["openings"]
        )
    known = {(match.one, match.two): match for match in MATCHES}
    for row in found["matches"] if found["ends"] == ends else ():
        pair = row["one"], row["two"]
        if pair in known:
            usage = (Usage(*row["usage"][0]), Usage(*row["usage"][1]))
            result = Result.of(*pair, row["margins"])
            record.played.append(Played(known[pair], row["budget"], result, usage, row["table"]))
    return record


def _table(rows: list[Played]) -> list[str]:
    return [
        f"| {' | '.join(COLUMNS)} |",
        f"|{'|'.join(_ALIGNED)}|",
        *(f"| {' | '.join(row.cells())} |" for row in rows),
    ]


def _spent(rows: list[Played]) -> Iterator[str]:
    """Table 4 of the opening book's paper: time and playouts of a searched shot."""
    clocked = [row for row in rows if "clock=" in row.match.one and row.usage[0].shots]
    if not clocked:
        return
    yield from ("", "Time and playouts of a searched shot (its Table 4), under the clock:", "")
    yield from (
        "| player | published: ms | playouts | here: ms | playouts | playouts a second |",
        "|---|--:|--:|--:|--:|--:|",
    )
    published = (("6,451.9", "1,900,000"), ("5,816.3", "1,660,000"))
    for name, figures, usage in zip(("gccs", "ayumu"), published, clocked[0].usage, strict=True):
        ms, lines = 1000 * usage.seconds / usage.shots, usage.playouts / usage.shots
        rate = usage.playouts / max(usage.seconds, 1e-9)
        yield f"| {name} | {' | '.join(figures)} | {ms:,.1f} | {lines:,.0f} | {rate:,.0f} |"


def _shots(candidates: dict[str, list[float]]) -> Iterator[str]:
    """Figures 2 and 3 of the paper on end plans: the mean number of candidates by shot."""
    if not candidates:
        return
    yield from (
        "",
        "The mean number of candidates by shot (its figures 2 and 3 show this for programs A and B'), spins counted:",
        "",
    )
    yield f"| candidates of | {' | '.join(str(k) for k in range(1, 17))} |"
    yield f"|---|{'|'.join(['--:'] * 16)}|"
    for text, counts in candidates.items():
        yield f"| {text} | {' | '.join(f'{n:.0f}' for n in counts)} |"


def _openings(openings: list[Opening]) -> Iterator[str]:
    tried = _latest(openings)
    if not tried:
        return
    yield from ("", "### What the book's openings are worth", "")
    yield (
        f"Single ends from 0 : 0, noise of the UEC Cup (`asobiba reproduce curling --openings {len(tried[0].points)}`). One side's "
        "first three stones come from the book of gccs, or from the search of ayumu; the other side's from the search; who "
        f"plays the rest is the same for both sides. Players that search have {OPENING_SIMULATIONS} simulations a shot. "
        "*Points* are that side's less the other's."
    )
    yield from ("", f"| {' | '.join(_OPENING_COLUMNS)} |", "|---|---|---|--:|--:|--:|")
    yield from (f"| {' | '.join(row.cells())} |" for row in tried)
    yield ""
    yield from _gains(tried)


PAPERS = {
    "gccs": (
        "The opening book of GCCS (Mori and Ito)",
        "gccs is ayumu with a book for its first three stones of an end. **Invented here**: the book and the table that chooses "
        "an end plan; the paper's own are not published. The noise is that of the UEC Cup, 0.145 m in both directions. The paper's "
        "only significant result against ayumu is the first row's: what the book saves of a game's time goes into later shots. The "
        "win over through, whose first two stones of an end leave the sheet, is significant, too (p .000); it tests whether these "
        f"stones matter. Here a game has {CLOCK['thinking_time']} s instead of 438, and fewer ends.",
    ),
    "end plans": (
        "Fewer candidates by end plans",
        "end_plan is ayumu whose candidates are narrowed by a plan for the end, in the first 16, 12, 8 or 4 shots: programs A to D "
        "of the paper's first system, B' to D' of its second, which splits three plans into an aggressive and a conservative "
        "version. **Invented here**: the tables of plans and of candidates, after the text; the paper's are pictures.",
    ),
    "dis": (
        "Deep Imitation System",
        "dis is the network as published, with one delivery as its output. dis_mixture, which is ours, has a mixture of eight "
        "deliveries as its output, and throws the likeliest. The paper's teacher is GCCS; ours: {teacher}. How both were taught: "
        "[policies](../../baselines/curling/policies/README.md).",
    ),
    "jiritsu": (
        "Jiritsu-kun (Kato, Iizuka, Yamamoto)",
        "The paper prints no results. jiritsu looks at the reply to every shot, on thinner grids than the paper's "
        "(`asobiba agents curling` tells the strides); jiritsu_depth1 looks at no replies, on the paper's grid, and with grid=3 on that of jiritsu. **Invented "
        "here**: the weights of the evaluation, which the paper does not give, were fitted in self-play.",
    ),
    "kr": (
        "Kernel regression UCT, and the search against the sample player",
        "kr_uct after Yee et al. 2016 and Lee et al. 2018; kr_uct_prior draws its shots from dis_mixture.",
    ),
}
"""Headline and explanation of each part of the page."""


def _teacher() -> str:
    """The teacher of the stored network dis."""
    record = json.loads(path_of("mean").with_suffix(".json").read_text(encoding="utf-8"))
    return f"{record['learned shots']:,} shots of `{record['teacher']}`"


WORDS = {
    "cs2": "CurlingSimulator 2, on which the UEC Cup and the GAT tournaments of 2014 to 2018 were played",
    "noise of GAT": "a shot's target is moved by normal noise of half a stone's radius aside and two radii along; it holds where "
    "nothing else is said",
    "noise of the UEC Cup": "the same with one radius in both directions",
    "budget": "of a shot, for players that search; the papers' had seconds, about 1.7 million playouts a shot for gccs and ayumu",
    "playout": "a line that is played to the end of the end",
    "dis_mixture": "our second network beside the published dis: eight deliveries with their probabilities instead of one",
    "the rates are pictures": "the text of the paper is at hand, the pictures that hold these tables are not",
}


def markdown(record: Record, output: str) -> str:
    """The page."""
    rows = merged(record.played)
    total = sum(row.result.games for row in rows)
    planned = sum(row.match.games for row in rows)
    budgets = list(dict.fromkeys(row.budget for row in rows if row.budget))
    commands = ", ".join(f"`asobiba reproduce curling --{budget.replace('=', ' ')}`" for budget in budgets)
    lines = [
        "# Digital curling: published matches beside ours",
        "",
        f"Written by {commands or '`asobiba reproduce curling`'} (with `--output {output}`): {total:,} games of {record.ends} ends on "
        f"cs2, of {planned:,} planned; a run that is stopped has played a like share of each match. Win rates leave drawn games out, as in the papers; intervals are Wilson's, of 95 %. Points are those of the player "
        "named first less the other's. [How ends go](curling-ends.md): points with the hammer and without, steals, blanks.",
        "",
        "## Words",
        "",
        *(f"* *{word}*: {meaning}" for word, meaning in WORDS.items()),
    ]
    for key, (headline, text) in PAPERS.items():
        part = [row for row in rows if row.match.paper == key]
        lines += ["", f"## {headline}", "", text.replace("{teacher}", _teacher())]
        if part:
            lines += ["", *_table(part)]
        if key == "gccs":
            lines += [*_spent(part), *_openings(record.openings)]
        if key == "end plans":
            lines += list(_shots(record.candidates))
        if part:
            lines += ["", f"Conclusion: {'; '.join(row.verdict() for row in part)}."]
    missing = len(MATCHES) - len({(row.match.one, row.match.two) for row in rows})
    if missing:
        lines += ["", f"{len(MATCHES) - missing} of {len(MATCHES)} matches have been played."]
    return "\n".join(lines) + "\n"

"""Content of a table: one line per agent with its rating, and one cell per pairing."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from asobiba.arena.match import CRASH, ILLEGAL, REASONS, TIME_OUT, TRUNCATION, MatchRecord
from asobiba.arena.ratings import Rating, bradley_terry, mean_return, wilson
from asobiba.arena.results import Result, Results
from asobiba.arena.wwg import weighted_winning_degree
from asobiba.core import Ruleset
from asobiba.core.answers import printable

PROVISIONAL = 50
"""With fewer games a rating is marked as provisional."""
_WIDEST = 400
"""Elo points: a provisional rating that is known less exactly is not printed."""


@dataclass(frozen=True)
class Standing:
    """One agent's line.

    Args:
        rank, agent, rating, low, high, tied_with: see `asobiba.arena.ratings.Rating`.
        wwg, wwg_low, wwg_high: weighted winning degree and its interval (games of two players).
        games, wins, draws, losses: of all games; with more than two players a win is the greatest return alone.
        score: the share of opponents beaten, ties half, over all games (`None` for one player).
        seat_scores: the same from each seat.
        mean_return: the mean sum of rewards.
        illegal, crashes, time_outs: games that the agent lost for each of these reasons.
        truncated: its games that reached the greatest length.
        moves: mean length of its games.
        milliseconds: mean time that it takes for a move.
    """

    rank: int
    agent: str
    rating: float
    low: float
    high: float
    tied_with: tuple[str, ...]
    wwg: float | None
    wwg_low: float | None
    wwg_high: float | None
    games: int
    wins: int
    draws: int
    losses: int
    score: float | None
    seat_scores: tuple[float | None, ...]
    mean_return: float
    illegal: int
    crashes: int
    time_outs: int
    truncated: int
    moves: float
    milliseconds: float


@dataclass(frozen=True)
class Cell:
    """One pairing seen from the first agent: its score and the interval, over all games and from each seat."""

    games: int
    score: float
    low: float
    high: float
    seat_scores: tuple[float | None, ...]


@dataclass(frozen=True)
class Standings:
    """A whole table: lines in order of rank, cells by pair of agents, counts of the reasons for which games ended, and
    the origin of the seeds, in words.
    """

    ruleset: Ruleset
    level: float
    rating_name: str
    lines: tuple[Standing, ...]
    cells: dict[tuple[str, str], Cell]
    reasons: dict[str, int]
    games: int
    seeds: str = ""


def as_result(record: MatchRecord, number: int = 0) -> Result:
    """A record that is in no store, in the form that ratings read."""
    return Result(
        number=number,
        seats=record.match.seats,
        seed=record.match.seed,
        returns=record.returns,
        winner=record.winner,
        moves=record.moves,
        reason=record.reason,
        culprit=record.culprit,
        decisions=record.decisions,
        seconds=record.seconds,
        tie_break=record.tie_break,
        teams=record.teams,
    )


def standings(ruleset: Ruleset, results: Sequence[Result], level: float = 0.95, seeds: str = "") -> Standings:
    """The table of these results; `seeds` names the origin of their seeds."""
    found = Results.of(results)
    alone = ruleset.num_players == 1
    ratings = mean_return(found, level) if alone else bradley_terry(found, level)
    wwg: dict[str, Rating] = {}
    if ruleset.num_players == 2 and len(ratings) > 1:
        wwg = {rating.agent: rating for rating in weighted_winning_degree(found, level)}
    tally = _Tally(found, alone)
    lines = tuple(tally.line(rating, wwg.get(rating.agent)) for rating in ratings)
    counts = np.bincount(found.reason, minlength=len(REASONS))
    reasons = {name: int(count) for name, count in zip(REASONS, counts)}
    name = "mean return" if alone else "Elo"
    return Standings(ruleset, level, name, lines, tally.cells(level), reasons, len(found), seeds)


class _Tally:
    """Sums over all results, by agent (and seat, and opponent)."""

    def __init__(self, results: Results, alone: bool):
        self.results, self.alone = results, alone
        self.index = {name: k for k, name in enumerate(results.agents)}
        n, k = len(results.agents), results.seats.shape[1]
        who = results.seats
        won = results.won
        drawn = ~won.any(1)

        def total(weights: np.ndarray) -> np.ndarray:
            return np.bincount(who.ravel(), np.broadcast_to(weights, who.shape).ravel(), n)

        def once(weights: np.ndarray) -> np.ndarray:
            return np.broadcast_to(weights[:, None], who.shape)

        self.games = total(np.ones(1))
        self.wins, self.draws = total(won), total(once(drawn & (results.winner < 0)))
        self.moves, self.decisions = total(once(results.moves)), total(results.decisions)
        self.gained, self.seconds = total(results.returns), total(results.seconds)
        self.truncated = total(once(results.reason == REASONS.index(TRUNCATION)))
        guilty = np.arange(k) == results.culprit[:, None]
        self.faults = {
            name: total(guilty & once(results.reason == REASONS.index(name))) for name in (ILLEGAL, CRASH, TIME_OUT)
        }
        self.met, self.score = np.zeros((n, n, k)), np.zeros((n, n, k))
        for a, b, rows, sign in results.pairs():
            one, other = who[rows, a], who[rows, b]
            score = (1 + sign) / 2
            for mine, yours, seat, gain in ((one, other, a, score), (other, one, b, 1 - score)):
                cells = mine.astype(np.int64) * n + yours
                self.met[:, :, seat] += np.bincount(cells, minlength=n * n).reshape(n, n)
                self.score[:, :, seat] += np.bincount(cells, gain, n * n).reshape(n, n)

    def cells(self, level: float) -> dict[tuple[str, str], Cell]:
        found = {}
        names = self.results.agents
        met, score = self.met.sum(2), self.score.sum(2)
        for i, j in zip(*np.nonzero(met)):
            games, gained = int(met[i, j]), float(score[i, j])
            seats = _shares(self.score[i, j], self.met[i, j])
            found[names[i], names[j]] = Cell(games, gained / games, *wilson(gained, games, level), seats)
        return found

    def line(self, rating: Rating, wwg: Rating | None) -> Standing:
        k = self.index[rating.agent]
        games = int(self.games[k])
        wins, draws = (0, 0) if self.alone else (int(self.wins[k]), int(self.draws[k]))
        met, score = self.met[k].sum(0), self.score[k].sum(0)
        return Standing(
            rank=rating.rank,
            agent=rating.agent,
            rating=rating.value,
            low=rating.low,
            high=rating.high,
            tied_with=rating.tied_with,
            wwg=wwg.value if wwg else None,
            wwg_low=wwg.low if wwg else None,
            wwg_high=wwg.high if wwg else None,
            games=games,
            wins=wins,
            draws=draws,
            losses=0 if self.alone else games - wins - draws,
            score=None if self.alone or not met.sum() else float(score.sum() / met.sum()),
            seat_scores=_shares(score, met),
            mean_return=float(self.gained[k] / games),
            illegal=int(self.faults[ILLEGAL][k]),
            crashes=int(self.faults[CRASH][k]),
            time_outs=int(self.faults[TIME_OUT][k]),
            truncated=int(self.truncated[k]),
            moves=float(self.moves[k] / games),
            milliseconds=float(1000 * self.seconds[k] / max(self.decisions[k], 1)),
        )


def _shares(score: np.ndarray, met: np.ndarray) -> tuple[float | None, ...]:
    return tuple(float(s / m) if m else None for s, m in zip(score, met))


def provisional(table: Standings) -> bool:
    """Whether some ratings of the table are."""
    return any(line.games < PROVISIONAL for line in table.lines)


def _says_nothing(line: Standing, digits: int) -> bool:
    """Whether an Elo rating has so wide an interval that only "provisional" can be said."""
    return digits == 0 and line.games < PROVISIONAL and not line.high - line.low < 2 * _WIDEST


def _rating(line: Standing, digits: int) -> str:
    if _says_nothing(line, digits):
        return "provisional"
    return f"{line.rating:.{digits}f}" + ("?" if line.games < PROVISIONAL else "")


_SUBMITTED = re.compile(r"\w+:(?:.*[/\\])?submissions[/\\][^/\\]+[/\\](.+)-([0-9a-f]{8})(?:\.\w+)?")
"""An agent that `asobiba league submit` has entered: the name that it declares, and the digest of its file."""


def shown_names(agents: Sequence[str]) -> dict[str, str]:
    """The names of these agents in tables. Submitted agents have the names that they declare; two agents of the same
    name are told apart by the digests of their files.
    """
    found = {text: match for text in agents if (match := _SUBMITTED.fullmatch(text))}
    taken = [*(match[1] for match in found.values()), *(text for text in agents if text not in found)]
    return {
        text: text
        if text not in found
        else found[text][1]
        if taken.count(found[text][1]) == 1
        else f"{found[text][1]} ({found[text][2]})"
        for text in agents
    }


def columns(table: Standings) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of the table as text, for terminals and Markdown."""
    alone, two = table.ruleset.num_players == 1, table.ruleset.num_players == 2
    percent = f"{100 * table.level:.0f} % interval"
    head = ["#", "agent", table.rating_name, percent, "tied with"]
    if two:
        head.append("WWG")
    if not alone:
        head += ["score", *(f"as {name}" for name in table.ruleset.players), "W / D / L"]
    head += ["games", "moves", "ms/move", "illegal", "time-outs", "crashes"]
    digits = 3 if alone else 0
    rows = []
    names = shown_names([line.agent for line in table.lines])
    for line in table.lines:
        ranks = {other.agent: str(other.rank) for other in table.lines}
        row = [
            str(line.rank),
            names[line.agent],
            _rating(line, digits),
            "" if _says_nothing(line, digits) else f"{line.low:.{digits}f} to {line.high:.{digits}f}",
            ", ".join(f"#{ranks[name]}" for name in line.tied_with),
        ]
        if two:
            row.append("" if line.wwg is None else f"{line.wwg:.3f}")
        if not alone:
            row += [_percent(line.score), *(_percent(score) for score in line.seat_scores)]
            row.append(f"{line.wins} / {line.draws} / {line.losses}")
        row += [str(line.games), f"{line.moves:.1f}", f"{line.milliseconds:.3g}"]
        row += [str(line.illegal), str(line.time_outs), str(line.crashes)]
        rows.append(row)
    return head, rows


def narrow_columns(table: Standings) -> tuple[list[str], list[list[str]]]:
    """The headings and cells that fit into 80 columns."""
    alone = table.ruleset.num_players == 1
    digits = 3 if alone else 0
    head = ["#", "agent", table.rating_name, "±", *([] if alone else ["score"]), "games"]
    names = shown_names([line.agent for line in table.lines])
    rows = [
        [
            str(line.rank), names[line.agent], _rating(line, digits),
            "" if _says_nothing(line, digits) else f"{(line.high - line.low) / 2:.{digits}f}",
            *([] if alone else [_percent(line.score)]), str(line.games),
        ]
        for line in table.lines
    ]  # fmt: skip
    return head, rows


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def to_markdown(table: Standings) -> str:
    """The table in Markdown."""
    head, rows = columns(table)
    cells = [list(map(escaped, head)), ["---"] * len(head), *(list(map(escaped, row)) for row in rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells) + "\n"


def escaped(text: str) -> str:
    """A text escaped for Markdown: no markup, no HTML, no link, no line break, nothing unprintable."""
    shown = "".join(f"\\{c}" if c in "\\`*_[]<>|~!" else c for c in printable(text).replace("&", "&amp;"))
    return " ".join(shown.replace("://", ":\u200b//").split())


def _cell(value: Any) -> Any:
    # A text that a spreadsheet would take for a formula begins with an apostrophe; nothing unprintable reaches a terminal.
    if not isinstance(value, str):
        return value
    return printable(f"'{value}" if value[:1] in tuple("=+-@\t\r") else value)


def to_csv(table: Standings) -> str:
    """The table as comma-separated values with every figure in full."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = list(Standing.__dataclass_fields__)
    seats = [f"score_{name}" for name in table.ruleset.players]
    k = names.index("seat_scores")
    writer.writerow([*names[:k], *seats, *names[k + 1 :]])
    for line in table.lines:
        values = asdict(line)
        values["tied_with"] = " ".join(line.tied_with)
        spread = values.pop("seat_scores")
        row = [_cell(value) for value in values.values()]
        writer.writerow([*row[:k], *spread, *row[k:]])
    return out.getvalue()


def to_json(table: Standings) -> str:
    """Standings and pairings as JSON."""
    data = {
        "game": table.ruleset.game.id,
        "parameters": table.ruleset.parameters,
        "rating": table.rating_name,
        "level": table.level,
        "games": table.games,
        "seeds": table.seeds,
        "reasons": table.reasons,
        "standings": [asdict(line) for line in table.lines],
        "pairings": [{"agent": a, "opponent": b, **asdict(cell)} for (a, b), cell in sorted(table.cells.items())],
    }
    return json.dumps(data, indent=2, default=str) + "\n"

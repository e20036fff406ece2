"""What a table shows: one line per agent with its rating, and one cell per pairing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from asobiba.arena.match import CRASH, ILLEGAL, REASONS, TIME_OUT, TRUNCATION, Record
from asobiba.arena.ratings import Rating, bradley_terry, mean_return, weighted_winning_degree, wilson
from asobiba.arena.store import Result
from asobiba.core import Ruleset


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
        illegal, crashes, time_outs: games that this agent lost for that reason.
        truncated: games of its that reached the longest length.
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
    """A whole table: lines in order of rank, cells by pair of agents, how often games ended for which reason."""

    ruleset: Ruleset
    level: float
    rating_name: str
    lines: tuple[Standing, ...]
    cells: dict[tuple[str, str], Cell]
    reasons: dict[str, int]
    games: int


def as_result(record: Record, number: int = 0) -> Result:
    """A record that is in no store, in the form that ratings read."""
    return Result(
        number, record.match.seats, record.match.seed, record.returns, record.winner, record.moves, record.reason,
        record.culprit, record.decisions, record.seconds, record.tie_break,
    )  # fmt: skip


def standings(ruleset: Ruleset, results: Sequence[Result], level: float = 0.95) -> Standings:
    """The table of these results."""
    alone = ruleset.num_players == 1
    ratings = mean_return(results, level) if alone else bradley_terry(results, level)
    wwg: dict[str, Rating] = {}
    if ruleset.num_players == 2 and len(ratings) > 1:
        wwg = {rating.agent: rating for rating in weighted_winning_degree(results, level)}
    tallies = {rating.agent: _Tally(ruleset.num_players) for rating in ratings}
    pairs: dict[tuple[str, str], _Tally] = {}
    reasons = dict.fromkeys(REASONS, 0)
    for result in results:
        reasons[result.reason] += 1
        for seat, name in enumerate(result.seats):
            tallies[name].add(result, seat)
            for other, opponent in enumerate(result.seats):
                if opponent != name:
                    tally = pairs.setdefault((name, opponent), _Tally(ruleset.num_players))
                    tally.meet(seat, _above(result, seat, other))
    lines = tuple(tallies[rating.agent].line(rating, wwg.get(rating.agent), alone) for rating in ratings)
    cells = {pair: tally.cell(level) for pair, tally in pairs.items()}
    return Standings(ruleset, level, "mean return" if alone else "Elo", lines, cells, reasons, len(results))


def _above(result: Result, seat: int, other: int) -> float:
    mine, yours = result.returns[seat], result.returns[other]
    return 0.5 if mine == yours else float(mine > yours)


class _Tally:
    def __init__(self, seats: int):
        self.games = self.wins = self.draws = self.illegal = self.crashes = self.time_outs = self.truncated = 0
        self.moves = self.decisions = 0
        self.gained = self.seconds = 0.0
        self.met = [0] * seats
        self.score = [0.0] * seats

    def add(self, result: Result, seat: int) -> None:
        self.games += 1
        self.wins += result.winner == seat
        self.draws += result.winner < 0
        self.moves += result.moves
        self.decisions += result.decisions[seat]
        self.seconds += result.seconds[seat]
        self.gained += result.returns[seat]
        self.truncated += result.reason == TRUNCATION
        if result.culprit == seat:
            self.illegal += result.reason == ILLEGAL
            self.crashes += result.reason == CRASH
            self.time_outs += result.reason == TIME_OUT
        for other in range(len(result.seats)):
            if other != seat:
                self.meet(seat, _above(result, seat, other))

    def meet(self, seat: int, score: float) -> None:
        self.met[seat] += 1
        self.score[seat] += score

    def seat_scores(self) -> tuple[float | None, ...]:
        return tuple(score / met if met else None for score, met in zip(self.score, self.met))

    def cell(self, level: float) -> Cell:
        games, score = sum(self.met), sum(self.score)
        return Cell(games, score / games, *wilson(score, games, level), self.seat_scores())

    def line(self, rating: Rating, wwg: Rating | None, alone: bool) -> Standing:
        return Standing(
            rating.rank, rating.agent, rating.value, rating.low, rating.high, rating.tied_with,
            wwg.value if wwg else None, wwg.low if wwg else None, wwg.high if wwg else None,
            self.games, 0 if alone else self.wins, 0 if alone else self.draws,
            0 if alone else self.games - self.wins - self.draws,
            None if alone or not sum(self.met) else sum(self.score) / sum(self.met), self.seat_scores(),
            self.gained / self.games, self.illegal, self.crashes, self.time_outs, self.truncated,
            self.moves / self.games, 1000 * self.seconds / max(self.decisions, 1),
        )  # fmt: skip


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
    for line in table.lines:
        ranks = {other.agent: str(other.rank) for other in table.lines}
        row = [
            str(line.rank),
            line.agent,
            f"{line.rating:.{digits}f}",
            f"{line.low:.{digits}f} to {line.high:.{digits}f}",
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


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def to_markdown(table: Standings) -> str:
    """The table in Markdown."""
    head, rows = columns(table)
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells) + "\n"


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
        row = list(values.values())
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
        "reasons": table.reasons,
        "standings": [asdict(line) for line in table.lines],
        "pairings": [{"agent": a, "opponent": b, **asdict(cell)} for (a, b), cell in sorted(table.cells.items())],
    }
    return json.dumps(data, indent=2, default=str) + "\n"

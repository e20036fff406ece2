"""A film of each published league: one of its games, drawn from the records."""

from __future__ import annotations

import json
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

import numpy as np

from asobiba.api.render import step_fps, svg
from asobiba.api.scene import ENDING, Pen
from asobiba.arena.match import RULES, MatchRecord
from asobiba.arena.records_file import NAME, RecordsFile
from asobiba.arena.replay import replay
from asobiba.arena.results import Results

ROOT = Path(__file__).parents[2]
MOST_FRAMES = 120
"""Pictures of a film; of longer games every second, third, ... is shown."""
TURNS_A_SECOND = 2.0
CHOICE = (
    "Each film is a game of a published league: among the games that the rules decided, one between the players who stand "
    "highest in the table, at the third quartile of the lengths of their games."
)


@dataclass(frozen=True)
class Film:
    """A game as pictures.

    Args:
        frames: SVG texts.
        seconds: for which each is shown.
        caption: who played, and the result, in HTML.
    """

    frames: list[str]
    seconds: float
    caption: str

    def packed(self) -> str:
        """The pictures as JSON, without their repetitions: all elements that differ, and for each picture their indices."""
        known: dict[str, int] = {}
        frames = [[known.setdefault(one, len(known)) for one in elements(frame)] for frame in self.frames]
        return json.dumps({"elements": list(known), "frames": frames}, separators=(",", ":"), ensure_ascii=False)


def elements(picture: str) -> list[str]:
    """The text of a picture, cut between its elements."""
    return re.split("(?<=>)(?=<)", picture)


def chosen(results: Results, order: list[str]) -> int:
    """The number of the match to show, by the rule that `CHOICE` states.

    Args:
        order: the agents as the table lists them, the best first.
    """
    alone = results.seats.shape[1] == 1
    decided = [k for k, result in enumerate(results) if result.reason == RULES and (alone or result.winner >= 0)]
    rank = np.array([order.index(name) for name in results.agents])
    ranks = rank[results.seats[decided]].sum(1)
    best = np.array(decided)[ranks == ranks.min()]
    best = best[np.lexsort((results.number[best], results.moves[best]))]
    return int(results.number[best[3 * len(best) // 4]])


@cache
def films() -> dict[str, Film]:
    """The films of all published leagues, by their folders. Without compiled code, a car takes half a minute to drive
    its three laps: leagues are drawn side by side."""
    leagues = sorted(path.parent.name for path in (ROOT / "leaderboards").glob(f"*/{NAME}"))
    with ProcessPoolExecutor() as pool:
        return dict(zip(leagues, pool.map(film, leagues), strict=True))


def film(league: str) -> Film:
    """The film of the league in a folder of `leaderboards`."""
    folder = ROOT / "leaderboards" / league
    table = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    file = RecordsFile(folder / NAME)
    number = chosen(file.results(), [line["agent"] for line in table["standings"]])
    (record,) = (one.record for one in file.listed() if one.number == number)
    return draw(record, f'Match {number} of <a href="../leagues/{league}.html">the league</a>.')


def draw(record: MatchRecord, source: str) -> Film:
    """The film of a match; its caption ends with its source."""
    ruleset = record.match.ruleset()
    positions = list(replay(record))
    stride = -(-(len(positions) - 1) // (MOST_FRAMES - 1))
    kept = [*range(0, len(positions) - 1, stride), len(positions) - 1]
    frames = [svg(ruleset, positions[k][0], last_action=positions[k - 1][1] if k else None) for k in kept]
    return Film(frames, stride / step_fps(ruleset, TURNS_A_SECOND), f"{told(record, positions[-1][0])} {source}")


def told(record: MatchRecord, last: np.void) -> str:
    """Who played, and how the match ended, in HTML."""
    ruleset, seats = record.match.ruleset(), record.match.seats
    names = [f"<code>{escape(seat)}</code>" for seat in seats]
    ending = escape(Pen(ruleset).tell(last, ENDING, 0))
    if len(seats) == 1:
        return f"{names[0]}: {ending}, return {record.returns[0]:.3g}."
    players = ", ".join(f"{player} {name}" for player, name in zip(ruleset.players, names, strict=True))
    return f"{players}: {ending}, after {record.moves} moves."

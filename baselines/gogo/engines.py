"""`asobiba gogo engines`: alpha-beta engines against programs of others, at equal and at unequal time.

The programs are not part of asobiba: Rapfi (https://github.com/dhbloo/rapfi, GPL-3.0) speaks Gomocup; Mark Mammel's player
of pente.org (https://github.com/rainwolf/pente.org, AGPL-3.0) is reached through `examples/mammel/player.py`.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from asobiba.arena.evaluation import Evaluation, evaluate
from asobiba.baselines.search.agent import SearchAgent
from asobiba.core import Agent, Ruleset, game, make_agent
from asobiba.pages import TextTable
from asobiba.protocols import sandbox

TRIAL_GAMES, TRIAL_SECONDS = 2, 0.1
"""Games before the match, in which a program that has no clock is timed, and our seconds a move in them against it."""
TRIAL_WEIGHT = 10
"""Moves of the match that the trial's mean time counts as."""
LEAST, MOST = 0.05, 2.0
"""Limits of a move at equal time, in mean times of the program."""
PLIES = 4
"""Random plies of an opening; each is played from both sides."""


@dataclass(frozen=True)
class Meeting:
    """An engine against a program.

    Args:
        preset: of the rules.
        program: how the page names it; agent: how a match does.
        seconds: the engine's time for a move; `None`: as much as the program takes on average.
        engine: an agent that is an alpha-beta search, with its settings.
    """

    preset: str
    program: str
    agent: str
    seconds: float | None
    engine: str = "alpha_beta"


@dataclass(frozen=True)
class Row:
    """What came out of a meeting.

    Args:
        theirs, ours: mean times of a move, milliseconds; equal: whether they should agree.
        score: the engine's, with its 95 % interval `low` to `high`; won, drawn, lost: the engine's games.
        distinct: games that differ. plies: a game's mean length.
        load: of the machine when the match ended (processes that want to run, the mean of a minute); 0 where unknown.
    """

    program: str
    engine: str
    preset: str
    theirs: float
    ours: float
    equal: bool
    score: float
    low: float
    high: float
    won: int
    drawn: int
    lost: int
    distinct: int
    plies: float
    load: float

    @classmethod
    def of(cls, meeting: Meeting, ours: float, found: Evaluation) -> Row:
        """The row of an evaluation, which is the program's; `ours` in seconds."""
        return cls(
            program=meeting.program,
            engine=meeting.engine,
            preset=meeting.preset,
            theirs=found.milliseconds,
            ours=1000 * ours,
            equal=meeting.seconds is None,
            score=1 - found.score,
            low=1 - found.high,
            high=1 - found.low,
            won=found.games - found.wins - found.draws,
            drawn=found.draws,
            lost=found.wins,
            distinct=found.distinct,
            plies=found.length,
            load=round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else 0.0,
        )

    @property
    def key(self) -> tuple[str, str]:
        """Who met."""
        return self.program, self.engine


class Timed(Agent):
    """An agent whose decisions are timed: `seconds` of all `decisions`."""

    def __init__(self, agent: Agent):
        self.agent, self.name = agent, agent.name
        self.restart()

    def restart(self, mean: float = 0.0, decisions: int = 0) -> None:
        """Counts from `decisions` of `mean` seconds each."""
        self.seconds, self.decisions = mean * decisions, decisions

    @property
    def mean(self) -> float:
        """Seconds of a decision."""
        return self.seconds / max(self.decisions, 1)

    def prepare(self, ruleset: Ruleset) -> None:
        self.agent.prepare(ruleset)

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self.agent.reset(ruleset, seat, seed)

    def act(self, view: np.void, legal: np.ndarray) -> int:
        begun = time.perf_counter()
        action = self.agent.act(view, legal)
        self.seconds += time.perf_counter() - begun
        self.decisions += 1
        return int(action)

    def close(self) -> None:
        self.agent.close()


class Paced(Timed):
    """A search that gets as much time as another player takes on average.

    A search may end before its limit, and the other's moves become slower or faster during a game. So each move's limit is
    what keeps the means of both equal after it, from `LEAST` to `MOST` of the other's mean.
    """

    def __init__(self, agent: SearchAgent, other: Timed):
        super().__init__(agent)
        self._search, self._other = agent, other

    def act(self, view: np.void, legal: np.ndarray) -> int:
        mean = self._other.mean
        due = mean * (self.decisions + 1) - self.seconds
        self._search.set_budget(seconds=min(max(due, LEAST * mean, 1e-6), MOST * mean))
        return super().act(view, legal)


def meetings(
    rapfi: Path | None, mammel: Path | None, engines: Sequence[str] = ("alpha_beta",), only: str = ""
) -> list[Meeting]:
    """The matches of the page, with the programs that are given: a Gomocup executable, and `player.py` beside its library.

    `only`: those alone whose program's name contains this.
    """
    found = []
    for engine in engines:
        if rapfi is not None:
            for ours, theirs in ((0.5, 0.5), (0.5, 0.1), (1.0, 0.05)):
                agent = f"gomocup:seconds={theirs:g} {rapfi.resolve()}"
                found.append(Meeting("gomoku", f"Rapfi, classical evaluation, {theirs:g} s", agent, ours, engine))
        if mammel is not None:
            for level in (1, 4, 7):
                agent = f"process:python3 {mammel.resolve()} {level}"
                found.append(Meeting("pente", f"Mammel, level {level}", agent, None, engine))
    return [meeting for meeting in found if only in meeting.program]


def _engine(name: str, seconds: float) -> SearchAgent:
    agent = make_agent(game("gogo"), f"{name}{',' if ':' in name else ':'}seconds={seconds:g}")
    assert isinstance(agent, SearchAgent)
    return agent


def play(meeting: Meeting, games: int, report: Callable[[int], None] | None = None) -> Row:
    """Plays the games of a meeting.

    Args:
        meeting: who plays.
        games: how many, each opening from both sides.
        report: called with the number of games played so far.
    """
    ruleset = game("gogo").ruleset(preset=meeting.preset)
    with sandbox.consent(True):
        program = Timed(make_agent(ruleset.game, meeting.agent))

        def against(engine: Timed, count: int, told: Callable[[int], None] | None = None) -> Evaluation:
            return evaluate(
                ruleset, (meeting.program, program), (meeting.engine, engine), count, plies=PLIES, report=told
            )

        search = _engine(meeting.engine, meeting.seconds or TRIAL_SECONDS)
        trial = against(Timed(search), TRIAL_GAMES)  # where nothing is to be measured it compiles the engine
        if meeting.seconds is None:
            program.restart(trial.milliseconds / 1000, TRIAL_WEIGHT)
        engine = Timed(search) if meeting.seconds is not None else Paced(search, program)
        found = against(engine, games, report)
        program.close()
        search.close()  # it may still ponder
        return Row.of(meeting, engine.mean, found)


def load(path: Path) -> list[Row]:
    """The rows of a record; none where there is no file."""
    return [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))] if path.is_file() else []


def save(rows: Iterable[Row], path: Path) -> None:
    """Writes rows as a record."""
    lines = ",\n".join("  " + json.dumps(asdict(row)) for row in sorted(rows, key=lambda row: row.key))
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _command(rows: Sequence[Row]) -> str:
    programs = [name for name in ("rapfi", "mammel") if any(row.program.lower().startswith(name) for row in rows)]
    engines = sorted({row.engine for row in rows})
    return " ".join(
        ["asobiba gogo engines", *(f"--{name} FILE" for name in programs), *(f"--engine {name}" for name in engines)]
    )


def page(found: Iterable[Row]) -> str:
    """The page, as Markdown."""
    rows = sorted(found, key=lambda row: row.key)
    cells = [
        (
            row.program,
            row.preset,
            f"`{row.engine}`",
            f"{row.theirs:,.0f} ms",
            f"{row.ours:,.0f} ms",
            f"{100 * row.score:.1f} % ({100 * row.low:.0f} to {100 * row.high:.0f})",
            f"{row.won} / {row.drawn} / {row.lost}",
            str(row.distinct),
            f"{row.plies:.0f}",
            f"{row.load:.1f}",
        )
        for row in rows
    ]
    columns = (
        "program",
        "rules",
        "engine",
        "its time a move",
        "ours",
        "score of the engine (95 %)",
        "won / drawn / lost",
        "different games",
        "plies",
        "load",
    )
    table = TextTable(columns, cells)
    return f"""# Gogo's engine against programs of others

Nobody else has an engine for Gogo. Its neighbours have: gomoku on 15 lines (`preset=gomoku`: five or more win, no captures)
and Pente on 19 (`preset=pente`). `alpha_beta` plays all of them with one evaluation, which was not tuned for either, and
`alpha_beta_learned` with one that was learned from games by the same rules. `late=0,forced=False` is the search without late
move reductions and forced moves that cost no depth.
Written by `{_command(rows)}`, with `--games` as in the table, on {platform.machine()}, one game at a time. Openings of {PLIES} random plies, each from both sides;
intervals count openings, not games.

{table.markdown()}

* *Rapfi* 0.43, which has led Gomocup's tournaments, is built without its networks; with them it is far stronger. Time limits
  are its own; it may answer sooner. The engine's limit is 0.5 s, or 1 s where Rapfi's is 0.05 s; it stops where it has found a
  forced win or loss.
* *Mammel* is the computer player of pente.org. Its level is a depth of search, without a clock. The engine gets as much time:
  the limit of each of its moves is what makes the mean times of both equal so far, but at most twice the program's mean.
  Where the engine's mean is longer all the same, its shortest decisions take longer than the program's. The player was written
  for Pente's tournament rule and its book; here both sides begin from random openings.
* Both times are means of all moves of these games, by the wall clock. *Load* is that of the machine, which has {os.cpu_count()} cores,
  when the match ended: above their number, other work slowed down both sides.

Settings of the engine by the clock that the table does not have: `threads=2` searches in two threads, which brings a depth
sooner ([benchmark](../benchmarks.md#gogo-two-threads)); `ponder=True` thinks on in the opponent's time.

Tried and left out: wins by moves that threaten an open four, not only a five, searched at the root (200 positions) and at
the leaves (30). Against the same search without, in 160 games at equal positions a move (commit afc625b; `asobiba evaluate gogo
alpha_beta:nodes=NODES,threes=True -a alpha_beta:nodes=NODES -n 160 --openings 4`):

| rules | where | positions | score (95 %) | time |
|---|---|--:|---|--:|
| gogo | root | 1,000 | 49.4 % (47.6 to 51.1) | + 9 % |
| gomoku | root | 1,000 | 50.0 % (48.8 to 51.2) | + 7 % |
| gogo | root and leaves (`solve=61`) | 500 | 52.5 % (47.4 to 57.5) | x 4.4 |

To build them:

    git clone --depth 1 https://github.com/dhbloo/rapfi
    cmake -S rapfi/Rapfi -B rapfi/build -DCMAKE_BUILD_TYPE=Release
    cmake --build rapfi/build

and, for Mammel's player, as the head of [player.py](../../examples/mammel/player.py) says.
"""

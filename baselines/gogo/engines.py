"""`asobiba gogo engines`: the alpha-beta engine against programs of others, at equal and at unequal time.

The programs are not part of asobiba: Rapfi (https://github.com/dhbloo/rapfi, GPL-3.0) speaks Gomocup; Mark Mammel's player
of pente.org (https://github.com/rainwolf/pente.org, AGPL-3.0) is reached through `examples/mammel/player.py`.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from asobiba.arena.evaluation import Evaluation, evaluate
from asobiba.core import game, make_agent
from asobiba.core.agents import Agent
from asobiba.pages import TextTable
from asobiba.protocols import sandbox

TRIAL_GAMES, TRIAL_SECONDS = 2, 0.1
"""Games in which a program that has no clock is timed, and our seconds a move in them."""
PLIES = 4
"""Random plies of an opening; each is played from both sides."""


@dataclass(frozen=True)
class Meeting:
    """The engine against a program.

    Args:
        preset: of the rules.
        program: how the page names it; agent: how a match does.
        seconds: the engine's time for a move; `None`: as much as the program takes on average.
    """

    preset: str
    program: str
    agent: str
    seconds: float | None


def meetings(rapfi: Path | None, mammel: Path | None) -> list[Meeting]:
    """The matches of the page, with the programs that are given: a Gomocup executable, and `player.py` beside its library."""
    found = []
    if rapfi is not None:
        for ours, theirs in ((0.5, 0.5), (0.5, 0.1), (1.0, 0.05)):
            agent = f"gomocup:seconds={theirs:g} {rapfi.resolve()}"
            found.append(Meeting("gomoku", f"Rapfi, classical evaluation, {theirs:g} s", agent, ours))
    if mammel is not None:
        for level in (1, 4, 7):
            agent = f"process:python3 {mammel.resolve()} {level}"
            found.append(Meeting("pente", f"Mammel, level {level}", agent, None))
    return found


def play(meeting: Meeting, games: int, report: Callable[[int], None] | None = None) -> tuple[float, Evaluation]:
    """The engine's seconds for a move, and the games as the program's: its score, its time.

    Args:
        meeting: who plays.
        games: how many, each opening from both sides.
        report: called with the number of games played so far.
    """
    ruleset = game("gogo").ruleset(preset=meeting.preset)
    with sandbox.consent(True):
        program = make_agent(ruleset.game, meeting.agent)

        def against(seconds: float, count: int, told: Callable[[int], None] | None = None) -> Evaluation:
            engine: Agent = make_agent(ruleset.game, f"alpha_beta:seconds={seconds:g}")
            return evaluate(
                ruleset, (meeting.program, program), ("alpha_beta", engine), count, plies=PLIES, report=told
            )

        seconds = meeting.seconds
        if seconds is None:
            seconds = round(max(against(TRIAL_SECONDS, TRIAL_GAMES).milliseconds / 1000, 0.001), 3)
        return seconds, against(seconds, games, report)


def page(results: list[tuple[Meeting, float, Evaluation]], command: str) -> str:
    """The page, as Markdown."""
    rows = [
        (
            meeting.program,
            meeting.preset,
            f"{found.milliseconds:,.0f} ms",
            f"{1000 * seconds:,.0f} ms",
            f"{100 * (1 - found.score):.1f} % ({100 * (1 - found.high):.0f} to {100 * (1 - found.low):.0f})",
            f"{found.games - found.wins - found.draws} / {found.draws} / {found.wins}",
            str(found.distinct),
            f"{found.length:.0f}",
        )
        for meeting, seconds, found in results
    ]
    columns = (
        "program",
        "rules",
        "its time a move",
        "ours",
        "score of alpha_beta (95 %)",
        "won / drawn / lost",
        "different games",
        "plies",
    )
    table = TextTable(columns, rows)
    return f"""# Gogo's engine against programs of others

Nobody else has an engine for Gogo. Its neighbours have: gomoku on 15 lines (`preset=gomoku`: five or more win, no captures)
and Pente on 19 (`preset=pente`). `alpha_beta` plays all of them with one evaluation, which was not tuned for either.
Written by `{command}`, on {platform.machine()}, one game at a time. Openings of {PLIES} random plies, each from both sides;
intervals count openings, not games.

{table.markdown()}

* *Rapfi* 0.43, which has led Gomocup's tournaments, is built without its networks; with them it is far stronger. Time limits
  are its own; it may answer sooner.
* *Mammel* is the computer player of pente.org. Its level is a depth of search, without a clock: it is timed in
  {TRIAL_GAMES} games first, and `alpha_beta` gets its mean time. It was written for Pente's tournament rule and its book; here
  both sides begin from random openings.

To build them:

    git clone --depth 1 https://github.com/dhbloo/rapfi
    cmake -S rapfi/Rapfi -B rapfi/build -DCMAKE_BUILD_TYPE=Release
    cmake --build rapfi/build

and, for Mammel's player, as the head of [player.py](../../examples/mammel/player.py) says.
"""

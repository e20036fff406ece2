"""The league's referee: an agent's fault costs it the game, or is replaced, and is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from asobiba.api.referee import Referee
from asobiba.arena.match import CRASH, ILLEGAL, TIME_OUT, Fault, Match
from asobiba.core import Agent, Ruleset
from asobiba.core.answers import describe, no_action, printable, read_answer
from asobiba.protocols.process import EngineKilled, EngineTimeout, HostedFault, IllegalAnswer


class Clock:
    """Told when an agent starts and stops thinking; the worker processes use it to enforce the time limit.

    Args:
        limit: seconds that an agent may take for a move, or `None`.
    """

    faults: tuple[type[BaseException], ...] = (Exception, SystemExit, GeneratorExit)
    """Exceptions that count as an agent's own fault; without a person at the keyboard, all do."""
    patience = False
    """Whether an undecidable case raises `Undecided` instead of counting as the agent's fault."""

    def __init__(self, limit: float | None = None):
        self.limit = limit
        self._started = 0.0

    def start(self, seat: int, agent: str, moves: int = 1, slack: float = 0.0) -> None:
        """`seat` begins to think about this many moves; it is not stopped until `slack` seconds after its limit."""
        self._started = time.perf_counter()

    def warm(self, seat: int, agent: str) -> None:
        """The agent at `seat` starts, compiles or loads what it needs, which is no thinking."""
        self.start(seat, agent)

    def stop(self) -> float:
        """It has answered; returns the seconds that count as its thinking."""
        return time.perf_counter() - self._started

    def note(self, action: bytes) -> None:
        """The game took this action."""


class Undecided(Exception):
    """Raised when it cannot be decided whose fault ended a game; the game is to be played again."""

    def __init__(self, seat: int, detail: str):
        super().__init__(detail)
        self.seat, self.detail = seat, detail


_SLACK = 5.0
"""Seconds that an agent which watches its own process has to report that it is late."""


class MatchReferee(Referee):
    """Asks the agents of one match, under the clock.

    Args:
        match: the match being played.
        clock: enforces the time limit of a move.

    Attributes:
        ending: the crash or time-out that has ended the game; no agent is asked after it.
        seconds: time of each seat's last answer.
        remarks: for each seat whose answer was not an action: the answer.
        failures: for each seat whose crash or time-out did not end the game: the last one.
    """

    def __init__(self, match: Match, clock: Clock):
        self.match = match
        self.clock = clock
        self.ending: Fault | None = None
        self.seconds = [0.0] * len(match.seats)
        self.remarks: dict[int, str] = {}
        self.failures: dict[int, str] = {}

    def begin(self, agent: Agent, ruleset: Ruleset, seats: Sequence[int], seeds: Sequence[int]) -> None:
        if self.ending is None:
            found, _ = self._timed(seats[0], agent, lambda: agent.begin(ruleset, seats, seeds))
            if isinstance(found, Fault):
                crashed = found.reason == CRASH
                self.ending = replace(found, detail=f"reset: {found.detail}") if crashed else found

    def ask(self, agent: Agent, ruleset: Ruleset, seat: int, view: np.void, legal: np.ndarray) -> Any:
        found, self.seconds[seat] = self._timed(seat, agent, lambda: read_answer(ruleset, agent.act(view, legal)))
        if not isinstance(found, Fault):
            action, remark = found
        elif found.reason == ILLEGAL:
            action, remark = no_action(ruleset), found.detail
        else:
            action, remark = no_action(ruleset), ""
            if ruleset.game.faults == "end":
                self.ending = found
            else:  # the rules choose the action instead
                self.failures[seat] = f"{found.reason}: {found.detail}"
        if remark:
            self.remarks[seat] = remark
        return action

    def _timed(self, seat: int, agent: Agent, think: Callable[[], Any]) -> tuple[Any, float]:
        """The result of an agent's thinking, or its fault; and the seconds that it took.

        An answer may be any object; reading it may run its own code, so this counts as thinking.
        """
        clock, name = self.clock, self.match.seats[seat]
        outside = getattr(agent, "thinks_outside", False)
        if outside and not agent.running:  # type: ignore[attr-defined]
            clock.warm(seat, name)
        else:
            clock.start(seat, name, slack=_SLACK if outside else 0.0)
        try:
            found = think()
        except EngineTimeout as error:
            found = Fault(seat, TIME_OUT, printable(str(error)))
        except IllegalAnswer as error:
            found = Fault(seat, ILLEGAL, printable(str(error)))
        except EngineKilled as error:
            if clock.patience:
                clock.stop()
                raise Undecided(seat, printable(str(error))) from None
            found = Fault(seat, CRASH, describe(error))
        except clock.faults as error:
            found = Fault(seat, CRASH, str(error) if isinstance(error, HostedFault) else describe(error))
        seconds = clock.stop()
        late = clock.limit is not None and seconds > clock.limit and not outside
        if late and not isinstance(found, Fault):
            found = Fault(seat, TIME_OUT, f"took {seconds:.3g} s, the limit is {clock.limit:.3g} s")
        return found, seconds

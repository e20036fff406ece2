"""Plays matches: one game under the clock, or thousands at once if every agent is compiled. The records are the same.

Both are a `Seating` without learners: `Seating.turn` selects the agents to ask, `Seating.decide` asks them,
`Seating.advance` moves, and this module makes the records.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from asobiba.api.opponents import Opponent, plays_batches
from asobiba.api.referee import Referee
from asobiba.api.seating import Seating, _Group
from asobiba.arena.match import (
    Fault,
    LiveGame,
    Match,
    MatchRecord,
    action_dtype,
    decode_actions,
    finished_record,
)
from asobiba.arena.referee import Clock, MatchReferee
from asobiba.core import Agent, KernelAgent, Ruleset
from asobiba.core.answers import refused
from asobiba.core.record import culprit
from asobiba.core.states import opened_states

__all__ = ["play_match"]


def play_match(match: Match, agents: Sequence[Agent], clock: Clock | None = None) -> MatchRecord:
    """Plays one match, asking one agent after another.

    An agent that raises, exceeds the time limit, or gives an illegal answer loses this game.

    Args:
        match: the match to play.
        agents: one agent per seat; the same object must not sit twice.
        clock: enforces the time limit of a move; `None` for none.

    Raises:
        Undecided: if `clock.patience` is set and the blame cannot be decided.
    """
    clock = clock or Clock()
    referee = MatchReferee(match, clock)
    games = _Games([match], agents, referee)
    for ply in games.log[0, : int(games.seating.states["steps"][0])]:
        clock.note(ply.tobytes())
    while referee.ending is None:
        for seat in range(len(agents)):
            turn = games.turn(seat)
            if referee.ending is None and turn.any():
                games.seating.decide(seat, turn)
                games.count(seat, turn, referee.seconds[seat])
        if referee.ending is None and (done := games.step(clock)):
            return done[0]
    return games.forfeited(referee.ending)


def plays_in_lockstep(ruleset: Ruleset, agents: Sequence[Agent]) -> bool:
    """Whether these agents' games can be played side by side with the same records: kernels, and agents that answer many
    games as they answer one."""
    return all(isinstance(agent, KernelAgent) or (agent.same_in_batches and plays_batches(agent)) for agent in agents)


def play_lockstep(
    matches: Sequence[Match],
    agents: Sequence[Agent],
    clock: Clock | None = None,
    stop_after: int | None = None,
) -> Iterator[list[MatchRecord]]:
    """Plays many matches of the same ruleset and the same agents, a move of every game at a time.

    Args:
        matches: differ in their seeds only.
        agents: one agent per seat, which play in lockstep (`plays_in_lockstep`).
        clock: enforces the time limit; a batch of n games may take n times as long.
        stop_after: ends after this many moves, without a record of the games that still run.

    Yields:
        The records of the games that have just ended.
    """
    if not matches:
        return
    games = _Games(matches, agents)
    clock = clock or Clock()
    moves = 0
    while len(games.alive) and moves != stop_after:
        moves += 1
        for seat in range(len(agents)):
            turn = games.turn(seat)
            asked = int(turn.sum())
            if asked:
                clock.start(seat, matches[0].seats[seat], asked)
                started = time.perf_counter()
                games.seating.decide(seat, turn)
                games.count(seat, turn, (time.perf_counter() - started) / asked)
                clock.stop()
        done = games.step()
        if done:
            yield done


class _LeagueSeating(Seating):
    """Games of the league: there are no learners, and every seat's agent is asked separately.

    Every kernel has its own loops, so that a league of n policies compiles n of them, not every pair. With a
    referee there is one game, and the agent objects themselves play it.
    """

    def _set_opponents(self, opponent: Opponent | Sequence[Opponent], learner: int) -> None:
        for seat, agent in enumerate(opponent):  # type: ignore[arg-type]
            occupants = np.full((self.num_envs, self.ruleset.seats), -1, np.int8)
            occupants[:, seat] = 0
            if isinstance(self.referee, MatchReferee):
                group = _Group(self, occupants, agent=agent, own=True)  # type: ignore[arg-type]
            elif isinstance(agent, KernelAgent):
                group = _Group(self, occupants, hand=self._dealt([agent], occupants))
            else:
                group = _Group(self, occupants, agent=agent)  # type: ignore[arg-type]
            self._groups.append(group)

    def take_over(self, other: Seating, rows: np.ndarray) -> None:
        self.states[...], self.masks[...] = other.states[rows], other.masks[rows]
        for mine, theirs in zip(self._groups, other._groups, strict=True):
            if mine.hand is None or theirs.hand is None:  # others that play side by side have no memory
                continue
            (kept,), (given,) = mine.hand.memories, theirs.hand.memories
            kept.reshape(-1, self.ruleset.seats)[...] = given.reshape(-1, self.ruleset.seats)[rows]


class _Games:
    """The games that still run: a seating without learners, whose arrays shrink as games end."""

    def __init__(self, matches: Sequence[Match], agents: Sequence[Agent], referee: Referee | None = None):
        self.matches = matches
        self.agents = tuple(agents)
        self.referee = referee
        self.ruleset = ruleset = matches[0].ruleset()
        count, seats = len(matches), ruleset.num_players
        self.seating = self._seating(count)
        deals = np.array([match.game_seed for match in matches], np.uint64)
        self.seating.begin_games(
            deals,
            np.array([[match.agent_seed(seat) for seat in range(seats)] for match in matches], np.uint64),
        )
        self.alive = np.arange(count)
        self.running = np.ones(count, bool)
        self.returns = np.zeros((count, seats))
        self.decisions = np.zeros((count, seats), np.int64)
        self.seconds = np.zeros((count, seats))
        plies = ruleset.opening_plies
        self.log = np.zeros((count, plies + 64, *ruleset.actions_shape), action_dtype(ruleset))
        if plies:
            self.log[:, :plies] = opened_states(ruleset, deals)[1]

    def _seating(self, count: int) -> _LeagueSeating:
        return _LeagueSeating(
            self.ruleset,
            count,
            opponent=self.agents,
            seat=None,
            autoreset="disabled",
            threads=1,
            referee=self.referee,
        )

    def turn(self, seat: int) -> np.ndarray:
        """Games in which `seat` is to be asked: `(n,)` bool."""
        return self.seating.turn(seat, self.running)

    def count(self, seat: int, turn: np.ndarray, seconds: float) -> None:
        """Counts a decision of `seat` in the games of `turn`, and the seconds that each took."""
        self.seconds[turn, seat] += seconds
        self.decisions[turn, seat] += 1

    def step(self, clock: Clock | None = None) -> list[MatchRecord]:
        """Advances every running game and returns the records of those that end; a clock is told one game's move."""
        games = self.seating
        rows = np.flatnonzero(self.running)
        steps = games.states["steps"][rows]
        if steps.max() >= self.log.shape[1]:
            self.log = np.concatenate([self.log, np.zeros_like(self.log)], axis=1)
        answers = games.actions.copy()
        bad = self._mark_bad()
        self.log[rows, steps] = games.actions[rows]
        if clock is not None:
            clock.note(self.log[0, steps[0]].tobytes())
        games.advance(self.running)
        self.returns[rows] += games.rewards[rows]
        ended = self.running & ((games.states["terminated"] != 0) | (games.states["truncated"] != 0))
        records = [self._record(int(i), bad[i], answers[i]) for i in np.flatnonzero(ended)]
        self.running &= ~ended
        if self.running.sum() * 2 < len(self.alive):
            self._shrink()
        return records

    def _mark_bad(self) -> np.ndarray:
        # Answers that are no action are recorded as -1 (or not-a-number), and so are players who are replaced for good
        # and not asked; players who do not act are recorded as 0.
        games, ruleset = self.seating, self.ruleset
        actions, replaced = games.actions, games.replaced_for_good()
        if ruleset.simultaneous:
            acting = np.stack([games.acts(seat) for seat in range(ruleset.seats)], axis=1)
            actions[~acting] = 0
            replaced = replaced & acting
        else:
            replaced = replaced[np.arange(len(replaced)), games.states["to_move"]]
        if ruleset.discrete:
            bad = replaced | (actions < 0) | (actions >= ruleset.num_actions)
            actions[bad] = -1
        else:
            bad = replaced | ~np.isfinite(actions).all(axis=-1)
            actions[bad] = np.nan
        return bad

    def _record(self, i: int, bad: np.ndarray, answer: np.ndarray) -> MatchRecord:
        state, remarks = self.seating.states[i], {}
        seat = culprit(state)
        if seat is not None:
            wrong, given = (bad[seat], answer[seat]) if self.ruleset.simultaneous else (bad, answer)
            if wrong:
                remarks[seat] = refused(self.ruleset, given)
        return self._finished(i, remarks)

    def forfeited(self, fault: Fault) -> MatchRecord:
        """The record of the single game, which a crash or a time-out has ended."""
        return self._finished(0, {}, fault)

    def _finished(self, i: int, remarks: dict[int, str], fault: Fault | None = None) -> MatchRecord:
        state, referee = self.seating.states[i], self.referee
        failures = None
        if isinstance(referee, MatchReferee):
            remarks, failures = remarks | referee.remarks, referee.failures
        return finished_record(
            self.matches[self.alive[i]],
            self.ruleset,
            state,
            self.log[i, : int(state["steps"])].tobytes(),
            returns=self.returns[i],
            decisions=self.decisions[i],
            seconds=self.seconds[i],
            remarks=remarks,
            failures=failures,
            fault=fault,
        )

    def _shrink(self) -> None:
        keep = np.flatnonzero(self.running)
        for name in ("alive", "returns", "decisions", "seconds", "log", "running"):
            setattr(self, name, getattr(self, name)[keep])
        if len(keep):
            old, self.seating = self.seating, self._seating(len(keep))
            self.seating.take_over(old, keep)


def killed_record(match: Match, seat: int, reason: str, detail: str, actions: bytes) -> MatchRecord:
    """The record of a game whose process had to be killed, or died, while `seat` was thinking after `actions`."""
    ruleset = match.ruleset()
    live = LiveGame(ruleset)
    live.begin(match.game_seed)
    count = ruleset.num_players
    returns, decisions = np.zeros(count), np.zeros(count, np.int64)
    for action in decode_actions(ruleset, actions)[len(live.opening) :]:
        decisions[live.movers] += 1
        live.play(action)
        returns += live.states["rewards"][0][:count]
    decisions[seat] += 1
    return finished_record(
        match,
        ruleset,
        live.state,
        actions,
        returns=returns,
        decisions=decisions,
        seconds=np.zeros(count),
        fault=Fault(seat, reason, detail),
    )

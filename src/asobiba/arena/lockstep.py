"""Thousands of games at once, where every agent is a kernel: the same records as one game after another."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from asobiba.api.seating import Opponent, Seating, _Group
from asobiba.arena.match import (
    Match,
    Record,
    Thinking,
    action_dtype,
    finished_record,
    refused,
)
from asobiba.core import Agent, KernelAgent, Ruleset
from asobiba.core.record import culprit


def plays_in_lockstep(ruleset: Ruleset, agents: Sequence[Agent]) -> bool:
    """Whether these agents' games can run in the batch engine."""
    return all(isinstance(agent, KernelAgent) for agent in agents)


def play_lockstep(
    matches: Sequence[Match],
    agents: Sequence[KernelAgent],
    thinking: Thinking | None = None,
    stop_after: int | None = None,
) -> Iterator[list[Record]]:
    """Plays many matches of the same ruleset and the same agents, a move of every game at a time.

    Args:
        matches: differ in their seeds only.
        agents: one agent per seat.
        thinking: enforces the time limit; a batch of n games may take n times as long.
        stop_after: ends after this many moves, without a record of the games that still run.

    Yields:
        The records of the games that have just ended.
    """
    if not matches:
        return
    games = _Games(matches, agents)
    thinking = thinking or Thinking()
    moves = 0
    while len(games.alive) and moves != stop_after:
        moves += 1
        for seat in range(len(agents)):
            turn = games.turn(seat)
            asked = int(turn.sum())
            if asked:
                thinking.start(seat, matches[0].seats[seat], asked)
                games.ask(seat, turn, asked)
                thinking.stop()
        done = games.step()
        if done:
            yield done


class _Apart(Seating):
    """Every seat's agent has loops of its own, so that a league of n policies compiles n of them, not every pair."""

    def _set_opponents(self, opponent: Opponent | Sequence[Opponent], learner: int) -> None:
        for seat, agent in enumerate(opponent):  # type: ignore[arg-type]
            occupants = np.full((self.num_envs, self.ruleset.seats), -1, np.int8)
            occupants[:, seat] = 0
            self._groups.append(_Group(self, occupants, hand=self._dealt([agent], occupants)))  # type: ignore[list-item]

    def take_over(self, other: Seating, rows: np.ndarray) -> None:
        self.states[...], self.masks[...] = other.states[rows], other.masks[rows]
        for mine, theirs in zip(self._groups, other._groups, strict=True):
            assert mine.hand is not None
            assert theirs.hand is not None
            (kept,), (given,) = mine.hand.memories, theirs.hand.memories
            kept.reshape(-1, self.ruleset.seats)[...] = given.reshape(-1, self.ruleset.seats)[rows]


class _Games:
    """The games that still run: a seating without learners, whose arrays shrink as games end."""

    def __init__(self, matches: Sequence[Match], agents: Sequence[KernelAgent]):
        self.matches = matches
        self.agents = tuple(agents)
        self.ruleset = ruleset = matches[0].ruleset()
        count, seats = len(matches), ruleset.num_players
        self.seating = self._seating(count)
        self.seating.begin_games(
            np.array([match.game_seed for match in matches], np.uint64),
            np.array([[match.agent_seed(seat) for seat in range(seats)] for match in matches], np.uint64),
        )
        self.alive = np.arange(count)
        self.running = np.ones(count, bool)
        self.returns = np.zeros((count, seats))
        self.decisions = np.zeros((count, seats), np.int64)
        self.seconds = np.zeros((count, seats))
        self.log = np.zeros((count, 64, *ruleset.actions_shape), action_dtype(ruleset))

    def _seating(self, count: int) -> _Apart:
        return _Apart(self.ruleset, count, opponent=self.agents, seat=None, autoreset="disabled", threads=1)

    def turn(self, seat: int) -> np.ndarray:
        """Games in which `seat` is to be asked: `(n,)` bool. Players whose actions the rules replace for good are not asked."""
        return self.seating.acts(seat) & self.running & ~self._replaced()[:, seat]

    def _replaced(self) -> np.ndarray:
        # Whose actions the rules play from now on, (n, seats) bool, as `Table.replaced_for_good`.
        limit, states = self.ruleset.game.fault_limit, self.seating.states
        return states["faults"] >= limit if limit else np.zeros((len(states), self.ruleset.seats), bool)

    def ask(self, seat: int, turn: np.ndarray, asked: int) -> None:
        """Writes the actions of the games in which it is the turn of `seat`."""
        started = time.perf_counter()
        self.seating.decide(seat, turn)
        self.seconds[turn, seat] += (time.perf_counter() - started) / asked
        self.decisions[turn, seat] += 1

    def step(self) -> list[Record]:
        """Moves every running game and returns the records of those that end."""
        games = self.seating
        rows = np.flatnonzero(self.running)
        steps = games.states["steps"][rows]
        if steps.max() >= self.log.shape[1]:
            self.log = np.concatenate([self.log, np.zeros_like(self.log)], axis=1)
        answers = games.actions.copy()
        bad = self._mark_bad()
        self.log[rows, steps] = games.actions[rows]
        games.advance(self.running)
        self.returns[rows] += games.rewards[rows]
        ended = self.running & ((games.states["terminated"] != 0) | (games.states["truncated"] != 0))
        records = [self._record(int(i), bad[i], answers[i]) for i in np.flatnonzero(ended)]
        self.running &= ~ended
        if self.running.sum() * 2 < len(self.alive):
            self._shrink()
        return records

    def _mark_bad(self) -> np.ndarray:
        # What is no action at all goes on record as -1 (or not-a-number), and so does whom the rules replace for good, who
        # is not asked; who does not act, as 0.
        games, ruleset = self.seating, self.ruleset
        actions, replaced = games.actions, self._replaced()
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

    def _record(self, i: int, bad: np.ndarray, answer: np.ndarray) -> Record:
        state = self.seating.states[i]
        actions = self.log[i, : int(state["steps"])].tobytes()
        remarks = {}
        seat = culprit(state)
        if seat is not None:
            wrong, given = (bad[seat], answer[seat]) if self.ruleset.simultaneous else (bad, answer)
            if wrong:
                remarks[seat] = refused(self.ruleset, given)
        return finished_record(
            self.matches[self.alive[i]], self.ruleset, state, actions, self.returns[i], self.decisions[i],
            self.seconds[i], remarks,
        )  # fmt: skip

    def _shrink(self) -> None:
        keep = np.flatnonzero(self.running)
        for name in ("alive", "returns", "decisions", "seconds", "log", "running"):
            setattr(self, name, getattr(self, name)[keep])
        if len(keep):
            old, self.seating = self.seating, self._seating(len(keep))
            self.seating.take_over(old, keep)

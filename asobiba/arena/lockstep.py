"""Thousands of games at once, where every agent is a kernel: the same records as one game after another."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from asobiba.api.batch import BEGIN, STEP_BLIND, Batch
from asobiba.arena.match import (
    Match,
    Record,
    Thinking,
    action_dtype,
    agent_seed,
    finished_record,
    out_of_range,
)
from asobiba.core import Agent, KernelAgent, Ruleset
from asobiba.core.engine import agent_engine_for
from asobiba.core.random import seed_keys


def plays_in_lockstep(ruleset: Ruleset, agents: Sequence[Agent]) -> bool:
    """Whether these agents' games can run in the batch engine."""
    return ruleset.discrete and not ruleset.simultaneous and all(type(a) is KernelAgent for a in agents)


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


class _Games:
    """The games that still run, in arrays that shrink as games end."""

    def __init__(self, matches: Sequence[Match], agents: Sequence[KernelAgent]):
        self.matches = matches
        self.ruleset = ruleset = matches[0].ruleset()
        count, seats = len(matches), ruleset.num_players
        self.policies = [agent_engine_for(ruleset.game, agent.policy) for agent in agents]
        seeds = [match.seed for match in matches]
        self.memories = [
            agent.memories(np.array([agent_seed(seed, seat) for seed in seeds]), seat, ruleset)
            for seat, agent in enumerate(agents)
        ]
        self.batch = self._batch(count)
        self.batch.states["rng_key"] = seed_keys(np.array(seeds, np.uint64), 0)
        self.batch.run(BEGIN)
        self.alive = np.arange(count)
        self.running = np.ones(count, bool)
        self.returns = np.zeros((count, seats))
        self.decisions = np.zeros((count, seats), np.int64)
        self.seconds = np.zeros((count, seats))
        self.log = np.zeros((count, 64), action_dtype(ruleset))

    def _batch(self, count: int) -> Batch:
        self.views = self.ruleset.zeros(count)
        return Batch(self.ruleset, count, autoreset="disabled", threads=1)

    def turn(self, seat: int) -> np.ndarray:
        """Where it is the turn of `seat`: `(n,)` bool."""
        return (self.batch.states["to_move"] == seat) & self.running

    def ask(self, seat: int, turn: np.ndarray, asked: int) -> None:
        """Writes the actions of the games in which it is the turn of `seat`."""
        started = time.perf_counter()
        batch = self.batch
        self.policies[seat].act_batch(
            batch.states, batch.params, batch.masks, self.views, self.memories[seat], turn.view(np.uint8),
            batch.actions,
        )  # fmt: skip
        self.seconds[turn, seat] += (time.perf_counter() - started) / asked
        self.decisions[turn, seat] += 1

    def step(self) -> list[Record]:
        """Moves every running game and returns the records of those that end."""
        batch = self.batch
        rows = np.flatnonzero(self.running)
        steps = batch.states["steps"][rows]
        if steps.max() >= self.log.shape[1]:
            self.log = np.concatenate([self.log, np.zeros_like(self.log)], axis=1)
        answers = batch.actions.copy()
        bad = (answers < 0) | (answers >= self.ruleset.num_actions)
        batch.actions[bad] = -1
        self.log[rows, steps] = batch.actions[rows]
        batch.run(STEP_BLIND)
        self.returns[rows] += batch.rewards[rows]
        ended = self.running & ((batch.states["terminated"] != 0) | (batch.states["truncated"] != 0))
        records = [self._record(int(i), bool(bad[i]), int(answers[i])) for i in np.flatnonzero(ended)]
        self.running &= ~ended
        if self.running.sum() * 2 < len(self.alive):
            self._shrink()
        return records

    def _record(self, i: int, bad: bool, answer: int) -> Record:
        state = self.batch.states[i]
        actions = self.log[i, : int(state["steps"])].tobytes()
        remarks = {}
        if bad:
            remarks[int(state["to_move"])] = out_of_range(self.ruleset, answer)
        return finished_record(
            self.matches[self.alive[i]], self.ruleset, state, actions, self.returns[i], self.decisions[i],
            self.seconds[i], remarks,
        )  # fmt: skip

    def _shrink(self) -> None:
        keep = np.flatnonzero(self.running)
        for name in ("alive", "returns", "decisions", "seconds", "log", "running"):
            setattr(self, name, getattr(self, name)[keep])
        self.memories = [memory[keep] for memory in self.memories]
        if len(keep):
            old, self.batch = self.batch, self._batch(len(keep))
            self.batch.states[:] = old.states[keep]
            self.batch.masks[:] = old.masks[keep]

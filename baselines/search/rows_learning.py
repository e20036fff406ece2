"""Learns an evaluation in the form of `rows` from games of a search against itself.

Games begin with some random plies. Each position of them is an example, unless the search has found a forced end in it.
The network shall predict the game's result for the player to move, or the mean of it and of what the search's score told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.search.agent import SearchAgent
from asobiba.baselines.search.alpha_beta import Searcher
from asobiba.baselines.search.rows_fitting import fit, save, told
from asobiba.baselines.search.uct import UctAgent, UctSearcher
from asobiba.core import Game, GameParameterError, Ruleset
from asobiba.core.agents import make_agent
from asobiba.core.states import is_over, legal_actions, new_state, step

_CHUNK = 20


@dataclass(frozen=True)
class Examples:
    """Positions of games: `inputs` `(n, inputs)` uint8, `results` `(n,)` float32 (1: the player to move won), `scores` `(n,)`
    float32 of the search for him, and the number of the game of each."""

    inputs: np.ndarray
    results: np.ndarray
    scores: np.ndarray
    games: np.ndarray

    @classmethod
    def joined(cls, parts: Iterable[Examples]) -> Examples:
        """All of them, one after another."""
        every = list(parts)
        return cls(*(np.concatenate([getattr(part, field.name) for part in every]) for field in fields(cls)))


@dataclass(frozen=True)
class Lesson:
    """A game's part in learning: its games, inputs and scale.

    Args:
        ruleset: what the games of a chunk are played with, by the game and the chunk's number.
        inputs: the step of each input of states, `(n, inputs)`, for the player to move.
        plies: how many random plies games begin with, in turn.
        scale: points of the teacher's score that make a win likely.
        told: the weight of what the teacher's score told; the rest is the result's.
    """

    ruleset: Callable[[Game, int], Ruleset]
    inputs: Callable[[Ruleset, np.ndarray], np.ndarray]
    plies: range
    scale: float
    told: float = 0.5


class _AlphaBeta:
    def __init__(self, ruleset: Ruleset, agent: SearchAgent):
        self._ruleset, self._searcher = ruleset, Searcher(ruleset, **agent.settings)

    def begin(self, generator: np.random.Generator, number: int) -> np.void:
        self._searcher.clear()
        return new_state(self._ruleset, number)

    def look(self, state: np.void) -> tuple[int, float | None]:
        found = self._searcher.search(state)
        return found.action, None if found.proven else found.score


class _Tree:
    def __init__(self, ruleset: Ruleset, agent: UctAgent):
        self._ruleset, self._simulations = ruleset, agent.simulations
        self._searcher = UctSearcher(ruleset, **agent.settings)

    def begin(self, generator: np.random.Generator, number: int) -> np.void:
        state = new_state(self._ruleset, int(generator.integers(1 << 62)))
        self._searcher.seed(int(generator.integers(1 << 62)))
        return state

    def look(self, state: np.void) -> tuple[int, float | None]:
        found = self._searcher.search(state, self._simulations)
        return found.action, found.value


@lru_cache(maxsize=2)  # a tree takes megabytes
def _teacher(ruleset: Ruleset, text: str) -> _AlphaBeta | _Tree:
    agent = make_agent(ruleset.game, text)
    if isinstance(agent, SearchAgent):
        return _AlphaBeta(ruleset, agent)
    if isinstance(agent, UctAgent):
        return _Tree(ruleset, agent)
    raise GameParameterError(f"the teacher is a search, alpha-beta or UCT, not {text!r}")


def play_games(game: Game, lesson: Lesson, teacher: str, numbers: range, seed: int = 0) -> Examples:
    """Games of a search against itself, of one chunk.

    Raises:
        GameParameterError: for an agent that is no search.
    """
    ruleset = lesson.ruleset(game, numbers.start // _CHUNK)
    player = _teacher(ruleset, teacher)
    found = []
    for number in numbers:
        states, scores, winner = _game(ruleset, player, lesson.plies[number % len(lesson.plies)], seed, number)
        results = np.where(winner < 0, 0.5, states["to_move"] == winner).astype(np.float32)
        given = lesson.inputs(ruleset, states).astype(np.uint8)
        found.append(Examples(given, results, scores, np.full(len(states), number)))
    return Examples.joined(found)


def _game(
    ruleset: Ruleset, player: _AlphaBeta | _Tree, random_plies: int, seed: int, number: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Positions without a forced end, the search's score of each, and the winner (-1: nobody)."""
    generator = np.random.Generator(np.random.Philox(key=[seed, number]))
    state, kept, scores = player.begin(generator, number), [], []
    while not is_over(state):
        if int(state["steps"]) < random_plies:
            action = int(generator.choice(legal_actions(ruleset, state)))
        else:
            action, score = player.look(state)
            if score is not None:
                kept.append(state)
                scores.append(score)
        state = step(ruleset, state, action)
    rewards = state["rewards"]
    winner = int(np.argmax(rewards)) if rewards.max() > 0 else -1
    return (np.array(kept, ruleset.dtype) if kept else ruleset.zeros()[:0]), np.array(scores, np.float32), winner


def train(
    game: Game,
    lesson: Lesson,
    teacher: str,
    games: int,
    folder: Path,
    *,
    epochs: int,
    seed: int = 0,
    workers: int = 1,
    command: str = "",
    played: Callable[[int], None] = lambda games: None,
) -> dict[str, Any]:
    """Plays, fits, and writes `evaluation.npz`, `learning.csv` and `run.json` into a folder; returns the last.

    The weights do not depend on `workers`, the number of processes that play.
    """
    play_games(
        game, lesson, teacher, range(1), seed
    )  # what is wrong with the teacher is said here; and all is compiled once
    begun = time.monotonic()
    parts: dict[int, Examples] = {}
    with ProcessPoolExecutor(workers) as pool:
        chunks = [range(first, min(first + _CHUNK, games)) for first in range(0, games, _CHUNK)]
        waiting = {pool.submit(play_games, game, lesson, teacher, numbers, seed): numbers for numbers in chunks}
        for done in as_completed(waiting):
            numbers = waiting[done]
            parts[numbers.start] = done.result()
            played(len(numbers))
    hours = workers * (time.monotonic() - begun) / 3600
    examples = Examples.joined(parts[numbers.start] for numbers in chunks)
    begun = time.process_time()
    chances = told(examples.scores / lesson.scale, examples.results)
    wanted = ((1 - lesson.told) * examples.results + lesson.told * chances).astype(np.float32)
    weights, lines = fit(examples.inputs, wanted, examples.results, examples.games, epochs=epochs, seed=seed)
    record = {
        "game": game.id,
        "command": command,
        "teacher": teacher,
        "games": games,
        "positions": len(examples.results),
        "epochs": epochs,
        "seed": seed,
        "loss": lines[-1],
        "core_hours": round(hours + (time.process_time() - begun) / 3600, 3),
    }
    save(folder, weights, lines, record)
    return record


def learn(
    game: Game,
    lesson: Lesson,
    teacher: str,
    games: int,
    folder: Path,
    *,
    epochs: int,
    seed: int,
    workers: int,
    options: str = "",
) -> dict[str, Any]:
    """`train` as a command: with a progress bar, and a line at the end. `options`: what else the command was given."""
    from asobiba.progress import progress_bar

    words = f"{options}--teacher {teacher} --games {games} --epochs {epochs} --seed {seed}"
    with progress_bar(counted=True) as bar:
        task = bar.add_task("games", total=games)
        record = train(
            game, lesson, teacher, games, folder, epochs=epochs, seed=seed, workers=workers,
            command=f"asobiba {game.name} learn {words}", played=lambda count: bar.advance(task, count),
        )  # fmt: skip
    print(f"{record['positions']:,} positions, loss {record['loss']['tested']:.4f} in testing; written to {folder}")
    return record

"""Learns the evaluation of `evaluation.py` from games of a search against itself.

Games begin with some random plies. Each position of them is an example, unless the search has found a forced end in it.
The network shall predict the mean of the game's result for the player to move and of what the search's score told of it.
PyTorch fits it by logistic regression; then its weights are rounded.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.gogo import learned_rules
from asobiba.baselines.gogo.evaluation import INPUTS, MOST, NARROW, SCALE, SHIFT, STEPS, UNIT, WIDTH, count_inputs
from asobiba.baselines.gogo.positions import load
from asobiba.baselines.search.agent import SearchAgent
from asobiba.baselines.search.alpha_beta import Searcher
from asobiba.core import GameParameterError, Ruleset, compiled
from asobiba.core.agents import make_agent
from asobiba.core.record import record_dtype
from asobiba.core.states import is_over, legal_actions, new_state, step

TESTED = 10
"""Every so many games one is kept for testing."""
_BATCH = 1024


@compiled()
def inputs_of(states, params, nodes, counts):
    """Writes the inputs of each state, `(n, INPUTS)`; `nodes` is one record of scratch."""
    for k in range(states.shape[0]):
        load(states[k], params[0], nodes[0])
        count_inputs(nodes[0], params[0], counts[k])


@cache
def _node(ruleset: Ruleset) -> np.ndarray:
    fields = [*learned_rules.position_fields(ruleset), ("key", np.int64), ("side", np.int8)]
    return np.zeros(1, record_dtype(fields))


def inputs(ruleset: Ruleset, states: np.ndarray) -> np.ndarray:
    """The steps of all inputs, `(n, INPUTS)` int64."""
    counts = np.zeros((len(states), INPUTS), np.int64)
    inputs_of(states, ruleset.params, _node(ruleset), counts)
    return counts


@dataclass(frozen=True)
class Examples:
    """Positions of games: `inputs` `(n, INPUTS)` uint8, `results` `(n,)` float32 (1: the player to move won), `scores` `(n,)`
    float32 of the search for him, and the number of the game of each."""

    inputs: np.ndarray
    results: np.ndarray
    scores: np.ndarray
    games: np.ndarray


def play_games(
    ruleset: Ruleset, teacher: str, games: int, seed: int = 0, played: Callable[[], None] = lambda: None
) -> Examples:
    """Games of a search against itself, after 2 to 9 random plies.

    Raises:
        GameParameterError: for an agent that is no search.
    """
    agent = make_agent(ruleset.game, teacher)
    if not isinstance(agent, SearchAgent):
        raise GameParameterError(f"the teacher is an alpha-beta search, not {teacher!r}")
    searcher = Searcher(ruleset, **agent.settings)
    found: list[Examples] = []
    for number in range(games):
        states, scores, winner = _game(ruleset, searcher, seed, number)
        if len(states):
            results = np.where(winner < 0, 0.5, states["to_move"] == winner).astype(np.float32)
            numbers = np.full(len(states), number)
            found.append(Examples(inputs(ruleset, states).astype(np.uint8), results, scores, numbers))
        played()
    columns = ([getattr(each, field.name) for each in found] for field in fields(Examples))
    return Examples(*map(np.concatenate, columns))


def _game(ruleset: Ruleset, searcher: Searcher, seed: int, number: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Positions without a forced end, the search's score of each, and the winner (-1: nobody)."""
    generator = np.random.Generator(np.random.Philox(key=[seed, number]))
    state, kept, scores = new_state(ruleset, 0), [], []  # every game begins with the same empty board
    searcher.clear()
    random_plies = 2 + number % 8
    while not is_over(state):
        if int(state["steps"]) < random_plies:
            action = int(generator.choice(legal_actions(ruleset, state)))
        else:
            found = searcher.search(state)
            action = found.action
            if not found.proven:
                kept.append(state)
                scores.append(found.score)
        state = step(ruleset, state, action)
    rewards = state["rewards"]
    winner = int(np.argmax(rewards)) if rewards.max() > 0 else -1
    return (np.array(kept, ruleset.dtype) if kept else ruleset.zeros()[:0]), np.array(scores, np.float32), winner


def _told(scores: np.ndarray, results: np.ndarray) -> np.ndarray:
    """The chance of winning that each score tells: the logistic function that fits the results best."""
    slope, scaled = 0.0, scores.astype(np.float64) / SCALE
    for _ in range(50):  # Newton's method
        chance = 1 / (1 + np.exp(-np.clip(slope * scaled, -30, 30)))
        slope += float((scaled * (results - chance)).sum() / ((scaled**2 * chance * (1 - chance)).sum() + 1e-9))
    return 1 / (1 + np.exp(-np.clip(slope * scaled, -30, 30)))


def fit(examples: Examples, epochs: int = 20, seed: int = 0, rate: float = 2e-3) -> tuple[dict[str, np.ndarray], list]:
    """Weights as whole numbers, and a line for each epoch: losses (cross entropy) in learning, where half of what is
    predicted is what the search told, and in testing, of results alone."""
    import torch

    torch.manual_seed(seed)
    rows = torch.nn.Parameter(0.1 * torch.randn(INPUTS * STEPS, WIDTH))
    first = torch.nn.Parameter(torch.zeros(WIDTH))
    hidden, last = torch.nn.Linear(WIDTH, NARROW), torch.nn.Linear(NARROW, 1)
    parameters = [rows, first, *hidden.parameters(), *last.parameters()]
    offsets = torch.arange(INPUTS) * STEPS
    most = MOST / UNIT

    def logits(given: torch.Tensor) -> torch.Tensor:
        sums = torch.nn.functional.embedding_bag(given + offsets, rows, mode="sum") + first
        return last(hidden(sums.clamp(0, most)).clamp(0, most))[:, 0]

    tested = torch.from_numpy(examples.games % TESTED == 0)
    given, results = torch.from_numpy(examples.inputs.astype(np.int64)), torch.from_numpy(examples.results)
    told = torch.from_numpy(_told(examples.scores, examples.results).astype(np.float32))
    learned, wanted = given[~tested], ((results + told) / 2)[~tested]
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    optimizer = torch.optim.Adam(parameters, lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=epochs * -(-len(learned) // _BATCH))
    lines = []
    for epoch in range(epochs):
        order, total = torch.randperm(len(learned)), 0.0
        for batch in order.split(_BATCH):
            found = loss(logits(learned[batch]), wanted[batch])
            optimizer.zero_grad()
            found.backward()
            optimizer.step()
            schedule.step()
            total += float(found.detach()) * len(batch)
        with torch.no_grad():
            test = float(loss(logits(given[tested]), results[tested]))
        lines.append({"epoch": epoch + 1, "learned": total / len(learned), "tested": test})
    return {
        "rows": _whole(rows, 1).reshape(INPUTS, STEPS, WIDTH),
        "first": _whole(first, 1),
        "hidden": _whole(hidden.weight, 1),
        "second": _whole(hidden.bias, 2),
        "last": _whole(last.weight[0], 1),
        "bias": _whole(last.bias, 2),
    }, lines


def _whole(values: Any, shifts: int) -> np.ndarray:
    whole = np.rint(values.detach().double().numpy() * (1 << (shifts * SHIFT)))
    return np.clip(whole, -(1 << 15), (1 << 15) - 1).astype(np.int16) if shifts == 1 else whole.astype(np.int32)


def train(
    ruleset: Ruleset,
    teacher: str,
    games: int,
    folder: Path,
    *,
    epochs: int = 20,
    seed: int = 0,
    command: str = "",
    played: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Plays, fits, and writes `evaluation.npz`, `learning.csv` and `run.json` into a folder; returns the last."""
    begun = time.process_time()
    examples = play_games(ruleset, teacher, games, seed, played)
    weights, lines = fit(examples, epochs, seed)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "evaluation.npz", **weights)  # type: ignore[arg-type]
    text = ["epoch,learned,tested", *(f"{x['epoch']},{x['learned']:.4f},{x['tested']:.4f}" for x in lines)]
    (folder / "learning.csv").write_text("\n".join(text) + "\n", encoding="utf-8")
    record = {
        "game": ruleset.game.id,
        "command": command,
        "teacher": teacher,
        "games": games,
        "positions": len(examples.results),
        "epochs": epochs,
        "seed": seed,
        "loss": lines[-1],
        "core_hours": round((time.process_time() - begun) / 3600, 3),
    }
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return record

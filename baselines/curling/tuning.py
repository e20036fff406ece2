"""Values fitted in self-play: the searchers' win table, and the weights that Jiritsu-kun's paper does not give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from asobiba.baselines.curling.jiritsu import Jiritsu, Weights
from asobiba.baselines.curling.matches import play_game
from asobiba.baselines.curling.self_play import SITUATIONS, table_of
from asobiba.core import Ruleset, game, make_agent
from asobiba.envs.curling.rules import ENDS
from asobiba.envs.curling.win_table import LEAD, win_table


def win_table_rounds(
    player: str, rounds: int, ends: int, seed: int, report: Callable[[], None]
) -> Iterator[dict[str, Any]]:
    """The rounds of `asobiba curling win-table`: a player against itself by the table of the round before.

    Counts are those of the round and half of what was counted before, so that the table settles. Yields for each round its
    ends, the counts, and how far the table moved at most, from three points behind to three ahead.

    Args:
        ends: of a round, a sixth of them in each of `SITUATIONS`.
    """
    generator = np.random.Generator(np.random.Philox(seed))
    counts, table = np.zeros((len(SITUATIONS), 17)), win_table(ENDS)
    pair = [make_agent(game("curling"), player) for _ in range(2)]
    rules: dict[tuple[int, int], Ruleset] = {}
    for number in range(rounds):
        fresh = np.zeros_like(counts)
        for agent in pair:
            agent.table = table  # type: ignore[attr-defined]
        for end in range(ends):
            kind = end % len(SITUATIONS)
            left = 1 if kind < 3 else int(generator.integers(2, ENDS + 1))
            lead = (kind % 3 - 1) * int(generator.integers(1, 3))
            if (left, lead) not in rules:
                rules[left, lead] = game("curling").ruleset(
                    first_end=ENDS - left, lead=lead, stop_after=1, reward="win_probability"
                )
            last = play_game(rules[left, lead], pair, seed + number * ends + end)
            fresh[kind, int(last["total"][0] - last["total"][1]) - lead + 8] += 1
            report()
        counts = 0.5 * counts + fresh
        after = table_of(counts)
        near = slice(LEAD - 3, LEAD + 4)
        moved = float(np.abs(after - table)[:, near].max())
        table = after
        yield {"ends": ends, "moved": round(moved, 4), "counts": counts.round(3).tolist()}


GRID = 2
"""The fit plays on every second point of the grid: four times as many ends in the same time."""


def fit_weights(rounds: int, ends: int, seed: int) -> Iterator[tuple[Weights, str]]:
    """Random search from the first guess: a challenger whose weights are the present ones times exp(N(0, 0.4)) replaces
    them when it scores more over `ends` ends of search of depth 1, half of them with the hammer.

    Yields the present weights and a line, a round.
    """
    ruleset = game("curling").ruleset(stop_after=1, reward="score")
    generator = np.random.Generator(np.random.Philox(seed))
    present = np.array(Weights())
    for number in range(rounds):
        challenger = present * np.exp(generator.normal(0, 0.4, len(present)))
        players = [Jiritsu(1, GRID, weights=Weights(*weights)) for weights in (challenger, present)]
        gained = []
        for end in range(ends):
            swapped = end % 2
            # The same noise twice, once from each side.
            last = play_game(ruleset, players[::-1] if swapped else players, seed * 100_000 + number * 1000 + end // 2)
            gained.append(int(last["total"][swapped] - last["total"][1 - swapped]))
        mean, error = float(np.mean(gained)), float(np.std(gained) / np.sqrt(ends))
        if mean > 0:
            present = challenger
        shown = ", ".join(f"{name} {value:.3f}" for name, value in zip(Weights._fields, present, strict=True))
        line = f"{number + 1}: {mean:+.2f} ± {1.96 * error:.2f} points an end{', kept' if mean > 0 else ''}: {shown}"
        yield Weights(*(round(float(value), 4) for value in present)), line


def compare_weights(weights: Weights, ends: int, seed: int) -> tuple[float, float]:
    """Points an end of `weights` against the first guess over `ends` fresh ends, and half the 95 % interval."""
    ruleset = game("curling").ruleset(stop_after=1, reward="score")
    players = [Jiritsu(1, GRID, weights=chosen) for chosen in (weights, Weights())]
    gained = []
    for end in range(ends):
        swapped = end % 2
        last = play_game(ruleset, players[::-1] if swapped else players, seed + end // 2)
        gained.append(int(last["total"][swapped] - last["total"][1 - swapped]))
    return float(np.mean(gained)), float(1.96 * np.std(gained) / np.sqrt(ends))

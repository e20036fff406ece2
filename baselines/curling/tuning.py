"""Parameters of Jiritsu-kun fitted in self-play: the scores of ends, and the weights that its paper does not give."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from asobiba.baselines.curling.jiritsu import Jiritsu, Weights
from asobiba.baselines.curling.matches import play_game
from asobiba.core import game, make_agent


def end_scores(player: str, ends: int, seed: int, report: Callable[[], None]) -> list[int]:
    """Counts of the scores -8 to 8, for the side that threw first, in ends of `player` against itself: 17 numbers."""
    ruleset = game("curling").ruleset(stop_after=1, reward="score")
    pair = [make_agent(ruleset.game, player), make_agent(ruleset.game, player)]
    counts = [0] * 17
    for number in range(ends):
        last = play_game(ruleset, pair, seed + number)
        counts[int(last["total"][0] - last["total"][1]) + 8] += 1
        report()
    return counts


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

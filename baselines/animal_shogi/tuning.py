"""Fits the evaluation's weights by self-play, and measures the gain.

Source of the method: Spall, "Multivariate stochastic approximation using a simultaneous perturbation gradient
approximation", IEEE Transactions on Automatic Control 37, 1992; in this form it tunes chess programs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from asobiba.baselines.animal_shogi.search_rules import TERMS, WEIGHTS
from asobiba.baselines.search.alpha_beta import Searcher
from asobiba.core import Ruleset
from asobiba.core.states import is_over, legal_actions, new_state, step

FIXED = ("catch", "try_now")
"""Terms that announce a win on the spot: a search reads them off, games do not tell their weight."""
FITTED = tuple(term for term in TERMS if term not in FIXED)
_REACH, _FOLLOW = 0.3, 0.15  # the shift of a step as a share of the weights, and how far they follow the winner of it

Progress = Callable[[int], None]


def play_game(ruleset: Ruleset, players: tuple[Searcher, Searcher], depth: int, opening: int, seed: int) -> float:
    """The first player's reward in a game that begins with `opening` random moves (drawn again where they end it)."""
    generator = random.Random(seed)
    while True:
        state = new_state(ruleset, seed)
        for _ in range(opening):
            if not is_over(state):
                state = step(ruleset, state, generator.choice(legal_actions(ruleset, state).tolist()))
        if not is_over(state):
            break
    for player in players:
        player.clear()
    while not is_over(state):
        state = step(ruleset, state, players[int(state["to_move"])].search(state, depth=depth).action)
    return float(state["rewards"][0])


def fit(
    ruleset: Ruleset, games: int, depth: int = 3, opening: int = 4, seed: int = 0, progress: Progress = lambda n: None
) -> dict[str, int]:
    """Weights fitted to self-play.

    Each step shifts all weights a little, up or down by the toss of a coin, and plays the shifted weights against those
    shifted the other way, from one random opening with both sides; the weights then follow the winner. The mean over
    the second half of the steps is returned.

    Args:
        games: total number to play.
        depth, opening: plies of the searches, and random moves at the beginning of a game.
    """
    generator = np.random.default_rng(seed)
    default = np.array([WEIGHTS[name] for name in FITTED], float)
    multiples, total, counted = np.ones(len(FITTED)), np.zeros(len(FITTED)), 0
    players = Searcher(ruleset, table_size=1 << 12), Searcher(ruleset, table_size=1 << 12)
    steps = games // 2
    for number in range(steps):
        reach = _REACH / (number + 1) ** 0.101
        toss = generator.choice([-1.0, 1.0], len(FITTED))
        for player, sign in zip(players, (1, -1), strict=True):
            player.set_weights(_whole(default * (multiples + sign * reach * toss)))
        points = play_game(ruleset, players, depth, opening, seed + number)
        points -= play_game(ruleset, players[::-1], depth, opening, seed + number)
        multiples += _FOLLOW * reach * points / 2 * toss / (1 + number / steps)
        if number >= steps // 2:
            total += multiples
            counted += 1
        progress(2)
    return _whole(default * (total / counted))


def _whole(values: np.ndarray) -> dict[str, int]:
    return {name: round(float(value)) for name, value in zip(FITTED, values, strict=True)}


@dataclass
class Gain:
    """A match of two sets of weights: games won, drawn and lost by the first."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Share of the points."""
        return (self.wins + self.draws / 2) / max(self.games, 1)

    @property
    def error(self) -> float:
        """Standard error of the score."""
        n = max(self.games, 1)
        square = (self.wins + self.draws / 4) / n - self.score**2
        return math.sqrt(max(square, 1e-9) / n)

    @staticmethod
    def elo(score: float) -> float:
        """Points of Elo's scale that a score means."""
        score = min(max(score, 1e-3), 1 - 1e-3)
        return 400 * math.log10(score / (1 - score))


def measure(
    ruleset: Ruleset,
    weights: Mapping[str, int],
    games: int,
    depth: int = 4,
    opening: int = 6,
    seed: int = 1_000_000,
    progress: Progress = lambda n: None,
) -> Gain:
    """Plays `weights` against the defaults; each opening twice, with sides changed."""
    tuned, default = Searcher(ruleset, weights=weights, table_size=1 << 14), Searcher(ruleset, table_size=1 << 14)
    gain = Gain()
    for number in range(games):
        side = number % 2
        players = (tuned, default) if side == 0 else (default, tuned)
        reward = play_game(ruleset, players, depth, opening, seed + number // 2) * (1 - 2 * side)
        gain.wins += reward > 0
        gain.losses += reward < 0
        gain.draws += reward == 0
        progress(1)
    return gain

"""Cycles: if A beats B, B beats C and C beats A, no single number ranks the agents.

alpha-Rank (Omidshafiei et al., "alpha-Rank: Multi-Agent Evaluation by Evolution", Scientific Reports 9, 2019), through
OpenSpiel: the share of time in which an evolving population plays each agent. Agents in a cycle at the top share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from asobiba.arena.ratings import agent_names, outcomes, wilson
from asobiba.arena.results import Result, Results
from asobiba.core import MissingExtra

MOST_AGENTS = 60
"""Number of agents among which cycles of three are searched."""


@dataclass(frozen=True)
class Cycles:
    """Cycles in a league.

    Args:
        agents: names, sorted.
        shares: `(n,)` alpha-Rank's mass of each agent.
        triples: every three agents of which each beats the next, significantly, with the three scores.
    """

    agents: tuple[str, ...]
    shares: np.ndarray
    triples: tuple[tuple[tuple[str, str, str], tuple[float, float, float]], ...]


def scores(results: Sequence[Result]) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Agents, the score of row against column (not-a-number where they never met), and the games: both `(n, n)`."""
    found = Results.of(results)
    names = agent_names(found)
    counts = outcomes(found, names)
    gained = counts.wins + counts.draws / 2 + counts.losses.T + counts.draws.T / 2
    games = counts.wins + counts.draws + counts.losses
    games = games + games.T
    return names, np.divide(gained, games, out=np.full_like(gained, np.nan), where=games > 0), games


def find_cycles(results: Sequence[Result], level: float = 0.95, alpha: float = 50.0) -> Cycles:
    """The cycles of a league.

    Args:
        results: of games of two or more players.
        level: at which a score must lie above one half.
        alpha: how strongly the population prefers the better of two agents; ratings of the top need a large one.

    Raises:
        MissingExtra: if OpenSpiel is not installed.
    """
    try:
        from open_spiel.python.egt import alpharank
    except ImportError:
        raise MissingExtra("open_spiel", "openspiel") from None
    names, table, games = scores(results)
    payoffs = np.where(np.isnan(table), 0.5, table) - 0.5
    np.fill_diagonal(payoffs, 0.0)
    shares = np.ones(1)
    if len(names) > 1:
        with np.errstate(over="ignore"):  # a transition that does not happen
            shares = np.asarray(alpharank.compute([payoffs], alpha=alpha)[2])
    beats = np.zeros_like(games, bool)
    for i, j in np.argwhere(games > 0):
        beats[i, j] = i != j and wilson(table[i, j] * games[i, j], int(games[i, j]), level)[0] > 0.5
    best = np.argsort(-np.nan_to_num(table, nan=0.5).mean(1))[:MOST_AGENTS]
    triples = [
        ((names[a], names[b], names[c]), (float(table[a, b]), float(table[b, c]), float(table[c, a])))
        for a, b, c in permutations(sorted(best.tolist()), 3)
        if a < b and a < c and beats[a, b] and beats[b, c] and beats[c, a]
    ]
    return Cycles(names, shares, tuple(triples))

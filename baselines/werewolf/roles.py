"""Ratings by role: an agent's contribution to its side's chances in each role, from the results of a league.

The log-odds that the werewolves' side wins are a constant, plus the strengths of its members, minus those of the others;
a strength belongs to an agent in a role (or to an agent, for the overall rating). It is a logistic regression with a
normal prior, whose curvature gives the intervals, as in `asobiba.arena.ratings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from asobiba.arena.ratings import ELO, PRIOR_ELO, wilson
from asobiba.arena.results import Result, Results
from asobiba.arena.standings import escaped
from asobiba.core import Ruleset, states
from asobiba.envs.werewolf.layout import ROLES, VILLAGES, WOLVES


@dataclass(frozen=True)
class Games:
    """Games of a league: `(n, players)` indices of agents, roles from 0 and returns."""

    agents: tuple[str, ...]
    seats: np.ndarray
    roles: np.ndarray
    returns: np.ndarray

    @property
    def wolf_side(self) -> np.ndarray:
        """Seats of the wolves' side: `(n, players)` bool."""
        return self.roles >= ROLES.index("POSSESSED")

    @property
    def wolves_won(self) -> np.ndarray:
        """Games that the wolves' side won: `(n,)` bool."""
        return ((self.returns > 0) & self.wolf_side).any(1)


@dataclass(frozen=True)
class Strength:
    """A rating in Elo points against the mean of the field, and half its interval."""

    value: float
    half: float


def games_of(ruleset: Ruleset, results: Sequence[Result], seeds: np.ndarray | None = None) -> Games:
    """The games that the rules ended, with the roles that the games' seeds, `(n,)`, dealt; by default their deals' numbers."""
    found = Results.of(results)
    seeds = (found.seed if seeds is None else seeds).tolist()
    dealt = {seed: states.new_state(ruleset, seed)["role"][: ruleset.num_players] for seed in set(seeds)}
    roles = np.array([dealt[seed] for seed in seeds], np.int64).reshape(len(found), -1) - 1
    played = (found.returns != 0).all(1)
    games = Games(found.agents, found.seats[played], roles[played], found.returns[played])
    assert not played.any() or (found.teams[played] == WOLVES).sum() == games.wolf_side.sum()
    return games


def strengths(games: Games, role: int | None = None, level: float = 0.95) -> dict[str, Strength]:
    """Each agent's strength in a role (from 0), with everybody's strength in every other role fitted beside it; or, without
    a role, the one strength that an agent has in all of them."""
    agents, kinds = len(games.agents), 1 if role is None else len(ROLES)
    column = games.seats + (0 if role is None else games.roles * agents)
    design = np.zeros((len(column), agents * kinds + 1))
    sign = np.where(games.wolf_side, 1.0, -1.0)
    for seat in range(column.shape[1]):
        np.add.at(design, (np.arange(len(column)), column[:, seat]), sign[:, seat])
    design[:, -1] = 1
    won = games.wolves_won
    precision = np.full(design.shape[1], (ELO / PRIOR_ELO) ** 2)
    x = np.zeros(design.shape[1])
    for _ in range(50):  # Newton steps: the objective is convex
        chance = 1 / (1 + np.exp(-design @ x))
        gradient = design.T @ (chance - won) + precision * x
        hessian = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(precision)
        step = np.linalg.solve(hessian, gradient)
        x = x - step
        if np.abs(step).max() < 1e-10:
            break
    first = 0 if role is None else role * agents
    mine = slice(first, first + agents)
    centre = np.eye(agents) - 1 / agents
    values = centre @ x[mine] * ELO
    spread = np.sqrt(np.diag(centre @ np.linalg.inv(hessian)[mine, mine] @ centre)) * ELO
    z = NormalDist().inv_cdf(0.5 + level / 2)
    return {name: Strength(float(v), float(z * s)) for name, v, s in zip(games.agents, values, spread, strict=True)}


def markdown(ruleset: Ruleset, games: Games, command: str) -> str:
    """The page: ratings and shares of games won, overall and by role."""
    present = [k for k, count in enumerate(VILLAGES[ruleset.num_players]) if count]
    rated = [strengths(games, role) for role in (None, *present)]
    order = sorted(games.agents, key=lambda name: -rated[0][name].value)
    head = ["agent", "all roles", *(ROLES[k].lower() for k in present)]
    ratings, shares = [], []
    won = games.returns > 0
    for name in order:
        mine = games.seats == games.agents.index(name)
        ratings.append([escaped(name), *(f"{r[name].value:+.0f} ± {r[name].half:.0f}" for r in rated)])
        row = [escaped(name)]
        for role in (None, *present):
            here = mine if role is None else mine & (games.roles == role)
            total, wins = int(here.sum()), int((won & here).sum())
            low, high = wilson(wins, total)
            row.append(f"{100 * wins / max(total, 1):.1f} ({100 * low:.1f} to {100 * high:.1f}) of {total}")
        shares.append(row)
    even = _even(games, ruleset.num_players)
    rest = "" if even else " when all of them are played; here some are still to come"
    return "\n".join(
        [
            f"# {ruleset.game.title}: the league by role",
            "",
            f"`{ruleset!r}`, {len(games.seats)} games. Written by `{command}`; do not edit. The wolves' side won "
            f"{100 * games.wolves_won.mean():.1f} % of them.",
            "",
            "Every group of agents plays each deal turned through all its seats, so that every agent plays every role "
            f"equally often{rest}. Who sits beside whom changes from deal to deal.",
            "",
            "## Ratings",
            "",
            "Elo points that an agent adds to its side in a role, against the mean of all agents in that role, with 95 % "
            "intervals: a logistic regression of the winner on who played what. A village has several villagers, and each "
            "counts for himself.",
            "",
            _table(head, ratings),
            "",
            "## Games won, in percent, with 95 % intervals",
            "",
            "Whoever sits beside and against it.",
            "",
            _table(head, shares),
            "",
        ]
    )


def _even(games: Games, players: int) -> bool:
    # Whether every agent has had every role in the proportion in which a village has it.
    village = {k: count for k, count in enumerate(VILLAGES[players]) if count}
    agents = range(len(games.agents))
    had = np.array([[((games.seats == agent) & (games.roles == k)).sum() for k in village] for agent in agents])
    return bool((had * players == had.sum(1, keepdims=True) * list(village.values())).all())


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)

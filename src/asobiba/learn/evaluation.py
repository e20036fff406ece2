"""Strength of an agent against named opponents, with intervals: many games at once on the compiled engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from asobiba.api.sb3 import torch_threads_kept
from asobiba.api.seating import Seating
from asobiba.core.game import Ruleset
from asobiba.learn.agent import PolicyAgent

_AT_ONCE = 250


@dataclass(frozen=True)
class Evaluation:
    """The result of many games against one opponent from one seat (`seat` is "all" for the sum over seats).

    `score` counts a win as 1 and a draw as 1/2; `low` and `high` bound its 95 % interval (Jeffreys). `mean_return` is
    the mean sum of rewards, `return_half_width` half the width of its 95 % interval.
    """

    opponent: str
    seat: str
    games: int
    wins: int
    draws: int
    score: float
    low: float
    high: float
    mean_return: float
    return_half_width: float

    def as_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return asdict(self)


def summarise(opponent: str, seat: str, returns: Sequence[float] | np.ndarray) -> Evaluation:
    """Makes an `Evaluation` of episode returns `(n,)`: a positive return is a win, zero a draw."""
    values = np.asarray(returns, float)
    games, wins, draws = len(values), int((values > 0).sum()), int((values == 0).sum())
    points = wins + draws / 2
    low, high = stats.beta.ppf([0.025, 0.975], points + 0.5, games - points + 0.5)
    spread = values.std(ddof=1) / math.sqrt(games) if games > 1 else math.nan
    return Evaluation(
        opponent=opponent,
        seat=seat,
        games=games,
        wins=wins,
        draws=draws,
        score=points / games,
        low=0.0 if points == 0 else float(low),
        high=1.0 if points == games else float(high),
        mean_return=float(values.mean()),
        return_half_width=float(spread * stats.t.ppf(0.975, max(games - 1, 1))),
    )


def episode_returns(
    player: PolicyAgent, ruleset: Ruleset, opponent: str, seat: int, games: int, seed: int
) -> np.ndarray:
    """The returns `(games,)` of a learned policy in one seat.

    Every environment plays the same number of episodes, so that short games are not over-represented.
    """
    envs = min(games, _AT_ONCE)
    each = math.ceil(games / envs)
    batch = Seating(ruleset, envs, opponent=opponent, seat=seat, autoreset="same_step")
    player.begin(ruleset, (seat,), (seed,))
    with torch_threads_kept():
        observations = batch.reset(seed)
    returns = np.full((each, envs), np.nan)
    running, finished = np.zeros(envs), np.zeros(envs, int)
    while finished.min() < each:
        actions = player.choose(observations, batch.learner_masks)
        with torch_threads_kept():
            observations = batch.step(actions)
        running += batch.gains
        for i in np.flatnonzero(batch.terminated | batch.truncated):
            if finished[i] < each:
                returns[finished[i], i] = running[i]
            finished[i] += 1
            running[i] = 0
    batch.close()
    return returns.reshape(-1)[:games]


def evaluate(agent: PolicyAgent, ruleset: Ruleset, opponents: Sequence[str], games: int, seed: int) -> list[Evaluation]:
    """Plays `games` games against each opponent, in equal parts from every seat.

    Returns:
        For each opponent one entry per seat and one for all seats together. Single-agent games have one entry, and
        opponents are ignored.
    """
    if ruleset.num_players == 1:
        returns = episode_returns(agent, ruleset, "random", 0, games, seed)
        return [summarise("-", "all", returns)]
    results = []
    for opponent in opponents:
        every = []
        for seat, name in enumerate(ruleset.players):
            share = math.ceil(games / ruleset.num_players)
            every.append(episode_returns(agent, ruleset, opponent, seat, share, seed))
            results.append(summarise(opponent, name, every[-1]))
        results.append(summarise(opponent, "all", np.concatenate(every)))
    return results


def best_classical(ruleset: Ruleset, games: int, seed: int) -> tuple[str, Evaluation]:
    """The agent of a game of one player with the greatest mean return over `games` games, and its returns.

    The agents are those that a league includes; those that refuse this ruleset are left out.
    """
    from asobiba.arena.league import league_agents
    from asobiba.arena.match import Match
    from asobiba.arena.playing import play_match
    from asobiba.core import AsobibaError, make_agent

    found: list[tuple[str, Evaluation]] = []
    for name in league_agents(ruleset.game):
        agent = make_agent(ruleset.game, name)
        try:
            records = [play_match(Match.of(ruleset, [name], seed + k), [agent]) for k in range(games)]
        except AsobibaError:
            continue
        finally:
            agent.close()
        found.append((name, summarise(name, "all", [record.returns[0] for record in records])))
    return max(found, key=lambda pair: pair[1].mean_return)

"""Strength of a learner against several named opponents; games and figures are those of `asobiba.arena.evaluation`."""

from __future__ import annotations

from collections.abc import Sequence

from asobiba.api.sb3 import torch_threads_kept
from asobiba.arena import evaluation
from asobiba.arena.evaluation import Evaluation
from asobiba.core.agents import Agent, make_agent
from asobiba.core.errors import AsobibaError
from asobiba.core.game import Ruleset


def evaluate(
    agent: Agent, ruleset: Ruleset, opponents: Sequence[str], games: int, seed: int, plies: int | None = None
) -> list[Evaluation]:
    """Plays `games` games against each opponent; see `asobiba.arena.evaluation.evaluate`.

    Args:
        agent: the one that is evaluated.
        ruleset: the game.
        opponents: as text; each takes all other seats. A game of one player has none, and ignores them.
        games: against each; rounded up to whole groups of a game from each seat.
        seed: of the first deal.
        plies: random plies of an opening; `None`: the ruleset's own, or else `Ruleset.usual_opening`.

    Returns:
        One entry per opponent; one entry for a game of one player.
    """
    with torch_threads_kept():
        if ruleset.num_players == 1:
            return [evaluation.evaluate(ruleset, (agent.name, agent), None, games, seed, plies)]
        results = []
        for text in opponents:
            opponent = make_agent(ruleset.game, text)
            try:
                results.append(evaluation.evaluate(ruleset, (agent.name, agent), (text, opponent), games, seed, plies))
            finally:
                opponent.close()
    return results


def best_classical(ruleset: Ruleset, games: int, seed: int) -> tuple[str, Evaluation]:
    """The classical agent with the highest mean return in `games` games of a single-player game, and its result.

    The agents are those that a league includes; those that refuse this ruleset are left out.
    """
    from asobiba.arena.league import league_agents

    found: list[tuple[str, Evaluation]] = []
    for name in league_agents(ruleset.game):
        agent = make_agent(ruleset.game, name)
        try:
            found.append((name, evaluation.evaluate(ruleset, (name, agent), None, games, seed)))
        except AsobibaError:
            continue
        finally:
            agent.close()
    return max(found, key=lambda pair: pair[1].mean_return)

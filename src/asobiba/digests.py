"""Digests of the behaviour of games and agents, to compare machines: `python -m asobiba.digests [GAME ...]`.

Every line is a game, what was played, and a digest: of the states, observations, masks and actions of random games, and
of the states and actions of a game that each compiled agent plays at all seats. Two machines, or two ways of running the
same code, must print the same lines. `docs/reproducible.md` says across what, and which ways are compared in the tests.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from asobiba.api.batch import Batch
from asobiba.core import states
from asobiba.core.agents import Agent, KernelAgent, agent_declarations, make_agent
from asobiba.core.errors import AsobibaError
from asobiba.core.game import Ruleset
from asobiba.core.registry import game as find_game
from asobiba.core.registry import game_names

GAMES, STEPS = 1000, 200


def of_random_games(ruleset: Ruleset, games: int = GAMES, steps: int = STEPS, threads: int = 1) -> str:
    """The digest of random games from the seeds 1, 2, ...: all that is seen in their first `steps` steps."""
    batch = Batch(ruleset, games, autoreset="next_step", threads=threads)
    found = hashlib.blake2b(digest_size=16)
    batch.reset(seed=1)
    for step in range(steps + 1):
        for array in (batch.states, batch.observations, batch.masks, batch.rewards):
            found.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        if step < steps:
            actions = batch.sample_actions()
            found.update(np.ascontiguousarray(actions).view(np.uint8).reshape(-1).data)
            batch.step(actions)
    return found.hexdigest()


def of_agent(ruleset: Ruleset, agents: Sequence[Agent], steps: int = STEPS) -> str:
    """The digest of the first `steps` steps of a game of these agents, one for each seat."""
    state = states.new_state(ruleset, 1)
    found = hashlib.blake2b(state.tobytes(), digest_size=16)
    for seat, agent in enumerate(agents):
        agent.begin(ruleset, [seat], [7 + seat])
    for _ in range(steps):
        if states.is_over(state):
            break
        masks = states.action_mask(ruleset, state)
        action = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
        for seat in ruleset.actors(state).tolist():
            view = states.agent_views(ruleset, np.array([state]), np.array([seat]))[0]
            chosen = agents[seat].act(view, masks[seat] if ruleset.simultaneous else masks)
            if ruleset.simultaneous:
                action[seat] = chosen
            else:
                action[...] = chosen
        state = states.step(ruleset, state, action if ruleset.actions_shape else action[()])
        found.update(action.tobytes() + state.tobytes())
    return found.hexdigest()


def compiled_agents(ruleset: Ruleset) -> Iterator[tuple[str, list[Agent]]]:
    """The names of a game's compiled agents, each with one for every seat."""
    for name in sorted(agent_declarations(ruleset.game)):
        try:
            agents = [make_agent(ruleset.game, name) for _ in ruleset.players]
            if isinstance(agents[0], KernelAgent):
                yield name, agents
        except (AsobibaError, ImportError) as error:
            print(f"{ruleset.game.name}: {name} is left out: {error}", file=sys.stderr)


def lines(
    names: Sequence[str], games: int = GAMES, steps: int = STEPS, threads: int = 1, agents: bool = True
) -> Iterator[str]:
    """The lines that the command prints."""
    for name in names:
        ruleset = find_game(name).ruleset()
        yield f"{ruleset.game.id} {games} random games: {of_random_games(ruleset, games, steps, threads)}"
        if agents:
            for agent, seats in compiled_agents(ruleset):
                yield f"{ruleset.game.id} {agent}: {of_agent(ruleset, seats, steps)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints digests."""
    parser = argparse.ArgumentParser(prog="python -m asobiba.digests", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("game", nargs="*", help="games by name; all if none is named")
    parser.add_argument("--games", type=int, default=GAMES, help="random games of each (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=STEPS, help="of each game at most (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="the result must not depend on it (default: 1)")
    parser.add_argument("--no-agents", action="store_true", help="random games only")
    given = parser.parse_args(arguments)
    for line in lines(given.game or game_names(), given.games, given.steps, given.threads, not given.no_agents):
        print(line, flush=True)


if __name__ == "__main__":
    main()

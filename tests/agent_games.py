"""Short games of every agent, on small boards: what `tests/golden/agents/<game>.yml` records.

`python tests/agent_games.py FOLDER [GAME ...]` plays the games that have a file again, writes the actions into
`FOLDER/<game>.yml` and adds what agents are new; parameters of the game and of the agents are edited there by hand, so
that a game of each is a matter of seconds without the compiler. What stands there as null stays so: its play hangs on
more than the project's own files (a table that was made on this machine).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import asobiba
from asobiba import golden
from asobiba.core import states
from asobiba.core.agents import agent_declarations, make_agent
from asobiba.core.errors import AsobibaError
from asobiba.core.game import Game, Ruleset

PLIES, GOLDEN_PLIES = 12, 12
FRESH: dict[str, Any] = {"parameters": {}, "plies": PLIES, "agents": {}}


def play(game: Game, text: str, parameters: dict[str, Any], plies: int) -> list[Any] | str:
    """The actions of an agent that plays all seats, or the name of the error with which it refuses to begin."""
    ruleset = game.ruleset(**parameters)
    state = states.new_state(ruleset, 1)
    try:
        agents = [make_agent(game, text) for _ in ruleset.players]
        for seat, agent in enumerate(agents):
            agent.begin(ruleset, [seat], [7])
    except AsobibaError as error:
        return type(error).__name__
    actions: list[Any] = []
    while len(actions) < plies and not states.is_over(state):
        masks = states.action_mask(ruleset, state)
        action = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
        for seat in ruleset.actors(state).tolist():
            view = states.agent_views(ruleset, np.array([state]), np.array([seat]))[0]
            chosen = agents[seat].act(view, masks[seat] if ruleset.simultaneous else masks)
            if ruleset.simultaneous:
                action[seat] = chosen
            else:
                action = chosen
        actions.append(_whole(action) if ruleset.discrete else np.round(np.asarray(action, float), 4).tolist())
        state = states.step(ruleset, state, action)
    for agent in agents:
        agent.close()
    return actions


def _whole(action: Any) -> Any:
    return np.asarray(action).astype(int).tolist()


def written(folder: Path, game: Game) -> dict[str, Any]:
    """The contents of a game's file; every agent is in it once, with parameters or without. No agent without a file."""
    path = folder / f"{game.name}.yml"
    if not path.exists():
        return FRESH
    found = {**FRESH, **yaml.safe_load(path.read_text(encoding="utf-8"))}
    known = {text.partition(":")[0] for text in found["agents"]}
    missing = {name: None for name in agent_declarations(game) if name not in known}
    return {**found, "agents": {**found["agents"], **missing}}


def _agents_in(folder: Path, game: Game) -> dict[str, Any]:
    path = folder / f"{game.name}.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))["agents"] if path.exists() else {}


def replay(folder: Path, game: Game, share: float = 1.0, without: Container[str] = ()) -> dict[str, list[Any] | str]:
    """The games of a file played again, or the first plies of them, without some agents: actions by agent."""
    file = written(folder, game)
    plies = max(2, round(share * file["plies"]))
    texts = [text for text in file["agents"] if text.partition(":")[0] not in without]
    return {text: play(game, text, file["parameters"], plies) for text in texts}


def golden_lines(ruleset: Ruleset, text: str) -> tuple[list[str], list[str]]:
    """The first plies of a golden playthrough, as they are written and as they are played again."""
    seed, actions = golden.read(ruleset, text)
    again = golden.playthrough(ruleset, seed, actions[:GOLDEN_PLIES]).splitlines()
    stop = next(k for k, line in enumerate(again) if line.startswith("start ")) + 1 + len(actions[:GOLDEN_PLIES])
    return text.splitlines()[:stop], again[:stop]


def main(arguments: list[str]) -> None:
    """Writes the files."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments[1:] or sorted(path.stem for path in folder.glob("*.yml")):
        game = asobiba.game(name)
        file = written(folder, game)
        kept = {text for text, actions in _agents_in(folder, game).items() if actions is None}
        file["agents"] = {text: None if text in kept else actions for text, actions in replay(folder, game).items()}
        lines = [f"{key}: {json.dumps(file[key])}" for key in ("parameters", "plies")] + ["agents:"]
        lines += [f"  {json.dumps(text)}: {json.dumps(actions)}" for text, actions in file["agents"].items()]
        (folder / f"{name}.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(folder / f"{name}.yml")


if __name__ == "__main__":
    main(sys.argv[1:])

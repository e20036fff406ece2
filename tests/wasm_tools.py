"""The native side of `tests/wasm/play.mjs`: the same games, played by the engine of this machine."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from conftest import debian_program

from asobiba.arena.match import agent_seed, digest
from asobiba.core import Ruleset, make_agent
from asobiba.core.states import action_mask, agent_views, is_over, new_state, seed_states, step

_PLAY = Path(__file__).parent / "wasm" / "play.mjs"


def in_node(package: Path, jobs: list[dict[str, Any]]) -> list[Any]:
    """The answers of `play.mjs` to these jobs."""
    done = subprocess.run(
        [debian_program("node", "nodejs"), str(_PLAY)],
        input=json.dumps({"package": str(package), "jobs": jobs}),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def hashed(i: np.ndarray, t: int, k: np.ndarray) -> np.ndarray:
    """32 bits from the game, the step and the player."""
    with np.errstate(over="ignore"):
        x = (
            ((i + 1).astype(np.uint32) * np.uint32(0x9E3779B1))
            ^ np.uint32((t + 1) * 0x85EBCA6B & 0xFFFFFFFF)
            ^ ((k + 1).astype(np.uint32) * np.uint32(0xC2B2AE35))
        )
        x = (x ^ (x >> np.uint32(15))) * np.uint32(0x2C1B3C6D)
        x = (x ^ (x >> np.uint32(12))) * np.uint32(0x297A2D39)
        return x ^ (x >> np.uint32(15))


def _chosen(ruleset: Ruleset, masks: np.ndarray, t: int, shape: tuple[int, ...]) -> np.ndarray:
    count, width = shape[0], int(np.prod(shape[1:]))
    i, k = np.meshgrid(np.arange(count), np.arange(width), indexing="ij")
    drawn = hashed(i, t, k)
    if not ruleset.discrete:
        box: Any = ruleset.action_space
        low, high = (bound.ravel().astype(float)[np.arange(width) % box.low.size] for bound in (box.low, box.high))
        return (low + (high - low) * (drawn / 2**32)).reshape(shape)
    rows = masks.reshape(count * width, -1) != 0
    legal = rows.sum(axis=1)
    rank = np.where(legal > 0, drawn.ravel() % np.maximum(legal, 1), 0)
    found = (rows & (np.cumsum(rows, axis=1) == rank[:, None] + 1)).argmax(axis=1)
    return np.where(legal > 0, found, -1).reshape(shape)


def random_games(ruleset: Ruleset, count: int, seed: int) -> dict[str, Any]:
    """`count` random games in step, and the digest of all that was seen."""
    engine, params = ruleset.engine, ruleset.params
    states = ruleset.zeros(count)
    seed_states(states, seed)
    engine.begin_all(states, params, ruleset.zeros())
    masks = np.zeros((count, *ruleset.mask_shape), np.int8)
    actions = np.zeros((count, *ruleset.actions_shape), ruleset.action_dtype)
    seen = np.zeros((count, ruleset.observation_size), ruleset.observation_space.dtype)
    found = hashlib.sha256()
    steps = 0
    while not np.all((states["terminated"] | states["truncated"]) != 0):
        engine.write_masks(states, params, masks)
        actions[:] = _chosen(ruleset, masks, steps, actions.shape)
        players = (np.arange(count) + steps) % ruleset.num_players
        engine.observe_all(states, params, players, seen)
        for part in (states, masks, actions, seen):
            found.update(part.tobytes())
        engine.advance_all(states, params, actions, masks)
        steps += 1
    found.update(states.tobytes())
    first = digest(states[0])
    engine.hide_all(states, params, (np.arange(count) + steps - 1) % ruleset.num_players)
    found.update(states.tobytes())
    return {"digest": found.hexdigest(), "first": first, "steps": steps, "valid": True}


def agent_games(ruleset: Ruleset, agent: str, games: int, seed: int) -> list[str]:
    """Games of an agent and `random` at the seats in turn: how long, the final state's digest, and that of the moves."""
    found = []
    for g in range(games):
        seats = [make_agent(ruleset.game, "random" if (k + g) % 2 else agent) for k in range(ruleset.num_players)]
        for k, one in enumerate(seats):
            one.begin(ruleset, [k], [agent_seed(seed + g, k)])
        state, moves = new_state(ruleset, seed + g), hashlib.sha256()
        while not is_over(state):
            action = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
            mask = action_mask(ruleset, state)
            for seat in ruleset.actors(state).tolist():
                view = agent_views(ruleset, np.array([state]), np.array([seat]))[0]
                row = mask[seat] if ruleset.simultaneous else mask
                action[seat if ruleset.simultaneous else ...] = seats[seat].act(view, row)
            moves.update(json.dumps(action.ravel().tolist(), separators=(",", ":")).encode())
            state = step(ruleset, state, action if action.shape else int(action), strict=False)
        text = f"{int(state['steps'])} {digest(state)}"
        found.append(f"{text} {moves.hexdigest()[:16]}" if ruleset.discrete else text)
    return found

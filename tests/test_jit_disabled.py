"""`NUMBA_DISABLE_JIT=1`: every game and every agent plays without the compiler what it plays with it.

The golden playthroughs hold the games to their compiled bytes. Of the games with a file in `tests/golden/agents` every
agent plays the beginning of a short game of legal actions, the recorded ones where the file has them; slow tests play
the whole of it. Without the compiler NumPy checks every index, so records with changed bytes are tried here too.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import agent_games
import numpy as np
import pytest

import asobiba
from asobiba import game_names

GOLDEN = Path(__file__).parent / "golden"
AGENTS = GOLDEN / "agents"
RECORDS = 150
SHARE = 0.25
"""The share of the recorded games that all test runs play."""
LONG = {"localise"}
"""Agents that think for ten seconds before the first move; the slow tests play them."""
PLAIN = """
import json, sys, traceback
import numpy as np
np.seterr(over="ignore")  # the generator's products wrap
import agent_games, test_jit_disabled
import asobiba
for name in asobiba.game_names():
    try:
        found = test_jit_disabled.without_compiler(asobiba.game(name), float(sys.argv[1]))
    except Exception:
        found = {"failed": traceback.format_exc()}
    print(json.dumps({"game": name, **found}), flush=True)
"""


def without_compiler(game, share):
    """The findings of a process without the compiler, which plays so much of the recorded games."""
    text = (GOLDEN / f"{game.name}.txt").read_text(encoding="utf-8")  # conformance wants one of every game
    recorded, played = agent_games.golden_lines(game.ruleset(), text)
    return {
        "recorded": recorded,
        "played": played,
        "agents": agent_games.replay(AGENTS, game, share, () if share == 1 else LONG),
        "records": try_records(game.ruleset(**agent_games.written(AGENTS, game)["parameters"])),
    }


def try_records(ruleset):
    """Changes bytes of states of random play and looks at those that are still valid with every kernel of the rules.

    Returns how many were tried and how many of them were valid; an index out of range raises.
    """
    rules = ruleset.game.rules
    if not hasattr(rules, "valid"):
        return None
    generator, p = np.random.default_rng(1), ruleset.params[0]
    first = ruleset.dtype.fields[ruleset.layout.state[0][0]][1]
    states = [asobiba.core.states.new_state(ruleset, 1)]
    while len(states) < 60 and not asobiba.core.states.is_over(states[-1]):
        states.append(asobiba.core.states.step(ruleset, states[-1], any_action(ruleset, states[-1], generator)))
    for state in states[::6]:
        assert rules.valid(state, p), f"a state of random play is not valid: {state}"
    valid = 0
    for _ in range(RECORDS):
        record = ruleset.zeros()
        record[0] = states[generator.integers(len(states))]
        raw = record.view(np.uint8)
        for at in generator.integers(first, len(raw), generator.integers(1, 3)):
            raw[at] = generator.choice([0, 1, 2, 127, 128, 255, generator.integers(256)])
        if rules.valid(record[0], p):
            valid += 1
            with contextlib.suppress(OverflowError, ValueError):  # no whole number of a NaN: no matter of memory
                use(ruleset, record[0], p, generator)
    return [RECORDS, valid]


def any_action(ruleset, state, generator):
    """Legal actions of those who act, in the form that a step takes."""
    masks = asobiba.core.states.action_mask(ruleset, state)
    action = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
    for seat in ruleset.actors(state).tolist():
        if ruleset.discrete:
            chosen = int(generator.choice(np.flatnonzero(masks[seat] if ruleset.simultaneous else masks)))
        else:
            box = ruleset.action_space
            chosen = generator.uniform(box.low, box.high).astype(box.dtype)
        if not ruleset.simultaneous:
            return chosen
        action[seat] = chosen
    return action


def use(ruleset, state, p, generator):
    """Every kernel of the rules on a valid state."""
    rules, out = ruleset.game.rules, np.zeros(ruleset.observation_size, ruleset.observation_space.dtype)
    over = bool(state["terminated"] or state["truncated"])
    for seat in range(ruleset.num_players):
        rules.observe(state, p, seat, out)
        if ruleset.hidden:
            view = state.copy()
            rules.hide(view, p, seat)
            rules.resample(view, p, seat)
    if not over and ruleset.discrete and not ruleset.simultaneous:
        mask = np.zeros(ruleset.num_actions, np.int8)
        rules.legal(state, p, mask)
        assert mask.any(), f"a valid state has no legal action: {state}"
        rules.step(state, p, int(generator.choice(np.flatnonzero(mask))))


def play_without(share, folder):
    """The findings of one process without the compiler, by game."""
    path = os.pathsep.join([str(Path(__file__).parent), *(p for p in sys.path if p)])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    environment["ASOBIBA_CACHE_DIR"] = str(folder)
    command = [sys.executable, "-W", "ignore", "-c", PLAIN, str(share)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return {each["game"]: each for each in map(json.loads, done.stdout.splitlines())}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return play_without(SHARE, tmp_path_factory.mktemp("generated"))


@pytest.mark.parametrize("name", game_names())
def test_games_and_agents_without_the_compiler(name, found):
    assert "failed" not in found[name], found[name]["failed"]
    assert found[name]["played"] == found[name]["recorded"]
    compare_agents(name, found[name]["agents"], without=LONG)


@pytest.mark.slow
def test_whole_games_of_all_agents_without_the_compiler(tmp_path):
    found = play_without(1, tmp_path)
    for name in game_names():
        assert "failed" not in found[name], found[name]["failed"]
        compare_agents(name, found[name]["agents"], whole=True)


def compare_agents(name, played, without=(), whole=False):
    """Holds the games of agents, or their beginnings, to the recorded ones."""
    recorded = agent_games.written(AGENTS, asobiba.game(name))["agents"]
    assert set(played) == {text for text in recorded if text.partition(":")[0] not in without}
    for text, actions in played.items():
        assert len(actions) > 0, text
        if recorded[text] is None:
            continue  # not recorded: `states.step` has refused what is illegal
        assert actions == (recorded[text] if whole or isinstance(actions, str) else recorded[text][: len(actions)]), (
            text
        )


@pytest.mark.parametrize("name", game_names())
def test_records_with_changed_bytes_without_the_compiler(name, found):
    assert "failed" not in found[name], found[name]["failed"]
    if found[name]["records"] is not None:
        tried, valid = found[name]["records"]
        assert 0 < valid < tried

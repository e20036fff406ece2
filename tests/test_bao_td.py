"""The policy of Bao that learned from its own games: inputs and choices beside plain recounts, and learning."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from test_bao_evaluation import BAO, positions
from typer.testing import CliRunner

from asobiba.arena.evaluation import evaluate
from asobiba.baselines.bao import commands, values
from asobiba.baselines.bao.values import ALL, CAPTURES, FILE, HOLES, INPUTS, MOVES, SEEDS
from asobiba.baselines.bao.values import MOST as MOST_TAKEN
from asobiba.baselines.search.afterstate_loops import SCALE, WON
from asobiba.baselines.search.afterstates import AfterstateAgent, new_nodes
from asobiba.baselines.search.rows import MOST, UNIT
from asobiba.core import GameParameterError, compiled, make_agent
from asobiba.core.states import is_over, legal_actions, step
from asobiba.envs.bao import GAME


@compiled()
def count_states(states, params, nodes, counts):
    for k in range(states.shape[0]):
        values.load(states[k], params[0], nodes[0])
        values.count(nodes[0], params[0])
        for i in range(counts.shape[1]):
            counts[k, i] = nodes[0].counts[i]


def inputs(states):
    counts = np.zeros((len(states), INPUTS), np.int64)
    count_states(states, BAO.params, new_nodes(values, BAO), counts)
    return counts


@cache
def shipped():
    with np.load(FILE) as saved:
        return {name: saved[name].astype(np.int64) for name in saved.files}


def score_of(steps):
    """The network in plain NumPy, from the description of its form."""
    net = shipped()
    sums = net["first"] + net["rows"][np.arange(INPUTS), steps].sum(0)
    narrow = (net["second"] + net["hidden"] @ np.clip(sums, 0, MOST)) // UNIT
    return (int(net["bias"][0]) + int(net["last"] @ np.clip(narrow, 0, MOST))) * SCALE // UNIT**2


def captures(state):
    """Captured seeds by hole, for every legal move, from the rules."""
    me = int(state["to_move"])
    return {
        hole: int(step(BAO, state, hole)["stores"][me]) - int(state["stores"][me])
        for hole in legal_actions(BAO, state).tolist()
    }


def test_captures_are_what_the_rules_say():
    """Of moves after which the game goes on: at its end the rows are shared out, too."""
    compared = 0
    for state, found in zip(positions(), inputs(np.array(positions())), strict=True):
        me = int(state["to_move"])
        taken = captures(state)
        going = {hole for hole in taken if not is_over(step(BAO, state, hole))}
        told = found[CAPTURES : CAPTURES + HOLES]
        assert {hole for hole in range(HOLES) if told[hole] > 0} == set(taken)
        assert all(told[hole] == min(taken[hole] + 1, 15) for hole in going)
        assert found[MOVES] == len(taken)
        if going == set(taken):
            assert found[MOST_TAKEN] == min(max(taken.values()) + 1, 15)
            assert found[ALL] == min(sum(taken.values()) // 2, 15)
            compared += max(taken.values()) > 0
        lead = int(state["stores"][me]) - int(state["stores"][1 - me])
        assert found[SEEDS] == min(max(lead + 8, 0), 15)
    assert compared > 20


def test_it_plays_what_the_rules_and_a_plain_network_say():
    agent = make_agent(GAME, "td")
    assert isinstance(agent, AfterstateAgent)
    agent.begin(BAO, [0], [0])
    some = positions()[:: max(1, len(positions()) // 60)]
    chosen = agent.act_batch(np.array(some), np.zeros((len(some), 0), np.int8))
    for state, action in zip(some, chosen.tolist(), strict=True):
        me, worths = int(state["to_move"]), {}
        for move in legal_actions(BAO, state).tolist():
            after = step(BAO, state, move)
            result = int(np.sign(after["rewards"][me])) * int(WON)
            worths[move] = result if is_over(after) else -score_of(inputs(np.array([after]))[0])
        assert worths[action] == max(worths.values())
        assert agent.act(state, np.zeros(0, np.int8)) == action


def test_the_command_learns_what_an_agent_can_play(tmp_path):
    words = [
        "learn-td",
        "--rounds",
        "4",
        "--games",
        "500",
        "--workers",
        "1",
        "--evaluated",
        "10",
        "--output",
        str(tmp_path),
    ]
    done = CliRunner().invoke(commands.app, words, catch_exceptions=False)
    assert "against uct_on_random_boards" in done.output
    agent = make_agent(GAME, f"td:path={tmp_path}")
    found = evaluate(BAO, ("td", agent), ("random", make_agent(GAME, "random")), 200, plies=4)
    assert found.low > 0.7


@pytest.mark.parametrize("parameters", [{}, {"start": "random"}])
def test_the_shipped_policy_beats_the_search_of_one_reply(parameters):
    ruleset = GAME.ruleset(**parameters)
    found = evaluate(ruleset, ("td", make_agent(GAME, "td")), ("cautious", make_agent(GAME, "cautious")), 200)
    assert found.distinct >= 180
    assert found.low > 0.6


def test_other_boards_are_refused():
    with pytest.raises(GameParameterError, match="td plays on the board of 8x2"):
        make_agent(GAME, "td").prepare(GAME.ruleset(holes=6))


def test_a_path_without_values_is_named(tmp_path):
    with pytest.raises(GameParameterError, match=r"evaluation.npz holds no values.*learn-td"):
        make_agent(GAME, f"td:path={tmp_path}")
    (tmp_path / "evaluation.npz").write_bytes((FILE.parents[3] / "tactics/policies/td/evaluation.npz").read_bytes())
    with pytest.raises(GameParameterError, match="holds no values of 44 inputs"):
        make_agent(GAME, f"td:path={tmp_path}")

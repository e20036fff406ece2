"""Agents of turn-based tactics in words, where others have chosen the beginning of an order."""

from __future__ import annotations

import pytest

from asobiba.arena.evaluation import evaluate
from asobiba.core import make_agent, states
from asobiba.envs.tactics import GAME, STEPS, orders

FLAT = GAME.ruleset()


def hurts(state, action):
    """Whether a flat action takes hit points from the other side."""
    side = 1 - int(state["to_move"])
    return states.step(FLAT, state, int(action))["hp"][side].sum() < state["hp"][side].sum()


@pytest.mark.parametrize("name", ["attack_first", "max_act_eval"])
@pytest.mark.parametrize("plies", [1, 5, 12])
def test_agents_in_words_go_on_from_what_somebody_else_has_chosen(name, plies):
    ruleset, spoken = STEPS.ruleset(opening_plies=plies), 0
    agent = make_agent(STEPS, name)
    for seed in range(40):
        state = states.new_state(ruleset, seed)
        if state["phase"] == 0:
            continue
        seat, phase, unit, goal = (int(state[key]) for key in ("to_move", "phase", "unit", "goal"))
        before = orders.other_state(ruleset, state)
        hits = []
        for action in states.legal_actions(FLAT, before)[:-2]:
            order = orders.order_of(FLAT, before, action)
            if (
                order.target >= 0
                and order.unit == unit
                and (phase == 1 or order.goal == goal)
                and hurts(before, action)
            ):
                hits.append(order.target)
        agent.begin(ruleset, [seat], [seed])
        word = -1
        while state["phase"] != 0:
            mask = states.action_mask(ruleset, state)
            word = agent.act(states.view_of(ruleset, state, seat), mask)
            assert mask[word]
            state = states.step(ruleset, state, word)
            spoken += 1
        if name == "attack_first" and hits:
            assert word in hits
    assert spoken > 10


@pytest.mark.parametrize("name", ["attack_first", "max_act_eval", "uct_learned:simulations=2", "ppo"])
def test_no_game_in_words_ends_by_an_illegal_word_after_an_opening(name):
    ruleset = STEPS.ruleset().opened()
    result = evaluate(
        ruleset, (name, make_agent(STEPS, name)), ("max_act_eval", make_agent(STEPS, "max_act_eval")), games=20
    )
    assert (result.forfeits, result.opponent_forfeits) == (0, 0)

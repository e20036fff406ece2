"""Tactics' learned evaluation: its inputs beside a plain recount, learning, and the agent that uses it."""

from __future__ import annotations

from functools import cache

import numpy as np

from asobiba.arena.evaluation import evaluate
from asobiba.baselines.search.rows_learning import play_games
from asobiba.baselines.tactics.evaluation import (
    COVER,
    DANGEROUS,
    HIT_POINTS,
    IN_DANGER,
    INPUTS,
    LEAD,
    READY,
    RED,
    SIDE,
    STEP_OF,
    TURNS_LEFT,
    UNITS,
)
from asobiba.baselines.tactics.learning import LESSON, inputs
from asobiba.core import make_agent
from asobiba.core.states import is_over, legal_actions, new_state, step
from asobiba.envs.tactics import GAME
from asobiba.envs.tactics.layout import maps_of
from asobiba.envs.tactics.units import KINDS

TACTICS = GAME.ruleset()


@cache
def positions():
    """Positions of random games from all their stages, on several maps."""
    found, generator = [], np.random.default_rng(0)
    for seed in range(12):
        state = new_state(TACTICS, seed)
        while not is_over(state):
            found.append(state)
            state = step(TACTICS, state, int(generator.choice(legal_actions(TACTICS, state))))
    return found[::5]


def damages(state):
    """The most that each unit takes from each enemy, found by playing every legal attack: (unit, target) -> hit points."""
    side = int(state["to_move"])
    found: dict[tuple[int, int], int] = {}
    for action in legal_actions(TACTICS, state).tolist():
        after = step(TACTICS, state, action)
        lost = state["hp"][1 - side].astype(int) - after["hp"][1 - side].astype(int)
        if lost.any():
            unit = action // ((TACTICS.num_actions - 1) // state["hp"].shape[1])
            target = int(np.argmax(lost))
            found[unit, target] = max(found.get((unit, target), 0), int(lost[target]))
    return found


def test_inputs_are_what_a_recount_of_the_board_gives():
    for state, found in zip(positions(), inputs(TACTICS, np.array(positions())), strict=True):
        side = int(state["to_move"])
        for k, owner in enumerate((side, 1 - side)):
            alive = state["hp"][owner] > 0
            for kind in range(KINDS):
                units = alive & (state["kind"][owner] == kind)
                hp = int(state["hp"][owner][units].sum())
                assert found[SIDE * k + HIT_POINTS + kind] == STEP_OF[hp]
                assert found[SIDE * k + UNITS + kind] == STEP_OF[units.sum()]
                if k == 0:
                    assert found[READY + kind] == STEP_OF[int(state["hp"][owner][units & (state["moved"] == 0)].sum())]
                assert (found[SIDE * k + COVER + kind] > 0) <= units.any()
        lead = int(state["hp"][side].sum()) - int(state["hp"][1 - side].sum())
        assert found[LEAD] == min(max(lead // 3 + 8, 0), 15)
        assert found[RED] == (side == 0)
        limit = maps_of(TACTICS)[int(state["board"])].turn_limit
        assert found[TURNS_LEFT] == min(limit - int(state["turns"]), 15)


def test_ready_damage_is_what_the_legal_attacks_do():
    """The most that each type could still take in this turn, from the attacks that the rules list, played one by one."""
    compared = 0
    for state, found in zip(positions(), inputs(TACTICS, np.array(positions())), strict=True):
        side = int(state["to_move"])
        best = np.zeros(KINDS, int)
        for unit in range(state["hp"].shape[1]):
            done = [taken for (who, _), taken in damages(state).items() if who == unit]
            best[int(state["kind"][side, unit])] += max(done, default=0)
        assert (found[READY + KINDS : READY + 2 * KINDS] == STEP_OF[best]).all()
        compared += best.any()
    assert compared > 20


def test_both_sides_are_counted_alike():
    """At a turn's end the other side's inputs become the own ones."""
    compared = 0
    for state in positions():
        after = step(TACTICS, state, TACTICS.num_actions - 1)
        if is_over(after) or after["to_move"] == state["to_move"]:
            continue
        before, then = inputs(TACTICS, np.array([state, after]))
        assert (before[:SIDE] == then[SIDE : 2 * SIDE]).all()
        assert (before[SIDE : 2 * SIDE] == then[:SIDE]).all()
        compared += before[IN_DANGER : IN_DANGER + KINDS].any() or before[DANGEROUS : DANGEROUS + KINDS].any()
    assert compared > 10


def test_it_learns_on_the_shipped_maps_and_on_drawn_ones():
    maps = [[m.name for m in maps_of(LESSON.ruleset(GAME, chunk))] for chunk in (0, 1, 2, 3)]
    assert maps[0] == maps[2]
    assert not set(maps[1]) & (set(maps[0]) | set(maps[3]))
    shown = GAME.ruleset(map="generated")
    assert not {m.terrain for m in maps_of(shown)} & {m.terrain for m in maps_of(LESSON.ruleset(GAME, 1))}
    numbers = range(20, 23)
    one, same = (play_games(GAME, LESSON, "uct_plus:simulations=10", numbers, seed=3) for _ in range(2))
    assert (one.inputs == same.inputs).all()
    assert (one.results == same.results).all()
    assert (one.scores == same.scores).all()
    assert one.inputs.shape[1] == INPUTS
    assert set(one.games) == set(numbers)


def test_the_learned_evaluation_beats_playouts_with_a_small_budget():
    learned, playouts = (
        (name, make_agent(GAME, name)) for name in ("uct_learned:simulations=60", "uct_plus:simulations=60")
    )
    found = evaluate(TACTICS, learned, playouts, games=40, plies=4)
    assert found.distinct >= 30
    assert found.score >= 0.5

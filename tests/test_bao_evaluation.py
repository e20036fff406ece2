"""Bao's learned evaluation: its inputs beside a plain recount, what it refuses, and the agent that uses it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from asobiba.arena.evaluation import evaluate
from asobiba.baselines.bao import search_learned
from asobiba.baselines.bao.afterstates import EXTRA, Afterstates
from asobiba.baselines.bao.evaluation import FILE, HOLES, INPUTS, LEAD, SCALE
from asobiba.baselines.bao.learning import LESSON, inputs
from asobiba.baselines.bao.search_endgame import with_database
from asobiba.baselines.search.alpha_beta import Searcher
from asobiba.baselines.search.rows import MOST, UNIT
from asobiba.baselines.search.rows_learning import play_games
from asobiba.core import GameParameterError, make_agent
from asobiba.core.states import action_mask, is_over, legal_actions, new_state, observation, step
from asobiba.envs.bao import GAME
from asobiba.learn.agent import PolicyAgent
from asobiba.learn.config import load_config
from asobiba.learn.policy_file import save_policy
from asobiba.learn.training import new_model

BAO = GAME.ruleset()


@cache
def positions():
    """Positions of random games from all their stages."""
    found, generator = [], np.random.default_rng(0)
    for seed in range(12):
        state = new_state(BAO, seed)
        while not is_over(state):
            found.append(state)
            state = step(BAO, state, int(generator.choice(legal_actions(BAO, state))))
    return found[::3]


def test_inputs_are_what_a_recount_of_the_board_gives():
    for state, found in zip(positions(), inputs(BAO, np.array(positions())), strict=True):
        me = int(state["to_move"])
        board = np.ascontiguousarray(state["board"]).view(np.uint8).reshape(2, HOLES)
        rows = board[me], board[1 - me]
        lead = int(state["stores"][me]) - int(state["stores"][1 - me])
        wanted = [
            *(min(int(seeds), 15) for row in rows for seeds in row),
            min(max(lead // 2 + 8, 0), 15),
            *(min(int(row.sum()) // 2, 15) for row in rows),
            *(int((row > 0).sum()) for row in rows),
        ]
        assert found.tolist() == wanted
    assert len({int(found[LEAD]) for found in inputs(BAO, np.array(positions()))}) > 3


def test_whole_numbers_give_what_the_network_gives():
    searcher, weights = Searcher(with_database(BAO, 4), depth=1, search_module=search_learned), dict(np.load(FILE))
    states = np.array(positions())
    sums = weights["rows"][np.arange(INPUTS), inputs(BAO, states)].sum(1) / UNIT + weights["first"] / UNIT
    units = np.clip(sums, 0, MOST / UNIT) @ weights["hidden"].T / UNIT + weights["second"] / UNIT**2
    wanted = SCALE * (np.clip(units, 0, MOST / UNIT) @ weights["last"] / UNIT + weights["bias"][0] / UNIT**2)
    found = np.array([searcher.evaluate(state) for state in states])
    # Each unit of the second layer is rounded down to 1 / UNIT.
    assert np.abs(found - wanted).max() <= SCALE * np.abs(weights["last"]).sum() / UNIT**2 + 1
    assert len(set(found.tolist())) > len(found) // 2


def test_it_learns_from_the_usual_board_and_from_random_ones():
    usual, drawn = (LESSON.ruleset(GAME, chunk) for chunk in (0, 1))
    assert (usual.parameters["start"], drawn.parameters["start"]) == (BAO.parameters["start"], "random")
    one, same = (play_games(GAME, LESSON, "alpha_beta:depth=2", range(20, 30), seed=3) for _ in range(2))
    assert (one.inputs == same.inputs).all()
    assert (one.results == same.results).all()
    assert one.inputs.shape[1] == INPUTS


@pytest.mark.parametrize("text", ["alpha_beta_learned", "alpha_beta_learned:endgame=0"])
def test_other_boards_are_refused(text):
    small = GAME.ruleset(holes=6)
    with pytest.raises(GameParameterError, match="plays on the board of 8x2"):
        make_agent(GAME, text).begin(small, [0], [0])
    with pytest.raises(GameParameterError, match="plays on the board of 8x2"):
        make_agent(GAME, text).thinking(small)


@pytest.mark.parametrize("endgame", [0, 10])
def test_the_learned_evaluation_beats_the_other_at_equal_depth(endgame):
    settings = f"depth=4,endgame={endgame}"
    names = f"alpha_beta_learned:{settings}", f"alpha_beta:{settings}"
    learned, counted = ((name, make_agent(GAME, name)) for name in names)
    found = evaluate(BAO, learned, counted, games=100, plies=4)
    assert found.distinct >= 90
    assert found.score >= 0.55


def test_the_network_with_a_search_and_the_database_plays_side_by_side_what_it_plays_alone():
    agent, alone = (make_agent(GAME, "gumbel_az:simulations=16,endgame=10") for _ in range(2))
    views = np.array(positions())
    seeds = np.ascontiguousarray(views["board"]).view(np.uint8).sum(1)
    assert 5 < (seeds <= 10).sum() < len(views) - 5
    masks, rows = np.array([action_mask(BAO, view) for view in views]), np.arange(len(views))
    agent.begin_rows(BAO, len(views), 0)
    together = agent.act_rows(views, masks, views["to_move"], rows)[0]
    alone.reset(BAO, 0, 0)
    assert together.tolist() == [alone.act(view, mask) for view, mask in zip(views, masks, strict=True)]
    assert make_agent(GAME, "gumbel_az").thinking(BAO) is None
    assert make_agent(GAME, "gumbel_az:endgame=0").thinking(BAO) is not None


def test_the_network_with_a_search_knows_three_boards():
    for holes in (4, 6, 8):
        ruleset = GAME.ruleset(holes=holes)
        learned, chance = (("it", make_agent(GAME, name)) for name in ("gumbel_az:simulations=8", "random"))
        assert evaluate(ruleset, learned, chance, games=40, plies=2).score > 0.75
    with pytest.raises(GameParameterError, match="the network reads 20 numbers"):
        make_agent(GAME, "gumbel_az").prepare(GAME.ruleset(holes=10))


@pytest.mark.parametrize(
    ("holes", "start"), [(4, "random"), (8, "alternate"), (8, "random"), (12, "random"), (16, "random")]
)
def test_afterstates_are_the_boards_that_the_rules_give(holes, start):
    ruleset = GAME.ruleset(holes=holes, start=start)
    boards, generator, compared = Afterstates(ruleset, 1), np.random.default_rng(3), 0
    for seed in range(6):
        state = new_state(ruleset, seed)
        while not is_over(state):
            seat, mask = int(state["to_move"]), action_mask(ruleset, state)
            seen = observation(ruleset, state, seat)
            told = boards.look(seen[None])[0, len(seen) :].reshape(holes, 2 * holes + EXTRA)
            assert np.array_equal(told[:, -1], mask)
            assert not told[mask == 0].any()
            for action in np.flatnonzero(mask):
                after = step(ruleset, state, int(action))
                now = observation(ruleset, after, seat)
                if not is_over(after):  # then the rest of the seeds is counted
                    assert np.array_equal(now[: 2 * holes], told[action, : 2 * holes])
                    assert now[2 * holes] == seen[2 * holes] + told[action, -2]
                    compared += 1
            state = step(ruleset, state, int(generator.choice(np.flatnonzero(mask))))
    assert compared > 50


def test_a_policy_that_sees_afterstates_plays_side_by_side_what_it_plays_alone(tmp_path):
    """In compiled code as by PyTorch: nothing is kept between decisions."""
    config = load_config(
        GAME, policy="asobiba.baselines.bao.network:AfterstatesPolicy", policy_kwargs={"width": 8}, num_envs=4,
        memory="asobiba.baselines.bao.afterstates:Afterstates", opponents=["self"], train_on={}, threads=1,
    )  # fmt: skip
    policy = new_model(BAO.opened(), config).policy
    save_policy(policy, tmp_path / "policy.safetensors")
    saved, own = make_agent(GAME, f"sb3:{tmp_path / 'policy.safetensors'}"), PolicyAgent(policy, "own")
    views = np.array(positions())
    masks = np.stack([action_mask(BAO, view) for view in views])
    answers = []
    for agent in (saved, own):
        agent.begin(BAO, [0], [0])
        assert not agent.remembers
        together = agent.act_batch(views, masks)
        assert together.tolist() == [int(agent.act(view, mask)) for view, mask in zip(views, masks, strict=True)]
        answers.append(together)
    assert np.array_equal(*answers)
    thinking, action = own.thinking(BAO), np.zeros(1, np.int64)  # without PyTorch
    for k in range(0, len(views), 7):
        thinking.function(views[k : k + 1], BAO.params, masks[k : k + 1], *thinking.arrays.values(), action)
        assert action[0] == answers[0][k]
    assert evaluate(BAO, ("saved", saved), ("own", own), games=8).forfeits == 0

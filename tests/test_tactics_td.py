"""The policy of tactics that learned from its own games: inputs, choices and returns beside plain recounts."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from test_tactics_evaluation import TACTICS, damages, positions
from typer.testing import CliRunner

from asobiba.arena.evaluation import evaluate
from asobiba.baselines.search import temporal_difference as td
from asobiba.baselines.search.afterstate_loops import SCALE, WON
from asobiba.baselines.search.afterstates import AfterstateAgent
from asobiba.baselines.search.rows import MOST, UNIT
from asobiba.baselines.tactics import commands
from asobiba.baselines.tactics.evaluation import STEP_OF
from asobiba.baselines.tactics.learning import COURSE
from asobiba.baselines.tactics.values import FILE, IN_PERIL, INPUTS, POINTS, PREY, count_all
from asobiba.core import GameParameterError, compiled, make_agent
from asobiba.core.states import is_over, legal_actions, step
from asobiba.envs.tactics import GAME
from asobiba.envs.tactics.orders import end_of_turn, order_of
from asobiba.envs.tactics.units import KINDS


@compiled()
def count_states(states, params, counts, threat):
    for k in range(states.shape[0]):
        count_all(states[k], params[0], np.int64(states[k].to_move), counts[k], threat)


def inputs(states):
    counts = np.zeros((len(states), INPUTS), np.int64)
    count_states(states, TACTICS.params, counts, np.zeros((3, states["hp"].shape[-1]), np.int64))
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


def test_prey_is_what_the_legal_attacks_together_could_kill():
    seen = 0
    for state, found in zip(positions(), inputs(np.array(positions())), strict=True):
        side = int(state["to_move"])
        could = np.zeros(state["hp"].shape[1], int)
        for (_, target), taken in damages(state).items():
            could[target] += taken
        hp = state["hp"][1 - side].astype(int)
        killed = (hp > 0) & (could >= hp)
        wanted = [hp[killed & (state["kind"][1 - side] == kind)].sum() for kind in range(KINDS)]
        assert (found[PREY : PREY + KINDS] == STEP_OF[np.array(wanted)]).all()
        seen += killed.any()
        lead = int(state["hp"][side].sum()) - int(hp.sum())
        assert found[POINTS] == min(max(lead + 8, 0), 15)
    assert seen > 5


def test_peril_is_the_other_sides_prey_where_all_may_move():
    """At a turn's end the own units in peril are those of the other side, and what it can kill at once."""
    seen = 0
    for state in positions():
        after = step(TACTICS, state, TACTICS.num_actions - 1)
        if is_over(after) or after["to_move"] == state["to_move"]:
            continue
        before, then = inputs(np.array([state, after]))
        own, other = slice(IN_PERIL, IN_PERIL + KINDS), slice(IN_PERIL + KINDS, IN_PERIL + 2 * KINDS)
        assert (before[own] == then[other]).all()
        assert (before[other] == then[own]).all()
        assert (then[other] == then[PREY : PREY + KINDS]).all()
        seen += before[own].any()
    assert seen > 3


def worth_of(state, action):
    """What the rules and the NumPy network say of an action."""
    side = int(state["to_move"])
    after = step(TACTICS, state, action)
    if is_over(after):
        return int(np.sign(after["rewards"][side])) * int(WON)
    score = score_of(inputs(np.array([after]))[0])
    return score if int(after["to_move"]) == side else -score


def test_it_plays_what_the_rules_and_a_plain_network_say():
    """Of all legal actions but early ends of turns and attacks that take nothing."""
    agent = make_agent(GAME, "td")
    assert isinstance(agent, AfterstateAgent)
    agent.begin(TACTICS, [0], [0])
    some = positions()[:: max(1, len(positions()) // 25)]
    chosen = agent.act_batch(np.array(some), np.zeros((len(some), 0), np.int8))
    for state, action in zip(some, chosen.tolist(), strict=True):
        worths = {a: worth_of(state, a) for a in legal_actions(TACTICS, state).tolist()}
        other = 1 - int(state["to_move"])
        hits = {a for a in worths if (step(TACTICS, state, a)["hp"] != state["hp"])[other].any()}
        early = end_of_turn(TACTICS, state)
        moves = {a for a in worths if a < early and order_of(TACTICS, state, a).target < 0}
        assert action in hits | moves
        assert worths[action] == max(worths[a] for a in hits | moves)
        assert agent.act(state, np.zeros(0, np.int8)) == action


@pytest.mark.parametrize("decay", [0.0, 0.35, 0.8, 1.0])
def test_lambda_returns_are_those_of_the_forward_view(decay):
    """Sutton and Barto, Reinforcement Learning, 2nd edition, equation 12.3: a weighted mean of n-step returns."""
    numbers = np.random.default_rng(1)
    games = np.repeat([0, 1, 2], [1, 7, 12])
    chances, results = numbers.random(len(games)), np.array([1.0, 0.0, 0.5])
    found = td.lambda_returns(chances, games, results, decay)
    for k in range(len(games)):
        rest = chances[k + 1 :][games[k + 1 :] == games[k]]
        wanted = sum((1 - decay) * decay**n * chance for n, chance in enumerate(rest))
        assert found[k] == pytest.approx(wanted + decay ** len(rest) * results[games[k]])


def test_targets_are_for_the_side_to_move():
    """With lambda 1 every position of a game has its result: red's and blue's positions the two halves of a whole."""
    weights = td.Learner(td.Settings(), INPUTS).weights()
    given, targets = td.play_chunk(GAME, COURSE, weights, td.Settings(decay=1.0), 0)
    assert len(given) == len(targets) > 1000
    assert set(np.unique(targets)) <= {0.0, 0.5, 1.0}
    red = given[:, IN_PERIL - 1] == 1
    assert 0.2 < red.mean() < 0.8
    whole = targets[red].mean() + targets[~red].mean()
    assert whole == pytest.approx(1, abs=0.1)


def test_learning_does_not_depend_on_the_number_of_processes(tmp_path):
    settings = td.Settings(rounds=2, games=100, seed=3)
    td.train(GAME, COURSE, settings, tmp_path / "one", workers=1, evaluated=10)
    td.train(GAME, COURSE, settings, tmp_path / "two", workers=2, evaluated=10)
    for name in ("evaluation.npz", "learning.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_command_learns_what_an_agent_can_play(tmp_path):
    words = [
        "learn-td",
        "--rounds",
        "2",
        "--games",
        "300",
        "--workers",
        "1",
        "--evaluated",
        "10",
        "--output",
        str(tmp_path / "td"),
    ]
    done = CliRunner().invoke(commands.app, words, catch_exceptions=False)
    assert "against max_act_eval" in done.output
    player = make_agent(GAME, f"td:path={tmp_path / 'td'}")
    found = evaluate(TACTICS, ("td", player), ("random", make_agent(GAME, "random")), 60, plies=4)
    assert found.low > 0.5


def test_the_shipped_policy_beats_the_formula():
    found = evaluate(
        TACTICS, ("td", make_agent(GAME, "td")), ("max_act_eval", make_agent(GAME, "max_act_eval")), 200, plies=4
    )
    assert found.distinct >= 190
    assert found.low > 0.5


@pytest.mark.parametrize(("name", "value"), [("rounds", 0), ("random", 1.5), ("decay", -0.1), ("temperature", -1)])
def test_settings_out_of_range_are_named(name, value):
    with pytest.raises(GameParameterError, match=f"{name} is from .*not {value}"):
        td.Settings(**{name: value})

"""The classical battleship agents: what they may do, what they score, and that all ways to play them agree."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from asobiba.api.batch import Batch
from asobiba.arena.match import Match
from asobiba.arena.playing import play_lockstep
from asobiba.baselines.battleship import readings
from asobiba.baselines.battleship.agents import AGENTS, ExactAgent
from asobiba.baselines.battleship.counting import count_placements, knowledge
from asobiba.baselines.battleship.duels import Duel, play_duel, play_games
from asobiba.baselines.battleship.learned import POLICY
from asobiba.baselines.battleship.network import PlacementNetwork
from asobiba.baselines.battleship.published import cells
from asobiba.baselines.battleship.reproduction import Results, markdown, proportion, report, with_tables
from asobiba.core import GameParameterError, KernelAgent, MissingExtra, game, make_agent
from asobiba.core.states import legal_actions, new_state, observation, step, view_of
from asobiba.learn.agent import PolicyAgent, load_policy, observe

# One small board for most tests: the agents are compiled once per board and fleet.
SMALL = {"height": 6, "width": 6, "fleet": (3, 2, 2)}
BATTLESHIP = game("battleship").ruleset()
NAMES = [declaration.name for declaration in AGENTS]


def mask_of(ruleset, state):
    mask = np.zeros(ruleset.num_actions, np.int8)
    mask[legal_actions(ruleset, state)] = 1
    return mask


def play_through_views(ruleset, texts, seed):
    """One game move by move, every agent seeing only its view: winner, and per side shots and hits."""
    agents = [make_agent(ruleset.game, text) for text in texts]
    for seat, agent in enumerate(agents):
        agent.reset(ruleset, seat, seed)
    state = new_state(ruleset, seed)
    while not state["terminated"]:
        seat = int(state["to_move"])
        action = agents[seat].act(view_of(ruleset, state, seat), mask_of(ruleset, state))
        state = step(ruleset, state, action)
    hits = [int(ruleset.channels(observation(ruleset, state, side))["hits"].sum()) for side in range(2)]
    winner = 0 if state["rewards"][0] > 0 else 1
    return [winner, int(state["shots"][0]), hits[0], int(state["shots"][1]), hits[1]]


@pytest.mark.parametrize(
    "pair",
    [
        ("mp:x=30,ships=3,placement=ed1", "cb:placement=ed2"),
        ("la:look=2,prune=3,x=20", "rnb"),
        ("mp_exact", "r:placement=rsp"),
    ],
)
def test_the_compiled_duel_plays_what_the_environment_plays(pair):
    ruleset = game("battleship").ruleset(**SMALL)
    rows = play_games(ruleset, *(make_agent(ruleset.game, text) for text in pair), games=4, seed=11)
    for k in range(4):
        assert rows[k].tolist() == play_through_views(ruleset, pair, 11 + k)


def test_every_agent_finishes_every_variant():
    for variant in (
        {"sunk": "only"},
        {"sunk": "place", "touching": "never"},
        {"hit_again": True, "touching": "corners"},
    ):
        ruleset = game("battleship").ruleset(**SMALL, **variant)
        for name in NAMES:
            rows = play_games(ruleset, make_agent(ruleset.game, name), make_agent(ruleset.game, "r"), games=3, seed=1)
            assert (rows[:, [2, 4]].max(axis=1) == sum(SMALL["fleet"])).all()


def test_strategies_hit_as_often_as_the_page_says():
    """Bands of 0.3 points around the page's figures of 100,000 games, which would see the gap to the paper's 36.7 of CB."""
    ruleset = game("battleship").ruleset()
    page = {"r": 20.79, "rnb": 31.44, "cb": 36.31, "mp": 37.82}
    for name, rate in page.items():
        agent = make_agent(ruleset.game, name)
        duel = play_duel(ruleset, agent, agent, 3000, 5)
        assert abs(100 * sum(duel.hits) / sum(duel.shots) - rate) < 0.3


def test_largest_first_is_a_choice_of_its_own():
    ruleset = game("battleship").ruleset(**SMALL)
    pair = [make_agent(ruleset.game, text) for text in ("cb", "cb:largest_first=true", "mp:largest_first=true")]
    plain, other, mp = (play_games(ruleset, agent, agent, games=40, seed=3) for agent in pair)
    assert (plain != other).any()
    assert (other[:, [2, 4]].max(axis=1) == sum(SMALL["fleet"])).all()
    assert (mp[:, [2, 4]].max(axis=1) == sum(SMALL["fleet"])).all()


def test_random_shots_take_as_long_as_theory_says():
    """17 * 101 / 18 = 95.3889 shots: the expected last of 17 marked cells among 100 in random order."""
    ruleset = game("battleship_attack").ruleset()
    batch = Batch(ruleset, 2000, autoreset="disabled")
    batch.reset(3)
    for _ in range(100):
        batch.step(batch.sample_actions())
    shots = batch.states["shots"][:, 0].astype(float)
    assert abs(shots.mean() - 17 * 101 / 18) < 4 * shots.std() / np.sqrt(2000)


def test_a_prepared_opening_changes_no_decision(monkeypatch):
    ruleset = game("battleship").ruleset(**SMALL)
    exact = make_agent(ruleset.game, "mp_exact")
    prepared = exact.initial_for(ruleset)
    attack = game("battleship_attack").ruleset(**SMALL)
    counts = count_placements(attack, new_state(attack, 0)).over.reshape(-1)
    assert (prepared["opening"][0, : len(counts)] == counts).all()
    played = play_games(ruleset, exact, exact, games=20, seed=3)
    moves = [play_through_views(ruleset, ("mp_exact", "mp_exact"), seed) for seed in range(3)]
    monkeypatch.setattr(ExactAgent, "initial_for", KernelAgent.initial_for)
    assert not exact.initial_for(ruleset)["opened"]
    assert (play_games(ruleset, exact, exact, games=20, seed=3) == played).all()
    assert [play_through_views(ruleset, ("mp_exact", "mp_exact"), seed) for seed in range(3)] == moves


def test_exact_counting_beats_the_other_strategies_on_a_small_board():
    ruleset = game("battleship").ruleset(**SMALL)
    exact = make_agent(ruleset.game, "mp_exact")
    for name in ("r", "rnb", "cb"):
        duel = play_duel(ruleset, make_agent(ruleset.game, name), exact, 400, 7)
        assert duel.hits[1] / duel.shots[1] > duel.hits[0] / duel.shots[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mp:x=-1", "whole number from 0 to 128"),
        ("mp:x=many", "whole number"),
        ("cb:largest_first=3", "true or false"),
        ("la:look=9", "whole number from 1 to 4"),
        ("la:prune=0", "whole number"),
        ("mp:ships=0", "whole number"),
        ("cb:placement=ed9", "placement strategy"),
        ("cb:x=3", "no parameter 'x'"),
    ],
)
def test_bad_settings(text, message):
    with pytest.raises(GameParameterError, match=message):
        make_agent(game("battleship"), text)


@pytest.mark.parametrize("name", ["mp", "mp_exact"])
def test_counting_agents_refuse_boards_they_cannot_count(name):
    agent = make_agent(game("battleship"), name)
    with pytest.raises(GameParameterError, match="at most 128 cells"):
        agent.reset(game("battleship").ruleset(height=12, width=12), 0, 0)


def believe(answers, **parameters):
    """A fresh network's belief after these answers: how likely each ship afloat is on each cell."""
    ruleset = game("battleship_attack").ruleset(**parameters)
    fleet = ruleset.parameters["fleet"]
    network = PlacementNetwork(ruleset.layout.observation, ruleset.num_actions, fleet=fleet)
    views = np.zeros(1, ruleset.dtype)
    views[0] = knowledge(ruleset, answers)
    belief = network.believe(torch.as_tensor(observe(ruleset, views)).float())
    return belief.on[:, 0].detach().reshape(len(fleet), *network.board).numpy(), network


def test_a_fresh_network_takes_all_fitting_placements_for_equally_likely():
    on, network = believe([])
    assert on.sum((1, 2)) == pytest.approx([5, 4, 3, 3, 2])
    assert on[4, 0, 0] == pytest.approx(2 / 180)  # two of 180 placements of the ship of two cover a corner
    assert on[4, 5, 5] == pytest.approx(4 / 180)
    assert all((parameter == 0).all() for parameter in (network.energies, network.clashes, network.shares))


def test_the_network_knows_what_the_answers_exclude():
    # The ship of 2 sank on C3 and D3 or on D3 and D4; the ship of 3 is afloat.
    answers = [("C3", "hit"), ("D4", "hit"), ("A1", "miss"), ("D3", "sunk ship2")]
    on, _ = believe(answers, height=4, width=4, fleet=(3, 2))
    assert on[1].max() == 0  # sunk
    assert on[0, 0, 0] == 0  # a miss
    assert on[0, 2, 3] == 0  # the shot that sank the other
    # Of the 11 placements that fit, three take the open hit on C3 (columns C1-C3 and C2-C4, row A3-C3), one that on D4.
    assert on[0].sum() == pytest.approx(3)
    assert on[0, 2, 2] == pytest.approx(3 / 11)
    assert on[0, 3, 3] == pytest.approx(1 / 11)


def test_ppo_needs_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'asobiba\[sb3\]'"):
        make_agent(game("battleship"), "ppo")


@pytest.mark.parametrize("text", ["ppo:placement=ed1", f"sb3:{POLICY},placement=ed1"])
def test_a_policy_plays_the_whole_game(text):
    """It places its fleet by the strategy, shoots legally, and beats random shots."""
    ruleset = game("battleship").ruleset()
    agents = [make_agent(ruleset.game, text), make_agent(ruleset.game, "r")]
    for seat, agent in enumerate(agents):
        agent.reset(ruleset, seat, 9)
    state = new_state(ruleset, 9)
    while not state["terminated"]:
        seat = int(state["to_move"])
        action = agents[seat].act(view_of(ruleset, state, seat), mask_of(ruleset, state))
        state = step(ruleset, state, action, strict=True)
    fleet = state["fleet"][0].reshape(10, 10)
    assert np.count_nonzero(fleet[1:-1, 1:-1]) == 0
    assert np.count_nonzero(fleet) == 17
    assert state["rewards"][0] == 1


def test_the_trained_policy_needs_fewer_shots_than_cb():
    ruleset, games = game("battleship_attack").ruleset(), 400
    player = PolicyAgent(load_policy(POLICY))
    player.reset(ruleset, 0, 0)
    batch = Batch(ruleset, games, autoreset="disabled")
    batch.reset(5)
    while not batch.states["terminated"].all():
        batch.step(np.where(batch.masks.any(1), player.act_batch(batch.states, batch.masks), 0))
    shots = batch.states["shots"][:, 0]
    matches = [Match.of(ruleset, ["cb"], seed) for seed in range(games)]
    played = play_lockstep(matches, [make_agent(ruleset.game, "cb")])
    others = np.array([record.moves for records in played for record in records])
    error = np.sqrt((shots.var() + others.var()) / games)
    assert shots.mean() + 3 * error < others.mean()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ppo:placement=ed9", "placement strategy"),
        ("ppo:x=3", "no parameter 'x'"),
        (f"sb3:{POLICY},x=3", "no parameter 'x'"),
        (f"sb3:{POLICY},placement=ed9", "placement strategy"),
    ],
)
def test_bad_settings_of_policies(text, message):
    with pytest.raises(GameParameterError, match=message):
        make_agent(game("battleship"), text)


def test_results_survive_a_killed_run(tmp_path):
    path = tmp_path / "cells.jsonl"
    results = Results(path, 10)
    listed = list(cells())
    for cell in listed:
        results.add(cell, Duel(10, (5, 5), (500, 480), (170, 160)))
    text = path.read_text()
    path.write_text(text[:-20])
    again = Results(path, 10)
    assert len(again.duels) == len({cell.key for cell in listed}) - 1
    assert again.duels[listed[0].key] == results.duels[listed[0].key]
    assert not Results(path, 20).duels
    tables = report(results)
    assert [len(table.rows) for table in tables] == [57, 24, 16, 14, 8, 8, 8]
    assert "| paper | measured |" in tables[0].markdown()


def test_one_table_can_be_played_anew_in_the_page_of_all(tmp_path):
    results = Results(None, 10)
    for cell in cells():
        results.add(cell, Duel(10, (5, 5), (500, 480), (170, 160)))
    page = markdown(results, "the command")
    again = Results(tmp_path / "cells.jsonl", 10)
    for cell in cells(("largest first", "table 4")):
        again.add(cell, Duel(10, (7, 3), (500, 480), (170, 160)))
    assert len(again.duels) == 8 + 8 + 8, "with the plain cells beside which the section sets its own"
    tables = report(again, ("largest first", "table 4"))
    changed = with_tables(page, tables, 10).splitlines()
    sections = {line for line in page.splitlines() if line.startswith("#")}
    assert {line for line in changed if line.startswith("#")} == sections
    assert len(changed) == len(page.splitlines())
    differing = [new for old, new in zip(page.splitlines(), changed) if new != old]
    assert len(differing) == 8 + 8
    assert all("70.00" in line or "30.00" in line for line in differing)
    with pytest.raises(GameParameterError, match="20 games a cell"):
        with_tables(page, tables, 20)
    with pytest.raises(GameParameterError, match="no section 'Table 4'"):
        with_tables(page.replace("## Table 4", "## Table 6"), tables, 10)


def test_the_interval_is_the_papers():
    """52.31(31): 100,000 games give a half width of 0.31."""
    value, half = proportion(52_310, 100_000)
    assert value == pytest.approx(52.31)
    assert round(half, 2) == 0.31


@pytest.mark.parametrize("order", readings.ORDERS.values())
@pytest.mark.parametrize("placement", ["r", "ed1", "ed1sp", "ed2sp", "pk2x10", "pksp2x10"])
def test_fleets_of_every_reading_are_what_the_placement_says(placement, order):
    fleets = readings.draw_fleets(BATTLESHIP, placement, 40, order, seed=1)
    board = readings.covered(BATTLESHIP, fleets).reshape(-1, 10, 10)
    assert (board.sum((1, 2)) == 17).all()
    assert len({fleet.tobytes() for fleet in fleets}) > 35
    inner = board[:, 1:9, 1:9] if placement.startswith("ed1") else board[:, 2:8, 2:8]
    assert inner.any() == (not placement.startswith("ed"))
    if placement.endswith("sp") and placement.startswith("ed"):
        for ship, size in enumerate((5, 4, 3, 3, 2)):
            alone = readings.covered(BATTLESHIP, fleets).reshape(-1, 10, 10).copy()
            rows, columns = fleets[:, ship] % 100 // 10, fleets[:, ship] % 10
            down = fleets[:, ship] >= 100
            for k in range(size):
                alone[np.arange(40), rows + k * down, columns + k * ~down] = 2
            beside = (alone[:, 1:] * alone[:, :-1] == 2).any() or (alone[:, :, 1:] * alone[:, :, :-1] == 2).any()
            assert not beside


@pytest.mark.slow
def test_learners_learn():
    shares = readings.learning_attack(BATTLESHIP, "ed1", 200, 3, seed=1)
    assert shares[-1] > shares[0] + 0.3
    rounds = readings.learning_placement(BATTLESHIP, 500, 3, 30, seed=1)
    assert rounds[-1][0] > rounds[0][0]

"""Search guided by networks, and learning from it."""

from __future__ import annotations

import csv
import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from asobiba_toys.labyrinth import GAME as LABYRINTH
from network_tools import drawn_network, run_network, table_network, uniform_network

from asobiba.core import GameParameterError, registry, states
from asobiba.core.networks import LINEAR, Network, NetworkBuilder
from asobiba.learn.kernels import load_network
from asobiba.learn.policy_file import read_tensors
from asobiba.learn.search import NetSearch, SelfPlay, visits_considered
from asobiba.learn.search_agent import NetAgent

MCTX = json.loads((Path(__file__).parent / "data" / "mctx_trees.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("search", MCTX["searches"], ids=lambda s: f"{s['simulations']}-{s['considered']}")
def test_gumbel_search_visits_what_mctx_visits(search):
    """mctx 0.0.71 (see tests/mctx_fixture.py): the same visits, values, policies and actions from all 64 rooms."""
    network = table_network(np.array(MCTX["logits"], np.float32), np.array(MCTX["values"], np.float32))
    ruleset = LABYRINTH.ruleset()
    searcher = NetSearch(ruleset, network, search["simulations"], considered=search["considered"])
    for room in range(64):
        state = states.new_state(ruleset, 0)
        state["room"] = room
        action, value = searcher.search(state)
        visits = searcher.visits
        assert [visits[k] for k in range(3)] == search["visits"][room]
        assert action == search["actions"][room]
        assert value == pytest.approx(search["values"][room], abs=2e-5)
        np.testing.assert_allclose(searcher.policy, search["policies"][room], atol=2e-5)


@pytest.mark.parametrize("puct", [False, True])
def test_a_search_without_knowledge_plays_nim_perfectly(puct):
    ruleset = registry.game("toy_nim").ruleset()
    searcher = NetSearch(ruleset, uniform_network(ruleset), 2000, puct=puct)
    for seed in range(3):
        state = states.new_state(ruleset, seed)
        while not states.is_over(state):
            nim_sum = int(np.bitwise_xor.reduce(state["heaps"]))
            action, _ = searcher.search(state)
            following = states.step(ruleset, state, action)
            if nim_sum:  # Bouton: who can leave a sum of 0 wins
                assert int(np.bitwise_xor.reduce(following["heaps"])) == 0
            state = following


def solved(ruleset, state) -> tuple[float, int]:
    """The value of a position for the player to move, and the number of plies to the end: the shortest win, else the
    longest line."""
    best = (-2.0, 0)
    for action in states.legal_actions(ruleset, state):
        following = states.step(ruleset, state, int(action))
        reward = float(following["rewards"][state["to_move"]])
        value, plies = reward, 1
        if not states.is_over(following):
            below, further = solved(ruleset, following)
            value, plies = (reward - below, further + 1)
        if value > best[0] or (value == best[0] and (plies < best[1]) == (value == 1)):
            best = (value, plies)
    return best


@pytest.mark.parametrize("puct", [False, True])
def test_a_search_that_reaches_the_end_knows_the_exact_value(puct):
    ruleset = registry.game("toy_nim").ruleset()
    searcher = NetSearch(ruleset, uniform_network(ruleset), 20000, puct=puct)
    for heaps in product(range(2), range(3), range(4)):
        if not any(heaps):
            continue
        state = states.new_state(ruleset, 0)
        state["heaps"] = heaps
        value, plies = solved(ruleset, state)
        action, found = searcher.search(state)
        assert found == value == (1 if np.bitwise_xor.reduce(heaps) else -1)
        assert sum(searcher.visits.values()) < 20000  # it stops when it knows
        assert searcher.policy[action] > 0
        following = states.step(ruleset, state, action)
        if not states.is_over(following):
            assert solved(ruleset, following)[0] == -value
        if value < 0:  # every line is known, and the longest one is played
            assert solved(ruleset, following)[1] + 1 == plies


@pytest.mark.parametrize("puct", [False, True])
@pytest.mark.parametrize("simulations", [32, 128])
def test_a_search_does_not_play_into_a_loss_that_it_has_seen(puct, simulations):
    ruleset = registry.game("animal_shogi").ruleset()
    searcher = NetSearch(ruleset, uniform_network(ruleset), simulations, puct=puct)
    generator, avoided = np.random.default_rng(6), 0
    for seed in range(150):
        state = states.new_state(ruleset, seed)
        for _ in range(int(generator.integers(4, 12))):
            if not states.is_over(state):
                state = states.step(ruleset, state, int(generator.choice(states.legal_actions(ruleset, state))))
        if states.is_over(state):
            continue
        action, value = searcher.search(state)
        mover, tree = int(state["to_move"]), searcher._trees
        root = tree.nodes[0, 0]
        edges = tree.edges[0, root["first"] : root["first"] + root["edges"]]
        children = tree.nodes[0, edges["child"]]
        lost = (
            (edges["child"] >= 0) & (children["exact"] != 0) & (children["value"] >= 1) & (children["mover"] != mover)
        )
        for edge in edges[lost]:  # the opponent does win: by brute force, as deep as the search says
            following = states.step(ruleset, state, int(edge["action"]))
            assert wins(ruleset, following, int(tree.nodes[0, edge["child"]]["plies"]))
        if lost.any() and not lost.all():
            assert action not in edges["action"][lost]
            avoided += 1
        if lost.all():
            assert value == -1
    assert avoided > 10


def wins(ruleset, state, plies: int) -> bool:
    """Whether the player to move wins within so many plies, whatever the other does."""
    mover = int(state["to_move"])
    for action in states.legal_actions(ruleset, state):
        following = states.step(ruleset, state, int(action))
        if states.is_over(following):
            found = following["rewards"][mover] > 0
        else:
            found = plies > 1 and all(
                reply["rewards"][mover] > 0
                if states.is_over(reply := states.step(ruleset, following, int(answer)))
                else wins(ruleset, reply, plies - 2)
                for answer in states.legal_actions(ruleset, following)
            )
        if found:
            return True
    return False


def test_targets_of_self_play_are_exact_near_the_end():
    ruleset = registry.game("toy_nim").ruleset()
    network = uniform_network(ruleset)
    games = SelfPlay(ruleset, network, games=32, simulations=64, threads=1, length=20, openings=3).play(network, 1)
    played = np.flatnonzero(games.lengths)  # some end within their opening
    assert len(played) > 16
    for g in played:
        last = games.lengths[g] - 1
        assert games.values[g, last] == 1  # who takes the last stone wins, and the search sees it
        assert games.policies[g, last].sum() == pytest.approx(1)
        if last:
            assert games.values[g, last - 1] == -1


def test_halving_gives_every_round_the_same_number_of_simulations():
    # 16 moves, 64 simulations: 16 once, 8 twice, 4 four times, 2 eight times.
    wanted = [0] * 16 + [1] * 8 + [2] * 8 + [k for k in range(3, 7) for _ in range(4)]
    wanted += [k for k in range(7, 15) for _ in range(2)]
    assert visits_considered(16, 64) == wanted


def test_games_of_self_play_do_not_depend_on_threads():
    ruleset = registry.game("toy_nim").ruleset()
    network = uniform_network(ruleset)
    settings = {"games": 9, "simulations": 8, "length": 20, "openings": 2}
    one, two = (SelfPlay(ruleset, network, threads=threads, **settings).play(network, 5) for threads in (1, 2))
    for alone, shared in zip(one, two, strict=True):
        np.testing.assert_array_equal(alone, shared)
    for g in range(9):  # the last mover takes the last stone and wins; what was before alternates
        moves = one.lengths[g]
        assert one.results[g, :moves].tolist() == [(-1.0) ** k for k in range(moves - 1, -1, -1)]
        np.testing.assert_allclose(one.policies[g, :moves].sum(1), 1, atol=1e-5)


def test_games_of_self_play_depend_on_their_seeds_alone():
    ruleset = registry.game("toy_nim").ruleset()
    generator = np.random.default_rng(4)
    weight = generator.normal(size=(ruleset.num_actions + 1, ruleset.observation_size)).astype(np.float32)
    builder = NetworkBuilder(ruleset.observation_size)
    network = builder.build(
        builder.dense(0, weight, np.zeros(len(weight), np.float32), LINEAR), len(weight) - 1, ruleset.observation_size + len(weight) - 1
    )  # fmt: skip
    settings = {"simulations": 8, "threads": 1, "length": 20, "openings": 2}
    whole = SelfPlay(ruleset, network, games=12, **settings).play(network, 5)
    assert len({whole.movers[g, : whole.lengths[g]].tobytes() for g in range(12)}) > 1
    part = SelfPlay(ruleset, network, games=4, **settings).play(network, 5 + 8)
    for name in whole._fields:
        for g in range(4):
            moves = () if name in ("lengths", "generators") else slice(0, whole.lengths[8 + g])
            np.testing.assert_array_equal(getattr(part, name)[g][moves], getattr(whole, name)[8 + g][moves])


@pytest.mark.parametrize("name", ["toy_kuhn", "toy_walk", "toy_village"])
def test_games_that_do_not_fit_are_refused_by_name(name):
    ruleset = registry.game(name).ruleset()
    with pytest.raises(GameParameterError, match=name):
        NetSearch(ruleset, uniform_network(registry.game("toy_nim").ruleset()))


def test_a_drawn_start_lies_above_every_tree():
    ruleset = registry.game("bao").ruleset(holes=4, start="random")
    assert ruleset.chance
    search = NetSearch(ruleset, uniform_network(ruleset), simulations=16)
    state = states.new_state(ruleset, 3)
    assert search.search(state)[0] in states.legal_actions(ruleset, state)


def share_of_winning_moves(network: Network) -> float:
    """In how many of the positions that Bouton's theorem calls won the likeliest legal move leaves a lost one."""
    ruleset = registry.game("toy_nim").ruleset()
    good = []
    for heaps in product(range(2), range(3), range(4)):
        if not np.bitwise_xor.reduce(heaps):
            continue
        state = states.new_state(ruleset, 0)
        state["heaps"] = heaps
        computed = run_network(network, states.observation(ruleset, state, 0)[None])[0]
        logits = computed[network.policy : network.policy + network.actions]
        chosen = np.where(states.action_mask(ruleset, state) != 0, logits, -np.inf).argmax()
        good.append(not np.bitwise_xor.reduce(states.step(ruleset, state, int(chosen))["heaps"]))
    return float(np.mean(good))


def small_run(**changes):
    from asobiba.learn.config import load_config

    settings = {
        "rounds": 25, "games": 64, "simulations": 8, "length": 20, "width": 32, "threads": 1, "batch_size": 64,
        "window": 4000, "learning_rate": [1e-2, 1e-3],
        "evaluation": {"games": 2, "every": 100, "simulations": [0, 8], "openings": 1},
    }  # fmt: skip
    return load_config(registry.game("toy_nim"), algorithm="gumbel_az", **{**settings, **changes})


def test_a_network_learns_nim(tmp_path):
    pytest.importorskip("torch")
    from asobiba.learn import expert

    path = expert.train(registry.game("toy_nim"), small_run(), tmp_path, say=lambda _: None)
    assert share_of_winning_moves(load_network(path)) > 0.8


def test_a_run_begins_with_the_network_beside_the_games_settings():
    pytest.importorskip("torch")
    from asobiba.learn.config import load_config, start_file
    from asobiba.learn.expert import Expert

    shogi = registry.game("animal_shogi")
    config = load_config(shogi, algorithm="gumbel_az", window=1000, games=2)
    expert = Expert(shogi, config)
    begun = read_tensors(start_file(shogi, config["start"]))[1]
    for name, tensor in expert.policy.state_dict().items():
        np.testing.assert_array_equal(tensor.numpy(), begun[name])


def test_a_run_that_was_killed_ends_as_if_it_had_not_been(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from asobiba.learn import expert

    class Killed(Exception):
        pass

    game, config = registry.game("toy_nim"), small_run(rounds=5, games=16, checkpoint_every=2)
    whole = expert.train(game, config, tmp_path / "whole", say=lambda _: None)
    play_and_learn = expert.Expert.play_and_learn

    def until_the_third(run):
        if run.round == 3:
            raise Killed
        return play_and_learn(run)

    monkeypatch.setattr(expert.Expert, "play_and_learn", until_the_third)
    with pytest.raises(Killed):
        expert.train(game, config, tmp_path / "stopped", say=lambda _: None)
    monkeypatch.undo()
    stopped = expert.train(game, config, tmp_path / "stopped", say=lambda _: None)
    first, second = read_tensors(whole)[1], read_tensors(stopped)[1]
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name])
    rows = list(csv.DictReader((tmp_path / "stopped" / "learning.csv").open(encoding="utf-8")))
    assert [row["round"] for row in rows] == ["1", "2", "3", "4", "5"]


def positions_of(ruleset, count: int) -> list:
    found, generator = [], np.random.default_rng(3)
    for seed in range(count):
        state = states.new_state(ruleset, seed)
        for _ in range(int(generator.integers(0, 8))):
            following = states.step(ruleset, state, int(generator.choice(states.legal_actions(ruleset, state))))
            state = state if states.is_over(following) else following
        found.append(state)
    return found


@pytest.mark.parametrize("puct", [False, True])
def test_positions_that_were_met_before_are_not_computed_again(puct):
    ruleset = registry.game("animal_shogi").ruleset()
    network = drawn_network(ruleset, 1)
    usual, without = (NetSearch(ruleset, network, 48, puct=puct) for _ in range(2))
    memo = without._memo
    without._memo = memo._replace(
        **{name: getattr(memo, name)[:0] for name in ("seen", "logits", "values", "networks")}
    )
    for state in positions_of(ruleset, 40):
        while not states.is_over(state) and state["steps"] < 20:
            found = usual.search(state)
            assert found == without.search(state)
            assert usual.visits == without.visits
            np.testing.assert_array_equal(usual.policy, without.policy)
            state = states.step(ruleset, state, found[0])
    _, asked, computed = usual._memo.counts
    assert 0 < computed < asked / 2


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_an_agent_plays_side_by_side_what_it_plays_alone(noise):
    ruleset = registry.game("animal_shogi").ruleset()
    agent, alone = (NetAgent(drawn_network(ruleset, 2), simulations=24, noise=noise) for _ in range(2))
    found = positions_of(ruleset, 30)
    views, masks = np.array(found), np.array([states.action_mask(ruleset, state) for state in found])
    agent.begin_rows(ruleset, len(found), 11)
    rows = np.arange(len(found))
    moves = [np.zeros(len(found), int), np.zeros(len(found), int)]
    for some in (rows[::2], rows[1::2]):
        for chosen in moves:  # the second move of a game goes on with its noise
            chosen[some] = agent.act_rows(views[some], masks[some], views["to_move"][some], some)[0]
    for row, state in enumerate(found):
        alone.reset(ruleset, int(state["to_move"]), 11 + row)
        assert [alone.act(state, masks[row]) for _ in range(2)] == [int(chosen[row]) for chosen in moves]
    assert (moves[0] == moves[1]).all() == (noise == 0)

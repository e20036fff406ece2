"""Bao's analysis and agents: the paper's loops and repetitions, exact values, the model checker, strength."""

from __future__ import annotations

import itertools
import random
from functools import cache

import numpy as np
import pytest
from conftest import debian_program
from typer.testing import CliRunner

from asobiba.baselines.bao import claims, endgame, loops, promela
from asobiba.baselines.bao.boards import board_count, board_rank, play, rows_in_order, tables
from asobiba.baselines.bao.commands import app
from asobiba.baselines.bao.frontier import explore
from asobiba.baselines.bao.graph import Graph, solve
from asobiba.baselines.bao.loops import (
    PERIOD_0,
    TABLE_2,
    conditions,
    loop_from,
    loops_of,
    meets_loop_condition,
    pattern_1,
    pattern_2,
)
from asobiba.baselines.bao.proof import prove
from asobiba.baselines.bao.reachable import reachable_boards
from asobiba.baselines.bao.report import replay
from asobiba.baselines.bao.strength import ExactValues, Kept, different_games, over_positions, thrown_away
from asobiba.baselines.search.own_games import opening
from asobiba.baselines.search.own_games import play as play_games
from asobiba.core import GameParameterError, make_agent
from asobiba.core.states import action_mask, is_over, legal_actions, new_state, step, view_of
from asobiba.envs.bao import GAME
from asobiba.envs.bao.layout import pack

START_4 = [0, 4] * 4


@cache
def graph():
    return Graph(4)


@pytest.fixture(autouse=True, scope="module")
def databases_of_this_run(tmp_path_factory):
    """Databases are built here, not taken from the user's cache."""
    folder = tmp_path_factory.mktemp("databases")
    patch = pytest.MonkeyPatch()
    patch.setattr(endgame, "database_folder", lambda: folder)
    yield
    patch.undo()


@pytest.mark.parametrize(("cells", "period", "shift"), [*TABLE_2, (PERIOD_0, 0, 3)], ids=str)
def test_loops_of_the_paper(cells, period, shift):
    loop = loop_from(cells)
    assert (loop.period, loop.shift) == (period, shift)


def test_loops_that_play_reaches_on_4x2():
    """The paper's 12, by model checker one at a time, and one that it does not list."""
    found = {each.loop.key: each for each in graph().loops()}
    listed = {loop_from(cells).key for cells, _, _ in TABLE_2} | {loop_from(PERIOD_0).key}
    assert listed < set(found)
    (more,) = set(found) - listed
    assert loop_from((3, 3, 2, 1, 0, 1, 0, 1)).key == more
    assert len(found[more].line) == 24
    ruleset = GAME.ruleset(holes=4)
    assert all(replay(ruleset, each.line) for each in found.values())
    assert sum(each.moves for each in found.values()) == len(graph().endless_moves()) == 100
    assert min(len(each.line) for each in found.values()) == 3


def test_repetitions_of_4x2():
    """The paper: five."""
    parts = graph().repetitions()
    assert sorted(map(len, parts)) == [2, 10, 10, 10, 12]
    for part in parts:
        cycle = graph().shortest_cycle(part)
        assert len(cycle) % 2 == 0
        boards = [graph().position(index) for index in cycle]
        assert len({sum(board.counts) for board in boards}) == 1


def test_graph_agrees_with_the_environment():
    """Every position on a hundred random games is in the graph, with as many moves."""
    ruleset, rng = GAME.ruleset(holes=4), np.random.default_rng(0)
    params = tables(4, "illegal")
    moves = np.bincount(graph().sources, graph().targets >= 0, len(graph())).astype(int)
    for seed in range(25):
        state = new_state(ruleset, seed)
        while not is_over(state):
            side = int(state["to_move"])
            rank = board_rank(params[0], state["board"][side], state["board"][1 - side])
            index = graph().place[2 * rank + side] - 1
            mask = action_mask(ruleset, state)
            assert moves[index] == mask.sum()
            state = step(ruleset, state, int(rng.choice(np.flatnonzero(mask))))


def test_period_0_patterns():
    assert pattern_1(8) == (7, 0, 1, 2, 3, 4, 5, 6)
    assert pattern_2(8) == [PERIOD_0]
    assert pattern_2(5) == [(2, 0, 1, 0, 1), (3, 1, 0, 2, 1)]
    assert pattern_2(7) == [(2, 0, 1, 0, 1, 0, 1), (4, 2, 1, 0, 3, 2, 1)]
    assert pattern_2(9)[-1] == (5, 3, 2, 1, 0, 4, 3, 2, 1)
    for ring, board in ((3, (2, 0, 1)), (8, pattern_1(8)), (11, (3, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1))):
        assert loop_from(board).period == 0
        assert board in ([*pattern_2(ring), pattern_1(ring)])


def test_condition_loop():
    """It holds below 13 seeds on 4x2 as a necessary condition; the paper's counter-example of ten holes does not meet it."""
    assert meets_loop_condition((3, 1, 0, 1, 0, 1, 0, 1))
    assert not meets_loop_condition(PERIOD_0)
    for seeds in range(7, 13):
        found = conditions(8, seeds)
        assert found.necessary
        assert found.patterns_complete
        assert found.shift_rule == found.longer
    assert not conditions(8, 13).necessary
    other = loop_from((3, 1, 0, 2, 1, 0, 2, 1, 0, 1))
    assert (other.period, other.shift) == (1, 1)
    assert not any(map(meets_loop_condition, other.boards))
    assert len(loops_of(8, 7)) == 1


def test_boards_are_ranked_without_gaps():
    p = tables(3 + 1, "illegal")[0]
    rows, begins = rows_in_order(4, 4)
    ranks = []
    for seeds in range(5):
        for m in range(seeds + 1):
            for own, other in itertools.product(
                rows[begins[m] : begins[m + 1]], rows[begins[seeds - m] : begins[seeds - m + 1]]
            ):
                ranks.append(int(board_rank(p, own, other)))
    assert ranks == list(range(int(board_count(p, 4))))


@pytest.mark.parametrize("endless", ["illegal", "loses", "draws"])
def test_4x2_solved_by_three_ways(endless):
    """The database of all boards, that of the reachable ones, and proof search agree: the start is drawn."""
    full = endgame.stored_database(4, 16, endless)
    at = board_rank(tables(4, endless)[0], *pack(START_4))
    assert (endgame.low_of(full, at), endgame.high_of(full, at)) == (0, 0)
    wanted, reached = reachable_boards(4, START_4)
    assert reached == len(np.unique(graph().boards, axis=0)) == 8466
    part = endgame.build(4, 16, endless, wanted=wanted)
    assert part.values[at] == 0
    small = endgame.build(4, 6, endless)
    bounds = prove(4, START_4, small, 6, endless, table_bits=14)
    assert bounds.exact
    assert bounds.low == 0


@pytest.mark.parametrize("endless", ["illegal", "loses", "draws"])
def test_values_of_4x2_follow_from_their_successors(endless):
    solution, g = solve(graph(), endless), graph()
    low, high = solution.low.astype(int), solution.high.astype(int)
    assert (low <= high).all()
    rng = np.random.default_rng(0)
    opposite = {-128: 127, 127: -128}
    for index in rng.choice(len(g), 400, replace=False):
        edges = np.flatnonzero(g.sources == index)
        if not len(edges):
            continue
        lows, highs = [], []
        for edge in edges:
            target, captured = int(g.targets[edge]), int(g.captures[edge])
            if target < 0:
                if endless != "illegal":
                    lows.append(-128)
                    highs.append(127 if endless == "draws" else -128)
                continue
            lows.append(opposite.get(high[target], captured - high[target]))
            highs.append(opposite.get(low[target], captured - low[target]))
        if lows:
            assert (low[index], high[index]) == (max(lows), max(highs))


def test_6x2_search_agrees_with_the_database():
    """Random boards of 6x2 with 10 seeds: proofs that stand on a smaller database give the larger one's values."""
    large, small, rng = endgame.build(6, 10), endgame.build(6, 7), np.random.default_rng(0)
    p, exact = tables(6, "illegal")[0], 0
    for _ in range(12):
        counts = rng.multinomial(10, [1 / 12] * 12).tolist()
        if not any(counts[:6]) or not any(counts[6:]):
            continue
        bounds = prove(6, counts, small, 7, table_bits=16, max_depth=24, max_nodes=200_000)
        at = board_rank(p, *pack(counts))
        low, high = endgame.low_of(large, at), endgame.high_of(large, at)
        assert bounds.low <= low
        assert bounds.high >= high
        exact += bounds.exact
    assert exact >= 8


def test_8x2_is_won_by_four_seeds():
    """Lower and upper bound meet; repetition counted against whoever claims."""
    bounds = prove(8, [0, 4] * 8, endgame.stored_database(8, 9), 9, table_bits=20)
    assert bounds.exact
    assert bounds.low == 4


def test_database_is_stored_checked_and_built_again(monkeypatch, tmp_path):
    monkeypatch.setattr(endgame, "database_folder", lambda: tmp_path)
    first = endgame.stored_database(4, 5)
    facts = endgame.database_facts(4, 5)
    assert facts["boards"] == len(first.values) == 1287
    path = tmp_path / "endgame-4x2-5-illegal-values.npy"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    again = endgame.stored_database(4, 5)
    assert (again.values == first.values).all()
    assert path.read_bytes() == content


def test_first_plies():
    """8x2: an endless move at the fourth move; the position after move 7 again after move 9 (or sooner cannot be shown)."""
    found = explore(8, most_positions=60_000)
    assert len(found.endless) == 4
    assert replay(GAME.ruleset(), found.endless)
    small = explore(4, most_positions=20_000)
    assert small.repetition_shortest
    ruleset = GAME.ruleset(holes=4)
    state, seen = new_state(ruleset, 0), []
    for hole in small.repetition:
        seen.append(state["board"].tobytes())
        state = step(ruleset, state, hole % 4)
    assert state["board"].tobytes() == seen[small.repetition_plies[0]]
    assert len(small.repetition) == small.repetition_plies[1]


def test_model_checker_finds_an_endless_move_and_a_game_that_does_not_end(tmp_path):
    debian_program("spin", "spin")
    debian_program("gcc", "gcc")
    ruleset = GAME.ruleset(holes=4)
    line = promela.counterexample(tmp_path, "turn_passes")
    assert replay(ruleset, line)
    line = promela.counterexample(tmp_path, "game_ends")
    if not replay(ruleset, line):
        endless_play = GAME.ruleset(holes=4, repetition="off")
        state = new_state(endless_play, 0)
        positions = [(state["board"].tobytes(), int(state["to_move"]))]
        for hole in line:
            state = step(endless_play, state, hole % 4)
            positions.append((state["board"].tobytes(), int(state["to_move"])))
        assert not is_over(state)
        assert len(set(positions)) < len(positions)


def test_random_play_meets_endless_moves_as_often_as_the_reachable_board_has_them():
    found = claims.random_play(4, 20_000, seed=3)
    again = claims.random_play(4, 20_000, seed=3)
    assert found == again
    # 13 loops are reached on 4x2; those of period 1 and more all meet LOOP and have period = shift + 9k.
    longer = found.endless - found.short
    assert 80 < found.endless < 180
    assert found.meeting == found.regular == longer
    assert 7 <= found.seeds[0] <= found.seeds[1] <= 13
    low, high = found.rate[1:]
    assert low < found.rate[0] < high


@pytest.mark.parametrize(("cells", "period", "shift"), loops.TABLE_2)
def test_compiled_facts_of_the_papers_loops(cells, period, shift):
    sown, _, meets = claims._loop_facts(np.array(cells), 1000)
    assert (sown // 8, sown % 8) == (period, shift)
    assert meets


def test_promela_model_names_what_is_wrong():
    with pytest.raises(GameParameterError, match="even number of holes"):
        promela.model(5)
    with pytest.raises(GameParameterError, match="definite start"):
        promela.model(4, "random")
    with pytest.raises(GameParameterError, match="game_ends, turn_passes"):
        promela.counterexample(None, "wins")


def contest(ruleset, names, games):
    """Rewards of the first-named agent, who takes both seats in turn."""
    agents = [make_agent(GAME, name) for name in names]
    rewards = []
    for game in range(games):
        seat = game % 2
        seated = agents if seat == 0 else agents[::-1]
        for k in (0, 1):
            seated[k].reset(ruleset, k, game)
        state = new_state(ruleset, game)
        while not is_over(state):
            mask = action_mask(ruleset, state)
            action = seated[int(state["to_move"])].act(state, mask)
            assert mask[action]
            state = step(ruleset, state, int(action))
        rewards.append(int(state["rewards"][seat]))
    return rewards


@pytest.mark.parametrize("endless", ["illegal", "draws"])
def test_perfect_never_loses_on_4x2(endless):
    ruleset = GAME.ruleset(holes=4, endless=endless)
    assert min(contest(ruleset, ("perfect", "random"), 20)) >= 0
    assert sum(contest(ruleset, ("perfect", "cautious"), 10)) >= 0
    assert set(contest(ruleset, ("perfect", "perfect"), 2)) == {0}


def test_drawn_positions_are_worth_what_the_whole_graph_says():
    values, whole = ExactValues.of(GAME.ruleset(holes=4)), graph()
    solution, params = solve(whole), tables(4, "illegal")[0]
    for result, word in ((1, "win"), (0, "draw"), (-1, "loss")):
        for state in values.drawn_positions(result, 50, seed=1):
            side = int(state["to_move"])
            board, stores = state["board"][[side, 1 - side]], state["stores"][[side, 1 - side]].astype(int)
            index = int(whole.place.reshape(-1, 2)[board_rank(params, *board)].max()) - 1
            assert index >= 0
            assert solution.result(index, int(stores[0] - stores[1])) == word


def test_a_search_that_ends_its_lines_in_the_database_finds_what_the_whole_graph_says():
    ruleset = GAME.ruleset(holes=4)
    values, whole = ExactValues.of(ruleset), graph()
    solution, params = solve(whole), tables(4, "illegal")[0]
    agents = {seeds: make_agent(GAME, f"gumbel_az:simulations=64,endgame={seeds}") for seeds in (0, 10)}
    known = dict.fromkeys(agents, 0)
    for result in (1, 0, -1):
        for state in values.drawn_positions(result, 60, seed=3):
            side = int(state["to_move"])
            board, stores = state["board"][[side, 1 - side]], state["stores"][[side, 1 - side]].astype(int)
            index = int(whole.place.reshape(-1, 2)[board_rank(params, *board)].max()) - 1
            word = solution.result(index, int(stores[0] - stores[1]))
            for seeds, agent in agents.items():
                agent.reset(ruleset, side, 0)
                value = agent._searcher.search(state)[1]
                root = agent._searcher._trees.nodes[0, 0]
                known[seeds] += int(root["exact"])
                if root["exact"]:
                    assert value == {"win": 1, "draw": 0, "loss": -1}[word]
            held = int(np.ascontiguousarray(board).view(np.uint8).sum()) <= 10
            kept = int(agent.act(state, action_mask(ruleset, state)))
            if held or root["exact"]:
                assert values.move_results(state)[kept] == result
    assert known[10] > known[0] + 20


def test_who_keeps_the_value_gets_it():
    ruleset = GAME.ruleset(holes=4)
    values, judged = ExactValues.of(ruleset), {}
    for name in ("perfect", "greedy", "random"):
        agents = make_agent(GAME, name), make_agent(GAME, "alpha_beta:depth=3")
        played = play_games(ruleset, agents, 40, lambda k: opening(ruleset, 4, k))
        kept = Kept.of(values, played.states[0], played.actions[0])
        numbers = np.array(played.numbers[0])
        for number in range(40):
            mine = numbers == number
            if (kept.got[mine] == kept.best[mine]).all():
                assert played.results[number] >= kept.best[mine][0]
        judged[name] = thrown_away(played, kept)
    assert judged["perfect"][1] == 0
    assert judged["perfect"][0] > 10
    assert judged["random"][1] > judged["greedy"][1] > 0
    fixed = make_agent(GAME, "leftmost"), make_agent(GAME, "alpha_beta:depth=3")
    assert different_games(play_games(ruleset, fixed, 8, lambda _: opening(ruleset, 0, 0))) == [0, 1]
    over = over_positions(values, make_agent(GAME, "perfect"), values.drawn_positions(1, 50, seed=2))
    assert (over.best == 1).all()
    assert (over.got == 1).all()
    with pytest.raises(GameParameterError, match="up to 6 holes"):
        ExactValues.of(GAME.ruleset())


def test_agents_in_order_of_strength():
    ruleset = GAME.ruleset()
    assert sum(contest(ruleset, ("greedy", "random"), 20)) > 4
    assert sum(contest(ruleset, ("uct:simulations=300", "random"), 8)) > 5
    assert sum(contest(ruleset, ("alpha_beta:depth=4,endgame=6", "random"), 6)) > 3
    assert sum(contest(ruleset, ("alpha_beta:depth=4,endgame=6", "greedy"), 6)) >= 0


@pytest.mark.slow
def test_alpha_beta_plays_wide_boards():
    """Its search is compiled for each board."""
    assert sum(contest(GAME.ruleset(holes=10), ("alpha_beta:depth=2", "random"), 4)) > 0


def test_agents_name_what_is_wrong():
    with pytest.raises(GameParameterError, match="from 0 to 20; got 99"):
        make_agent(GAME, "alpha_beta:endgame=99")
    with pytest.raises(GameParameterError, match="from 0 to 20; got -1"):
        make_agent(GAME, "gumbel_az:endgame=-1")
    with pytest.raises(GameParameterError, match="simulations is a whole number, at least 1"):
        make_agent(GAME, "uct:simulations=0")
    with pytest.raises(GameParameterError, match="up to 4 holes"):
        make_agent(GAME, "perfect").reset(GAME.ruleset(), 0, 0)
    with pytest.raises(GameParameterError, match="at most 40,000,000"):
        Graph(8)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["loops", "--holes", "4"], "13 loops"),
        (["conditions", "--seeds", "10"], "The paper's conditions"),
        (["solve"], "13,963 reachable positions"),
        (["prove", "--holes", "4", "--seeds", "6"], "exactly +0"),
        (["endgame", "--holes", "4", "--seeds", "6"], "3,003 boards"),
        (["enumerate-values", "--holes", "4"], "8,466 boards"),
        (["first-plies", "--holes", "4", "--positions", "20000"], "shortest endless move: ply 3, deb"),
        (["promela", "--holes", "4"], "ltl turn_passes"),
        (["strength", "greedy", "--positions", "20", "--games", "4"], "4x2 against the exact values"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_commands(arguments, words):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert words in result.output


def test_a_played_move_is_the_rules_move():
    """Canonical boards follow the environment."""
    ruleset, params, rng = GAME.ruleset(), tables(8, "illegal"), np.random.default_rng(2)
    state = new_state(ruleset, 0)
    for _ in range(12):
        if is_over(state):
            break
        side, action = int(state["to_move"]), int(rng.choice(np.flatnonzero(action_mask(ruleset, state))))
        own, other, captured = play(params[0], state["board"][side], state["board"][1 - side], action)
        state = step(ruleset, state, action)
        if not is_over(state):
            assert (own, other) == (state["board"][1 - side], state["board"][side])
            assert captured == state["last_captured"]


def test_the_network_plays_by_the_database_side_by_side_as_in_one_game():
    """Late boards, which the database holds, between earlier ones."""
    ruleset = GAME.ruleset()
    agent = make_agent(ruleset.game, "gumbel_az:simulations=8")
    states = []
    for seed in range(12):
        state = new_state(ruleset, seed)
        generator = random.Random(seed)
        while not is_over(state):
            states.append(state)
            state = step(ruleset, state, generator.choice(legal_actions(ruleset, state).tolist()))
    views = np.array([view_of(ruleset, state, int(state["to_move"])) for state in states])
    legal = np.array([action_mask(ruleset, state) for state in states])
    agent.reset(ruleset, 0, 0)
    held = [agent._endgame_play.holds(view) for view in views]
    assert 5 < sum(held) < len(held) - 5
    assert agent.act_batch(views, legal).tolist() == [agent.act(view, mask) for view, mask in zip(views, legal)]

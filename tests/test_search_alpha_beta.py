"""The shared alpha-beta search: its values are minimax values, its budgets hold, repetitions count."""

from __future__ import annotations

import pickle
import random
import re
import threading
import time

import numpy as np
import pytest

from asobiba.baselines.animal_shogi import ladder, search_rules
from asobiba.baselines.search.agent import SearchAgent
from asobiba.baselines.search.alpha_beta import PROVEN, WIN, Searcher
from asobiba.core import GameParameterError, game, make_agent, states
from asobiba.envs.animal_shogi import notation

GAME = game("animal_shogi")
RULES = GAME.ruleset()
PLAIN = {"quiescence": 0, "fold_repetition": False}
MINIMAX = {"alpha_beta": False, "table": "off", "ordering": False, **PLAIN}
VARIANTS = {
    "alpha-beta alone": {"table": "off", "pvs": False, "ordering": False, "killers": False, "history": False},
    "ordering": {"table": "off", "pvs": False},
    "pvs": {"table": "off"},
    "table": {"table": "equal", "pvs": False, "ordering": False},
    "everything": {"table": "equal"},
    "a table too small": {"table": "equal", "table_size": 64},
}


def at(text, ruleset=RULES):
    return notation.text_to_state(ruleset, text)


def played(text, state=None, ruleset=RULES):
    state = states.new_state(ruleset, 0) if state is None else state
    for move in text.split():
        state = states.step(ruleset, state, notation.text_to_action(ruleset, state, move))
    return state


def slow_minimax(searcher, state, depth, ply=0):
    """By the rules of the game themselves, without any of the search."""
    if states.is_over(state):
        return int(state["rewards"][int(state["to_move"])]) * (WIN - ply)
    if depth == 0:
        return searcher.evaluate(state)
    after = [states.step(searcher.ruleset, state, int(a)) for a in states.legal_actions(searcher.ruleset, state)]
    return max(-slow_minimax(searcher, s, depth - 1, ply + 1) for s in after)


def random_positions(count, seed):
    generator = random.Random(seed)
    for _ in range(count):
        state = states.new_state(RULES, 0)
        for _ in range(generator.randrange(20)):
            after = states.step(RULES, state, generator.choice(states.legal_actions(RULES, state).tolist()))
            if states.is_over(after):
                break
            state = after
        yield state


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_gives_the_values_of_minimax(name):
    minimax, searcher = Searcher(RULES, **MINIMAX), Searcher(RULES, **PLAIN, **VARIANTS[name])
    for k, state in enumerate(random_positions(60, 1)):
        depth = 1 + k % 5
        values = minimax.values(state, depth)
        assert searcher.values(state, depth) == values
        found = searcher.search(state, depth=depth)
        assert found.score == max(values.values()) == values[found.action]


def test_minimax_gives_the_values_of_the_rules():
    searcher = Searcher(RULES, **MINIMAX)
    for state in random_positions(12, 2):
        assert searcher.search(state, depth=2).score == slow_minimax(searcher, state, 2)


SHUFFLE = "C4C3 A1A2 C3C4 A2A1 C4C3 A1A2 C3C4"


@pytest.mark.parametrize("plies", range(2, 8))
@pytest.mark.parametrize("name", ["alpha-beta alone", "everything"])
def test_repetitions_count_as_the_rules_count_them(name, plies):
    state = played(" ".join(SHUFFLE.split()[:plies]))
    searcher = Searcher(RULES, **PLAIN, **VARIANTS[name])
    assert searcher.search(state, depth=3).score == slow_minimax(searcher, state, 3)


def test_a_score_that_depends_on_the_path_is_not_stored():
    # After A2A1 the weaker side can reach the third occurrence; without that past the same position is no draw.
    before = played("A1A2 C4C3 A2A1 C3C4 A1A2 C4C3", at("gle/1c1/3/ELG w c"))
    fresh = at(notation.state_to_text(RULES, before))
    searcher = Searcher(RULES, **PLAIN, table="equal", pvs=False)
    drawn = notation.text_to_action(RULES, before, "A2A1")
    assert searcher.values(before, 2)[drawn] == 0
    searcher.search(before, depth=2)
    assert searcher.search(fresh, depth=2).score == Searcher(RULES, **PLAIN, table="off").search(fresh, depth=2).score


def test_the_longest_game_is_a_draw_for_the_search_too():
    ruleset = GAME.ruleset(max_steps=6)
    state = played("C4C3 A1A2 C3C4", ruleset=ruleset)
    searcher = Searcher(ruleset, **PLAIN)
    assert searcher.search(state, depth=3).score == 0


def test_forced_ends_are_found_with_their_distance():
    assert Searcher(RULES, depth=3).search(at("2l/L2/3/3 b 2C2E2G")).plies_to_end == 1
    solved = Searcher(RULES, depth=9).search(at("1l1/3/1L1/3 b 2C2E2G"))
    assert solved.proven == 1
    assert solved.plies_to_end % 2 == 1
    # The line holds by the rules: it ends where the search says, for the side it says.
    state = at("1l1/3/1L1/3 b 2C2E2G")
    for action in solved.pv:
        state = states.step(RULES, state, action)
    assert states.is_over(state)
    assert state["rewards"][0] == 1
    assert len(solved.pv) == solved.plies_to_end


def test_deeper_search_finds_the_same_distances_with_and_without_the_table():
    for state in random_positions(25, 3):
        plain = Searcher(RULES, **PLAIN, table="off").search(state, depth=6)
        table = Searcher(RULES, **PLAIN).search(state, depth=6)
        if plain.proven:
            assert table.score == plain.score


def test_principal_variations_are_legal():
    searcher = Searcher(RULES)
    for state in random_positions(20, 4):
        found = searcher.search(state, depth=7)
        for action in found.pv:
            assert action in states.legal_actions(RULES, state)
            state = states.step(RULES, state, action)


def test_a_budget_of_nodes_holds():
    searcher = Searcher(RULES)
    for nodes in (1, 100, 5000):
        found = searcher.search(states.new_state(RULES, 0), nodes=nodes)
        assert found.nodes <= max(nodes, 400)
        assert found.action >= 0


def test_a_budget_of_time_and_stop_end_the_search():
    searcher = Searcher(RULES)
    state = states.new_state(RULES, 0)
    searcher.search(state, depth=2)
    found = searcher.search(state, seconds=0.05)
    assert found.action >= 0
    assert found.depth < 60
    running = threading.Event()
    results = []
    thread = threading.Thread(target=lambda: results.append(searcher.search(state, depth=90, started=running)))
    thread.start()
    running.wait()
    time.sleep(0.05)
    searcher.stop()
    thread.join()
    assert results[0].action >= 0


def test_equal_searches_count_equal_nodes():
    counts = {Searcher(RULES, depth=8).search(states.new_state(RULES, 0)).nodes for _ in range(2)}
    assert len(counts) == 1


def test_a_cleared_searcher_is_a_new_one():
    """Neither the table, whose entries stand elsewhere where others stood before, nor killers of earlier games count."""
    positions, used = list(random_positions(12, 3)), Searcher(RULES, table_size=256)
    counts = []
    for state in [*positions, *positions]:
        used.clear()
        counts.append(used.search(state, depth=5).nodes)
    assert counts[:12] == counts[12:] == [Searcher(RULES, table_size=256).search(s, depth=5).nodes for s in positions]


def test_entries_of_which_another_thread_wrote_a_half_are_nobodys():
    """The data of all entries stand beside the keys of others, as after two threads that wrote at once."""
    state, torn = states.new_state(RULES, 0), Searcher(RULES)
    first = torn.search(state, depth=6)
    kept = torn.search(state, depth=6)
    assert kept.nodes < first.nodes
    torn._tt_data[:] = np.roll(torn._tt_data, 1)
    torn._history[:] = 0
    torn._frames["killer_0"] = torn._frames["killer_1"] = 0
    again = torn.search(state, depth=6)
    assert (again.nodes, again.table_hits, again.score) == (first.nodes, first.table_hits, first.score)


def test_two_threads_share_a_table_and_give_the_values_of_minimax():
    """The table is so small that they write the same entries all the time."""
    exact = {**VARIANTS["a table too small"], **PLAIN}
    both = Searcher(RULES, threads=2, **exact)
    for state in random_positions(8, 4):
        found = both.search(state, seconds=0.1)
        alone = Searcher(RULES, **exact).search(state, depth=found.depth)
        values = {depth: score for depth, score, *_ in alone.by_depth}
        for depth, score, *_ in found.by_depth:
            assert score == values.get(depth, alone.score)  # settled before this depth
        assert found.action in states.legal_actions(RULES, state)


def test_two_threads_search_only_by_time():
    state, both = states.new_state(RULES, 0), Searcher(RULES, threads=2)
    assert both.search(state, nodes=3000).nodes == Searcher(RULES).search(state, nodes=3000).nodes
    helped = both.search(state, seconds=0.2)
    assert helped.nodes > sum(line[3] for line in helped.by_depth[-1:])
    for budget in ({"nodes": 10}, {"depth": 3}):
        with pytest.raises(GameParameterError, match="threads=2 goes with seconds"):
            Searcher(RULES, threads=2, **budget)
        with pytest.raises(GameParameterError, match="ponder=True goes with seconds"):
            SearchAgent(ponder=True, **budget)
    with pytest.raises(GameParameterError, match="threads is 1 or 2, not 3"):
        Searcher(RULES, threads=3)


def test_each_part_saves_positions():
    state, depth = states.new_state(RULES, 0), 6
    alone = Searcher(RULES, **PLAIN, **VARIANTS["alpha-beta alone"], iterative=False).search(state, depth=depth).nodes
    every = Searcher(RULES, **MINIMAX, iterative=False).search(state, depth=depth).nodes
    ordered = Searcher(RULES, **PLAIN, table="off", iterative=False).search(state, depth=depth).nodes
    table = Searcher(RULES, **PLAIN).search(state, depth=depth).nodes
    late = Searcher(RULES, **PLAIN, late=3).search(state, depth=depth).nodes
    assert every > 5 * alone > 5 * ordered > 5 * table > 5 * late


def test_thresholds_prune_forward():
    state = played("B3B2 B1B2")
    wide = Searcher(RULES, depth=7, quiescence=0, table="off").search(state)
    narrow = Searcher(RULES, depth=7, quiescence=0, table="off", lower=-300, upper=300).search(state)
    assert narrow.nodes < wide.nodes


def test_quiescence_sees_the_capture_behind_the_horizon():
    # At depth 1 taking the protected chick looks like gain; quiescence sees it taken back.
    state = states.new_state(RULES, 0)
    capture = notation.text_to_action(RULES, state, "B3B2")
    blind = Searcher(RULES, quiescence=0).values(state, 1)[capture]
    seeing = Searcher(RULES, quiescence=8).values(state, 1)[capture]
    assert seeing < blind


def test_the_evaluation_is_that_of_the_turned_board():
    searcher = Searcher(RULES)
    for state in random_positions(30, 5):
        rows = notation.state_to_text(RULES, state).split()
        turned = "/".join(_turn(rank) for rank in reversed(rows[0].split("/")))
        other = at(f"{turned} {'w' if rows[1] == 'b' else 'b'} {rows[2].swapcase()}")
        assert searcher.evaluate(state) == searcher.evaluate(other)


def _turn(rank):
    return "".join(reversed([part.swapcase() for part in re.findall(r"\+?.", rank)]))


def test_unknown_weights_and_budgets_are_refused():
    with pytest.raises(GameParameterError, match="no term 'charm'; its terms are: chick"):
        Searcher(RULES, depth=1, weights={"charm": 3})
    with pytest.raises(GameParameterError, match="needs a budget"):
        Searcher(RULES).search(states.new_state(RULES, 0))
    for budget in ({"depth": 0}, {"depth": 2.5}, {"nodes": 0}, {"seconds": 0}):
        with pytest.raises(GameParameterError, match=next(iter(budget))):
            Searcher(RULES, **budget)
    with pytest.raises(GameParameterError, match="table is one of"):
        Searcher(RULES, table="huge")
    with pytest.raises(GameParameterError, match="late is at least 0, not -1"):
        Searcher(RULES, late=-1)
    with pytest.raises(GameParameterError, match="losing is one of"):
        SearchAgent(losing="never", depth=1)
    with pytest.raises(GameParameterError, match="terms are all"):
        ladder.one_ply("luck")


def play(first, second, seed=0, opening=0):
    agents = [make_agent(GAME, name) if isinstance(name, str) else name for name in (first, second)]
    for seat, agent in enumerate(agents):
        agent.reset(RULES, seat, seed)
    state, generator = states.new_state(RULES, seed), random.Random(seed)
    while not states.is_over(state):
        if state["steps"] < opening:
            action = generator.choice(states.legal_actions(RULES, state).tolist())
        else:
            action = agents[int(state["to_move"])].act(state, states.action_mask(RULES, state))
        state = states.step(RULES, state, action)
    return state["rewards"]


def test_the_ladder_climbs():
    def score(strong, weak):
        return sum(float(play(strong, weak, seed, 2)[0]) + float(play(weak, strong, seed, 2)[1]) for seed in range(8))

    assert score("one_ply", "random") > 8
    assert score("minimax:depth=3", "one_ply") > 4
    assert score("alpha_beta:depth=6", "minimax:depth=3") > 4


def test_one_ply_by_check_catches_a_lion_that_can_be_caught():
    state = at("1l1/1L1/3/3 b 2C2E2G")
    agent = ladder.one_ply("check")
    agent.reset(RULES, 0, 0)
    action = agent.act(state, states.action_mask(RULES, state))
    assert notation.action_to_text(RULES, state, action) == "B2B1"


def test_every_term_has_a_weight_and_a_group():
    grouped = [term for terms in search_rules.GROUPS.values() for term in terms]
    assert sorted([*grouped, "turn"]) == sorted(search_rules.TERMS)


def lost_position():
    """A lost position with more than one move, found by search."""
    searcher = Searcher(RULES)
    for state in random_positions(400, 6):
        found = searcher.search(state, depth=7)
        if found.proven < 0 and found.plies_to_end >= 4 and len(states.legal_actions(RULES, state)) > 3:
            return state, found
    raise AssertionError("no such position among these")


def test_the_loser_keeps_fighting():
    state, found = lost_position()
    values = Searcher(RULES, **PLAIN).values(state, 7)
    assert values[found.action] == max(values.values())
    assert all(value < -PROVEN for value in values.values())
    confusing = SearchAgent(losing="confusing", depth=7)
    confusing.reset(RULES, int(state["to_move"]), 0)
    chosen = confusing.act(state, None)

    def share(action):
        after = states.step(RULES, state, action)
        replies = states.legal_actions(RULES, after)
        searcher = Searcher(RULES)
        wins = 0
        for reply in replies:
            then = states.step(RULES, after, int(reply))
            over = states.is_over(then)
            wins += then["rewards"][int(after["to_move"])] > 0 if over else searcher.search(then, depth=4).proven < 0
        return wins / len(replies)

    assert share(chosen) == min(share(int(a)) for a in states.legal_actions(RULES, state))


def test_pondering_leaves_something_for_the_next_move():
    agent = make_agent(GAME, "alpha_beta:depth=7")
    agent.reset(RULES, 0, 0)
    state = states.new_state(RULES, 0)
    state = states.step(RULES, state, agent.act(state, None))
    expected = agent.last.pv[1]
    agent.ponder(state)
    time.sleep(0.2)
    agent.stop_pondering()
    assert agent.pondered.nodes > 0
    state = states.step(RULES, state, expected)
    agent.act(state, None)
    fresh = Searcher(RULES, depth=7).search(state)
    assert agent.last.nodes < fresh.nodes
    agent.ponder(state)
    agent.close()
    assert pickle.loads(pickle.dumps(agent)).settings == agent.settings


def test_an_agent_ponders_by_itself_until_its_next_move():
    agent = SearchAgent(seconds=0.05, threads=2, ponder=True)
    agent.reset(RULES, 0, 0)
    state = states.new_state(RULES, 0)
    for _ in range(3):
        state = states.step(RULES, state, agent.act(state, None))
        expected = agent.expected_reply
        time.sleep(0.1)
        agent.stop_pondering()
        assert agent.pondered.nodes > 0
        state = states.step(RULES, state, int(states.legal_actions(RULES, state)[0]) if expected is None else expected)
    agent.act(state, None)
    assert agent._thread.is_alive()
    agent.close()
    assert agent._thread is None


def test_agents_without_reset_say_so():
    with pytest.raises(RuntimeError, match="reset"):
        make_agent(GAME, "alpha_beta").act(states.new_state(RULES, 0), np.zeros(132))

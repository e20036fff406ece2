"""The table of animal shogi: its values against exhaustive search, its file, the agents and commands that use it."""

from __future__ import annotations

import itertools
from collections import Counter
from math import inf

import numpy as np
import pytest
from animal_shogi_tools import slow_position, turned
from typer.testing import CliRunner

from asobiba.baselines.animal_shogi import table_commands
from asobiba.baselines.animal_shogi.analysis import analyse_position, perfect_line
from asobiba.baselines.animal_shogi.perfect import (
    Accuracy,
    GradedAgent,
    PerfectAgent,
    judge_decisions,
    utilities,
)
from asobiba.baselines.animal_shogi.solver import index, retrograde, solve
from asobiba.baselines.animal_shogi.solver.index import SIZE, material_code
from asobiba.baselines.animal_shogi.solver.lookup import packed_position
from asobiba.baselines.animal_shogi.solver.published import comparison, measure
from asobiba.baselines.animal_shogi.solver.table import DRAW_BYTE, TableError, TableMissing, ValueTable, write_table
from asobiba.baselines.animal_shogi.solver.unfolded import unfolded_distances
from asobiba.baselines.animal_shogi.strength import drawn_positions, over_positions, won_from
from asobiba.baselines.search.own_games import opening, play
from asobiba.core import game, make_agent
from asobiba.core.errors import GameParameterError
from asobiba.core.states import action_mask, is_over, legal_actions, new_state, step
from asobiba.envs.animal_shogi.position import judge
from asobiba.envs.animal_shogi.reference import ReferenceGame

RULESET = game("animal_shogi").ruleset()
SMALL = 2


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """The table of all sub-games with at most two pieces besides the lions."""
    return ValueTable.open(solve.solve_small(tmp_path_factory.mktemp("table") / "small.table", SMALL), checksum=True)


def state_of(position: int, side: int = 0) -> np.void:
    """A game that begins at a position (with fewer pieces, which the rules do not mind)."""
    states = RULESET.zeros()
    judge(states, RULESET.params, position, side)
    return states[0]


def every_slow_game(pieces: tuple[str, ...]):
    """All positions of two lions and these pieces, the first player to move."""
    squares = [(x, y) for x in range(3) for y in range(4)]
    for lion, other in itertools.permutations(squares, 2):
        places = [s for s in squares if s not in (lion, other)]
        choices = [
            [("hand", p, kind) for p in (0, 1)]
            + [(s, p, k) for s in places for p in (0, 1) for k in ((kind, "hen") if kind == "chick" else (kind,))]
            for kind in pieces
        ]
        for chosen in itertools.product(*choices):
            on_board = [place for place, _, _ in chosen if place != "hand"]
            if len(set(on_board)) < len(on_board):
                continue
            slow = ReferenceGame()
            slow.board = {lion: (0, "lion"), other: (1, "lion")}
            slow.hands = [Counter(), Counter()]
            for place, player, kind in chosen:
                if place == "hand":
                    slow.hands[player][kind] += 1
                else:
                    slow.board[place] = (player, kind)
            yield slow


@pytest.mark.parametrize("pieces", [("chick",), ("giraffe",), ("elephant",)])
def test_values_agree_with_exhaustive_search(table, pieces):
    followers: dict[int, list] = {}
    for slow in every_slow_game(pieces):
        lion, other = slow.lion_of(0), slow.lion_of(1)
        caught = slow.attacked(other, 0)
        if lion[1] == 0 or (other[1] == 3 and not caught):
            continue  # a try has succeeded
        results: list = []
        for move in slow.moves():
            after = slow.copy()
            after.seen.clear()
            after.play(move)
            results.append(slow_position(*turned(after)) if after.result is None else after.result[0])
            if results[-1] in (0, 1) and after.result is not None:
                results[-1] = "won" if after.result[0] == 0 else "lost"
        followers[slow_position(slow.board, slow.hands)] = results
    plies = naive_values(followers)
    positions = np.array(list(followers))
    outcomes, distances = table.values(positions)
    for position, outcome, distance in zip(positions.tolist(), outcomes, distances):
        expected = plies.get(position)
        assert (outcome, distance) == ((0, -1) if expected is None else (1 if expected % 2 else -1, expected))
    assert len(plies) > 100


def naive_values(followers: dict[int, list]) -> dict[int, int]:
    """Plies to the end of every position that is not drawn, by looking at all of them again and again."""
    known: dict[int, int] = {position: 0 for position, results in followers.items() if not results}
    for level in itertools.count(1):
        new = {}
        for position, results in followers.items():
            if position in known:
                continue
            after = [0 if r == "won" else inf if r == "lost" else known.get(r, inf) for r in results]
            won = any(a % 2 == 0 and a == level - 1 for a in after if a != inf)
            lost = all(r == "lost" or (a != inf and a % 2) for r, a in zip(results, after))
            if won or (lost and level % 2 == 0):
                new[position] = level
        if not new and level > 4:
            break
        known.update(new)
    return known


def test_table_agrees_with_the_rules_move_by_move(table):
    """The value of a position is the best of its moves, played by the rules of the environment."""
    generator = np.random.default_rng(1)
    checked = 0
    for material in table.materials:
        for number in generator.integers(0, index.open_numbers(material), 12):
            state = state_of(int(packed_position(material, int(number))))
            if is_over(state):
                continue
            outcome, plies = (int(x[0]) for x in table.values(np.array([state["position"]])))
            best = (-2, 0)
            for action in legal_actions(RULESET, state):
                after = step(RULESET, state, int(action))
                if is_over(after):
                    value = (int(after["rewards"][0]), 1)
                else:
                    o, p = table.values(np.array([after["position"]]))
                    value = (-int(o[0]), int(p[0]) + 1 if o[0] else -1)
                best = max(best, value, key=lambda v: v[0] * (0.5 + 0.5 / max(v[1], 1)))
            assert (outcome, plies) == best
            checked += 1
    assert checked > 50


def test_table_files_are_checked(tmp_path, table):
    data = table.path.read_bytes()
    missing = tmp_path / "none.table"
    with pytest.raises(TableMissing, match="asobiba solve animal_shogi"):
        ValueTable.open(missing)
    for content, message in (
        (b"noise", "no header|does not begin"),
        (data[:-10], "cut short"),
        (b"", "does not begin"),
    ):
        path = tmp_path / f"{len(content)}.table"
        path.write_bytes(content)
        with pytest.raises(TableError, match=message):
            ValueTable.open(path)
    damaged = tmp_path / "damaged.table"
    damaged.write_bytes(data[:-1000] + bytes(1000))
    with pytest.raises(TableError, match="checksum"):
        ValueTable.open(damaged, checksum=True)


def test_distances_are_counted(table):
    material = material_code(1, 0, 1)
    values = solve.solve_material(material)
    counts = table.distances(material)
    assert counts.sum() == (values != retrograde.OUTSIDE).sum()
    assert counts[3] == (values == 3).sum()


def test_unfolded_counts_take_both_images_of_lions_on_the_middle_file(table):
    """Counted the slow way: every number of these placements, whichever image it is, by the value of its position."""
    material = material_code(0, 1, 0)
    size, slow = int(SIZE[material]), table.distances(material)
    for placement in range(index.OPEN_PLACEMENTS):
        if index.LIONS[placement].tolist() not in ([1, 7], [1, 10], [4, 10]):
            continue
        for number in range(placement * size, (placement + 1) * size):
            position = int(packed_position(material, number))
            if number == index.number_of(material, index.position_of(material, number)):
                continue  # counted already
            outcome, plies = table.values(np.array([position]))
            if plies[0] != 1 or outcome[0] != 1 or len(table.stored(material, number, number + 1, 0)[0]):
                slow[DRAW_BYTE if outcome[0] == 0 else plies[0]] += 1
    assert (unfolded_distances(table, material) == slow).all()
    assert slow.sum() > table.distances(material).sum()


def test_usual_place_of_the_table(tmp_path, monkeypatch):
    monkeypatch.setenv("ASOBIBA_DATA_DIR", str(tmp_path))
    with pytest.raises(TableMissing, match=str(tmp_path)):
        ValueTable.open()
    agent = make_agent(RULESET.game, "perfect")
    with pytest.raises(TableMissing):
        agent.reset(RULESET, 0, 1)


def test_a_small_table_refuses_the_whole_game(table):
    with pytest.raises(TableError, match="0 elephants, 0 giraffes, 0 chicks"):
        table.values(np.array([new_state(RULESET, 0)["position"]]))


def test_notes_must_fit(tmp_path):
    with pytest.raises(TableError, match="must fit"):
        write_table(tmp_path / "x", {0: retrograde.blank(0)}, {"long": "x" * 5000})


def some_states(table, outcome: int, count: int, least: int = 3) -> list[np.void]:
    """States of sub-games with this outcome for the player to move and at least so many plies to the end."""
    generator = np.random.default_rng(2)
    material, found = max(table.materials, key=lambda m: SIZE[m]), []
    while len(found) < count:
        state = state_of(int(packed_position(material, int(generator.integers(0, index.open_numbers(material))))))
        if is_over(state):
            continue
        value, plies = table.values(np.array([state["position"]]))
        if value[0] == outcome and (plies[0] >= least or outcome == 0):
            found.append(state)
    return found


def play_out(first, second, state) -> np.void:
    agents = {int(state["to_move"]): first, 1 - int(state["to_move"]): second}
    for seat, agent in agents.items():
        agent.reset(RULESET, seat, 3)
    while not is_over(state):
        state = step(RULESET, state, agents[int(state["to_move"])].act(state, action_mask(RULESET, state)))
    return state


def test_perfect_wins_won_positions_in_the_exact_number_of_plies(table):
    for state in some_states(table, 1, 8):
        plies = int(table.values(np.array([state["position"]]))[1][0])
        end = play_out(PerfectAgent(table.path), PerfectAgent(table.path), state)
        assert end["rewards"][0] == 1
        assert end["steps"] == plies
        assert play_out(PerfectAgent(table.path), make_agent(RULESET.game, "random"), state)["rewards"][0] == 1


def test_perfect_resists_as_long_as_possible_and_never_loses_a_draw(table):
    for state in some_states(table, -1, 4):
        plies = int(table.values(np.array([state["position"]]))[1][0])
        assert play_out(PerfectAgent(table.path), PerfectAgent(table.path), state)["steps"] == plies
        end = play_out(PerfectAgent(table.path), GradedAgent(3, table.path), state)
        assert end["rewards"][0] >= 0 or end["steps"] >= plies  # a weaker winner may throw the win away
    for state in some_states(table, 0, 4):
        assert play_out(PerfectAgent(table.path), GradedAgent(8, table.path), state)["rewards"][0] >= 0


def test_perfect_answers_batches_as_it_answers_one_by_one(table):
    states = np.array(some_states(table, 1, 6) + some_states(table, -1, 6))
    masks = np.array([action_mask(RULESET, s) for s in states])
    agent = PerfectAgent(table.path)
    agent.reset(RULESET, 0, 1)
    assert agent.act_batch(states, masks).tolist() == [agent.act(s, m) for s, m in zip(states, masks)]


def test_strength_runs_from_random_to_perfect(table):
    states = np.array(some_states(table, 1, 10))
    masks = np.array([action_mask(RULESET, s) for s in states])
    best = None
    shares = []
    for strength in (0, 1, 4, 16, 10_000):
        agent = GradedAgent(strength, table.path)
        agent.reset(RULESET, 0, 1)
        chances = agent.probabilities(states, masks)
        np.testing.assert_allclose(chances.sum(1), 1)
        assert (chances[masks == 0] == 0).all()
        scores = agent.move_utilities(states, masks)
        best = scores == scores.max(1, keepdims=True)
        shares.append((chances * best).sum(1).mean())
        if strength == 0:
            np.testing.assert_allclose(chances, masks / masks.sum(1, keepdims=True))
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_utilities_order_moves():
    order = [(1, 1), (1, 3), (1, 173), (0, -1), (-1, 172), (-1, 4), (-1, 2), (-2, 0)]
    scores = utilities(np.array([o for o, _ in order]), np.array([p for _, p in order]))
    assert (np.diff(scores) < 0).all()
    assert scores[0] == 1
    assert scores[-1] == -inf


@pytest.mark.parametrize("strength", [-1, "much", True, float("nan")])
def test_strength_must_be_a_number(strength):
    with pytest.raises(GameParameterError, match="strength"):
        GradedAgent(strength)


def test_perfect_play_wins_what_is_won_and_random_play_does_not(table):
    won = drawn_positions(table, RULESET, (1,), 40, 1)
    assert won_from(table, RULESET, PerfectAgent(table.path), won) == 40
    assert 0 < won_from(table, RULESET, make_agent(game("animal_shogi"), "random"), won) < 40
    lost = drawn_positions(table, RULESET, (-1,), 40, 1)
    assert won_from(table, RULESET, PerfectAgent(table.path), lost) == 0


def test_accuracy_counts_decisions(table):
    states = np.array(some_states(table, 1, 20))
    masks = np.array([action_mask(RULESET, s) for s in states])
    outcomes, _ = table.move_values(states["position"], masks)
    agent = PerfectAgent(table.path)
    agent.reset(RULESET, 0, 1)
    perfect = judge_decisions(table, states["position"], masks, agent.act_batch(states, masks))
    assert (perfect.decisions, perfect.kept, perfect.fastest, perfect.share) == (20, 20, 20, 1)
    worst = judge_decisions(table, states["position"], masks, np.where(masks, -outcomes.astype(int), -9).argmax(1))
    assert worst.choices == perfect.choices > 0
    assert worst.kept_choices == 0
    assert (perfect + worst).decisions == 40
    assert np.isnan(Accuracy().share)
    with pytest.raises(ValueError, match="not legal"):
        judge_decisions(table, states["position"][:1], masks[:1], np.array([int(np.flatnonzero(masks[0] == 0)[0])]))


def test_positions_are_drawn_with_the_outcome_asked_for_and_perfect_play_keeps_them(table):
    for outcome in (1, 0):
        states = drawn_positions(table, RULESET, (outcome,), 12, seed=outcome)
        outcomes, plies = table.values(np.array([s["position"] for s in states]))
        assert (outcomes == outcome).all()
        assert (plies != 0).all()
        found = over_positions(table, RULESET, PerfectAgent(table.path), states)
        assert (found.accuracy.share, found.loss) == (1, 0)
        assert over_positions(table, RULESET, make_agent(game("animal_shogi"), "first_legal"), states).loss >= 0


def test_games_from_the_same_beginning_change_sides():
    agents = make_agent(game("animal_shogi"), "one_ply"), make_agent(game("animal_shogi"), "random")
    played = play(RULESET, agents, 6, lambda k: opening(RULESET, 4, k))
    assert played.games == 6
    assert played.points >= 4
    begins = [int(s["to_move"]) for s in played.states[0]]
    assert {0, 1} == set(begins)
    assert len(played.actions[0]) == len(played.states[0]) > 6


def test_analysis_lists_moves_best_first(table):
    state = some_states(table, 1, 1)[0]
    found = analyse_position(table, RULESET, state)
    assert found.text.startswith("won in ")
    assert found.moves[0].outcome == 1
    assert found.moves[0].plies == found.plies
    assert len(found.moves) == action_mask(RULESET, state).sum()
    scores = utilities(np.array([m.outcome for m in found.moves]), np.array([m.plies for m in found.moves]))
    assert (np.diff(scores) <= 0).all()
    line = perfect_line(table, RULESET, state, 100)
    assert len(line) == found.plies
    assert line[0] == found.moves[0].name


def test_commands_around_a_small_table(tmp_path, table):
    runner = CliRunner()
    file = tmp_path / "one.table"
    done = runner.invoke(table_commands.app, ["solve", "--pieces", "1", "--table", str(file)])
    assert done.exit_code == 0, done.output
    assert ValueTable.open(file).materials == (0, 1, 3, 9)
    for arguments in (["--pieces", "1"], ["--pieces", "9", "--table", str(file)], ["--threads", "0"]):
        assert runner.invoke(table_commands.app, ["solve", *arguments]).exit_code != 0
    missing = runner.invoke(table_commands.app, ["analyse", "--table", str(tmp_path / "none")])
    assert isinstance(missing.exception, TableMissing)
    missing = runner.invoke(table_commands.app, ["reproduce", "--table", str(tmp_path / "none.table")])
    assert isinstance(missing.exception, TableMissing)
    refused = runner.invoke(table_commands.app, ["analyse", "--table", str(table.path)])
    assert isinstance(refused.exception, TableError)


@pytest.mark.slow
def test_the_whole_game_as_published(tmp_path):
    """Solves the whole game and compares every published figure; minutes, about 1 GB of memory."""
    file = tmp_path / "animal_shogi.table"
    counted = solve.solve_game(file)
    assert counted["contradictions"] == 0
    whole = ValueTable.open(file)
    differing = [line.name for line in comparison(counted, measure(whole, RULESET)) if not line.agrees]
    assert differing == []
    assert file.stat().st_size < 200_000_000
    end = play_out(make_agent(RULESET.game, "random"), PerfectAgent(file), new_state(RULESET, 0))
    assert end["rewards"][1] == 1

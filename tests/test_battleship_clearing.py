"""Hiding and searching: exact searches and equilibria against OpenSpiel and a published figure, beliefs against exact counts,
and learned placements."""

from __future__ import annotations

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as spiel_policy
from open_spiel.python.algorithms import best_response, cfr, exploitability
from typer.testing import CliRunner

from asobiba.baselines.battleship.clearing import Hiding, beliefs, draw, edges, shots_to_clear
from asobiba.baselines.battleship.counting import count_placements, knowledge
from asobiba.baselines.battleship.equilibrium import classes_of, even, gradient, prior_of, saved, searcher, stored
from asobiba.baselines.battleship.exact_clearing import SmallBoard
from asobiba.baselines.battleship.readings import covered
from asobiba.cli import app
from asobiba.core import GameParameterError, game
from asobiba.core.states import new_state
from asobiba.envs.battleship.reference import ReferenceGame

BATTLESHIP, ATTACK = game("battleship"), game("battleship_attack")


def hide_and_seek(height, width, sizes):
    """The game for OpenSpiel, by the plain rules: the hider chooses a fleet, the searcher shoots; a shot costs it 1."""
    plain = ReferenceGame(height, width, sizes)
    cells = height * width
    fleets = [[]]
    for _ in sizes:
        fleets = [[*ships, ship] for ships in fleets for ship in plain.options(ships).values()]
    kind = pyspiel.GameType(
        short_name=f"hide_{height}_{width}_{'_'.join(map(str, sizes))}", long_name="hide and seek",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL, chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION, utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL, max_num_players=2, min_num_players=2,
        provides_information_state_string=True, provides_information_state_tensor=False,
        provides_observation_string=False, provides_observation_tensor=False, parameter_specification={},
    )  # fmt: skip
    info = pyspiel.GameInfo(
        num_distinct_actions=max(cells, len(fleets)), max_chance_outcomes=0, num_players=2,
        min_utility=-float(cells), max_utility=float(cells), utility_sum=0.0, max_game_length=cells + 1,
    )  # fmt: skip

    class Hiding(pyspiel.Game):
        def __init__(self, params=None):
            super().__init__(kind, info, params or {})

        def new_initial_state(self):
            return Searching(self)

    class Searching(pyspiel.State):
        def __init__(self, spiel):
            super().__init__(spiel)
            self.fleet, self.told = None, ()

        def current_player(self):
            if self.fleet is None:
                return 0
            return pyspiel.PlayerId.TERMINAL if self.is_terminal() else 1

        def _legal_actions(self, player):
            shot = {cell for cell, _ in self.told}
            return list(range(len(fleets))) if self.fleet is None else [c for c in range(cells) if c not in shot]

        def _apply_action(self, action):
            if self.fleet is None:
                self.fleet = action
                return
            shot = {divmod(cell, width) for cell, _ in self.told} | {divmod(action, width)}
            hit = [k for k, ship in enumerate(fleets[self.fleet]) if divmod(action, width) in ship]
            answer = "miss" if not hit else f"sunk {hit[0]}" if fleets[self.fleet][hit[0]] <= shot else "hit"
            self.told = (*self.told, (action, answer))

        def is_terminal(self):
            shot = {divmod(cell, width) for cell, _ in self.told}
            return self.fleet is not None and all(ship <= shot for ship in fleets[self.fleet])

        def returns(self):
            return [float(len(self.told)), -float(len(self.told))] if self.is_terminal() else [0.0, 0.0]

        def information_state_string(self, player=None):
            return (
                "hide"
                if (self.current_player() if player is None else player) == 0
                else str(sorted(self.told)) + str([c for c, a in self.told if a != "miss"])
            )

        def __str__(self):
            return f"{self.fleet} {self.told}"

    pyspiel.register_game(kind, Hiding)
    return Hiding(), len(fleets)


@pytest.mark.parametrize(
    ("height", "width", "sizes"), [(1, 4, (2, 1)), pytest.param(1, 5, (2, 1), marks=pytest.mark.slow)]
)
def test_searches_and_equilibria_are_openspiels(height, width, sizes):
    spiel, count = hide_and_seek(height, width, sizes)
    board = SmallBoard(BATTLESHIP.ruleset(height=height, width=width, fleet=sizes))
    assert len(board.fleets) == count
    even_search = board.search(np.ones(count))
    uniform = spiel_policy.UniformRandomPolicy(spiel)
    answer = best_response.BestResponsePolicy(spiel, 1, uniform).value(spiel.new_initial_state())
    assert even_search.mean == pytest.approx(-answer)
    assert even_search.shots.mean() == pytest.approx(even_search.mean)
    found = board.equilibrium()
    solver = cfr.CFRPlusSolver(spiel)
    for _ in range(50):
        solver.evaluate_and_update_policy()
    average = solver.average_policy()
    values = [
        best_response.BestResponsePolicy(spiel, seat, average).value(spiel.new_initial_state()) for seat in (0, 1)
    ]
    assert -values[1] - 1e-9 <= found.low <= found.high + 1e-9 <= values[0] + 2e-9
    assert exploitability.nash_conv(spiel, average) < 0.05
    assert found.high - found.low < 1e-6


def test_the_best_search_on_20_cells_needs_what_mayflower_published():
    board = SmallBoard(BATTLESHIP.ruleset(height=5, width=4, fleet=(3,)))
    assert round(board.search(np.ones(len(board.fleets))).mean, 2) == 6.23


def test_beliefs_are_near_the_exact_counts_where_these_can_be_had():
    rules = ATTACK.ruleset()
    answers = [
        ("E5", "miss"),
        ("C3", "hit"),
        ("C4", "hit"),
        ("G7", "miss"),
        ("H4", "hit"),
        ("B8", "miss"),
        ("J2", "miss"),
    ]
    view = knowledge(rules, answers)
    exact = count_placements(rules, view).probability.ravel()
    believed = beliefs(rules, view, rounds=20).sum(0)
    assert believed.sum() == pytest.approx(17)  # every ship lies somewhere
    shot = view["answers"][0] != 0
    assert np.corrcoef(believed, exact)[0, 1] > 0.98
    assert np.argmax(np.where(shot, 0, believed)) == np.argmax(np.where(shot, 0, exact))
    assert np.abs(believed - exact)[shot].max() < 0.01  # hits are covered once, misses never


def test_an_empty_board_is_believed_as_it_is_counted():
    rules = ATTACK.ruleset()
    exact = count_placements(rules, new_state(rules, 0)).probability.ravel()
    assert np.abs(beliefs(rules, new_state(rules, 0), rounds=20).sum(0) - exact).max() < 0.005


def test_fleets_are_drawn_by_their_weights():
    rules = ATTACK.ruleset(height=3, width=3, fleet=(2, 1))
    weights = np.array([[1.0, 2, 0, 1, 1, 0, 3, 1, 0, *[1.0] * 6, 0, 0, 0], [*range(1, 10), *[0.0] * 9]])
    hiding = Hiding(weights, 0.5)
    fleets = draw(rules, hiding, 20_000, 3)
    every = np.array([(a, b) for a in range(18) for b in range(18) if weights[0, a] and weights[1, b]])
    every = every[covered(rules, every).sum(1) == 3]
    expected = weights[0, every[:, 0]] * weights[1, every[:, 1]] * 0.5 ** edges(rules, every)
    drawn = np.array([(fleets == fleet).all(1).mean() for fleet in every])
    assert drawn.sum() == pytest.approx(1)
    assert np.abs(drawn - expected / expected.sum()).max() < 0.01


def test_a_searcher_that_knows_the_placement_needs_half_the_shots():
    rules = ATTACK.ruleset()
    fleets = draw(rules, "ed1", 200, 1)
    plain = shots_to_clear(rules, searcher(), fleets, 5).mean()
    knowing = shots_to_clear(rules, searcher(prior_of(rules, "ed1", 2000)), fleets, 5).mean()
    assert knowing < 0.6 * plain


def test_beliefs_clear_a_board_in_as_few_shots_as_exact_counting_is_published_to():
    rules = ATTACK.ruleset()
    shots = shots_to_clear(rules, searcher(), draw(rules, "r", 2000, 1), 5)
    assert abs(shots.mean() - 44.37) < 4 * 8.87 / 2000**0.5  # mayflower, standard deviation 8.87


def test_the_gradient_points_to_the_fleets_that_cost_more():
    rules = ATTACK.ruleset()
    fleets = draw(rules, even(rules), 2000, 4)
    classes = classes_of(rules)
    rare, dear = classes[4, 0], 3.0  # the smallest ship in a corner
    shots = 40.0 + dear * (classes[4][fleets[:, 4]] == rare) - 0.5 * np.minimum(edges(rules, fleets), 6)
    found = gradient(rules, fleets, shots)
    others = np.setdiff1d(np.unique(classes[4][classes[4] >= 0]), [rare])
    assert found[rare] - found[others].mean() == pytest.approx(dear, abs=0.4)
    assert found[-1] == pytest.approx(-0.5, abs=0.05)


def test_a_hiding_is_stored_by_the_classes_of_its_placements():
    rules = ATTACK.ruleset()
    weights = np.where(classes_of(rules) >= 0, classes_of(rules) + 1.0, 0.0)
    again = saved(rules, stored(rules, Hiding(weights, 0.75)))
    assert (again.weights == weights).all()
    assert again.touch == 0.75


def test_what_is_no_small_board_is_refused():
    with pytest.raises(GameParameterError, match="place of a sunk ship"):
        SmallBoard(BATTLESHIP.ruleset(height=3, width=3, fleet=(2,), sunk="place"))
    with pytest.raises(GameParameterError, match="at most 64 cells"):
        SmallBoard(BATTLESHIP.ruleset(height=9, width=9, fleet=(2,)))


def test_the_commands_show_shots_and_exact_values():
    shown = CliRunner().invoke(app, ["battleship", "shots", "r", "rnb", "--games", "50"])
    assert shown.exit_code == 0, shown.output
    assert "50 games" in shown.output
    exact = CliRunner().invoke(
        app, ["battleship", "hiding", "random", "-p", "height=2", "-p", "width=2", "-p", "fleet=[2]"]
    )
    assert exact.exit_code == 0, exact.output
    assert "3.0000" in exact.output  # the best search
    assert "3.3333" in exact.output  # the last of two cells among four shots in random order: 2 * 5 / 3
    assert "0.3333" in exact.output

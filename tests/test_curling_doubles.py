"""Mixed doubles and the no-tick rule beside Digital Curling 4's own code, and what else mixed doubles adds."""

from __future__ import annotations

from pathlib import Path

import curling_beside_dc4 as beside
import numpy as np
import pytest

from asobiba.baselines.curling.doubles.players import Ayumu
from asobiba.core import GameParameterError, IllegalAction, NotationError, PositionError, game, make_agent, states
from asobiba.envs.curling.doubles import layout, rules
from asobiba.envs.curling.doubles.notation import placement_action
from asobiba.envs.curling.doubles.simulate import deliver, place
from asobiba.envs.curling.simulate import Shot

RECORDING = Path(__file__).with_name("data") / "curling_dc4.json.xz"
DOUBLES = game("curling_doubles")
EXACT = DOUBLES.ruleset(noise="none")


def begun(placement=rules.HOUSE, ruleset=EXACT):
    return place(ruleset, states.new_state(ruleset, 1), placement)


def thrown(state, x, y, speed=0.0, ruleset=EXACT):
    shot = Shot.hit(ruleset, x, y, 1, speed) if speed else Shot.draw(ruleset, x, y, 1)
    return deliver(ruleset, state, shot, exact=True)


def through(state, ruleset=EXACT):
    """A shot that touches nothing and leaves the sheet."""
    return deliver(ruleset, state, Shot(0.4, 2.0, -1), exact=True)


@pytest.fixture(scope="module")
def recording():
    return beside.load(RECORDING)


@pytest.mark.parametrize("rule", [beside.MODIFIED_FGZ, beside.FGZ, beside.NO_TICK])
def test_shots_and_ends_of_the_official_server_come_out(recording, rule):
    """Placements, who is to throw and to decide, scores and winners are equal; of the shots, all but a few whose stones our
    contacts send elsewhere."""
    found = beside.compare(recording, rule)
    assert found.counts["taken back"] >= 20
    assert found.counts["shots that differ"] <= 0.01 * found.counts["shots"]
    assert np.quantile(found.errors, 0.5) < 0.003
    assert np.quantile(found.errors, 0.95) < 0.05
    if rule == beside.MODIFIED_FGZ:
        assert found.counts["placements"] >= 60
        assert found.counts["power plays"] >= 20
        assert found.counts["blank ends"] >= 1


def test_the_guard_of_the_side_that_decides_means_that_it_throws_first():
    state = begun(rules.GUARD)
    assert (int(state["hammer"]), int(state["to_move"]), int(state["shot"])) == (0, 1, rules.FIRST_SHOT)
    assert state["stones"][rules.POSITIONED].tolist() == [0.0, -3.055]
    state = begun(rules.HOUSE)
    assert (int(state["hammer"]), int(state["to_move"])) == (1, 0)
    assert state["stones"][rules.POSITIONED + 1].tolist() == [0.0, 0.465]


def test_a_power_play_is_had_once_and_not_in_an_extra_end():
    ruleset = DOUBLES.ruleset(noise="none", ends=2)
    state = begun(rules.LEFT, ruleset)
    assert state["stones"][4:6].tolist() == [[-1.093, -3.055], [-1.219, -0.145]]
    assert state["power_end"].tolist() == [-1, 0]
    for _ in range(2):
        while state["shot"]:
            state = through(state, ruleset)
        decider = int(state["decider"])
        state = place(ruleset, state, rules.RIGHT)
        extra = int(state["end"]) == 2
        if extra or state["power_end"][decider] == 0:
            assert state["stones"][4:6, 0].tolist() == [0.0, 0.0]
    assert int(state["end"]) == 2


def test_the_stone_in_the_house_counts_and_the_other_side_decides_next():
    state = begun(rules.HOUSE)  # the second side's stone lies in the house
    for _ in range(10):
        state = through(state)
    assert state["total"].tolist() == [0, 1]
    assert (int(state["decider"]), int(state["to_move"]), int(state["shot"])) == (0, 0, 0)


def test_after_a_blank_end_the_decision_passes():
    state = begun(rules.HOUSE)
    state["stones"][5], state["in_play"][5] = 0.0, 0
    for _ in range(10):
        state = through(state)
    assert state["total"].tolist() == [0, 0]
    assert int(state["decider"]) == 0


def test_no_stone_is_removed_before_the_fourth_delivered_one():
    for taken in range(6):
        state = begun(rules.HOUSE)
        for _ in range(taken):
            state = through(state)
        before = state["stones"].copy()
        state = thrown(state, 0.0, 0.465, 3.0)  # at either stone: whose it is does not matter
        assert bool(state["foul"]) == (taken < 3)
        assert bool(state["in_play"][4:6].all()) == (taken < 3)
        assert taken >= 3 or state["stones"].tobytes() == before.tobytes()


def test_only_placements_are_played_where_one_is_due():
    state = states.new_state(EXACT, 1)
    with pytest.raises(IllegalAction, match="placed first"):
        through(state)
    with pytest.raises(IllegalAction, match="from 0 to 3"):
        place(EXACT, state, 4)
    with pytest.raises(IllegalAction, match="no placement is due"):
        place(EXACT, begun(), rules.GUARD)
    for number, name in enumerate(rules.PLACEMENTS):
        action = EXACT.notation.text_to_action(EXACT, state, name)
        assert action.tolist() == placement_action(EXACT, number).tolist()
        assert EXACT.notation.action_to_text(EXACT, state, action) == name
    with pytest.raises(NotationError, match="a placement"):
        EXACT.notation.text_to_action(EXACT, state, "draw 0 0 ccw")
    with pytest.raises(NotationError, match="a shot"):
        EXACT.notation.text_to_action(EXACT, begun(), "guard")


def test_positions_are_read():
    text = "e2 s1 h2 d2 p1 3:1 0.000000,-3.055000 0.000000,0.465000 0.012500,-2.100000 - - - - - - - - -"
    state = EXACT.notation.text_to_state(EXACT, text)
    assert (int(state["shot"]), int(state["to_move"]), state["power_end"].tolist()) == (7, 1, [0, -1])
    assert EXACT.notation.state_to_text(EXACT, state) == text
    for wrong, why in (
        ("e2 s1", "not a position"),
        (text.replace("s1", "s-"), "before the placement"),
        (text.replace("e2", "e255"), "no end 255"),
        (text.replace("s1", "s0"), "has not been thrown"),
        (text.replace("e2", "e0").replace("p1", "p12"), "power plays"),
    ):
        with pytest.raises(PositionError, match=why):
            EXACT.notation.text_to_state(EXACT, wrong)


def test_bad_parameters_are_refused_by_name():
    for given in ({"pattern": 6}, {"pattern": True}, {"reward": "win_probability"}, {"ends": 11}, {"noise": "gat"}):
        with pytest.raises(GameParameterError, match=next(iter(given))):
            DOUBLES.ruleset(**given)
    assert layout.positioned_stones(5)[1].tolist() == [[1.047, -5.175], [1.219, -0.145]]


def test_agents_place_and_play_to_the_end():
    ruleset = DOUBLES.ruleset(ends=1, extra_ends=0, lead=2)
    for text in ("tee_draw", "rule_based:trials=3", "ayumu:simulations=200"):
        agents = [make_agent(DOUBLES, text) for _ in range(2)]
        for seat, agent in enumerate(agents):
            agent.begin(ruleset, [seat], [seat])
        state = states.new_state(ruleset, 1)
        first = agents[1].act(state, np.zeros(0, np.int8))
        assert rules.placement_of(first[3]) == rules.RIGHT  # behind by two
        while not states.is_over(state):
            mover = agents[int(state["to_move"])]
            state = states.step(ruleset, state, mover.act(state, np.zeros(0, np.int8)))
        assert int(state["end"]) == 1


def test_a_search_is_ready_before_its_first_shot(monkeypatch):
    """A game begins with a placement, so that a first move alone compiles nothing of the search."""
    thought = []
    choose = Ayumu.choose
    monkeypatch.setattr(Ayumu, "choose", lambda self, view: thought.append(int(view["shot"])) or choose(self, view))
    ruleset = DOUBLES.ruleset(ends=1)
    agent = make_agent(DOUBLES, "ayumu:simulations=4")
    agent.begin(ruleset, [0], [1])
    assert thought == [rules.FIRST_SHOT]
    agent.begin(ruleset, [0], [1])
    assert thought == [rules.FIRST_SHOT]

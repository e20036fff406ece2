"""The basic play, sentence by sentence of its paper, on positions made for each; and the published wins."""

import numpy as np
import pytest

from asobiba import game
from asobiba.baselines.werewolf.basic_play import NEAREST, OPEN_POINTS, basic_agent
from asobiba.baselines.werewolf.published import WOLF_WINS
from asobiba.baselines.werewolf.reproduction import percent, run
from asobiba.core import states
from asobiba.envs.werewolf import layout
from asobiba.envs.werewolf.notation import decode

# Seats: villagers 0 to 7, the seer 8, the medium 9, the bodyguard 10, the possessed 11, werewolves 12 to 14.
RULESET = game("werewolf").ruleset(deal="vvvvvvvvsmbpwww")
SEER, MEDIUM, BODYGUARD, POSSESSED, WOLF = 8, 9, 10, 11, 12
HUMANS, WOLVES = set(range(12)), {12, 13, 14}
BLACK, WHITE = layout.WOLF, layout.HUMAN


def village(day, dead=(), seers=(), mediums=(), reports=(), identified=()):
    """A position of that day: the dead were executed, one a day; claims; what was reported, as (speaker, target, species)."""
    state = states.new_state(RULESET, 0)
    state["day"] = day
    for number, seat in enumerate(dead, 1):
        state["executed"][number] = seat + 1
        state["medium_result"][number] = BLACK if seat in WOLVES else WHITE
        state["left"][seat] = 1
    state["claimed"][list(seers)] = layout.SEER
    state["claimed"][list(mediums)] = layout.MEDIUM
    for name, told in (("reported", reports), ("identified", identified)):
        for speaker, target, species in told:
            state[name][speaker, target] = species
    return state


def named(state, seat, phase, draws=60, **choices):
    """All players that a player names over many draws, in a phase."""
    state["phase"], state["acting"] = phase, 0
    state["acting"][seat] = 1
    view = states.view_of(RULESET, state, seat)
    view["to_move"] = seat
    legal = states.action_mask(RULESET, state)[seat]
    agent = basic_agent(**choices)
    found = set()
    for seed in range(draws):
        agent.begin(RULESET, (seat,), (seed,))
        found.add(int(decode(RULESET.seats, int(agent.act(view, legal)))[1]))
    return found


def votes(state, seat=0, **choices):
    return named(state, seat, layout.VOTE, **choices)


def test_without_results_everybody_else_is_equally_grey():
    assert votes(village(1), draws=200) == set(range(1, 15))


def test_a_result_moves_its_target_one_step():
    called_human = village(1, seers=[SEER], reports=[(SEER, 3, WHITE)])
    assert votes(called_human, draws=200) == set(range(1, 15)) - {3}
    called_wolf = village(1, seers=[SEER], reports=[(SEER, 3, BLACK)])
    assert votes(called_wolf) == {3}


def test_seers_who_agree_outweigh_one():
    reports = [(SEER, 3, BLACK), (POSSESSED, 3, BLACK), (SEER, 4, BLACK), (POSSESSED, 5, BLACK), (SEER, 5, WHITE)]
    assert votes(village(3, seers=[SEER, POSSESSED], reports=reports)) == {3}


def test_who_contradicts_the_medium_is_fake_and_a_step_blacker_and_his_results_are_void():
    dead, told = [WOLF], [(MEDIUM, WOLF, BLACK)]
    reports = [(POSSESSED, WOLF, WHITE), (POSSESSED, 3, BLACK), (SEER, WOLF, BLACK)]
    state = village(2, dead, [SEER, POSSESSED], [MEDIUM], reports, told)
    assert votes(state) == {POSSESSED}
    assert votes(state, no_check=1) == {3}


def test_two_mediums_count_only_where_they_agree():
    reports = [(POSSESSED, WOLF, WHITE), (POSSESSED, 3, BLACK)]
    for other, expected in ((BLACK, {POSSESSED}), (WHITE, {3})):
        for mediums in ((MEDIUM, 7), (7, MEDIUM)):
            told = [(mediums[0], WOLF, BLACK), (mediums[1], WOLF, other)]
            assert votes(village(2, [WOLF], [SEER, POSSESSED], mediums, reports, told)) == expected


@pytest.mark.parametrize("silent", [2, MEDIUM])
def test_a_medium_who_told_nothing_does_not_count_unless_he_is_made_to(silent):
    reports = [(POSSESSED, WOLF, WHITE), (POSSESSED, 3, BLACK)]
    told = [(11 - silent, WOLF, BLACK)]
    state = village(2, [WOLF], [SEER, POSSESSED], [11 - silent, silent], reports, told)
    assert votes(state) == {POSSESSED}
    assert votes(state, silent_mediums=1) == {3}


def test_wolves_vote_for_others_than_wolves_among_equals_and_for_a_wolf_who_is_blackest():
    assert votes(village(1), WOLF, draws=200) == HUMANS
    state = village(1, seers=[SEER], reports=[(SEER, 13, BLACK)])
    assert votes(state, WOLF) == {13}
    assert votes(state, WOLF, wolf_level=1, draws=200) == HUMANS


def exposed(day=2, dead=(WOLF,)):
    """The possessed was shown to be fake, so that the seer is confirmed."""
    reports = [(POSSESSED, WOLF, WHITE), (SEER, WOLF, BLACK), (SEER, 3, WHITE)]
    return village(day, dead, [SEER, POSSESSED], [MEDIUM], reports, [(MEDIUM, WOLF, BLACK)])


def test_the_bodyguard_guards_the_confirmed_seer_or_a_claimant_or_the_whitest():
    assert named(exposed(), BODYGUARD, layout.NIGHT) == {SEER}
    assert named(village(1, seers=[SEER, POSSESSED]), BODYGUARD, layout.NIGHT) == {SEER, POSSESSED}
    assert named(village(1), BODYGUARD, layout.NIGHT, draws=200) == set(range(15)) - {BODYGUARD}


def test_wolves_attack_nobody_who_claims_while_no_seer_is_confirmed():
    state = village(1, seers=[SEER, POSSESSED], mediums=[MEDIUM])
    assert named(state, WOLF, layout.NIGHT, draws=200) == HUMANS - {SEER, POSSESSED, MEDIUM}


def test_wolves_attack_in_the_papers_order_once_a_seer_is_confirmed():
    assert named(exposed(), 13, layout.NIGHT) == {MEDIUM, 3}
    # Seven alive: the seers come to the list.
    few = exposed(8, [WOLF, 0, 1, 2, 4, 5, 6, 7])
    assert named(few, 13, layout.NIGHT, draws=100) == {SEER, MEDIUM, 3, POSSESSED}
    alone = exposed(3, [WOLF, MEDIUM, 3])
    assert named(alone, 13, layout.NIGHT, draws=200) == HUMANS - {MEDIUM, 3, SEER}


def test_the_seer_divines_neither_claimants_nor_anybody_twice():
    state = village(2, seers=[SEER, POSSESSED])
    state["divine"][:2], state["divine_result"][:2] = [4, 14], [WHITE, BLACK]
    assert named(state, SEER, layout.NIGHT, draws=200) == set(range(15)) - {SEER, POSSESSED, 3, 13}


@pytest.mark.parametrize(("slandered", "identified", "chance"), [(0, 0, 3 / 15), (1, 0, 2 / 15), (1, 2, 0.0)])
def test_the_possessed_slanders_as_often_as_wolves_may_be_left_among_the_living(slandered, identified, chance):
    reports = [(POSSESSED, k, BLACK) for k in range(slandered)]
    told = [(MEDIUM, 12 + k, BLACK) for k in range(identified)]
    state = village(1, seers=[SEER, POSSESSED], mediums=[MEDIUM], reports=reports, identified=told)
    state["phase"], state["acting"][:] = layout.TALK, 0
    state["acting"][POSSESSED] = 1
    view = states.view_of(RULESET, state, POSSESSED)
    view["to_move"] = POSSESSED
    legal = states.action_mask(RULESET, state)[POSSESSED]
    for whole in (0, 1):
        agent, wolves, draws = basic_agent(whole_numbers=whole), 0, 1500
        for seed in range(draws):
            agent.begin(RULESET, (POSSESSED,), (seed,))
            act, _, species = (int(x) for x in decode(RULESET.seats, int(agent.act(view, legal))))
            assert act == layout.DIVINED
            wolves += species == BLACK
        expected = 0.0 if whole else chance
        assert abs(wolves / draws - expected) <= 4 * np.sqrt(expected * (1 - expected) / draws)


def test_the_possessed_as_medium_wins_as_often_as_published():
    for theory in "DE":
        assert percent(run(f"test {theory}", 10_000, theory)) == pytest.approx(WOLF_WINS[theory], abs=3)


def test_three_readings_together_give_all_published_figures():
    choices = {point: 1 - OPEN_POINTS[point][0] for point in NEAREST}
    found = {name: percent(run(f"test nearest {name}", 10_000, name, **choices)) for name in WOLF_WINS}
    assert found == pytest.approx(WOLF_WINS, abs=3)

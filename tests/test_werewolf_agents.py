"""The classical agents of werewolf against the figures and formulas of their papers."""

import math

import numpy as np
import pytest

from asobiba.baselines.werewolf.basic_play import OPEN_POINTS, THEORIES, VILLAGE_THEORIES, basic_agent, settings
from asobiba.baselines.werewolf.fifteen import Kept, play_cell
from asobiba.baselines.werewolf.perspective import initial_points, settle_unique, trust_of
from asobiba.baselines.werewolf.published import GAMES, ORDER, WOLF_WINS
from asobiba.baselines.werewolf.reproduction import (
    AGENTS,
    PARTS,
    Results,
    half_width,
    markdown,
    order_of,
    percent,
    run_part,
    z_score,
)
from asobiba.baselines.werewolf.simulate import Tally


def test_initial_points_of_a_villager_among_fifteen_are_those_of_equation_2_1():
    points = initial_points(15, 0)
    assert np.round(points, 1).tolist() == [57.1, 7.1, 7.1, 7.1, 21.4]
    assert points.sum() == pytest.approx(100)


@pytest.mark.parametrize("role", range(5))
def test_nobody_shares_a_role_that_there_is_one_of(role):
    points = initial_points(15, role)
    assert (points[role] == 0) == (role in (1, 2, 3))


def test_trust_is_equation_2_2():
    table = np.array([[0.0, 0.8, 0.0, 0.1, 0.1], [0.7, 0.0, 0.0, 0.1, 0.2], [0.0, 0.0, 0.0, 0.4, 0.6]])
    assert trust_of(table).tolist() == pytest.approx([0.6, 0.4, -1.0])


def test_every_theory_and_reading_is_a_setting_of_the_basic_play():
    for theory in THEORIES:
        initial = basic_agent(theory).initial[0]
        for name, value in THEORIES[theory].items():
            assert initial[name] == value
    for name in (*OPEN_POINTS, *VILLAGE_THEORIES):
        changed = 1 - settings()[name]
        assert basic_agent("basic", **{name: changed}).initial[0][name] == changed
    assert len(VILLAGE_THEORIES) >= 5


def results(shares):
    def tally(share):
        return Tally(GAMES, round(GAMES * share / 100), 0, 0)

    return Results(
        {name: tally(share) for name, share in shares.items()},
        {(point, name): tally(shares[name] + 1) for point in OPEN_POINTS for name in shares},
        {name: tally(shares["basic"] - 2) for name in VILLAGE_THEORIES},
        {name: tally(share) for name, share in WOLF_WINS.items()},
        {(agent, part): Tally(1000, 500 - 100 * (agent == "sample"), 0, 0) for agent in AGENTS for part in PARTS},
    )


def test_the_report_of_the_papers_own_figures_agrees_with_the_paper():
    found = results(WOLF_WINS)
    assert order_of(found.theories) == ORDER
    basic = found.theories["basic"]
    # The paper's own choice: an error of 0.3 points takes 110,000 games where both sides win equally often.
    assert half_width(Tally(GAMES, GAMES // 2, 0, 0)) == pytest.approx(100 * 1.96 * math.sqrt(0.25 / GAMES))
    assert half_width(basic) < 0.3
    for name, tally in found.theories.items():
        z = z_score(tally, basic)
        assert name == "basic" or (z > 1.645) == (name == "C")
    text = markdown(found, "asobiba reproduce werewolf --full")
    assert "as in the paper" in text
    assert "No figure is more than 3 points off" in text
    # The wolves' side wins 40 % beside the samples: 60 % for the villagers' roles, 40 % for the others.
    row = next(line for line in text.splitlines() if line.startswith("| `sample` |"))
    assert [cell.split()[0] for cell in row.split("|")[2:-1]] == ["60.0"] * 4 + ["40.0"] * 2 + ["60.0", "40.0"]
    assert row.count("*") == 8


def test_an_agent_in_a_part_plays_that_part_only():
    alone = run_part("basic", "", 40)
    assert run_part("basic", "pw", 40) == alone
    assert run_part("sample", "", 40) == alone
    assert run_part("sample", "vsmb", 40) != alone


def test_finished_games_of_the_village_of_fifteen_are_kept(tmp_path):
    file = tmp_path / "games.jsonl"
    wins, games = play_cell(Kept(file), "sample", "vsmb", "basic", 12)
    assert (wins, games) == (run_part("sample", "vsmb", 12).wolf_wins, 12)
    kept = Kept(file)
    assert len(kept.won) == 12
    assert kept.seconds > 0
    assert play_cell(kept, "sample", "vsmb", "basic", 12) == (wins, 12)
    assert file.read_text().count("\n") == 12


def test_a_figure_that_is_off_names_the_reading_that_would_move_it():
    found = results({**WOLF_WINS, "basic": 60.0})
    text = markdown(found, "asobiba reproduce werewolf")
    assert "the paper has C > basic > A > E > D > B" in text
    assert "* basic is -7.15 points off." in text
    assert percent(found.theories["basic"]) == 60.0


def test_a_day_is_told_in_plain_english_and_what_all_did_at_once_in_words():
    from asobiba.api.scene import Pen
    from asobiba.arena.match import Match
    from asobiba.arena.person import move_text
    from asobiba.arena.playing import play_match
    from asobiba.arena.replay import replay
    from asobiba.core import game, make_agent
    from asobiba.envs.werewolf.notation import plain_story

    village = game("werewolf").ruleset(players=5, rules="0.6")
    names = ["basic"] * 5
    agents = [make_agent(village.game, name) for name in names]
    games = (list(replay(play_match(Match.of(village, names, seed), agents))) for seed in range(20))
    *steps, (final, _) = next(played for played in games if played[-1][0]["victim"][1])
    told = plain_story(final, 1)
    gone, victim = int(final["executed"][1]), int(final["victim"][1])
    ballot = final["votes"][1, 1] if final["votes"][1, 1].any() else final["votes"][1, 0]
    assert told[-2:] == [
        f"agent {gone} is executed, with {(ballot == gone).sum()} vote{'s' if (ballot == gone).sum() != 1 else ''}",
        f"agent {victim} is killed in the night",
    ]
    assert any(line.endswith("I am the seer") for line in told)
    pen = Pen(village)
    log = next(lines for lines in pen.log(final) if lines[0] == "Day 1")
    count = int((ballot == gone).sum())
    assert log[0] == "Day 1"
    assert f"agent {gone} is executed (votes: {count})" in log
    assert log[-1] == f"agent {victim} is killed in the night"
    assert sum(": I am " in line for line in log) == sum(": I am " in line for line in told)
    assert pen.svg(final).count("claims ") == (final["claimed"] > 0).sum()
    state, action = next((s, a) for s, a in steps if s["phase"] == 3)
    assert move_text(village, state, action).startswith("Agent[01] VOTE Agent[0")
    assert move_text(village, state, np.where(np.arange(len(action)) == 0, -1, action)).startswith(
        "Agent[01] ?; Agent[02] VOTE"
    )


def test_a_unique_role_that_is_certain_is_nobody_elses():
    village = [8, 1, 1, 1, 1, 3]
    tables = np.full((2, 4, 5), 10.0)
    tables[0, 1] = [0, 7, 0, 0, 0]  # certainly the seer, in the first model
    tables[0, 2] = [0, 3, 0, 0, 0]  # and another, who contradicts it
    tables[1, 1] = [0, 7, 0, 2, 0]  # seer or possessed, in the second
    before = tables.copy()
    settle_unique(tables, village)
    assert tables[0, [0, 3], 1].tolist() == [0, 0]
    assert tables[0, [1, 2], 1].tolist() == [7, 3]
    assert np.array_equal(tables[0, :, [0, 2, 3, 4]], before[0, :, [0, 2, 3, 4]])
    assert np.array_equal(tables[1], before[1])
    wolves = before.copy()
    wolves[0, 1] = [0, 0, 0, 0, 7]  # one of three: the others may be wolves too
    wolves[0, 2] = 10.0
    after = wolves.copy()
    settle_unique(after, village)
    assert np.array_equal(after, wolves)

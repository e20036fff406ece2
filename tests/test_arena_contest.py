"""Schedules, sequential tests, cycles, teams, simulation, history, the report's list of matches."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import math
import re
import time
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from arena_tools import result

from asobiba.arena.browse import packed
from asobiba.arena.cycles import find_cycles
from asobiba.arena.history import chart, history
from asobiba.arena.match import Match, MatchRecord, winner
from asobiba.arena.ratings import bradley_terry, outcomes
from asobiba.arena.references import LEVELS, references
from asobiba.arena.results import Result, Results
from asobiba.arena.schedule import (
    MOST_GROUPS,
    balanced_groups,
    meetings,
    neighbour_orders,
    pairings,
    round_robin,
    seatings,
    spread,
    swiss,
)
from asobiba.arena.sequential import SequentialTest
from asobiba.arena.show import headline
from asobiba.arena.simulate import SCHEDULES, simulate
from asobiba.arena.standings import escaped, standings, to_csv, to_markdown
from asobiba.arena.submit import agent_text
from asobiba.arena.teams import plackett_luce
from asobiba.arena.terminal import print_standings
from asobiba.arena.wwg import points_table, weighted_degree
from asobiba.core import AsobibaError, game, games

NIM = game("toy_nim").ruleset()


def team_result(seats, returns, teams, number=0):
    k = len(seats)
    best = winner(returns, teams)
    return Result(
        number=number,
        seats=tuple(seats),
        seed=number,
        returns=tuple(returns),
        winner=best,
        moves=9,
        reason="rules",
        culprit=None,
        decisions=(3,) * k,
        seconds=(0.1,) * k,
        tie_break=None,
        teams=teams,
    )


def rock_paper_scissors(match):
    """Three rounds between all three; who beats the last move looks at the player on the left."""
    generator = np.random.default_rng(match.seed)
    scores, last = np.zeros(3), np.zeros(3, int)
    for _ in range(3):
        moves = np.zeros(3, int)
        for seat, name in enumerate(match.seats):
            follows = (last[seat - 1] + 1) % 3
            moves[seat] = {"rock": 0, "beat_last": follows, "random": generator.integers(3)}[name]
        for seat in range(3):
            for other in range(3):
                scores[seat] += (0, 1, -1)[(moves[seat] - moves[other]) % 3]
        last = moves
    return team_result(match.seats, scores.tolist(), (0, 1, 2), match.seed)


@pytest.mark.parametrize("play", [meetings, round_robin])
def test_the_table_does_not_depend_on_the_order_in_which_agents_are_named(play):
    three = game("toy_nim").ruleset(players=3)
    tables = []
    for names in permutations(("random", "beat_last", "rock")):
        matches = list(play(three, names, 60, 0))
        assert len(matches) == 60
        assert {match.seats for match in matches} == set(permutations(names))
        tables.append(bradley_terry([rock_paper_scissors(match) for match in matches]))
    assert tables[0][0].agent == "beat_last"
    assert all(table == tables[0] for table in tables)


@pytest.mark.parametrize("seats", [5, 6, 15])
def test_many_seats_are_balanced_over_seats_and_neighbours(seats):
    class Big:
        class game:
            name = "big"

    names = [f"agent{k:02}" for k in range(seats)]
    sat, follows, drawn = Counter(), Counter(), []
    seeds = len(neighbour_orders(seats))
    for index in range(seeds):
        found = seatings(Big, names, 3, index)
        assert found == seatings(Big, names[::-1], 3, index)
        assert {frozenset(Counter(column).items()) for column in zip(*found)} == {frozenset((n, 1) for n in names)}
        for order in found:
            sat.update((name, seat) for seat, name in enumerate(order))
            follows.update((order[k - 1], order[k]) for k in range(seats))
        drawn.append(found[0])
    assert set(sat.values()) == {seeds}
    assert len(sat) == seats * seats
    assert len(follows) == seats * (seats - 1)
    assert set(follows.values()) == ({seats} if seats % 2 else {seats, 2 * seats})
    assert seatings(Big, names, 3, seeds) != seatings(Big, names, 3, 0), "the next seeds draw anew"
    assert seatings(Big, names, 4, 0) != seatings(Big, names, 3, 0)


def test_fifteen_seats_are_planned_at_once_and_everybody_sits_everywhere_equally_often():
    class Big:
        class game:
            name = "big"

    names = [f"agent{k}" for k in range(10)]
    groups = balanced_groups(names, 15, 4, seed=1)
    assert groups == balanced_groups(names[::-1], 15, 4, seed=1)
    assert {len(group) for group in groups} == {15}
    assert len(set(Counter(name for group in groups for name in group).values())) == 1
    seated = Counter()
    for group in groups:
        for order in seatings(Big, group, 0, 0):
            seated.update((name, seat) for seat, name in enumerate(order))
    assert len(set(seated.values())) == 1


def test_many_seats_do_not_make_all_combinations():
    class Big:
        class game:
            name = "big"

        num_players = 15

    started = time.process_time()
    groups = pairings(Big, [f"a{k}" for k in range(10)])
    assert 1 <= len(groups) <= MOST_GROUPS
    assert time.process_time() - started < 1
    assert len(set(Counter(name for group in groups for name in group).values())) == 1
    few = balanced_groups([f"a{k}" for k in range(8)], 4, 5)
    assert all(len(set(group)) == 4 for group in few[: len(few) // 2])


def test_a_teams_win_is_a_win_of_its_members_and_team_mates_are_no_draw():
    teams = (0, 1, 0, 1)
    results = [team_result(("a", "b", "c", "d"), (1.0, -1.0, 1.0, -1.0), teams, k) for k in range(40)]
    found = Results.of(results)
    assert found.won.tolist() == [[True, False, True, False]] * 40
    counts = outcomes(results)
    assert counts.draws.sum() == 0
    assert counts.wins.sum() + counts.losses.sum() == 4 * 40
    table = standings(
        game("toy_nim").ruleset(players=3), [team_result("xyz", (1, 1, -2), (0, 0, 1), k) for k in range(9)]
    )
    lines = {line.agent: line for line in table.lines}
    assert (lines["x"].wins, lines["y"].wins, lines["z"].losses) == (9, 9, 9)
    assert lines["x"].draws == 0
    assert ("x", "y") not in table.cells
    assert winner((1.0, 0.0, 1.0, 5.0), (0, 0, 1, 1)) == 2  # the mean of the second team is greater
    assert winner((1.0, 1.0), (0, 0)) == -1
    match = Match("toy_village", 0, {"players": 4}, ("a", "b", "a", "c"), 1)
    record = MatchRecord(match, b"", (1.0, -1.0, 1.0, 1.0), 5, "rules", teams=(0, 1, 0, 0))
    assert record.winners == (0, 2, 3)
    assert "a, c win, 5 moves" in headline(record)


def test_openskill_ranks_seats_and_teams():
    generator = np.random.default_rng(0)
    strength = {"a": 2.0, "b": 1.0, "c": 0.0, "d": -1.0}
    names, results = list(strength), []
    for k in range(300):
        seats = [names[i] for i in generator.permutation(4)]
        power = [strength[name] + generator.gumbel() for name in seats]
        teams = (0, 0, 1, 1)
        first = power[0] + power[1] > power[2] + power[3]
        results.append(team_result(seats, (1, 1, -1, -1) if first else (-1, -1, 1, 1), teams, k))
    ratings = plackett_luce(results)
    assert [rating.agent for rating in ratings] == names
    assert all(rating.low < rating.value < rating.high for rating in ratings)
    assert [rating.agent for rating in bradley_terry(results)] == names
    assert plackett_luce([]) == []


def test_a_circle_is_found_and_shared():
    results = []
    for k in range(60):
        for one, other in (("rock", "scissors"), ("scissors", "paper"), ("paper", "rock"), ("rock", "stone dust")):
            results += [result((one, other), 0, k), result((other, one), 1, k)]
        for name in ("scissors", "paper"):
            results += [result((name, "stone dust"), 0, k), result(("stone dust", name), 1, k)]
    found = find_cycles(results)
    assert [names for names, _ in found.triples] == [("paper", "rock", "scissors")]
    shares = dict(zip(found.agents, found.shares))
    for name in ("rock", "scissors", "paper"):
        assert shares[name] == pytest.approx(1 / 3, abs=0.01)
    assert shares["stone dust"] < 0.01


@pytest.mark.parametrize(("gap", "expected"), [(0.0, 0.0), (60.0, 60.0)])
def test_the_sequential_test_errs_as_rarely_as_it_says(gap, expected):
    generator = np.random.default_rng(5)
    wrong, games = 0, []
    share = 1 / (1 + 10 ** (-gap / 400))
    for _ in range(200):
        test = SequentialTest(0.0, 60.0)
        while test.accepted is None:
            test.add(generator.binomial(2, share) / 2)
        wrong += test.accepted != expected
        games.append(test.games)
    assert wrong / 200 < 0.09
    assert np.mean(games) < 600
    with pytest.raises(AsobibaError, match="elo0 must be less"):
        SequentialTest(5, 5)


def test_swiss_pairs_neighbours_who_have_not_met():
    scores = {"a": 3.0, "b": 3.0, "c": 1.0, "d": 0.0, "e": 0.0}
    matches = swiss(NIM, scores, {frozenset(("a", "b")): 1}, 4, 0, 2)
    pairs = {frozenset(match.seats) for match in matches}
    assert pairs == {frozenset(("a", "c")), frozenset(("b", "d"))}
    assert len(matches) == 8
    assert {m.key for m in matches}.isdisjoint(m.key for m in meetings(NIM, ("a", "c"), 4, 0))


def test_opponents_are_spread_evenly_over_the_ratings():
    ratings = {f"a{k}": float(k * k) for k in range(100)}
    chosen = spread(ratings, 10)
    assert len(chosen) == len(set(chosen)) == 10
    values = sorted(ratings[name] for name in chosen)
    assert values[0] == 0
    assert values[-1] == 99 * 99
    assert np.diff(values).max() < 2 * np.diff(values).min()
    assert spread({"x": 1.0}, 10) == ["x"]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_finds_the_order_of_simulated_agents(schedule):
    points = simulate(200, schedule, games=120, seed=3, points=4)
    assert points[-1].correlation > 0.93
    assert points[-1].games >= 119
    assert points == simulate(200, schedule, games=120, seed=3, points=4)


def test_simulations_are_checked():
    with pytest.raises(AsobibaError, match="no schedule is called"):
        simulate(10, "lottery")
    with pytest.raises(AsobibaError, match="2 to 100,000"):
        simulate(1, "swiss")


def test_reference_agents_stand_in_data_and_exist():
    from asobiba.core import agent_declarations

    # Games that share their agents with others have them once; the toys have none.
    declared = [g for g in games() if len(g.players) > 1 and references(g)]
    assert len(declared) >= 7
    for one in declared:
        found = references(one)
        assert {reference.level for reference in found} == {"weak", "middle", "strong"}
        assert {reference.kind for reference in found} == set(LEVELS)
        assert {reference.agent.partition(":")[0] for reference in found} <= set(agent_declarations(one))
    assert references(NIM.game) == ()


def test_the_report_lists_every_match_in_pieces():
    results = Results.of([result(("a", "b") if k % 2 else ("b", "a"), k % 3 - 1, k) for k in range(12_000)])
    found = packed(results)
    assert (found["total"], len(found["pieces"])) == (12_000, 3)
    last = json.loads(gzip.decompress(base64.b64decode(found["pieces"][-1])))
    assert len(last["moves"]) == 2000
    assert [found["agents"][k] for k in last["seats"][:2]] == ["b", "a"]
    assert last["won"][:3] == [{-1: 0, 0: 1, 1: 2}[results[k].winner] for k in range(10_000, 10_003)]
    team = packed(Results.of([team_result("abcd", (1.0, -1.0, 1.0, -1.0), (0, 1, 0, 1), 0)]))
    assert json.loads(gzip.decompress(base64.b64decode(team["pieces"][0])))["won"] == [0b101]


def test_history_is_candlesticks_over_time():
    results, times = [], []
    for day in range(4):
        for k in range(20):
            seed = 100 * day + k
            wins = 0 if day < 2 else 1
            results += [result(("a", "b"), wins, seed), result(("b", "a"), 1 - wins, seed)]
            times += [86_400.0 * day] * 2
    results += [result(("c", "a"), 0, 999), result(("a", "c"), 1, 999)]
    times += [86_400.0 * 5] * 2
    candles = {candle.agent: candle for candle in history(Results.of(results), np.array(times))}
    assert candles["a"].first > candles["a"].last
    assert candles["a"].lowest <= candles["a"].last <= candles["a"].highest
    assert candles["c"].time == 86_400.0 * 5
    drawing = chart(list(candles.values()))
    assert drawing is not None
    assert len(drawing["boxes"]) == 3
    assert chart([candles["a"]]) is None


def test_names_are_plain_text_in_markdown():
    assert escaped("a|b <script> [x](http://y) `c` *d*\nnew") == (
        "a\\|b \\<script\\> \\[x\\](http:\u200b//y) \\`c\\` \\*d\\* new"
    )


def test_names_stand_in_tables_and_csv_as_they_are_and_do_nothing(capsys):
    names = ["[/red]x", "\x1b[2Jwiped", "\u202eback", '=cmd|"/c calc"!A1']
    results = [result((a, b), 0) for a in names for b in names if a != b]
    table = standings(NIM, results)
    print_standings(table, wide=True)
    shown = capsys.readouterr().out
    assert "[/red]x" in shown
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "\\x1b[2Jwiped" in shown
    cells = [cell for row in csv.reader(io.StringIO(to_csv(table))) for cell in row]
    assert '\'=cmd|"/c calc"!A1' in cells
    assert not any(cell.startswith("=") for cell in cells)
    for text in (to_markdown(table), to_csv(table)):
        assert all(c.isprintable() or c == "\n" for c in text)


def test_points_of_pairs_are_counted_as_the_paper_does():
    results = [result(("a", "b"), 0, 1), result(("b", "a"), 0, 1), result(("a", "b"), 0, 2), result(("b", "a"), 1, 2)]
    points, matches = points_table(results, ["a", "b"])
    assert points.tolist() == [[0, 3], [1, 0]]
    assert matches.tolist() == [[0, 2], [2, 0]]
    assert math.isclose(weighted_degree(points)[0], weighted_degree(points, matches)[0])


def test_blanks_commas_and_quotes_of_a_submitted_name_are_replaced(tmp_path):
    (tmp_path / "my 'best', agent=1.py").write_text("")
    text = agent_text(str(tmp_path / "my 'best', agent=1.py"), tmp_path / "kept")
    assert re.search(r"/my__best___agent_1-[0-9a-f]{8}\.py$", text)
    with pytest.raises(AsobibaError, match="--store"):
        agent_text(str(tmp_path / "my 'best', agent=1.py"), tmp_path / "a league")


def test_what_is_submitted_is_known_by_its_name(tmp_path):
    for name, kind in (("a.py", "file"), ("b.yaml", "rules"), ("policy.safetensors", "sb3"), ("c.zip", "sb3")):
        (tmp_path / name).write_text(name)
        assert re.fullmatch(
            rf"{kind}:.*{name.partition('.')[0]}-[0-9a-f]{{8}}\..*", agent_text(tmp_path / name, tmp_path / "kept")
        )
    (tmp_path / "engine").write_text("#!/bin/sh\n")
    with pytest.raises(AsobibaError, match="not executable"):
        agent_text(tmp_path / "engine", tmp_path / "kept")
    (tmp_path / "engine").chmod(0o755)
    assert agent_text(tmp_path / "engine", tmp_path / "kept").startswith("process:")
    with pytest.raises(AsobibaError, match="no file"):
        agent_text(tmp_path, tmp_path / "kept")

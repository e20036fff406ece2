"""The league: schedules, the store, processes that are killed, and everything that can go wrong with a store."""

from __future__ import annotations

import base64
import gzip
import json
import multiprocessing
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path

import pytest
from arena_tools import COMMAND, ENVIRONMENT, ROGUES, result

from asobiba import baselines
from asobiba.arena.costs import Past, Workload, past_pairings
from asobiba.arena.executors import LocalExecutor
from asobiba.arena.league import LeagueRun, run_league
from asobiba.arena.match import Match, MatchRecord
from asobiba.arena.places import make_executor
from asobiba.arena.playing import play_match
from asobiba.arena.publish import publish
from asobiba.arena.replay import check_record
from asobiba.arena.results import Results
from asobiba.arena.schedule import gauntlet, meetings, pairings, round_robin
from asobiba.arena.show import pictures, record_json
from asobiba.arena.standings import standings
from asobiba.arena.store import Store, StoreError
from asobiba.arena.trust import EVERYBODY
from asobiba.core import AsobibaError, game, make_agent

sys.path.insert(0, str(ROGUES))
NIM = game("toy_nim").ruleset()


def test_pairs_swap_seats_in_the_same_deal_unless_one_is_a_stranger():
    matches = round_robin(NIM, ["random", "bouton", "slow"], games=4)
    assert len(matches) == 12
    assert len({match.key for match in matches}) == 12
    for one, other in zip(matches[::2], matches[1::2]):
        assert one.seats == other.seats[::-1]
        assert (one.seed == other.seed) == ("slow" not in one.seats)
    assert len({match.seed for match in matches}) == 2 + 4 + 4


def test_who_joins_changes_no_other_match():
    two = round_robin(NIM, ["random", "bouton"], 6)
    three = round_robin(NIM, ["slow", "bouton", "random"], 10)
    assert {m.key for m in two} <= {Match.of(NIM, m.seats, m.seed).key for m in three} | {
        Match.of(NIM, m.seats[::-1], m.seed).key for m in three
    }
    fresh = gauntlet(NIM, ["slow"], ["random", "bouton"], 10)
    assert len(fresh) == 20
    assert all("slow" in match.seats for match in fresh)


def test_pairings_of_one_and_three_players():
    walk = game("toy_walk").ruleset()
    assert pairings(walk, ["random"]) == [("random",)]
    three = game("toy_nim").ruleset(players=3)
    assert pairings(three, ["a", "b", "c", "d"]) == [("a", "b", "c"), ("a", "b", "d"), ("a", "c", "d"), ("b", "c", "d")]
    assert pairings(three, ["a", "b"]) == [("a", "a", "b"), ("a", "b", "b")]
    rounds = list(meetings(three, ("a", "b", "c"), 6, None, apart=frozenset()))
    assert [m.seats for m in rounds] == list(permutations(("a", "b", "c")))
    assert len({m.seed for m in rounds}) == 1
    with pytest.raises(AsobibaError, match="at least 2 agents"):
        pairings(NIM, ["random"])


def test_rogues_lose_and_the_league_goes_on(tmp_path):
    agents = ["random", "bouton", "raises", "hangs", "dies", "babbles"]
    executor = LocalExecutor(2, time_limit=1.5, trust=EVERYBODY)
    with Store(tmp_path / "nim.sqlite") as store:
        state = run_league(NIM, agents, store, executor, games=2)
        assert state == LeagueRun(30, 0, 30)
        results = store.results(NIM)
        for number in (r.number for r in results):
            check_record(store.record(number))
        table = standings(NIM, results)
        lines = {line.agent: line for line in table.lines}
        assert lines["hangs"].time_outs > 0
        assert lines["raises"].crashes > 0
        assert lines["dies"].crashes > 0
        assert lines["babbles"].illegal > 0
        assert lines["bouton"].crashes == lines["bouton"].time_outs == lines["bouton"].illegal == 0
        hung = next(r for r in results if r.reason == "time-out")
        record = store.record(hung.number)
        assert record.match.seats[record.culprit] == "hangs"
        assert "was stopped" in record.detail
        assert record.moves >= 1  # what was played before it hung is on record
        died = next(store.record(r.number) for r in results if r.reason == "crash" and r.seats[r.culprit] == "dies")
        assert died.detail == "the process ended with exit code 3"
        publish(NIM, store, results, tmp_path / "out")
        assert "time-out" in (tmp_path / "out" / "report.html").read_text()


def test_the_page_holds_every_position_of_its_games(tmp_path):
    with Store(tmp_path / "nim.sqlite") as store:
        run_league(NIM, ["random", "bouton"], store, LocalExecutor(1), games=2)
        page = publish(NIM, store, store.results(NIM), tmp_path / "out").read_text()
        shown = re.findall(r'class="sample" data-number="(\d+)">(.*?)</script>', page)
        assert shown
        for number, text in shown:
            found, record = json.loads(gzip.decompress(base64.b64decode(text))), store.record(number)
            assert found["frames"] == list(pictures(record))
            assert found["plies"] == list(range(record.moves + 1))
            assert (found["first"], found["last"], len(found["moves"])) == (0, record.moves, record.moves)
            assert found["match"] == record_json(record)


def test_a_kernel_that_never_returns_is_found_among_games_in_lockstep():
    matches = round_robin(NIM, ["endless", "bouton"], 4)
    records = [r for found in LocalExecutor(1, time_limit=0.5, trust=EVERYBODY).play(matches) for r in found]
    assert len({r.match.key for r in records}) == 4
    assert {(r.reason, r.match.seats[r.culprit]) for r in records} == {("time-out", "endless")}


def test_a_kernel_that_does_not_compile_loses_and_the_league_goes_on():
    matches = round_robin(NIM, ["broken", "bouton"], 2) + round_robin(NIM, ["random", "bouton"], 2)
    records = [r for found in LocalExecutor(1, trust=EVERYBODY).play(matches) for r in found]
    assert len(records) == 4
    crashed = [r for r in records if r.reason == "crash"]
    assert [r.match.seats[r.culprit] for r in crashed] == ["broken", "broken"]
    assert "no_such_field" in crashed[0].detail


def test_processes_go_on_from_the_check_to_the_games_and_end_with_the_executor():
    executor = LocalExecutor(2, trust=EVERYBODY)
    executor.check([Match.of(NIM, ("raises",) * 2, 0), Match.of(NIM, ("slow",) * 2, 0)])
    begun = {process.pid for process in multiprocessing.active_children() if process.name == "asobiba-worker"}
    assert len(begun) == 2
    for agents in (["raises", "random"], ["bouton", "random"]):
        assert [r for found in executor.play(round_robin(NIM, agents, 4)) for r in found]
        assert {process.pid for process in multiprocessing.active_children()} >= begun
    del executor
    assert not begun & {process.pid for process in multiprocessing.active_children()}


def test_processes_change_no_result():
    matches = round_robin(NIM, ["random", "bouton"], 20)
    kuhn = game("toy_kuhn").ruleset()
    matches += round_robin(kuhn, ["random", "timid"], 6)
    records = {r.match.key: r for found in LocalExecutor(2).play(matches) for r in found}
    assert len(records) == 26
    for match in matches:
        agents = [make_agent(match.ruleset().game, text) for text in match.seats]
        assert records[match.key].same_play(play_match(match, agents))


def test_networks_play_in_lockstep_once_they_are_checked():
    shogi = game("animal_shogi").ruleset(opening_plies=4)
    policies = Path(baselines.__path__[0]) / "animal_shogi" / "policies"
    names = ["gumbel_az:simulations=2", f"sb3:{policies / 'gumbel_az' / 'policy.safetensors'}"]
    matches, executor = round_robin(shogi, names, 6), LocalExecutor(1)
    executor.check([Match.of(shogi, (names[1],) * 2, 0)])
    assert Workload(matches, 1).take().kind == "single"
    assert Workload(matches, 1, kernels=executor.kernels).take().kind == "batch"
    records = {r.match.key: r for found in executor.play(matches) for r in found}
    for match in matches:
        record = records[match.key]
        assert record.same_play(play_match(match, [make_agent(shogi.game, text) for text in match.seats]))
        assert [seconds > 0 for seconds in record.seconds] == [asked > 0 for asked in record.decisions]


def test_every_pairing_is_probed_first_and_nothing_is_left_out():
    matches = round_robin(NIM, ["random", "bouton", "slow"], 100)
    work = Workload(matches, jobs=2, trust=EVERYBODY)
    played, first = [], []
    while work:
        unit = work.take()
        if unit.kind != "warm":
            played += [match.key for match in unit.matches]
            first.append(tuple(sorted(unit.matches[0].seats)))
        work.finished(unit)
    assert sorted(played) == sorted(match.key for match in matches)
    assert len(set(first[:6])) == 3, "a batch of each seating"


def test_every_agent_plays_a_pair_of_games_and_then_every_pairing_before_costs_decide():
    *others, slow = names = [f"file:{letter}.py" for letter in "abcde"]
    work = Workload(round_robin(NIM, names, 100), jobs=1)
    games, met = Counter(), []
    for _ in range(10):
        unit = work.take()
        assert [match.seats for match in unit.matches] == [unit.matches[0].seats, unit.matches[0].seats[::-1]]
        met.append(tuple(sorted(unit.matches[0].seats)))
        if len(met) <= 3:
            assert any(games[name] == 0 for name in met[-1]), "nobody goes on before all have begun"
        for match in unit.matches:
            games.update(match.seats)
        work.finished(unit)
        work.played(unit, [_record(match, k) for k, match in enumerate(unit.matches)], 10 if slow in met[-1] else 0.1)
    assert sorted(met) == sorted(combinations(names, 2))
    assert min(games[name] for name in others) == 8
    assert [slow in pair for pair in met[3:]] == [False] * 4 + [True] * 3, "the cheapest pairings first"


def test_a_league_that_goes_on_knows_what_its_pairings_cost(tmp_path):
    first, second, slow = names = [f"file:{letter}.py" for letter in "abc"]
    wanted = round_robin(NIM, names, 1000)
    with Store(tmp_path / "league.sqlite") as store:
        for pair in combinations(names, 2):
            games = [match for match in wanted if set(match.seats) == set(pair)][:20]
            seconds = {name: 4.0 if name == slow else 0.001 for name in names}
            records = [
                replace(
                    _record(match, match.seats.index(pair[0])), seconds=tuple(seconds[name] for name in match.seats)
                )
                for match in games
            ]
            store.write(records)
        past = past_pairings(store.results(NIM))
        present = store.keys(NIM)
    assert past[first, second] == Past(20, pytest.approx(0.04), 20, 20.0)
    assert past[first, slow] == Past(20, pytest.approx(80.02), 20, 20.0)
    work = Workload([match for match in wanted if match.key not in present], jobs=1, before=past)
    for _ in range(4):
        unit = work.take()
        assert set(unit.matches[0].seats) == {first, second}, (
            "a thousand of their games cost what one of the others' does"
        )
        work.finished(unit)
        work.played(unit, [_record(match, k % 2) for k, match in enumerate(unit.matches)], 0.002 * len(unit.matches))


def test_what_games_of_more_than_two_cost_is_remembered():
    seats = ("b", "a", "a")
    results = [
        replace(
            result(("b", "a"), 0), seats=seats, seconds=(1.0, 2.0, 3.0), returns=(1.0, 0.0, 0.0), decisions=(1, 1, 1)
        )
    ]
    assert past_pairings(Results.of(results)) == {("a", "a", "b"): Past(1, 6.0)}
    assert past_pairings(Results.of([])) == {}


@pytest.mark.parametrize("winner", [0, 1])
def test_pairings_that_one_of_them_always_wins_tell_little_whoever_that_is(winner):
    even, lopsided = names = [("file:a.py", "file:b.py"), ("file:c.py", "file:d.py")]
    work = Workload([match for pair in names for match in meetings(NIM, pair, 2000, 0)], jobs=1)
    for _ in range(4):
        unit = work.take()
        pair = tuple(sorted(unit.matches[0].seats))
        seat = [
            match.seats.index(pair[winner]) if pair == lopsided else k // 2 % 2 for k, match in enumerate(unit.matches)
        ]
        work.finished(unit)
        work.played(unit, [_record(match, k) for match, k in zip(unit.matches, seat)], 0.01 * len(unit.matches))
    known = {pairing.agents: pairing.information for pairing in work._pairings}
    assert known[lopsided] < known[even] / 2


def test_slow_agents_play_fewer_games_when_time_is_short():
    matches = round_robin(NIM, ["random", "bouton", "slow"], 400)
    work = Workload(matches, jobs=1, trust=EVERYBODY)
    played, spent = Counter(), 0.0
    while spent < 20:
        unit = work.take()
        work.finished(unit)
        if unit.kind == "warm":
            continue
        seats = unit.matches[0].seats
        cost = len(unit.matches) * (0.2 if "slow" in seats else 0.001)
        spent += cost
        records = [_record(match, k % 2) for k, match in enumerate(unit.matches)]
        work.played(unit, records, cost)
        for name in seats:
            played[name] += len(unit.matches)
    assert played["slow"] < played["random"] / 3
    assert played["slow"] > 40


@pytest.mark.parametrize("names", [("random", "bouton", "leftmost"), ("file:a.py", "file:b.py", "file:c.py")])
def test_a_league_that_is_stopped_has_played_every_deal_from_both_sides(names):
    """Kernels (in lockstep, a seating at a time) and others: at any moment no side is more than a unit ahead."""
    work = Workload(round_robin(NIM, names, 400), jobs=2)
    sides: dict[tuple[str, ...], Counter] = {}
    for _ in range(40):
        unit = work.take()
        if unit is None:
            break
        work.finished(unit)
        if unit.kind == "warm":
            continue
        for match in unit.matches:
            sides.setdefault(tuple(sorted(match.seats)), Counter())[match.seats] += 1
        work.played(unit, [_record(match, k % 2) for k, match in enumerate(unit.matches)], 0.01 * len(unit.matches))
        open_batches = {tuple(sorted(waiting.matches[0].seats)) for waiting in work._again}
        for pair, seats in sides.items():
            counts = [*seats.values(), 0][:2]
            if pair not in open_batches:
                assert abs(counts[0] - counts[1]) <= 1, (pair, seats)
    assert len(sides) == 3


def _record(match, winner):
    return MatchRecord(
        match, b"", (1.0, -1.0) if winner == 0 else (-1.0, 1.0), 5, "rules", None, "", (3, 2), (0.1, 0.1)
    )


def test_killed_with_sigkill_nothing_is_lost_or_played_twice(tmp_path):
    path = tmp_path / "league.sqlite"
    command = [*COMMAND, "league", "run", "toy_nim", "--agents", "slow random bouton", "-n", "40", "--store", str(path)]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen = 0
    deadline = time.monotonic() + 200
    while seen < 8 and time.monotonic() < deadline:
        time.sleep(0.05)
        if path.exists():
            try:
                seen = len(Store(path, create=False).keys(NIM))
            except StoreError:
                seen = 0
    process.send_signal(signal.SIGKILL)
    process.wait()
    with Store(path) as store:
        before = {r.number: store.record(r.number) for r in store.results(NIM)}
        assert 8 <= len(before) < 120
        state = run_league(NIM, ["slow", "random", "bouton"], store, LocalExecutor(2), games=40)
        assert state.before == len(before)
        assert state.left == 0
        after = store.results(NIM)
        assert len(after) == 120
        assert len(store.keys(NIM)) == 120
        for number, record in before.items():
            assert store.record(number) == record
        assert run_league(NIM, ["slow", "random", "bouton"], store, LocalExecutor(2), games=40) == LeagueRun(
            120, 120, 0
        )
        more = run_league(NIM, ["random", "bouton"], store, LocalExecutor(1), games=44)
        assert more == LeagueRun(44, 40, 4)


def test_a_league_stops_when_its_time_is_up_and_goes_on(tmp_path):
    with Store(tmp_path / "nim.sqlite") as store:
        state = run_league(NIM, ["slow", "random"], store, LocalExecutor(1), games=40, until=time.monotonic() + 0.01)
        assert state.played == 0
        assert state.left == 40
        state = run_league(NIM, ["slow", "random"], store, LocalExecutor(1), games=4)
        assert state.left == 0


def test_each_match_is_kept_once(tmp_path):
    match = Match.of(NIM, ["random", "bouton"], 5)
    record = play_match(match, [make_agent(NIM.game, text) for text in match.seats])
    with Store(tmp_path / "a.sqlite") as store:
        assert store.write([record, record]) == 1
        assert store.write([record]) == 0
        assert store.record(1) == record
        assert store.record(record.match.key) == store.record(record.match.key[:8]) == record
        for nothing in (2, "ffffffff"):
            with pytest.raises(StoreError, match="no match"):
                store.record(nothing)
        with pytest.raises(StoreError, match="at least 8 digits"):
            store.record("abc")


def test_parameters_are_kept_apart(tmp_path):
    big = game("toy_nim").ruleset(size=4)
    with Store(tmp_path / "a.sqlite") as store:
        for ruleset in (NIM, big):
            match = Match.of(ruleset, ["random", "bouton"], 5)
            store.write([play_match(match, [make_agent(NIM.game, text) for text in match.seats])])
        assert len(store.results(NIM)) == len(store.results(big)) == 1
        assert [count for *_, count in store.contents()] == [1, 1]


def test_a_failed_write_leaves_the_store_usable(tmp_path):
    match = Match.of(NIM, ["random", "bouton"], 5)
    record = play_match(match, [make_agent(NIM.game, text) for text in match.seats])
    with Store(tmp_path / "a.sqlite") as store:

        def broken():
            yield record
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.write(broken())
        assert len(store.results(NIM)) == 0
        assert store.write([record]) == 1


def test_bad_stores_are_refused_and_left_alone(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("these are my notes\n" * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        Store(text)
    assert text.read_text() == "these are my notes\n" * 100
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("create table recipes (name text)")
    with pytest.raises(StoreError, match=r"a database of something else .tables: recipes"):
        Store(other)
    with pytest.raises(StoreError, match="there is no store at"):
        Store(tmp_path / "none.sqlite", create=False)
    assert not (tmp_path / "none.sqlite").exists()
    with pytest.raises(StoreError, match="is a folder"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="SQLite file or a postgresql"):
        Store("mysql://host/db")
    with pytest.raises(StoreError, match="cannot be used"):
        Store("postgresql://nobody@localhost:1/none?connect_timeout=1")
    with pytest.raises(StoreError, match="cannot read"):
        Store("://")
    good = tmp_path / "good.sqlite"
    Store(good).close()
    with sqlite3.connect(good) as connection:
        connection.execute("update asobiba_meta set value = '99'")
    with pytest.raises(StoreError, match="has the format '99'"):
        Store(good)
    with sqlite3.connect(good) as connection:
        connection.execute("update asobiba_meta set value = '1'")
        connection.execute("drop table seats")
    with pytest.raises(StoreError, match="seats are missing"):
        Store(good)


def test_a_file_cut_short_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "cut.sqlite"
    with Store(path) as store:
        match = Match.of(NIM, ["random", "bouton"], 5)
        store.write([play_match(match, [make_agent(NIM.game, text) for text in match.seats])])
    data = path.read_bytes()
    path.write_bytes(data[:5000])
    with pytest.raises(StoreError, match=r"cut\.sqlite"):
        Store(path).results(NIM)


def test_another_games_results_are_refused(tmp_path):
    with Store(tmp_path / "a.sqlite") as store:
        match = Match.of(NIM, ["random", "bouton"], 5)
        store.write([play_match(match, [make_agent(NIM.game, text) for text in match.seats])])
        kuhn = game("toy_kuhn").ruleset()
        with pytest.raises(StoreError, match="holds the results of toy_nim, not of toy_kuhn"):
            run_league(kuhn, ["random", "bold"], store, LocalExecutor(1))
        with pytest.raises(AsobibaError, match="nobody"):
            run_league(NIM, ["random", "nobody"], store, LocalExecutor(1))
        assert len(store.results(NIM)) == 1


def test_executors_are_named_and_checked():
    with pytest.raises(AsobibaError, match="no executor is called 'cloud'"):
        make_executor("cloud")
    with pytest.raises(ValueError, match="jobs must be at least 1"):
        LocalExecutor(0)
    with pytest.raises(ValueError, match="time limit must be positive"):
        LocalExecutor(1, time_limit=0)


def test_games_of_one_player_are_ranked_by_mean_return(tmp_path):
    walk = game("toy_walk").ruleset()
    with Store(tmp_path / "walk.sqlite") as store:
        assert run_league(walk, ["random"], store, LocalExecutor(1), games=30).left == 0
        table = standings(walk, store.results(walk))
        (line,) = table.lines
        assert table.rating_name == "mean return"
        assert line.games == 30
        assert line.low < line.rating < line.high
        assert line.score is None
        publish(walk, store, store.results(walk), tmp_path / "out")
    page = (tmp_path / "out" / "README.md").read_text()
    assert "## Rewards, whose sum is the return" in page


def test_the_table_says_that_deterministic_agents_repeat_their_games(tmp_path):
    def page(ruleset, agents):
        with Store(tmp_path / "league.sqlite") as store:
            for match in round_robin(ruleset, agents, 6):
                store.write([play_match(match, [make_agent(ruleset.game, text) for text in match.seats])])
            publish(ruleset, store, store.results(ruleset), tmp_path / "out")
        return (tmp_path / "out" / "README.md").read_text()

    fixed, drawn = game("bao").ruleset(), game("bao").ruleset(start="random")
    both_ends = ["leftmost", "leftmost:from_right=True"]
    assert "Only 2 of the games differ" in page(fixed, both_ends)
    assert "of the games differ" not in page(drawn, both_ends)


def test_agents_that_play_alone_meet_the_same_chance():
    walk = game("toy_walk").ruleset()
    matches = round_robin(walk, ["random", "random:x=1", "file:a.py"], 3)
    assert [m.seed for m in matches[:3]] == [m.seed for m in matches[3:6]] == [m.seed for m in matches[6:]]
    assert len({m.seed for m in matches}) == 3


def test_three_players_have_a_league(tmp_path):
    three = game("toy_nim").ruleset(players=3)
    with Store(tmp_path / "three.sqlite") as store:
        assert run_league(three, ["random", "bouton"], store, LocalExecutor(1), games=6).left == 0
        table = standings(three, store.results(three))
        assert {line.agent for line in table.lines} == {"random", "bouton"}
        assert sum(table.reasons.values()) == 12
        publish(three, store, store.results(three), tmp_path / "out")

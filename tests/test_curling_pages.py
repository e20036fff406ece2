"""The pages of digital curling: what is counted, kept, and played again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from curling_tools import RULES, position

from asobiba.baselines.curling import ends, plans, reproduction
from asobiba.baselines.curling.matches import opening_points
from asobiba.core import game

pytestmark = pytest.mark.filterwarnings("ignore::asobiba.baselines.curling.player.FewSimulations")
STEADY = (("gccs", "ayumu"), ("dis", "tee_draw"))


def test_the_papers_matches_are_played_again_and_written_down(tmp_path):
    """The quick mode: one match of every kind of player that needs no trained network, and one by the clock."""
    quick = [("gccs", "ayumu"), ("gccs", "through"), ("end_plan:shots=8", "ayumu"), ("kr_uct", "ayumu")]
    numbers = tuple(k for k, match in enumerate(reproduction.MATCHES) if (match.one, match.two) in quick)
    assert len(numbers) == 4
    yielded = list(reproduction.play_all("simulations=10", 2, 1, numbers))
    assert len(yielded) == 8  # a row after every game
    record = reproduction.Record(1, reproduction.merged(yielded))
    assert [row.match for row in record.played] == [reproduction.MATCHES[k] for k in numbers]
    assert all(row.result.games == 2 == len(row.result.margins) for row in record.played)
    gccs, ayumu = record.played[0].usage
    assert (gccs.shots, ayumu.shots) == (2 * 5, 2 * 8)  # the book's three stones are not searched
    assert ayumu.playouts <= 10 * ayumu.shots
    record.candidates = {"ayumu": [float(k) for k in range(16)]}
    text = reproduction.markdown(record, "page.md")
    assert text.count("\n| gccs") + text.count("\n| end_plan") + text.count("\n| kr_uct") == 4
    assert "0.514 of 500" in text
    assert "8 games of 1 ends on cs2, of 76 planned" in text
    assert "| 2 of 20 |" in text
    assert "--simulations 10`" in text
    assert f"4 of {len(reproduction.MATCHES)} matches" in text
    assert "| ayumu | 0 | 1 |" in text
    reproduction.save(record, tmp_path / "page.json")
    again = reproduction.load(tmp_path / "page.json", 1)
    assert again == record
    assert list(reproduction.play_all("simulations=10", 2, 1, numbers, again.played)) == []
    assert reproduction.load(tmp_path / "page.json", 2).played == []
    # A run that was stopped after a match's first game goes on with its second one, and comes to the same.
    first = next(row for row in yielded if row.result.games == 1)
    (rest,) = reproduction.play_all("simulations=10", 2, 1, numbers[:1], [first])
    assert rest.cells() == record.played[0].cells()
    # Another budget is another row.
    other = next(reproduction.play_all("simulations=5", 1, 1, numbers[:1], record.played))
    assert len(reproduction.merged([*record.played, other])) == 5
    assert reproduction.with_budget("end_plan:shots=8", "seconds=0.1") == "end_plan:shots=8,seconds=0.1"
    assert reproduction.with_budget("dis", "seconds=0.1") == "dis"
    assert reproduction.with_budget("gccs:clock=true", "seconds=0.1") == "gccs:clock=true"


def test_a_match_by_the_clock_tells_what_a_shot_costs(monkeypatch):
    """Table 4 of the opening book's paper: time and playouts of a searched shot."""
    monkeypatch.setattr(reproduction, "MATCHES", (replace(reproduction.MATCHES[0], rules={"thinking_time": 9}),))
    (row,) = reproduction.play_all("", 1, 1)
    assert (row.match.one, row.budget) == ("gccs:clock=true", "")
    assert all(usage.playouts > 0 and usage.seconds < 9.0 for usage in row.usage)
    text = reproduction.markdown(reproduction.Record(1, [row]), "page.md")
    assert "| gccs | 6,451.9 | 1,900,000 |" in text


def test_candidates_are_counted_by_shot_and_plans_leave_fewer():
    """The first system's plans know no versions, so that they leave more than the second's."""
    counts = reproduction.candidate_counts(1)
    every, first, second = (np.array(counts[text]) for text in reproduction.CANDIDATES)
    assert all(len(row) == 16 and (row > 0).all() for row in (every, first, second))
    assert first.sum() < every.sum()
    view = position({0: (0.0, -3.0)}, 2, end=7, total=(4, 2))
    one, two = (plans.kinds_for(RULES, view, system) for system in (1, 2))
    assert one & two == two
    assert one != two


def test_ends_are_counted_beside_the_published_figures(tmp_path):
    rows = ends.merged(ends.play_all(["rule_based:trials=2", "tee_draw"], 10, 3))
    assert len(rows) == 4
    assert all(len(row.points) == 3 for row in rows)
    assert [len(row.firsts) for row in rows] == [3, 3, 0, 0]
    assert all(np.hypot(*place) < 1.5 for place in rows[1].firsts)  # of the draw to the tee, with the game's noise
    ends.save(rows, tmp_path / "page.json")
    kept = ends.load(tmp_path / "page.json")
    assert kept == rows
    assert list(ends.play_all(["rule_based:trials=2", "tee_draw"], 10, 3, kept)) == []
    cells = ends.Ends("a", "last", (1, -1, -2, 0)).cells()
    assert [cell.split()[0] for cell in cells[1:5]] == ["25.0%"] * 4
    assert cells[5:] == ["0.75", "0.25", "4"]
    thrown = ends.Ends("a", "first", (1,), ((0.0, -2.5), (0.3, 0.5), (0.7, 0.2), (0.1, 2.2), None))
    assert thrown.openings(1.975) == ["`a`", "20%", "20%", "20%", "20%", "20%", "5"]
    text = ends.markdown(rows, "page.md")
    assert "| published: Ayumu's prior | 24.8% | 3.9% | 39.1% | 32.2% |" in text
    assert text.count("tee_draw") == 3


def test_openings_are_compared_over_single_ends(tmp_path):
    ruleset = game("curling").ruleset(stop_after=1, noise="uec")
    for side in (0, 1):
        players = ("tee_draw", "rule_based:trials=4", "rule_based:trials=4")
        points = list(opening_points(ruleset, *players, side, range(3)))
        assert points[1:] == list(
            opening_points(ruleset, *players, side, range(1, 3))
        )  # an end depends on its number alone
        assert all(-8 <= p <= 8 for p in points)
    # From both sides of the same ends: what one wins, the other loses.
    same = [list(opening_points(ruleset, *["tee_draw"] * 3, side, range(6))) for side in (0, 1)]
    assert same[0] == [-p for p in same[1]]
    assert any(same[0])
    rows = [reproduction.Opening(*row.name, (1, -2, 0)) for row in reproduction.OPENINGS]
    reproduction.save(reproduction.Record(10, [], [reproduction.OPENINGS[0], *rows]), tmp_path / "page.json")
    record = reproduction.load(tmp_path / "page.json", 10)
    assert record.openings == rows
    assert list(reproduction.play_openings(3, rows)) == []
    assert reproduction.markdown(record, "page.md").count("-0.33 ± 1.73") == 8


def test_games_by_another_win_table_are_said_to_be_and_played_again(tmp_path, monkeypatch):
    """A record tells by which table its players went; those who go by none keep their games."""
    numbers = tuple(k for k, match in enumerate(reproduction.MATCHES) if (match.one, match.two) in STEADY)
    record = reproduction.Record(1, reproduction.merged(reproduction.play_all("simulations=10", 1, 1, numbers)))
    record.openings = [reproduction.Opening(*reproduction.OPENINGS[0].name, (1,))]
    reproduction.save(record, tmp_path / "page.json")
    rows = ends.merged(ends.play_all(["tee_draw", "ayumu"], 10, 1))
    ends.save(rows, tmp_path / "ends.json")
    monkeypatch.setattr(reproduction, "table_digest", lambda: "another")
    known = reproduction.load(tmp_path / "page.json", 1)
    assert [row.stale for row in known.played] == [True, False]
    assert known.openings == []
    text = reproduction.markdown(known, "page.md")
    assert text.count("| gccs : ayumu (by an earlier win table) |") == 1 == text.count("by an earlier")
    (again,) = reproduction.play_all("simulations=10", 1, 1, numbers, known.played)
    assert (again.match.one, again.table, again.stale) == ("gccs", "another", False)
    assert len(reproduction.merged([*known.played, again])) == 2
    kept = ends.load(tmp_path / "ends.json")
    assert [row.stale for row in kept] == [False, True, False, True]
    assert "| `ayumu:simulations=10` (by an earlier win table) |" in ends.markdown(kept, "page.md")
    assert {row.player for row in ends.play_all(["tee_draw", "ayumu"], 10, 1, kept)} == {"ayumu:simulations=10"}

"""The held-out set: what it declares, and what is measured on it."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from asobiba.baselines.mini4wd.generalise import Task
from asobiba.baselines.mini4wd.unseen import SET, Measured, by_course, held_out, page, summary, with_section
from asobiba.core import GameParameterError
from asobiba.envs.mini4wd.course_source import load_course


def test_the_set_has_all_named_courses_and_fifty_that_are_used_for_nothing_else():
    held = held_out()
    assert len(held.names) == len(set(held.names)) == 58
    used = {*Task().trained, *Task().others, *(f"random:{k}" for k in (*range(20), *range(1000, 1200)))}
    assert not used & set(held.names)
    lengths = [load_course(name).lap_length for name in held.names]
    assert len({round(length, 3) for length in lengths[8:]}) > 45  # they differ
    seeds = [seed for _, car, seed in held.cells if car == held.cars[0]]
    assert np.diff(seeds).tolist() == [held.runs] * 57


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "set.yml"
    data = yaml.safe_load(SET.read_text()) | {
        "courses": ["junior"], "generated": {"first": 50_000, "count": 1}, "cars": ["dash", "instrumented"], "runs": 2
    }  # fmt: skip
    path.write_text(yaml.safe_dump(data))
    return held_out(path)


def test_results_are_given_by_course_kept_and_taken_up_again(small, tmp_path):
    keep, agents, driven = tmp_path / "kept.jsonl", ["constant:duty=0.5", "constant:duty=0.4"], []
    measured = Measured(small, keep)
    for agent in agents:
        measured.drive(agent, "simulator", driven.append)
    assert sum(driven) == 2 * 2 * 2 * 2
    again = Measured(small, keep)
    assert again.seconds.keys() == measured.seconds.keys()
    for key, seconds in again.seconds.items():
        assert np.array_equal(seconds, measured.seconds[key], equal_nan=True)
    rows = summary(measured, agents, ["simulator"])
    assert [row[2] for row in rows] == ["all", "dash", "instrumented"] * 2
    assert all(float(row[5].split("%")[0]) > 15 for row in rows[:3])  # half as much power again
    assert [row[0] for row in by_course(measured, agents, "simulator")] == ["junior", "random:50000"]
    text = page(measured, agents, ["simulator"], "a command")
    assert text.count("\n| junior |") == text.count("\n| random:50000 |") == 1
    longer = with_section(text, measured, agents, ["simulator"], "another command")
    assert longer.startswith(text)
    assert longer.count("\n| junior |") == 2
    told = [
        sum(np.isfinite(measured.of(agent, "simulator", course)).all() for course in small.names) for agent in agents
    ]
    assert f"all 4 runs finish (simulator): `{agents[0]}` {told[0]}, `{agents[1]}` {told[1]}." in longer
    assert with_section(longer, measured, agents, ["simulator"], "another command") == longer
    # A car that comes round at less duty is faster with more; at too little it does not come round.
    assert not np.any(measured.of(agents[0], "simulator") >= measured.of(agents[1], "simulator"))


def test_both_sides_drive_the_same_cars(small):
    measured = Measured(
        replace(small, courses=("junior_short",), generated={"first": 0, "count": 0}, cars=("dash",), laps=1)
    )
    for side in ("simulator", "link"):
        measured.drive("constant:duty=0.7", side)
    first, second = (measured.of("constant:duty=0.7", side) for side in ("simulator", "link"))
    assert second == pytest.approx(first, abs=0.05)


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "set.yml"
    path.write_text("courses: [junior]\nlaps: 3\n")
    with pytest.raises(GameParameterError, match="no held-out set"):
        held_out(path)

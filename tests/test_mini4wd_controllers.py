"""The mini 4WD controllers: what each does, learning, recordings, the table."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from asobiba.baselines.mini4wd import AGENTS
from asobiba.baselines.mini4wd.commands import app
from asobiba.baselines.mini4wd.controllers import Controller, SensingController, nearest_level, nominal, run_many
from asobiba.baselines.mini4wd.keyboard import record_keys
from asobiba.baselines.mini4wd.learning import Tape, localised_cells, record_tape, teach
from asobiba.baselines.mini4wd.published import driven
from asobiba.baselines.mini4wd.stopping import DISTANCE
from asobiba.baselines.mini4wd.table import UPPER_REFERENCE, Plan, evaluate, evaluate_stops, stops_of
from asobiba.core import GameParameterError, make_agent, states
from asobiba.envs.mini4wd import DISCRETE, GAME, POSITION, RACE
from asobiba.envs.mini4wd.car import load_car
from asobiba.envs.mini4wd.course import CURVE, KINDS, THETA
from asobiba.envs.mini4wd.layout import LEVELS
from asobiba.envs.mini4wd.physics import CAUSES
from asobiba.envs.mini4wd.simulate import simulate

NAMES = tuple(declaration.name for declaration in AGENTS["mini4wd"])


TRANSISTOR = {"base": "atmega328p", "bridge_resistance": 0.0, "dead_time": 0.0, "slow_decay": 0}
"""A single transistor, which leaves the motor free while it is off, as in Kozu's car."""


def rules(**parameters):
    return GAME.ruleset(**{"tachometer": True, "lane": 0, "randomise": "none", **parameters})


def drive(agent, ruleset, seed=1):
    """All actions of a run and its final state."""
    agent.reset(ruleset, 0, seed)
    state, actions = states.new_state(ruleset, seed), []
    while not states.is_over(state):
        actions.append(np.array(agent.act(states.view_of(ruleset, state, 0), np.zeros(0, np.int8))))
        state = states.step(ruleset, state, actions[-1])
    return np.array(actions), state


WITHIN_A_STEP = "sequence:on=0.0065,off=0.0035"


@pytest.mark.parametrize(
    "name", [n for n in NAMES if n not in ("localise", "ppo_junior_hill", "sequence")] + [WITHIN_A_STEP]
)
def test_every_controller_finishes_the_junior_circuit(name):
    actions, state = drive(make_agent(GAME, name), rules())
    assert state["finish_time"][0] > 0
    assert np.all(np.abs(actions) <= 1)


def test_constant_and_sequence_keep_their_pattern():
    actions, _ = drive(make_agent(GAME, "constant:duty=0.5"), rules())
    assert np.all(actions[:, 0] == 0.5)
    actions, _ = drive(make_agent(GAME, "sequence:on=0.2,off=0.1"), rules())
    duty = actions[:, 0]
    assert duty[:15] == pytest.approx([1] * 10 + [0] * 5, abs=1e-3)
    assert duty[15:30] == pytest.approx(duty[:15], abs=1e-3)


def test_five_seconds_on_and_five_off():
    # Kozu's first test: the car gains speed for five seconds and runs at its top, then it slows down and comes to a stop.
    actions, state = drive(make_agent(GAME, "sequence"), rules(laps=10))
    assert CAUSES[state["cause"][0]] == "stopped"  # within its 5 s, after the rules' 3
    actions, state = drive(make_agent(GAME, "sequence"), rules(laps=10, stand_seconds=10))
    assert CAUSES[state["cause"][0]] == "running"
    assert np.all(actions[500:750, 0] == 1)
    assert np.all(actions[:250, 0] == 1)
    off = slice(251, min(500, len(actions)))
    assert np.all(actions[off, 0] == 0)
    assert np.all(actions[off, 1] < -0.5)  # the transistor is open: the motor is free
    commands = np.repeat([[1.0, 0.5], [0.0, -0.75]], 250, axis=0)
    log = simulate("stock+torque_tuned", "home_oval", commands, laps=20)
    speed = log["v"]
    assert speed[200:250].mean() > 0.95 * speed[150:200].mean()  # at its top
    assert speed[-1] < 0.05
    assert np.all(np.diff(speed[251::25]) < 0.02)  # it only becomes slower


@pytest.mark.parametrize("control_ms", [10, 20, 50])
def test_a_pattern_inside_a_control_period_acts_as_its_share(control_ms):
    # Kozu's second test: 2 ms on, 8 ms off; the car drives slowly.
    ruleset = rules(control_ms=control_ms, max_seconds=60.0, laps=1, profile=TRANSISTOR)
    actions, state = drive(make_agent(GAME, "sequence:on=0.002,off=0.008"), ruleset)
    assert actions[:, 0] == pytest.approx(0.2, abs=1e-6)
    assert state["finish_time"][0] > 0
    speed = float(ruleset.params["lap_length"][0]) / state["finish_time"][0]
    assert 0.1 < speed < 1.2
    # A pattern whose period is no divisor of the control period has the same mean.
    duty = drive(make_agent(GAME, "sequence:on=0.003,off=0.004"), rules(control_ms=control_ms))[0][:, 0]
    assert duty.mean() == pytest.approx(3 / 7, abs=0.02)


def slow_share(course, **parameters):
    """The slow driving of the slope control: shares of the time on slopes and on the flat, and the first place, m."""
    ruleset = rules(course=course, **parameters)
    agent = make_agent(GAME, "slope")
    agent.reset(ruleset, 0, 0)
    state, slow, kinds, places = states.new_state(ruleset, 0), [], [], []
    while not states.is_over(state) and state["lap"][0] < 2:
        action = agent.act(states.view_of(ruleset, state, 0), np.zeros(0, np.int8))
        slow.append(action[0] < 0.75)
        kinds.append(int(state["kind"][0]))
        places.append(float(state["progress"][0]))
        state = states.step(ruleset, state, action)
    slow, kinds = np.array(slow), np.array(kinds)
    steep = np.isin(kinds, (4, 5, 9))
    first = places[int(np.argmax(slow))] if slow.any() else np.inf
    return slow[steep].mean() if steep.any() else 0.0, slow[~steep].mean(), first


def test_slope_control_tells_a_slope_from_acceleration():
    # A flat oval with its curves: nothing is taken for a slope, pulling away neither.
    _, flat, _ = slow_share("home_oval")
    assert flat < 0.05
    # With a hill: it slows on it, seldom elsewhere, and not at the start.
    steep, flat, first = slow_share("junior_hill")
    assert steep > 0.25
    assert flat < 0.1
    assert first > 0.5
    # A faster car pulls away at 6 m/s2 and shakes more: slow now and then for nothing, but not at the start.
    _, flat, first = slow_share("home_oval", car="dash")
    assert flat < 0.3
    assert first > 2.0


def test_without_a_tachometer_the_accelerometer_hardly_sees_a_slope():
    # A rolling car's accelerometer reads motor and drag, no gravity: on the way up it reads what it read before, within less than
    # its own vibration (published logs: 0.35 to 0.6 g after a mean of 16 samples).
    log = simulate("stock", "junior_hill", np.full(400, 0.7), laps=2, profile={"base": "atmega328p", "vibration": 0.0})
    track, at = log.ruleset.params["track"][0], (log["piece"], log["lane"])
    rolling = (log["airborne"] == 0) & (log["v"] > 1.5)
    up = rolling & (track[(*at, THETA)] + track[(*at, CURVE)] * log["u"] > 0.15)
    flat = rolling & (log["kind"] == KINDS.index("straight"))
    reading = log["imu"][:, -1, 0]
    assert up.sum() > 10
    assert abs(reading[up].mean() - reading[flat].mean()) < 0.12  # a tilt of 0.15 rad would be 0.15 g at rest
    shaken = simulate("stock", "junior_hill", np.full(400, 0.7), laps=2)["imu"][:, -1, 0]
    assert shaken[flat[: len(shaken)]].std() > 0.15


def pulses(text, **parameters):
    """Lengths of the reverse pulses of a run, in steps."""
    actions, _ = drive(make_agent(GAME, text), rules(**parameters))
    reverse = (actions[:, 0] < 0).astype(int)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], reverse, [0]])))
    return edges[1::2] - edges[::2]


def test_reverse_pulses_are_short():
    for text in ("pseudo_speed:duty=0.7,pulse=0.06,threshold=1.5", "gyro_pitch:duty=0.7,pulse=0.06"):
        lengths = pulses(text, course="junior_hill", car="dash")
        assert len(lengths) > 0, text
        assert lengths.max() <= 3, text  # 60 ms in steps of 20 ms
    with pytest.raises(GameParameterError, match=r"pulse is 0\.3, but must be a number from 0 to 0\.1"):
        make_agent(GAME, "pseudo_speed:pulse=0.3")


def test_the_pseudo_speed_reverses_again_and_again():
    # Orihara: the car brakes whenever its pseudo-speed passes the threshold, not once at the start of a run; so when it is fast.
    for course in ("junior", "junior_hill", "random:3"):
        duties, passed = driven("pseudo_speed:duty=0.9", course, "dash")
        begins = np.flatnonzero(np.diff((duties < 0).astype(int)) == 1) + 1
        assert len(begins) >= 6, course  # three runs
        assert passed["v"][begins, 0].mean() > passed["v"][:, 0].mean(), course


def test_a_taught_run_is_played_again_to_the_letter(tmp_path):
    ruleset = rules()
    tape = teach(ruleset, "constant:duty=0.8")
    path = tmp_path / "run.json"
    tape.save(path)
    assert Tape.load(path) == tape
    actions, state = drive(make_agent(GAME, f"playback:path={path},correct=false"), ruleset, seed=0)
    assert np.allclose(actions[: len(tape.rows), 0], [row[0] for row in tape.rows])
    assert state["finish_time"][0] > 0


def test_the_correction_makes_up_for_a_weak_battery(tmp_path):
    path = tmp_path / "run.json"
    teach(rules(), "constant:duty=0.6").save(path)
    weak = rules(randomise={"voltage": [0.85, 0.85]})
    times = {}
    for correct in ("true", "false"):
        _, state = drive(make_agent(GAME, f"playback:path={path},correct={correct}"), weak, seed=0)
        times[correct] = state["finish_time"][0]
    _, fresh = drive(make_agent(GAME, f"playback:path={path},correct=false"), rules(), seed=0)
    assert abs(times["true"] - fresh["finish_time"][0]) < 0.5 * abs(times["false"] - fresh["finish_time"][0])


def test_bad_tapes_are_refused(tmp_path):
    path = tmp_path / "bad.json"
    with pytest.raises(GameParameterError, match="cannot be read"):
        Tape.load(path)
    path.write_text('{"control_ms": 20, "teacher": "x", "rows": [[1, 2]]}')
    with pytest.raises(GameParameterError, match="duty, mode selector, volts"):
        Tape.load(path)
    path.write_text('{"control_ms": 50, "teacher": "x", "rows": [[1, 0.5, 2.5]]}')
    with pytest.raises(GameParameterError, match="steps of 50 ms"):
        make_agent(GAME, f"playback:path={path}").reset(rules(), 0, 0)


def test_teaching_by_keyboard_takes_the_last_key():
    ruleset = rules(max_seconds=1.0)
    now = [0.0]
    keys = iter(["9", "", "", " ", "", "r"] + [""] * 1000)

    def read_key(seconds):
        now[0] += max(seconds, 1e-4)
        return next(keys)

    tape = record_keys(ruleset, read_key, lambda: now[0])
    assert len(tape.rows) == 50
    assert [row[0] for row in tape.rows[:6]] == pytest.approx([1, 1, 1, 0, 0, -1])
    assert tape.rows[3][1] < 0


def test_localisation_learns_speeds_and_beats_constant_duty():
    ruleset = rules(course="random:1", car="dash", randomise="default", max_seconds=60.0)
    agent = make_agent(GAME, "localise:cars=6")
    agent.reset(ruleset, 0, 3)
    speeds = localised_cells(agent._memory)
    assert len(speeds) == pytest.approx(
        10 * 3 * ruleset.params["lap_length"][0], rel=0.05
    )  # a cell each 100 mm of the three lanes
    assert speeds.max() > speeds.min() + 0.3
    learned = run_many(ruleset, np.repeat(agent._memory, 20), np.arange(500, 520))
    plain = make_agent(GAME, "constant")
    constant = run_many(ruleset, np.repeat(plain.memory(), 20), np.arange(500, 520))
    assert (learned["cause"] > 0).mean() <= 0.2
    finished = learned["finish_time"][learned["finish_time"] > 0]
    assert finished.mean() < constant["finish_time"][constant["finish_time"] > 0].mean()
    with pytest.raises(GameParameterError, match="tachometer=True"):
        make_agent(GAME, "localise").reset(GAME.ruleset(), 0, 0)


def test_prediction_keeps_its_place_on_the_course():
    ruleset = rules(course="random:1", car="dash", randomise="default")
    agent = make_agent(GAME, "predict")
    agent.reset(ruleset, 0, 1)
    state, off = states.new_state(ruleset, 1), []
    while not states.is_over(state):
        action = agent.act(states.view_of(ruleset, state, 0), np.zeros(0, np.int8))
        off.append(abs(float(agent._replicas["progress"][0, 0] - state["progress"][0])))
        state = states.step(ruleset, state, action)
    assert max(off) < 0.5
    assert state["finish_time"][0] > 0


def test_controllers_play_every_game():
    for game in (DISCRETE, POSITION, RACE):
        ruleset = game.ruleset(tachometer=True, randomise="none")
        agents = [make_agent(game, "shape") for _ in range(ruleset.num_players)]
        for seat, agent in enumerate(agents):
            agent.reset(ruleset, seat, 0)
        state = states.new_state(ruleset, 0)
        for _ in range(100):
            actions = [
                a.act(states.view_of(ruleset, state, k), np.ones(ruleset.mask_shape[-1:], np.int8))
                for k, a in enumerate(agents)
            ]
            state = states.step(ruleset, state, np.array(actions) if ruleset.simultaneous else actions[0])
        assert np.all(state["progress"] > 1.0)
    assert LEVELS[nearest_level(np.array([0.52, 0.5]))][0] == 0.5
    assert nearest_level(np.array([0.0, -0.25])) == 1


def test_a_recorded_drive_is_the_nominal_cars():
    tape = record_tape(rules(randomise="wide"), lambda view: [0.7], "me")
    assert nominal(rules(randomise="wide")).parameters["randomise"] == "none"
    assert tape.teacher == "me"
    assert tape.rows[5][0] == pytest.approx(0.7)


def test_the_table_ranks_by_points_that_punish_course_outs():
    strong = load_car("dash").with_values(resistance=0.09).as_data()  # at full duty it leaves many courses
    plan = Plan(courses=4, first=0, cars=5, seed=0, car=strong)
    calm, wild = evaluate("constant:duty=0.6", plan), evaluate("constant:duty=1.0", plan)
    assert wild.out > calm.out
    assert calm.points > wild.points
    assert calm.runs == 20
    assert sum(wild.causes.values()) == pytest.approx(wild.out)
    assert evaluate(UPPER_REFERENCE, plan).points > calm.points


def test_a_table_is_the_same_in_parts():
    whole = evaluate("slope", Plan(courses=12, cars=2))
    done = []
    assert evaluate("slope", Plan(courses=12, cars=2), done.append) == whole
    assert done == [10, 2]


def test_the_page_of_the_controllers_goes_on_where_it_was_broken_off(tmp_path):
    page, kept = tmp_path / "page.md", tmp_path / "kept.jsonl"
    arguments = ["controllers", "--courses", "3", "--cars", "2", "--runs", "0"]
    runner = CliRunner()

    def run(*more):
        result = runner.invoke(app, [*arguments, "--keep", str(kept), "--output", str(page), *more])
        assert result.exit_code == 0, result.output
        return page.read_text()

    run("--only", "constant slope")
    lines = kept.read_text().splitlines()
    assert len(lines) == 2
    row = json.loads(lines[0])
    row["row"]["points"] = 9.0  # the next run must take it from here
    kept.write_text(json.dumps(row) + "\n" + lines[1][: len(lines[1]) // 2] + "\n")
    text = run("--only", "constant slope")
    assert "| constant | 9.000" in text
    assert text.index("| constant |") < text.index("| slope |")  # in order of points
    assert "asobiba mini4wd controllers --courses 3 --cars 2 --runs 0 --only 'constant slope' --output" in text
    assert run("--only", "constant", "--seed", "7").count("9.000") == 0  # other cars: another plan


# The position match


def test_stopping_at_the_mark():
    for tachometer, most in ((True, 0.12), (False, 0.2)):
        stops = evaluate_stops("stop", tachometer, 40, 500)
        assert stops.stopped > 0.9
        assert stops.median < most
    blind = evaluate_stops("constant", True, 5, 500)  # never stops: no distance to speak of
    assert blind.stopped == 0
    assert np.isnan(blind.mean)
    assert np.isinf(blind.contest)


def test_the_contest_drops_the_best_and_the_worst_of_five():
    assert stops_of("x", True, np.array([0.1, 0.2, np.inf, 0.3, 0.0])).contest == pytest.approx(0.2)
    assert stops_of("x", True, np.array([0.1, 0.2, np.inf, 0.3, 0.0])).stopped == pytest.approx(0.8)


def test_dead_reckoning_knows_where_the_car_is():
    ruleset = POSITION.ruleset(tachometer=True, nearest=14, farthest=15)
    agent = make_agent(POSITION, "stop")
    for seed in range(6):
        agent.reset(ruleset, 0, seed)
        state, off = states.new_state(ruleset, seed), []
        while not states.is_over(state):
            action = agent.act(states.view_of(ruleset, state, 0), np.zeros(0, np.int8))
            off.append(abs(float(agent._memory["filter"][0, DISTANCE] - state["progress"][0])))
            state = states.step(ruleset, state, action)
        assert np.median(off) < 0.15


def test_runs_do_not_depend_on_their_number():
    ruleset = rules(randomise="default")
    agent = make_agent(GAME, "shape")
    assert isinstance(agent, Controller)
    many = run_many(ruleset, np.repeat(agent.memory(), 8), np.arange(8))
    one = run_many(ruleset, agent.memory(), np.array([5]))
    assert many[5].tobytes() == one[0].tobytes()


@pytest.mark.parametrize("declared", [GAME, DISCRETE], ids=lambda g: g.name)
def test_controllers_that_are_kernels_drive_as_they_do_in_python(declared):
    ruleset = declared.ruleset(max_seconds=3.0)
    for text in ("constant", "sequence", "slope", "pseudo_speed", "gyro_pitch", "shape"):
        kernel = make_agent(declared, text)
        assert isinstance(kernel, SensingController)
        python = Controller(kernel.kind, kernel.settings, kernel.name)
        state = states.new_state(ruleset, 5)
        for agent in (kernel, python):
            agent.begin(ruleset, [0], [1])
        while not states.is_over(state):
            view, mask = states.view_of(ruleset, state, 0), states.action_mask(ruleset, state)
            action = kernel.act(view, mask)
            np.testing.assert_array_equal(action, python.act(view, mask))
            state = states.step(ruleset, state, action)

"""Mini 4WD: energy, courses, bad input, sensors, the four games."""

from __future__ import annotations

import contextlib
import importlib
import re

import numpy as np
import pytest
import yaml

import asobiba
from asobiba.api import Batch
from asobiba.api.render import rasterise
from asobiba.core import AsobibaError, GameParameterError, NotationError, compiled, games, states
from asobiba.core.random import seed_record
from asobiba.envs.mini4wd import DISCRETE, GAME, POSITION, RACE, notation
from asobiba.envs.mini4wd.car import CAR_FIELDS, load_car, motors, randomisation
from asobiba.envs.mini4wd.course import KIND, LENGTH, NEXT_LANE, final_pose, systems
from asobiba.envs.mini4wd.course_source import load_course
from asobiba.envs.mini4wd.draw import frames, plan_of
from asobiba.envs.mini4wd.fields import shipped
from asobiba.envs.mini4wd.layout import LEVELS, parameter_records
from asobiba.envs.mini4wd.physics import CAUSES, total_energy
from asobiba.envs.mini4wd.profile import BATTERY_LOW, imus
from asobiba.envs.mini4wd.rules import reset, run_on
from asobiba.envs.mini4wd.simulate import SELECTORS, lap_run, simulate

ALL = (GAME, DISCRETE, POSITION, RACE)


def action_of(ruleset, duty=0.6):
    if ruleset.discrete:
        return 9
    return np.full(ruleset.actions_shape, duty, np.float32)


NO_BRIDGE = {"base": "atmega328p", "bridge_resistance": 0.0, "brake_resistance": 0.0}
"""Electronics with which a fast motor leaves the course."""


def test_lap_and_lane_lengths_of_the_junior_circuit():
    # 5.87 / 6.63 / 7.38 m without the lane changer's excess, from the measured radii of the walls.
    course = load_course("junior")
    assert [course.lane_length(lane) for lane in range(3)] == pytest.approx([5.87, 6.63, 7.38], abs=0.05)
    assert load_course("home_oval").lap_length == pytest.approx(8.667, abs=0.01)  # as published


def test_a_car_passes_every_lane_once_in_three_laps():
    log = lap_run("stock", "junior", lane=1)
    assert sorted(set(log["lane"].tolist())) == [0, 1, 2]
    assert log["progress"][-1] >= 3 * load_course("junior").lap_length


def test_wide_ranges_include_cells_that_the_cars_program_takes_for_flat():
    """At full duty the battery's limit brakes some cars on alkaline cells at the start; at half duty none, nor with other cells."""

    def braked(car, duty):
        logs = [simulate(car, "junior", np.full(200, duty), seed=seed, randomise="wide") for seed in range(40)]
        return sum(float(log["low"].max()) >= BATTERY_LOW for log in logs)

    assert braked("alkaline", 1.0) > 4
    assert braked("alkaline", 0.5) == braked("dash", 1.0) == 0


# Energy


@compiled()
def energies(saved, params, commands, seed, out):
    s, p = saved[0], params[0]
    seed_record(s, seed, 0)
    reset(s, p)
    for i in range(commands.shape[0]):
        run_on(s, p, commands[i, 0], commands[i, 1])
        out[i] = total_energy(s, p, 0)
        if s.cause[0] != 0:
            return i + 1
    return commands.shape[0]


@pytest.mark.parametrize("course", ["junior", "junior_hill", "junior_bank", "jump", "random:5", "competition"])
def test_energy_never_grows_without_the_motor(course):
    rules = GAME.ruleset(course=course, randomise="wide", car="dash", control_ms=10, laps=9)
    for seed in range(12):
        commands = np.full((900, 2), (0.7 + 0.025 * seed, SELECTORS["drive"]))
        off = 60 + 25 * seed
        commands[off:] = 0.0, SELECTORS["free" if seed % 2 else "brake"]
        out = np.zeros(len(commands))
        done = energies(rules.zeros(), rules.params, commands, seed, out)
        coasting = out[off + 1 : done]  # the command acts within the first step
        assert np.all(np.diff(coasting) <= 1e-6), (seed, np.diff(coasting).max())


# Courses


def layouts_of(corners: int, straights: int, changers: int) -> set[tuple]:
    """All closed layouts of left corners, straights and lane changers up to rotation, by counting headings.

    Corners all turn the same way (a full turn needs all eight), so a layout is a number of straights and a lane changer
    or not at each of the eight headings; it closes where the sum of the vectors is 0.
    """
    unit = [(np.cos(k * np.pi / 4), np.sin(k * np.pi / 4)) for k in range(8)]
    found = set()

    def place(heading, left, lc, counts):
        if heading == 8:
            x, y = (sum(n * unit[k][axis] for k, (n, _) in enumerate(counts)) for axis in (0, 1))
            if abs(x) < 1e-9 and abs(y) < 1e-9:
                found.add(max(tuple(counts[k:] + counts[:k]) for k in range(8)))
            return
        for n in range(left + 1):
            for c in range(lc + 1):
                place(heading + 1, left - n, lc - c, [*counts, (n + 3 * c, c)])

    assert corners == 8
    place(0, straights, changers, [])
    return found


def test_the_junior_layouts_are_those_that_the_parts_allow():
    closed = {layout for layout in layouts_of(8, 3, 1) if any(n for n, _ in layout)}
    # The circuit with its lane changer opposite three straights, and the short one without it: nothing else closes.
    assert {tuple((n, c) for n, c in layout if n) for layout in closed} == {((3, 1), (3, 0)), ((1, 0), (1, 0))}
    for name in ("junior", "junior_clockwise", "junior_short"):
        kinds = [s.kind for s in load_course(name).segments]
        assert kinds.count("corner") == 8
        assert kinds.count("straight") + kinds.count("start") <= 3


@pytest.mark.parametrize("name", shipped("courses"))
def test_shipped_courses_close_in_every_lane(name):
    course = load_course(name)
    x, y, heading, z = final_pose(course.segments)
    assert (x, y, z) == pytest.approx((0, 0, 0), abs=1e-3)
    assert abs(heading) == pytest.approx(360)
    table = course.pieces
    assert np.all(table[:, :, LENGTH] > 0)
    for row in table:
        assert sorted(row[:, NEXT_LANE]) == list(range(course.lanes))


def test_random_courses_close_are_legal_and_follow_their_seed():
    lengths = set()
    for seed in range(25):
        course = load_course(f"random:{seed}")
        x, y, heading, z = final_pose(course.segments)
        assert (x, y, z) == pytest.approx((0, 0, 0), abs=1e-6)
        assert abs(heading) == pytest.approx(360)
        assert [s.kind for s in course.segments].count("lane_changer") == 1
        assert {s.kind for s in course.segments} <= set(systems()["junior"]["parts"])
        lengths.add(round(course.lap_length, 6))
    assert len(lengths) > 12
    again = importlib.import_module("asobiba.envs.mini4wd.generate").random_course(7)
    assert again is not load_course("random:7")
    assert np.array_equal(again.pieces, load_course("random:7").pieces)


def test_the_bridge_hands_the_outer_lane_to_the_inside():
    table = load_course("junior").pieces
    last = np.flatnonzero(table[:, 0, KIND] == 9)[-1]
    assert table[last, :, NEXT_LANE].tolist() == [1, 2, 0]


# Bad input

OVAL = {
    "name": "oval",
    "system": "junior",
    "segments": ["start", {"kind": "corner", "count": 4}, "straight", {"kind": "corner", "count": 4}],
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"segments": ["start", "corner", "straight"]}, ["does not close", "segment 3 (straight)", "45 degrees", "ahead"]),
        ({"segments": ["start", "loop"]}, ["segment 2", "'loop'", "one of", "corner"]),
        ({"segments": ["start", {"kind": "corner", "radius": 0.1}]}, ["segment 2 (corner)", "radius is 0.1", "from 0.45 to 5 m"]),
        ({"segments": ["start", {"kind": "corner", "turn": "up"}]}, ["segment 2 (corner)", "turn is 'up'", "left"]),
        ({"segments": ["start", {"kind": "straight", "radius": 1}]}, ["segment 2 (straight)", "'radius'", "length"]),
        ({"segments": ["start", {"kind": "straight", "count": 0}]}, ["count is 0", "from 1 to 100"]),
        ({"segments": ["straight"]}, ["segment 1 (straight)", "begins with its start"]),
        ({"segments": ["start", "start"]}, ["segment 2 (start)", "second start"]),
        ({"segments": ["start", {"kind": "slope_up", "crest_radius": 4}, "slope_down", {"kind": "corner", "count": 4}, {"kind": "straight", "count": 3}, {"kind": "corner", "count": 4}]}, ["segment 2 (slope_up)", "crest_radius is 4", "at most"]),
        ({"segments": ["start", "slope_up", {"kind": "corner", "count": 4}, "straight", "straight", {"kind": "corner", "count": 4}]},
         ["does not close", "+0.115 m above"]),
        ({"segments": "start"}, ["segments must be a list"]),
        ({"system": "slot"}, ["system is 'slot'", "junior, home, hard"]),
        ({"colour": "red"}, ["'colour'", "Fields:"]),
    ],
)  # fmt: skip
def test_a_bad_course_is_refused_by_segment_and_reason(change, words):
    with pytest.raises(GameParameterError) as error:
        load_course({**OVAL, **change})
    for word in words:
        assert word in str(error.value)


def test_a_file_is_refused_with_its_name(tmp_path):
    with pytest.raises(GameParameterError, match="Did you mean 'junior'"):
        load_course("junoir")
    path = tmp_path / "broken.yaml"
    path.write_text("segments: [")
    with pytest.raises(GameParameterError, match=r"broken\.yaml is no YAML"):
        load_course(str(path))
    with pytest.raises(GameParameterError, match="random:SEED"):
        load_course("random:x")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mass": 0.01}, ["mass is 0.01", "from 0.09 to 0.5 kg"]),
        ({"mass": "heavy"}, ["mass is 'heavy'", "a number"]),
        ({"mass": None}, ["mass is None"]),
        ({"tyre_diameter": 0.05}, ["tyre_diameter is 0.05", "0.022 to 0.035 m"]),
        ({"motor": "hyper"}, ["motor is 'hyper'", "hyper_dash"]),
        ({"motor": {"torque_constant": 1e-3, "resistance": 1.0}}, ["no_load_current is missing", "from 0 to 5 A"]),
        ({"wings": 2}, ["'wings'", "Fields:"]),
        ({"cg_rear": 0.09}, ["cg_rear is 0.09", "wheelbase"]),
        ({"mass": float("nan")}, ["mass is nan"]),
    ],
)  # fmt: skip
def test_a_bad_car_is_refused_by_field_value_and_range(change, words):
    good = {"name": "mine", "mass": 0.14, "motor": "normal", "battery": "nimh"}
    with pytest.raises(GameParameterError) as error:
        load_car({**good, **change})
    for word in words:
        assert word in str(error.value)


def test_a_missing_value_is_named():
    with pytest.raises(GameParameterError, match=r"mass is missing; it must be a number from 0\.09 to 0\.5 kg"):
        load_car({"motor": "normal", "battery": "nimh"})
    with pytest.raises(GameParameterError, match="battery is missing"):
        load_car({"mass": 0.14, "motor": "normal"})


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"control_ms": 15}, ["control_ms is 15", "10, 20, 50"]),
        ({"lane": 3}, ["lane is 3", "from -1 to 2"]),
        ({"laps": 0}, ["laps is 0"]),
        ({"imu": "bno055"}, ["imu is 'bno055'", "mpu6050"]),
        ({"actions": "wheel"}, ["actions is 'wheel'", "duty_mode"]),
        ({"randomise": {"mas": [1, 1]}}, ["'mas'", "mass"]),
        ({"randomise": {"mass": [1.2, 0.8]}}, ["mass is [1.2, 0.8]", "low end"]),
        ({"progress_weight": -1}, ["progress_weight is -1"]),
        ({"progres_weight": 1}, ["progres_weight", "progress_weight"]),
        ({"tachometer": "yes"}, ["tachometer is 'yes'"]),
        ({"profile": "arduino"}, ["no profile 'arduino'", "atmega328p"]),
        ({"profile": {"base": "atmega328p", "slow_decay": 0.5}}, ["slow_decay is 0.5", "whole number"]),
        ({"profile": {"base": "atmega328p", "control_ms": 25}}, ["control_ms is 25", "10, 20, 50"]),
        ({"profile": {"base": "atmega328p", "wings": 2}}, ["'wings'", "Fields:"]),
        ({"profile": {"control_ms": 20}}, ["codec is missing"]),
        ({"profile": "rt_ai_chip", "tachometer": True}, ["has none", "pulses_per_turn is 0"]),
    ],
)  # fmt: skip
def test_a_bad_parameter_is_refused(parameters, words):
    with pytest.raises(GameParameterError) as error:
        GAME.ruleset(**parameters)
    for word in words:
        assert word in str(error.value)


def test_a_car_survives_being_written(tmp_path):
    car = load_car("dash")
    path = tmp_path / "car.yaml"
    path.write_text(yaml.safe_dump(car.as_data()))
    assert load_car(str(path)).values == car.values
    assert len(motors()) == 11
    assert set(imus()) >= {"lis3dh", "kxr94_2050", "mpu6050", "mpu9150", "lsm6ds3"}
    assert len(car.vector) == len(CAR_FIELDS)
    assert randomisation("none").tolist() == [[1.0, 1.0]] * len(randomisation("none"))


# Sensors


def standing(imu, seeds, **parameters):
    ruleset = GAME.ruleset(imu=imu, randomise="none", **parameters)
    return np.array([states.new_state(ruleset, seed)["imu"][0] for seed in range(seeds)])


def test_at_rest_the_sensor_reads_gravity_its_bias_and_its_noise():
    samples = standing("mpu6050", 60)
    mean = samples.mean(axis=(0, 1))
    assert mean[:3] == pytest.approx([0, 0, 1], abs=0.03)
    within = np.sqrt(samples.var(axis=1, ddof=1).mean(axis=0))
    assert within[:3] == pytest.approx([0.004] * 3, rel=0.15)  # data sheet: 4 mg rms
    assert within[3:] == pytest.approx([np.radians(0.06)] * 3, rel=0.3)  # 0.06 degrees/s rms, in steps of that size
    bias = samples.mean(axis=1)
    assert np.abs(bias[:, 3:]).max() < np.radians(10.5)  # turn-on bias up to 10 degrees/s
    assert np.abs(bias[:, 3:]).max() > np.radians(5)


def test_the_window_is_quantised_and_saturates():
    samples = standing("lsm6ds3", 3)
    counts = samples[..., 0] / 4.88e-4
    assert counts == pytest.approx(np.round(counts), abs=2e-3)
    log = lap_run("stock+torque_tuned", "junior_hill", imu="lis3dh")
    assert np.abs(log["imu"][..., :3]).max() == pytest.approx(2.0)
    assert np.all(log["imu"][..., 3:] == 0)  # no gyro


def test_yaw_rate_and_lateral_acceleration_follow_the_curve():
    log = lap_run("stock", "junior_short", lane=1, window=4, seed=3)
    turning = np.isin(log["kind"], [2]) & (log["v"] > 2)
    speed = log["v"][turning]
    imu = log["imu"].mean(axis=1)[turning]
    assert np.median(imu[:, 5] / (speed / 0.54)) == pytest.approx(1, abs=0.1)
    assert np.median(imu[:, 1] * 9.80665 / (speed**2 / 0.54)) == pytest.approx(1, abs=0.15)


def test_vibration_grows_with_speed():
    log = lap_run("stock", "home_oval", seed=1)
    straight = log["kind"] < 2
    spread = log["imu"][..., 2].std(axis=1)
    slow, fast = straight & (log["v"] < 1.0), straight & (log["v"] > 3.0)
    assert spread[fast].mean() > 2 * spread[slow].mean()


def test_free_fall_reads_nothing_and_landing_a_spike():
    log = lap_run("stock+torque_tuned", "jump", lane=1, control_ms=10, sample_ms=1, latency_ms=1)
    flying = log["airborne"] > 0
    inside = flying & np.roll(flying, 1) & np.roll(flying, 2)
    assert inside.sum() > 3
    assert abs(np.median(log["imu"][inside, -1, 2])) < 0.6
    assert log["imu"][..., 2].max() > 4


def test_lost_and_late_frames():
    log = lap_run("stock", "junior", drop_rate=0.5, seed=2)
    age = log["frame_age"]
    # The newest frame that has come within its latency of 6 ms, at the phase of this episode.
    assert 0.006 <= age[0] < 0.016
    assert age[1:].min() == pytest.approx(age[0])
    assert np.mean(age[1:] > age[0] + 0.001) == pytest.approx(0.5, abs=0.1)


def test_randomised_values_lie_in_their_ranges():
    ranges = randomisation("wide")
    ruleset = GAME.ruleset(randomise="wide")
    nominal = load_car("stock").vector
    drawn = np.array([states.new_state(ruleset, seed)["car"][0] for seed in range(80)]) / np.where(nominal, nominal, 1)
    for j, (low, high) in enumerate(ranges[: len(nominal)]):
        if high > low and nominal[j]:
            assert drawn[:, j].min() >= low - 1e-9
            assert drawn[:, j].max() <= high + 1e-9
            assert np.ptp(drawn[:, j]) > 0.7 * (high - low)


# The games


def test_every_game_is_registered_under_its_name():
    names = {g.gymnasium_id for g in games()}
    assert {
        "asobiba/Mini4WD-v4",
        "asobiba/Mini4WDDiscrete-v4",
        "asobiba/Mini4WDPosition-v4",
        "asobiba/Mini4WDRace-v4",
    } <= names


# A longer window is another engine to compile: one game stands for all.
@pytest.mark.parametrize(
    ("game", "parameters"),
    [
        *[pytest.param(game, {}, id=game.name) for game in ALL],
        pytest.param(GAME, {"tachometer": True, "window": 24}, id="window", marks=pytest.mark.slow),
    ],
)
def test_views_hide_the_simulator_and_resampling_keeps_what_was_sensed(game, parameters):
    ruleset = game.ruleset(**parameters)
    state = states.new_state(ruleset, 4)
    for _ in range(30):
        state = states.step(ruleset, state, action_of(ruleset))
    for seat in range(ruleset.num_players):
        view = states.view_of(ruleset, state, seat)
        assert not np.any(view["v"])
        assert not np.any(view["car"])
        other = states.resample(ruleset, view, seat, 9)
        assert other["progress"][seat] != state["progress"][seat]
        assert states.view_of(ruleset, other, seat).tobytes() == view.tobytes()
        assert np.array_equal(states.observation(ruleset, other, seat), states.observation(ruleset, state, seat))


def test_the_rewards_are_the_sum_of_their_terms_and_make_the_points():
    ruleset = GAME.ruleset(randomise="none", lane=0)
    state, total = states.new_state(ruleset, 0), 0.0
    while not states.is_over(state):
        state = states.step(ruleset, state, [0.9, 0.5])
        terms = [float(state[f"reward_{name}"][0]) for name in ("progress", "finish", "course_out")]
        assert float(state["rewards"][0]) == pytest.approx(sum(terms), abs=1e-5)
        total += float(state["rewards"][0])
    whole = 3 * load_course("junior").lap_length
    assert total == pytest.approx(state["progress"][0] / whole + whole / 3 / state["finish_time"][0], abs=1e-3)
    out = GAME.ruleset(randomise="none", lane=0, car="stock+hyper_dash", profile=NO_BRIDGE)
    state, total = states.new_state(out, 0), 0.0
    while not states.is_over(state):
        state = states.step(out, state, [1, 0.5])
        total += float(state["rewards"][0])
    assert CAUSES[state["cause"][0]] == "lane changer"
    assert total < 0


def test_a_car_that_stops_on_the_way_is_out_after_three_seconds():
    commands = np.zeros((400, 2))
    commands[:50] = 0.5, SELECTORS["drive"]
    commands[50:] = 0.0, SELECTORS["brake"]
    log = simulate("stock", "junior", commands)
    assert log.cause == "stopped"
    assert log["still"][-1] == pytest.approx(3.0, abs=0.03)
    assert simulate("stock", "junior", np.zeros(300)).cause == "running"  # one that has not started yet is not


def test_position_match_ends_at_standstill_with_the_distance():
    ruleset = POSITION.ruleset(randomise="none", lane=1, nearest=5, farthest=5)
    state = states.new_state(ruleset, 0)
    assert states.observation(ruleset, state, 0)[-1] == pytest.approx(5.0)
    while not states.is_over(state):
        drive = state["progress"][0] < 4.2
        state = states.step(ruleset, state, [0.4, 0.5] if drive else [0.0, -0.25])
    off = abs(float(state["progress"][0]) - 5.0)
    assert off < 1.0
    assert float(state["reward_stop"][0]) == pytest.approx(1 - off, abs=1e-5)


def test_a_race_goes_to_the_faster_car_or_to_the_one_that_stays_on():
    ruleset = RACE.ruleset(randomise="none", lane=0)
    results = {}
    for name, first, second in (("faster", 0.6, 0.9), ("out", 0.5, 1.0)):
        rules = (
            ruleset
            if name == "faster"
            else RACE.ruleset(randomise="none", lane=0, car="stock+hyper_dash", profile=NO_BRIDGE)
        )
        state = states.new_state(rules, 1)
        while not states.is_over(state):
            state = states.step(rules, state, [[first, 0.5], [second, 0.5]])
        results[name] = state["rewards"].tolist(), [CAUSES[c] for c in state["cause"]]
    assert results["faster"][0] == [-1, 1]
    assert results["out"] == ([1, -1], ["running", "lane changer"])


@pytest.mark.parametrize("game", [GAME, RACE], ids=lambda g: g.name)
def test_every_state_that_play_reaches_is_valid_and_a_broken_one_is_refused(game):
    ruleset = game.ruleset()
    batch = Batch(ruleset, 8, threads=1)
    batch.reset(seed=3)
    for _ in range(60):
        batch.step(batch.sample_actions())
        states.require_valid(ruleset, batch.states.copy())
    for field, value in (
        ("piece", 10_000), ("lane", -1), ("ring_at", 99), ("u", np.nan), ("u", 1e9), ("cause", 77), ("tick", 5000), ("kind", -3),
        ("pulses", -1), ("mode", 9), ("car", 1e6), ("sensor", np.nan), ("clock", -1.0), ("ring", np.inf),
        ("under_way", 3), ("under_way", -1), ("acts_at", 1e6), ("acts_at", np.nan), ("coming_duty", 7.0), ("coming_mode", 5),
    ):  # fmt: skip
        records = batch.states[:1].copy()
        records[field] = value
        with pytest.raises(AsobibaError):
            states.require_valid(ruleset, records)
    draw = np.random.default_rng(2)
    for _ in range(100):  # whatever the bytes: an answer, no crash
        data = np.frombuffer(batch.states[:1].tobytes(), np.uint8).copy()
        data[draw.integers(0, len(data), 8)] ^= draw.integers(1, 256, 8).astype(np.uint8)
        with contextlib.suppress(AsobibaError):
            states.require_valid(ruleset, data.view(ruleset.dtype))


def test_reverse_drives_backwards_and_over_the_start():
    log = simulate("stock", "junior", np.full(60, -0.6), profile={"base": "atmega328p", "reverse_limit": 60})
    assert log["progress"][-1] < -0.3
    assert log["lap"][-1] == -1


@pytest.mark.parametrize("game", [GAME, RACE], ids=lambda g: g.name)
def test_equal_bytes_in_batches_of_any_size_and_threads(game):
    ruleset = game.ruleset(randomise="default")
    whole, single = Batch(ruleset, 6, threads=2), Batch(ruleset, 1, threads=1)
    whole.reset(5)
    single.seed(5, 3)
    single.reset()
    for k in range(80):
        actions = np.zeros(whole.actions.shape, whole.actions.dtype)
        actions[...] = 8 if ruleset.discrete else 0.5 + 0.3 * np.sin(k / 9)
        whole.step(actions)
        single.step(actions[:1])
    assert whole.states[3].tobytes() == single.states[0].tobytes()


def test_one_course_and_car_for_each_environment():
    ruleset = GAME.ruleset(lane=0)
    variants = [{"course": "junior"}, {"course": "random:1"}, {"course": "competition", "car": "dash"}]
    batch = Batch(ruleset, 3, params=parameter_records(ruleset, variants))
    batch.reset(0)
    for _ in range(50):
        batch.step(np.full((3, 2), 0.5, np.float32))
    assert len({round(float(x), 6) for x in batch.states["progress"][:, 0]}) == 3
    with pytest.raises(GameParameterError, match="window"):
        parameter_records(ruleset, [{"window": 9}])


# Text and pictures


def test_actions_in_text():
    ruleset = GAME.ruleset()
    state = states.new_state(ruleset, 0)
    for text in ("drive +0.50", "drive -1.00", "brake", "free"):
        assert notation.action_to_text(ruleset, state, notation.text_to_action(ruleset, state, text)) == text
    race = RACE.ruleset()
    both = notation.text_to_action(race, states.new_state(race, 0), "drive +0.30, brake")
    assert np.shape(both) == (2, 2)
    levels = DISCRETE.ruleset()
    for number, _ in enumerate(LEVELS):
        assert notation.text_to_action(levels, state, notation.action_to_text(levels, state, number)) == number
    for bad in ("go", "drive 1.5", "drive"):
        with pytest.raises(NotationError, match=r"drive \+0\.50"):
            notation.text_to_action(ruleset, state, bad)


@pytest.mark.parametrize("game", ALL, ids=lambda g: g.name)
def test_pictures_show_the_car_and_a_seat_sees_its_senses_only(game):
    ruleset = game.ruleset(course="junior_hill")
    state = states.new_state(ruleset, 0)
    for _ in range(60):
        state = states.step(ruleset, state, action_of(ruleset))
    whole = ruleset.draw.svg(ruleset, state)
    assert "m/s" in whole
    assert whole.count("class='car'") == ruleset.num_players
    assert len(np.unique(rasterise(whole).reshape(-1, 3), axis=0)) > 100
    mine = ruleset.draw.svg(ruleset, state, seat=0)
    assert mine.count("class='car'") == 0
    assert mine.count("acc") == 1
    assert "lap" in ruleset.notation.board_text(ruleset, state)
    assert "lap" not in ruleset.notation.board_text(ruleset, states.view_of(ruleset, state, 0), 0)


def test_environments_show_the_car_as_who_stands_beside_the_course_sees_it():
    env = asobiba.make("mini4wd", render_mode="svg")
    env.reset(seed=0)
    assert env.render().count("class='car'") == 1
    assert env.metadata["render_fps"] == 50  # a picture a step is as fast as the car was
    env.close()
    slower = asobiba.make("mini4wd_race", opponent="constant", render_mode="svg", control_ms=50)
    slower.reset(seed=0)
    assert slower.render().count("class='car'") == 2
    assert slower.metadata["render_fps"] == 20
    slower.close()


@pytest.mark.parametrize("name", [*shipped("courses"), "random:1003"])
def test_the_plan_of_every_lane_goes_on_where_a_piece_ends(name):
    course = load_course(name)
    plan, table = plan_of(course), course.pieces
    for piece in range(len(table)):
        for lane in range(course.lanes):
            end = plan[piece, lane, -1]
            begin = plan[(piece + 1) % len(table), int(table[piece, lane, NEXT_LANE]), 0]
            assert np.hypot(*(end - begin)[:2]) < 0.01
            assert np.cos(end[2] - begin[2]) > 0.999


def test_a_film_of_a_lap_shows_ten_pictures_a_second_and_the_end():
    ruleset = GAME.ruleset(course="junior_hill", laps=1, lane=2, randomise="none")
    state, pictures = states.new_state(ruleset, 0), []
    while not states.is_over(state):
        before, state = state, states.step(ruleset, state, [0.8, 0.5])
        pictures += frames(ruleset, before, [0.8, 0.5], state)
    assert len(pictures) == pytest.approx(10 * state["clock"][0], abs=2)
    assert pictures[-1].count(f", {state['finish_time'][0]:.2f} s</text>") == 1
    places = [re.search(r"<g transform='([^']*)'><rect class='car'", picture) for picture in pictures]
    assert len({place[1] for place in places if place}) == len(pictures)  # the car is somewhere else in each


def test_a_plot_of_a_run(tmp_path):
    pytest.importorskip("matplotlib")
    from asobiba.envs.mini4wd.plots import plot_run

    plot_run(lap_run("stock", "junior")).savefig(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 30_000

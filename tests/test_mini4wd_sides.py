"""The same policy on both sides: the simulated game, and the hardware environment in front of a car's program."""

from __future__ import annotations

import numpy as np
import pytest
from mini4wd_rig import build_firmware

from asobiba.baselines.mini4wd.sides import (
    Kept,
    Setting,
    Side,
    agree,
    difference,
    drivers,
    page,
    row,
    simulated,
    through_the_link,
    wilson,
)
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.car import load_car
from asobiba.envs.mini4wd.hardware.emulation import EmulatedChip, EmulatedTransport
from asobiba.envs.mini4wd.hardware.env import HardwareEnv
from asobiba.envs.mini4wd.hardware.transport import VirtualClock
from asobiba.envs.mini4wd.profile import load_profile
from asobiba.envs.mini4wd.simulate import simulate


def test_intervals_are_wilsons():
    # E. B. Wilson 1927; 8 of 10 gives 0.490 to 0.943 in the tables.
    assert wilson(8, 10) == pytest.approx((0.8, 0.490, 0.943), abs=0.001)
    assert wilson(0, 10)[1] == 0.0
    fast, slow = (
        Side(np.full(20, 7.0) + np.linspace(-0.1, 0.1, 20)),
        Side(np.full(20, 7.5) + np.linspace(-0.1, 0.1, 20)),
    )
    assert agree(fast, fast)
    assert not agree(fast, slow)
    assert not agree(fast, Side(np.where(np.arange(20) < 5, 7.0, np.nan)))
    assert "| constant | 20 |" in page([(Setting(), [row("constant", fast, slow)])], "asobiba mini4wd sides")


@pytest.mark.parametrize(
    ("profile", "controller", "longer"),
    [
        ("atmega328p", "constant", 0.02),
        ("atmega328p", "predict", 0.15),
        ("esp32", "predict", 0.15),
        ("rt_ai_chip", "shape", 0.4),
    ],
)
def test_the_same_cars_do_the_same_on_both_sides(profile, controller, longer):
    setting = Setting(profile=profile, laps=1)
    first, second = simulated(controller, setting, 4, 9_000), through_the_link(controller, setting, 4, 9_000)
    assert first.finished == second.finished == 4, row(controller, first, second)
    assert abs(difference(first, second)[0]) < longer


def test_an_agent_begins_every_run_afresh():
    # Of the second run's car the first one leaves no trace in the controller.
    setting = Setting(laps=1)
    two = through_the_link("predict", setting, 2, 9_002).seconds
    assert through_the_link("predict", setting, 1, 9_003).seconds[0] == pytest.approx(two[1], abs=0.05)


def test_a_table_goes_on_where_it_was_broken_off(tmp_path):
    path, side = tmp_path / "kept.jsonl", Side(np.array([7.0, np.nan, 7.5]))
    Kept(Setting(), 9, 3, path).keep("constant", side, side)
    with path.open("a") as file:
        file.write('[["cut')
    again = Kept(Setting(), 9, 3, path).rows["constant"][1].seconds
    assert np.array_equal(again, side.seconds, equal_nan=True)
    assert Kept(Setting(laps=2), 9, 3, path).rows == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "name"),
    [
        (profile, name)
        for profile in ("atmega328p", "esp32", "rt_ai_chip")
        for name in drivers(Setting(profile=profile))
    ],
)
def test_every_controller_does_the_same_on_both_sides(profile, name):
    setting = Setting(profile=profile)
    first, second = simulated(name, setting, 50, 9_000), through_the_link(name, setting, 50, 9_000)
    assert agree(first, second), row(name, first, second)


@pytest.mark.slow
def test_the_compiled_program_drives_as_the_simulator_does(tmp_path):
    firmware, emulator = build_firmware(tmp_path)
    chip = EmulatedChip(emulator, firmware)
    setting = Setting(laps=1)
    try:
        second = through_the_link("constant", setting, 2, 9_000, join=lambda body: EmulatedTransport(chip, body))
    finally:
        chip.close()
    first = simulated("constant", setting, 60, 5_000)
    done = first.seconds[np.isfinite(first.seconds)]
    assert second.finished == 2
    assert done.min() - 0.1 < second.seconds.min()
    assert second.seconds.max() < done.max() + 0.1


def test_the_bridge_between_its_pulses_is_the_profiles():
    # 1 to 0.4 duty at speed: the motor shorted between pulses brakes, left free it coasts.
    straight = {"name": "straight", "system": "junior", "segments": [
        "start", {"kind": "straight", "count": 35}, {"kind": "corner", "count": 4},
        {"kind": "straight", "count": 36}, {"kind": "corner", "count": 4},
    ]}  # fmt: skip
    lost = {}
    for decay in (0, 1):
        profile = {"base": "atmega328p", "slow_decay": decay}
        log = simulate("stock+torque_tuned", straight, np.array([1.0] * 120 + [0.4] * 20), profile=profile)
        v = log["v"]
        lost[decay] = (v[122] - v[135]) / (13 * 0.02)
    assert 0.8 < lost[0] < 2.0
    assert 2.0 < lost[1] < 5.5


def test_limits_in_the_car_hold_in_the_simulator_too():
    limit = load_profile("atmega328p").values["reverse_limit"]
    back = simulate("stock", "junior", np.array([1.0] * 40 + [-1.0] * 20))
    driven = back["current"][41:]
    assert limit == 0.1
    assert (
        driven[:4] < -1.0
    ).all()  # five steps of 20 ms in reverse, then short-brake, whose current is small at low speed
    assert np.abs(driven[12:]).max() < np.abs(driven[:4]).max()
    flat = {"base": "atmega328p", "battery_limit": 2.7}
    weak = simulate("stock+sprint_dash", "junior", np.ones(120), profile=flat)
    assert weak["v"][20] > 0.5
    assert weak["v"][-1] < 0.1  # below 2.7 V for half a second: braked for good
    assert weak["low"][-1] >= 0.5


def test_lost_commands_leave_the_last_one_and_then_the_car_brakes():
    lossy = {"base": "atmega328p", "command_loss": 0.9}
    log = simulate("stock", "junior", np.array([0.6] * 100 + [0.0] * 100), profile=lossy, seed=4)
    assert np.mean(log["duty"][5:100] == 0.6) > 0.5
    assert log["silence"].max() >= 0.2


def test_the_tachometer_is_as_good_as_its_pulses():
    errors = {}
    for marks in (1, 8):
        profile = {"base": "atmega328p", "pulses_per_turn": marks, "tachometer_filter": 0.0, "tachometer_jitter": 0.0}
        log = simulate("stock", "junior", np.full(200, 0.8), profile=profile, tachometer=True)
        moving = slice(60, 200)
        errors[marks] = float(np.sqrt(np.mean((log["wheel_speed"][moving] - log["w"][moving]) ** 2)))
        turned = log["turned"][-1] / (np.pi * load_car("stock").values["tyre_diameter"])
        assert log["wheel_turns"][-1] == pytest.approx(turned, abs=1.0 / marks + 0.6)  # a frame late, a mark coarse
    assert errors[8] < errors[1] < 0.2
    assert (log["wheel_speed"] >= 0).all()


def test_both_sides_measure_the_same_wheel_speed_and_age():
    env = HardwareEnv("sim", clock=VirtualClock(), randomise="none", lane=1, tachometer=True)
    observation, _ = env.reset(seed=3)
    errors, ages = [], []
    for _ in range(150):
        observation, *_ = env.step([0.7, 0.0])
        parts = env.ruleset.channels(observation)
        errors.append(float(parts["wheel_speed"][0]) - env._body.speed)
        ages.append(float(parts["frame_age"][0]))
    env.close()
    log = simulate("stock", "junior", np.full(150, 0.7), tachometer=True, lane=1)
    ours = (log["wheel_speed"] - log["v"])[50:]
    assert np.std(errors[50:]) == pytest.approx(np.std(ours), rel=0.5)
    assert min(ages) >= 0.006
    assert max(ages) < 0.018
    assert log["frame_age"][1:].min() >= 0.006
    assert log["frame_age"][1:].max() < 0.018
    assert GAME.ruleset(profile="rt_ai_chip").params["substeps"][0] == 50

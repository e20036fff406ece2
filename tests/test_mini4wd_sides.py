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
from asobiba.envs.mini4wd.profile import BATTERY_LOW, load_profile
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
    flat = {"base": "atmega328p", "battery_limit": 2.7, "battery_grace": 0.0}
    weak = simulate("stock+sprint_dash", "junior", np.ones(120), profile=flat)
    assert weak["v"][20] > 0.5
    assert weak["v"][-1] < 0.1  # below 2.7 V for half a second: braked for good
    assert weak["low"][-1] >= 0.5


def test_a_healthy_battery_starts_its_car_and_a_flat_one_brakes_it():
    # Stalled, the motor takes three times its running current: the alkaline cells of some cars sag below the limit.
    sagged = 0
    for seed in range(12):
        log = simulate("alkaline+atomic_tuned", "junior", np.ones(200), randomise="default", seed=seed, lane=1)
        sagged += log["bus"][1:].min() < 1.6
        assert log["low"].max() < BATTERY_LOW
        assert log["v"][-1] > 1.0
    assert sagged > 0
    flat = load_car("alkaline+atomic_tuned").with_values(voltage=2.0, battery_resistance=0.9)
    log = simulate(flat, "junior", np.ones(250), lane=1)
    braked = int(np.argmax(log["low"] >= BATTERY_LOW))
    assert braked * 0.02 == pytest.approx(2.0 + BATTERY_LOW, abs=0.05)  # the grace is over, and half a second more
    assert log["v"][braked] > 0.5
    assert log["v"][-1] < 0.1


def test_pauses_do_not_begin_the_grace_anew_and_a_stand_does():
    flat = load_car("alkaline+atomic_tuned").with_values(voltage=2.0, battery_resistance=0.9)
    for pause, brakes in ((0.5, True), (1.5, False)):
        cycle = [1.0] * 75 + [0.0] * round(pause / 0.02)
        log = simulate(flat, "junior", np.array(cycle * 4), lane=1, laps=100)
        assert (log["low"].max() >= BATTERY_LOW) == brakes


def test_behind_the_link_too_a_healthy_start_goes_on_and_a_flat_battery_ends_the_run():
    flat = load_car("alkaline+atomic_tuned").with_values(voltage=2.0, battery_resistance=0.9).as_data()
    for car, cause in (("alkaline+atomic_tuned", None), (flat, "braked for good")):
        env = HardwareEnv("sim", clock=VirtualClock(), randomise="none", lane=1, car=car)
        env.reset(seed=3)
        info = {}
        for _ in range(150):
            *_, info = env.step([1.0, 0.0])
            if "cause" in info:
                break
        env.close()
        assert (cause in info["cause"] and info["failed"]) if cause else "cause" not in info


def test_the_motor_sees_bridge_wiring_and_battery():
    car = load_car("dash")
    values = car.values
    source = values["battery_resistance"] + values["wiring_resistance"]
    for bridge in (0.0, 0.28):
        profile = {
            "base": "atmega328p",
            "bridge_resistance": bridge,
            "brake_resistance": 2 * bridge,
            "action_delay": 0.0,
        }
        push = simulate(car, "junior", np.array([1.0] * 50), lane=1, control_ms=10, profile=profile)
        stall = values["voltage"] / (values["resistance"] + bridge + source)
        assert push["current"][1] == pytest.approx(stall, rel=0.03)
        assert push["bus"][1] == pytest.approx(values["voltage"] - source * push["current"][1], rel=1e-3)
        commands = np.array([[1.0, 0.5]] * 50 + [[0.0, -0.25]])
        brake = simulate(car, "junior", commands, lane=1, control_ms=10, profile=profile)
        emf = values["torque_constant"] * values["gear_ratio"] / (values["tyre_diameter"] / 2) * brake["w"][-1]
        assert brake["current"][-1] == pytest.approx(-emf / (values["resistance"] + 2 * bridge), rel=0.03)
    slower = [
        simulate(car, "junior", np.full(100, duty), lane=1, profile={"base": "atmega328p", "dead_time": dead})["v"][-1]
        for duty, dead in ((0.5, 0.0), (0.5, 5e-6), (0.4, 0.0), (1.0, 0.0), (1.0, 5e-6))
    ]
    assert slower[1] == pytest.approx(slower[2], rel=1e-3)  # 5 us of 50 us: a tenth of the time
    assert slower[3] == slower[4]  # at full duty nothing switches


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

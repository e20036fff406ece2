"""Mini 4WD: commands on their way to the car, read from the motor's current a millisecond at a time."""

from __future__ import annotations

import numpy as np
import pytest

from asobiba.core import GameParameterError, compiled, make_agent, seed_record, states
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.car import load_car
from asobiba.envs.mini4wd.hardware.body import SimulatedBody
from asobiba.envs.mini4wd.hardware.codec import STOP, Drive, DriveMode
from asobiba.envs.mini4wd.hardware.program import Wire
from asobiba.envs.mini4wd.physics import drive, send
from asobiba.envs.mini4wd.profile import ACTION_DELAY, load_profile
from asobiba.envs.mini4wd.rules import reset
from asobiba.envs.mini4wd.run import control_step
from asobiba.envs.mini4wd.simulate import simulate

SPEED = 1.0
"""Speed at which the wheels are held while the current is read, m/s."""
DUTIES = np.linspace(0.3, 0.99, 24)


@compiled()
def begin(saved, params, seed):
    seed_record(saved[0], seed)
    reset(saved[0], params[0])


@compiled()
def currents(saved, params, duties, out):
    """Sends a duty every control step; the motor's current (A) of every millisecond, with the wheels held at `SPEED`."""
    s, p = saved[0], params[0]
    for i in range(duties.shape[0]):
        send(s, 0, duties[i], 0)
        for j in range(p.substeps):
            s.w[0] = SPEED
            drive(s, p, 0, 1)
            out[i * p.substeps + j] = s.current[0]


@compiled()
def lossy_duties(saved, params, duties, out):
    """The same with commands that may be lost: what the car obeys at the end of every control step."""
    for i in range(duties.shape[0]):
        control_step(saved[0], params[0], 0, duties[i], 0.5)
        out[i, 0] = saved[0].duty[0]
        out[i, 1] = saved[0].mode[0]


def rules(delay_ms, control_ms, **changes):
    profile = {"base": "atmega328p", "action_delay": delay_ms / 1000, "dead_time": 0.0, "battery_limit": 0.0, **changes}
    return GAME.ruleset(profile=profile, control_ms=control_ms, randomise="none", lane=1, course="junior", car="dash")


def begun(ruleset, seed=1):
    saved = ruleset.zeros()
    begin(saved, ruleset.params, seed)
    return saved


def current_at(duty):
    """What Ohm's law gives at `SPEED`: the voltage left by the back-EMF over all resistances, A."""
    car, profile = load_car("dash").values, load_profile("atmega328p").values
    emf = car["torque_constant"] * car["gear_ratio"] / (car["tyre_diameter"] / 2) * SPEED
    source = car["battery_resistance"] + car["wiring_resistance"]
    return (duty * car["voltage"] - emf) / (car["resistance"] + profile["bridge_resistance"] + duty**2 * source)


@pytest.mark.parametrize(
    ("delay_ms", "control_ms"),
    [(0, 20), (2, 20), (9, 10), (10, 10), (11, 10), (20, 20), (30, 20), (30, 50), (90, 50), (99, 10)],
)
def test_every_command_acts_after_the_delay_and_in_order(delay_ms, control_ms):
    ruleset = rules(delay_ms, control_ms)
    read = np.zeros(len(DUTIES) * control_ms)
    currents(begun(ruleset), ruleset.params, DUTIES, read)
    assert (read[:delay_ms] == 0.0).all()  # free: nothing has come yet
    milliseconds = np.arange(delay_ms, len(read))
    acting = DUTIES[(milliseconds - delay_ms) // control_ms]
    assert read[delay_ms:] == pytest.approx(current_at(acting), rel=1e-3)  # the battery empties a little


def test_a_delay_acts_from_the_nearest_millisecond():
    for delay_ms, first in ((0.2, 0), (1.4, 1), (2.6, 3), (20.4, 20), (20.6, 21), (39.7, 40)):
        ruleset = rules(delay_ms, 20)
        read = np.zeros(len(DUTIES) * 20)
        currents(begun(ruleset), ruleset.params, DUTIES, read)
        assert np.flatnonzero(np.abs(np.diff(read, prepend=0.0)) > 0.01)[:3].tolist() == [first, first + 20, first + 40]


def test_every_car_has_its_own_delay_and_loses_no_command():
    ruleset = GAME.ruleset(profile="rt_ai_chip", randomise="wide", control_ms=10, course="junior", car="dash", lane=1)
    room, seen = ruleset.dtype["acts_at"].shape[1], []
    for seed in range(60):
        saved = begun(ruleset, seed)
        delay = round(float(saved["sensor"][0, 0, ACTION_DELAY]) * 1000)
        read = np.zeros(len(DUTIES) * 10)
        currents(saved, ruleset.params, DUTIES, read)
        changes = np.flatnonzero(np.abs(np.diff(read, prepend=0.0)) > 0.005)
        assert changes.tolist() == [delay + 10 * k for k in range(len(changes))]
        assert len(changes) == len(range(delay, len(read), 10))
        assert saved["under_way"][0, 0] <= room
        seen.append(delay)
    assert min(seen) < 10
    assert max(seen) > 150


def test_the_same_commands_over_a_wire_move_the_car_the_same():
    draw = np.random.default_rng(3)
    for delay_ms, control_ms in ((20, 20), (35, 10)):
        profile = {"base": "atmega328p", "action_delay": delay_ms / 1000, "battery_limit": 0.0}
        duties = draw.uniform(0.2, 0.7, 1200 // control_ms)
        log = simulate("dash", "junior", duties, profile=profile, control_ms=control_ms, lane=1)
        assert log.cause == "running"
        body = SimulatedBody(0, course="junior", car="dash", lane=1, randomise="none", profile=profile)
        wire, obeyed = Wire(delay_ms / 1000, 0.0, 0), Drive(DriveMode.FREE)
        for i in range(len(duties) * control_ms):
            if i % control_ms == 0:
                wire.put(i / 1000, bytes([i // control_ms]))
            if came := wire.get(i / 1000):
                obeyed = Drive(DriveMode.FORWARD, float(duties[came[-1]]))
            body.advance(0.001, obeyed)
            if (i + 1) % control_ms == 0:
                after = log.states[(i + 1) // control_ms]
                for field in ("turned", "current", "progress"):
                    assert body.states[field][0, 0] == after[field][0], (delay_ms, control_ms, i, field)
        assert obeyed != STOP


def test_lost_commands_are_skipped_and_a_silent_link_brakes():
    control_ms, delay_ms, timeout = 20, 30, 0.2
    ruleset = rules(delay_ms, control_ms, command_loss=0.7, link_timeout=timeout)
    sent = np.linspace(0.001, 0.5, 400)
    obeyed = np.zeros((len(sent), 2))
    lossy_duties(begun(ruleset, 5), ruleset.params, sent, obeyed)
    last, braked, gap = -1, 0, 0
    for i, (duty, mode) in enumerate(obeyed):
        # At the end of step i the newest command that can act was sent a step before: 30 ms of the last 40 have passed.
        came = np.flatnonzero(sent == duty)
        if mode == 0 and len(came) and came[0] == i - 1:
            last, gap = i - 1, 0
            continue
        gap += 1
        if last < 0:
            continue
        # Step i ends at 20 (i + 1) ms; its last millisecond begins one before. The last command came at 20 last + 30 ms.
        silent = control_ms * (i + 1) - 1 - (control_ms * last + delay_ms)
        if silent >= timeout * 1000:
            assert mode == 1
            braked += 1
        else:
            assert (mode, duty) == (0, sent[last])
    assert braked > 10
    assert 0.2 < np.mean([mode == 0 and duty == sent[i - 1] for i, (duty, mode) in enumerate(obeyed)]) < 0.4


def test_a_drawn_position_has_the_last_actions_under_way():
    ruleset = rules(45, 20)
    state = states.new_state(ruleset, 4)
    for duty in (0.1, 0.2, 0.3, 0.4):
        state = states.step(ruleset, state, np.array([duty, 0.5], np.float32))
    drawn = states.resample(ruleset, state, 0, seed=7)
    for record in (state, drawn):
        assert record["under_way"][0] == 2
        assert record["coming_duty"][0, :2] == pytest.approx([0.3, 0.4])
        assert record["acts_at"][0, :2] == pytest.approx([0.085, 0.105])
    # The command that acts is older than the history of two: the oldest known is taken for it.
    assert state["duty"][0] == pytest.approx(0.2)
    assert drawn["duty"][0] == pytest.approx(0.3)


def test_prediction_follows_a_car_whose_commands_are_late():
    ruleset = GAME.ruleset(profile="rt_ai_chip", randomise="none", course="junior_hill", car="dash", lane=1)
    state, agent = states.new_state(ruleset, 2), make_agent(GAME, "predict")
    agent.reset(ruleset, 0, 0)
    legal, compared = np.zeros(0, np.int8), 0
    while not states.is_over(state) and state["clock"][0] < 2.0:
        action = agent.act(states.view_of(ruleset, state, 0), legal)
        replica = agent._replicas[1]
        if state["sensor"][0, ACTION_DELAY] and state["airborne"][0] == 0:
            assert replica["under_way"][0] == state["under_way"][0]
            compared += abs(replica["v"][0] - state["v"][0]) < 0.05
        state = states.step(ruleset, state, action)
    assert compared > 20


def test_delays_beyond_the_room_for_commands_are_refused():
    slow = {"base": "rt_ai_chip", "action_delay": 0.1}
    with pytest.raises(GameParameterError, match=r"action_delay is up to 600 ms.*must not exceed 310 ms"):
        GAME.ruleset(profile=slow, control_ms=10, randomise="wide")
    assert GAME.ruleset(profile=slow, control_ms=20, randomise="wide").dtype["acts_at"].shape == (1, 31)

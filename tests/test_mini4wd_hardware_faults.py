"""A real mini 4WD's link going wrong, over a pty in real time: nothing hangs, nothing stale is driven."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time

import pytest
from gymnasium.error import ResetNeeded
from mini4wd_rig import PtyCar, Sensed

from asobiba.envs.mini4wd.hardware.codec import DriveMode
from asobiba.envs.mini4wd.hardware.env import CarNotReady, HardwareEnv
from asobiba.envs.mini4wd.hardware.keys import Keys
from asobiba.envs.mini4wd.hardware.transport import LinkError

STEP = 0.02
BOUND = 2.0
"""No step may take longer, s; it is a hundred steps long because test machines are busy."""


@pytest.fixture
def car(tmp_path):
    car = PtyCar(tmp_path)
    yield car
    car.stop()


def environment(car, **changes):
    env = HardwareEnv(
        str(car.path), **{"place": lambda message: None, "link_timeout": 1.0, "control_ms": 20, **changes}
    )
    env.STILL_TIME = 0.3
    return env


class Driver:
    """Steps an environment with a duty of its own for every step, and keeps what happened."""

    def __init__(self, env):
        self.env = env
        self.asked: dict[float, float] = {}
        self.infos = []
        self.slowest = 0.0
        self.over = False

    def drive(self, seconds, most=10_000):
        end = time.monotonic() + seconds
        while not self.over and (time.monotonic() < end and len(self.infos) < most):
            duty = round(0.2 + 0.0005 * len(self.infos), 4)
            begun = time.monotonic()
            self.asked[duty] = begun
            *_, terminated, truncated, info = self.env.step([duty, 0.0])
            self.slowest = max(self.slowest, time.monotonic() - begun)
            assert self.slowest < BOUND
            self.infos.append(info)
            assert not terminated
            self.over = truncated
        return self.infos[-1]

    def check(self, car):
        """The car obeyed commands in order, each one once, and none long after it was asked for."""
        forward = [(at, c) for at, c in car.program.obeyed if c.drive.mode == DriveMode.FORWARD]
        numbers = [command.number for _, command in forward]
        assert numbers == sorted(set(numbers))
        for at, command in forward:
            duty = min(self.asked, key=lambda d: abs(d - command.drive.duty))
            assert abs(duty - command.drive.duty) < 1e-4
            # The car's limits, and by how much this machine kept the two of them waiting.
            assert at - self.asked[duty] < 0.1 + 0.25 + car.slowest + self.slowest
        return forward


@pytest.mark.parametrize("fault", ["lost", "doubled", "corrupted", "reordered", "jittery", "noisy"])
def test_a_bad_wire_is_survived(car, fault):
    env = environment(car)
    driver = Driver(env)
    env.reset()
    # Counted in steps, not in seconds: a busy computer takes longer for them.
    driver.drive(10.0, most=10)
    car.fault = fault
    driver.drive(20.0, most=60)
    car.fault = None
    info = driver.drive(10.0, most=75)
    env.close()
    assert not driver.over
    assert len(driver.check(car)) > 20
    counter = {"lost": "lost", "doubled": "doubled", "corrupted": "bad_frames", "reordered": "reordered"}
    if fault in counter:
        assert info[counter[fault]] > 3
    if fault == "noisy":
        assert info["bad_frames"] > 50
    assert info["stale_ms"] < 500 + 1000 * (car.slowest + driver.slowest)


@pytest.mark.parametrize("fault", ["late", "silent", "garbage"])
def test_a_lost_link_ends_the_episode(car, fault):
    env = environment(car, link_timeout=0.6)
    driver = Driver(env)
    env.reset()
    driver.drive(0.3)
    assert not driver.over
    car.fault = fault
    info = driver.drive(8.0)
    assert driver.over
    assert info["end_reason"] == "truncation"
    assert info["cause"].startswith("link lost: no valid frame for")
    with pytest.raises(ResetNeeded):
        env.step([0.5, 0.0])
    time.sleep(0.6)  # the car's own watchdog
    assert car.program.drive.mode == DriveMode.BRAKE
    car.fault = None
    time.sleep(0.6)  # whatever the wire still held has come by now, and none of it has made the car drive
    assert car.program.drive.mode == DriveMode.BRAKE
    driver.check(car)
    env.reset()
    again = Driver(env)
    again.drive(0.3)
    assert not again.over
    assert car.program.drive.mode == DriveMode.FORWARD
    env.close()


def test_a_port_that_vanishes_ends_the_episode_and_one_that_comes_back_can_be_used(car):
    env = environment(car, link_timeout=0.6)
    driver = Driver(env)
    env.reset()
    driver.drive(0.2)
    car.unplug()
    info = driver.drive(8.0)
    assert driver.over
    assert info["cause"].startswith("link lost: ")
    assert str(car.path) in info["cause"]
    with pytest.raises(LinkError, match="cannot open"):
        env.link.open(patience=0.2)
    car.plug_in()
    env.reset()
    again = Driver(env)
    again.drive(0.2)
    assert not again.over
    env.close()


def test_a_port_that_is_gone_for_a_moment_does_not_matter(car):
    env = environment(car)
    driver = Driver(env)
    env.reset()
    driver.drive(0.2)
    car.unplug()
    driver.drive(0.1)
    car.plug_in()
    driver.drive(0.5)
    assert not driver.over
    assert env.link.counts.reopened >= 1
    assert car.program.drive.mode == DriveMode.FORWARD
    driver.check(car)
    env.close()


def test_the_ai_chip_over_a_bad_wire(tmp_path):
    car = PtyCar(tmp_path, "aichip")
    env = environment(car, codec="aichip", control_ms=50)
    try:
        observation, _ = env.reset()
        assert env.observation_space.contains(observation)
        assert observation[2] == pytest.approx(1.0, abs=0.05)
        driver = Driver(env)
        car.fault = "corrupted"
        driver.drive(1.0)
        car.fault = None
        info = driver.drive(0.5)
        assert not driver.over
        assert info["round_trip_ms"] is None
        assert info["bad_frames"] > 0
        assert car.program.drive.mode == DriveMode.FORWARD
        car.fault = "garbage"
        assert driver.drive(8.0)["cause"].startswith("link lost")
    finally:
        env.close()
        car.stop()


def test_nobody_answers(car):
    car.fault = "silent"
    env = environment(car)
    with pytest.raises(LinkError, match=r"no car answers within 0\.3 s: 0 valid frames"):
        env.link.open(patience=0.3)
    env.close()


def test_there_is_no_such_port(tmp_path):
    env = HardwareEnv(str(tmp_path / "nothing"), place=lambda message: None)
    with pytest.raises(LinkError, match=r"cannot open .*nothing"):
        env.link.open(patience=0.1)
    env.close()


def test_a_car_that_does_not_lie_still_is_not_started(car):
    env = environment(car, settle=0.8)
    shaken = itertools.cycle((200, 200, -200, -200))
    car.body.sense = lambda: Sensed((next(shaken), 0, 2048, 0, 0, 0))
    with pytest.raises(CarNotReady, match=r"acceleration varies by 0\.\d+ g"):
        env.reset()
    assert car.program.drive.mode == DriveMode.BRAKE
    env.close()


def test_a_car_on_its_roof_is_not_started(car):
    env = environment(car)
    car.body.raw = (0, 0, -2048, 0, 0, 0)
    with pytest.raises(CarNotReady, match="does not stand on its wheels"):
        env.reset()
    env.close()


def wait_for(condition, seconds=8.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_or_interrupt_in_a_step_brakes(car, error, monkeypatch):
    env = environment(car)
    env.reset()
    Driver(env).drive(0.1)
    monkeypatch.setattr(env, "_rewards", lambda end: (_ for _ in ()).throw(error()))
    with pytest.raises(error):
        env.step([0.5, 0.0])
    wait_for(lambda: car.program.obeyed[-1][1].drive.mode == DriveMode.BRAKE)
    with pytest.raises(ResetNeeded):
        env.step([0.5, 0.0])
    env.close()


def test_closing_and_forgetting_brake(car):
    for forget in (False, True):
        env = environment(car)
        env.reset()
        Driver(env).drive(0.1)
        if forget:
            del env
        else:
            env.close()
        wait_for(lambda: car.program.obeyed[-1][1].drive.mode == DriveMode.BRAKE)


def test_the_stop_key_ends_the_episode(car):
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "rb", buffering=0) as terminal, Keys(terminal) as key:
        env = environment(car, stop_key=key)
        env.reset()
        driver = Driver(env)
        driver.drive(0.1)
        assert not driver.over
        os.write(ours, b" ")
        info = driver.drive(2.0)
        assert info["cause"] == "the human stop key was pressed"
        wait_for(lambda: car.program.obeyed[-1][1].drive.mode == DriveMode.BRAKE)
        env.close()
    os.close(ours)


_CHILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may have inherited that it is ignored
from asobiba.envs.mini4wd.hardware.env import HardwareEnv
env = HardwareEnv(sys.argv[1], place=lambda message: None, link_timeout=1.0)
env.STILL_TIME = 0.3
env.reset()
print("driving", flush=True)
while True:
    env.step([0.5, 0.0])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_dies_leaves_a_braked_car(car, how):
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(car.path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "driving\n"
    wait_for(lambda: car.program.drive.mode == DriveMode.FORWARD)
    child.send_signal(how)
    child.wait(30)
    child.stdout.close()
    if how == signal.SIGINT:
        wait_for(lambda: car.program.obeyed[-1][1].drive.mode == DriveMode.BRAKE)
        return
    wait_for(lambda: car.program.drive.mode == DriveMode.BRAKE)
    assert car.program.link_timed_out  # nobody asked for it: the car's own watchdog
    last = car.program._command_at
    braked = next(at for at, drive in car.body.drives if at > last and drive.mode == DriveMode.BRAKE)
    assert braked - last == pytest.approx(0.2, abs=0.002)  # of the car's clock

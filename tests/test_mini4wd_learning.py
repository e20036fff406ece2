"""Learning the mini 4WD: the policy's beginning, its integers on the emulated chip, generalisation's table."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import torch
from conftest import debian_program
from mini4wd_rig import FIRMWARE, Bench, build_firmware
from safetensors.torch import load_file
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from typer.testing import CliRunner

from asobiba.api.sb3 import SB3VecEnv
from asobiba.api.seating import Seating
from asobiba.arena.evaluation import play_groups
from asobiba.baselines.mini4wd.export import IntegerPolicy, integer_policy
from asobiba.baselines.mini4wd.generalise import environments, new_learner
from asobiba.baselines.mini4wd.learned import POLICY
from asobiba.baselines.mini4wd.memory import RunMemory
from asobiba.baselines.mini4wd.network import CarPolicy, scales
from asobiba.baselines.mini4wd.shaping import Promise
from asobiba.baselines.mini4wd.sides import Setting, simulated, through_the_link
from asobiba.baselines.mini4wd.table import drive_all, points
from asobiba.cli import app
from asobiba.core import GameParameterError, make_agent, states
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.car import load_car
from asobiba.envs.mini4wd.course import KAPPA, KINDS
from asobiba.envs.mini4wd.course_source import load_course
from asobiba.envs.mini4wd.hardware.emulation import EmulatedChip, EmulatedTransport
from asobiba.learn import training
from asobiba.learn.agent import PolicyAgent
from asobiba.learn.config import load_config
from asobiba.learn.imitation import demonstrate, imitate
from asobiba.learn.policy_file import PolicyFileError, load_policy
from asobiba.learn.remembering import RememberingVecEnv
from asobiba.learn.shaping import ShapedVecEnv
from asobiba.learn.training import _Exploration, new_model, train

NO_MASK = np.zeros(0, np.int8)

FLASH_FOR_A_POLICY = 32768 - 2048 - 4700
"""Bytes: the boot loader and the car's own program need the rest."""
LEAGUE = {"course": "junior_hill", "car": "dash", "tachometer": True}


@pytest.fixture(scope="module")
def policy():
    """The shipped one."""
    return load_policy(POLICY)


def wide_rules(policy):
    """The league's game with all of the window that the network reads."""
    return GAME.ruleset(**LEAGUE, window=policy.channels["imu"][0], history=policy.channels["actions"][0])


@pytest.fixture(scope="module")
def observations(policy):
    """The network's inputs in a run that it drives itself."""
    ruleset = wide_rules(policy)
    driver = make_agent(GAME, "ppo_junior_hill")
    driver.reset(ruleset, 0, 0)
    state, rows, memory = states.new_state(ruleset, 3), [], policy.memory(ruleset, 1)
    while not states.is_over(state):
        rows.append(memory.look(states.observation(ruleset, state, 0)[None])[0])
        state = states.step(ruleset, state, driver.act(states.view_of(ruleset, state, 0), NO_MASK))
        assert np.array_equal(driver.observed, rows[-1])
    assert state["finish_time"][0] > 0
    return np.array(rows)


def test_the_driver_does_what_the_network_says(policy, observations):
    driver = make_agent(GAME, "ppo_junior_hill")
    driver.reset(wide_rules(policy), 0, 0)
    wanted, _ = policy.predict(observations, deterministic=True)
    assert np.abs(np.array([driver.drive(row) for row in observations]) - wanted).max() < 1e-5


def test_the_driver_needs_no_pytorch_and_plays_its_own_class_only():
    code = """
import sys
from asobiba.core import game, make_agent, states
ruleset = game("mini4wd").ruleset(tachometer=True)
agent = make_agent(ruleset.game, "ppo_junior_hill")
agent.reset(ruleset, 0, 0)
agent.act(states.new_state(ruleset, 0), None)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    other = POLICY.parents[2] / "animal_shogi" / "policies" / "policy.safetensors"
    with pytest.raises(PolicyFileError, match=r"this driver plays asobiba\.baselines\.mini4wd\.network:CarPolicy"):
        make_agent(GAME, f"ppo_junior_hill:path={other}")


def test_the_driver_keeps_its_own_window(policy):
    # Four samples and two actions in the observation, or all that the network reads: the same after the window is full.
    ruleset, wide = GAME.ruleset(**LEAGUE), wide_rules(policy)
    samples_kept, actions_kept = policy.channels["imu"][0], policy.channels["actions"][0]
    driver = make_agent(GAME, "ppo_junior_hill")
    driver.reset(ruleset, 0, 0)
    state, samples, actions = states.new_state(ruleset, 5), [], []
    for k in range(60):
        view = states.view_of(ruleset, state, 0)
        samples += list(view["imu"][0]) if k == 0 else list(view["imu"][0, -2:])
        action = driver.act(view, NO_MASK)
        actions.append(action)
        parts = wide.channels(driver.observed[: wide.observation_size])
        if k >= max(samples_kept // 2, actions_kept):
            assert np.array_equal(parts["imu"], np.array(samples[-samples_kept:]))
            assert np.array_equal(parts["actions"], np.array(actions[-1 - actions_kept : -1])[::-1])
        state = states.step(ruleset, state, action)
    for parameters, words in (({}, "tachometer=True"), ({"tachometer": True, "control_ms": 50}, "steps of 50 ms")):
        with pytest.raises(GameParameterError, match=words):
            driver.reset(GAME.ruleset(**parameters), 0, 0)


def test_the_driver_finishes_on_both_sides():
    setting = Setting(laps=1)
    first, second = (
        simulated("ppo_junior_hill", setting, 3, 9_003),
        through_the_link("ppo_junior_hill", setting, 3, 9_003),
    )
    assert first.finished == second.finished == 3
    assert second.seconds == pytest.approx(first.seconds, rel=0.15)


def strong():
    """The league's car with a motor that makes up for the bridge: at full duty it leaves the course."""
    car = load_car("dash")
    return car.with_values(resistance=car.values["resistance"] - 0.28).as_data()


def remembered(driver, ruleset, seed):
    """A run's states and what a memory holds of each, by name."""
    driver.reset(ruleset, 0, seed)
    state, passed, told = states.new_state(ruleset, seed), [], []
    memory = RunMemory(ruleset, 1)
    while not states.is_over(state):
        passed.append(state.copy())
        memory.look(states.observation(ruleset, state, 0)[None])
        told.append(memory.fields(0))
        state = states.step(ruleset, state, driver.act(states.view_of(ruleset, state, 0), NO_MASK))
    return np.array(passed), {name: np.array([row[name] for row in told]) for name in told[0]}


def test_a_car_remembers_its_way_its_heading_and_its_lane():
    # Against the simulator's own state, under the honest sensors: way within 4 %, heading within the gyro's 3 % of scale.
    ruleset = GAME.ruleset(**LEAGUE, lane=0, randomise="default")
    course = load_course("junior_hill")
    for seed in (2, 5):
        passed, told = remembered(make_agent(GAME, "constant:duty=0.8"), ruleset, seed)
        assert told["way"][-1] == pytest.approx(passed["progress"][-1, 0], rel=0.04)
        assert told["heading"][-1] == pytest.approx(3 * 2 * np.pi, rel=0.03)
        in_curve = passed["kind"][:, 0] == KINDS.index("corner")
        ends = np.flatnonzero(in_curve[:-1] & ~in_curve[1:])
        assert len(ends) == 6  # two corners a lap
        ends = ends[:-1]  # the last one lies at the finish
        assert told["turned"][ends + 5] == pytest.approx([np.pi] * 5, abs=0.25)
        assert np.all(told["since"][ends + 8] < 1.0)
        # The lane by the radius of the curve just passed.
        ends = ends[1:]  # in the first one it comes to know it
        pieces, lanes = passed["piece"][ends, 0], passed["lane"][ends, 0]
        curvature = np.abs(course.pieces[pieces, lanes, KAPPA])
        assert told["lane"][ends + 5] == pytest.approx(curvature, rel=0.1)


def test_a_memory_begins_anew_with_each_run():
    # Rows of a batch do not know each other, and a run that begins in a row leaves nothing of the one before.
    ruleset = GAME.ruleset(**LEAGUE)
    env = RememberingVecEnv(RunMemory, ruleset, 3, seed=4, threads=1)
    seen = env.reset()
    alone = {}
    for i in range(3):
        alone[i] = RunMemory(ruleset, 1)
        assert np.array_equal(alone[i].look(seen[i : i + 1, : ruleset.observation_size])[0], seen[i])
    ended = 0
    generator = np.random.Generator(np.random.Philox(1))
    for _ in range(800):
        seen, _, dones, infos = env.step(
            np.column_stack([0.9 + 0.1 * generator.random(3), np.ones(3)]).astype(np.float32)
        )
        for i in range(3):
            if dones[i]:
                last = infos[i]["terminal_observation"]
                assert np.array_equal(alone[i].look(last[None, : ruleset.observation_size])[0], last)
                alone[i] = RunMemory(ruleset, 1)
                ended += 1
            assert np.array_equal(alone[i].look(seen[i : i + 1, : ruleset.observation_size])[0], seen[i])
    assert ended >= 3
    with pytest.raises(GameParameterError, match="tachometer=True"):
        RunMemory(GAME.ruleset(), 1)


def test_shaped_rewards_sum_up_to_the_return_less_what_the_start_promises():
    # A run that finishes, and one that leaves the course: the promise itself never changes what a run is worth.
    ruleset = GAME.ruleset(**{**LEAGUE, "car": strong()}, lane=0)
    env = ShapedVecEnv(ruleset, 4, Promise, seed=4, threads=1)
    plain = SB3VecEnv(ruleset, 4, seed=4, threads=1)
    env.reset(), plain.reset()
    promised = Promise(ruleset)(env.games.states)
    assert promised == pytest.approx([1 + 3.8 / 3.0] * 4)  # all of the way, and the finish at its speed
    action = np.array([[0.5, 1.0], [0.6, 1.0], [1.0, 1.0], [1.0, 1.0]], np.float32)
    sums, own, left = np.zeros(4), np.zeros(4), np.ones(4, bool)
    told = {}
    while left.any():
        _, shaped, dones, infos = env.step(action)
        _, rewards, same, _ = plain.step(action)
        assert np.array_equal(dones, same)
        sums += np.where(left, shaped, 0.0)
        own += np.where(left, rewards, 0.0)
        for i in np.flatnonzero(left & dones):
            told[i] = infos[i]["episode"]["r"]
        left &= ~dones
    assert sums == pytest.approx(own - promised, abs=1e-4)
    assert [told[i] for i in range(4)] == pytest.approx(own, abs=1e-4)  # what is reported is the game's own return
    assert own.max() > 1.5
    assert own.min() < 1.0


SMALL = {
    "num_envs": 16, "total_steps": 512, "learner": {"n_steps": 16, "batch_size": 128, "n_epochs": 1}, "evaluation": {"games": 2},
}  # fmt: skip


def test_a_driver_is_taught_by_another_and_explores_as_it_is_told(request, tmp_path):
    shown = {"teacher": "constant:duty=0.45", "student": 0.25, "decisions": 6000, "epochs": 8, "learning_rate": 2e-3}
    config = load_config(GAME, **SMALL, parameters={"laps": 1}, imitation=shown, exploration=[0.1, 0.025])
    ruleset = GAME.ruleset(**config["parameters"])
    model = new_model(ruleset, config)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as `train` does
    request.addfinalizer(lambda: torch.set_num_threads(threads))
    said = []
    imitate(model, ruleset, config, tmp_path, said.append)
    assert said[-1].endswith("known before")
    first, *_, last = np.genfromtxt(tmp_path / "imitation.csv", delimiter=",", skip_header=1)
    assert last[1] > max(first[1], 0.8)  # agreement
    seen = RunMemory(ruleset, 1).look(states.observation(ruleset, states.new_state(ruleset, 3), 0)[None])
    action, _ = model.policy.predict(seen, deterministic=True)
    assert action[0, 0] == pytest.approx(0.45, abs=0.15)
    widths = []

    class Watch(BaseCallback):
        def _on_step(self):
            return True

        def _on_rollout_end(self):
            widths.append(float(self.model.policy.log_std.detach().exp()[0]))

    model.learn(512, callback=CallbackList([_Exploration(config), Watch()]))
    assert widths == pytest.approx([0.1, 0.1 / 2**1.0], rel=1e-4)


def test_a_stopped_run_explores_and_is_rewarded_as_if_it_had_never_stopped(tmp_path, monkeypatch):
    class Stopped(Exception):
        pass

    def save_and_stop(model, path):
        save(model, path)
        raise Stopped

    config = load_config(GAME, **SMALL, checkpoint_every=256, imitation={"decisions": 0}, exploration=[0.2, 0.05])
    train(GAME, config, tmp_path / "straight", progress=False)
    save = training.save_checkpoint
    with monkeypatch.context() as patch:
        patch.setattr(training, "save_checkpoint", save_and_stop)
        with pytest.raises(Stopped):
            train(GAME, config, tmp_path / "stopped", progress=False)
    train(GAME, config, tmp_path / "stopped", progress=False)
    ours, theirs = (load_file(tmp_path / name / "policy.safetensors") for name in ("stopped", "straight"))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert float(theirs["log_std"].exp()[0]) == pytest.approx(0.2 * 0.25**0.5)  # set before the last of two rollouts


def test_values_of_what_is_shown_are_discounted_rewards_to_come():
    ruleset = GAME.ruleset(**LEAGUE, laps=1)
    seating = Seating(ruleset, 2, opponent="constant:duty=0.6", seat=None, autoreset="disabled", threads=1)
    shown = demonstrate(seating, 7, 0.99, memory=RunMemory(ruleset, 2), potential=Promise(ruleset))
    assert shown.observations.shape[1] == ruleset.observation_size + RunMemory.size
    driver, wanted = make_agent(GAME, "constant:duty=0.6"), []
    for i in range(2):
        driver.reset(ruleset, 0, 0)
        state, rewards = states.new_state(ruleset, 7 + i), []
        while not states.is_over(state):
            before = Promise(ruleset)(state[None])[0]
            state = states.step(ruleset, state, driver.act(states.view_of(ruleset, state, 0), NO_MASK))
            after = 0.0 if states.is_over(state) else Promise(ruleset)(state[None])[0]
            rewards.append(float(state["rewards"][0]) + after - before)
        wanted.append(sum(0.99**k * reward for k, reward in enumerate(rewards)))
    assert shown.values[:2] == pytest.approx(wanted, abs=1e-4)


def test_controllers_are_compared_on_the_same_cars(tmp_path):
    file = tmp_path / "table.md"
    done = CliRunner().invoke(
        app,
        ["mini4wd", "compare", "constant:duty=0.5", "constant:duty=0.6", "--cars", "30", "--output", str(file)],
    )
    assert done.exit_code == 0, done.output
    slow, fast = (line.split(" | ") for line in file.read_text().splitlines()[2:4])
    assert slow[0] == "| constant:duty=0.5"
    ruleset = GAME.ruleset(**LEAGUE)
    scores = {
        duty: points(drive_all(f"constant:duty={duty}", ruleset, 30, 30_000), ruleset, ruleset.params["lap_length"])
        for duty in (0.5, 0.6)
    }
    assert slow[1].startswith(f"{scores[0.5].mean():.3f} ± ")
    off = scores[0.5] - scores[0.6]
    assert slow[4].strip(" |") == f"{off.mean():+.3f} ± {1.959964 * off.std(ddof=1) / 30**0.5:.3f}"
    assert fast[4].strip(" |") == ""
    assert "30 cars of the seeds 30000 to 30029" in file.read_text()


def test_a_policy_with_a_memory_plays_one_game_and_many(policy):
    # In a batch as alone: what `asobiba train` evaluates is what the agent does.
    ruleset = wide_rules(policy)
    player = PolicyAgent(policy)
    many = [game.gain for (game,) in play_groups(ruleset, player, None, 4, 11)]
    driver, returns = make_agent(GAME, "ppo_junior_hill"), []
    for i in range(4):
        driver.reset(ruleset, 0, 0)
        player.reset(ruleset, 0, 0)
        state, total = states.new_state(ruleset, 11 + i), 0.0
        while not states.is_over(state):
            view = states.view_of(ruleset, state, 0)
            action = driver.act(view, NO_MASK)
            assert player.act(view, NO_MASK) == pytest.approx(action, abs=1e-4)
            state = states.step(ruleset, state, action)
            total += float(state["rewards"][0])
        returns.append(total)
    assert many == pytest.approx(returns, abs=0.05)
    assert player.act_batch(ruleset.zeros(), NO_MASK[None]) is None


def test_a_fresh_policy_drives_forward():
    channels = GAME.ruleset(**LEAGUE).layout.observation
    size = sum(int(np.prod(shape)) for shape in channels.values())
    space = gymnasium.spaces.Box(-64, 64, (size,), np.float32)
    fresh = CarPolicy(space, gymnasium.spaces.Box(-1, 1, (2,), np.float32), lambda _: 1e-3, channels=channels, duty=0.6)
    observation = np.zeros((5, size), np.float32)
    action, _ = fresh.predict(observation, deterministic=True)
    assert action[:, 0] == pytest.approx([0.6] * 5, abs=0.1)
    assert np.all(action[:, 1] >= 0)  # the drive mode
    offsets, factors = scales(channels)
    assert offsets.shape == factors.shape == (size,)
    assert offsets[2] == 1.0  # gravity


def test_the_integers_act_as_the_network_does(policy, observations):
    integers = integer_policy(policy)
    wanted, _ = policy.predict(observations, deterministic=True)
    off = np.abs(integers.act(observations) - np.clip(wanted, -1, 1))
    assert np.ptp(wanted[:, 0]) > 0.2  # they do differ from observation to observation
    assert off.max() < 0.1  # a duty or a selector in hundredths, at the steepest place of the network
    assert np.percentile(off, 99) < 0.05
    assert off.mean() < 0.015
    with pytest.raises(GameParameterError, match="only asobiba"):
        integer_policy(torch.nn.Linear(2, 2))


@pytest.fixture(scope="module")
def built(policy, tmp_path_factory):
    debian_program("avr-gcc", "gcc-avr")
    folder = tmp_path_factory.mktemp("policy")
    integers = integer_policy(policy)
    (folder / "policy_weights.h").write_text(integers.header())
    made = subprocess.run(
        ["make", "-C", str(FIRMWARE), f"BUILD={folder}", f"WEIGHTS={folder}", "policy"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    _, emulator = build_firmware(folder)
    return folder, emulator, integers


def test_the_c_code_computes_the_same_integers(built, observations):
    folder, _, integers = built
    library = ctypes.CDLL(str(folder / "libpolicy.so"))
    inputs = integers.inputs(observations)
    out = np.zeros((len(inputs), 2), np.int16)
    for row, result in zip(inputs, out, strict=True):
        library.policy_step(row.ctypes.data_as(ctypes.c_void_p), result.ctypes.data_as(ctypes.c_void_p))
    assert np.array_equal(out, integers.step(inputs))


def test_it_fits_the_chip_and_a_control_period(built, observations, capsys):
    folder, emulator, integers = built
    report = subprocess.run(["avr-size", str(folder / "policy.elf")], capture_output=True, text=True, check=True).stdout
    text, data, _bss = map(int, re.search(r"^\s*(\d+)\s+(\d+)\s+(\d+)", report, re.M).groups())
    chip = EmulatedChip(emulator, folder / "policy.elf")
    transport = EmulatedTransport(chip, Bench())
    times = []
    try:
        assert transport.open()
        transport.sleep_until(0.02)  # the chip starts
        for row in integers.inputs(observations[:3]):
            words = row.tobytes()
            # The chip reads as fast as the wire brings; time goes on until its answer has come.
            transport.write(words)
            answer, end = b"", transport.now() + 0.5
            while len(answer) < 6 and transport.now() < end:
                answer += transport.read(end)[1]
            *outputs, ticks = np.frombuffer(answer[:6], "<i2").astype(int)
            assert outputs == integers.step(row[None])[0].tolist()
            times.append((int(ticks) & 0xFFFF) * 4e-6)
    finally:
        transport.close()
        chip.close()
    with capsys.disabled():
        print(
            f"\npolicy of {integers.layers[0].weights.shape[1]} inputs and two layers of {len(integers.layers[0].bias)}: {integers.size} bytes of weights, "
            f"{text + data} of flash with its bench, {max(times) * 1e3:.2f} ms a step on the ATmega328P"
        )
    assert text + data < FLASH_FOR_A_POLICY
    assert max(times) < 0.020


def test_an_integer_policy_is_what_its_header_says(policy):
    integers = integer_policy(policy)
    text = integers.header()
    assert "#define POLICY_INPUTS 135" in text
    weights = re.search(r"weights_3\[80\] PROGMEM = \{([-0-9,]+)\}", text).group(1)
    assert np.array_equal(np.array(weights.split(","), int), integers.layers[2].weights.ravel())
    assert isinstance(integers, IntegerPolicy)


def test_sac_begins_by_driving():
    model = new_learner("sac", environments(["junior_hill"], 4, 0), 0)
    observations = model.env.reset()
    duty, mode = model.predict(observations, deterministic=True)[0].T
    assert duty == pytest.approx([0.6] * 4, abs=0.15)
    assert np.all(mode > 0)  # the drive mode
    model.learn(40)  # before it learns, its own actions are kept: uniform ones are 0 on the mean
    assert model.replay_buffer.actions[:10, :, 0].mean() == pytest.approx(0.6, abs=0.15)

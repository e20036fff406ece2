"""Learning the mini 4WD: the policy's beginning, its integers on the emulated chip, generalisation's table."""

from __future__ import annotations

import ctypes
import re
import subprocess

import gymnasium
import numpy as np
import pytest
import torch
from conftest import debian_program
from mini4wd_rig import FIRMWARE, Bench, build_firmware

from asobiba.baselines.mini4wd.export import IntegerPolicy, integer_policy
from asobiba.baselines.mini4wd.network import CarPolicy, scales
from asobiba.core import GameParameterError
from asobiba.envs.mini4wd.hardware.emulation import EmulatedChip, EmulatedTransport

CHANNELS = {
    "imu": (32, 6), "voltage": (1,), "duty": (1,), "mode": (1,), "time": (1,), "frame_age": (1,), "actions": (8, 2), "wheel_speed": (1,),
}  # fmt: skip
SIZE = sum(int(np.prod(shape)) for shape in CHANNELS.values())
FLASH_FOR_A_POLICY = 32768 - 2048 - 4700
"""Bytes: the boot loader and the car's own program need the rest."""


@pytest.fixture(scope="module")
def policy():
    """A policy with weights of a trained one's size; what it drives does not matter here."""
    torch.manual_seed(3)
    space = gymnasium.spaces.Box(-64, 64, (SIZE,), np.float32)
    made = CarPolicy(space, gymnasium.spaces.Box(-1, 1, (2,), np.float32), lambda _: 1e-3, channels=CHANNELS)
    with torch.no_grad():
        for module in made.mlp_extractor.policy_net:
            if isinstance(module, torch.nn.Linear):
                module.weight.mul_(1.5).add_(0.1 * torch.randn_like(module.weight))
                module.bias.add_(0.1 * torch.randn_like(module.bias))
        made.action_net.weight.mul_(60)
    return made


@pytest.fixture(scope="module")
def observations():
    draw = np.random.default_rng(1)
    rows = []
    for name, shape in CHANNELS.items():
        middle = {"voltage": 2.6, "time": 4.0, "wheel_speed": 3.0}.get(name, 0.0)
        rows.append(middle + draw.normal(0, 1.5 if name == "imu" else 0.4, (60, int(np.prod(shape)))))
    return np.concatenate(rows, axis=1).astype(np.float32)


def test_a_fresh_policy_drives_forward():
    space = gymnasium.spaces.Box(-64, 64, (SIZE,), np.float32)
    fresh = CarPolicy(space, gymnasium.spaces.Box(-1, 1, (2,), np.float32), lambda _: 1e-3, channels=CHANNELS, duty=0.6)
    observation = np.zeros((5, SIZE), np.float32)
    action, _ = fresh.predict(observation, deterministic=True)
    assert action[:, 0] == pytest.approx([0.6] * 5, abs=0.1)
    assert np.all(action[:, 1] >= 0)  # the drive mode
    offsets, factors = scales(CHANNELS)
    assert offsets.shape == factors.shape == (SIZE,)
    assert offsets[2] == 1.0  # gravity


def test_the_integers_act_as_the_network_does(policy, observations):
    integers = integer_policy(policy)
    wanted, _ = policy.predict(observations, deterministic=True)
    off = np.abs(integers.act(observations) - np.clip(wanted, -1, 1))
    assert np.ptp(wanted[:, 0]) > 0.2  # they do differ from observation to observation
    assert off.max() < 0.06
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
            f"\npolicy of {integers.layers[0].weights.shape[1]} inputs and 32 + 32 units: {integers.size} bytes of weights, "
            f"{text + data} of flash with its bench, {max(times) * 1e3:.2f} ms a step on the ATmega328P"
        )
    assert text + data < FLASH_FOR_A_POLICY
    assert max(times) < 0.020


def test_an_integer_policy_is_what_its_header_says(policy):
    integers = integer_policy(policy)
    text = integers.header()
    assert f"#define POLICY_INPUTS {SIZE}" in text
    weights = re.search(r"weights_3\[64\] PROGMEM = \{([-0-9,]+)\}", text).group(1)
    assert np.array_equal(np.array(weights.split(","), int), integers.layers[2].weights.ravel())
    assert isinstance(integers, IntegerPolicy)

"""Every game's kernels, and a whole game of random play, compile to PTX as they are, where numba-cuda is installed.

No GPU and no driver is needed: a device that only knows its compute capability stands in for one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import cuda_simulator
import pytest
from numba import from_dtype, types

from asobiba import game, game_names
from asobiba.api.batch import Batch
from asobiba.core.laws import close_step, has_ended
from asobiba.core.random import Stream, random_legal, seed_record

CAPABILITY = (8, 0)
GAME_STREAM = int(Stream.GAME)


@pytest.fixture
def cuda(monkeypatch):
    """numba-cuda with the device that stands in for a real one; its compiler may not contract products and sums, which
    it does unless it is told not to."""
    pytest.importorskip("numba_cuda", reason="pip install 'asobiba[gpu]'")
    found = pytest.importorskip("numba.cuda")
    dispatcher = pytest.importorskip("numba.cuda.dispatcher")
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=CAPABILITY))
    nvvm = pytest.importorskip("numba.cuda.cudadrv.nvvm")
    compile_ir = nvvm.compile_ir
    monkeypatch.setattr(nvvm, "compile_ir", lambda text, **options: compile_ir(text, **{**options, "fma": False}))
    return found


def functions(ruleset):
    """By name: a function that calls the kernels of a game, and the types of its arguments."""
    rules = ruleset.game.rules
    reset, step, observe, legal = rules.reset, rules.step, rules.observe, getattr(rules, "legal", None)
    valid = getattr(rules, "valid", None)
    states = types.Array(from_dtype(ruleset.dtype), 1, "C")
    params = types.Array(from_dtype(ruleset.params.dtype), 1, "C")
    masks = types.Array(types.int8, 1 + len(ruleset.mask_shape), "C")
    actions = types.Array(from_dtype(ruleset.action_dtype), 1 + len(ruleset.actions_shape), "C")
    seen = types.Array(from_dtype(ruleset.observation_space.dtype), 2, "C")
    index = types.int64

    def resets(s, p, i):
        reset(s[i], p[0])

    def steps(s, p, i, a):
        step(s[i], p[0], a[i])

    def observes(s, p, i, out):
        observe(s[i], p[0], 0, out[i])

    def masked(s, p, i, mask):
        legal(s[i], p[0], mask[i])

    def checks(s, p, i, found):
        found[i, 0] = valid(s[i], p[0])

    def plays(s, p, i, mask, out):
        seed_record(s[i], i, GAME_STREAM)
        reset(s[i], p[0])
        while not has_ended(s[i]):
            legal(s[i], p[0], mask[i])
            for k in range(s[i].rewards.shape[0]):
                s[i].rewards[k] = 0
            step(s[i], p[0], random_legal(s[i], mask[i]))
            close_step(s[i], p[0])
            observe(s[i], p[0], 0, out[i])

    def drives(s, p, i, a, out):
        seed_record(s[i], i, GAME_STREAM)
        reset(s[i], p[0])
        while not has_ended(s[i]):
            step(s[i], p[0], a[i])
            close_step(s[i], p[0])
            observe(s[i], p[0], 0, out[i])

    found = {
        "reset": (resets, (states, params, index)),
        "step": (steps, (states, params, index, actions)),
        "observe": (observes, (states, params, index, seen)),
    }
    if legal is not None:
        found["legal"] = masked, (states, params, index, masks)
    if valid is not None:
        found["valid"] = checks, (states, params, index, types.Array(types.int8, 2, "C"))
    if legal is not None and not ruleset.simultaneous:
        found["game"] = plays, (states, params, index, masks, seen)
    else:
        found["game"] = drives, (states, params, index, actions, seen)
    return found


@pytest.mark.parametrize("name", game_names())
def test_the_kernels_of_a_game_compile_to_ptx(name, cuda):
    for what, (function, arguments) in functions(game(name).ruleset()).items():
        ptx, _ = cuda.compile(function, types.void(*arguments), device=True, cc=CAPABILITY, abi="numba")
        assert ".visible .func" in ptx, what
        assert not re.search(r"\bfma\.", ptx), what
        assert not re.search(r"__nv_\w+", ptx), what  # functions of NVIDIA's library
        assert f".target sm_{CAPABILITY[0]}{CAPABILITY[1]}" in ptx, what


def test_the_cuda_simulator_plays_the_same_bytes():
    """Numba's simulator runs a CUDA kernel in Python, a thread a game; the states are those of the compiled engine."""
    steps, names = 3, list(game_names())
    expected = []
    for name in names:
        batch = Batch(game(name).ruleset(), cuda_simulator.THREADS, autoreset="disabled")
        batch.reset(seed=1)
        for _ in range(steps):
            batch.step(batch.sample_actions())
        expected.append(f"{name} {cuda_simulator.digest(batch.states)}")
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", cuda_simulator.__file__, str(steps), *names],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == expected

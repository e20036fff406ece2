"""Games as WebAssembly in Node beside the same calls of native code, on one core, and what they weigh."""

from __future__ import annotations

import gzip
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.core import Ruleset
from asobiba.core import games as registered
from asobiba.core.random import memory_keys
from asobiba.core.record import SAMPLER
from asobiba.core.states import seed_states
from asobiba.targets.wasm.package import Variant, kernel_agents, write_game, write_package

COUNT, SECONDS, ROUNDS = 64, 1.0, 3
_SCRIPT = Path(__file__).parent / "wasm_random.mjs"


def in_node(package: Path, name: str) -> float:
    """Steps per second in Node."""
    command = ["node", str(_SCRIPT), str(package), name, str(COUNT), str(SECONDS)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found["steps"] / found["seconds"]


def natively(ruleset: Ruleset) -> float:
    """Steps per second of the same calls here; choosing is timed only where it is compiled, as in Node."""
    engine, params, rng = ruleset.engine, ruleset.params, np.random.default_rng(0)
    drawn = ruleset.discrete and not ruleset.simultaneous
    states, blank = ruleset.zeros(COUNT), ruleset.zeros()
    masks = np.zeros((COUNT, *ruleset.mask_shape), np.int8)
    actions = np.zeros((COUNT, *ruleset.actions_shape), ruleset.action_dtype)
    seen = np.zeros((COUNT, ruleset.observation_size), ruleset.observation_space.dtype)
    samplers, players = np.zeros(COUNT, SAMPLER), np.zeros(COUNT, np.int64)
    steps, spent, seed, warm = 0, 0.0, 0, False
    while True:
        seed_states(states, seed)
        engine.begin_all(states, params, blank)
        samplers["rng_key"] = memory_keys(np.arange(seed, seed + COUNT), 0)
        seed += COUNT
        while now := int(np.count_nonzero((states["terminated"] | states["truncated"]) == 0)):
            begun = time.perf_counter()
            engine.write_masks(states, params, masks)
            if drawn:
                engine.sample_all(states, params, masks, samplers, actions)
            spent += time.perf_counter() - begun
            if not drawn:
                choose(ruleset, masks, actions, rng)
            begun = time.perf_counter()
            engine.advance_all(states, params, actions, masks)
            engine.observe_all(states, params, players, seen)
            spent += time.perf_counter() - begun
            steps += now
            if not warm and spent > 0.3:
                warm, steps, spent = True, 0, 0.0
            if warm and spent > SECONDS:
                return steps / spent


def choose(ruleset: Ruleset, masks: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> None:
    """Uniform actions, drawn by NumPy."""
    if ruleset.discrete:
        weights = rng.random(masks.shape) * (masks != 0)
        actions[:] = np.where(masks.any(axis=-1), weights.argmax(axis=-1), -1)
    else:
        box: Any = ruleset.action_space
        actions[:] = rng.uniform(box.low, box.high, actions.shape)


def rows() -> list[str]:
    """The lines of the table."""
    found = []
    for game in registered():
        ruleset = game.ruleset()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_package(folder)
            agents, missing = kernel_agents(ruleset)
            sizes = []
            for chosen in ({}, agents):
                manifest = write_game(folder / "games" / game.name, [Variant("default", ruleset, chosen)], missing)
                (module,) = manifest["modules"]
                content = (folder / "games" / game.name / module).read_bytes()
                sizes.append(len(gzip.compress(content, mtime=0)) / 1000)
            node = statistics.median(in_node(folder, game.name) for _ in range(ROUNDS))
        native = statistics.median(natively(ruleset) for _ in range(ROUNDS))
        found.append(
            f"| {game.name} | {sizes[0]:.1f} | {len(manifest['agents'])} | {sizes[1]:.1f} | {node:,.0f} | {native:,.0f} | "
            f"{node / native:.2f} |"
        )
    return found

"""Learns the evaluation of `evaluation.py` from ends of the search against itself.

Each generation plays ends by the network of the one before (the first by the shots of playouts) and learns from the last
few generations how ends are scored: the mean of how the end went on and of what the search foretold (TD(lambda)). In some shots a side throws at random among the grid's targets, or as a playout would,
so that positions come up which a good player leaves out. Half of the ends are last ones; leads are drawn.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from asobiba.baselines.curling.evaluation import (
    INPUTS,
    NARROW,
    NONE,
    SCORES,
    WIDTH,
    Net,
    describe,
    net_of,
    new_net_scratch,
    values_after,
    win_table_of,
)
from asobiba.baselines.curling.jiritsu import (
    Grids,
    Jiritsu,
    Judge,
    best_cell,
    cell_count,
    mean_at,
    new_scratch,
    target_of,
)
from asobiba.baselines.curling.masks import load
from asobiba.baselines.curling.playout import playout_shot
from asobiba.core import GameParameterError, Ruleset, compiled, game, random_below
from asobiba.core.random import seed_record
from asobiba.core.record import SAMPLER
from asobiba.core.states import as_seed
from asobiba.envs.curling.layout import is_cs2
from asobiba.envs.curling.rules import end_score, throw, with_noise
from asobiba.envs.curling.shots import draw_shot
from asobiba.envs.curling.simulation import STONES
from asobiba.envs.curling.win_table import win_table

_CHUNK = 100
_ENDS = 10
_WINDOW = 3
"""Generations that are learned from."""
_ODD = 25
"""Of 100 shots in the part of an end where there are such: half are thrown at random, half as a playout would."""
_LAMBDA = 0.7
"""Weight of how the end went on; the rest is what the next shot's search foretold."""
_CALM = 4
"""At least so many last shots of an end are the search's own."""
_LEADS = (0, 0, 0, 1, -1, 1, -1, 2, -2, 3, -3)
_BATCH = 4096
TESTED = 10
"""Every so many ends one is kept for testing."""


class Ends(NamedTuple):
    """Ends of one chunk.

    Args:
        objectives: `(n, 17)`, the worth of the scores.
        stones, in_play: the position after each shot, `(n, 16, 16, 2)` float32 and `(n, 16, 16)`.
        begins: the number of the last odd shot, -1: none; `(n,)`.
        told: what is learned of the position before each shot, the probabilities of the scores; `(n, 16, 17)` float32.
    """

    objectives: np.ndarray
    stones: np.ndarray
    in_play: np.ndarray
    begins: np.ndarray
    told: np.ndarray


@compiled()
def play_ends(params, by_playouts, samplers, judge, grids, scratch, ends):
    """Plays ends with the objectives that `ends` has, and fills in the rest of it.

    Args:
        by_playouts: whether all shots are those of playouts. samplers: a generator for each end.
    """
    p, begins = params[0], ends.begins
    cells = cell_count(grids.shots)
    raw, mean = np.zeros(cells), np.zeros(cells)
    here, here_in = np.zeros((STONES, 2)), np.zeros(STONES, np.uint8)
    before, before_in = np.zeros((STONES, 2)), np.zeros(STONES, np.uint8)
    seen = np.zeros((STONES, SCORES))
    for n in range(begins.shape[0]):
        record = samplers[n]
        judged = Judge(ends.objectives[n], judge.weights, judge.front, judge.back, judge.net)
        for k in range(STONES):
            here[k, 0], here[k, 1], here_in[k] = 0.0, 0.0, 0
        calm = random_below(record, STONES - _CALM + 1)
        begins[n] = -1
        for shot in range(STONES):
            chance = random_below(record, 200)
            if by_playouts or (shot < calm and chance < _ODD):
                vx, vy, spin = playout_shot(p, here, here_in, shot, record)
            else:
                if shot < calm and chance < 2 * _ODD:
                    cell = random_below(record, cells)
                else:
                    cell, _ = best_cell(p, here, here_in, shot, judged, grids, scratch, raw, mean)
                    for k in range(SCORES):
                        seen[shot, k] = mean_at(scratch.told[:, k], grids.shots, scratch.chance[0], cell)
                x, y, spin = target_of(p, cell, grids.shots)
                vx, vy = draw_shot(p.model, p.release, x, y, spin)
            if not by_playouts and shot < calm and chance < 2 * _ODD:
                begins[n] = shot
            vx, vy = with_noise(record, p, vx, vy, spin)
            throw(p, here, here_in, before, before_in, shot, (vx, vy, spin), scratch.trace)
            for k in range(STONES):
                ends.stones[n, shot, k, 0], ends.stones[n, shot, k, 1] = here[k, 0], here[k, 1]
                ends.in_play[n, shot, k] = here_in[k]
        points = end_score(p, here, here_in)
        for k in range(SCORES):
            last = 1.0 if k == points + 8 else 0.0
            for back in range(STONES):
                shot = STONES - 1 - back
                if shot > begins[n] and not by_playouts:
                    last = _LAMBDA * last + (1.0 - _LAMBDA) * seen[shot, k]
                ends.told[n, shot, k] = last


@compiled()
def inputs_of(params, ends, masks, scratch, out, numbers, found):
    """Writes the inputs of all positions after the last odd shot and before the last one, each also mirrored, into `out`
    `(m, INPUTS)`, the number of the end of each into `numbers`, and what is learned of it into `found`, `(m, 17)`. Returns
    how many there are."""
    here, here_in = np.zeros((STONES, 2)), np.zeros(STONES, np.uint8)
    m = np.int64(0)
    for n in range(ends.begins.shape[0]):
        for shot in range(ends.begins[n], STONES - 1):
            for side in (1.0, -1.0):
                for k in range(STONES):
                    here[k, 0], here[k, 1], here_in[k] = 0.0, 0.0, 0
                    if shot >= 0 and ends.in_play[n, shot, k] != 0:
                        here[k, 0], here[k, 1] = side * ends.stones[n, shot, k, 0], float(ends.stones[n, shot, k, 1])
                        here_in[k] = 1
                describe(params[0], here, here_in, shot, ends.objectives[n], masks, scratch)
                for k in range(INPUTS):
                    out[m, k] = scratch.numbers[k]
                numbers[m] = n
                for k in range(SCORES):
                    found[m, k] = ends.told[n, shot + 1, k]
                m += 1
    return m


def _tables(ruleset: Ruleset, net: Net) -> list[np.ndarray]:
    # Win tables without and with extra ends.
    if net is NONE:
        return [win_table(_ENDS, extra_first=0.5), win_table(_ENDS)]
    masks = load("cs2" if is_cs2(ruleset) else "fcv1")
    return [win_table_of(ruleset.params, masks, net, _ENDS, extra) for extra in (False, True)]


def _objective(generator: np.random.Generator, tables: list[np.ndarray]) -> np.ndarray:
    table = tables[int(generator.integers(2))]
    left = 0 if generator.random() < 0.5 else 1 if generator.random() < 0.5 else int(generator.integers(2, _ENDS))
    return values_after(table, left, int(generator.choice(_LEADS)))


def _weights(weights: dict[str, np.ndarray] | None) -> Net:
    return NONE if weights is None else net_of(weights)


def play(parameters: dict[str, Any], weights: dict[str, np.ndarray] | None, grid: int, seed: int, first: int) -> Ends:
    """A chunk of ends, by the search of depth 1 with these weights of the network; `None`: by playouts."""
    ruleset = game("curling").ruleset(**parameters)
    net = _weights(weights)
    player = Jiritsu(1, grid)
    player.begin(ruleset, (0,), (0,))
    generator = np.random.Generator(np.random.Philox(key=[seed, first]))
    tables = _tables(ruleset, net)
    objectives = np.array([_objective(generator, tables) for _ in range(_CHUNK)])
    samplers = np.zeros(_CHUNK, SAMPLER)
    for record in samplers:
        seed_record(record, as_seed(int(generator.integers(1 << 62))))
    ends = Ends(
        objectives=objectives,
        stones=np.zeros((_CHUNK, STONES, STONES, 2), np.float32),
        in_play=np.zeros((_CHUNK, STONES, STONES), np.uint8),
        begins=np.zeros(_CHUNK, np.int64),
        told=np.zeros((_CHUNK, STONES, SCORES), np.float32),
    )
    judge = Judge(objectives[0], player.weights, player.front, player.back, net)
    grids = Grids(player.deviations, 1, grid, 40)
    play_ends(ruleset.params, weights is None, samplers, judge, grids, new_scratch(1, cell_count(grid)), ends)
    return ends


def examples(ruleset: Ruleset, parts: list[Ends]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs `(m, INPUTS)` and probabilities of the scores `(m, 17)`, float32, and the number of the end of each `(m,)`."""
    masks = load("cs2" if is_cs2(ruleset) else "fcv1")
    scratch, found = new_net_scratch(), []
    for number, part in enumerate(parts):
        most = 2 * STONES * len(part.begins)
        out, wanted = np.zeros((most, INPUTS), np.float32), np.zeros((most, SCORES), np.float32)
        numbers = np.zeros(most, np.int64)
        m = inputs_of(ruleset.params, part, masks, scratch, out, numbers, wanted)
        found.append((out[:m], wanted[:m], numbers[:m] + number * _CHUNK))
    return tuple(np.concatenate(columns) for columns in zip(*found, strict=True))  # type: ignore[return-value]


def fit(
    inputs: np.ndarray,
    told: np.ndarray,
    ends: np.ndarray,
    start: dict[str, np.ndarray] | None,
    *,
    epochs: int,
    seed: int,
    rate: float = 1e-3,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Weights by cross entropy of the scores told, from `start` or from scratch, and the losses in learning and in testing."""
    import torch

    torch.manual_seed(seed)
    layers = [torch.nn.Linear(INPUTS, WIDTH), torch.nn.Linear(WIDTH, NARROW), torch.nn.Linear(NARROW, SCORES)]
    names = ("first", "second", "last")
    if start is not None:
        for name, layer in zip(names, layers, strict=True):
            layer.load_state_dict({"weight": torch.tensor(start[name]), "bias": torch.tensor(start[f"{name}_bias"])})
    network = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    tested = torch.from_numpy(np.flatnonzero(ends % TESTED == 0))
    learned = torch.from_numpy(np.flatnonzero(ends % TESTED != 0))
    given, wanted = torch.from_numpy(inputs), torch.from_numpy(told)
    loss = torch.nn.functional.cross_entropy
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    steps = epochs * -(-len(learned) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    total = 0.0
    for _ in range(epochs):
        total = 0.0
        for batch in learned[torch.randperm(len(learned))].split(_BATCH):
            found = loss(network(given[batch]), wanted[batch])
            optimizer.zero_grad()
            found.backward()
            optimizer.step()
            schedule.step()
            total += float(found.detach()) * len(batch)
    with torch.no_grad():
        test = sum(
            float(loss(network(given[batch]), wanted[batch], reduction="sum")) for batch in tested.split(1 << 15)
        )
    weights = {}
    for name, layer in zip(names, layers, strict=True):
        weights[name] = layer.weight.detach().numpy().copy()
        weights[f"{name}_bias"] = layer.bias.detach().numpy().copy()
    return weights, {"learned": total / len(learned), "tested": test / max(len(tested), 1)}


@contextmanager
def _one_thread() -> Iterator[None]:
    # With several, the order of PyTorch's sums may hang on the machine's load.
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def learn(
    parameters: dict[str, Any],
    folder: Path,
    *,
    generations: int,
    ends: int,
    grid: int,
    epochs: int,
    seed: int,
    workers: int,
    start: Path | None = None,
    command: str = "",
    played: Callable[[int], None] = lambda count: None,
) -> dict[str, Any]:
    """Plays and learns generations; writes `evaluation.npz`, `learning.csv` and `run.json` into a folder at the end.

    The weights do not depend on `workers`, the number of processes that play. A stopped run resumes: weights of each
    generation are kept in `folder/generations`, and ends that are learned from once more are played once more. A run with
    more generations begins with those that are there.

    Args:
        start: weights to begin with, such as those for another simulator; `None`: the first generation is played by playouts.

    Raises:
        GameParameterError: if the folder holds a run with other settings.
    """
    kept = folder / "generations"
    kept.mkdir(parents=True, exist_ok=True)
    ruleset = game("curling").ruleset(**parameters)
    file = kept / "learning.json"
    settings = {
        "parameters": parameters, "ends": ends, "grid": grid, "epochs": epochs, "seed": seed,
        "start": None if start is None else hashlib.sha256(start.read_bytes()).hexdigest(),
    }  # fmt: skip
    rows = _rows(file, settings)[: generations + 1]
    window: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def weights_of(generation: int) -> dict[str, np.ndarray] | None:
        if generation < 0 and start is None:
            return None
        with np.load(start if generation < 0 else kept / f"{generation}.npz") as saved:  # type: ignore[arg-type]
            return dict(saved)

    with ProcessPoolExecutor(workers) as pool:

        def ends_of(generation: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            teacher, begins = weights_of(generation - 1), range(0, ends, _CHUNK)
            count, numbers = len(begins), seed * 1000 + generation
            parts = []
            for part in pool.map(
                play, [parameters] * count, [teacher] * count, [grid] * count, [numbers] * count, begins
            ):
                parts.append(part)
                played(_CHUNK)
            return examples(ruleset, parts)

        played(len(rows) * ends)
        for generation in range(len(rows), generations + 1):
            begun = time.monotonic()
            wanted = range(max(generation - _WINDOW + 1, 0), generation + 1)
            window = {number: window[number] if number in window else ends_of(number) for number in wanted}
            seconds = workers * (time.monotonic() - begun)
            begun = time.process_time()
            inputs, told, numbers = (np.concatenate(columns) for columns in zip(*window.values(), strict=True))
            with _one_thread():
                weights, losses = fit(inputs, told, numbers, weights_of(generation - 1), epochs=epochs, seed=seed)
            seconds += time.process_time() - begun
            rows.append({**losses, "positions": len(window[generation][1]), "seconds": seconds})
            np.savez(kept / f"{generation}.npz", **weights)  # type: ignore[arg-type]
            fresh = file.with_suffix(".new")  # so that a run that is killed here loses nothing
            fresh.write_text(json.dumps({"settings": settings, "generations": rows}), encoding="utf-8")
            fresh.replace(file)
    record = {
        "game": ruleset.game.id,
        "parameters": parameters,
        "command": command,
        "generations": generations,
        "ends": len(rows) * ends,
        "positions": sum(row["positions"] for row in rows),
        "seed": seed,
        "loss": {name: rows[-1][name] for name in ("learned", "tested")},
        "core_hours": round(sum(row["seconds"] for row in rows) / 3600, 3),
    }
    np.savez(folder / "evaluation.npz", **weights_of(generations))  # type: ignore[arg-type]
    _tell(folder, record, rows)
    return record


def _rows(file: Path, settings: dict[str, Any]) -> list[dict[str, Any]]:
    # The generations of a run that is gone on with.
    if not file.exists():
        return []
    there = json.loads(file.read_text(encoding="utf-8"))
    if there["settings"] != settings:
        other = ", ".join(name for name in settings if settings[name] != there["settings"].get(name))
        raise GameParameterError(
            f"{file.parent.parent} holds a run with other settings ({other}); choose another folder"
        )
    rows: list[dict[str, Any]] = there["generations"]
    return rows


def _tell(folder: Path, record: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    lines = ["generation,learned,tested"]
    lines += [f"{n},{row['learned']:.4f},{row['tested']:.4f}" for n, row in enumerate(rows)]
    (folder / "learning.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")

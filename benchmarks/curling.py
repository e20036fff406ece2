"""Shots of both simulators of digital curling, beside a plain integration in frames of a millisecond."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
from timing import Burst

from asobiba.baselines.curling.playout import playout_shot
from asobiba.core import compiled, game, make_agent
from asobiba.core.random import seed_record
from asobiba.core.record import SAMPLER
from asobiba.core.states import new_state, step, view_of
from asobiba.envs.curling.rules import throw, with_noise
from asobiba.envs.curling.simulation import run_shot
from asobiba.envs.curling.simulators import SIMULATORS

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from curling_reference import play
from test_curling import random_positions, random_shots

BATCH, STONES = 1024, 8
PLAYERS = ("ayumu", "gccs", "end_plan", "through", "kr_uct", "kr_uct_prior", "jiritsu", "jiritsu_depth1")
SHOTS, SIMULATIONS = (0, 6, 12, 15), 5000
"""Shots of an end at which players think, and for how many simulations (those that count them)."""


@compiled()
def one_thread(model, side, back, release, stones, in_play, shots):
    trace = np.zeros((0, 10))
    for i in range(stones.shape[0]):
        run_shot(model, side, back, release, stones[i], in_play[i], 8, (shots[i, 0], shots[i, 1], shots[i, 2]), trace)


@compiled(parallel=True)
def all_threads(model, side, back, release, stones, in_play, shots):
    trace = np.zeros((0, 10))
    for i in numba.prange(stones.shape[0]):
        run_shot(model, side, back, release, stones[i], in_play[i], 8, (shots[i, 0], shots[i, 1], shots[i, 2]), trace)


def events(name: str, threads: int) -> Burst:
    """Batches of 1024 shots, each into a fresh copy of its position."""
    sim, stones, in_play, shots = _drawn(name)
    run = one_thread if threads == 1 else all_threads

    def burst() -> int:
        if threads > 1:
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        run(sim.model, sim.side, sim.back, sim.release, stones.copy(), in_play.copy(), shots)
        return BATCH

    return burst


def frames(name: str) -> Burst:
    """The same shots, 50 of them, in frames of 1 ms."""
    sim, stones, in_play, shots = _drawn(name)

    def burst() -> int:
        for k in range(50):
            play(name == "cs2", sim.release, sim.side, sim.back, stones[k].copy(), in_play[k].copy(), STONES, *shots[k])
        return 50

    return burst


def _drawn(name: str):
    generator = np.random.default_rng(1)
    stones, in_play = random_positions(generator, BATCH, STONES)
    return SIMULATORS[name], stones, in_play, random_shots(generator, SIMULATORS[name], BATCH)


@compiled()
def _throws(params, stones, in_play, shot, sampler, boards, here, shots):
    """The throws of playouts from a position; the last playout may be cut off."""
    p, record, now = params[0], sampler[0], shot
    board, there = stones.copy(), in_play.copy()
    before, before_in = np.zeros_like(stones), np.zeros_like(in_play)
    for k in range(boards.shape[0]):
        vx, vy, spin = playout_shot(p, board, there, now, record)
        vx, vy = with_noise(record, p, vx, vy, spin)
        boards[k], here[k] = board, there
        shots[k, 0], shots[k, 1], shots[k, 2], shots[k, 3] = vx, vy, spin, now
        throw(p, board, there, before, before_in, now, (vx, vy, spin), np.zeros((0, 10)))
        now += 1
        if now == 16:
            now = shot
            board[:], there[:] = stones, in_play


@compiled()
def _thrown_again(params, boards, here, shots):
    board, there = boards[0].copy(), here[0].copy()
    before, before_in = np.zeros_like(board), np.zeros_like(there)
    trace = np.zeros((0, 10))
    for k in range(boards.shape[0]):
        board[:], there[:] = boards[k], here[k]
        throw(
            params[0], board, there, before, before_in, int(shots[k, 3]), (shots[k, 0], shots[k, 1], shots[k, 2]), trace
        )


def _seconds(work: Callable[[], Any]) -> float:
    """Processor time, the median of three; what has to be compiled is."""
    found = []
    for _ in range(3):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return statistics.median(found)


def _throw_seconds(ruleset, view) -> float:
    """Processor time of one of the throws of playouts from a position."""
    boards, here, shots = np.zeros((4096, 16, 2)), np.zeros((4096, 16), np.uint8), np.zeros((4096, 4))
    sampler = np.zeros(1, SAMPLER)
    seed_record(sampler[0], 1)
    _throws(
        ruleset.params, view["stones"].copy(), view["in_play"].copy(), int(view["shot"]), sampler, boards, here, shots
    )
    _thrown_again(ruleset.params, boards, here, shots)
    return _seconds(lambda: _thrown_again(ruleset.params, boards, here, shots)) / len(boards)


def thinking() -> Iterator[tuple[str, list[str]]]:
    """Of every player: simulations a second at each of `SHOTS` in an end of cs2, and the throws' share of the time."""
    ruleset = game("curling").ruleset(stop_after=1)
    legal = np.ones(ruleset.mask_shape, np.int8)
    rule, state, views = make_agent(ruleset.game, "rule_based"), new_state(ruleset, 1), {}
    rule.reset(ruleset, 0, 1)
    for shot in range(16):
        view = view_of(ruleset, state, int(state["to_move"]))
        views[shot] = view
        state = step(ruleset, state, rule.act(view, legal))
    throws = {shot: _throw_seconds(ruleset, views[shot]) for shot in SHOTS}
    for name in PLAYERS:
        grid = name.startswith("jiritsu")
        agent: Any = make_agent(ruleset.game, name if grid else f"{name}:simulations={SIMULATIONS}")
        cells = []
        for shot in SHOTS:
            view = views[shot]
            agent.reset(ruleset, int(view["to_move"]), 1)
            agent.act(view, legal)
            done = int(agent.work[0]) if grid else agent.clock.lines
            if done == 0:  # from the book, or through the sheet
                cells.append("")
                continue
            seconds = _seconds(lambda agent=agent, view=view: agent.act(view, legal)) / done
            share = "" if grid else f" ({min((16 - shot) * throws[shot] / seconds, 1.0):.0%})"
            cells.append(f"{1 / seconds:,.0f}{share}")
        yield name, cells

"""The short way into the loop over one game: the same as the long one, and arrays that callers keep stay as they are."""

from __future__ import annotations

import sys
from threading import Thread

import numpy as np
import pytest
from numba import njit

from asobiba.api import AEC, SeatEnv
from asobiba.core import IllegalAction, direct
from asobiba.core.direct import Direct
from asobiba.core.handover import Handover

GAMES = ("toy_nim", "toy_kuhn", "battleship")
DISABLED = direct.config.DISABLE_JIT  # type: ignore[attr-defined]


def seat_steps(name: str, count: int = 60, seed: int = 3) -> list:
    """What a seat is told, by random legal actions; the arrays themselves."""
    generator = np.random.default_rng(seed)
    env = SeatEnv(name)
    told = [env.reset(seed=seed)]
    for _ in range(count):
        action = generator.choice(np.flatnonzero(told[-1][-1]["action_mask"]))
        told.append(env.step(action))
        if told[-1][2] or told[-1][3]:
            told.append(env.reset())
    return told


def aec_steps(name: str, count: int = 60, seed: int = 3) -> list:
    generator = np.random.default_rng(seed)
    env = AEC(name)
    env.reset(seed=seed)
    told = []
    for _ in range(count):
        told.append((env.agent_selection, *env.last(), dict(env.rewards)))
        observation, _, terminated, truncated, _ = told[-1][1:6]
        if terminated or truncated:
            env.step(None)
            if not env.agents:
                env.reset()
        else:
            env.step(int(generator.choice(np.flatnonzero(observation["action_mask"]))))
    return told


def plain(monkeypatch, play, *arguments) -> list:
    """The same with the twin of the short way."""
    monkeypatch.setattr(direct, "_SHORT", False)
    try:
        return play(*arguments)
    finally:
        monkeypatch.undo()


@pytest.mark.parametrize("play", [seat_steps, aec_steps])
@pytest.mark.parametrize("name", GAMES)
def test_the_short_way_tells_the_same_as_its_plain_twin(name, play, monkeypatch):
    assert direct._SHORT or DISABLED or not direct.FAST
    assert repr(play(name)) == repr(plain(monkeypatch, play, name))


def test_arrays_that_a_caller_keeps_are_never_written_again():
    env = SeatEnv("battleship")
    observation, info = env.reset(seed=0)
    kept, copies = [], []
    for _ in range(30):
        kept.append((observation, info["action_mask"][:]))  # a view keeps its array
        copies.append((observation.copy(), info["action_mask"].copy()))
        observation, _, terminated, _, info = env.step(int(info["action_mask"].argmax()))
        assert not terminated
    assert len({id(observation) for observation, _ in kept}) == 30
    for (observation, mask), (old, old_mask) in zip(kept, copies):
        assert np.array_equal(observation, old)
        assert np.array_equal(mask, old_mask)


def test_arrays_that_nobody_keeps_are_used_again():
    env = SeatEnv("battleship")
    _, info = env.reset(seed=0)
    seen = set()
    for _ in range(30):
        _, _, _, _, info = env.step(int(info["action_mask"].argmax()))
        seen.add(id(info["action_mask"]))
    assert len(seen) < 10


def test_an_array_that_a_caller_writes_into_does_not_make_moves_legal():
    env = AEC("toy_nim")
    env.reset(seed=0)
    for _ in range(2):  # the second observation is one of the short way
        observation = env.last()[0]
        env.step(int(observation["action_mask"].argmax()))
    mask = env.last()[0]["action_mask"]
    fresh = env.observe(env.agent_selection)["action_mask"]
    assert mask is not fresh
    mask[:] = 1
    assert np.array_equal(env.observe(env.agent_selection)["action_mask"], fresh)


@pytest.mark.parametrize("make", [SeatEnv, AEC])
def test_what_is_no_action_is_refused_after_the_first_step_too(make):
    env = make("battleship")
    env.reset(seed=0)
    for _ in range(2):
        env.step(int(env._mask.argmax()))
        before = env.state_bytes()
        for wrong in (2**70, -(2**70), "a", 1.5, None):
            with pytest.raises(IllegalAction):
                env.step(wrong)
        assert env.state_bytes() == before


def test_a_clone_goes_on_from_where_it_was():
    env = AEC("battleship")
    env.reset(seed=0)
    for _ in range(6):
        env.step(int(env._mask.argmax()))
    twin = env.clone()
    for _ in range(6):
        told = env.last()
        assert repr(told) == repr(twin.last())
        for one in (env, twin):
            one.step(int(told[0]["action_mask"].argmax()))
    assert env.state_bytes() == twin.state_bytes()


def test_environments_in_threads_play_as_they_do_alone():
    alone = {seed: repr(seat_steps("toy_nim", seed=seed)) for seed in range(4)}
    found: dict[int, str] = {}
    threads = [Thread(target=lambda s=s: found.update({s: repr(seat_steps("toy_nim", seed=s))})) for s in alone]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert found == alone


@pytest.mark.skipif(bool(DISABLED), reason="nothing is compiled")
def test_an_error_in_compiled_code_is_not_lost():
    @njit
    def loop(op, mode, handover):
        if op == 1:
            raise ValueError("broken")
        return op + mode

    handover = Handover((np.zeros(1),))
    good, bad = Direct(loop, (5, 1), 2, handover).calls
    assert good(None) == 7
    with pytest.raises(RuntimeError, match="ASOBIBA_PLAIN_NUMBA"):
        bad(None)

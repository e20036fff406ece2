"""Training from end to end: samples a second, where the time goes, and how long until a policy beats random."""

from __future__ import annotations

import importlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from asobiba.api.sb3 import SB3VecEnv
from asobiba.baselines.search.afterstates import AfterstateAgent
from asobiba.baselines.search.temporal_difference import CHUNK, Learner, Settings, play_chunk
from asobiba.core import game
from asobiba.learn.agent import PolicyAgent
from asobiba.learn.config import load_config
from asobiba.learn.evaluation import evaluate
from asobiba.learn.imitation import imitate
from asobiba.learn.masked_choice import quicken
from asobiba.learn.training import Snapshot, evaluated, new_model, practised

ENVIRONMENTS, STEPS, EPOCHS, BATCH, ROUNDS = 1024, 16, 1, 4096, 10
NETWORK: dict[str, Any] = {"policy_kwargs": {"net_arch": [64, 64]}}
"""Two layers of 64 units each for policy and value: the default of Stable-Baselines3."""

QUICK: dict[str, Any] = {
    "num_envs": ENVIRONMENTS,
    "threads": 1,
    "opponents": ["random"],
    "imitation": {"decisions": 0},
    "learner": {"learning_rate": 2e-3, "n_steps": STEPS, "batch_size": 4096, "n_epochs": 2, "ent_coef": 0.005},
}
"""Settings of `asobiba train` against random players: large minibatches, few epochs."""
PLAIN: dict[str, Any] = {"policy": "mlp", "policy_kwargs": {"net_arch": [128, 128]}, "train_on": {}, "memory": ""}
"""Two layers of 128 units instead of the game's own network, on the game itself."""

GAMES = ("animal_shogi", "bao", "battleship", "gogo", "tactics_steps")
OWN = ("bao", "battleship", "curling_discrete", "mini4wd_race", "tactics_steps", "werewolf")
"""Games with a network of their own in `training.yml`, where the plain one misses the score or was not tried."""
CHANGES: dict[str, dict[str, Any]] = {"mini4wd_race": {"shaping": ""}}  # whose terms are those of the single car
TAUGHT: dict[str, tuple[str, int]] = {
    "animal_shogi": ("alpha_beta:depth=3", 50_000),
    "bao": ("alpha_beta:depth=4,endgame=0", 75_000),
    "battleship": ("mp", 20_000),
    "gogo": ("champion", 5_000),
    "tactics_steps": ("max_act_eval", 50_000),
}
"""Board games: whom the game's own network imitates, and how many decisions it is shown, in its practice game."""
VALUED = ("bao", "tactics")
"""Games whose values of afterstates can be learned by TD(lambda)."""
VALUED_GAMES = 500
"""Of a round there."""
WANTED, EVALUATED = 0.95, 400
"""The score to reach, and games of each evaluation."""
LIMIT = 30.0
"""Seconds of processor time after which a game is given up: the goal for board games."""


class Cycle(NamedTuple):
    """Training of one kind: samples a second by the clock and of processor time, and shares of the latter in percent
    (collecting; games within it; learning)."""

    name: str
    rate: float
    of_processor: float
    collecting: float
    games: float
    learning: float


def _timed(owner: Any, name: str, spent: dict[str, float]) -> None:
    """Adds the processor time of this method to `spent`: one thread's, which other programs do not change."""
    inner = getattr(owner, name)

    def timed(*args: Any, **kwargs: Any) -> Any:
        begin = time.process_time()
        try:
            return inner(*args, **kwargs)
        finally:
            spent[name] = spent.get(name, 0.0) + time.process_time() - begin

    setattr(owner, name, timed)


def _opponent(name: str) -> Any:
    return Snapshot() if name == "self" else name


def _refresh(model: Any) -> None:
    """Gives the learner's network to the copies of `self` that play."""
    for agent in model.env.games.opponents:
        if isinstance(agent, Snapshot):
            agent.refresh(model.policy, 0)


def _cycle(name: str, model: Any, steps: int) -> Cycle:
    model.learn(steps)
    spent: dict[str, float] = {}
    _timed(model, "collect_rollouts", spent)
    _timed(model, "train", spent)
    _timed(model.env, "step_wait", spent)
    clock, begin = time.perf_counter(), time.process_time()
    model.learn(steps * ROUNDS)
    whole, clock = time.process_time() - begin, time.perf_counter() - clock
    shares = (100 * spent[part] / whole for part in ("collect_rollouts", "step_wait", "train"))
    return Cycle(name, steps * ROUNDS / clock, steps * ROUNDS / whole, *shares)


def cycles() -> Iterator[Cycle]:
    """Samples a second of one update after the other, on one thread: a second one saves little with so small a network."""
    torch.set_num_threads(1)
    given = {"n_steps": STEPS, "batch_size": BATCH, "n_epochs": EPOCHS, "seed": 0, "device": "cpu", **NETWORK}
    for name in ("animal_shogi", "battleship_attack"):
        opponents = ("random", "self") if name == "animal_shogi" else ("random",)  # the other is played alone
        for own, opponent in ((False, "random"), *((True, opponent) for opponent in opponents)):
            env = SB3VecEnv(name, num_envs=ENVIRONMENTS, opponent=_opponent(opponent), seed=0, threads=1)
            model = MaskablePPO("MlpPolicy", env, **given)
            if own:
                quicken(model)
            _refresh(model)
            words = "asobiba train's" if own else "sb3-contrib's own distribution"
            against = " against `self`" if opponent == "self" else ""
            yield _cycle(f"MaskablePPO, {name}{against}, {ENVIRONMENTS} games, {words}", model, ENVIRONMENTS * STEPS)
            env.close()
    for count in (8, 64):
        env = make_vec_env("CartPole-v1", n_envs=count, seed=0)
        steps = 8192 // count
        model = PPO("MlpPolicy", env, **{**given, "n_steps": steps})
        yield _cycle(f"PPO, CartPole-v1, {count} games (DummyVecEnv)", model, count * steps)
        env.close()


class Shares(NamedTuple):
    """Where the processor time of an update cycle goes: samples a second of it, and percent of the time by part, in the order of `PARTS`."""

    name: str
    rate: float
    shares: tuple[float, ...]


PARTS = ("games", "opponents", "masks", "buffers", "network, collecting", "network, learning", "the rest")
"""*games*: the engine, with opponents that are compiled; *opponents*: those that are a network."""
PROFILED = {"animal_shogi": {}, "battleship": {"placement": "r"}}
COUNTS = (256, 512, 1024)


def _timed_batches(buffer: Any, spent: dict[str, float]) -> None:
    inner = buffer.get

    def get(size: int) -> Iterator[Any]:
        batches = inner(size)
        while True:
            begin = time.process_time()
            batch = next(batches, None)
            spent["get"] = spent.get("get", 0.0) + time.process_time() - begin
            if batch is None:
                return
            yield batch

    buffer.get = get


def profiles() -> Iterator[Shares]:
    """The parts of MaskablePPO's update cycle, with the distribution of `asobiba train`, on one thread."""
    torch.set_num_threads(1)
    for name, parameters in PROFILED.items():
        for opponent in ("random", "self"):
            for count in COUNTS:
                env = SB3VecEnv(name, num_envs=count, opponent=_opponent(opponent), seed=0, threads=1, **parameters)
                model = MaskablePPO(
                    "MlpPolicy", env, n_steps=STEPS, batch_size=BATCH, n_epochs=EPOCHS, seed=0, device="cpu", **NETWORK
                )
                quicken(model)
                _refresh(model)
                yield _profile(f"{name} against `{opponent}`, {count} games", model, count * STEPS)
                env.close()


def _profile(name: str, model: Any, steps: int) -> Shares:
    model.learn(steps)
    spent: dict[str, float] = {}
    plain = Snapshot.act_batch
    for owner, methods in (
        (model.env, ("step_wait", "env_method")),
        (model.rollout_buffer, ("reset", "add", "compute_returns_and_advantage")),
        (model.policy, ("forward", "predict_values")),
        (model, ("train",)),
        (Snapshot, ("act_batch",)),  # of the class: the environment has a copy of the agent
    ):
        for method in methods:
            _timed(owner, method, spent)
    _timed_batches(model.rollout_buffer, spent)
    rounds = ROUNDS * max(COUNTS) * STEPS // steps  # as many samples in every row
    begin = time.process_time()
    model.learn(steps * rounds)
    whole = time.process_time() - begin
    Snapshot.act_batch = plain  # type: ignore[method-assign]
    of = {part: spent.get(part, 0.0) for part in ("act_batch", "get")} | spent
    buffers = of["reset"] + of["add"] + of["compute_returns_and_advantage"] + of["get"]
    parts = [
        of["step_wait"] - of["act_batch"], of["act_batch"], of["env_method"], buffers,
        of["forward"] + of["predict_values"], of["train"] - of["get"],
    ]  # fmt: skip
    return Shares(name, steps * rounds / whole, tuple(100 * part / whole for part in (*parts, whole - sum(parts))))


class Learned(NamedTuple):
    """How long a game took: seconds of training by the clock and of one processor, decisions, and the score against random
    at the end."""

    seconds: float
    processor: float
    decisions: int
    score: float


def until_beaten(name: str, plain: bool) -> Learned:
    """Trains until the policy scores `WANTED` in `EVALUATED` games; evaluations do not count."""
    declared = game(name)
    config = load_config(declared, **QUICK, **CHANGES.get(name, {}))
    if plain:
        config.update(PLAIN)  # a game's own settings say more of its network than these
    torch.set_num_threads(config["threads"])
    ruleset = evaluated(declared, config)
    practice = practised(ruleset, config)
    model = new_model(practice, config)
    seconds, processor, score = 0.0, 0.0, 0.0
    round_of = ENVIRONMENTS * STEPS
    while processor < LIMIT and score < WANTED:
        clock, begin = time.perf_counter(), time.process_time()
        model.learn(4 * round_of, reset_num_timesteps=False)
        processor += time.process_time() - begin
        seconds += time.perf_counter() - clock
        agent = PolicyAgent(model.policy, name="learner")
        (result,) = evaluate(agent, ruleset, ["random"], EVALUATED, 1, ruleset.opening_plies)
        score = result.score
    return Learned(seconds, processor, model.num_timesteps, score)


def taught(name: str) -> Learned:
    """Imitates a classical agent (`TAUGHT`); the teacher's thinking counts."""
    declared = game(name)
    teacher, decisions = TAUGHT[name]
    shown = {"teacher": teacher, "decisions": decisions, "epochs": 2, "again": 1.0, "learning_rate": 2e-3}
    config = load_config(declared, **{**QUICK, "num_envs": 64})
    config["imitation"] = {**config["imitation"], **shown}
    config["learner"]["batch_size"] = 512
    torch.set_num_threads(config["threads"])
    ruleset = evaluated(declared, config)
    practice = practised(ruleset, config)
    model = new_model(practice, config)
    clock, begin = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        imitate(model, practice, config, Path(folder))
    seconds, processor = time.perf_counter() - clock, time.process_time() - begin
    agent = PolicyAgent(model.policy, name="learner")
    (result,) = evaluate(agent, ruleset, ["random"], EVALUATED, 1, ruleset.opening_plies)
    return Learned(seconds, processor, decisions, result.score)


def valued(name: str) -> Learned:
    """Learns values of afterstates by TD(lambda), from nothing, until they score `WANTED`; evaluations do not count."""
    declared = game(name)
    course = importlib.import_module(f"asobiba.baselines.{name}.learning").COURSE
    settings = Settings(rounds=200, games=VALUED_GAMES)
    torch.set_num_threads(1)
    learner = Learner(settings, course.module.INPUTS)
    play_chunk(declared, course, learner.weights(), settings, 0)  # compiles
    ruleset = declared.ruleset()
    seconds, processor, score, seen, round = 0.0, 0.0, 0.0, 0, 0
    while processor < LIMIT and score < WANTED:
        clock, begin = time.perf_counter(), time.process_time()
        weights, chunks = learner.weights(), VALUED_GAMES // CHUNK
        parts = [play_chunk(declared, course, weights, settings, round * chunks + k) for k in range(chunks)]
        inputs, targets = (np.concatenate([part[k] for part in parts]) for k in range(2))
        round, seen = round + 1, seen + len(inputs)
        learner.learn(round, inputs, targets)
        processor += time.process_time() - begin
        seconds += time.perf_counter() - clock
        agent = AfterstateAgent(course.module, learner.weights())
        (result,) = evaluate(agent, ruleset, ["random"], EVALUATED, 1, ruleset.usual_opening)
        score = result.score
    return Learned(seconds, processor, seen, score)

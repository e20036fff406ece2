"""Training from end to end: samples a second, where the time goes, and how long until a policy beats random."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from asobiba.api.sb3 import SB3VecEnv
from asobiba.core import game
from asobiba.learn.agent import PolicyAgent
from asobiba.learn.config import load_config
from asobiba.learn.evaluation import evaluate
from asobiba.learn.masked_choice import quicken
from asobiba.learn.training import evaluated, new_model

ENVIRONMENTS, STEPS, EPOCHS, ROUNDS = 1024, 16, 1, 5
NETWORK: dict[str, Any] = {"policy_kwargs": {"net_arch": [64, 64]}}
"""Two layers of 64 units each for policy and value: the default of Stable-Baselines3."""

QUICK: dict[str, Any] = {
    "num_envs": ENVIRONMENTS,
    "threads": 2,
    "opponents": ["random"],
    "policy": "mlp",
    "imitation": {"decisions": 0},
    "learner": {"learning_rate": 2e-3, "n_steps": STEPS, "batch_size": 4096, "n_epochs": 2, "ent_coef": 0.005},
}
"""Settings of `asobiba train` against random players: large minibatches, few epochs."""

GAMES = ("animal_shogi", "bao", "battleship", "gogo", "tactics_steps")
WANTED, EVALUATED, LIMIT = 0.95, 400, 120.0
"""The score to reach, games of each evaluation, and seconds after which a game is given up."""


class Cycle(NamedTuple):
    """Training of one kind: samples a second, and shares of the time in percent (collecting; games within it; learning)."""

    name: str
    rate: float
    collecting: float
    games: float
    learning: float


def _timed(owner: Any, name: str, spent: dict[str, float]) -> None:
    """Adds what this method costs to `spent`."""
    inner = getattr(owner, name)

    def timed(*args: Any, **kwargs: Any) -> Any:
        begin = time.perf_counter()
        try:
            return inner(*args, **kwargs)
        finally:
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - begin

    setattr(owner, name, timed)


def _cycle(name: str, model: Any, steps: int) -> Cycle:
    model.learn(steps)
    spent: dict[str, float] = {}
    _timed(model, "collect_rollouts", spent)
    _timed(model, "train", spent)
    _timed(model.env, "step_wait", spent)
    begin = time.perf_counter()
    model.learn(steps * ROUNDS)
    whole = time.perf_counter() - begin
    shares = (100 * spent[part] / whole for part in ("collect_rollouts", "step_wait", "train"))
    return Cycle(name, steps * ROUNDS / whole, *shares)


def cycles() -> Iterator[Cycle]:
    """Samples a second of one update after the other, on two threads, opponents that play at random."""
    torch.set_num_threads(2)
    given = {"n_steps": STEPS, "batch_size": 8192, "n_epochs": EPOCHS, "seed": 0, "device": "cpu", **NETWORK}
    for name in ("animal_shogi", "battleship_attack"):
        for own in (False, True):
            env = SB3VecEnv(name, num_envs=ENVIRONMENTS, opponent="random", seed=0, threads=2)
            model = MaskablePPO("MlpPolicy", env, **given)
            if own:
                quicken(model)
            words = "asobiba train's" if own else "sb3-contrib's own distribution"
            yield _cycle(f"MaskablePPO, {name}, {ENVIRONMENTS} games, {words}", model, ENVIRONMENTS * STEPS)
            env.close()
    for count in (8, 64):
        env = make_vec_env("CartPole-v1", n_envs=count, seed=0)
        steps = 8192 // count
        model = PPO("MlpPolicy", env, **{**given, "n_steps": steps})
        yield _cycle(f"PPO, CartPole-v1, {count} games (DummyVecEnv)", model, count * steps)
        env.close()


class Learned(NamedTuple):
    """How long a game took: seconds of training, decisions, and the score against random at the end."""

    seconds: float
    decisions: int
    score: float


def until_beaten(name: str) -> Learned:
    """Trains until the policy scores `WANTED` in `EVALUATED` games; evaluations do not count."""
    declared = game(name)
    # A game's own settings say more of its network than these.
    config = {**load_config(declared, **QUICK), "policy_kwargs": {"net_arch": [128, 128]}}
    torch.set_num_threads(config["threads"])
    ruleset = evaluated(declared, config)
    model = new_model(ruleset, config)
    seconds, score = 0.0, 0.0
    round_of = ENVIRONMENTS * STEPS
    while seconds < LIMIT and score < WANTED:
        begin = time.perf_counter()
        model.learn(4 * round_of, reset_num_timesteps=False)
        seconds += time.perf_counter() - begin
        agent = PolicyAgent(model.policy, name="learner")
        (result,) = evaluate(agent, ruleset, ["random"], EVALUATED, 1, ruleset.opening_plies)
        score = result.score
    return Learned(seconds, model.num_timesteps, score)

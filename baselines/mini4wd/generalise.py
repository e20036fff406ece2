"""Training on many courses at once, with PPO or SAC, and generalisation to other courses and cars."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.core import GameParameterError, Ruleset
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.fields import choice
from asobiba.envs.mini4wd.layout import parameter_records

ALGORITHMS = ("ppo", "sac")
SEEN: dict[str, Any] = {"car": "dash", "tachometer": True, "window": 32, "history": 8, "max_seconds": 60.0}
"""Parameters of the game under which the policies of this module are trained."""
OTHER_CARS = ("stock+torque_tuned", "instrumented", "dash+light_dash")


@dataclass(frozen=True)
class Score:
    """Mean return of some runs and its standard error, the share that finished, and the mean seconds of those."""

    name: str
    runs: int
    mean_return: float
    error: float
    finished: float
    seconds: float


def rules(courses: Sequence[str], **changes: Any) -> tuple[Ruleset, np.ndarray]:
    """The ruleset of the first course, and a parameter record for each of them."""
    ruleset = GAME.ruleset(**{**SEEN, "course": courses[0], **changes})
    return ruleset, parameter_records(ruleset, [{"course": course} for course in courses])


def environments(courses: Sequence[str], count: int, seed: int, **changes: Any) -> Any:
    """A `SB3VecEnv` of `count` environments over these courses in turn."""
    from asobiba.api.sb3 import SB3VecEnv

    ruleset, records = rules(courses, **changes)
    return SB3VecEnv(ruleset, count, seed=seed, threads=1, params=records[np.arange(count) % len(records)])


def new_learner(algorithm: str, env: Any, seed: int) -> Any:
    """PPO with the network of `network.CarPolicy`, or SAC with one of the same width.

    Raises:
        GameParameterError: for another algorithm.
    """
    from stable_baselines3 import PPO

    from asobiba.baselines.mini4wd.network import CarPolicy, Scaled
    from asobiba.baselines.mini4wd.sac import DrivingSAC, drive_at_first

    choice(algorithm, ALGORITHMS, "algorithm", "mini4wd")
    if algorithm == "ppo":
        return PPO(
            CarPolicy, env, seed=seed, device="cpu", n_steps=256, batch_size=2048, n_epochs=4, gamma=0.995, learning_rate=4e-4,
            ent_coef=0.0, policy_kwargs={"channels": dict(env.ruleset.layout.observation)},
        )  # fmt: skip
    channels = dict(env.ruleset.layout.observation)
    model = DrivingSAC(
        "MlpPolicy", env, seed=seed, device="cpu", learning_starts=20_000, buffer_size=300_000, batch_size=256, gamma=0.995,
        train_freq=1, gradient_steps=4, learning_rate=3e-4, ent_coef="auto_0.0005",
        policy_kwargs={
            "net_arch": [64, 64], "features_extractor_class": Scaled, "features_extractor_kwargs": {"channels": channels},
        },
    )  # fmt: skip
    drive_at_first(model.actor, duty=0.6, spread=0.25)
    return model


def score(model: Any, courses: Sequence[str], runs: int, seed: int, name: str, **changes: Any) -> Score:
    """Runs of the policy without noise, the courses in turn; each run has another car."""
    env = environments(courses, runs, seed, **changes)
    observations = env.reset()
    returns, seconds, done = np.zeros(runs), np.full(runs, np.nan), np.zeros(runs, bool)
    while not done.all():
        actions, _ = model.predict(observations, deterministic=True)
        observations, rewards, ended, infos = env.step(actions)
        returns += np.where(done, 0.0, rewards)
        for k in np.flatnonzero(ended & ~done):
            time = float(infos[k].get("finish_time", 0.0))
            seconds[k] = time if time > 0 else np.nan
        done |= ended
    env.close()
    good = np.isfinite(seconds)
    return Score(
        name, runs, float(returns.mean()), float(returns.std(ddof=1) / np.sqrt(runs)), float(good.mean()),
        float(seconds[good].mean()) if good.any() else float("nan"),
    )  # fmt: skip


@dataclass(frozen=True)
class Task:
    """Settings of learning and measuring.

    Args:
        algorithm: "ppo" or "sac".
        courses: how many random courses to train on (`random:0` and following); 0: the league's course alone.
        steps: decisions in all.
        environments: side by side.
        every: evaluate after so many steps.
        runs: of each evaluation; the last one has three times as many.
        seed: of everything.
    """

    algorithm: str = "ppo"
    courses: int = 100
    steps: int = 5_000_000
    environments: int = 100
    every: int = 500_000
    runs: int = 100
    seed: int = 0

    @property
    def trained(self) -> list[str]:
        """The courses to train on."""
        return [f"random:{k}" for k in range(self.courses)] if self.courses else ["junior_hill"]

    @property
    def others(self) -> list[str]:
        """The same number of courses outside the training set."""
        return [f"random:{k}" for k in range(10_000, 10_000 + max(self.courses, 20))]


def learn(task: Task, folder: Path, say: Callable[[str], None] = lambda text: None) -> list[Score]:
    """Trains, writes `curve.csv` and `policy.zip` to `folder`, and returns the scores at the end.

    Raises:
        GameParameterError: if the folder already holds a run.
    """
    from stable_baselines3.common.callbacks import BaseCallback

    if (folder / "curve.csv").exists():
        raise GameParameterError(f"{folder} already holds a run; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    model = new_learner(task.algorithm, environments(task.trained, task.environments, task.seed), task.seed)
    curve = (folder / "curve.csv").open("w", newline="", encoding="utf-8")
    writer = csv.writer(curve)
    writer.writerow(["steps", "mean_return", "error", "finished", "seconds"])

    class Curve(BaseCallback):
        last = -task.every

        def _on_step(self) -> bool:
            if self.num_timesteps - self.last >= task.every:
                self.last = self.num_timesteps
                found = score(self.model, task.trained, task.runs, task.seed + 77, "trained courses")
                writer.writerow([self.num_timesteps, found.mean_return, found.error, found.finished, found.seconds])
                curve.flush()
                say(
                    f"{self.num_timesteps} steps: return {found.mean_return:.3f} ± {found.error:.3f}, {found.finished:.0%} finish"
                )
                self.model.save(folder / "policy.zip")
            return True

    model.learn(task.steps, callback=Curve())
    model.save(folder / "policy.zip")
    curve.close()
    runs = 3 * task.runs
    scores = [
        score(model, task.trained, runs, task.seed + 1000, "trained courses"),
        score(model, task.others, runs, task.seed + 2000, "other courses"),
        score(model, task.others, runs, task.seed + 3000, "other courses, wide ranges", randomise="wide"),
    ]
    return scores + [
        score(model, task.others, runs, task.seed + 4000, f"other courses, {car}", car=car) for car in OTHER_CARS
    ]


def table(scores: Sequence[Score]) -> str:
    """The scores as Markdown."""
    lines = ["| on | runs | return | finished | time, s |", "|---|--:|--:|--:|--:|"]
    lines += [
        f"| {s.name} | {s.runs} | {s.mean_return:.3f} ± {s.error:.3f} | {s.finished:.0%} | {s.seconds:.2f} |"
        for s in scores
    ]
    return "\n".join(lines) + "\n"

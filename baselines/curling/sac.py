"""SAC on the continuous game, beside the PPO run of `policies/continuous`: `asobiba train curling-sac`.

The same game, opponents and evaluation as in `training.yml`, except that the learner's own snapshots do not play. Needs
the extra `sb3`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback

from asobiba.api.sb3 import SB3VecEnv
from asobiba.arena.evaluation import Evaluation
from asobiba.core import game
from asobiba.core.errors import MissingExtra
from asobiba.learn.agent import PolicyAgent
from asobiba.learn.config import load_config
from asobiba.learn.evaluation import evaluate
from asobiba.learn.training import versions

SETTINGS: dict[str, Any] = {
    "learning_starts": 4_000, "buffer_size": 200_000, "batch_size": 256, "train_freq": 1, "gradient_steps": 4,
    "gamma": 1.0, "learning_rate": 3e-4, "ent_coef": "auto_0.01", "policy_kwargs": {"net_arch": [128, 128]},
}  # fmt: skip
"""Of SAC; a step is a decision in each of `ENVIRONMENTS` games."""
ENVIRONMENTS = 32


class _Curve(BaseCallback):
    """Writes the mean return of the last 100 training ends, and now and then an evaluation."""

    def __init__(self, folder: Path, ruleset: Any, config: dict[str, Any], every: int, tell: Callable[[str], None]):
        super().__init__()
        self._folder, self._ruleset, self._settings = folder, ruleset, config["evaluation"]
        self._every, self._tell, self._seed = every, tell, config["seed"]
        self._next, self._returns = every, np.zeros(0)

    def _on_training_start(self) -> None:
        (self._folder / "curve.csv").write_text("steps,opponent,score,low,high,mean_return\n", encoding="utf-8")
        (self._folder / "practice.csv").write_text("steps,mean_return,mean_length\n", encoding="utf-8")

    def _on_step(self) -> bool:
        ended = [info["episode"] for info in self.locals["infos"] if "episode" in info]
        self._returns = np.append(self._returns, [float(episode["r"]) for episode in ended])[-100:]
        if self.num_timesteps >= self._next:
            self._next += self._every
            with (self._folder / "practice.csv").open("a", encoding="utf-8") as file:
                file.write(f"{self.num_timesteps},{self._returns.mean():.4f},8.00\n")
            model: Any = self.model
            found = scores(model, self._ruleset, self._settings["against"], self._settings["games"] // 4, self._seed)
            with (self._folder / "curve.csv").open("a", encoding="utf-8", newline="") as file:
                rows = csv.writer(file, lineterminator="\n")
                for r in found:
                    figures = (f"{value:.4f}" for value in (r.score, r.low, r.high, r.mean_return))
                    rows.writerow([self.num_timesteps, r.opponent, *figures])
                    self._tell(f"{self.num_timesteps:,}: {r.score:.3f} against {r.opponent}")
            model.policy.actor.save(self._folder / "actor.pt")  # a stopped run leaves its results so far
        return True


def scores(model: Any, ruleset: Any, against: list[str], games: int, seed: int) -> list[Evaluation]:
    """The evaluation of a model's likeliest actions; see `asobiba.learn.evaluation.evaluate`."""
    model.policy.set_training_mode(False)
    return evaluate(PolicyAgent(model.policy, "sac"), ruleset, against, games, seed)


def learn(folder: Path, steps: int, every: int, seed: int, tell: Callable[[str], None], command: str) -> None:
    """Trains for `steps` decisions; leaves `curve.csv`, `practice.csv` and `run.json` in `folder`."""
    declared = game("curling")
    config = load_config(declared)
    config["seed"] = seed
    ruleset = declared.ruleset(**config["parameters"])
    opponents = [text for text in config["opponents"] if text != "self"]
    env = SB3VecEnv(
        ruleset, ENVIRONMENTS, opponent=[opponents[k % len(opponents)] for k in range(ENVIRONMENTS)], seed=seed, threads=1
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    model = SAC("MlpPolicy", env, seed=seed, device="cpu", **deepcopy(SETTINGS))
    model.learn(steps, callback=_Curve(folder, ruleset, config, every, tell), log_interval=10**9)
    found = scores(model, ruleset, config["evaluation"]["against"], config["evaluation"]["games"], seed)
    record = {
        "game": declared.id,
        "command": command,
        "seed": seed,
        "steps": int(model.num_timesteps),
        "settings": {**SETTINGS, "environments": ENVIRONMENTS, "opponents": opponents},
        "versions": versions(),
        "evaluation": [result.as_dict() for result in found],
    }
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def draw_curves(runs: dict[str, Path], path: Path) -> None:
    """Draws several runs' curves into one picture: returns of training ends, and scores with their 95 % intervals.

    Args:
        runs: folders with `practice.csv` and `curve.csv`, by name.

    Raises:
        MissingExtra: if matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "render") from None
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (name, folder), style in zip(runs.items(), ("-", "--", ":"), strict=False):
        practice, curve = _read(folder / "practice.csv"), _read(folder / "curve.csv")
        left.plot([float(r["steps"]) for r in practice], [float(r["mean_return"]) for r in practice], style, label=name)
        for number, opponent in enumerate(dict.fromkeys(r["opponent"] for r in curve)):
            rows = [r for r in curve if r["opponent"] == opponent]
            x = [float(r["steps"]) for r in rows]
            right.plot(
                x,
                [float(r["score"]) for r in rows],
                style,
                color=f"C{number}",
                marker=".",
                label=f"{name} : {opponent}",
            )
            low, high = ([float(r[key]) for r in rows] for key in ("low", "high"))
            right.fill_between(x, low, high, color=f"C{number}", alpha=0.15)
    left.set(title="training ends", xlabel="decisions", ylabel="mean return")
    right.set(title="evaluation, likeliest action", xlabel="decisions", ylabel="score", ylim=(0.0, 0.6))
    right.axhline(0.5, color="grey", linewidth=0.8, linestyle=":")
    left.legend(loc="lower right")
    right.legend(loc="upper right", fontsize="small")
    with matplotlib.rc_context({"svg.hashsalt": "asobiba", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))

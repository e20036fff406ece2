"""Training over many courses and drawn cars: the policy that sets the caution of predictive control (`caution`)."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv

from asobiba.api.sb3 import torch_threads_kept
from asobiba.baselines.mini4wd.caution import CAUTIONS, FEATURES, drive_by, fresh_memory, perceive
from asobiba.baselines.mini4wd.controllers import blank_sensors, run_many
from asobiba.baselines.mini4wd.network import CarPolicy
from asobiba.baselines.mini4wd.predict import REPLICAS
from asobiba.baselines.mini4wd.sides import wilson
from asobiba.core import GameParameterError, Ruleset, compiled, make_agent
from asobiba.core.laws import close_step, has_ended
from asobiba.core.random import seed_record
from asobiba.envs.mini4wd import GAME
from asobiba.envs.mini4wd.hardware.calibrate import Posterior, load_posterior
from asobiba.envs.mini4wd.physics import RUNNING
from asobiba.envs.mini4wd.rules import hide, reset, run_on
from asobiba.learn.policy_file import save_policy

SETTINGS = Path(__file__).parent / "general.yml"
POLICY = "policy.safetensors"


@compiled()
def _begin(states, blank, params, models, which, seeds, memories, views, replicas, features):
    for i in range(states.shape[0]):
        states[i] = blank[0]
        seed_record(states[i], seeds[i])
        p = params[which[i]]
        reset(states[i], p)
        views[i] = states[i]
        hide(views[i], p, 0)
        perceive(views[i], p, 0, memories[i], replicas, i * REPLICAS, models[which[i]], features[i])


@compiled()
def _advance(
    states, blank, params, models, which, following, seeds, memories, views, replicas, features, cautions, actions,
    speed, out, rewards, ended, times, again,
):  # fmt: skip
    """A control step of every car. One that ends begins a new run on course `following[i]` if `again`, else it rests."""
    for i in range(states.shape[0]):
        s = states[i]
        p = params[which[i]]
        rewards[i] = 0.0
        ended[i] = 0
        if has_ended(s):
            continue
        drive_by(p, memories[i], replicas, i * REPLICAS, models[which[i]], cautions[i], actions[i])
        before = s.progress[0]
        run_on(s, p, np.float64(np.float32(actions[i, 0])), np.float64(np.float32(actions[i, 1])))
        close_step(s, p)
        rewards[i] = (s.progress[0] - before) / speed - p.control_step
        if s.cause[0] != RUNNING:
            rewards[i] -= out
        if has_ended(s):
            ended[i] = 1
            times[i] = s.finish_time[0] if s.finish_time[0] > 0.0 else np.nan
            if not again:
                continue
            which[i] = following[i]
            p = params[which[i]]
            states[i] = blank[0]
            seed_record(states[i], seeds[i])
            reset(states[i], p)
        views[i] = states[i]
        hide(views[i], p, 0)
        perceive(views[i], p, 0, memories[i], replicas, i * REPLICAS, models[which[i]], features[i])


def names_of(courses: dict[str, int]) -> list[str]:
    """The courses `random:first` and following, `count` of them."""
    return [f"random:{k}" for k in range(courses["first"], courses["first"] + courses["count"])]


@dataclass
class Field:
    """Courses and cars: a parameter record, and one of the nominal car's model, for each pair."""

    ruleset: Ruleset
    params: np.ndarray
    models: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]], settings: dict[str, Any]) -> Field:
        """The field of these courses and cars."""
        shared = {name: settings[name] for name in ("randomise", "profile", "laps")}
        rules = [GAME.ruleset(course=c, car=car, tachometer=True, max_seconds=60.0, **shared) for c, car in pairs]
        return cls(
            rules[0], np.concatenate([r.params for r in rules]), np.concatenate([blank_sensors(r) for r in rules])
        )

    @classmethod
    def drawn(cls, courses: Sequence[str], posterior: Posterior, settings: dict[str, Any]) -> Field:
        """These courses with the cars of a posterior in turn; the model is the best of them."""
        shared = {"laps": settings["laps"], "tachometer": True, "max_seconds": 60.0, "randomise": "none"}
        car, profile = posterior.member(posterior.best)
        rules = [GAME.ruleset(course=c, car=car, profile=profile, **shared) for c in courses]
        models = np.concatenate([blank_sensors(r) for r in rules])
        params = np.concatenate([r.params for r in rules])
        for k in range(len(courses)):
            own, electronics = posterior.member(k % len(posterior))
            params["car"][k, 0], params["sensor"][k] = own.vector, electronics.vector()
        return cls(rules[0], params, models)


class _Cars:
    """Cars side by side on the courses of a field."""

    def __init__(self, field: Field, count: int, reward: dict[str, float]):
        self.field, self.count, self.reward = field, count, reward
        self.states, self.views = field.ruleset.zeros(count), field.ruleset.zeros(count)
        self.blank, self.replicas = field.ruleset.zeros(), field.ruleset.zeros(count * REPLICAS)
        self.memories = fresh_memory(count)
        self.which = np.zeros(count, np.int64)
        self.features, self.cautions = np.zeros((count, FEATURES)), np.zeros((count, CAUTIONS))
        self.actions, self.rewards = np.zeros((count, 2)), np.zeros(count)
        self.ended, self.times = np.zeros(count, np.int64), np.full(count, np.nan)

    def begin(self, which: np.ndarray, seeds: np.ndarray) -> None:
        self.which[:] = which
        _begin(
            states=self.states, blank=self.blank, params=self.field.params, models=self.field.models, which=self.which,
            seeds=np.asarray(seeds, np.int64), memories=self.memories, views=self.views, replicas=self.replicas,
            features=self.features,
        )  # fmt: skip

    def advance(self, cautions: np.ndarray, following: np.ndarray, seeds: np.ndarray, again: bool) -> None:
        self.cautions[:] = np.clip(cautions, -1.0, 1.0)
        _advance(
            states=self.states, blank=self.blank, params=self.field.params, models=self.field.models, which=self.which,
            following=following, seeds=seeds, memories=self.memories, views=self.views, replicas=self.replicas,
            features=self.features, cautions=self.cautions, actions=self.actions, speed=self.reward["speed"],
            out=self.reward["out"], rewards=self.rewards, ended=self.ended, times=self.times, again=again,
        )  # fmt: skip


class CoursesVecEnv(VecEnv):
    """Cars on many courses as a Stable-Baselines3 `VecEnv`: in every run another course and another car.

    Observations are `caution.FEATURES`, actions `caution.CAUTIONS` numbers in [-1, 1].
    """

    def __init__(self, field: Field, num_envs: int, reward: dict[str, float], seed: int):
        self.cars = _Cars(field, num_envs, reward)
        self._draw = np.random.Generator(np.random.Philox(seed))
        self._scale = reward["scale"]
        self._returns, self._lengths = np.zeros(num_envs), np.zeros(num_envs, np.int64)
        observed = spaces.Box(-4.0, 4.0, (FEATURES,), np.float32)
        super().__init__(num_envs, observed, spaces.Box(-1.0, 1.0, (CAUTIONS,), np.float32))

    def _drawn(self) -> tuple[np.ndarray, np.ndarray]:
        which = self._draw.integers(0, len(self.cars.field.params), self.num_envs)
        return which, self._draw.integers(0, 2**62, self.num_envs)

    def reset(self) -> np.ndarray:
        self.cars.begin(*self._drawn())
        self._returns[:], self._lengths[:] = 0.0, 0
        return self.cars.features.astype(np.float32)

    def step_async(self, actions: np.ndarray) -> None:
        self._waiting = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        with torch_threads_kept():
            self.cars.advance(self._waiting, *self._drawn(), True)
        self._returns += self.cars.rewards
        self._lengths += 1
        dones = self.cars.ended != 0
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(dones):
            infos[i]["episode"] = {"r": float(self._returns[i]), "l": int(self._lengths[i]), "t": 0.0}
            infos[i]["finished"] = bool(np.isfinite(self.cars.times[i]))
        self._returns[dones], self._lengths[dones] = 0.0, 0
        return self.cars.features.astype(np.float32), (self._scale * self.cars.rewards).astype(np.float32), dones, infos

    def close(self) -> None:
        pass

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        if attr_name == "render_mode":
            return [None] * self.num_envs
        raise AttributeError(attr_name)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(attr_name)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> Any:
        raise AttributeError(method_name)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


class Trial:
    """Runs on a set of courses and cars, the same for everybody.

    Args:
        about: `courses`, `cars`, `runs` of each car on each course, and the first `seed`.
        settings: of the training.
    """

    def __init__(self, about: dict[str, Any], settings: dict[str, Any]):
        pairs = [(course, car) for course in names_of(about["courses"]) for car in about["cars"]]
        self.field, self.reward = Field.of(pairs, settings), settings["reward"]
        self.which = np.repeat(np.arange(len(pairs)), about["runs"])
        self.seeds = about["seed"] + np.arange(len(self.which))

    def controller(self, text: str) -> np.ndarray:
        """Seconds of a controller's runs, NaN where it does not finish."""
        memory = make_agent(GAME, text).memory()  # type: ignore[attr-defined]
        finals = run_many(
            self.field.ruleset, np.repeat(memory, len(self.which)), self.seeds, params=self.field.params, models=self.field.models,
            course=self.which,
        )  # fmt: skip
        times = finals["finish_time"][:, 0]
        return np.where(times > 0, times, np.nan)

    def policy(self, decide: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Seconds of a policy's runs; `decide` turns features `(n, FEATURES)` into cautions `(n, CAUTIONS)`."""
        cars = _Cars(self.field, len(self.which), self.reward)
        cars.begin(self.which, self.seeds)
        idle = np.zeros(len(self.which), np.int64)
        over = np.zeros(len(self.which), bool)
        while not over.all():
            cars.advance(decide(cars.features.astype(np.float32)), idle, idle, False)
            over |= cars.ended != 0
        return cars.times


def faster(seconds: np.ndarray, other: np.ndarray) -> float:
    """By how much less time it needs than the other, in logarithms, on the mean of the runs that finish with both."""
    both = np.isfinite(seconds) & np.isfinite(other)
    return float(np.log(other[both] / seconds[both]).mean()) if both.any() else math.nan


class _Progress(BaseCallback):
    """Narrows the exploration, and evaluates now and then: `curve.csv`."""

    def __init__(self, settings: dict[str, Any], folder: Path, say: Callable[[str], None]):
        super().__init__()
        self._settings, self._folder, self._say = settings, folder, say
        self._trial = Trial(settings["evaluation"], settings)
        self._base = self._trial.controller("predict")
        self._next = 0
        self._runs: list[tuple[int, int]] = []

    def _on_rollout_start(self) -> None:
        import torch

        wide, narrow = self._settings["exploration"]
        done = self.num_timesteps / self._settings["total_steps"]
        with torch.no_grad():
            self.model.policy.log_std.fill_(math.log(wide * (narrow / wide) ** done))  # type: ignore[operator]
        if self.num_timesteps >= self._next:
            self._next += self._settings["evaluation"]["every"]
            self.evaluate()

    def evaluate(self) -> None:
        """A row of the curve."""
        seconds = self._trial.policy(lambda seen: self.model.predict(seen, deterministic=True)[0])
        finished = np.isfinite(seconds).mean()
        practice = np.mean([done for _, done in self._runs[-500:]]) if self._runs else math.nan
        row = [self.num_timesteps, finished, faster(seconds, self._base), practice]
        with (self._folder / "curve.csv").open("a", encoding="utf-8", newline="") as file:
            if file.tell() == 0:
                csv.writer(file, lineterminator="\n").writerow(["steps", "finished", "faster", "practice_finished"])
            csv.writer(file, lineterminator="\n").writerow([row[0], *(f"{x:.4f}" for x in row[1:])])
        save_policy(self.model.policy, self._folder / POLICY)
        base = np.isfinite(self._base).mean()
        self._say(
            f"{row[0]:,} steps: {finished:.1%} finish (predict {base:.1%}), {row[2]:+.2%} faster; in practice {practice:.1%}"
        )

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "finished" in info:
                self._runs.append((self.num_timesteps, int(info["finished"])))
        return True


def load_settings(path: Path = SETTINGS, **changes: Any) -> dict[str, Any]:
    """Settings of a training, with changes; the held-out courses are refused.

    Raises:
        GameParameterError: for a setting that does not exist, or a held-out course among those of the training.
    """
    from asobiba.baselines.mini4wd.unseen import held_out

    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    if unknown := set(changes) - set(settings):
        raise GameParameterError(f"{path.name} has no {sorted(unknown)}; it has {', '.join(settings)}")
    settings |= changes
    kept = set(held_out().names)
    for about in (settings, settings["evaluation"], settings["validation"]):
        if both := kept & set(names_of(about["courses"])):
            raise GameParameterError(
                f"{sorted(both)[0]} is of the held-out set, on which nothing may be trained or tuned"
            )
    return settings


def _learner(settings: dict[str, Any], posterior: Path | None) -> PPO:
    names, cars = names_of(settings["courses"]), settings["cars"]
    field = Field.of([(name, cars[k % len(cars)]) for k, name in enumerate(names)], settings)
    if posterior is not None:
        field = Field.drawn(names, load_posterior(posterior), settings)
    env = CoursesVecEnv(field, settings["num_envs"], settings["reward"], settings["seed"])
    learner = dict(settings["learner"])
    learner["learning_rate"] = LinearSchedule(*learner["learning_rate"], 1.0)  # type: ignore[call-arg]
    kwargs = {"channels": {"features": (FEATURES,)}, **settings["policy_kwargs"]}
    return PPO(CarPolicy, env, seed=settings["seed"], device="cpu", policy_kwargs=kwargs, **learner)


def train(
    settings: dict[str, Any], folder: Path, command: str, say: Callable[[str], None], posterior: Path | None = None
) -> dict[str, Any]:
    """Trains and leaves `policy.safetensors`, `config.yml`, `curve.csv` and `run.json` in a folder; returns the last one's contents.

    With a `posterior` the cars are those of a calibration (`envs.mini4wd.hardware.calibrate`), each with what goes with it.

    Raises:
        GameParameterError: if the folder holds a run.
    """
    import torch

    from asobiba.learn.training import versions

    if (folder / "curve.csv").exists():
        raise GameParameterError(f"{folder} already holds a run; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(settings["threads"])
    (folder / "config.yml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    model = _learner(settings, posterior)
    progress = _Progress(settings, folder, say)
    model.learn(settings["total_steps"], callback=progress)
    progress.evaluate()
    found = tune(model.policy, settings, say)
    save_policy(model.policy, folder / POLICY)
    record = {
        "command": command, "seed": settings["seed"], "steps": int(model.num_timesteps),
        "parameters_of_the_network": int(sum(w.numel() for w in model.policy.parameters())), "versions": versions(), **found,
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return record


def tune(policy: Any, settings: dict[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """Shifts the policy towards caution until it leaves the validation's courses no more often than `predict`."""
    import torch

    trial = Trial(settings["validation"], settings)
    base = trial.controller("predict")
    rows: list[dict[str, Any]] = []
    most = int(np.isfinite(base).sum())
    say(f"validation: predict finishes {most} of {len(base)}")
    for shift in settings["validation"]["shifts"]:
        less = shift * np.array([1.0, 1.0, 0.0], np.float32)
        seconds = trial.policy(lambda seen, less=less: policy.predict(seen, deterministic=True)[0] - less)  # type: ignore[misc]
        rows.append({"shift": shift, "finished": int(np.isfinite(seconds).sum()), "faster": faster(seconds, base)})
        say(f"shift {shift:g}: {rows[-1]['finished']} finish, {rows[-1]['faster']:+.2%} faster")
    good = [row for row in rows if row["finished"] >= most]
    chosen = max(good, key=lambda row: row["faster"]) if good else max(rows, key=lambda row: row["finished"])
    with torch.no_grad():
        policy.action_net.bias[:2] -= chosen["shift"]
    return {
        "validation": {"runs": len(base), "predict": most, "predict_rate": wilson(most, len(base)), "rows": rows},
        "shift": chosen["shift"],
    }

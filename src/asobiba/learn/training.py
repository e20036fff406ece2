"""Training with Stable-Baselines3 on the compiled engine: resumable, seeded, evaluated against named agents."""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import json
import math
import os
import platform
import random
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import torch
import yaml
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.logger import Figure
from stable_baselines3.common.utils import LinearSchedule

from asobiba.api.sb3 import SB3VecEnv
from asobiba.arena.evaluation import Evaluation
from asobiba.arena.evaluation import evaluate as play
from asobiba.core.agents import Agent, make_agent
from asobiba.core.errors import AsobibaError, MissingExtra
from asobiba.core.game import Game, Ruleset
from asobiba.core.registry import game as find_game
from asobiba.learn import own_files
from asobiba.learn.agent import PolicyAgent, load_policy
from asobiba.learn.algorithms import ALGORITHMS, found_class
from asobiba.learn.card import write_card
from asobiba.learn.config import ConfigError, company
from asobiba.learn.curve import draw_curve
from asobiba.learn.evaluation import evaluate
from asobiba.learn.imitation import imitate, mixed_openings
from asobiba.learn.masked import MaskedVecEnv
from asobiba.learn.masked_choice import quicken
from asobiba.learn.members import WAYS
from asobiba.learn.memory import memory_class
from asobiba.learn.networks import BoardPolicy
from asobiba.learn.payoff import draw_payoff, payoff_figure
from asobiba.learn.policy_file import save_policy
from asobiba.learn.pool import Pool
from asobiba.learn.remembering import RememberingVecEnv
from asobiba.learn.reporting import Interrupted, Report, StopOnInterrupt
from asobiba.learn.shaping import ShapedVecEnv, potential_class
from asobiba.learn.tracking import Tracking, require_trackers
from asobiba.learn.turning import Turning

CHECKPOINT = "checkpoint.zip"
POLICY = "policy.safetensors"
_EXPLOITER_GAMES = 200
"""Games that say whether an exploiter wins: its interval lies above one half."""
_SET_UP_ANEW = ("replay_buffer", "_last_lstm_states")
"""Attributes of SB3's learners that are made anew on loading."""


class RunFolderError(AsobibaError, ValueError):
    """Raised for a run folder that cannot be used as asked."""


def _write_record(
    folder: Path, game: Game, config: dict[str, Any], command: str, model: Any, results: Sequence[Evaluation]
) -> None:
    """Writes `run.json`."""
    record = {
        "game": game.id,
        "command": command,
        "seed": config["seed"],
        "opening_plies": evaluated(game, config).opening_plies,
        "steps": int(model.num_timesteps),
        "parameters_of_the_network": int(sum(p.numel() for p in model.policy.parameters())),
        "versions": versions(),
        "evaluation": [result.as_dict() for result in results],
    }
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def train(
    game: Game,
    config: dict[str, Any],
    folder: str | Path,
    *,
    resume: bool = True,
    progress: bool = True,
    command: str = "",
    say: Callable[[str], None] | None = None,
    trust: bool = False,
    watch: Callable[[int, Sequence[Evaluation]], None] | None = None,
    track: Sequence[str] = (),
) -> list[Evaluation]:
    """Trains a policy and leaves everything about the run in `folder`.

    The folder then holds `policy.safetensors` (an agent: `sb3:FOLDER/policy.safetensors`), `config.yml`, `run.json` (seed, versions,
    command, evaluation), `curve.csv`, `practice.csv`, their picture `curve.svg` (if matplotlib is installed),
    `imitation.csv` (where there is a teacher) and TensorBoard's files. A stopped run resumes from its last checkpoint
    and ends as if it had never stopped. Ctrl-C saves a checkpoint and raises `Interrupted`.

    Args:
        game: the game to train on.
        config: as `asobiba.learn.config.load_config` returns it.
        folder: the run folder; created if need be.
        resume: continue from the folder's checkpoint; otherwise a folder with a run in it is refused.
        progress: show a bar with reward, scores, speed and time left, or lines without a terminal.
        command: the command line, for the record.
        say: shows a line; the standard error stream if not given.
        trust: accept a checkpoint that this user has not written.
        watch: called with the steps and the figures of every evaluation during training; what it raises ends the run.
        track: names of trackers (`asobiba.learn.tracking`) that get what TensorBoard gets.

    Returns:
        The final evaluation, an entry per opponent.

    Raises:
        RunFolderError: if the folder holds a run of another configuration, or any run while `resume` is off, or a
            checkpoint that another user has written.
        Interrupted: after Ctrl-C, when the checkpoint is saved.
    """
    say = say or (lambda line: print(line, file=sys.stderr, flush=True))
    folder = Path(folder)
    require_trackers(track)
    _require_free(folder, game, config, resume)
    torch.set_num_threads(config["threads"])
    ruleset = evaluated(game, config)
    checkpoint = folder / CHECKPOINT
    with _numbers_fixed(config["seed"]):
        if checkpoint.exists():
            model = load_checkpoint(checkpoint, trust, config["device"])
            if progress:
                say(f"Going on from {model.num_timesteps:,} of {config['total_steps']:,} steps in {folder}")
        else:
            # All that can be wrong in the configuration is found before the folder is touched.
            _require_agents(game, config)
            practice = practised(ruleset, config)
            model = new_model(practice, config)
            if config["start"]:
                _start_from(model.policy, config["start"])
            _claim(folder, game, config, resume)
            if config["imitation"]["decisions"]:
                imitate(model, practice, config, folder, say if progress else None)
        model.tensorboard_log = str(folder / "tensorboard")
        left = config["total_steps"] - model.num_timesteps
        if left > 0:
            report = Report(config["total_steps"], say if progress else None)
            stop = StopOnInterrupt(lambda model: save_checkpoint(model, checkpoint))
            tracking = Tracking(track, {"game": game.id, **config}, folder)
            callbacks = [
                tracking,
                _Exploration(config),
                _Snapshots(game, config, folder),
                _Curve(folder, game, config, report.evaluated, watch),
                _Checkpoints(checkpoint, config),  # when the tables are written
                report,
                stop,
            ]
            try:
                with report, stop:
                    model.learn(left, callback=CallbackList(callbacks), reset_num_timesteps=False, tb_log_name="run")
            except Interrupted:
                say(f"Checkpoint saved at {model.num_timesteps:,} of {config['total_steps']:,} steps: {checkpoint}")
                raise
            finally:
                tracking.close()
            save_checkpoint(model, checkpoint)
    save_policy(model.policy, folder / POLICY)
    agent = PolicyAgent(model.policy, name=f"sb3:{folder / POLICY}")
    games, against = config["evaluation"]["games"], config["evaluation"]["against"]
    results = evaluate(agent, ruleset, against, games, config["seed"], ruleset.opening_plies)
    _write_record(folder, game, config, command, model, results)
    write_card(folder)
    with contextlib.suppress(MissingExtra):
        draw_curve(folder)
        draw_payoff(folder)
    return results


def _start_from(policy: Any, path: str) -> None:
    """Loads a saved policy's weights, those of its value function included; the width of its exploration is reset."""
    weights = load_policy(path).state_dict()
    if "log_std" in weights:
        weights["log_std"] = policy.state_dict()["log_std"]
    shapes, wanted = ({name: tuple(w.shape) for name, w in each.items()} for each in (weights, policy.state_dict()))
    if shapes != wanted:
        raise ConfigError(f"start: the policy {path} is another network than policy and policy_kwargs describe")
    policy.load_state_dict(weights)


def evaluated(game: Game, config: dict[str, Any]) -> Ruleset:
    """The rules to play in the end, with their openings."""
    return game.ruleset(**config["parameters"]).opened(config["openings"]["plies"])


def practised(ruleset: Ruleset, config: dict[str, Any]) -> Ruleset:
    """The rules to train on: the game's own, or those of the smaller game under `train_on`."""
    if not config["train_on"]:
        return ruleset
    smaller = find_game(config["train_on"]["game"]).ruleset(**config["train_on"].get("parameters", {}))
    return smaller.opened(config["openings"]["plies"])


def new_model(ruleset: Ruleset, config: dict[str, Any], opponent: Any = None) -> Any:
    """A fresh learner on a fresh vector environment, against an opponent of its own or those of the configuration."""
    settings = {
        "opponent": opponent or _opponents(ruleset, config), "seat": config["seat"], "seed": config["seed"], "threads": config["threads"],
    }  # fmt: skip
    if ruleset.opening_plies:
        settings["params"] = mixed_openings(ruleset, config["num_envs"], config["openings"]["share"])
    if config["shaping"]:
        settings["potential"] = potential_class(config["shaping"])
    if config["symmetry"]:
        settings["turning"] = Turning(ruleset, config["num_envs"], config["seed"])
    channels = dict(ruleset.layout.observation)
    chosen = ALGORITHMS[config["algorithm"]]
    env: SB3VecEnv
    if config["memory"]:
        env = remembering = RememberingVecEnv(memory_class(config["memory"]), ruleset, config["num_envs"], **settings)
        channels["memory"] = (remembering.memory.size,)
    else:
        kind = MaskedVecEnv if chosen.masks and ruleset.discrete else ShapedVecEnv
        env = kind(ruleset, config["num_envs"], **settings)
    learner = dict(config["learner"])
    rate = learner.get("learning_rate")
    if isinstance(rate, list):
        learner["learning_rate"] = LinearSchedule(rate[0], rate[1], 1.0)
    kwargs = dict(config["policy_kwargs"])
    policy: Any = "MlpLstmPolicy" if chosen.recurrent else "MlpPolicy"
    if chosen.policy and ruleset.discrete:
        policy = found_class(chosen.policy)
    if config["policy"] != "mlp":
        policy, kwargs["channels"] = BoardPolicy, channels
        if config["policy"] != "board":
            module, _, name = config["policy"].partition(":")
            policy = getattr(importlib.import_module(module), name)
        if config["memory"] and issubclass(policy, BoardPolicy):
            kwargs["memory"] = config["memory"]
    algorithm = chosen.class_for(ruleset.discrete)
    device = config["device"]
    model = algorithm(policy, env, seed=config["seed"], policy_kwargs=kwargs, device=device, verbose=0, **learner)
    quicken(model)
    return model


class Snapshot(Agent):
    """The learner's own latest snapshot as an opponent (`self` in the configuration); random before the first."""

    name = "self"

    def __init__(self) -> None:
        self.player: PolicyAgent | None = None
        self.steps = 0
        self._generator = np.random.Generator(np.random.Philox(0))

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))
        if self.player is not None:
            self.player.begin(ruleset, (seat,), (seed,))
        self._game = (ruleset, seat, seed)

    def refresh(self, policy: Any, steps: int) -> None:
        """Takes a copy of the learner's policy, after so many steps."""
        self.steps = steps
        self.player = PolicyAgent(
            cloudpickle.loads(cloudpickle.dumps(policy)), self.name, deterministic=False, quick=True
        )
        if hasattr(self, "_game"):
            self.player.reset(*self._game)

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        views = np.zeros(1, view.dtype)
        views[0] = view
        actions = self.act_batch(views, legal[None])
        assert actions is not None
        return actions[0]

    def act_batch(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray | None:
        """Actions `(n,)` for view records `(n,)` and masks `(n, num_actions)`."""
        if self.player is None:
            if legal.shape[1:] == (0,):  # continuous actions
                space: Any = self._game[0].action_space
                drawn = self._generator.uniform(space.low, space.high, (len(views), *space.shape))
                return drawn.astype(space.dtype)
            return (legal * self._generator.random(legal.shape)).argmax(1)
        return self.player.act_batch(views, legal)


def _opponents(ruleset: Ruleset, config: dict[str, Any]) -> Any:
    """One agent, or one for each environment, dealt in turn; mixed company is a tuple of one for each seat."""
    if ruleset.num_players == 1:
        return "random"  # the seat is empty
    dealt = [company(text) for text in config["opponents"]]
    agents = {name: _opponent(ruleset, config, name) for names in dealt for name in names}
    if len(agents) == 1:
        return next(iter(agents.values()))

    def at(i: int) -> Any:
        names = dealt[i % len(dealt)]
        seats = range(ruleset.num_players)
        return agents[names[0]] if len(names) == 1 else tuple(agents[names[(k + i) % len(names)]] for k in seats)

    return [at(i) for i in range(config["num_envs"])]


def _opponent(ruleset: Ruleset, config: dict[str, Any], text: str) -> Agent:
    if text == "self":
        return Snapshot()
    if text != "pool":
        return make_agent(ruleset.game, text)
    given = config["pool"]
    settings = {"keep": given["keep"], "power": given["power"], "seed": config["seed"], "anchors": given["agents"]}
    return Pool(ruleset, config["num_envs"], {way: given[way] for way in WAYS}, **settings)


class _Snapshots(BaseCallback):
    """Hands the learner's policy to the opponents called `self` and `pool`, and the pool its results and exploiters.

    `pool.csv` says before every new snapshot what the learner scored against each member of the pool.
    """

    def __init__(self, game: Game, config: dict[str, Any], folder: Path):
        super().__init__()
        self._game, self._config, self._folder = game, config, folder
        self._every, self._last = config["snapshot_every"], 0
        self._file = folder / "pool.csv"

    def _on_training_start(self) -> None:
        assert isinstance(self.training_env, SB3VecEnv)
        self._pools = [agent for agent in self.training_env.games.opponents if isinstance(agent, Pool)]
        agents = self.training_env.games.opponents
        self._last = max(
            (agent.steps for agent in agents if isinstance(agent, Snapshot)), default=0
        )  # of a run that goes on
        if self._pools:
            _keep_rows(self._file, ("steps", "opponent", "games", "score"), self.num_timesteps)

    def _on_rollout_start(self) -> None:
        assert isinstance(self.training_env, SB3VecEnv)
        for pool in self._pools:
            pool.progress = self.num_timesteps / self._config["total_steps"]
            if not pool.members or self.num_timesteps - pool.members[-1].steps >= self._every:
                self._tell(pool)
                pool.add(self.model.policy, self.num_timesteps)
            every = self._config["pool"]["exploiter_every"]
            if every and self.num_timesteps - pool.exploited >= every:
                pool.exploited = self.num_timesteps
                policy, score = _train_exploiter(self._game, self._config, self.model.policy, self.num_timesteps)
                self.logger.record("pool/exploiter", score)
                if policy is not None:
                    pool.add_exploiter(policy, self.num_timesteps)
        snapshots = [agent for agent in self.training_env.games.opponents if isinstance(agent, Snapshot)]
        if snapshots and (self.num_timesteps - self._last >= self._every or snapshots[0].player is None):
            self._last = self.num_timesteps
            for snapshot in snapshots:
                snapshot.refresh(self.model.policy, self.num_timesteps)

    def _tell(self, pool: Pool) -> None:
        """Writes the learner's scores against the members: rows, numbers and a picture in TensorBoard."""
        if not pool.members:
            return
        with self._file.open("a", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            for member in pool.everybody:
                rows.writerow([self.num_timesteps, member.label, f"{member.games:.1f}", f"{member.score:.4f}"])
                self.logger.record(f"pool/score_{member.label}", member.score)
        self.logger.record("pool/least_score", min(member.score for member in pool.everybody))
        with contextlib.suppress(MissingExtra):
            shown = Figure(payoff_figure(self._folder), close=True)
            self.logger.record("pool/payoff", shown, exclude=("stdout", "log", "json", "csv"))

    def _on_step(self) -> bool:
        if self._pools:
            for game in np.flatnonzero(self.locals["dones"]).tolist():
                for pool in self._pools:
                    pool.record(game, self.locals["infos"][game]["episode"]["r"])
        return True


def _train_exploiter(game: Game, config: dict[str, Any], policy: Any, steps: int) -> tuple[Any, float]:
    """Trains a policy against the learner's present one alone; it, or `None` if it does not win, and its score.

    The generators of the training are left as they were.
    """
    ruleset, seed = practised(evaluated(game, config), config), config["seed"] + steps
    target = PolicyAgent(cloudpickle.loads(cloudpickle.dumps(policy)), "learner", deterministic=False)
    target.policy.set_training_mode(False)
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        model = new_model(ruleset, {**config, "seed": seed}, opponent=target)
        model.learn(config["pool"]["exploiter_steps"])
        model.get_env().close()
        model.policy.set_training_mode(False)
        exploiter = PolicyAgent(model.policy, "exploiter")
        result = play(ruleset, (exploiter.name, exploiter), (target.name, target), _EXPLOITER_GAMES, seed)
    finally:
        torch.set_rng_state(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        random.setstate(before[2])
    return (model.policy if result.low > 0.5 else None), result.score


def _keep_rows(file: Path, columns: Sequence[str], steps: int) -> list[list[str]]:
    """Begins a table, or cuts off what a stopped run wrote after its last checkpoint; the rows that stay."""
    kept: list[list[str]] = []
    if file.exists():
        with file.open(encoding="utf-8", newline="") as old:
            kept = [row for row in list(csv.reader(old))[1:] if row and int(row[0]) <= steps]
    with file.open("w", encoding="utf-8", newline="") as new:
        csv.writer(new, lineterminator="\n").writerows([columns, *kept])
    return kept


class _Exploration(BaseCallback):
    """Sets the standard deviation of continuous actions, if the configuration says so; the optimiser then does not
    change it.
    """

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self._range, self._total = config["exploration"], config["total_steps"]

    def _on_rollout_start(self) -> None:
        if self._range:
            first, last = self._range
            log_std: Any = self.model.policy.log_std
            log_std.requires_grad_(False)
            log_std.fill_(math.log(first) + self.num_timesteps / self._total * math.log(last / first))

    def _on_step(self) -> bool:
        return True


class _Checkpoints(BaseCallback):
    """Saves checkpoints between two rollouts."""

    def __init__(self, path: Path, config: dict[str, Any]):
        super().__init__()
        self._path, self._every, self._last = path, config["checkpoint_every"], 0

    def _on_training_start(self) -> None:
        self._last = self.num_timesteps

    def _on_rollout_start(self) -> None:
        if self.num_timesteps - self._last >= self._every:
            self._last = self.num_timesteps
            save_checkpoint(self.model, self._path)

    def _on_step(self) -> bool:
        return True


class _Curve(BaseCallback):
    """Writes `practice.csv` (the last 100 training episodes) and, now and then, an evaluation to `curve.csv`."""

    def __init__(
        self,
        folder: Path,
        game: Game,
        config: dict[str, Any],
        tell: Callable[[list[Evaluation]], None],
        watch: Callable[[int, Sequence[Evaluation]], None] | None = None,
    ):
        super().__init__()
        self._tell, self._watch = tell, watch
        self._file = folder / "curve.csv"
        self._practice = folder / "practice.csv"
        self._ruleset = evaluated(game, config)
        self._settings, self._seed, self._last = config["evaluation"], config["seed"], 0
        self._taught = config["imitation"]["decisions"] > 0  # an evaluation before the first rollout

    def _on_training_start(self) -> None:
        self._last = self.num_timesteps
        columns = ("steps", "opponent", "score", "low", "high", "mean_return", "games", "distinct")
        began = not self._file.exists()
        rows = _keep_rows(self._file, columns, self.num_timesteps)
        practice = _keep_rows(self._practice, ("steps", "mean_return", "mean_length"), self.num_timesteps)
        self._told = int(practice[-1][0]) if practice else -1
        if began:
            self._last -= self._settings["every"] if self._taught else 0
        else:
            self._last = int(rows[-1][0]) if rows else 0

    def _on_rollout_start(self) -> None:
        episodes = self.model.ep_info_buffer
        if episodes and self.num_timesteps > self._told:
            returns, lengths = (np.mean([episode[key] for episode in episodes]) for key in ("r", "l"))
            with self._practice.open("a", encoding="utf-8") as file:
                file.write(f"{self.num_timesteps},{returns:.4f},{lengths:.2f}\n")
        if self.num_timesteps - self._last < self._settings["every"]:
            return
        self._last = self.num_timesteps
        agent = PolicyAgent(self.model.policy, "learner")
        self.model.policy.set_training_mode(False)
        games = max(2, self._settings["games"] // 4)
        plies = self._ruleset.opening_plies
        results = evaluate(agent, self._ruleset, self._settings["against"], games, self._seed, plies)
        self._tell(results)
        with self._file.open("a", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")  # an opponent's parameters have commas
            for r in results:
                figures = (f"{value:.4f}" for value in (r.score, r.low, r.high, r.mean_return))
                rows.writerow([self.num_timesteps, r.opponent, *figures, r.games, r.distinct])
                self.logger.record(f"evaluation/score_{r.opponent}", r.score)
                self.logger.record(f"evaluation/return_{r.opponent}", r.mean_return)
        if self._watch is not None:
            self._watch(self.num_timesteps, results)

    def _on_step(self) -> bool:
        return True


def save_checkpoint(model: Any, path: Path) -> None:
    """Saves the model, its environments and every generator, so that `load_checkpoint` continues identically."""
    temporary = path.with_suffix(".tmp")
    model_file = path.with_suffix(".model.tmp")
    model.save(model_file)
    state = {
        "class": type(model),
        "env": model.get_env(),
        "extra": {name: getattr(model, name) for name in _SET_UP_ANEW if hasattr(model, name)},
        "torch": torch.get_rng_state(),
        "numpy": np.random.get_state(),  # noqa: NPY002 - the generator that SB3 uses
    }
    with zipfile.ZipFile(temporary, "w") as archive:
        archive.write(model_file, "model.zip")
        pickled = cloudpickle.dumps(state)
        archive.writestr("state.pkl", pickled)
        archive.comment = own_files.seal([model_file.read_bytes(), pickled])
    model_file.unlink()
    os.replace(temporary, path)


def load_checkpoint(path: Path, trust: bool = False, device: str = "cpu") -> Any:
    """The model of `save_checkpoint`, with its environments and generators as they were.

    Args:
        trust: whether to read it even if this user has not written it; it holds pickles, and reading them runs
            arbitrary code.
        device: where the network lies.

    Raises:
        RunFolderError: for a checkpoint that this user has not written, without `trust`.
    """
    with zipfile.ZipFile(path) as archive:
        pickled, saved, sealed = archive.read("state.pkl"), archive.read("model.zip"), archive.comment
    if not trust and not own_files.is_own([saved, pickled], sealed):
        raise RunFolderError(
            f"{path} was not written by you on this machine (its hash is not one under the key {own_files.key_file()}), and "
            "going on with it runs whatever is in it. If you know where it comes from: asobiba train --trust, or "
            "train(..., trust=True) in Python; otherwise choose another folder"
        )
    state = cloudpickle.loads(pickled)
    model = state["class"].load(io.BytesIO(saved), env=state["env"], device=device, force_reset=False)
    quicken(model)
    for name, value in state["extra"].items():
        setattr(model, name, value)
    torch.set_rng_state(state["torch"])
    np.random.set_state(state["numpy"])  # noqa: NPY002
    return model


def versions() -> dict[str, str]:
    """The versions of everything that a result depends on."""
    found = {"python": platform.python_version()}
    for name in ("asobiba", "numpy", "numba", "torch", "stable-baselines3", "sb3-contrib"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _require_agents(game: Game, config: dict[str, Any]) -> None:
    """Raises for an opponent, a teacher, or somebody to be evaluated against, that does not play this game."""
    teachers = [config["imitation"]["teacher"]] if config["imitation"]["decisions"] else []
    opponents = [name for text in config["opponents"] for name in company(text)]
    named = [*opponents, *config["evaluation"]["against"], *teachers, *config["pool"]["agents"]]
    for text in dict.fromkeys(named):
        if text not in ("self", "pool"):
            make_agent(game, text).close()


def _as_text(game: Game, config: dict[str, Any]) -> str:
    return yaml.safe_dump({"game": game.id, **config}, sort_keys=False)


def _require_free(folder: Path, game: Game, config: dict[str, Any], resume: bool) -> None:
    """Raises `RunFolderError` if the folder holds anything but a run of this configuration that may go on."""
    file = folder / "config.yml"
    if file.exists():
        if not resume:
            raise RunFolderError(f"{folder} already holds a run; choose another folder, or let it go on (--resume)")
        if yaml.safe_load(file.read_text(encoding="utf-8")) != yaml.safe_load(_as_text(game, config)):
            raise RunFolderError(
                f"{folder} holds a run of another configuration (compare its config.yml); choose another folder"
            )
    elif folder.is_dir() and any(folder.iterdir()):
        raise RunFolderError(f"{folder} is not empty and holds no run; choose another folder")


def _claim(folder: Path, game: Game, config: dict[str, Any], resume: bool) -> None:
    _require_free(folder, game, config, resume)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yml").write_text(_as_text(game, config), encoding="utf-8")


@contextlib.contextmanager
def _numbers_fixed(seed: int) -> Iterator[None]:
    """Uses deterministic PyTorch kernels during training."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def command_line() -> str:
    """The command that this process was started with."""
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])

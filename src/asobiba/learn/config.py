"""Hyperparameters as YAML: defaults, a game's own file, a user's file, each changing single values of the one before."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from asobiba.core.agents import agent_packages
from asobiba.core.errors import AsobibaError
from asobiba.core.game import Game
from asobiba.core.registry import game as find_game
from asobiba.core.targets import most_threads
from asobiba.core.yaml_text import read_yaml

_FILES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "maskable_ppo": (("default.yml",), ("training-{game}.yml", "training.yml")),
    "ppo": (("default.yml",), ("ppo-{game}.yml", "ppo.yml", "training-{game}.yml", "training.yml")),
    "gumbel_az": (("gumbel_az.yml",), ("gumbel_az-{game}.yml", "gumbel_az.yml")),
    **{
        name: (("default.yml", f"{name}.yml"), (f"{name}-{{game}}.yml", f"{name}.yml"))
        for name in ("recurrent_ppo", "dqn", "qrdqn", "sac", "tqc", "crossq")
    },
}
"""For each algorithm the file of the defaults, and the files that a game may have."""
_FREE = {"parameters", "train_on", "train_on.parameters", "policy_kwargs", "learner"}
_EMPTIED = _FREE - {"learner"}
"""Where `{}` means that nothing of it holds: a run whose config.yml says `train_on: {}` trained in the game itself."""


class ConfigError(AsobibaError, ValueError):
    """Raised for a hyperparameter file that cannot be used."""


def load_config(
    game: Game, path: str | Path | None = None, *, algorithm: str | None = None, **overrides: Any
) -> dict[str, Any]:
    """The hyperparameters of a training run.

    Args:
        game: the game; its `training-NAME.yml` or `training.yml` under `baselines/` comes after the defaults.
        algorithm: one of `asobiba.learn.algorithms.ALGORITHMS`, or `gumbel_az`; the files of all but PPO are called after
            them, such as `dqn.yml`. `None`: what the file under `path` says, or `maskable_ppo`.
        path: a YAML file that comes after both; the `config.yml` of a run is one. `train_on: {}` and the like empty it.
        overrides: values that come last; `None` changes nothing.

    Raises:
        ConfigError: for a file that is not a YAML mapping or is of another game, and for names and types that the defaults do
            not have.
        FileNotFoundError: if `path` does not exist.
    """
    algorithm = algorithm_of(algorithm, path)
    defaults, names = _FILES[algorithm]
    config: dict[str, Any] = {}
    for file in defaults:
        more = _read((files("asobiba.learn") / file).read_text(encoding="utf-8"), file)
        config = {**config, **more}
    if algorithm != "gumbel_az":
        config["algorithm"] = algorithm
    own = _own_file(game, names)
    if own is not None:
        _merge(config, _read(own, f"{names[-1]} of {game.name}"), f"{names[-1]} of {game.name}")
    config["threads"] = min(config["threads"], most_threads())  # the defaults work on one core, too
    if path is not None:
        given = _read(Path(path).read_text(encoding="utf-8"), str(path))
        played = given.pop("game", game.id)  # the beginning of a run's config.yml
        if played not in (game.id, game.name):
            raise ConfigError(f"{path} is of {played}, not of {game.id}: give the command that game, or another file")
        learner = given.pop("algorithm", algorithm)
        if learner != algorithm:
            raise ConfigError(f"{path} is of {learner}, not of {algorithm}: give --algo {learner}, or another file")
        _merge(config, given, str(path))
    _merge(config, {k: v for k, v in overrides.items() if v is not None}, "the command line")
    return _check_search(config) if algorithm == "gumbel_az" else _check_learner(game, config)


def algorithm_of(algorithm: str | None = None, path: str | Path | None = None) -> str:
    """The algorithm that is asked for, or else the one that the file under `path` names; without both `maskable_ppo`.

    Raises:
        ConfigError: for an algorithm that does not exist, and a file that is not a YAML mapping.
        FileNotFoundError: if `path` does not exist.
    """
    given = {} if path is None else _read(Path(path).read_text(encoding="utf-8"), str(path))
    return _named(algorithm or given.get("algorithm", "maskable_ppo"))


def company(text: str) -> list[str]:
    """The agents of an entry of `opponents`, who share a table: `basic & sample`."""
    return [name.strip() for name in str(text).split("&")]


def _named(algorithm: Any) -> str:
    if algorithm not in _FILES:
        close = difflib.get_close_matches(str(algorithm), _FILES, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(_FILES)}."
        raise ConfigError(f"no algorithm is called {algorithm!r}. {hint}")
    return str(algorithm)


def _check_search(config: dict[str, Any]) -> dict[str, Any]:
    least = {"openings": 0, "start": None, "seed": None, "steps": 0}
    for name, value in config.items():
        bound = least.get(name, 1)
        if isinstance(value, int) and bound is not None and value < bound:
            raise ConfigError(f"{name} is {value}; expected at least {bound}")
    rates = config["learning_rate"]
    if not (isinstance(rates, list) and len(rates) == 2 and all(isinstance(r, (int, float)) and r > 0 for r in rates)):
        raise ConfigError(f"learning_rate is {rates}; expected [from, to], both above 0")
    for name, most in (("reuse", math.inf), ("weight_decay", math.inf), ("result_share", 1)):
        value = config[name]
        if not (isinstance(value, (int, float)) and 0 <= value <= most):
            raise ConfigError(f"{name} is {value!r}; expected a number from 0{'' if most > 1 else ' to 1'}")
    _check_sparring(config)
    settings = config["evaluation"]
    for name, bound in (("games", 1), ("every", 1), ("openings", 0)):
        if settings[name] < bound:
            raise ConfigError(f"evaluation.{name} is {settings[name]}; expected at least {bound}")
    against, simulations = settings["against"], settings["simulations"]
    if not (isinstance(against, list) and against and all(isinstance(name, str) for name in against)):
        raise ConfigError(f"evaluation.against is {against!r}; expected a list of agents, for example [random]")
    if not (isinstance(simulations, list) and simulations and all(isinstance(n, int) and n >= 0 for n in simulations)):
        raise ConfigError(f"evaluation.simulations is {simulations!r}; expected a list of whole numbers from 0")
    return config


def _check_sparring(config: dict[str, Any]) -> None:
    dealt = config["opponents"]
    if not (isinstance(dealt, list) and dealt and all(isinstance(text, str) and text for text in dealt)):
        raise ConfigError(f"opponents is {dealt!r}; expected a list of self, pool and agents, for example [self]")
    for text in dealt:
        if len(company(text)) > 1:
            raise ConfigError(f"opponents: {text!r} names several agents; in a game of two players expected one")
    if set(dealt) != {"self"} and config["games"] % 2:
        raise ConfigError(
            f"games is {config['games']}; expected an even number, since opponents are met from both seats"
        )
    _check_pool(config["pool"])


def _check_learner(game: Game, config: dict[str, Any]) -> dict[str, Any]:
    for name in ("total_steps", "num_envs", "threads", "snapshot_every", "checkpoint_every"):
        if config[name] < 1:
            raise ConfigError(f"{name} is {config[name]}; expected at least 1")
    if config["policy"] not in ("mlp", "board") and ":" not in config["policy"]:
        raise ConfigError(f"policy is {config['policy']!r}; expected mlp, board or MODULE:CLASS")
    unknown = set(config["train_on"]) - {"game", "parameters"}
    if unknown or (config["train_on"] and "game" not in config["train_on"]):
        raise ConfigError(f"train_on is {config['train_on']}; expected {{game: NAME, parameters: {{...}}}}")
    widths = config["exploration"]
    if widths and (len(widths) != 2 or not all(isinstance(w, (int, float)) and w > 0 for w in widths)):
        raise ConfigError(f"exploration is {widths}; expected [] or [from, to], both above 0")
    if widths and game.ruleset(**config["parameters"]).discrete:
        raise ConfigError(f"exploration is {widths}, but {game.id} has discrete actions")
    _check_pool(config["pool"])
    if config["symmetry"]:
        practised = find_game(config["train_on"]["game"]) if config["train_on"] else game
        parameters = config["train_on"].get("parameters", {}) if config["train_on"] else config["parameters"]
        if practised.symmetries is None or not practised.symmetries(practised.ruleset(**parameters)):
            raise ConfigError(f"symmetry is true, but {practised.id} declares no symmetries, or none for {parameters}")
        if config["memory"]:
            raise ConfigError("symmetry is true, and there is a memory, which is of one image: leave one of them out")
    if config["memory"] and config["policy"] == "mlp":
        raise ConfigError(
            f"policy is mlp, which does not know the memory {config['memory']}: set memory='' too, or policy to board or MODULE:CLASS"
        )
    openings = config["openings"]
    if not 0 <= openings["share"] <= 1:
        raise ConfigError(f"openings.share is {openings['share']}; expected 0 to 1")
    if openings["plies"] is not None and not (isinstance(openings["plies"], int) and openings["plies"] >= 0):
        raise ConfigError(f"openings.plies is {openings['plies']!r}; expected a number from 0, or null")
    _check_algorithm(game, config)
    if not config["opponents"]:
        raise ConfigError("opponents is empty; expected at least one agent, for example [random]")
    for text in config["opponents"]:
        if len(names := company(text)) > 1 and {"self", "pool", ""} & set(names):
            raise ConfigError(
                f"opponents: {text!r} is not a list of agents; expected agents, and neither `self` nor `pool`"
            )
    return config


def _check_pool(pool: dict[str, Any]) -> None:
    ways = [way for way in ("latest", "uniform", "prioritised", "anchors", "exploiters") if way in pool]
    weights = []
    for way in ways:
        ends = pool[way] if isinstance(pool[way], list) else [pool[way]] * 2
        if len(ends) != 2 or not all(isinstance(end, (int, float)) and end >= 0 for end in ends):
            raise ConfigError(f"pool.{way} is {pool[way]!r}; expected a number from 0, or [from, to]")
        weights.append(ends)
    for end in (0, 1):
        if not any(weight[end] for weight in weights):
            raise ConfigError(f"pool is {pool}; expected {', '.join(ways)} from 0, not all 0")
    if pool["keep"] < 1 or pool["power"] < 0:
        raise ConfigError(f"pool is {pool}; expected keep from 1 and power from 0")
    if not isinstance(pool["agents"], list) or (any(weights[3]) and not pool["agents"]):
        raise ConfigError(f"pool.agents is {pool['agents']!r}; anchors that are drawn are named there, as a list")
    if "exploiters" not in pool:  # learning by search trains none
        return
    if pool["exploiter_every"] < 0 or pool["exploiter_steps"] < 1:
        raise ConfigError(f"pool is {pool}; expected exploiter_every from 0 and exploiter_steps from 1")
    if any(weights[4]) and not pool["exploiter_every"]:
        raise ConfigError("pool.exploiters is above 0, but no exploiter is trained: set pool.exploiter_every")


def _check_algorithm(game: Game, config: dict[str, Any]) -> None:
    """Settings that the learner's class does not accept; none without the extra `sb3`, where the class is unknown."""
    try:
        from asobiba.learn.algorithms import ALGORITHMS
    except ImportError:
        return
    name, algorithm = config["algorithm"], ALGORITHMS[config["algorithm"]]
    discrete = game.ruleset(**config["parameters"]).discrete
    if config["device"] not in ("auto", "cpu", "cuda") and not str(config["device"]).startswith("cuda:"):
        raise ConfigError(f"device is {config['device']!r}; expected auto, cpu or cuda")
    if not (algorithm.discrete if discrete else algorithm.continuous):
        kind = "discrete" if discrete else "continuous"
        fitting = [n for n, a in ALGORITHMS.items() if (a.discrete if discrete else a.continuous)]
        raise ConfigError(f"{name} does not fit {game.id}, whose actions are {kind}; these do: {', '.join(fitting)}")
    if algorithm.recurrent and {"self", "pool"} & set(config["opponents"]):
        raise ConfigError(f"snapshots of {name} do not play as opponents; name agents under opponents")
    if not algorithm.networks:
        for setting, usual in (("policy", "mlp"), ("memory", ""), ("exploration", [])):
            if config[setting] != usual:
                raise ConfigError(f"{setting} is {config[setting]!r}; {name} knows {usual!r} only")
        if config["imitation"]["decisions"]:
            raise ConfigError(f"imitation teaches maskable_ppo and ppo, not {name}")
    try:
        known = algorithm.arguments(discrete)
    except ImportError:
        return
    for argument in config["learner"]:
        if argument not in known:
            close = difflib.get_close_matches(argument, known, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"It has: {', '.join(known)}."
            if argument == "device":
                hint = "Give --device."
            raise ConfigError(f"learner.{argument}: {name} has no such argument. {hint}")


def _own_file(game: Game, names: Sequence[str]) -> str | None:
    # One of several games in a package may have a separate file.
    for package in agent_packages(game.name):
        for name in names:
            try:
                return (files(package) / name.format(game=game.name)).read_text(encoding="utf-8")
            except (ModuleNotFoundError, FileNotFoundError, TypeError):  # a single module has no files beside it
                continue
    return None


def start_file(game: Game, start: str) -> Path:
    """The file that `start` names: as it is, or else one beside the game's own settings."""
    if not Path(start).exists():
        for package in agent_packages(game.name):
            try:
                beside = Path(str(files(package) / start))
            except (ModuleNotFoundError, TypeError):
                continue
            if beside.exists():
                return beside
    return Path(start)


def _read(text: str, name: str) -> dict[str, Any]:
    try:
        data = read_yaml(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{name} is not YAML: {error}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{name} holds a {type(data).__name__}; expected a mapping of hyperparameters")
    return data


def _merge(base: dict[str, Any], change: Mapping[str, Any], source: str, prefix: str = "") -> None:
    for name, value in change.items():
        if name not in base:
            if prefix.rstrip(".") in _FREE:
                base[name] = _number(0.0, value) if prefix == "learner." else value
                continue
            place = _where(str(name))
            if place and not prefix:
                shown = f"{place}:\n  {name}: {value}"
                raise ConfigError(
                    f"{source}: {name} belongs under {place}. In a file:\n{shown}\non the command line: "
                    f"--set {place}.{name}={value}"
                )
            if prefix == "pool." and str(name).startswith("exploiter"):
                raise ConfigError(f"{source}: pool.{name}: gumbel_az trains no exploiters; name agents in pool.agents")
            close = difflib.get_close_matches(str(name), base, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(base)}."
            raise ConfigError(f"{source}: no hyperparameter is called {prefix}{name!s}. {hint}")
        old, value = base[name], _number(base[name], value)
        if isinstance(old, dict):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{source}: {prefix}{name} is {value!r}; expected a mapping")
            if not value and f"{prefix}{name}" in _EMPTIED:
                old.clear()
            _merge(old, value, source, f"{prefix}{name}.")
        elif isinstance(old, int) and not isinstance(value, int):
            raise ConfigError(f"{source}: {prefix}{name} is {value!r}; expected an integer")
        elif isinstance(old, str) and not isinstance(value, str):
            raise ConfigError(f"{source}: {prefix}{name} is {value!r}; expected text")
        else:
            base[name] = value


def _number(old: Any, value: Any) -> Any:
    """Number for a text that YAML does not read as one, such as `1e-4`."""
    if isinstance(value, list) and isinstance(old, (float, list)):
        return [_number(0.0, part) for part in value]
    if isinstance(value, str) and isinstance(old, (float, list)):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _where(name: str) -> str | None:
    """The section that a hyperparameter belongs to, if it is one of a section."""
    defaults = _read((files("asobiba.learn") / "default.yml").read_text(encoding="utf-8"), "default.yml")
    for section in ("learner", *defaults):  # a name in several sections is most likely meant for the learner
        if isinstance(defaults[section], dict) and name in defaults[section]:
            return str(section)
    try:
        from stable_baselines3 import PPO
    except ImportError:
        return None
    return "learner" if name in inspect.signature(PPO.__init__).parameters else None


def read_settings(texts: Sequence[str]) -> dict[str, Any]:
    """The mapping, as in a file, for texts such as `learner.learning_rate=1e-4` (`--set`).

    Raises:
        ConfigError: for text of another form.
    """
    found: dict[str, Any] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals or not path:
            raise ConfigError(f"cannot read --set {text!r}: expected NAME=VALUE, such as learner.learning_rate=1e-4")
        try:
            read = read_yaml(value)
        except yaml.YAMLError as error:
            raise ConfigError(f"cannot read the value of --set {text!r}: {error}") from error
        *sections, last = path.strip().split(".")
        place = found
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise ConfigError(f"--set {text!r}: {section} was given as a value before")
        place[last] = read
    return found

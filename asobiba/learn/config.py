"""Hyperparameters as YAML: defaults, a game's own file, a user's file, each changing single values of the one before."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from asobiba.core.errors import AsobibaError
from asobiba.core.game import Game

_FREE = {"parameters", "train_on", "train_on.parameters", "policy_kwargs", "learner"}


class ConfigError(AsobibaError, ValueError):
    """A hyperparameter file that cannot be used."""


def load_config(game: Game, path: str | Path | None = None, **overrides: Any) -> dict[str, Any]:
    """The hyperparameters of a training run.

    Args:
        game: the game; its `training.yml` under `baselines/` comes after the defaults.
        path: a YAML file that comes after both.
        overrides: values that come last; `None` changes nothing.

    Raises:
        ConfigError: for a file that is no YAML mapping, and for names and types that the defaults do not have.
        FileNotFoundError: if `path` does not exist.
    """
    config = _read((files("asobiba.learn") / "default.yml").read_text(encoding="utf-8"), "default.yml")
    own = _own_file(game)
    if own is not None:
        _merge(config, _read(own, f"training.yml of {game.name}"), f"training.yml of {game.name}")
    if path is not None:
        _merge(config, _read(Path(path).read_text(encoding="utf-8"), str(path)), str(path))
    _merge(config, {k: v for k, v in overrides.items() if v is not None}, "the command line")
    for name in ("total_steps", "num_envs", "threads", "snapshot_every", "checkpoint_every"):
        if config[name] < 1:
            raise ConfigError(f"{name} is {config[name]}; expected at least 1")
    if config["policy"] not in ("mlp", "board") and ":" not in config["policy"]:
        raise ConfigError(f"policy is {config['policy']!r}; expected mlp, board or MODULE:CLASS")
    unknown = set(config["train_on"]) - {"game", "parameters"}
    if unknown or (config["train_on"] and "game" not in config["train_on"]):
        raise ConfigError(f"train_on is {config['train_on']}; expected {{game: NAME, parameters: {{...}}}}")
    if not config["opponents"]:
        raise ConfigError("opponents is empty; expected at least one agent, for example [random]")
    return config


def _own_file(game: Game) -> str | None:
    try:
        file = files(game.package.replace(".envs.", ".baselines.")) / "training.yml"
        return file.read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        return None


def _read(text: str, name: str) -> dict[str, Any]:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{name} is no YAML: {error}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{name} holds a {type(data).__name__}; expected a mapping of hyperparameters")
    return data


def _merge(base: dict[str, Any], change: Mapping[str, Any], source: str, prefix: str = "") -> None:
    for name, value in change.items():
        if name not in base:
            if prefix.rstrip(".") in _FREE:
                base[name] = value
                continue
            close = difflib.get_close_matches(str(name), base, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(base)}."
            raise ConfigError(f"{source}: no hyperparameter is called {prefix}{name!s}. {hint}")
        old = base[name]
        if isinstance(old, dict):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{source}: {prefix}{name} is {value!r}; expected a mapping")
            _merge(old, value, source, f"{prefix}{name}.")
        elif isinstance(old, int) and not isinstance(value, int):
            raise ConfigError(f"{source}: {prefix}{name} is {value!r}; expected an integer")
        elif isinstance(old, str) and not isinstance(value, str):
            raise ConfigError(f"{source}: {prefix}{name} is {value!r}; expected text")
        else:
            base[name] = value

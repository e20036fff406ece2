"""The evaluation of a finished run, played again and written into its `run.json` and its page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asobiba.core.errors import AsobibaError
from asobiba.core.game import Ruleset
from asobiba.core.registry import game as find_game
from asobiba.core.yaml_text import read_yaml
from asobiba.learn.card import explained, table, write_card

POLICY = "policy.safetensors"
BEGIN, END = "<!-- evaluation: written by `asobiba evaluate RUN --write` -->", "<!-- end of the evaluation -->"
"""Marks of the table in a page that is no model card."""


def is_run(folder: str | Path) -> bool:
    """Whether this is a folder with the record of a training run."""
    return (Path(folder) / "run.json").is_file()


def rules_of(policy: Path, name: str | None = None) -> Ruleset:
    """The game that a policy was trained for, with its parameters and openings, as config.yml beside it says.

    Args:
        policy: the policy's file.
        name: the game, where config.yml does not say it.

    Raises:
        AsobibaError: if nothing names the game.
    """
    config = policy.parent / "config.yml"
    known = read_yaml(config.read_text(encoding="utf-8")) if config.is_file() else {}
    if name is None and "game" not in known:
        raise AsobibaError(f"there is no {config} that names the game of {policy.name}: give --game")
    found = find_game(name or known["game"].removeprefix("asobiba/").rpartition("-v")[0])
    ruleset = found.ruleset(**known.get("parameters", {}))
    openings = known.get("openings")
    return ruleset.opened(openings["plies"] if isinstance(openings, dict) else None)


@dataclass(frozen=True)
class Run:
    """A run folder whose policy is evaluated again."""

    folder: Path

    @property
    def policy(self) -> Path:
        return self.folder / POLICY

    @property
    def ruleset(self) -> Ruleset:
        """The game to be evaluated in, with its openings."""
        return rules_of(self.policy)

    @property
    def opponents(self) -> list[str]:
        """The opponents of the configuration.

        Raises:
            AsobibaError: for a run whose evaluation is of another kind (`gumbel_az` tells simulations).
        """
        config = read_yaml((self.folder / "config.yml").read_text(encoding="utf-8"))
        against = (config.get("evaluation") or {}).get("against")
        if not isinstance(against, list) or "rounds" in config:
            raise AsobibaError(f"{self.folder} is no run of Stable-Baselines3's learners: name the game and its agent")
        return [str(name) for name in against]

    def write(self, results: Sequence[dict[str, Any]], plies: int, seed: int, command: str) -> list[Path]:
        """Puts these results in the place of the run's evaluation; returns the files written.

        The model card is written again. A page by hand keeps its text; its table between the marks is replaced.

        Args:
            results: the fields of `asobiba.arena.evaluation.Evaluation`, one entry per opponent.
            plies: random plies at the beginning of their games.
            seed: of these games.
            command: that played them.
        """
        from asobiba.learn.training import versions

        file, page = self.folder / "run.json", self.folder / "README.md"
        record = json.loads(file.read_text(encoding="utf-8"))
        del record["evaluation"]
        record.pop("evaluation_seed", None)
        record["opening_plies"] = plies
        record["evaluated"] = {"command": command, "game": self.ruleset.game.id, "seed": seed, "versions": versions()}
        record["evaluation"] = [{**row, "agent": f"sb3:{POLICY}"} for row in results]
        file.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        text = page.read_text(encoding="utf-8") if page.is_file() else ""
        if not text or text.startswith("---\nlibrary_name: asobiba\n"):
            return [file, write_card(self.folder)]
        before, begin, rest = text.partition(BEGIN)
        if not begin:
            return [file]
        told = f"{table(record)}\n\n{explained(record)}\n"
        page.write_text(f"{before}{BEGIN}\n\n{told}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
        return [file, page]

"""Reference agents of a game: the known strengths that newcomers meet first, declared in data.

A game's folder of agents has a file `references.yml`: a list of `agent`, `class`, in the five classes of Hanakawa, Tominaga
(see `asobiba.arena.wwg`), which belong to three levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import yaml

from asobiba.arena.trust import trusted_packages
from asobiba.core import AsobibaError, Game

LEVELS = {
    "prototype": "weak",
    "minimum": "weak",
    "goal": "middle",
    "high": "strong",
    "champion": "strong",
}
"""Class -> level, from the agents handed out at the start, those that everybody should beat and those to be reached, up
to the best of earlier contests and their champion."""


@dataclass(frozen=True)
class Reference:
    """An agent of known strength: its text, its class, and the level of its class."""

    agent: str
    kind: str
    level: str


def references(game: Game) -> tuple[Reference, ...]:
    """The reference agents of a game, weakest first; empty if it declares none.

    Raises:
        AsobibaError: for a file that names an unknown class.
    """
    found = []
    for package in trusted_packages(game):
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        file = Path(spec.origin).parent / "references.yml"
        if not file.is_file():
            continue
        declared = yaml.safe_load(file.read_text(encoding="utf-8"))
        for entry in declared.get(game.name, []) if isinstance(declared, dict) else declared:
            if entry["class"] not in LEVELS:
                raise AsobibaError(f"{file}: no class {entry['class']!r}; there are: {', '.join(LEVELS)}")
            found.append(Reference(str(entry["agent"]), entry["class"], LEVELS[entry["class"]]))
    return tuple(sorted(found, key=lambda reference: list(LEVELS).index(reference.kind)))

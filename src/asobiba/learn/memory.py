"""Policies with a memory: observations are extended by a summary of the earlier ones.

A memory is no part of the game: the code that plays the policy, in training or in a league, keeps one and passes it
every observation in turn. A policy with a memory has a method `memory(ruleset, count)`, which returns `None` if it
needs none. `asobiba.learn.remembering` trains it. A network of `asobiba.learn.networks` keeps the name of its memory's class in
its file, so that it plays without PyTorch too, if that class needs none.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import numpy as np


class Memory(Protocol):
    """The memories of games that are played side by side; it detects the first observation of a new game itself.

    Attributes:
        size: number of entries that it adds to an observation.

    A class whose attribute `stateless` is true remembers nothing and only completes each observation by what follows from
    it; its policies play games side by side in any order. Its attribute `completed`, where it has one, makes of a game's
    kernel `observe` one that writes the completed observation (float32): so its policies play without Python, too.
    """

    size: int

    def look(self, observations: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Observations `(n, size)` of the games `rows` `(n,)`, by default of all, extended by the memory of each."""


def is_stateless(kind: Any) -> bool:
    """Whether a class of memories only completes each observation by what follows from it."""
    return bool(getattr(kind, "stateless", False))


def memory_class(text: str) -> Any:
    """The class that a configuration names as MODULE:CLASS; it is called with a ruleset and a number of games."""
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)

"""Policies that take the action whose position they value most, by a network that learned from their own games.

They look at the positions after their own actions (the afterstates) and at no reply, as TD-Gammon's network did. A game gives a
*module of values*, which `afterstate_loops` is bound to:

* `position_fields(ruleset)`, `max_moves(ruleset)`, the kernels `load`, `generate` and `play`: those of a search module (see the
  package). `position_fields` may hold room that `count` needs.
* `FILE`: the shipped weights.
* `INPUTS`: the number of inputs, and kernel `count(node, p)`: writes the step of each input of a position, 0 to 15, into
  `node.counts`, for the side to move, `node.side`.

The network is that of `rows`; `temporal_difference.py` makes its weights. Its whole numbers give the same actions on every machine.

Source: Tesauro, Temporal difference learning and TD-Gammon, Communications of the ACM 38, 1995.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import BadZipFile

import numpy as np

from asobiba.baselines.search.rows import NARROW, WIDTH, load_rows
from asobiba.core import Agent, GameParameterError, Ruleset
from asobiba.core.agents import Thinking
from asobiba.core.cache import bind_module
from asobiba.core.record import record_dtype


@cache
def loops_of(values: ModuleType) -> ModuleType:
    """The loops, bound to a module of values."""
    kernels = {name: getattr(values, name) for name in ("count", "generate", "load", "play")}
    label = "afterstates-" + values.__name__.split(".")[-2]
    return bind_module(label, "asobiba.baselines.search.afterstate_loops", kernels)


def new_nodes(values: ModuleType, ruleset: Ruleset) -> np.ndarray:
    """Two positions, with room for their actions and for the network's sums."""
    most = int(values.max_moves(ruleset))
    fields = [
        *values.position_fields(ruleset),
        ("key", np.int64),
        ("side", np.int8),
        ("moves", np.int64, (most,)),
        ("order", np.int64, (most,)),
        ("counts", np.int64, (values.INPUTS,)),
        ("sums", np.int32, (WIDTH,)),
        ("narrow", np.int32, (NARROW,)),
    ]
    return np.zeros(2, record_dtype(fields))


def weights_record(weights: Sequence[Any]) -> np.ndarray:
    """The weights of `rows_of` as a record for the kernels, `(1,)`."""
    names = ("rows", "first", "hidden", "second", "last")
    fields = [(name, np.int32, array.shape) for name, array in zip(names, weights)]
    record = np.zeros(1, record_dtype([*fields, ("bias", np.int64)]))
    for name, array in zip((*names, "bias"), weights, strict=True):
        record[name] = array
    return record


@cache
def read_weights(file: Path, inputs: int) -> np.ndarray:
    """`weights_record` of a file.

    Raises:
        GameParameterError: if it cannot be read, or has other inputs.
    """
    try:
        return weights_record(load_rows(file, inputs))
    except (OSError, KeyError, ValueError, BadZipFile) as error:
        raise GameParameterError(
            f"{file} holds no values of {inputs} inputs ({error}); expected what `asobiba GAME learn-td` writes"
        ) from None


def td_agent(values: ModuleType, path: str) -> AfterstateAgent:
    """The agent with the shipped weights `values.FILE`, or those in the folder `path`."""
    return AfterstateAgent(values, read_weights(Path(path) / values.FILE.name if path else values.FILE, values.INPUTS))


class AfterstateAgent(Agent):
    """Plays the action of the greatest worth.

    Args:
        values: the game's module of values.
        weights: of `weights_record`.
        name: how it is called in tables.
    """

    def __init__(self, values: ModuleType, weights: np.ndarray, name: str = "td"):
        self.name, self._values, self._weights = name, values, weights

    @property
    def same_in_batches(self) -> bool:
        return True

    def prepare(self, ruleset: Ruleset) -> None:
        self._ruleset, self._nodes, self._states = ruleset, new_nodes(self._values, ruleset), ruleset.zeros()

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self.prepare(ruleset)

    def act(self, view: np.void, legal: np.ndarray) -> int:
        self._states[0] = view
        return int(self.act_batch(self._states, legal[None])[0])

    def act_batch(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray:
        actions = np.zeros(len(views), np.int64)
        loops_of(self._values).choose(views, self._ruleset.params, legal, self._nodes, self._weights, actions)
        return actions

    def thinking(self, ruleset: Ruleset) -> Thinking:
        arrays = {"nodes": new_nodes(self._values, ruleset), "weights": self._weights}
        return Thinking(loops_of(self._values).choose, arrays)

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "_values": self._values.__name__, "_weights": self._weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from importlib import import_module

        self.__dict__.update(state, _values=import_module(state["_values"]))

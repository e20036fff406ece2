"""UCT: Monte-Carlo tree search for games of two alternating players, perfect information and no chance.

A game provides what the shared alpha-beta search takes (see the package), without the evaluation: playouts are random games to their
end. The loop is `uct.py.txt`, compiled together with the game's kernels.

Source: Kocsis and Szepesvári, "Bandit based Monte-Carlo planning", ECML 2006.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from types import ModuleType

import numpy as np

from asobiba.baselines.search.alpha_beta import default_search_module
from asobiba.core import Agent, GameParameterError, Ruleset, random_below, seed_record
from asobiba.core.engine import load_generated
from asobiba.core.state import SAMPLER, record_dtype

_PLIES = 512
_NODE = record_dtype(
    [
        ("total", np.float32),
        ("visits", np.int32),
        ("first", np.int32),
        ("move", np.int32),
        ("children", np.int16),
        ("result", np.int8),
    ]
)


@cache
def _module(search_module: ModuleType) -> ModuleType:
    """The search compiled for a game's search module."""
    names = ["load", "generate", "play"]
    imports = "\n".join(f"from {search_module.__name__} import {name}" for name in names)
    template = Template(Path(__file__).with_suffix(".py.txt").read_text(encoding="utf-8"))
    label = "uct-" + search_module.__name__.split(".")[-2]
    kernels = [*(getattr(search_module, name) for name in names), random_below]
    return load_generated(label, kernels, template.substitute(imports=imports))


@dataclass(frozen=True)
class UctResult:
    """What a search found: the move visited most, its mean result (from -1 to 1, for the player to move), the counts."""

    action: int
    value: float
    simulations: int
    nodes: int
    seconds: float
    visits: dict[int, int]


class UctSearcher:
    """Searches positions of one ruleset.

    Args:
        ruleset: the game.
        exploration: the constant of UCB1; results are between -1 and 1.
        tree_size: most nodes of the tree (20 bytes each); when it is full, playouts start at its leaves.
        search_module: what the game provides; see `asobiba.baselines.search`.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        *,
        exploration: float = 1.0,
        tree_size: int = 1 << 18,
        search_module: ModuleType | None = None,
    ):
        if not exploration >= 0:
            raise GameParameterError(f"exploration is at least 0, not {exploration!r}")
        if tree_size < 1024:
            raise GameParameterError(f"tree_size is at least 1024 nodes, not {tree_size!r}")
        provides = search_module or default_search_module(ruleset)
        self.ruleset, self.exploration = ruleset, float(exploration)
        self._compiled = _module(provides)
        most = int(provides.max_moves(ruleset))
        fields = [*provides.position_fields(ruleset), ("key", np.int64), ("side", np.int8)]
        fields += [("moves", np.int32, (most,)), ("order", np.int32, (most,))]
        self._frames = np.zeros(_PLIES, record_dtype(fields))
        self._tree = np.zeros(max(tree_size, most + 1), _NODE)
        self._path = np.zeros(_PLIES, np.int64)
        self._generator = np.zeros(1, SAMPLER)
        self._states = ruleset.zeros()
        self.seed(0)

    def seed(self, seed: int) -> None:
        """Starts the random numbers afresh."""
        seed_record(self._generator[0], np.uint64(seed), np.uint64(0))

    def search(self, state: np.void, simulations: int) -> UctResult:
        """Plays `simulations` games from a state in which the game goes on, in a tree begun anew."""
        if simulations < 1:
            raise GameParameterError(f"simulations is at least 1, not {simulations!r}")
        begun = time.perf_counter()
        self._states[0] = state
        self._compiled.load_root(self._states, self.ruleset.params, self._frames)
        self._tree[0] = np.zeros((), _NODE)
        left = self.ruleset.max_steps - int(state["steps"])
        used = self._compiled.simulate(
            self._frames, self.ruleset.params, self._tree, self._path, self._generator,
            simulations, self.exploration, left, 1,
        )  # fmt: skip
        root = self._tree[0]
        children = self._tree[root["first"] : root["first"] + root["children"]]
        if not len(children):
            raise GameParameterError("the player to move has no move here: the game is over")
        best = children[np.argmax(children["visits"])]
        return UctResult(
            action=int(best["move"]),
            value=float(best["total"]) / max(1, int(best["visits"])),
            simulations=simulations,
            nodes=int(used),
            seconds=time.perf_counter() - begun,
            visits=dict(zip(children["move"].tolist(), children["visits"].tolist())),
        )


class UctAgent(Agent):
    """Plays the move that UCT visits most.

    Args:
        simulations: games of one search.
        settings: arguments of `UctSearcher`.
    """

    def __init__(self, simulations: int = 1000, **settings):
        if simulations < 1:
            raise GameParameterError(f"simulations is at least 1, not {simulations!r}")
        self.name = "uct"
        self.simulations, self.settings = simulations, settings
        self.last: UctResult | None = None
        self._searcher: UctSearcher | None = None

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        if self._searcher is None or self._searcher.ruleset != ruleset:
            self._searcher = UctSearcher(ruleset, **self.settings)
        self._searcher.seed(seed)
        self.last = None

    def act(self, view: np.void, legal: np.ndarray) -> int:
        if self._searcher is None:
            raise RuntimeError("reset(ruleset, seat, seed) comes before act")
        self.last = self._searcher.search(view, self.simulations)
        return self.last.action

    def __getstate__(self):
        return {**self.__dict__, "_searcher": None}

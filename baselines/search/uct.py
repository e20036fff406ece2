"""UCT: Monte-Carlo tree search for games of two players, perfect information and no chance.

A game provides the search module of the shared alpha-beta search (see the package), without the evaluation; its sides
need not alternate. Playouts are random games to their end, unless the game has its own:

* optional kernel `playout(node, p, generator, settings, root_side) -> value`: plays from a node to the end, on the node
  itself, and returns the value, from -1 to 1, for the side to move there.
* optional kernel `prior(node, child, p, move, settings, knowledge) -> (visits, mean)`: the initial statistics of a new
  child.
* with either, `settings_record(ruleset, **settings) -> (1,) record`: the settings of these kernels, checked and with
  defaults.

The loops are `uct_loops`, compiled together with the game's kernels.

Source: Kocsis and Szepesvári, "Bandit based Monte-Carlo planning", ECML 2006; progressive widening: Coulom, "Computing
Elo ratings of move patterns in the game of Go", ICGA Journal 30, 2007; first-play urgency: Gelly and Wang, "Exploration
exploitation in Go", 2006.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from asobiba.baselines.search import uct_placeholder
from asobiba.baselines.search.alpha_beta import search_module_of
from asobiba.core import Agent, GameParameterError, Ruleset, seed_record
from asobiba.core.agents import Thinking
from asobiba.core.cache import bind_module
from asobiba.core.record import SAMPLER, record_dtype

_PLIES = 512
_REUSE_PLIES = 40
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
_SWITCHES = ("expand_after", "root_count", "random_fresh", "cooperative", "playout", "priors", "transpositions")
_OPTIONS = record_dtype(
    [(name, np.float64) for name in ("exploration", "widen", "power", "urgency")]
    + [(name, np.int32) for name in _SWITCHES]
)
_NO_SETTINGS = record_dtype([("none", np.float64)])


@cache
def _module(search_module: ModuleType) -> ModuleType:
    """The search compiled for a game's search module."""
    kernels = {}
    for name in ("load", "generate", "play", "playout", "prior"):
        needed = name in ("load", "generate", "play")
        kernels[name] = getattr(search_module if needed or hasattr(search_module, name) else uct_placeholder, name)
    label = "uct-" + search_module.__name__.split(".")[-2]
    return bind_module(label, "asobiba.baselines.search.uct_loops", kernels)


@dataclass(frozen=True)
class UctResult:
    """Result of a search: the move chosen, its mean result (from -1 to 1, for the player to move), the counts.

    `visits` and `means` are those of every move of the root, priors and reused visits included.
    """

    action: int
    value: float
    simulations: int
    nodes: int
    seconds: float
    visits: dict[int, int]
    means: dict[int, float]


class UctSearcher:
    """Searches positions of one ruleset.

    Args:
        ruleset: the game.
        exploration: the constant of UCB1; results are between -1 and 1.
        tree_size: most nodes of the tree (20 bytes each); when it is full, playouts start at its leaves.
        expand_after: visits of a leaf from which on it is expanded.
        log_count: the node whose visits stand in UCB1's logarithm: the `"parent"`'s, or the `"root"`'s.
        urgency: the value of a child without visits in the choice; `None`: it comes before all others, those without
            visits in random order. Otherwise the first of equals is taken.
        cooperative: both sides choose the best for the root's player (M-UCT as published lacks the change of sign).
        final: the move to play is that of the most `"visits"`, or of the best `"mean"`.
        playout: whether the game's own playout is played in place of a random game.
        knowledge: the data for the game's `prior`, a `(rows, columns)` float32 array; `None`: no priors.
        widening: `(factor, power)`: only the first `ceil(factor * (visits + 1) ** power)` children of a node may be
            chosen, those of the greatest `order` first; `None`: all.
        transpositions: positions reached in several ways share their subtrees.
        reuse: a search begins with the last search's subtree of the position, if it was expanded.
        settings: of the game's `playout` and `prior` (see its `settings_record`).
        search_module: the game's search module or its name; see `asobiba.baselines.search`.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        *,
        exploration: float = 1.0,
        tree_size: int = 1 << 18,
        expand_after: int = 1,
        log_count: str = "parent",
        urgency: float | None = None,
        cooperative: bool = False,
        final: str = "visits",
        playout: bool = False,
        knowledge: np.ndarray | None = None,
        widening: tuple[float, float] | None = None,
        transpositions: bool = False,
        reuse: bool = False,
        settings: Mapping[str, Any] | None = None,
        search_module: ModuleType | str | None = None,
    ):
        if not exploration >= 0:
            raise GameParameterError(f"exploration is at least 0, not {exploration!r}")
        if tree_size < 1024:
            raise GameParameterError(f"tree_size is at least 1024 nodes, not {tree_size!r}")
        if expand_after < 1:
            raise GameParameterError(f"expand_after is at least 1 visit, not {expand_after!r}")
        if log_count not in ("parent", "root"):
            raise GameParameterError(f"log_count is parent or root, not {log_count!r}")
        if final not in ("visits", "mean"):
            raise GameParameterError(f"final is visits or mean, not {final!r}")
        if widening is not None and not (len(widening) == 2 and widening[0] > 0 and 0 < widening[1] <= 1):
            raise GameParameterError(f"widening is (factor above 0, power above 0 and up to 1), not {widening!r}")
        provides = search_module_of(ruleset, search_module)
        for name, wanted in (("playout", playout), ("prior", knowledge is not None)):
            if wanted and not hasattr(provides, name):
                raise GameParameterError(f"{provides.__name__} has no kernel {name!r}")
        self.ruleset, self.final, self.reuse = ruleset, final, reuse
        self._compiled = _module(provides)
        most = int(provides.max_moves(ruleset))
        fields = [*provides.position_fields(ruleset), ("key", np.int64), ("side", np.int8)]
        fields += [("moves", np.int32, (most,)), ("order", np.int32, (most,))]
        self._frames = np.zeros(_PLIES, record_dtype(fields))
        self._tree = np.zeros(max(tree_size, most + 1), _NODE)
        self._used = 1
        self._path, self._index = np.zeros(_PLIES, np.int64), np.zeros(_PLIES, np.int64)
        self._sides = np.zeros(_PLIES, np.int8)
        self._generator = np.zeros(1, SAMPLER)
        self._states = ruleset.zeros()
        self._options = np.zeros(1, _OPTIONS)
        factor, power = widening or (0.0, 0.0)
        values = {
            "exploration": exploration, "widen": factor, "power": power, "urgency": urgency or 0.0,
            "expand_after": expand_after, "root_count": log_count == "root", "random_fresh": urgency is None,
            "cooperative": cooperative, "playout": playout, "priors": knowledge is not None,
            "transpositions": transpositions,
        }  # fmt: skip
        for name, value in values.items():
            self._options[name] = value
        makes_settings = hasattr(provides, "settings_record")
        if settings and not makes_settings:
            raise GameParameterError(f"{provides.__name__} takes no settings, {', '.join(settings)} were given")
        self._settings = (
            provides.settings_record(ruleset, **(settings or {})) if makes_settings else np.zeros(1, _NO_SETTINGS)
        )
        self._knowledge = (
            np.zeros((1, 1), np.float32) if knowledge is None else np.array(knowledge, np.float32, order="C")
        )
        slots = 1 << max(1, len(self._tree).bit_length() - 3) if transpositions else 1
        self._keys, self._nodes = np.zeros(slots, np.int64), np.zeros(slots, np.int32)
        self._other = np.zeros_like(self._tree) if reuse else self._tree
        self._moved = np.zeros(len(self._tree) if reuse else 1, np.int32)
        self._root: np.ndarray | None = None
        self.seed(0)

    def seed(self, seed: int) -> None:
        """Starts the random numbers afresh, and forgets the tree."""
        seed_record(self._generator[0], np.uint64(seed))
        self._root = None

    def _begin(self, state: np.void) -> None:
        """Loads the root, with what is known below it or a blank tree."""
        self._states[0] = state
        kept = -1
        if self.reuse and self._root is not None:
            self._compiled.load_root(self._states, self.ruleset.params, self._frames)
            key = int(self._frames["key"][0])
            self._frames[0] = self._root[0]
            kept = self._compiled.locate(
                self._frames, self.ruleset.params, self._tree, self._path, self._index, self._moved, key, _REUSE_PLIES
            )
        if kept > 0:
            self._used = int(self._compiled.graft(self._tree, self._other, kept, self._moved))
            self._tree, self._other = self._other, self._tree
        else:
            self._tree[0] = np.zeros((), _NODE)
            self._used = 1
        self._nodes[:] = 0
        self._compiled.load_root(self._states, self.ruleset.params, self._frames)
        if self.reuse:
            self._root = self._frames[:1].copy()

    def thinking(self, simulations: int) -> Thinking:
        """A search from a blank tree as one compiled function."""
        arrays = {
            "frames": self._frames,
            "tree": self._tree,
            "path": self._path,
            "sides": self._sides,
            "generator": self._generator,
            "options": self._options,
            "settings": self._settings,
            "knowledge": self._knowledge,
            "keys": self._keys,
            "nodes": self._nodes,
            "plan": np.array([simulations, self.final == "mean"], np.int64),
        }
        return Thinking(self._compiled.think, arrays, "generator")

    def search(self, state: np.void, simulations: int) -> UctResult:
        """Plays `simulations` games from a state in which the game goes on."""
        if simulations < 1:
            raise GameParameterError(f"simulations is at least 1, not {simulations!r}")
        begun = time.perf_counter()
        self._begin(state)
        left = self.ruleset.max_steps - int(state["steps"])
        self._used = self._compiled.simulate(
            frames=self._frames,
            params=self.ruleset.params,
            tree=self._tree,
            path=self._path,
            sides=self._sides,
            generator=self._generator,
            options=self._options,
            settings=self._settings,
            knowledge=self._knowledge,
            keys=self._keys,
            nodes=self._nodes,
            simulations=simulations,
            plies_left=left,
            used=self._used,
        )
        root = self._tree[0]
        children = self._tree[root["first"] : root["first"] + root["children"]]
        if not len(children):
            raise GameParameterError("the player to move has no move here: the game is over")
        visits = children["visits"]
        means = children["total"] / np.maximum(1, visits)
        best = np.argmax(visits if self.final == "visits" else np.where(visits > 0, means, -2.0))
        moves = children["move"].tolist()
        return UctResult(
            action=moves[best],
            value=float(means[best]),
            simulations=simulations,
            nodes=int(self._used),
            seconds=time.perf_counter() - begun,
            visits=dict(zip(moves, visits.tolist())),
            means=dict(zip(moves, means.tolist())),
        )


class UctAgent(Agent):
    """Plays the move that UCT chooses.

    Args:
        simulations: games of one search.
        name: how the agent is called in tables.
        settings: arguments of `UctSearcher`.
    """

    def __init__(self, simulations: int = 1000, name: str = "uct", **settings: Any):
        if not isinstance(simulations, (int, np.integer)) or simulations < 1:
            raise GameParameterError(f"simulations is a whole number, at least 1, not {simulations!r}")
        self.name = name
        self.simulations, self.settings = simulations, settings
        self.last: UctResult | None = None
        self._searcher: UctSearcher | None = None

    def prepare(self, ruleset: Ruleset) -> None:
        if self._searcher is None or self._searcher.ruleset != ruleset:
            self._searcher = UctSearcher(ruleset, **self.settings)

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self.prepare(ruleset)
        assert self._searcher is not None
        self._searcher.seed(seed)
        self.last = None

    def thinking(self, ruleset: Ruleset) -> Thinking | None:
        """The compiled function, unless a search reuses the tree of the last one."""
        if type(self).act is not UctAgent.act or self.settings.get("reuse"):
            return None
        return UctSearcher(ruleset, **self.settings).thinking(self.simulations)

    def act(self, view: np.void, legal: np.ndarray) -> int:
        if self._searcher is None:
            raise RuntimeError("reset(ruleset, seat, seed) comes before act")
        self.last = self._searcher.search(view, self.simulations)
        return self.last.action

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_searcher": None}

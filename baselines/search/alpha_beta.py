"""Alpha-beta search for games of two players, perfect information and no chance.

Iterative deepening, principal variation search, late move reductions, a transposition table, move ordering (table move,
the game's own order, killers, history), quiescence where the game defines it, repetitions, budgets of depth, nodes and time, two
threads that share the table. See the package for what a game provides. The loops are `alpha_beta_loops.py`, compiled together with the game's kernels.

Sources: Knuth and Moore, "An analysis of alpha-beta pruning", Artificial Intelligence 6, 1975; Marsland and Campbell,
"Parallel search of strongly ordered game trees", Computing Surveys 14, 1982 (principal variation search); Schaeffer,
"The history heuristic and alpha-beta search enhancements in practice", IEEE PAMI 11, 1989; Campbell, "The
graph-history interaction: on ignoring position history", ACM 1985; Hyatt and Mann, "A lockless transposition-table
implementation for parallel search", ICGA Journal 25, 2002 (an entry's key is kept with its data exclusively ored).
"""

from __future__ import annotations

import copy
import importlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import ModuleType

import numpy as np

from asobiba.baselines.search import hooks
from asobiba.core import GameParameterError, Ruleset
from asobiba.core.agents import Thinking
from asobiba.core.cache import bind_module
from asobiba.core.record import record_dtype
from asobiba.core.states import legal_actions

WIN = 1_000_000
PROVEN = 900_000
INFINITE = 2_000_000
MAX_DEPTH = 100
_PLIES = 128
_FILTER = 4096
_TABLE_MODES = {"off": 0, "deeper": 1, "equal": 2}

_SETTINGS = (
    "depth", "alpha", "beta", "prune", "pvs", "tt", "age", "ordering", "killers", "history", "quiescence", "threshold",
    "lower", "upper", "fold", "occurrences", "repetition", "distance", "plies_left", "hint",
    "solve", "solve_root", "late", "quiet", "forced",
)  # fmt: skip
_OPTIONS = record_dtype([("node_limit", np.int64), *((name, np.int32) for name in _SETTINGS)])
_RESULTS = record_dtype(
    [(name, np.int64) for name in ("move", "score", "complete", "nodes", "leaves", "cuts", "first_cuts", "hits")]
    + [("deepest", np.int32), ("pv_length", np.int32), ("pv", np.int32, (_PLIES,))]
)


@dataclass
class SearchResult:
    """Result of a search.

    `score` is from the side of the player to move, in the game's units; a forced win in `n` plies scores
    `WIN - n`, a forced loss `-(WIN - n)`. `depth` is the last depth that was finished.
    """

    action: int
    score: int
    depth: int
    pv: list[int]
    nodes: int
    seconds: float
    leaves: int = 0
    cuts: int = 0
    first_cuts: int = 0
    table_hits: int = 0
    deepest: int = 0
    by_depth: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(depth, score, action, nodes so far) of each finished depth."""

    @property
    def proven(self) -> int:
        """1 for a forced win, -1 for a forced loss, else 0."""
        return int(self.score > PROVEN) - int(self.score < -PROVEN)

    @property
    def plies_to_end(self) -> int | None:
        """Plies to the forced end, if one was found."""
        return WIN - abs(self.score) if self.proven else None

    def joined(self, other: SearchResult) -> SearchResult:
        """The deeper one of two searches of a position that shared a table, this one if they are equal, with the work of both."""
        deeper = other if other.depth > self.depth else self
        totals = {name: getattr(self, name) + getattr(other, name) for name in _WORK}
        return replace(deeper, seconds=self.seconds, deepest=max(self.deepest, other.deepest), **totals)


_WORK = ("nodes", "leaves", "cuts", "first_cuts", "table_hits")
_REQUIRED = ("load", "generate", "play", "evaluate")
_OPTIONAL = {
    "generate_tactical": "no_tactical",
    "no_moves": "stuck_loses",
    "solve": "nothing_proven",
    "past_keys": "present_alone",
}
"""Kernels that a search module may omit, and their defaults."""


@cache
def _module(search_module: ModuleType) -> ModuleType:
    """The search compiled for a game's search module."""
    kernels = {name: getattr(search_module, name) for name in _REQUIRED}
    for name, instead in _OPTIONAL.items():
        kernels[name] = getattr(search_module, name, None) or getattr(hooks, instead)
    label = "search-" + search_module.__name__.split(".")[-2:][0]
    return bind_module(label, "asobiba.baselines.search.alpha_beta_loops", kernels)


def default_search_module(ruleset: Ruleset) -> ModuleType:
    """`asobiba.baselines.<game>.search_rules` (of another package: the folder beside its `envs`)."""
    return importlib.import_module(ruleset.game.package.replace(".envs.", ".baselines.") + ".search_rules")


def search_module_of(ruleset: Ruleset, given: ModuleType | str | None) -> ModuleType:
    """The search module that was given, by itself or by name (an agent that keeps a name can be copied), or the game's."""
    return importlib.import_module(given) if isinstance(given, str) else given or default_search_module(ruleset)


def weights_record(search_module: ModuleType, weights: Mapping[str, int] | None = None) -> np.ndarray:
    """The evaluation's weights as a record: the module's defaults, changed by `weights`.

    Raises:
        GameParameterError: for a term that the evaluation does not have.
    """
    known: dict[str, int] = search_module.WEIGHTS
    for name in weights or {}:
        if name not in known:
            raise GameParameterError(f"the evaluation has no term {name!r}; its terms are: {', '.join(known)}")
    record = np.zeros(1, record_dtype([(name, np.int32) for name in known]))
    for name, value in {**known, **(weights or {})}.items():
        record[name][0] = value
    return record


class Searcher:
    """Searches positions of one ruleset; its tables live on from one search to the next.

    Args:
        ruleset: the game.
        depth, nodes, seconds: budgets of one search: plies, visited positions, seconds. At least one is needed, here or
            in `search`; the first exhausted one ends the search. An unfinished depth counts if its first move was.
        weights: changes to the evaluation's default weights.
        table_size: entries of the transposition table (16 bytes each), made a power of two.
        table: `"deeper"` uses scores of at least the wanted depth, `"equal"` of exactly that depth (the values are then
            minimax values of that depth), `"off"` none.
        alpha_beta: `False` is plain minimax: every move of every position.
        pvs, ordering, killers, history: principal variation search and the parts of move ordering.
        quiescence: most plies that tactical moves are followed beyond the depth, where the game defines them.
        lower, upper: forward pruning: a position whose static value, from the side of the player at the root, is not
            between them is not searched further. `None`: no limit.
        distance: whether a faster win and a slower loss are better. `False`: all wins are equal.
        fold_repetition: whether a position that stands for the second time in the search counts as repeated already;
            otherwise the occurrences of the game's rule are counted.
        solve, solve_root: positions that the game's search of threats, where it has one, may visit at a leaf and at the
            root; 0 for none.
        iterative: whether depths 1, 2, ... come before the last one.
        late: from which move of a position on (0 is the first) a move is searched one ply less deep at first, and again in
            full if it is better than thought; 0: none. Only with `pvs`.
        quiet: only moves whose own order is less than this are late ones.
        forced: whether the only move of a position costs no depth.
        threads: 2: a second thread searches the same position one depth ahead, and both share the table, wherever `seconds`
            alone limit a search. Its answers cannot be repeated.
        search_module: the game's search module or its name; see `asobiba.baselines.search`.

    Scores that depend on how a position was reached (a repetition of a position above it, the game's longest length)
    are not stored in the table.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        *,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
        weights: Mapping[str, int] | None = None,
        table_size: int = 1 << 18,
        table: str = "deeper",
        alpha_beta: bool = True,
        pvs: bool = True,
        ordering: bool = True,
        killers: bool = True,
        history: bool = True,
        quiescence: int = 8,
        lower: int | None = None,
        upper: int | None = None,
        distance: bool = True,
        fold_repetition: bool = True,
        solve: int = 60,
        solve_root: int = 2000,
        iterative: bool = True,
        late: int = 0,
        quiet: int = 1,
        forced: bool = False,
        threads: int = 1,
        search_module: ModuleType | str | None = None,
    ):
        if depth is not None or nodes is not None or seconds is not None:
            self.require_budget(depth, nodes, seconds)
        self.require_threads(threads, depth, nodes)
        if table not in _TABLE_MODES:
            raise GameParameterError(f"table is one of {', '.join(_TABLE_MODES)}, not {table!r}")
        for name, value in (("quiescence", quiescence), ("table_size", table_size), ("late", late)):
            if value < 0:
                raise GameParameterError(f"{name} is at least 0, not {value}")
        self.ruleset = ruleset
        self.depth, self.nodes, self.seconds = depth, nodes, seconds
        self.iterative, self.threads = iterative, threads
        self._provides = search_module_of(ruleset, search_module)
        self._compiled = _module(self._provides)
        self._weights = weights_record(self._provides, weights)
        self._options = np.zeros(1, _OPTIONS)
        occurrences, result = self._provides.repetition(ruleset)
        settings = {
            "prune": alpha_beta,
            "pvs": pvs and alpha_beta,
            "tt": _TABLE_MODES[table] if table_size else 0,
            "ordering": ordering,
            "killers": killers,
            "history": history,
            "quiescence": quiescence,
            "threshold": lower is not None or upper is not None,
            "lower": -INFINITE if lower is None else lower,
            "upper": INFINITE if upper is None else upper,
            "fold": fold_repetition,
            "occurrences": occurrences,
            "repetition": result,
            "distance": distance,
            "solve": solve,
            "solve_root": solve_root,
            "late": late,
            "quiet": quiet,
            "forced": forced,
        }
        for name, value in settings.items():
            self._options[name] = value
        most = int(self._provides.max_moves(ruleset))
        self._frames = np.zeros(_PLIES, _frame_dtype(self._provides.position_fields(ruleset), most))
        size = 1 << max(1, (max(table_size, 2) - 1).bit_length()) if table_size and table != "off" else 2
        self._tt_keys, self._tt_data = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self._history = np.zeros((2, ruleset.num_actions), np.int64)
        self._counts = np.zeros(_FILTER, np.int32)
        self._stop = np.zeros(1, np.uint8)
        self._states = ruleset.zeros()

    @staticmethod
    def require_budget(depth: int | None = None, nodes: int | None = None, seconds: float | None = None) -> None:
        """Raises `GameParameterError` unless there is a budget and each is of use."""
        if depth is None and nodes is None and seconds is None:
            raise GameParameterError("a search needs a budget: depth=PLIES, nodes=COUNT or seconds=TIME")
        whole = (int, np.integer)
        if depth is not None and not (isinstance(depth, whole) and 1 <= depth <= MAX_DEPTH):
            raise GameParameterError(f"depth is from 1 to {MAX_DEPTH} plies, not {depth!r}")
        if nodes is not None and not (isinstance(nodes, whole) and nodes >= 1):
            raise GameParameterError(f"nodes is a whole number of positions, at least 1, not {nodes!r}")
        if seconds is not None and not (isinstance(seconds, (float, *whole)) and seconds > 0):
            raise GameParameterError(f"seconds is more than 0, not {seconds!r}")

    @staticmethod
    def require_threads(threads: int, depth: int | None = None, nodes: int | None = None) -> None:
        """Raises `GameParameterError` unless the number of threads is 1, or 2 for searches by time."""
        if threads not in (1, 2):
            raise GameParameterError(f"threads is 1 or 2, not {threads!r}")
        if threads == 2 and (depth is not None or nodes is not None):
            raise GameParameterError(
                "threads=2 goes with seconds=TIME alone: searches limited by depth or nodes can be repeated, those of two "
                "threads cannot"
            )

    @cached_property
    def _helper(self) -> _Helper:
        return _Helper(self)

    def clear(self) -> None:
        """Forgets all of earlier searches: the next one is that of a new searcher."""
        self._tt_data[:] = 0
        for one in (self, self._helper.second) if self.threads == 2 else (self,):
            one._history[:] = 0
            one._frames["killer_0"] = one._frames["killer_1"] = 0

    def set_weights(self, weights: Mapping[str, int]) -> None:
        """Evaluates with the defaults changed by `weights` from now on, and forgets what was stored."""
        self._weights = weights_record(self._provides, weights)
        self.clear()

    def stop(self) -> None:
        """Ends a search that runs in another thread; it returns what it has."""
        self._stop[0] = 1

    def evaluate(self, state: np.void) -> int:
        """The static value of a state for the player to move."""
        self._load(state)
        return int(self._compiled.evaluate_root(self._frames, self.ruleset.params, self._weights))

    def _load(self, state: np.void) -> None:
        self._states[0] = state
        self._compiled.load_root(self._states, self.ruleset.params, self._frames)

    def search(
        self,
        state: np.void,
        *,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
        alpha: int = -INFINITE,
        beta: int = INFINITE,
        on_depth: Callable[[SearchResult], None] | None = None,
        started: threading.Event | None = None,
    ) -> SearchResult:
        """Searches a state in which the game goes on; arguments replace the budgets of the searcher.

        `on_depth` is called after each finished depth; `started` is set as soon as `stop` has an effect. `action` is -1 where the player has no move.

        Raises:
            GameParameterError: without any budget.
        """
        if depth is None and nodes is None and seconds is None:
            depth, nodes, seconds = self.depth, self.nodes, self.seconds
        self.require_budget(depth, nodes, seconds)
        begun = time.perf_counter()
        self._stop[0] = 0
        if started:
            started.set()
        path, length = self._begin(state)
        o = self._options
        o["alpha"], o["beta"] = alpha, beta
        timer = threading.Timer(seconds, self.stop) if seconds is not None else None
        if timer:
            timer.daemon = True
            timer.start()
        last = depth or MAX_DEPTH
        helper = self._helper if self.threads == 2 and depth is None and nodes is None else None
        try:
            if helper:
                helper.begin(state)
            found = self._deepen(path, length, range(1 if self.iterative else last, last + 1), nodes, begun, on_depth)
        finally:
            if timer:
                timer.cancel()
            helped = helper.end() if helper else None
        return found if helped is None else found.joined(helped)

    def _begin(self, state: np.void) -> tuple[np.ndarray, int]:
        """Loads a state; the keys of its game with room for those of the search, and how many there are."""
        self._load(state)
        keys = np.asarray(self._provides.game_keys(self.ruleset, state), np.int64)
        path = np.zeros(len(keys) + _PLIES, np.int64)
        path[: len(keys)] = keys
        o = self._options
        o["age"] = (int(o["age"][0]) + 1) & 0xFF
        o["plies_left"] = self.ruleset.max_steps - int(state["steps"])
        o["hint"] = -1
        self._history //= 8
        return path, len(keys)

    def _deepen(self, path, length, depths, nodes, begun, on_depth) -> SearchResult:
        o, found = self._options, np.zeros(1, _RESULTS)
        best = SearchResult(-1, 0, 0, [], 0, 0.0)
        for depth in depths:
            o["depth"] = depth
            # The first depth is always finished, so that there is a move.
            o["node_limit"] = (1 << 62) if nodes is None or depth == 1 else max(1, nodes - int(found["nodes"][0]))
            self._compiled.search(
                frames=self._frames,
                params=self.ruleset.params,
                weights=self._weights,
                options=o,
                path=path,
                length=length,
                counts=self._counts,
                tt_keys=self._tt_keys,
                tt_data=self._tt_data,
                history=self._history,
                stop=self._stop,
                results=found,
            )
            complete = bool(found["complete"][0])
            if complete or found["move"][0] >= 0:
                best.action, best.score = int(found["move"][0]), int(found["score"][0])
                best.pv = found["pv"][0, : found["pv_length"][0]].tolist()
            if complete:
                best.depth = depth
                best.by_depth.append((depth, best.score, best.action, int(found["nodes"][0])))
                o["hint"] = best.action
            best.nodes, best.leaves = int(found["nodes"][0]), int(found["leaves"][0])
            best.cuts, best.first_cuts = int(found["cuts"][0]), int(found["first_cuts"][0])
            best.table_hits, best.deepest = int(found["hits"][0]), int(found["deepest"][0])
            best.seconds = time.perf_counter() - begun
            if complete and on_depth:
                on_depth(best)
            settled = abs(best.score) > PROVEN and (not o["distance"][0] or WIN - abs(best.score) <= depth)
            exhausted = nodes is not None and best.nodes >= nodes
            if not complete or settled or exhausted or best.action < 0 or self._stop[0]:
                break
        return best

    def thinking(self) -> Thinking:
        """The search, with the searcher's own budget, as one compiled function. `seconds` are not counted there."""
        last = self.depth or MAX_DEPTH
        budget = np.array([1 if self.iterative else last, last, self.nodes or 0], np.int64)
        arrays = {
            "frames": self._frames,
            "weights": self._weights,
            "options": self._options,
            "path": np.zeros(self.ruleset.max_steps + 1 + _PLIES, np.int64),
            "counts": self._counts,
            "tt_keys": self._tt_keys,
            "tt_data": self._tt_data,
            "history": self._history,
            "stop": self._stop,
            "results": np.zeros(1, _RESULTS),
            "budget": budget,
        }
        return Thinking(self._compiled.think, arrays)

    def values(self, state: np.void, depth: int) -> dict[int, int]:
        """The value of every legal action at this depth, each searched with an open window, for the player to move."""
        from asobiba.core.states import is_over, step

        values = {}
        for action in legal_actions(self.ruleset, state):
            after = step(self.ruleset, state, int(action))
            if after["terminated"]:
                values[int(action)] = int(np.sign(after["rewards"][int(state["to_move"])])) * (
                    WIN - int(self._options["distance"][0])
                )
            elif is_over(after):
                values[int(action)] = 0
            else:
                values[int(action)] = -self._one_deeper(after, depth)
        return values

    def _one_deeper(self, after: np.void, depth: int) -> int:
        score = self._search_to(after, depth - 1)
        if abs(score) > PROVEN and self._options["distance"][0]:
            score -= int(np.sign(score))
        return score

    def _search_to(self, state: np.void, depth: int) -> int:
        """The value of a state at one depth, from 0 (quiescence alone), without shallower depths before it."""
        path, length = self._begin(state)
        self._options["alpha"], self._options["beta"] = -INFINITE, INFINITE
        self._stop[0] = 0
        return self._deepen(path, length, (depth,), None, time.perf_counter(), None).score


class _Helper:
    """A second search of a searcher's position, in a thread of its own, which reads and writes the same table.

    It begins at the second depth, so that it is ahead and the first search finds its results. Whichever of the two has settled
    the position ends both.
    """

    _OWN = ("_frames", "_options", "_history", "_counts", "_stop", "_states")

    def __init__(self, searcher: Searcher):
        self.first = searcher
        self.second = copy.copy(searcher)
        for name in self._OWN:
            setattr(self.second, name, getattr(searcher, name).copy())

    def begin(self, state: np.void) -> None:
        first, second = self.first, self.second
        second._stop[0] = 0
        second._weights = first._weights
        path, length = second._begin(state)
        second._options[:] = first._options
        self._found: SearchResult | None = None
        self._thread = threading.Thread(target=self._run, args=(path, length), daemon=True)
        self._thread.start()

    def _run(self, path: np.ndarray, length: int) -> None:
        self._found = self.second._deepen(path, length, range(2, MAX_DEPTH + 1), None, time.perf_counter(), None)
        self.first.stop()

    def end(self) -> SearchResult | None:
        self.second.stop()
        self._thread.join()
        return self._found


def _frame_dtype(position: list[tuple], most: int) -> np.dtype:
    """One ply of the search: the game's position, its moves, and where the loop stands in them."""
    numbers = (
        "count", "index", "depth", "alpha", "beta", "original", "best", "best_move", "taint", "probing", "slot",
        "killer_0", "killer_1", "pv_length",
        "turn",
    )  # fmt: skip
    return record_dtype(
        [
            *position,
            ("key", np.int64),
            ("side", np.int8),
            *((name, np.int32) for name in numbers),
            ("moves", np.int32, (most,)),
            ("order", np.int32, (most,)),
            ("pv", np.int32, (_PLIES,)),
        ]
    )

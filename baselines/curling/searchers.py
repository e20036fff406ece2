"""Ayumu, and the players built on it: gccs, end_plan, through."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from asobiba.baselines.curling import tree
from asobiba.baselines.curling.candidates import ALL_KINDS, MOST, through_shot
from asobiba.baselines.curling.halving import halve
from asobiba.baselines.curling.opening import line_of, shot_of
from asobiba.baselines.curling.plans import kinds_for, plan_of
from asobiba.baselines.curling.player import Clock, CurlingPlayer, end_values, whole
from asobiba.baselines.curling.self_play import own_table
from asobiba.core import Ruleset, compiled
from asobiba.core.random import seed_record
from asobiba.core.record import SAMPLER
from asobiba.core.states import as_seed
from asobiba.envs.curling.win_table import END_SCORES

_PRIOR = np.array(END_SCORES) / sum(END_SCORES)


class _Tree(NamedTuple):
    """A thread's cells, as of `tree.search`, and its generator."""

    keys: np.ndarray
    visits: np.ndarray
    sums: np.ndarray
    sampler: np.ndarray

    @classmethod
    def empty(cls) -> _Tree:
        return cls(
            np.zeros(tree.NODES, np.uint64),
            np.zeros((tree.NODES, tree.CHILDREN), np.int32),
            np.zeros((tree.NODES, tree.CHILDREN), np.float32),
            np.zeros(1, SAMPLER),
        )


class Ayumu(CurlingPlayer):
    """Monte-Carlo tree search with state recognition refined by visits; see `tree`.

    Args:
        clock: the budget.
        threads: that share out the candidates of the root; each has a tree and a generator of its own, so that a game depends
            on their number, but not on which of them is faster.
    """

    name = "ayumu"

    def __init__(self, clock: Clock, threads: int = 1):
        self.clock = clock
        self._trees = [_Tree.empty() for _ in range(whole("threads", threads, 1, 64))]

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        super().reset(ruleset, seat, seed)
        for number, each in enumerate(self._trees):
            seed_record(each.sampler[0], as_seed(seed), np.uint64(number))

    def begin_game(self) -> None:
        self.clock.begin_game(self.ruleset)

    def choose(self, view: np.void) -> tuple[float, float, float]:
        return self.think(view, ALL_KINDS, tree.EVERY_KIND)

    def think(self, view: np.void, kinds: int, inner_kinds: np.ndarray) -> tuple[float, float, float]:
        """The candidate that sequential halving leaves, of these kinds at the root."""
        stones, in_play, shot = view["stones"].copy(), view["in_play"].copy(), int(view["shot"])
        values = end_values(self.ruleset, view, own_table() if self.table is None else self.table)
        mean = float(_PRIOR @ values)
        deviation = float(np.sqrt(_PRIOR @ (values - mean) ** 2))
        values = (values - mean) / max(deviation, 1e-6)
        shots = np.zeros((MOST, 4))
        count = tree.list_candidates(self.ruleset.params, stones, in_play, shot, kinds, shots)
        root_visits, root_sums = np.zeros(MOST), np.zeros(MOST)
        for each in self._trees:
            each.keys[:], each.visits[:], each.sums[:] = 0, 0, 0

        def search(own: _Tree, alive: np.ndarray, n: int) -> None:
            tree.search(
                params=self.ruleset.params,
                stones=stones,
                in_play=in_play,
                shot=shot,
                values=values,
                shots=shots,
                alive=alive,
                root_visits=root_visits,
                root_sums=root_sums,
                keys=own.keys,
                visits=own.visits,
                sums=own.sums,
                inner_kinds=inner_kinds,
                simulations=n,
                sampler=own.sampler,
            )

        def think(alive: np.ndarray, n: int) -> None:
            # A candidate's statistics belong to one thread: nothing has to be locked or added up.
            parts = [
                np.ascontiguousarray(alive[k :: len(self._trees)]) for k in range(min(len(self._trees), len(alive)))
            ]
            lines = [n * len(part) // len(alive) for part in parts]
            list((pool.map if len(parts) > 1 else map)(search, self._trees, parts, lines))

        def means() -> np.ndarray:
            return root_sums[:count] / np.maximum(root_visits[:count], 1.0)

        with ThreadPoolExecutor(len(self._trees)) as pool:
            best = halve(count, self.clock, view, think, means, self.name) if count > 1 else 0
        self.count = count
        self.expected = means() * deviation + mean
        return tuple(shots[best, :3])


class Gccs(Ayumu):
    """Chooses an end plan at the beginning of the end, plays its first stones from the book, then as Ayumu."""

    name = "gccs"

    def begin_game(self) -> None:
        super().begin_game()
        self._plan_end = -1

    def choose(self, view: np.void) -> tuple[float, float, float]:
        if int(view["end"]) != self._plan_end:
            self._plan_end, self.plan = int(view["end"]), plan_of(self.ruleset, view)
        word = line_of(self.ruleset, view, self.plan)
        shot = shot_of(self.ruleset, view, word) if word is not None else None
        if shot is not None:
            return shot.vx, shot.vy, float(shot.spin)
        return super().choose(view)


class EndPlan(Ayumu):
    """Ayumu that thinks, in the first `shots` shots of an end, only about kinds of shots that serve its end plan.

    Args:
        system: 1, the paper's first, or 2, whose plans have an aggressive and a conservative version.
    """

    name = "end_plan"

    def __init__(self, clock: Clock, shots: int, system: int = 2, threads: int = 1):
        super().__init__(clock, threads)
        self.system = whole("system", system, 1, 2)
        self.shots = whole("shots", shots, 0, 16)

    def choose(self, view: np.void) -> tuple[float, float, float]:
        kinds = kinds_for(self.ruleset, view, self.system) if int(view["shot"]) < self.shots else ALL_KINDS
        return self.think(view, kinds, tree.EVERY_KIND)


class Through(Ayumu):
    """Throws its first two stones of an end through the sheet, then plays as Ayumu."""

    name = "through"

    def choose(self, view: np.void) -> tuple[float, float, float]:
        if int(view["shot"]) < 4:
            return _through(self.ruleset.params, view["stones"].copy(), view["in_play"].copy())
        return super().choose(view)


@compiled()
def _through(params, stones, in_play):
    vx, vy = through_shot(params[0], stones, in_play)
    return vx, vy, 1.0

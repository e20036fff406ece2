"""Ayumu, and the players built on it: gccs, end_plan, through."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.curling import tree
from asobiba.baselines.curling.candidates import ALL_KINDS, MOST, through_shot
from asobiba.baselines.curling.halving import halve
from asobiba.baselines.curling.opening import line_of, shot_of
from asobiba.baselines.curling.plans import kinds_for, plan_of
from asobiba.baselines.curling.player import Clock, CurlingPlayer, end_values, whole
from asobiba.baselines.curling.self_play import own_table
from asobiba.core import compiled
from asobiba.envs.curling.win_table import END_SCORES

_PRIOR = np.array(END_SCORES) / sum(END_SCORES)


class Ayumu(CurlingPlayer):
    """Monte-Carlo tree search with state recognition refined by visits; see `tree`.

    Args:
        clock: the budget.
        kinds: bits of the kinds of shots thought about at the root.
    """

    name = "ayumu"

    def __init__(self, clock: Clock, kinds: int = ALL_KINDS):
        self.clock, self.kinds = clock, kinds
        self._keys = np.zeros(tree.NODES, np.uint64)
        self._visits = np.zeros((tree.NODES, tree.CHILDREN), np.int32)
        self._sums = np.zeros((tree.NODES, tree.CHILDREN), np.float32)

    def begin_game(self) -> None:
        self.clock.begin_game(self.ruleset)

    def choose(self, view: np.void) -> tuple[float, float, float]:
        return self.think(view, self.kinds, tree.EVERY_KIND)

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
        self._keys[:], self._visits[:], self._sums[:] = 0, 0, 0

        def think(alive: np.ndarray, n: int) -> None:
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
                keys=self._keys,
                visits=self._visits,
                sums=self._sums,
                inner_kinds=inner_kinds,
                simulations=n,
                sampler=self.sampler,
            )

        def means() -> np.ndarray:
            return root_sums[:count] / np.maximum(root_visits[:count], 1.0)

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

    def __init__(self, clock: Clock, shots: int, system: int = 2):
        super().__init__(clock)
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

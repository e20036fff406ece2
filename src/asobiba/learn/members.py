"""The members of a pool of opponents, and how one of them is drawn (`asobiba.learn.pool`, `asobiba.learn.sparring`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_PRIOR = 4
"""Drawn games that every opponent is thought to have played before."""
_FADING = 0.995
"""A result counts so much less with each later one against the same opponent: the learner changes."""


WAYS = ("latest", "uniform", "prioritised", "anchors", "exploiters")
"""Ways of drawing an opponent. Anchors, and exploiters, are drawn by the prioritised weights among themselves."""


@dataclass
class Member:
    """An opponent, and what the learner scored against it.

    Attributes:
        steps: of the learner, when it was kept: decisions, or rounds of learning by search; 0 for an anchor.
        player: who plays it (a `PolicyAgent`, or the network of a search); `None` for an anchor.
        games, points: faded sums over the games against it.
        name: an anchor's; `exploiter` for an exploiter; "" for an earlier self.
    """

    steps: int
    player: Any
    games: float = 0.0
    points: float = 0.0
    name: str = ""

    @property
    def score(self) -> float:
        """The learner's score against it."""
        return (self.points + _PRIOR / 2) / (self.games + _PRIOR)

    @property
    def label(self) -> str:
        """The name in tables."""
        return f"{self.name} {self.steps}" if self.name == "exploiter" else self.name or str(self.steps)

    def record(self, gain: float) -> None:
        """The learner got this from a game against it."""
        self.games = _FADING * self.games + 1
        self.points = _FADING * self.points + 0.5 + 0.5 * float(np.sign(gain))


class Roster:
    """Members of three kinds: earlier selves, exploiters and anchors.

    Args:
        weights: how often an opponent is drawn in which of `WAYS`, in proportion: a number, or from and to over the
            training (`progress`). Ways not named have 0; those without members are left out.
        keep: so many selves at most; of more, the one goes whose neighbours are nearest in steps (never the first or last).
            Of exploiters, the latest so many.
        power: of the prioritised weights.
        anchors: agents of the game, as text.
    """

    def __init__(self, weights: Mapping[str, Any], keep: int = 20, power: float = 2.0, anchors: Sequence[str] = ()):
        self.keep, self.power = keep, power
        self.weights = np.array([_ends(weights.get(way, 0.0)) for way in WAYS], float)
        self.progress = 0.0
        """The share of the training that is over, 0 to 1."""
        self.members: list[Member] = []
        self.exploiters: list[Member] = []
        self.anchors = [Member(0, None, name=text) for text in anchors]

    @property
    def everybody(self) -> list[Member]:
        """Earlier selves, then exploiters, then anchors."""
        return [*self.members, *self.exploiters, *self.anchors]

    def keep_self(self, player: Any, steps: int) -> None:
        """Adds an earlier self."""
        self.members.append(Member(steps, player))
        while len(self.members) > self.keep:
            gaps = [self.members[k + 1].steps - self.members[k - 1].steps for k in range(1, len(self.members) - 1)]
            del self.members[1 + int(np.argmin(gaps)) if gaps else 0]

    def keep_exploiter(self, player: Any, steps: int) -> None:
        """Adds an exploiter."""
        self.exploiters = [*self.exploiters, Member(steps, player, name="exploiter")][-self.keep :]

    def drawn(self, generator: np.random.Generator) -> Member | None:
        """A member; `None` if none can be drawn."""
        groups = [self.members, self.members, self.members, self.anchors, self.exploiters]
        weights = self.weights[:, 0] + self.progress * (self.weights[:, 1] - self.weights[:, 0])
        weights = weights * [bool(group) for group in groups]
        if not weights.any():
            return None
        way = int(generator.choice(len(WAYS), p=weights / weights.sum()))
        group = groups[way]
        if way == 0:
            return group[-1]
        if way == 1:
            return group[int(generator.integers(len(group)))]
        lost = np.array([(1 - member.score) ** self.power for member in group])
        return group[int(generator.choice(len(lost), p=lost / lost.sum()))]


def _ends(weight: Any) -> tuple[float, float]:
    """A weight at the beginning and at the end of a training."""
    return (weight[0], weight[1]) if isinstance(weight, (list, tuple)) else (weight, weight)

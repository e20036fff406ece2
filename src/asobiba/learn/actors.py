"""Self-play on several machines: Ray actors play, and one learner gets their games.

The games of a round are divided into units of a few games, whatever the number of actors. A game depends on its seed and on
the networks alone, so the learner gets the same bytes from any actors, and from `Sparring` on this machine. A unit whose actor
is lost is played again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from asobiba.arena.cluster import Actors
from asobiba.core.game import Ruleset
from asobiba.core.networks import Network
from asobiba.learn.search import GamesPlayed
from asobiba.learn.sparring import Against, Sparring

UNIT = 16
"""Games that an actor plays at a time; so many are played again if it is lost."""


class Cluster(NamedTuple):
    """Where self-play runs, if not on this machine.

    Attributes:
        actors: how many; `None`: one per CPU of the cluster.
        address: of a running cluster; `None` starts or finds a local one.
    """

    actors: int | None = None
    address: str | None = None


class RaySelfPlay:
    """`Sparring` by Ray actors. Needs the extra `ray`.

    Args:
        ruleset, network: as for `Sparring`.
        games: in one call of `play`.
        cluster: its actors.
        settings: the other arguments of `Sparring`.

    Raises:
        MissingExtra: without Ray.
        asobiba.arena.worker.WorkerError: if there is no such cluster.
    """

    def __init__(self, ruleset: Ruleset, network: Network, games: int, cluster: Cluster, **settings: Any):
        self.games = GamesPlayed.room(ruleset, games, settings["length"])
        given = ruleset, network, min(UNIT, games), {**settings, "threads": 1}
        self._actors = Actors(_Player, given, cluster.actors, cluster.address)
        self.cores = self._actors.count

    def play(self, network: Network, seed: int, against: Against | None = None) -> GamesPlayed:
        """Plays all games; game `i` has the seed `seed + i`. The next call overwrites the arrays."""
        work = _Units(len(self.games.lengths), seed)
        for (first, count, _), played in self._actors.run(work, len(work), shared=(network, against)):
            for name, found in played.items():
                whole = getattr(self.games, name)[first : first + count]
                if whole.ndim == 1:
                    whole[:] = found
                else:
                    whole[:, : found.shape[1]] = found
        return self.games

    def close(self) -> None:
        """Ends the actors."""
        self._actors.close()


class _Units:
    """The games of a round as units: the first game, their number, and the seed of the first."""

    def __init__(self, games: int, seed: int):
        self._units = deque((first, min(UNIT, games - first), seed + first) for first in range(0, games, UNIT))

    def __len__(self) -> int:
        return len(self._units)

    def __bool__(self) -> bool:
        return bool(self._units)

    def take(self) -> Any:
        return self._units.popleft() if self._units else None

    def again(self, units: Iterable[Any]) -> None:
        self._units.extend(units)

    def finished(self, unit: Any) -> None:
        pass

    def played(self, unit: Any, records: Sequence[Any], seconds: float) -> None:
        pass


class _Player:
    """The actor."""

    def __init__(self, ruleset: Ruleset, network: Network, games: int, settings: dict[str, Any]):
        self._self_play = Sparring(ruleset, network, games=games, **settings)

    def play(self, unit: tuple[int, int, int], shared: tuple[Network, Against | None]) -> dict[str, np.ndarray]:
        """The arrays of `GamesPlayed` of a unit, up to the longest of its games."""
        (first, count, seed), (network, against) = unit, shared
        played = self._self_play.play(network, seed, None if against is None else against.part(first, count))
        longest = int(played.lengths[:count].max())
        return {
            name: np.ascontiguousarray(whole[:count] if whole.ndim == 1 else whole[:count, :longest])
            for name, whole in played._asdict().items()
        }

"""A search with a network and the endgame database: the agent `gumbel_az`."""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.baselines.bao import rules_endgame, search_endgame
from asobiba.baselines.bao.agents import EndgamePlay, require_endgame
from asobiba.baselines.bao.endgame import stored_database
from asobiba.core import Ruleset
from asobiba.core.agents import Thinking
from asobiba.learn.search import NetSearch
from asobiba.learn.search_agent import NetAgent


class GuidedAgent(NetAgent):
    """The shared search with a network; the database of all boards of at most `endgame` seeds (0: without) ends its lines, and
    plays where the board itself is one of them.

    Args:
        settings: those of `NetAgent`.
    """

    def __init__(self, endgame: int = 10, **settings: Any):
        require_endgame(endgame)
        super().__init__(**settings)
        self.endgame = endgame
        self._endgame_play: EndgamePlay | None = None

    def prepare(self, ruleset: Ruleset) -> None:
        if self._searcher is None or self._searcher.ruleset != ruleset:
            self._endgame_play = None
            if self._takes_database(ruleset):
                database = stored_database(ruleset.num_actions, self.endgame, ruleset.parameters["endless"])
                self._endgame_play = EndgamePlay(ruleset, database, self.endgame)
        super().prepare(ruleset)

    def _takes_database(self, ruleset: Ruleset) -> bool:
        return self.endgame > 0 and search_endgame.takes_database(ruleset)

    def _search(self, ruleset: Ruleset, simulations: int) -> NetSearch:
        network = self._fitting(ruleset)
        if not self._takes_database(ruleset):
            return NetSearch(ruleset, network, simulations, **self._settings)
        known = search_endgame.with_database(ruleset, self.endgame)
        return NetSearch(known, network, simulations, **self._settings, rules=rules_endgame)

    def thinking(self, ruleset: Ruleset) -> Thinking | None:
        """The compiled function, without the database (`endgame=0`)."""
        return None if self.endgame else super().thinking(ruleset)

    def act(self, view: np.void, legal: np.ndarray) -> int:
        if self._endgame_play is not None and self._endgame_play.holds(view):
            return self._endgame_play.move(view, legal)
        return super().act(view, legal)

    def act_batch(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray | None:
        held = self._held(views)
        searched = super().act_batch(views[~held], legal[~held])
        return None if searched is None else self._joined(views, legal, held, searched)

    def act_rows(
        self, views: np.ndarray, legal: np.ndarray, seats: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, None]:
        held = self._held(views)
        searched = super().act_rows(views[~held], legal[~held], seats[~held], rows[~held])[0]
        return self._joined(views, legal, held, searched), None

    def _held(self, views: np.ndarray) -> np.ndarray:
        """Whose boards the database holds, `(n,)` bool."""
        play = self._endgame_play
        return np.array([play is not None and play.holds(view) for view in views], bool)

    def _joined(self, views: np.ndarray, legal: np.ndarray, held: np.ndarray, searched: np.ndarray) -> np.ndarray:
        """The actions `(n,)`: the database's where it holds the board, else those that were searched."""
        actions = np.zeros(len(views), np.int64)
        actions[~held] = searched
        for k in np.flatnonzero(held):
            assert self._endgame_play is not None
            actions[k] = self._endgame_play.move(views[k], legal[k])
        return actions

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_endgame_play": None}

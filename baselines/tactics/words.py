"""A search of the flat game as an agent of the game in words: a teacher of policies."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.search.uct import UctAgent
from asobiba.core import Agent, Ruleset
from asobiba.envs.tactics.orders import end_of_turn, in_words, order_of, other_game, other_state


class SearchInWords(Agent):
    """A tree search of `tactics` that plays `tactics_steps`: it searches when a unit is to be chosen, and says the action
    of the most visits word by word.

    Where somebody else has chosen the unit or its destination, it goes on with the most visited action of these; so it can
    also teach a policy that plays itself.

    Args:
        player: the search; its tree is not kept from move to move, so that one searcher plays all games.
    """

    KEPT = 1024
    """Searches whose counts are kept, the latest ones; in so many games side by side each is searched once an action."""

    def __init__(self, player: UctAgent):
        self.player, self.name = player, player.name

    def prepare(self, ruleset: Ruleset) -> None:
        self._ruleset, self._flat = ruleset, other_game(ruleset)
        self.player.prepare(self._flat)

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self.player.begin(self._flat, [seat], [seed])
        self._found: dict[bytes, list[int]] = {}

    def act(self, view: np.void, legal: np.ndarray) -> int:
        state = other_state(self._ruleset, view)
        state["steps"] = 0  # it counts words; the turn limit ends games
        chosen = next(action for action in self._ranked(state) if self._agrees(state, action, view))
        return in_words(self._flat, state, chosen)[int(view["phase"])]

    def act_batch(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray:
        return np.array([self.act(view, mask) for view, mask in zip(views, legal, strict=True)], np.int64)

    def _ranked(self, state: np.void) -> list[int]:
        """All actions that the search considers, the most visited first, the better one of equals."""
        key = state.tobytes()
        if key not in self._found:
            while len(self._found) >= self.KEPT:
                del self._found[next(iter(self._found))]
            self.player.act(state, np.zeros(0, np.int8))
            found = self.player.last
            assert found is not None
            self._found[key] = sorted(found.visits, key=lambda action: (-found.visits[action], -found.means[action]))
        return self._found[key]

    def _agrees(self, state: np.void, action: int, view: np.void) -> bool:
        """Whether an action is one of the unit, and of the destination, that is already chosen."""
        if view["phase"] == 0:
            return True
        if action >= end_of_turn(self._flat, state):
            return False
        order = order_of(self._flat, state, action)
        return order.unit == int(view["unit"]) and (view["phase"] == 1 or order.goal == int(view["goal"]))

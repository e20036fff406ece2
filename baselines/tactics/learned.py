"""Policies that were trained in words as agents of the flat game."""

from __future__ import annotations

import numpy as np

from asobiba.core import Agent, Ruleset
from asobiba.core.states import action_mask, step
from asobiba.envs.tactics.orders import completed, other_game, other_state


class InWords(Agent):
    """An agent of `tactics_steps` that plays `tactics`: it chooses each action word by word."""

    def __init__(self, player: Agent):
        self.player, self.name = player, player.name

    def prepare(self, ruleset: Ruleset) -> None:
        self._ruleset, self._words = ruleset, other_game(ruleset)
        self.player.prepare(self._words)

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self.player.begin(self._words, [seat], [seed])

    def act(self, view: np.void, legal: np.ndarray) -> int:
        state = other_state(self._ruleset, view)
        while True:
            word = int(self.player.act(state, action_mask(self._words, state)))
            action = completed(self._words, state, word)
            if action is not None:
                return action
            state = step(self._words, state, word)

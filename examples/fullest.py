"""An agent in Python: it sows from the fullest hole. Any game of Bao is the same to it: it looks at what it may observe."""

import numpy as np

from asobiba.core import Agent
from asobiba.core.states import observation


class Fullest(Agent):
    name = "fullest"

    def reset(self, ruleset, seat, seed):
        self.ruleset, self.seat = ruleset, seat

    def act(self, view, legal):
        seen = self.ruleset.channels(observation(self.ruleset, view, self.seat))
        own_row = seen["board"][0]  # the viewer's row comes first
        return int(np.argmax(np.where(legal, own_row.astype(int), -1)))

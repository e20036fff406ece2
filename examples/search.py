"""An agent that looks ahead: negamax, a few moves deep, over the states of `asobiba.core.states`.

It plays every game of two players without hidden information and chance; what a position is worth before the end is the
captured seeds of Bao.
"""

from asobiba.core import Agent
from asobiba.core.states import is_over, legal_actions, step


class Search(Agent):
    name = "search"

    def __init__(self, depth=3):
        self.depth = depth

    def reset(self, ruleset, seat, seed):
        self.ruleset, self.seat = ruleset, seat

    def act(self, view, legal):
        actions = legal_actions(self.ruleset, view)
        return int(
            max(actions, key=lambda action: self.value(step(self.ruleset, view, action), self.seat, self.depth - 1))
        )

    def value(self, state, seat, depth):
        """The value of `state` to `seat`: a seed is 1, a won game 1000."""
        if is_over(state):
            return 1000 * float(state["rewards"][seat])
        if depth == 0:
            return int(state["stores"][seat]) - int(state["stores"][1 - seat])
        mover = int(state["to_move"])
        values = [
            self.value(step(self.ruleset, state, action), seat, depth - 1)
            for action in legal_actions(self.ruleset, state)
        ]
        return max(values) if mover == seat else min(values)

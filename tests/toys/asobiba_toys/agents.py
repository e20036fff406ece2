"""Agents of the toy games."""

import numpy as np

from asobiba.core import Agent, AgentDeclaration, KernelAgent, kernel, random_below


@kernel
def nim_sum_policy(view, p, legal, memory):
    """Bouton's winning move, else a random one."""
    total = 0
    for h in range(view.heaps.shape[0]):
        total ^= view.heaps[h]
    for h in range(view.heaps.shape[0]):
        rest = total ^ view.heaps[h]
        if rest < view.heaps[h]:
            return h * p.largest + view.heaps[h] - rest - 1
    skip = random_below(memory, 3)
    chosen = -1
    for a in range(legal.shape[0]):
        if legal[a] and (chosen < 0 or skip > 0):
            chosen = a
            skip -= 1
    memory.moves += 1
    return chosen


def bouton():
    """Plays Bouton's strategy."""
    return KernelAgent(nim_sum_policy, [("moves", np.int32)], {"moves": 0})


@kernel
def bold_policy(view, p, legal, memory):
    return 1


class Timid(Agent):
    """Never bets."""

    def reset(self, ruleset, seat, seed):
        pass

    def act(self, view, legal):
        return 0

    def act_batch(self, views, legal):
        return np.zeros(len(views), np.int64)


AGENTS = {
    "toy_nim": (AgentDeclaration("bouton", bouton, "nim sums", "Bouton 1901"),),
    "toy_kuhn": (
        AgentDeclaration("bold", lambda: KernelAgent(bold_policy), "always bets", deterministic=True),
        AgentDeclaration("timid", Timid, "never bets", deterministic=True),
    ),
}

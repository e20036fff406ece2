"""Agents that raise, hang, die, or answer nonsense."""

import os
import time

import numpy as np

from asobiba.core import Agent, AgentDeclaration, KernelAgent, kernel


class Rogue(Agent):
    """Plays the first legal action for `moves` moves, then misbehaves."""

    def __init__(self, moves=1):
        self.moves = moves

    def reset(self, ruleset, seat, seed):
        self.left = self.moves

    def act(self, view, legal):
        if self.left > 0:
            self.left -= 1
            return int(np.flatnonzero(legal)[0])
        return self.misbehave()


class Raises(Rogue):
    def misbehave(self):
        raise RuntimeError("out of ideas")


class Hangs(Rogue):
    def misbehave(self):
        while True:
            pass


class Sleeps(Rogue):
    def misbehave(self):
        time.sleep(0.6)
        return 0


class Dies(Rogue):
    def misbehave(self):
        os._exit(3)


class Babbles(Rogue):
    def misbehave(self):
        return "my best move"


class Cheats(Rogue):
    def misbehave(self):
        return 10_000


class RaisesAtOnce(Rogue):
    def reset(self, ruleset, seat, seed):
        raise ValueError("no book found")


class Slow(Rogue):
    """Legal moves, 30 ms each."""

    def act(self, view, legal):
        time.sleep(0.03)
        return int(np.flatnonzero(legal)[-1])


@kernel
def wild_policy(view, p, legal, memory):
    return 1000


@kernel
def endless_policy(view, p, legal, memory):
    n = 0
    while view.steps >= 2:
        n += 1
        if n < 0:
            break
    for a in range(legal.shape[0]):
        if legal[a]:
            return a
    return n


@kernel
def broken_policy(view, p, legal, memory):
    return view.no_such_field


def declare(name, make):
    return AgentDeclaration(name, make, name, league=False)


AGENTS = (
    declare("raises", Raises),
    declare("hangs", Hangs),
    declare("sleeps", Sleeps),
    declare("dies", Dies),
    declare("babbles", Babbles),
    declare("cheats", Cheats),
    declare("raises_at_once", RaisesAtOnce),
    declare("slow", Slow),
    declare("wild", lambda: KernelAgent(wild_policy)),
    declare("broken", lambda: KernelAgent(broken_policy)),
    declare("endless", lambda: KernelAgent(endless_policy)),
)


def greet(name: str = "you"):
    """A command of another package."""
    print(f"hello {name}")

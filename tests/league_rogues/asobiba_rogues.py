"""Agents that raise, hang, die, or answer nonsense."""

import os
import time

import numpy as np

from asobiba.core import Agent, AgentDeclaration, KernelAgent, kernel

STORE = "/tmp/asobiba-spied-store.sqlite"


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


class Moody(Rogue):
    """Plays the first or the last legal action, as an environment variable tells: an agent that has been changed."""

    def act(self, view, legal):
        return int(np.flatnonzero(legal)[-1 if os.environ.get("MOODY") else 0])


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


class Exits(Rogue):
    def misbehave(self):
        raise SystemExit("enough")


class Interrupts(Rogue):
    def misbehave(self):
        raise KeyboardInterrupt


class _Tensor:
    def __array__(self, *_, **__):
        raise RuntimeError("call detach() first")


class Attached(Rogue):
    def misbehave(self):
        return _Tensor()


class _Bottomless:
    def __array__(self, *_, **__):
        while True:
            pass


class Bottomless(Rogue):
    def misbehave(self):
        return _Bottomless()


class Garbles(Rogue):
    def misbehave(self):
        raise ValueError("half a character \ud800, nothing \0")


class LeavesEarly(Rogue):
    def reset(self, ruleset, seat, seed):
        os._exit(7)


class Twins(Rogue):
    """Comes back twice: as itself, and as a copy of the whole process, which plays on."""

    def misbehave(self):
        os.fork()
        return self.again()

    def again(self):
        return int(np.flatnonzero(self.legal)[0])

    def act(self, view, legal):
        self.legal = legal
        return super().act(view, legal)


class Litters(Rogue):
    """Leaves files in the temporary folder, and ends its process."""

    def misbehave(self):
        import tempfile

        with open(os.path.join(tempfile.mkdtemp(prefix="asobiba-litter-"), "file"), "wb") as file:
            file.write(b"x" * 1_000_000)
        os._exit(5)


class NeverBegins(Rogue):
    def reset(self, ruleset, seat, seed):
        time.sleep(3600)


class Unbuildable(Rogue):
    def __init__(self):
        raise SystemExit("no")


class Unfinished(Rogue):
    def __init__(self):
        while True:
            pass


class Spies(Rogue):
    """Looks around, and tells what it found in the message of its crash."""

    def misbehave(self):
        import ctypes
        import gc
        import json
        import socket
        import subprocess
        from multiprocessing import sharedctypes

        found = {"secret": os.environ.get("LEAGUE_SECRET", ""), "home": os.path.expanduser("~")}
        found["referee"] = any(str(type(o).__module__).startswith("asobiba.arena.") for o in gc.get_objects())
        found["clock"] = any(isinstance(o, ctypes.Array) for o in gc.get_objects()) and bool(sharedctypes)
        try:
            with open(STORE, "rb") as file:
                found["store"] = len(file.read())
        except OSError as error:
            found["store"] = type(error).__name__
        try:
            with open(os.path.join(os.path.dirname(__file__), "mark"), "w") as file:
                file.write("I was here")
            found["written"] = True
        except OSError as error:
            found["written"] = type(error).__name__
        try:
            socket.create_connection(("127.0.0.1", 22), 0.5)
            found["network"] = "open"
        except OSError as error:
            found["network"] = type(error).__name__
        found["processes"] = len([name for name in os.listdir("/proc") if name.isdigit()])
        subprocess.Popen(["sleep", "4242.5"], start_new_session=True)
        raise RuntimeError(json.dumps(found))


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
    declare("moody", Moody),
    declare("slow", Slow),
    declare("exits", Exits),
    declare("interrupts", Interrupts),
    declare("attached", Attached),
    declare("bottomless", Bottomless),
    declare("garbles", Garbles),
    declare("leaves_early", LeavesEarly),
    declare("unbuildable", Unbuildable),
    declare("twins", Twins),
    declare("litters", Litters),
    declare("never_begins", NeverBegins),
    declare("unfinished", Unfinished),
    declare("spies", Spies),
    declare("wild", lambda: KernelAgent(wild_policy)),
    declare("broken", lambda: KernelAgent(broken_policy)),
    declare("endless", lambda: KernelAgent(endless_policy)),
)


def greet(name: str = "you"):
    """A command of another package."""
    print(f"hello {name}")

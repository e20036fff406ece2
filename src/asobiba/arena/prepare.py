"""`asobiba compile`: compiles machine code ahead of time."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from asobiba.core import Game


def compile_games(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[GAME]...", help="Games to compile; all games if none is given.")
    ] = None,
    agents: Annotated[bool, typer.Option(help="Compile their agents too.")] = True,
) -> None:
    """Compiles games and their agents ahead of time, so that the first game starts at once.

    Run it after installing, in a container's recipe, or before a league's workers start. What is compiled already is
    loaded. The code is kept in ASOBIBA_CACHE_DIR, or the user's cache folder; it serves this kind of processor, and these
    versions of Python, NumPy and Numba. An edited rule is compiled anew by itself.
    """
    os.environ.setdefault("ASOBIBA_QUIET", "1")  # this command reports more
    from asobiba.core import game, game_names
    from asobiba.core.folders import cache_folder

    failed = False
    for name in names or game_names():
        found = game(name)
        started = time.perf_counter()
        compile_game(found)
        print(f"{name}: rules {time.perf_counter() - started:.1f} s", flush=True)
        if agents:
            failed |= _compile_agents(found)
    print(f"The code is in {cache_folder()}.")
    if failed:
        raise typer.Exit(1)


def compile_game(game: Game) -> None:
    """Compiles the steps of one game, and of many games on all threads, with the game's defaults."""
    from asobiba.api.batch import Batch
    from asobiba.core.targets import most_threads

    ruleset = game.ruleset()
    for count, threads in [(1, 1), (64, most_threads())]:
        batch = Batch(ruleset, count, threads=threads)
        batch.reset(seed=0)
        batch.step(batch.sample_actions())


def _compile_agents(game: Game) -> bool:
    """Compiles the loops of each compiled agent, as leagues and environments use them; returns whether one failed.

    Agents of packages that are not trusted are left out: building one runs its code.
    """
    import numpy as np

    from asobiba.api.seating import Seating
    from asobiba.arena.trust import make_trusted, trusted
    from asobiba.core import AsobibaError, KernelAgent, agent_declarations

    ruleset, failed = game.ruleset(), False
    for name in filter(lambda name: trusted(game, name), agent_declarations(game)):
        started = time.perf_counter()
        try:
            agent = make_trusted(game, name)
            if not isinstance(agent, KernelAgent):
                continue
            seating = Seating(ruleset, 1, opponent=agent, seat=None if ruleset.num_players == 1 else 0, threads=1)
            seating.reset(seed=0)
            everywhere = np.ones(1, bool)
            for seat in range(ruleset.num_players):
                seating.decide(seat, everywhere)
            seating.step(seating.sample_actions())
        except AsobibaError as error:
            failed = True
            print(f"  {name}: {error}", flush=True)
        else:
            print(f"  {name}: {time.perf_counter() - started:.1f} s", flush=True)
    return failed

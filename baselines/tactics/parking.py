"""The effect of the wrong sign in play: units stand still where the published M-UCT meets the published F-UCT."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from asobiba.core import Ruleset, game, make_agent
from asobiba.core.states import action_mask, is_over, new_state, step, view_of
from asobiba.envs.tactics import draw, orders
from asobiba.envs.tactics.maps import SIDES, shipped_maps

PLAYOUTS = 100
KINDS = {"": "as published", "_corrected": "corrected"}
ROUNDS = 2
"""Times that both meet on each map of the smallest board, with each colour."""


@dataclass
class Watched:
    """A game between M-UCT and F-UCT.

    Attributes:
        ruleset: of the game.
        names: of red and blue.
        winner: 0 red, 1 blue, -1 none.
        turns: for each turn its side, its living units, how many of them neither moved nor attacked, and the position
            after it.
    """

    ruleset: Ruleset
    names: tuple[str, str]
    winner: int
    turns: list[tuple[int, int, int, np.void]]

    def still(self, side: int) -> tuple[int, int]:
        """Units that stood still, and all units, in a side's turns of the second half of the game."""
        half = [turn for turn in self.turns[len(self.turns) // 2 :] if turn[0] == side]
        return sum(turn[2] for turn in half), sum(turn[1] for turn in half)


def watch(map_name: str, red: str, blue: str, number: int) -> Watched:
    """Plays a game between two agents."""
    ruleset, names = game("tactics").ruleset(map=map_name), (red, blue)
    seed = crc32(f"{map_name} | {red} | {blue} | {number}".encode())
    agents = [make_agent(game("tactics"), name) for name in names]
    for seat, agent in enumerate(agents):
        agent.begin(ruleset, [seat], [seed + seat])
    state = new_state(ruleset, seed)
    turns: list[tuple[int, int, int, np.void]] = []
    before, fired = state.copy(), set()
    while not is_over(state):
        side = int(state["to_move"])
        action = agents[side].act(view_of(ruleset, state, side), action_mask(ruleset, state))
        after = step(ruleset, state, action)
        if action < orders.end_of_turn(ruleset, state) and (order := orders.order_of(ruleset, state, action)):
            fired |= {order.unit} if order.target >= 0 else set()
        if is_over(after) or int(after["turns"]) != int(state["turns"]):
            alive = np.flatnonzero(after["hp"][side])
            still = [k for k in alive if after["cell"][side, k] == before["cell"][side, k] and k not in fired]
            turns.append((side, len(alive), len(still), after.copy()))
            before, fired = after.copy(), set()
        state = after
    sign = int(np.sign(state["rewards"][0]))
    return Watched(ruleset, names, (0 if sign > 0 else 1) if sign else -1, turns)


def watch_all(progress: Callable[[int], None] = lambda n: None) -> dict[str, list[Watched]]:
    """The games of both kinds (`KINDS`) on all maps of the smallest board."""
    smallest = min(m.size for m in shipped_maps().values())
    maps = [m.name for m in shipped_maps().values() if m.size == smallest]
    found: dict[str, list[Watched]] = {}
    for kind in KINDS:
        pair = tuple(f"{name}{kind}:simulations={PLAYOUTS}" for name in ("m_uct", "f_uct"))
        found[kind] = []
        for number, name, (red, blue) in itertools.product(range(ROUNDS), maps, (pair, pair[::-1])):
            found[kind].append(watch(name, red, blue, number))
            progress(1)
    return found


def planned() -> int:
    """Number of games that `watch_all` plays."""
    smallest = min(m.size for m in shipped_maps().values())
    return len(KINDS) * ROUNDS * 2 * sum(m.size == smallest for m in shipped_maps().values())


def share_still(games: Iterable[Watched], loser: bool) -> tuple[int, int]:
    """Units that stood still, and all, of the losers (or winners) of the decided games."""
    rows = [g.still(1 - g.winner if loser else g.winner) for g in games if g.winner >= 0]
    return sum(row[0] for row in rows), sum(row[1] for row in rows)


def stillest(games: Iterable[Watched]) -> Watched | None:
    """The decided game in which the loser's units stood still most, in number."""
    decided = [g for g in games if g.winner >= 0]
    return max(decided, key=lambda g: g.still(1 - g.winner)[0], default=None)


def most_parked(played: Watched) -> tuple[int, np.void]:
    """The number of the turn in which most units of the loser, and all that were left, did not stir, and the position
    after it."""
    loser = 1 - played.winner
    parked = [(t[1], n, t[3]) for n, t in enumerate(played.turns) if t[0] == loser and t[1] and t[1] == t[2]]
    if not parked:
        return len(played.turns) - 1, played.turns[-1][3]
    return max(parked, key=lambda found: found[:2])[1:]


def draw_stillest(games: Iterable[Watched], picture: Path) -> list[str]:
    """Draws the stillest loser into a file.

    Returns:
        lines of Markdown that show it; none where no game was decided.
    """
    worst = stillest(games)
    if worst is None:
        return []
    number, state = most_parked(worst)
    picture.write_text(draw.svg(worst.ruleset, state), encoding="utf-8")
    loser = 1 - worst.winner
    names = [name.partition(":")[0] for name in worst.names]
    still, units = worst.still(loser)
    return [
        "",
        f"![A parked army]({picture.name})",
        "",
        f"{SIDES[loser].capitalize()} ({names[loser]}) after its turn {number // 2 + 1}, in which none of its units moved",
        f"or attacked; nor did they {still} of {units} times in the second half of the game, which {SIDES[worst.winner]}",
        f"({names[worst.winner]}) won.",
    ]

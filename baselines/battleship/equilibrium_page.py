"""Who exploits whom in battleship's game of hiding and searching: the measurements, and the page of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from asobiba.baselines.battleship.agents import make_cb, make_mp, make_mp_exact, make_r, make_rnb
from asobiba.baselines.battleship.clearing import Hiding, draw, shots_to_clear
from asobiba.baselines.battleship.equilibrium import (
    EQUILIBRIUM,
    EXPLOITER,
    FAST,
    learn,
    load_hiding,
    prior_of,
    saved,
    searcher,
    stored,
)
from asobiba.core import Agent, Ruleset, game
from asobiba.pages import TextTable

CLASSICAL = ("r", "ed1", "ed2", "pk2x10", "pk4x6", "rsp", "ed1sp")
TRAINED, EQUAL = "exploiter", "equilibrium"
PLACEMENTS = (*CLASSICAL, TRAINED, EQUAL)
SLOW, SLOW_PLACEMENTS = "mp_exact", ("r", TRAINED)
SLACKS = (0.0, 0.2)
_MAKERS: dict[str, Callable[[], Agent]] = {
    "r": make_r,
    "rnb": make_rnb,
    "cb": make_cb,
    "mp": make_mp,
    SLOW: make_mp_exact,
    "belief": searcher,
}
_HELD_OUT = 1 << 40
"""Seeds from here on; training draws below."""


@dataclass(frozen=True)
class Effort:
    """Games of a cell; of a cell of `mp_exact`; of a step of a placement's training, and its steps; fleets tried."""

    games: int = 1000
    slow: int = 100
    step: int = 2000
    steps: int = 10
    fleets: int = 2000


class Kept:
    """What was measured, in a file of JSON lines; a run that was broken off goes on from there."""

    def __init__(self, path: Path | None):
        self.path, self.rows = path, dict[str, Any]()
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    self.rows.update([json.loads(line)])
                except ValueError:
                    continue  # cut off when the run was killed: it is measured again

    def get(self, key: str, measure: Callable[[], Any]) -> Any:
        if key not in self.rows:
            self.rows[key] = measure()
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, self.rows[key]]) + "\n")
        return self.rows[key]


@cache
def _rules() -> Ruleset:
    return game("battleship_attack").ruleset()


def mean_and_half(shots: np.ndarray) -> list[float]:
    """The mean, the half width of its 95 % interval, and the number of games."""
    return [float(shots.mean()), float(1.96 * shots.std(ddof=1) / len(shots) ** 0.5), len(shots)]


def _seed(*names: object) -> int:
    return _HELD_OUT + (crc32(repr(names).encode()) << 20)


class Measuring:
    """The cells of the tables, each measured once."""

    def __init__(self, kept: Kept, effort: Effort, tell: Callable[[str], None]):
        self.kept, self.effort, self.tell = kept, effort, tell

    @property
    def attacks(self) -> list[str]:
        return [name for name in ATTACKS if name != SLOW or self.effort.slow]

    def games(self, name: str, placement: str) -> int:
        """Of a cell: those of `mp_exact` are fewer, and a quarter of that where it is answered by far more shots."""
        return self.effort.games if name != SLOW else self.effort.slow if placement == "r" else self.effort.slow // 4

    def hiding(self, placement: str) -> str | Hiding:
        """A placement by its name: a strategy of the paper, or one that was learned."""
        if placement == EQUAL:
            return load_hiding(_rules(), EQUILIBRIUM)
        return load_hiding(_rules(), EXPLOITER) if placement == TRAINED else placement

    def searcher(self, name: str, placement: str) -> Agent:
        """An attack by its name; `answer` is the best answer to a placement."""
        if name == "ppo":
            from asobiba.baselines.battleship.learned import POLICY
            from asobiba.learn.agent import PolicyAgent, load_policy

            return PolicyAgent(load_policy(POLICY), "ppo")
        if name.startswith(EQUAL):
            return searcher(load_hiding(_rules(), EQUILIBRIUM), max(float(name.partition(" ")[2] or 0), 1e-6))
        if name == "answer":
            hiding = self.hiding(placement)
            return searcher(prior_of(_rules(), hiding) if isinstance(hiding, str) else hiding)
        return _MAKERS[name]()

    def cell(self, name: str, placement: str) -> list[float]:
        """Shots of an attack for the fleets of a placement, on games that no training saw."""
        games = self.games(name, placement)

        def measure() -> list[float]:
            self.tell(f"{name} against {placement}")
            fleets = draw(_rules(), self.hiding(placement), games, _seed("fleets", placement))
            agent = self.searcher(name, placement)
            return mean_and_half(shots_to_clear(_rules(), agent, fleets, _seed(name, placement)))

        return self.kept.get(f"{name} | {placement} | {games}", measure)

    def trained(self, name: str) -> Hiding:
        """A placement trained against an attack that stays as it is."""
        effort = self.effort

        def measure() -> dict:
            agent, rates = self.searcher(name, ""), [FAST] * effort.steps
            self.tell(f"training a placement against {name}")
            return stored(_rules(), learn(_rules(), lambda hiding: [agent], rates, effort.step, 7_000)[-1].after)

        return saved(_rules(), self.kept.get(f"trained | {name} | {effort.step} | {effort.steps}", measure))

    def answered(self, name: str) -> list[float]:
        """Shots of an attack for a placement that was trained against it; of `mp_exact`, against `belief`, which is quick."""

        games = self.games(name, TRAINED)

        def measure() -> list[float]:
            hiding = self.trained("belief" if name == SLOW else name)
            fleets = draw(_rules(), hiding, games, _seed("trained", name))
            return mean_and_half(shots_to_clear(_rules(), self.searcher(name, ""), fleets, _seed(name)))

        return self.kept.get(f"answered | {name} | {games}", measure)

    def worst_fleet(self, name: str) -> list[float]:
        """Shots of an attack for the fleet that it needs most for, as far as was found: fleets of the placement trained against
        it are sifted by more and more games each. The last games choose nothing."""

        def measure() -> list[float]:
            self.tell(f"fleets against {name}")
            agent, seed = self.searcher(name, ""), 9_000
            fleets = draw(_rules(), self.trained(name), self.effort.fleets, seed)
            for games, left in ((1, 5), (4, 40), (20, 250), (150, self.effort.fleets)):
                repeated = np.repeat(fleets, games, axis=0)
                shots = shots_to_clear(_rules(), agent, repeated, (seed + games) << 20).reshape(-1, games).mean(1)
                fleets = fleets[np.argsort(-shots, kind="stable")[: max(1, self.effort.fleets // left)]]
            last = np.repeat(fleets[:1], self.effort.games, axis=0)
            return mean_and_half(shots_to_clear(_rules(), agent, last, _seed("fleet", name)))

        return self.kept.get(f"fleet | {name} | {self.effort.fleets} | {self.effort.games}", measure)


ATTACKS = ("r", "rnb", "cb", "mp", SLOW, "ppo", "belief", EQUAL, "answer")
EXPLOITED = ("mp", "belief", *(f"{EQUAL} {slack:g}" for slack in SLACKS))


def _told(row: list[float], digits: int = 2) -> str:
    return f"{row[0]:.{digits}f} ± {row[1]:.{digits}f}"


_HEAD = """# Battleship: who exploits whom

Hiding and searching is battleship without the race: the hider places a fleet, the searcher shoots until it is sunk and pays a
shot each time (`battleship_attack` with a player for the fleet; board and fleet of the paper, 10 x 10 cells, ships of 5, 4, 3, 3
and 2; a sinking is told with the kind of the ship). Cells are mean shots to clear with 95 % intervals, over fleets and seeds
that no training used. Written by `{command}`.

* *Attacks*: `r`, `rnb`, `cb`, `mp`, `mp_exact` are [the paper's](battleship-readings.md); `ppo` is the trained policy;
  `belief` searches by belief propagation over the placements of uniform fleets; *answer* is `belief` with the placement of the
  column as its prior: exactly that of R and ED, without touching of SP, the frequencies of PK; `equilibrium` has the placement
  `equilibrium` as its prior, and draws its shots from the cells whose chance is at most a share (`slack`) below the best.
* *Placements*: R to ED1SP are the paper's; *exploiter* was trained against `belief`, `mp`, `cb` and `rnb` as
  they are, *equilibrium* against the best answers to it, both by `asobiba battleship hide` ([policies](../../baselines/battleship/policies/README.md)). Trained
  placements weigh the classes of each ship's placements, and the edges that ships share."""


def matrix(measuring: Measuring) -> TextTable:
    """Attacks against placements."""
    rows = []
    for name in measuring.attacks:
        told = (_told(measuring.cell(name, p)) if name != SLOW or p in SLOW_PLACEMENTS else "" for p in PLACEMENTS)
        rows.append((name if name == "answer" else f"`{name}`", *told))
    effort = measuring.effort
    return TextTable(
        ("attack", *PLACEMENTS),
        rows,
        "Shots to clear",
        f"{effort.games:,} games a cell; `{SLOW}`, which counts for two seconds a game, {effort.slow:,} for R and {effort.slow // 4:,} for others."
        if effort.slow
        else f"{effort.games:,} games a cell, without `{SLOW}`.",
        True,
    )


def exploited(measuring: Measuring) -> TextTable:
    """How much more an attack needs where the placement answers it."""
    rows = []
    for name in EXPLOITED:
        row = measuring.cell(name, "r"), measuring.answered(name), measuring.worst_fleet(name)
        rows.append((_shown(name), *map(_told, row)))
    if measuring.effort.slow:
        told = _told(measuring.cell(SLOW, "r")), _told(measuring.answered(SLOW))
        rows.append((f"`{SLOW}`: the placement trained against `belief`", *told, ""))
    return TextTable(
        ("attack", "uniform fleets", "placement trained against it", "worst fleet found"),
        rows,
        "Attacks exploited",
        f"A placement was trained against each attack as it is ({measuring.effort.steps} steps of {measuring.effort.step:,} games); of "
        f"{measuring.effort.fleets:,} of its fleets the worst was sifted out by more and more games. Both are lower bounds: a better "
        "answer may exist.",
        True,
    )


def _shown(name: str) -> str:
    attack, _, slack = name.partition(" ")
    return f"`{attack}:slack={slack}`" if slack else f"`{attack}`"


def bracket(measuring: Measuring) -> str:
    """What the pair guarantees, as far as was found."""
    held = min(
        ((measuring.cell(name, EQUAL), name) for name in measuring.attacks if name != SLOW),
        key=lambda found: found[0][0],
    )
    costs = [
        (max(measuring.answered(n), measuring.worst_fleet(n), key=lambda found: found[0]), n)
        for n in EXPLOITED
        if n.startswith(EQUAL)
    ]
    paid = min(costs, key=lambda found: found[0][0])
    even = min(
        ((measuring.cell(name, "r"), name) for name in measuring.attacks if name != SLOW), key=lambda found: found[0][0]
    )
    gap, half = paid[0][0] - held[0][0], (paid[0][1] ** 2 + held[0][1] ** 2) ** 0.5
    return f"""## The pair

* The placement `equilibrium` costs every attack here at least {_told(held[0])} shots (`{held[1]}`); uniform fleets cost
  {_told(even[0])} (`{even[1]}`).
* The attack {_shown(paid[1])} needs at most {_told(paid[0])} shots for any placement or fleet that was found against it.
* The sum of what both sides may gain by an answer (NashConv, in shots) is {gap:.2f} ± {half:.2f} by the answers found, which is a lower
  bound of it but for the choice of the least and the most by these same games. The pair is an approximate equilibrium in this sense only: `belief` is not the best answer to the placement, only
  the best that is known here, and the fleets were not all tried. On small boards both are known exactly (below)."""


def counted(measuring: Measuring) -> str:
    """`mp_exact` on uniform fleets beside published figures."""
    belief = measuring.cell("belief", "r")
    exact = measuring.cell(SLOW, "r") if measuring.effort.slow else None
    own = f"`mp_exact` needs {_told(exact)} shots ({exact[2]:,} games). " if exact else ""
    return f"""## Counting all fleets, uniform fleets

{own}`belief`, which takes milliseconds a game, needs {_told(belief)} ({belief[2]:,} games).
The program mayflower (github.com/Canon-Regularis/mayflower), which counts exactly as `mp_exact` does, has 44.37 (44.25 to 44.49,
20,000 games) under the same answers, and 51.54 for a parity search. Ours, of the same 400
fleets each (`asobiba battleship shots mp_exact belief mp --games 400`, five minutes): `mp_exact` 44.69 (43.78 to 45.59), `belief`
44.09 (43.25 to 44.92), `mp` 45.30 (44.49 to 46.10)."""


SMALL = ((3, 3, (2,)), (3, 3, (3,)), (3, 3, (3, 2)), (4, 4, (2,)), (4, 4, (3,)), (5, 4, (3,)))


def small_boards(measuring: Measuring) -> TextTable:
    """The exact values on small boards."""
    from asobiba.baselines.battleship.exact_clearing import SmallBoard

    rows = []
    for height, width, fleet in SMALL:
        name = f"{height} x {width}, {' and '.join(map(str, fleet))}"

        def measure(height: int = height, width: int = width, fleet: tuple[int, ...] = fleet) -> list:
            measuring.tell(f"{height} x {width}")
            board = SmallBoard(game("battleship").ruleset(height=height, width=width, fleet=fleet))
            even, found = board.search(np.ones(len(board.fleets))), board.equilibrium()
            worst = float(even.shots.max())
            return [len(board.fleets), even.mean, worst, found.low, found.high, found.searches]

        fleets, mean, worst, low, high, searches = measuring.kept.get(f"small | {name}", measure)
        value = f"{low:.4f}" if high - low < 5e-5 else f"{low:.4f} to {high:.4f}"
        rows.append((name, f"{fleets}", f"{mean:.4f}", f"{worst:.0f}", value, f"{searches}"))
    return TextTable(
        ("board and ships", "fleets", "uniform fleets, best search", "its worst fleet", "equilibrium", "searches"),
        rows,
        "Small boards, exactly",
        "The best search by dynamic programming over all positions, the equilibrium by linear programs over best searches (double oracle) "
        "up to 0.000001 shots. Mayflower has 6.23 for uniform fleets on 5 x 4 cells with a ship of 3. `asobiba battleship hiding` computes "
        "these, and how exploitable agents are.",
        True,
    )


def write_page(output: Path, command: str, measuring: Measuring) -> None:
    """Measures what is missing and writes the page."""
    tables = matrix(measuring), exploited(measuring), small_boards(measuring)
    head = _HEAD.format(command=command)
    parts = [
        head,
        tables[0].markdown(),
        tables[1].markdown(),
        bracket(measuring),
        counted(measuring),
        tables[2].markdown(),
    ]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")

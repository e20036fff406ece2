"""An approximate equilibrium of hiding and searching, learned by playing.

The hider's strategies are those of `Hiding`, alike under the symmetries of the board. Their natural policy gradient is
the regression of the shots to clear on the statistics of the fleets (Kakade 2001; the family is exponential): the classes
of the ships' placements, and the edges between ships. The searcher answers each hiding by `belief`, with the hiding as
its prior. So the hider climbs the concave function "shots of the best answer to me", as far as the answers are best.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from asobiba.baselines.battleship.belief import MAX_WEIGHTS, MEMORY, MOST_EDGES, play
from asobiba.baselines.battleship.clearing import Hiding, draw, edges, shots_to_clear
from asobiba.core import Agent, GameParameterError, KernelAgent, Ruleset
from asobiba.envs.battleship.parameters import parse_placement

_MOST_TOUCH = 2.0
"""More would make drawing by rejection slow."""
POLICIES = Path(__file__).parent / "policies"
EQUILIBRIUM, EXPLOITER = POLICIES / "equilibrium.json", POLICIES / "exploiter.json"
SLOWLY, FAST = 0.12, 0.5
"""Rates, in logarithms of weights per shot: against best answers, which turn with the hiding, and against one attack."""
_RIDGE = 10.0
"""Games added to those in which a placement was seen, with a result as the mean: rare placements move less."""


def searcher(
    hiding: Hiding | None = None, slack: float = 1e-6, placement: str | None = None, name: str = "belief"
) -> KernelAgent:
    """The agent that searches by belief, with a hiding as its prior.

    Args:
        hiding: None for uniform fleets.
        slack: shots are drawn from the cells whose chance to be hit is at most this share below the best.
        placement: how it places its own fleet; None for the hiding.
    """
    settings: dict[str, object] = {"touch": 1.0, "slack": slack, "hides": int(placement is None)}
    if hiding is not None:
        if hiding.weights.size > MAX_WEIGHTS:
            raise GameParameterError(f"a prior of {hiding.weights.size} weights; there is room for {MAX_WEIGHTS}")
        weights = np.zeros(MAX_WEIGHTS)
        weights[: hiding.weights.size] = hiding.weights.ravel()
        settings |= {"weights": weights, "weighted": 1, "expects": 1, "touch": hiding.touch}
    return KernelAgent(play, MEMORY, {**settings, **parse_placement(placement or "r")}, name)


def classes_of(ruleset: Ruleset) -> np.ndarray:
    """`(ships, 2 * cells)` int64: a number for each class of placements alike under the symmetries of the board, the same for
    ships of one size; -1 where the ship does not fit."""
    p = ruleset.params[0]
    height, width, cells, sizes = int(p["height"]), int(p["width"]), int(p["cells"]), p["sizes"].tolist()
    found = np.full((len(sizes), 2 * cells), -1, np.int64)
    numbers: dict[tuple, int] = {}
    for ship, size in enumerate(sizes):
        for place in range(2 * cells):
            down, (row, column) = place >= cells, divmod(place % cells, width)
            long, wide, along, across = (height, width, row, column) if down else (width, height, column, row)
            if along + size > long or (down and size == 1):
                continue
            key = (min(along, long - size - along), min(across, wide - 1 - across))
            kind = () if height == width else (down,)
            found[ship, place] = numbers.setdefault((size, *key, *kind), len(numbers))
    return found


def even(ruleset: Ruleset) -> Hiding:
    """All fleets equally likely."""
    return Hiding((classes_of(ruleset) >= 0).astype(float))


def statistics(ruleset: Ruleset, fleets: np.ndarray) -> np.ndarray:
    """`(n, classes + 1)` float64: ships in each class of placements, and edges between ships."""
    classes = classes_of(ruleset)
    found = np.zeros((len(fleets), classes.max() + 2))
    for ship in range(fleets.shape[1]):
        found[np.arange(len(fleets)), classes[ship, fleets[:, ship]]] += 1
    found[:, -1] = np.minimum(edges(ruleset, fleets), MOST_EDGES)
    return found


def gradient(ruleset: Ruleset, fleets: np.ndarray, shots: np.ndarray) -> np.ndarray:
    """`(classes + 1,)`: the natural gradient of the mean shots, from games with fleets drawn by a `Hiding`."""
    features = statistics(ruleset, fleets)
    features -= features.mean(0)
    matrix = features.T @ features + _RIDGE * np.eye(features.shape[1])
    return np.linalg.solve(matrix, features.T @ (shots - shots.mean()))


def moved(ruleset: Ruleset, hiding: Hiding, step: np.ndarray) -> Hiding:
    """A hiding after a step of the logarithms of its weights; rounded to six digits, so that it is the same everywhere."""
    classes = classes_of(ruleset)
    weights = np.where(classes >= 0, hiding.weights * np.exp(np.where(classes >= 0, step[classes], 0.0)), 0.0)
    weights /= weights.max(1, keepdims=True)
    touch = min(_MOST_TOUCH, hiding.touch * float(np.exp(step[-1])))
    return Hiding(np.array([[float(f"{w:.6g}") for w in row] for row in weights]), float(f"{touch:.6g}"))


@dataclass(frozen=True)
class Step:
    """One step of learning.

    Attributes:
        hiding: before the step.
        shots, half: that it costs the answer to it, with half the 95 % interval.
        after: the hiding after the step.
    """

    hiding: Hiding
    shots: float
    half: float
    after: Hiding


def learn(
    ruleset: Ruleset,
    answer: Callable[[Hiding], Sequence[Agent]],
    rates: Sequence[float],
    games: int,
    seed: int,
    done: Sequence[Step] = (),
    tell: Callable[[Step], None] = lambda step: None,
) -> list[Step]:
    """Lets a hiding climb its mean shots, from fleets that are all equally likely.

    Args:
        ruleset: of battleship_attack.
        answer: the attacks that a hiding meets, in equal shares: always the same, or the best answer that is known.
        rates: of each step, in logarithms of weights per shot.
        games: of each step.
        seed: step k draws its fleets from the seed `seed + k`.
        done: the steps of a run that was broken off.
    """
    steps = list(done)
    for number in range(len(steps), len(rates)):
        hiding = steps[-1].after if steps else even(ruleset)
        fleets = draw(ruleset, hiding, games, seed + number)
        shots, above, attacks = np.zeros(games, np.int64), np.zeros(games), answer(hiding)
        for turn, agent in enumerate(attacks):
            shots[turn :: len(attacks)] = shots_to_clear(
                ruleset, agent, fleets[turn :: len(attacks)], ((seed + number) << 20) + (turn << 16)
            )
            above[turn :: len(attacks)] = shots[turn :: len(attacks)] - shots[turn :: len(attacks)].mean()
        after = moved(ruleset, hiding, rates[number] * gradient(ruleset, fleets, above))
        steps.append(Step(hiding, float(shots.mean()), float(1.96 * shots.std() / len(shots) ** 0.5), after))
        tell(steps[-1])
    return steps


def kept_steps(ruleset: Ruleset, keep: Path) -> list[Step]:
    """The steps of a run that was broken off, from the file that `keeping` writes."""
    rows = map(json.loads, keep.read_text(encoding="utf-8").splitlines() if keep.exists() else ())
    return [
        Step(saved(ruleset, row["hiding"]), row["shots"], row["half"], saved(ruleset, row["after"])) for row in rows
    ]


def keeping(ruleset: Ruleset, keep: Path) -> Callable[[Step], None]:
    """Writes each step into a file."""

    def write(step: Step) -> None:
        hidings = {"hiding": stored(ruleset, step.hiding), "after": stored(ruleset, step.after)}
        with keep.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"shots": step.shots, "half": step.half, **hidings}) + "\n")

    return write


def falling(rate: float, steps: int) -> list[float]:
    """A rate for each step: constant in the first half, then falling to zero."""
    return [rate * min(1.0, 2.0 * (steps - number) / steps) for number in range(steps)]


def mean_of(hidings: list[Hiding]) -> Hiding:
    """The geometric mean of the weights."""
    with np.errstate(divide="ignore"):
        weights = np.exp(np.mean([np.log(h.weights) for h in hidings], 0))
    touch = float(np.exp(np.mean([np.log(max(h.touch, 1e-12)) for h in hidings])))
    return Hiding(np.array([[float(f"{w:.6g}") for w in row] for row in weights]), float(f"{touch:.6g}"))


def stored(ruleset: Ruleset, hiding: Hiding) -> dict:
    """A hiding as JSON-ready values: a weight for each class of placements, by ship size."""
    classes, sizes = classes_of(ruleset), ruleset.params["sizes"][0].tolist()
    weights: dict[str, list[float]] = {}
    for size in sorted(set(sizes)):
        row = sizes.index(size)
        numbers = sorted(set(classes[row][classes[row] >= 0].tolist()))
        weights[str(size)] = [float(hiding.weights[row][classes[row] == number][0]) for number in numbers]
    return {"touch": hiding.touch, "weights": weights}


def saved(ruleset: Ruleset, values: dict) -> Hiding:
    """The hiding that `stored` wrote, for a ruleset with the same board and fleet."""
    classes, sizes = classes_of(ruleset), ruleset.params["sizes"][0].tolist()
    found = np.zeros(classes.shape)
    for row, size in enumerate(sizes):
        numbers = sorted(set(classes[row][classes[row] >= 0].tolist()))
        for number, weight in zip(numbers, values["weights"][str(size)], strict=True):
            found[row][classes[row] == number] = weight
    return Hiding(found, float(values["touch"]))


def load_hiding(ruleset: Ruleset, file: Path) -> Hiding:
    """Reads a hiding from a file."""
    return saved(ruleset, json.loads(file.read_text(encoding="utf-8")))


def prior_of(ruleset: Ruleset, placement: str, count: int = 20_000, seed: int = 5) -> Hiding:
    """What a searcher may know of a placement strategy: how often ships lie where in fleets of it.

    R and ED draw every ship uniformly from what they allow, so that what was seen is all there is to know; of PK the
    frequencies are kept, and not how they depend on each other.
    """
    fleets = draw(ruleset, placement, count, seed)
    weights = np.zeros((fleets.shape[1], 2 * int(ruleset.params["cells"][0])))
    for ship in range(fleets.shape[1]):
        np.add.at(weights[ship], fleets[:, ship], 1)
    packed = placement.startswith("pk")
    return Hiding(weights if packed else (weights > 0).astype(float), 0.0 if placement.endswith("sp") else 1.0)

"""Samples of good and other unit actions: asked of a person, or derived from deep search; and the fuzzy sets of them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from scipy.spatial import cKDTree

from asobiba.baselines.search.fuzzy import FuzzySet
from asobiba.baselines.search.uct import UctSearcher
from asobiba.baselines.tactics import search_rules
from asobiba.baselines.tactics.evolution import drawn_action
from asobiba.baselines.tactics.features import FEATURES, NAMES_OF, action_features
from asobiba.core import GameParameterError, Ruleset, compiled, seed_record
from asobiba.core.record import SAMPLER, record_dtype
from asobiba.core.states import is_over, new_state
from asobiba.envs.tactics import rules
from asobiba.envs.tactics.battle import decode
from asobiba.envs.tactics.orders import end_of_turn, order_of
from asobiba.envs.tactics.units import NAMES

SAMPLES = "samples.csv"
_GOOD_SHARE = 0.5
_WANDERING = 0.6


@dataclass(frozen=True)
class Sample:
    """A judged action: the unit's type, the features of the position after it, and whether it was called good."""

    kind: int
    vector: np.ndarray
    good: bool


@compiled()
def wander(states, params, generator, actions):
    """Plays so many random actions, attacks rather than moves, unless the game ends before."""
    s, p = states[0], params[0]
    for _ in range(actions):
        if s.terminated != 0:
            break
        rules.step(s, p, drawn_action(s, p, generator[0], _WANDERING))


@compiled()
def propose(states, params, generator):
    """A random action, an attack rather than a move."""
    return drawn_action(states[0], params[0], generator[0], _WANDERING)


@compiled()
def features_of(states, params, frames, action, out):
    """Writes the features of an action in a state."""
    p = params[0]
    search_rules.load(states[0], p, frames[0])
    search_rules.play(frames[0], frames[1], p, action)
    side = np.int64(frames[0].side)
    unit, _, target = decode(frames[0], p, side, action)
    action_features(frames[0], frames[1], p, side, unit, target, out)


class Positions:
    """Random positions of a ruleset, and the features of actions in them."""

    def __init__(self, ruleset: Ruleset, seed: int = 0):
        self.ruleset, self.seed = ruleset, seed
        fields = [*search_rules.position_fields(ruleset), ("key", np.int64), ("side", np.int8)]
        self._frames = np.zeros(2, record_dtype(fields))
        self._generator = np.zeros(1, SAMPLER)
        self._states = ruleset.zeros()

    def draw(self, number: int) -> np.void:
        """A position in which the game goes on, after some random play from the start of one of the maps."""
        seed_record(self._generator[0], np.uint64(self.seed), np.uint64(number))
        for again in range(100):
            self._states[0] = new_state(self.ruleset, (self.seed << 32) + 100 * number + again)
            units = int((self._states["hp"][0] > 0).sum())
            depth = int(np.random.Generator(np.random.Philox([self.seed, number, again])).integers(0, 4 * units))
            wander(self._states, self.ruleset.params, self._generator, depth)
            if not is_over(self._states[0]):
                break
        return self._states[0].copy()

    def action(self, state: np.void) -> int:
        """A random action in the position that `draw` has just drawn."""
        self._states[0] = state
        return int(propose(self._states, self.ruleset.params, self._generator))

    def vector(self, state: np.void, action: int) -> np.ndarray:
        """The features of a unit's action: `(22,)` float32."""
        out = np.zeros(FEATURES, np.float32)
        self._states[0] = state
        features_of(self._states, self.ruleset.params, self._frames, action, out)
        return out


def derive(
    ruleset: Ruleset, positions: int, simulations: int, seed: int, progress: Callable[[], None] = lambda: None
) -> Iterator[Sample]:
    """Samples judged by search: an action is good if the search visits it at least half as often as the one it
    visits most.

    Args:
        positions: how many are drawn.
        simulations: playouts of the search in each (the right sign, attack-first playouts, no priors).
    """
    drawn = Positions(ruleset, seed)
    searcher = UctSearcher(
        ruleset, exploration=0.7, expand_after=4, playout=True, transpositions=True, settings={"attack_share": 1.0}
    )
    for number in range(positions):
        state = drawn.draw(number)
        searcher.seed(number)
        visits = searcher.search(state, simulations).visits
        most = max(visits.values())
        for action, count in visits.items():
            if action < end_of_turn(ruleset, state):
                kind = int(state["kind"][int(state["to_move"]), order_of(ruleset, state, action).unit])
                yield Sample(kind, drawn.vector(state, action), count >= _GOOD_SHARE * most)
        progress()


def balanced(samples: list[Sample], most: int, seed: int) -> list[Sample]:
    """At most so many samples of each type and judgement, drawn at random: there are many more bad actions than good."""
    generator = np.random.Generator(np.random.Philox(seed))
    kept = []
    for kind in range(len(NAMES)):
        for good in (True, False):
            group = [sample for sample in samples if sample.kind == kind and sample.good == good]
            chosen = generator.permutation(len(group))[:most]
            kept += [group[k] for k in sorted(chosen.tolist())]
    return kept


def standard_distance(vectors: np.ndarray, neighbours: int = 8) -> float:
    """The median distance to the so-many-th nearest: the standard distance where none is given."""
    if len(vectors) < 2:
        return 0.0
    gaps, _ = cKDTree(vectors).query(vectors, min(neighbours + 1, len(vectors)))
    return float(np.median(gaps[:, -1]))


def write_sets(samples: list[Sample], folder: Path, made: dict, distance: float | None = None) -> None:
    """Writes `<type>.csv`, a fuzzy set for each unit type of which there are samples, and `made.yml`: how they were made."""
    folder.mkdir(parents=True, exist_ok=True)
    counts = {}
    for kind, name in enumerate(NAMES):
        group = [sample for sample in samples if sample.kind == kind]
        if not group:
            continue
        vectors = np.array([sample.vector for sample in group])
        labels = np.array([sample.good for sample in group])
        used = standard_distance(vectors[labels]) if distance is None else distance
        FuzzySet.from_samples(NAMES_OF, vectors, labels, used).save(folder / f"{name}.csv")
        counts[name] = {"samples": len(group), "good": int(labels.sum()), "standard_distance": round(used, 4)}
    record = {**made, "sets": counts}
    (folder / "made.yml").write_text(yaml.safe_dump(record, sort_keys=False, width=120), encoding="utf-8")


def append_sample(folder: Path, sample: Sample) -> None:
    """Adds a person's judgement to the samples of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / SAMPLES
    fresh = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(["type", *NAMES_OF, "good"])
        writer.writerow([NAMES[sample.kind], *(f"{x:g}" for x in sample.vector), int(sample.good)])


def read_samples(folder: Path) -> list[Sample]:
    """The judgements that `append_sample` has kept.

    Raises:
        GameParameterError: naming the line that cannot be read.
    """
    samples = []
    with (folder / SAMPLES).open(encoding="utf-8", newline="") as file:
        for line, row in enumerate(csv.reader(file), 1):
            if line == 1:
                continue
            try:
                vector = np.array([float(x) for x in row[1:-1]], np.float32)
                sample = Sample(NAMES.index(row[0]), vector, bool(int(row[-1])))
            except (ValueError, IndexError):
                raise GameParameterError(f"{folder / SAMPLES}, line {line}: {','.join(row)!r} is no sample") from None
            if len(vector) != FEATURES:
                raise GameParameterError(
                    f"{folder / SAMPLES}, line {line}: {len(vector)} features, expected {FEATURES}"
                )
            samples.append(sample)
    return samples

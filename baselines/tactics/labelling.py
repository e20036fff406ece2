"""Samples of good and other unit actions, judged by a person or by deep search, and their fuzzy sets."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from scipy.spatial import cKDTree
from scipy.stats import spearmanr

from asobiba.baselines.search.fuzzy import FuzzySet
from asobiba.baselines.search.uct import UctSearcher
from asobiba.baselines.tactics import search_rules
from asobiba.baselines.tactics.evolution import drawn_action
from asobiba.baselines.tactics.features import FEATURES, NAMES_OF, action_features
from asobiba.core import GameParameterError, Ruleset, compiled, game, seed_record
from asobiba.core.record import SAMPLER, record_dtype
from asobiba.core.states import is_over, new_state, step
from asobiba.envs.tactics.battle import decode
from asobiba.envs.tactics.orders import end_of_turn, order_of
from asobiba.envs.tactics.units import NAMES

SAMPLES = "samples.csv"
NEIGHBOURS = 10
"""Nearest samples between which F-UCT, corrected, interpolates."""
_DISTANCES = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0)
_GOOD_SHARE, _DECISIVE = 0.5, 4.0
_QUICK, _WANDERING = 60, 0.2


@dataclass(frozen=True)
class Sample:
    """A judged action.

    Attributes:
        kind: the unit's type.
        vector: the features of the position after it.
        good: whether it was called good; `None` where two judgements disagree.
        position: the number of the position that it was judged in.
        visits: of the searches that judged it.
    """

    kind: int
    vector: np.ndarray
    good: bool | None
    position: int = 0
    visits: int = 0


@compiled()
def propose(states, params, generator):
    """A random action, an attack rather than a move."""
    return drawn_action(states[0], params[0], generator[0], 0.6)


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
    """Positions of games of a quick search that plays every fifth action at random; the features of actions in them."""

    def __init__(self, ruleset: Ruleset, seed: int = 0):
        self.ruleset, self.seed = ruleset, seed
        fields = [*search_rules.position_fields(ruleset), ("key", np.int64), ("side", np.int8)]
        self._frames = np.zeros(2, record_dtype(fields))
        self._generator = np.zeros(1, SAMPLER)
        self._states = ruleset.zeros()
        self._player = searcher_of(ruleset)

    def draw(self, number: int) -> np.void:
        """A position in which the game goes on, some actions after the start of one of the maps."""
        seed_record(self._generator[0], np.uint64(self.seed), np.uint64(number))
        for again in range(100):
            state = new_state(self.ruleset, (self.seed << 32) + 100 * number + again)
            self._player.seed(100 * number + again)
            numbers = np.random.Generator(np.random.Philox([self.seed, number, again]))
            for _ in range(int(numbers.integers(0, 4 * int((state["hp"] > 0).sum())))):
                if is_over(state):
                    break
                wanders = numbers.random() < _WANDERING
                action = self.action(state) if wanders else self._player.search(state, _QUICK).action
                state = step(self.ruleset, state, action)
            if not is_over(state):
                break
        return state

    def action(self, state: np.void) -> int:
        """A random action in a position, an attack rather than a move."""
        self._states[0] = state
        return int(propose(self._states, self.ruleset.params, self._generator))

    def vector(self, state: np.void, action: int) -> np.ndarray:
        """The features of a unit's action: `(22,)` float32."""
        out = np.zeros(FEATURES, np.float32)
        self._states[0] = state
        features_of(self._states, self.ruleset.params, self._frames, action, out)
        return out


def searcher_of(ruleset: Ruleset) -> UctSearcher:
    """The search that judges actions: the right sign, attack-first playouts, no priors."""
    return UctSearcher(
        ruleset, exploration=0.7, expand_after=4, playout=True, transpositions=True, settings={"attack_share": 1.0}
    )


def derive(
    ruleset: Ruleset, positions: int, simulations: int, seed: int, progress: Callable[[], None] = lambda: None
) -> Iterator[Sample]:
    """Samples judged by search, which searches each position twice.

    An action is good if both searches visit it at least half as often as the action that they visit most, and not good
    if neither does; where they disagree it is `None`. Positions in which the most visited action of one of the
    searches has less than four times the mean visits (games that are decided, say) tell nothing and are left out.

    Args:
        positions: number drawn.
        simulations: playouts of each search.
    """
    drawn, searcher = Positions(ruleset, seed), searcher_of(ruleset)
    for number in range(positions):
        state = drawn.draw(number)
        found = []
        for again in range(2):
            searcher.seed(2 * number + again)
            found.append(searcher.search(state, simulations).visits)
        progress()
        most = [max(visits.values()) for visits in found]
        if any(m < _DECISIVE * sum(visits.values()) / len(visits) for m, visits in zip(most, found)):
            continue
        for action in found[0]:
            if action < end_of_turn(ruleset, state):
                kind = int(state["kind"][int(state["to_move"]), order_of(ruleset, state, action).unit])
                votes = [visits[action] >= _GOOD_SHARE * m for m, visits in zip(most, found)]
                good = votes[0] if votes[0] == votes[1] else None
                visits = found[0][action] + found[1][action]
                yield Sample(kind, drawn.vector(state, action), good, number, visits)


def derive_everywhere(
    boards: Mapping[int, int], simulations: int, seed: int, progress: Callable[[], None] = lambda: None
) -> list[Sample]:
    """`derive` on the shipped maps of several boards: `boards` says how many positions are drawn on each."""
    samples: list[Sample] = []
    for size, positions in boards.items():
        before = 1 + max((sample.position for sample in samples), default=-1)
        ruleset = game("tactics").ruleset(map="all", size=size)
        for sample in derive(ruleset, positions, simulations, seed, progress):
            samples.append(dataclasses.replace(sample, position=before + sample.position))
    return samples


@dataclass(frozen=True)
class Order:
    """Ranking of actions by fuzzy sets on unseen positions, compared with deep search.

    Attributes:
        positions: their number.
        correlation: Spearman's rank correlation of memberships and visits, the mean of the positions.
        area: how often a good action has the greater membership than another one (area under the ROC curve).
        top: how often the action of the greatest membership is good.
        chance: the share of good actions.
    """

    positions: int
    correlation: float
    area: float
    top: float
    chance: float


def order_by(memberships: np.ndarray, samples: list[Sample]) -> Order:
    """Agreement of memberships with the order of the samples of the same position."""
    of = np.array([sample.position for sample in samples])
    rows = []
    for number in np.unique(of):
        among = np.flatnonzero(of == number)
        member = memberships[among]
        visits = np.array([samples[k].visits for k in among])
        good = np.array([samples[k].good is True for k in among])
        bad = np.array([samples[k].good is False for k in among])
        if not good.any() or not bad.any():
            continue
        flat = member.min() == member.max() or visits.min() == visits.max()
        correlation = 0.0 if flat else float(spearmanr(member, visits).statistic)
        gaps = np.sign(member[good][:, None] - member[bad][None, :])
        rows.append((correlation, (1 + gaps.mean()) / 2, good[member == member.max()].mean(), good.mean()))
    means = np.mean(rows, axis=0) if rows else np.zeros(4)
    return Order(len(rows), *(round(float(x), 3) for x in means))


def memberships_of(sets: Sequence[FuzzySet | None], samples: list[Sample], neighbours: int) -> np.ndarray:
    """The memberships of samples in the sets of their types; 0.5 where there is none."""
    found = np.full(len(samples), 0.5)
    for row, sample in enumerate(samples):
        fuzzy = sets[sample.kind]
        if fuzzy is not None:
            found[row] = fuzzy.membership(sample.vector, neighbours)
    return found


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


def make_sets(samples: list[Sample], distance: float | None = None) -> tuple[list[FuzzySet | None], dict]:
    """A fuzzy set for each unit type of which there are samples, and what each was made of; without a `distance` each has
    its own `standard_distance`."""
    sets: list[FuzzySet | None] = []
    made = {}
    for kind, name in enumerate(NAMES):
        group = [sample for sample in samples if sample.kind == kind]
        if not group:
            sets.append(None)
            continue
        vectors = np.array([sample.vector for sample in group])
        labels = np.array([bool(sample.good) for sample in group])
        used = standard_distance(vectors[labels]) if distance is None else distance
        sets.append(FuzzySet.from_samples(NAMES_OF, vectors, labels, used))
        made[name] = {"samples": len(group), "good": int(labels.sum()), "standard_distance": round(used, 4)}
    return sets, made


def write_sets(samples: list[Sample], folder: Path, made: dict, distance: float | None = None) -> list[FuzzySet | None]:
    """Makes the sets and writes them: `<type>.csv` for each, and `made.yml`, how they were made."""
    sets, counts = make_sets(samples, distance)
    folder.mkdir(parents=True, exist_ok=True)
    for name, fuzzy in zip(NAMES, sets, strict=True):
        if fuzzy is not None:
            fuzzy.save(folder / f"{name}.csv")
    record = {**made, "sets": counts}
    (folder / "made.yml").write_text(yaml.safe_dump(record, sort_keys=False, width=120), encoding="utf-8")
    return sets


def best_distance(samples: list[Sample], most: int, seed: int) -> float:
    """The standard distance whose sets, made of two thirds of the positions, order the actions of the others best."""
    learned = [sample for sample in samples if sample.position % 3]
    asked = [sample for sample in samples if sample.position % 3 == 0]
    areas = {}
    for distance in _DISTANCES:
        sets, _ = make_sets(balanced(learned, most, seed), distance)
        areas[distance] = order_by(memberships_of(sets, asked, NEIGHBOURS), asked).area
    return max(areas, key=lambda distance: areas[distance])


def write_derived(
    samples: list[Sample], fresh: list[Sample], folder: Path, command: str, most: int, distance: float | None, seed: int
) -> Order:
    """Writes the fuzzy sets of derived samples; returns how they order the actions of fresh positions."""
    used = best_distance(samples, most, seed) if distance is None else distance
    kept = balanced(samples, most, seed)
    sets, _ = make_sets(kept, used)
    orders = {k: order_by(memberships_of(sets, fresh, k), fresh) for k in (1, NEIGHBOURS)}
    made = {
        "by": "deep search: good is what two searches by UCT (right sign, attack-first playouts, no priors) both visit at "
        "least half as often as the action that they visit most, not good what neither does; positions in which that "
        "action has less than four times the mean visits are left out",
        "command": command,
        "judged": len(samples),
        "positions": len({sample.position for sample in samples}),
        "fresh_positions": {f"{k} nearest": dataclasses.asdict(order) for k, order in orders.items()},
    }
    write_sets(kept, folder, made, used)
    return orders[NEIGHBOURS]


def append_sample(folder: Path, sample: Sample) -> None:
    """Adds a person's judgement to the samples of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / SAMPLES
    fresh = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(["type", *NAMES_OF, "good"])
        writer.writerow([NAMES[sample.kind], *(f"{x:g}" for x in sample.vector), int(bool(sample.good))])


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
                sample = Sample(NAMES.index(row[0]), vector, bool(("0", "1").index(row[-1])))
                if not np.isfinite(vector).all():
                    raise ValueError
            except (ValueError, IndexError):
                raise GameParameterError(
                    f"{folder / SAMPLES}, line {line}: {','.join(row)!r} is not a sample"
                ) from None
            if len(vector) != FEATURES:
                raise GameParameterError(
                    f"{folder / SAMPLES}, line {line}: {len(vector)} features, expected {FEATURES}"
                )
            samples.append(sample)
    return samples

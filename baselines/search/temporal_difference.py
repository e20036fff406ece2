"""Learns the values of `afterstates` from games of the policy against itself: TD(lambda) in rounds.

A round plays games with the present weights. The target of each position is the lambda-return for its side to move: the mean
of the values of the positions that followed, and of the result, with weights that fall by lambda a position. The network
is then moved towards the targets of the latest rounds, and the next round plays with what it has become.

Games begin with some random actions. In play the worth of each action gets Gumbel noise, which draws actions by a softmax, and
now and then an action is drawn from all.

Source: Sutton, Learning to predict by the methods of temporal differences, Machine Learning 3, 1988.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from asobiba.arena.evaluation import evaluate
from asobiba.baselines.search.afterstate_loops import SCALE
from asobiba.baselines.search.afterstates import AfterstateAgent, loops_of, new_nodes, weights_record
from asobiba.baselines.search.rows import rows_of
from asobiba.core import Game, GameParameterError, MissingExtra, Ruleset, make_agent, seed_record
from asobiba.core.record import SAMPLER, record_dtype
from asobiba.core.states import new_state

CHUNK = 50
"""Games that are played one after another with one set of maps."""
_MOST_ACTIONS = 200
"""Mean number of actions of a game for which there is room."""
_POSITION = [("score", np.int64), ("side", np.int8), ("game", np.int32)]
_MOOD = record_dtype([("temperature", np.float64), ("random", np.float64)])
_BATCH = 1024
_LEAST_RATE = 0.05
"""The learning rate at the end, of the first."""


@dataclass(frozen=True)
class Settings:
    """Settings of self-play and learning.

    Attributes:
        rounds, games: the number of rounds, and of games in each.
        openings: games begin with 0 to so many random actions.
        temperature: of the softmax over scores; 200 points are the logit 1 of a win (`evaluation.SCALE`).
        random: how often an action is drawn from all.
        decay: lambda.
        window: so many rounds are learned from.
        passes: positions learned from after a round, for each one that the round gave.
        rate: the first learning rate of Adam; it falls linearly.
        seed: of games and learning.
        every: rounds between evaluations.
    """

    rounds: int = 100
    games: int = 2000
    openings: int = 12
    temperature: float = 8.0
    random: float = 0.02
    decay: float = 0.8
    window: int = 4
    passes: float = 2.0
    rate: float = 2e-3
    seed: int = 0
    every: int = 10

    def __post_init__(self) -> None:
        for name, low, high in (
            ("rounds", 1, None), ("games", 1, None), ("openings", 0, 100), ("temperature", 0, None), ("random", 0, 1),
            ("decay", 0, 1), ("window", 1, None), ("passes", 0, None), ("rate", 0, 1), ("seed", 0, None), ("every", 1, None),
        ):  # fmt: skip
            given = getattr(self, name)
            if given < low or (high is not None and given > high):
                limits = f"from {low}" if high is None else f"from {low} to {high}"
                raise GameParameterError(f"{name} is {limits}, not {given!r}")


@dataclass(frozen=True)
class Opponent:
    """An opponent of the evaluations while the policy learns.

    Attributes:
        name: of its column in `learning.csv`.
        agent: as text.
        parameters: of the game.
        plies: random ones, before the first move.
    """

    name: str
    agent: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    plies: int = 0


@dataclass(frozen=True)
class Course:
    """A game's part in learning.

    Attributes:
        values: the name of its module of values (see `afterstates`).
        ruleset: what the games of a chunk are played with, by the game and the chunk's number.
        opponents: of the evaluations.
    """

    values: str
    ruleset: Callable[[Game, int], Ruleset]
    opponents: tuple[Opponent, ...]

    @property
    def module(self) -> ModuleType:
        """The module of values."""
        return import_module(self.values)


def lambda_returns(chances: np.ndarray, games: np.ndarray, results: np.ndarray, decay: float) -> np.ndarray:
    """Targets for all positions of games, one game after another.

    Args:
        chances: the first side's chance of winning in each position, `(n,)`.
        games: the game of each, `(n,)`; `results`: the first side's result by game.
        decay: lambda: 0 is the chance of the next position, 1 the result.

    Returns:
        `(n,)`, for the first side.
    """
    found = np.zeros(len(chances))
    for k in range(len(chances) - 1, -1, -1):
        last = k + 1 == len(chances) or games[k + 1] != games[k]
        found[k] = results[games[k]] if last else (1 - decay) * chances[k + 1] + decay * found[k + 1]
    return found


def play_chunk(
    game: Game, course: Course, weights: np.ndarray, settings: Settings, number: int
) -> tuple[np.ndarray, np.ndarray]:
    """The inputs of the positions of a chunk's games, uint8, and their targets for the side to move, float32.

    They depend on the weights, the settings and the number alone.
    """
    numbers = np.random.Generator(np.random.Philox(key=[settings.seed, number]))
    ruleset, values = course.ruleset(game, number), course.module
    states = np.array([new_state(ruleset, int(numbers.integers(1 << 62))) for _ in range(CHUNK)])
    plies = numbers.integers(0, settings.openings + 1, CHUNK)
    generator = np.zeros(1, SAMPLER)
    seed_record(generator[0], np.uint64(numbers.integers(1 << 62)), np.uint64(number))
    mood = np.array([(settings.temperature, settings.random)], _MOOD)
    fields = record_dtype([*_POSITION, ("inputs", np.uint8, (values.INPUTS,))])
    positions, results = np.zeros(CHUNK * _MOST_ACTIONS, fields), np.zeros(CHUNK)
    nodes = new_nodes(values, ruleset)
    self_play = loops_of(values).self_play
    count, _ = self_play(states, ruleset.params, nodes, weights, generator, plies, mood, positions, results)
    positions = positions[:count]
    chances = 1 / (1 + np.exp(-positions["score"] / SCALE))
    first = positions["side"] == 0
    targets = lambda_returns(np.where(first, chances, 1 - chances), positions["game"], results, settings.decay)
    return positions["inputs"], np.where(first, targets, 1 - targets).astype(np.float32)


class Learner:
    """The network, and the positions of the latest rounds.

    Args:
        settings: of the learning.
        inputs: of the network.

    Raises:
        MissingExtra: without PyTorch.
    """

    def __init__(self, settings: Settings, inputs: int):
        try:
            import torch

            from asobiba.baselines.search.rows_network import RowsNetwork
        except ImportError:
            raise MissingExtra("torch", "sb3") from None
        torch.manual_seed(settings.seed)
        self._settings, self._inputs = settings, inputs
        self.network = RowsNetwork(inputs)
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=settings.rate)
        self._latest: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=settings.window)

    def weights(self) -> np.ndarray:
        """The present weights for the kernels."""
        return weights_record(rows_of(self.network.whole(), self._inputs))

    def learn(self, round: int, inputs: np.ndarray, targets: np.ndarray) -> float:
        """Learns from the positions of a round and of the ones before; the mean cross entropy."""
        import torch

        self._latest.append((inputs, targets))
        given = torch.from_numpy(np.concatenate([part[0] for part in self._latest]))
        wanted = torch.from_numpy(np.concatenate([part[1] for part in self._latest]))
        for group in self._optimizer.param_groups:
            group["lr"] = self._settings.rate * max(_LEAST_RATE, 1 - (round - 1) / self._settings.rounds)
        order = torch.randperm(len(given))[: int(self._settings.passes * len(inputs))]
        total = 0.0
        for batch in order.split(_BATCH):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(self.network(given[batch]), wanted[batch])
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
            total += float(loss.detach()) * len(batch)
        return total / max(len(order), 1)


def _played(
    pool: Executor, game: Game, course: Course, weights: np.ndarray, settings: Settings, round: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    chunks = -(-settings.games // CHUNK)
    numbers = range((round - 1) * chunks, round * chunks)
    return pool.map(play_chunk, *zip(*((game, course, weights, settings, number) for number in numbers)))


def _scores(game: Game, course: Course, weights: np.ndarray, games: int) -> dict[str, float]:
    player, found = AfterstateAgent(course.module, weights), {}
    for one in course.opponents:
        ruleset, opponent = game.ruleset(**one.parameters), make_agent(game, one.agent)
        met = evaluate(ruleset, ("td", player), (one.agent, opponent), games, seed=1, plies=one.plies)
        found[one.name] = _rounded(met.score)
    return found


def _rounded(figure: float) -> float:
    return float(f"{figure:.4f}")


def train(
    game: Game,
    course: Course,
    settings: Settings,
    folder: Path,
    *,
    workers: int = 1,
    evaluated: int = 200,
    command: str = "",
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Learns, and writes `evaluation.npz`, `learning.csv` and `run.json` into a folder, after every evaluation anew; returns the
    last.

    What is learned does not depend on `workers`, the number of processes that play.

    Args:
        evaluated: games against each opponent after every `settings.every` rounds and the last.
    """
    begun = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    learner, lines, total = Learner(settings, course.module.INPUTS), [], 0
    record: dict[str, Any] = {"game": game.id, "command": command, "settings": asdict(settings)}
    with ProcessPoolExecutor(workers) as pool:
        for round in range(1, settings.rounds + 1):
            parts = list(_played(pool, game, course, learner.weights(), settings, round))
            inputs, targets = (np.concatenate([part[k] for part in parts]) for k in range(2))
            total += len(inputs)
            loss = learner.learn(round, inputs, targets)
            lines.append({"round": round, "positions": total, "loss": _rounded(loss)})
            if round % settings.every == 0 or round == settings.rounds:
                lines[-1].update(_scores(game, course, learner.weights(), evaluated))
                hours = _rounded(workers * (time.monotonic() - begun) / 3600)
                record.update(positions=total, core_hours=hours, last=lines[-1])
                _write(folder, learner, lines, record, course)
            report(f"loss {loss:.4f}")
    return record


def _write(folder: Path, learner: Learner, lines: list[dict[str, Any]], record: dict[str, Any], course: Course) -> None:
    np.savez(folder / "evaluation.npz", **learner.network.whole())  # type: ignore[arg-type]
    names = ("round", "positions", "loss", *(one.name for one in course.opponents))
    text = [",".join(names), *(",".join(str(line.get(name, "")) for name in names) for line in lines)]
    (folder / "learning.csv").write_text("\n".join(text) + "\n", encoding="utf-8")
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def learn(game: Game, course: Course, settings: Settings, folder: Path, *, workers: int, evaluated: int) -> None:
    """`train` as a command: with a progress bar, and a line at the end."""
    from asobiba.progress import progress_bar

    words = " ".join(
        f"--{name} {getattr(settings, name)}" for name in ("rounds", "games", "temperature", "random", "decay", "seed")
    )
    with progress_bar(counted=True) as bar:
        task = bar.add_task("rounds", total=settings.rounds)
        record = train(
            game, course, settings, folder, workers=workers, evaluated=evaluated,
            command=f"asobiba {game.name} learn-td {words}",
            report=lambda line: bar.update(task, advance=1, description=line),
        )  # fmt: skip
    last = record["last"]
    scores = ", ".join(f"{last[one.name]:.1%} against {one.name}" for one in course.opponents)
    print(
        f"{record['positions']:,} positions, loss {last['loss']:.4f}, {scores}; written to {folder}; it plays as "
        f"td:path={folder}"
    )

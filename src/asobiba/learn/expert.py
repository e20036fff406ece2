"""Learning by search (expert iteration): a network guides a search, and learns from its results.

Self-play runs in compiled code (`asobiba.learn.search.SelfPlay`) on all threads; between rounds of it PyTorch computes
the gradients, on the same threads. A position's targets are the search's improved policy, and
the mean of the game's result and of that policy's value, which is exact where the search has seen the end. Each time a
position is used it is transformed by one of the game's symmetries, drawn at random.

Source: Danihelka et al., "Policy improvement by planning with Gumbel", ICLR 2022; Silver et al., "Mastering the game of
Go without human knowledge", Nature 550, 2017.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from asobiba.arena.evaluation import evaluate
from asobiba.core.agents import make_agent
from asobiba.core.errors import MissingExtra
from asobiba.core.game import Game, Ruleset
from asobiba.core.networks import LEAST, Network
from asobiba.learn.actors import Cluster, RaySelfPlay
from asobiba.learn.card import write_card
from asobiba.learn.config import ConfigError, start_file
from asobiba.learn.counts import CountsPolicy
from asobiba.learn.curve import draw_curve
from asobiba.learn.kernels import network_of
from asobiba.learn.networks import DensePolicy
from asobiba.learn.payoff import draw_payoff
from asobiba.learn.policy_file import load_policy, save_policy
from asobiba.learn.reporting import Interrupted
from asobiba.learn.search import GamesPlayed, require_searchable
from asobiba.learn.search_agent import NetAgent
from asobiba.learn.sparring import Opponents, Sparring
from asobiba.learn.turning import Turns

CHECKPOINT = "checkpoint.pt"
POLICY = "policy.safetensors"
_LOGIT_OF_ILLEGAL = -1e9


@dataclass
class Window:
    """The latest positions of self-play, in ring buffers."""

    observations: np.ndarray
    masks: np.ndarray
    policies: np.ndarray
    values: np.ndarray
    added: int = 0

    @classmethod
    def empty(cls, size: int, ruleset: Ruleset) -> Window:
        """Room for `size` positions."""
        actions = ruleset.num_actions
        return cls(
            np.zeros((size, ruleset.observation_size), ruleset.observation_space.dtype),
            np.zeros((size, actions), np.bool_),
            np.zeros((size, actions), np.float16),
            np.zeros(size, np.float32),
        )

    def __len__(self) -> int:
        return min(self.added, len(self.values))

    def add(self, games: GamesPlayed, result_share: float) -> int:
        """Adds the positions of a round that are to be learned from; returns their number."""
        kept = (np.arange(games.movers.shape[1]) < games.lengths[:, None]) & (games.learned != 0)
        count = int(kept.sum())
        places = (self.added + np.arange(count)) % len(self.values)
        self.observations[places] = games.observations[kept]
        self.masks[places] = games.masks[kept] != 0
        self.policies[places] = games.policies[kept]
        self.values[places] = result_share * games.results[kept] + (1 - result_share) * games.values[kept]
        self.added += count
        return count


@contextlib.contextmanager
def _without_denormals() -> Iterator[None]:
    """Numbers too small for full precision count as 0 in PyTorch: with those of unused weights many processors compute five
    times slower."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _turned(array: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Rows of an array, each with its columns permuted separately."""
    return array[rows[:, None], columns]


class Expert:
    """One run: the network, its optimiser, the window and the self-play.

    Args:
        game: of two players, perfect information, discrete actions, without chance after the start.
        config: as `asobiba.learn.config.load_config(..., defaults="gumbel_az")` returns it.
        cluster: where self-play runs; `None`: on this machine. The same games are played.

    Raises:
        GameParameterError: for another kind of game.
        ConfigError: for a `start` of another network.
    """

    def __init__(self, game: Game, config: dict[str, Any], cluster: Cluster | None = None):
        self.ruleset, self.config = game.ruleset(**config["parameters"]), config
        require_searchable(self.ruleset)
        torch.manual_seed(config["seed"])
        channels = dict(self.ruleset.layout.observation)
        kind: type[DensePolicy] = DensePolicy
        sizes = {"width": config["width"], "depth": config["depth"]}
        if config["steps"]:
            kind, sizes = CountsPolicy, {**sizes, "steps": config["steps"]}
        with _without_denormals():  # the first call of PyTorch starts its threads, which compute as this one
            self.policy = kind(
                self.ruleset.observation_space, self.ruleset.action_space, lambda _: 0.0, channels=channels, **sizes
            )
        if config["start"]:
            self._begin_with(config["start"])
        self.optimizer = torch.optim.Adam(
            self.policy.parameters(), lr=self._rate(0), weight_decay=config["weight_decay"]
        )
        self.window = Window.empty(config["window"], self.ruleset)
        self.turns = Turns.of(self.ruleset)
        self.round = 0
        self.seconds = self.core_seconds = 0.0
        self.opponents = Opponents(self.ruleset, config)
        settings = {name: config[name] for name in ("simulations", "openings", "considered", "threads")}
        settings |= {"games": config["games"], "length": min(config["length"], self.ruleset.max_steps)}
        settings["agents"] = self.opponents.agents
        self.self_play: Sparring | RaySelfPlay
        if cluster is None:
            self.self_play = Sparring(self.ruleset, self.network(), **settings)
        else:
            self.self_play = RaySelfPlay(self.ruleset, self.network(), cluster=cluster, **settings)

    def _begin_with(self, start: str) -> None:
        weights, own = load_policy(start_file(self.ruleset.game, start)).state_dict(), self.policy.state_dict()
        shapes, wanted = ({name: tuple(w.shape) for name, w in each.items()} for each in (weights, own))
        if shapes != wanted:
            raise ConfigError(f"start: the policy {start} is another network than width, depth and steps describe")
        self.policy.load_state_dict(weights)

    def _rate(self, done: int) -> float:
        first, last = self.config["learning_rate"]
        return first + (last - first) * done / self.config["rounds"]

    def network(self) -> Network:
        """The present network for compiled code."""
        tensors = {name: tensor.detach().numpy() for name, tensor in self.policy.state_dict().items()}
        return network_of("asobiba.learn.networks:DensePolicy", {}, tensors)

    def play_and_learn(self) -> dict[str, float]:
        """One round; returns its figures."""
        begun, config = time.perf_counter(), self.config
        seed = ((config["seed"] & 0xFFFFFFFF) << 32) + self.round * config["games"]
        network = self.network()
        games = self.self_play.play(network, seed, self.opponents.of_round(self.round, network, seed))
        scores = self.opponents.record(games) if self.opponents.any else {}
        moves = self.window.add(games, config["result_share"])
        played = time.perf_counter()
        generator = np.random.Generator(np.random.Philox(key=[config["seed"], self.round]))
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate(self.round)
        with _without_denormals():
            losses = [
                self._learn(generator) for _ in range(max(1, int(moves * config["reuse"] / config["batch_size"])))
            ]
            self._drop_the_least()
        self.round += 1
        policy, value = np.mean(losses, 0)
        ended = time.perf_counter()
        self.seconds += ended - begun
        self.core_seconds += (played - begun) * self.self_play.cores + (ended - played) * config["threads"]
        return {
            "round": self.round, "positions": self.window.added, "seconds": self.seconds, "moves": moves,
            "self_play": played - begun, "learning": ended - played, "length": float(games.lengths.mean()),
            "policy_loss": float(policy), "value_loss": float(value), **scores,
        }  # fmt: skip

    @torch.no_grad()
    def _drop_the_least(self) -> None:
        for weights in self.policy.parameters():
            weights[weights.abs() < LEAST] = 0

    def _learn(self, generator: np.random.Generator) -> tuple[float, float]:
        rows, window = generator.integers(0, len(self.window), self.config["batch_size"]), self.window
        turns = generator.integers(0, len(self.turns.actions), len(rows))
        observations = torch.from_numpy(self.turns.seen(window.observations[rows], turns)).float()
        masks = torch.from_numpy(_turned(window.masks, rows, self.turns.actions[turns]))
        logits, features = self.policy.mlp_extractor(observations)
        logits = logits.masked_fill(~masks, _LOGIT_OF_ILLEGAL)
        wanted = torch.from_numpy(_turned(window.policies, rows, self.turns.actions[turns])).float()
        policy_loss = -(wanted * torch.log_softmax(logits, 1)).sum(1).mean()
        value_loss = torch.nn.functional.mse_loss(
            self.policy.value_net(features)[:, 0], torch.from_numpy(window.values[rows])
        )
        self.optimizer.zero_grad()
        (policy_loss + value_loss).backward()
        self.optimizer.step()
        return float(policy_loss.detach()), float(value_loss.detach())

    def save(self, path: Path) -> None:
        """Everything that `load` needs to go on identically, without pickled objects."""
        temporary = path.with_suffix(".tmp")
        window, count = self.window, len(self.window)
        torch.save(
            {
                "policy": self.policy.state_dict(), "optimizer": self.optimizer.state_dict(), "round": self.round,
                "seconds": self.seconds, "core_seconds": self.core_seconds, "added": window.added,
                "opponents": [
                    {**each, "weights": torch.from_numpy(each["weights"])} for each in self.opponents.saved()
                ],
                "observations": torch.from_numpy(window.observations[:count]),
                "masks": torch.from_numpy(np.packbits(window.masks[:count], axis=1)),
                "policies": torch.from_numpy(window.policies[:count]),
                "values": torch.from_numpy(window.values[:count]),
            },
            temporary,
        )  # fmt: skip
        os.replace(temporary, path)

    def load(self, path: Path) -> None:
        """Restores a file of `save`; only tensors and numbers are read."""
        saved = torch.load(path, weights_only=True)
        self.policy.load_state_dict(saved["policy"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.round, self.seconds, self.window.added = saved["round"], saved["seconds"], saved["added"]
        self.core_seconds = saved["core_seconds"]
        opponents = [{**each, "weights": each["weights"].numpy()} for each in saved["opponents"]]
        self.opponents.restore(opponents, self.network())
        count = len(self.window)
        self.window.observations[:count] = saved["observations"].numpy()
        self.window.masks[:count] = np.unpackbits(
            saved["masks"].numpy(), axis=1, count=self.window.masks.shape[1]
        ).astype(np.bool_)
        self.window.policies[:count] = saved["policies"].numpy()
        self.window.values[:count] = saved["values"].numpy()


def train(
    game: Game,
    config: dict[str, Any],
    folder: str | Path,
    *,
    resume: bool = True,
    command: str = "",
    say: Callable[[str], None] | None = None,
    cluster: Cluster | None = None,
) -> Path:
    """Trains a policy by search and leaves everything about the run in `folder`.

    The folder then holds `policy.safetensors` (agents: `net_uct:policy=FILE`, and `sb3:FILE` without a search),
    `config.yml`, `run.json`, `README.md` (its model card), `curve.csv` (scores, those after the last round at the end),
    `learning.csv` (one line per round) and their picture `curve.svg` (if matplotlib is installed); with opponents also
    `pool.csv` and `payoff.svg` (scores in the games of the training). Where it begins with
    the weights of an earlier run, `run.json` tells that run's cost too, if its own `run.json` lies beside them under their
    name. A stopped run resumes from its last checkpoint and ends as if it had never stopped. Ctrl-C raises `Interrupted`;
    rounds since the last checkpoint are played again.

    Args:
        game: the game to train on.
        config: as `asobiba.learn.config.load_config(..., defaults="gumbel_az")` returns it.
        folder: the run folder; created if need be.
        resume: continue from the folder's checkpoint (it holds no pickles); otherwise a folder with a run in it is refused.
        command: the command line, for the record.
        say: shows a line; by default on standard error.
        cluster: where self-play runs; `None`: on this machine. The policy is the same.

    Returns:
        The path of the policy.

    Raises:
        GameParameterError: for a game that such a search does not fit.
        RunFolderError: if the folder holds a run of another configuration, or any run while `resume` is off.
        Interrupted: after Ctrl-C.
        MissingExtra, WorkerError: without Ray, or a cluster at this address.
    """
    from asobiba.learn.training import _claim, _numbers_fixed, _require_free, versions

    say = say or (lambda line: print(line, file=sys.stderr, flush=True))
    folder = Path(folder)
    _require_free(folder, game, config, resume)
    torch.set_num_threads(config["threads"])
    checkpoint = folder / CHECKPOINT
    with _numbers_fixed(config["seed"]):
        # All that can be wrong in the configuration is found before the folder is touched.
        expert = Expert(game, config, cluster)
        for opponent in config["evaluation"]["against"]:
            make_agent(game, opponent).close()
        _claim(folder, game, config, resume)
        if checkpoint.exists():
            expert.load(checkpoint)
            say(f"Going on from round {expert.round} of {config['rounds']} in {folder}")
        try:
            _rounds(expert, folder, say)
        except KeyboardInterrupt:
            say(f"Stopped after round {expert.round} of {config['rounds']}; the last checkpoint is {checkpoint}")
            raise Interrupted from None
        finally:
            expert.self_play.close()
        expert.save(checkpoint)
    policy = folder / POLICY
    save_policy(expert.policy, policy)
    settings = config["evaluation"]
    results = _evaluate(expert, settings, settings["games"])
    _cut(folder / "curve.csv", expert.round - 1)  # the same scores, where a finished run ends once more
    _append(folder / "curve.csv", [{"round": expert.round, **row} for row in results])
    record = {
        "game": game.id,
        "command": command,
        "algorithm": "gumbel_az",
        "seed": config["seed"],
        "opening_plies": settings["openings"],
        "rounds": expert.round,
        "positions": expert.window.added,
        "core_hours": round(expert.core_seconds / 3600, 3),
        **_before(game, config["start"]),
        "parameters_of_the_network": int(sum(p.numel() for p in expert.policy.parameters())),
        "versions": versions(),
        "evaluation": results,
    }
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    write_card(folder)
    with contextlib.suppress(MissingExtra):
        draw_curve(folder)
        draw_payoff(folder)
    return policy


def _before(game: Game, start: str) -> dict[str, Any]:
    """The cost of the weights that a run begins with: the `run.json` of their own run lies beside them as `START.json`."""
    record = start_file(game, start).with_suffix(".json") if start else None
    if record is None or not record.exists():
        return {}
    run = json.loads(record.read_text(encoding="utf-8"))
    return {"before": {name: run[name] for name in ("rounds", "positions", "core_hours")}}


def _rounds(expert: Expert, folder: Path, say: Callable[[str], None]) -> None:
    config, said = expert.config, 0.0
    _cut(folder / "learning.csv", expert.round)
    _cut(folder / "curve.csv", expert.round)
    _cut(folder / "pool.csv", expert.round - 1)  # the lines of a round are written when it begins
    while expert.round < config["rounds"]:
        if expert.round and expert.opponents.keeps(expert.round):
            _append(folder / "pool.csv", expert.opponents.rows(expert.round))
        figures = expert.play_and_learn()
        _append(folder / "learning.csv", [figures])
        if time.monotonic() - said > 10:
            said = time.monotonic()
            speed = figures["moves"] / (figures["self_play"] + figures["learning"])
            left = (config["rounds"] - expert.round) * expert.seconds / expert.round / 60
            say(
                f"round {expert.round}/{config['rounds']}  {speed:,.0f} moves/s  {figures['length']:.0f} a game  loss "
                f"{figures['policy_loss']:.3f} {figures['value_loss']:.3f}  {left:.0f} min left"
            )
        if expert.round % config["checkpoint_every"] == 0:
            expert.save(folder / CHECKPOINT)
        settings = config["evaluation"]
        if expert.round % settings["every"] == 0 and expert.round < config["rounds"]:
            rows = _evaluate(expert, settings, max(2, settings["games"] // 4))
            _append(folder / "curve.csv", [{"round": expert.round, **row} for row in rows])
            for row in rows:
                say(
                    f"  {row['simulations']} simulations against {row['opponent']}: {row['score']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
                )
    if expert.opponents.any:
        _append(folder / "pool.csv", expert.opponents.rows(expert.round))


def _evaluate(expert: Expert, settings: dict[str, Any], games: int) -> list[dict[str, Any]]:
    """Scores of the network alone (0 simulations) and with searches: see `asobiba.arena.evaluation`."""
    found = []
    for opponent in settings["against"]:
        other = make_agent(expert.ruleset.game, opponent)
        for simulations in settings["simulations"]:
            own = NetAgent(expert.network(), max(1, simulations))
            played = evaluate(expert.ruleset, ("", own), (opponent, other), games, 0, settings["openings"])
            figures = {name: getattr(played, name) for name in ("games", "distinct", "score", "low", "high")}
            found.append({"opponent": opponent, "simulations": simulations, **figures})
        other.close()
    return found


def _append(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    fresh = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows({k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def _cut(path: Path, rounds: int) -> None:
    """Drops the lines after the checkpoint from which a run resumes."""
    if path.exists():
        head, *lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if int(line.partition(",")[0]) <= rounds]
        path.write_text("".join([head, *kept]), encoding="utf-8")

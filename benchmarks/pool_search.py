"""Opponents in learning by search against self-play alone: animal shogi from scratch, the same number of rounds.

python benchmarks/pool_search.py [--folder runs/pool_search] [--rounds 200] [--seeds 0 1] [--games 200]
                                 [--write docs/training.md]

A quarter of the games of `pool` is against earlier networks, of `agent` against alpha_beta:depth=3. All have one small network
(`SETTINGS`); the six runs and their games take about a quarter of an hour of one core. Runs that are finished are kept;
stopped ones go on. A row of the table is a kind: its score against self-play alone (every seed against every seed) and
against an agent, both with the simulations of the training, and the positions that it learned from. Intervals are those of the
games, by pairs; between seeds scores differ too.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.arena.evaluation import Evaluation, evaluate
from asobiba.core import game, make_agent
from asobiba.learn.config import load_config
from asobiba.learn.expert import POLICY, train

GAME, AGENT, PLIES = "animal_shogi", "alpha_beta:depth=3", 4
KINDS = {
    "self-play alone": ["self"],
    "pool": ["self", "self", "self", "pool"],
    "agent": ["self", "self", "self", AGENT],
}
SETTINGS: dict[str, Any] = {
    "games": 128, "simulations": 32, "width": 128, "depth": 2, "start": "", "threads": 1, "window": 100_000,
    "learning_rate": [1.0e-3, 1.0e-4], "checkpoint_every": 20,
    "evaluation": {"against": ["random"], "games": 2, "every": 1_000_000, "openings": PLIES, "simulations": [0]},
}  # fmt: skip
BEGIN, END = "<!-- pool_search: written by benchmarks/pool_search.py -->", "<!-- end of pool_search -->"


def trained(folder: Path, kind: str, seed: int, rounds: int) -> Path:
    """The folder of a run that is over."""
    place = folder / f"{kind.replace(' ', '_')}-{seed}"
    dealt: dict[str, Any] = {"opponents": KINDS[kind], "snapshot_every": max(1, rounds // 10)}
    config = load_config(game(GAME), algorithm="gumbel_az", **SETTINGS, **dealt, seed=seed, rounds=rounds)
    train(game(GAME), config, place)
    return place


def met(one: Path, other: str, games: int) -> Evaluation:
    """A run's policy with its search against an agent, from both seats of every opening."""
    played = game(GAME)
    own = f"net_uct:policy={one / POLICY},simulations={SETTINGS['simulations']}"
    agents = [(text, make_agent(played, text)) for text in (own, other)]
    return evaluate(played.ruleset(), agents[0], agents[1], games, 2**40, PLIES)


def shown(found: list[list[Evaluation]]) -> str:
    """The mean score, with the 95 % interval of these games, and that of every seed; the number of different games."""
    every = [one for own in found for one in own]
    half = math.hypot(*((one.high - one.low) / 2 for one in every)) / len(every)
    seeds = ", ".join(f"{100 * np.mean([one.score for one in own]):.1f}" for own in found)
    mean = 100 * np.mean([one.score for one in every])
    return f"{mean:.1f} ± {100 * half:.1f} % ({seeds}) | {sum(one.distinct for one in every)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("runs/pool_search"))
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--write", type=Path, help="a page whose table between the marks is replaced")
    given = parser.parse_args()
    if given.write is not None and not {BEGIN, END} <= set(given.write.read_text(encoding="utf-8").splitlines()):
        parser.error(f"{given.write} has no lines {BEGIN} and {END}")
    runs = {(kind, seed): trained(given.folder, kind, seed, given.rounds) for kind in KINDS for seed in given.seeds}
    alone, *others = KINDS
    table = [
        f"| trained by | against {alone} | different games | against {AGENT} | different games | positions |",
        "|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        own = [runs[kind, seed] for seed in given.seeds]
        usual = [f"net_uct:policy={runs[alone, s] / POLICY},simulations={SETTINGS['simulations']}" for s in given.seeds]
        direct = [[met(one, text, given.games) for text in usual] for one in own] if kind in others else []
        classical = [[met(one, AGENT, given.games)] for one in own]
        records = [json.loads((one / "run.json").read_text(encoding="utf-8")) for one in own]
        cells = [shown(direct) if direct else " | ", shown(classical)]
        table.append(f"| {kind} | {' | '.join(cells)} | {', '.join(str(r['positions']) for r in records)} |")
        print(table[-1], flush=True)
    if given.write is not None:
        before, _, rest = given.write.read_text(encoding="utf-8").partition(BEGIN)
        seeds = ", ".join(map(str, given.seeds))
        told = f"{given.rounds} rounds of {SETTINGS['games']} games, seeds {seeds} (in brackets), {given.games} games of each pair."
        text = "\n".join([*table, "", told])
        given.write.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()

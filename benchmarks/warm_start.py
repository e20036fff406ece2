"""Learning by search from fresh weights, and from weights that imitation or PPO has left: equal core minutes.

python benchmarks/warm_start.py [--folder runs/warm_start] [--seconds 45] [--games 200]

Animal shogi, one thread, two seeds. The seconds of processor time of a run include its warm start. Runs that are finished
are kept. Scores are those of the policies with 32 simulations, after openings of 4 random plies; intervals count different games.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from asobiba.arena.evaluation import evaluate
from asobiba.core import game, make_agent
from asobiba.learn.config import load_config
from asobiba.learn.search_agent import NetAgent

SEEDS, SIMULATIONS, OPENINGS = (0, 1), 32, 4
NETWORK: dict[str, Any] = {"width": 256, "depth": 2}
DENSE = {
    "policy": "asobiba.learn.networks:DensePolicy", "policy_kwargs": NETWORK, "threads": 1, "symmetry": False,
    "opponents": ["self", "self", "self", "one_ply_check", "one_ply", "alpha_beta:depth=3"],
    "learner": {
        "learning_rate": [1.0e-3, 5.0e-5], "n_steps": 64, "batch_size": 1024, "n_epochs": 3, "gamma": 0.99, "gae_lambda": 0.9,
        "ent_coef": 0.01, "clip_range": 0.2,
    },
}  # fmt: skip
KINDS: dict[str, dict[str, Any] | None] = {
    "fresh weights": None,
    "imitation of alpha_beta:depth=3": {
        "total_steps": 1,
        "imitation": {
            "teacher": "alpha_beta:depth=3", "decisions": 20_000, "epochs": 2, "student": 0.0, "again": 0.0, "learning_rate": 1.0e-3,
        },
    },
    "PPO": {"total_steps": 100_000, "imitation": {"decisions": 0}},
}  # fmt: skip


def train_one(kind: str, seed: int, seconds: float, file: Path) -> None:
    """Trains in this process, and saves the policy with the figures of its run beside it."""
    import torch

    from asobiba.learn import training
    from asobiba.learn.expert import Expert
    from asobiba.learn.policy_file import save_policy

    torch.set_num_threads(1)
    shogi, start, before = game("animal_shogi"), "", KINDS[kind]
    if before is not None:
        settings = {**DENSE, **before, "seed": seed, "evaluation": {"against": ["random"], "games": 2, "every": 10**9}}
        config = load_config(shogi, **settings)
        config["policy_kwargs"] = NETWORK
        begun = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            training.train(shogi, config, folder, progress=False)
            start = str(file.with_name(f"start-{file.name}"))
            Path(folder, training.POLICY).replace(start)
        warm = time.process_time() - begun
    else:
        warm = 0.0
    config = load_config(
        shogi, algorithm="gumbel_az", **NETWORK, games=128, seed=seed, threads=1, start=start, learning_rate=[1e-3, 1e-3],
        window=100_000,
    )  # fmt: skip
    config["start"] = start  # "" changes nothing, and the game has one of its own
    expert = Expert(shogi, config)
    begun = time.process_time()
    while warm + time.process_time() - begun < seconds:
        expert.play_and_learn()
    save_policy(expert.policy, file)
    figures = {"warm": warm, "rounds": expert.round, "positions": expert.window.added}
    file.with_suffix(".json").write_text(json.dumps(figures) + "\n", encoding="utf-8")


def score(one: Path, other: Any, games: int) -> str:
    """What a policy scores with a search, with its interval."""
    ruleset = game("animal_shogi").ruleset()
    played = evaluate(ruleset, ("", NetAgent(one, SIMULATIONS)), ("", other), games, 2**40, OPENINGS)
    return f"{100 * played.score:.1f} % ({100 * played.low:.1f} to {100 * played.high:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("runs/warm_start"))
    parser.add_argument("--seconds", type=float, default=45.0, help="of processor time of a run")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--one", nargs=2, metavar=("KIND", "SEED"), help="train this one only")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    files = {(kind, seed): given.folder / f"{kind.split()[0]}-{seed}.safetensors" for kind in KINDS for seed in SEEDS}
    if given.one:
        kind, seed = given.one[0], int(given.one[1])
        train_one(kind, seed, given.seconds, files[kind, seed])
        return
    table = [
        "| begins with | seed | warm start, s | positions of self-play | against minimax | against fresh weights |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for (kind, seed), file in files.items():
        if not file.with_suffix(".json").exists():
            command = [
                sys.executable,
                __file__,
                "--folder",
                given.folder,
                "--seconds",
                given.seconds,
                "--one",
                kind,
                seed,
            ]
            subprocess.run(list(map(str, command)), check=True)
        figures = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
        minimax = score(file, make_agent(game("animal_shogi"), "minimax"), given.games)
        fresh = files[next(iter(KINDS)), seed]
        direct = score(file, NetAgent(fresh, SIMULATIONS), given.games) if file != fresh else ""
        cells = (kind, seed, f"{figures['warm']:.0f}", f"{figures['positions']:,}", minimax, direct)
        table.append(f"| {' | '.join(map(str, cells))} |")
        print(table[-1], flush=True)


if __name__ == "__main__":
    main()

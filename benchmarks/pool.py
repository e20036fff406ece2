"""A pool of opponents against the latest snapshot alone: three games, three seeds each, the same number of decisions.

python benchmarks/pool.py [--folder runs/pool] [--steps 150000] [--games 1000] [--plays animal_shogi bao gogo]
                          [--write docs/training.md]

All policies have one small network and one learner (`NETWORK`, `LEARNER`), so that the eighteen runs take about an hour of
one core. Runs that are finished are kept; stopped ones go on. A row of the table is a game: the score of the pool's policies against
those of the latest snapshot (every seed against every seed), and of both against a classical agent. Intervals are those
of the bootstrap over seeds (`asobiba.learn.seeds.interquartile_mean`).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from asobiba.arena.evaluation import evaluate
from asobiba.core import game, make_agent
from asobiba.learn.config import load_config
from asobiba.learn.seeds import interquartile_mean
from asobiba.learn.training import POLICY, evaluated, train

ANCHORS = {"animal_shogi": "one_ply", "bao": "greedy", "gogo": "prototype"}
PARAMETERS = {"gogo": {"board_size": 9}}
SEEDS = (0, 1, 2)
BEGIN, END = "<!-- pool: written by benchmarks/pool.py -->", "<!-- end of pool -->"
KINDS = {
    "latest": {"opponents": ["self"]},
    "pool": {"opponents": ["pool"], "pool": {"latest": 0.5, "uniform": 0.25, "prioritised": 0.25}},
}
NETWORK: dict[str, Any] = {"policy": "mlp", "policy_kwargs": {"net_arch": [128, 128]}}
LEARNER = {
    "learning_rate": [1.0e-3, 1.0e-4], "n_steps": 32, "batch_size": 512, "n_epochs": 3, "gamma": 0.99, "gae_lambda": 0.9,
    "ent_coef": 0.01, "clip_range": 0.2,
}  # fmt: skip


def settings(kind: str, seed: int, steps: int) -> dict:
    """The settings that both kinds share: no teacher, a snapshot every twentieth of the run, no evaluation on the way."""
    every = max(1, steps // 20)
    return {
        **KINDS[kind], "seed": seed, "total_steps": steps, "snapshot_every": every, "checkpoint_every": every,
        "num_envs": 128, "threads": 1, "imitation": {"decisions": 0}, "start": "",
        "evaluation": {"against": ["random"], "games": 200, "every": steps},
    }  # fmt: skip


def shown(scores: list[float]) -> str:
    middle, low, high = interquartile_mean(scores)
    return f"{100 * middle:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def row(name: str, folder: Path, steps: int, games: int) -> str:
    """Trains what is missing of one game, plays, and returns its row."""
    played, policies = game(name), {}
    for kind in KINDS:
        for seed in SEEDS:
            place = folder / name / f"{kind}-{seed}"
            config = load_config(played, **settings(kind, seed, steps), parameters=PARAMETERS.get(name, {}))
            config.update(NETWORK, learner=LEARNER, train_on={}, memory="", symmetry=False)  # instead of the game's own
            train(played, config, place)
            policies[kind, seed] = make_agent(played, f"sb3:{place / POLICY}")
    ruleset = evaluated(played, config)

    def score(one: tuple[str, int], text: str, other) -> float:
        return evaluate(ruleset, (one[0], policies[one]), (text, other), games, seed=2**40).score

    direct = [
        sum(score(("pool", a), "latest", policies["latest", b]) for b in SEEDS) / len(SEEDS) for a in SEEDS
    ]  # fmt: skip
    anchor = ANCHORS.get(name, "random")
    against = {
        kind: [score((kind, seed), anchor, make_agent(played, anchor)) for seed in SEEDS] for kind in KINDS
    }  # fmt: skip
    cells = (name, shown(direct), anchor, shown(against["pool"]), shown(against["latest"]))
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("runs/pool"))
    parser.add_argument("--steps", type=int, default=150_000)
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--plays", nargs="+", default=list(ANCHORS))
    parser.add_argument("--write", type=Path, help="a page whose table between the marks is replaced")
    given = parser.parse_args()
    if given.write is not None and not {BEGIN, END} <= set(given.write.read_text(encoding="utf-8").splitlines()):
        parser.error(f"{given.write} has no lines {BEGIN} and {END}")
    table = [
        "| game | pool against latest | classical | pool against it | latest against it |",
        "|---|---|---|---|---|",
    ]
    for name in given.plays:
        table.append(row(name, given.folder, given.steps, given.games))
        print(table[-1], flush=True)
    if given.write is not None:
        before, _, rest = given.write.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        told = f"{given.steps:,} decisions, seeds {', '.join(map(str, SEEDS))}, {given.games:,} games of each pair."
        text = "\n".join([*table, "", told])
        given.write.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()

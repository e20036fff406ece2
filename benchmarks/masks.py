"""What Stable-Baselines3's DQN learns without masks, beside the same learner with them.

    python benchmarks/masks.py --write docs/compatibility.md

Both have SB3's default settings, one game at a time, against `random`; the same seed, the same number of decisions.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import DQN

from asobiba.api.sb3 import SB3VecEnv
from asobiba.arena.pairs import Score
from asobiba.core import game
from asobiba.learn.masked import MaskedDQN, MaskedDQNPolicy, MaskedVecEnv

BEGIN, END = "<!-- masks: written by benchmarks/masks.py -->", "<!-- end of masks -->"
DECISIONS, GAMES, SEED, PLAYED = 600, 40, 0, "animal_shogi"
SETTINGS: dict[str, Any] = {"learning_starts": 500, "buffer_size": 10_000, "seed": SEED, "device": "cpu"}


def played(model: Any, env: Any) -> tuple[list[float], int]:
    """Returns of `GAMES` games by the best action, and how many the learner ended with an illegal one."""
    gains: list[float] = []
    illegal = 0
    observations = env.reset()
    while len(gains) < GAMES:
        masks = env.action_masks()
        actions = model.predict(observations, deterministic=True)[0]
        observations, rewards, dones, _ = env.step(actions)
        gains += rewards[dones].tolist()
        illegal += int((masks[dones, actions[dones]] == 0).sum())
    return gains, illegal


def row(name: str, algorithm: Any, policy: Any, kind: Any) -> str:
    ruleset = game(PLAYED).ruleset()
    given: Any = PLAYED if kind is SB3VecEnv else ruleset
    model = algorithm(policy, kind(given, 1, opponent="random", seed=SEED), **SETTINGS)
    model.learn(DECISIONS)
    gains, illegal = played(model, kind(given, 1, opponent="random", seed=SEED + 1))
    low, high = Score(tuple((0.5 + 0.5 * float(np.sign(gain)),) for gain in gains)).interval()
    score = 50 + 50 * np.sign(gains).mean()
    return f"| {name} | {score:.1f} % ({100 * low:.1f} to {100 * high:.1f}) | {100 * illegal / len(gains):.1f} % |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="a page whose table between the marks is replaced")
    given = parser.parse_args()
    lines = [
        "| learner | score against `random`, 95 % interval | games that it lost by an illegal action |",
        "|---|--:|--:|",
        row("SB3's DQN", DQN, "MlpPolicy", SB3VecEnv),
        row("`asobiba.learn.masked.MaskedDQN`", MaskedDQN, MaskedDQNPolicy, MaskedVecEnv),
        "",
        f"{PLAYED}, {DECISIONS:,} decisions from one seed, SB3's default settings; {GAMES} games, best action "
        "(`python benchmarks/masks.py --write docs/compatibility.md`).",
    ]
    text = "\n".join(lines)
    print(text)
    if given.write is not None:
        before, _, rest = given.write.read_text(encoding="utf-8").partition(BEGIN)
        given.write.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()

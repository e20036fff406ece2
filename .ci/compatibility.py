"""Tries other people's libraries on the games and writes docs/compatibility.md: `python .ci/compatibility.py`.

Each check runs in a process of its own for every game that it names. A library that is not installed is written down as
not tried. For all of them: `.[sb3,openspiel,render]`, `torchrl`, `minari[create]`, `ray[rllib]`, `moviepy`.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PAGE = Path("docs/compatibility.md")
BOARDS = ("animal_shogi", "gogo", "tactics_steps")
PREAMBLE = """import sys, asobiba, gymnasium
NAME = sys.argv[1]
GAME = asobiba.core.game(NAME)
ID = GAME.gymnasium_id
def sample(env, info):
    return env.action_space.sample(info["action_mask"]) if GAME.ruleset().discrete else env.action_space.sample()
"""
CHECKS = {
    "Gymnasium's check_env": (
        "gymnasium",
        (*BOARDS, "battleship", "curling", "mini4wd"),
        "from gymnasium.utils.env_checker import check_env; check_env(gymnasium.make(ID).unwrapped)",
    ),
    "Gymnasium's vector environments": (
        "gymnasium",
        (*BOARDS, "battleship", "curling", "mini4wd"),
        "e = gymnasium.make_vec(ID, num_envs=8, vectorization_mode='vector_entry_point'); e.reset(seed=0); e.close()",
    ),
    "Gymnasium's RecordVideo": (
        "moviepy",
        ("animal_shogi", "gogo", "curling_end"),
        """import tempfile
from gymnasium.wrappers import RecordVideo
e = RecordVideo(gymnasium.make(ID, render_mode='rgb_array'), tempfile.mkdtemp(), episode_trigger=lambda k: True)
_, info = e.reset(seed=0); over = False
while not over:
    _, _, a, b, info = e.step(sample(e, info)); over = a or b
e.close()""",
    ),
    "PettingZoo's api_test": (
        "pettingzoo",
        (*BOARDS, "curling_end", "werewolf"),
        "from pettingzoo.test import api_test; from asobiba.api.pettingzoo import AEC; api_test(AEC(NAME), 50)",
    ),
    "PettingZoo's parallel_api_test": (
        "pettingzoo",
        ("mini4wd_race", "werewolf"),
        "from pettingzoo.test import parallel_api_test; from asobiba.api.pettingzoo import Parallel; "
        "parallel_api_test(Parallel(NAME), 50)",
    ),
    "Stable-Baselines3's MaskablePPO": (
        "sb3-contrib",
        BOARDS,
        "from asobiba.api.sb3 import SB3VecEnv; from sb3_contrib import MaskablePPO; "
        "MaskablePPO('MlpPolicy', SB3VecEnv(NAME, 8, seed=0), n_steps=16, batch_size=64).learn(128)",
    ),
    "Stable-Baselines3's PPO": (
        "stable-baselines3",
        ("curling_end", "mini4wd"),
        "from asobiba.api.sb3 import SB3VecEnv; from stable_baselines3 import PPO; "
        "PPO('MlpPolicy', SB3VecEnv(NAME, 8, seed=0), n_steps=16, batch_size=64).learn(128)",
    ),
    "OpenSpiel's random_sim_test": (
        "open_spiel",
        (*BOARDS, "battleship", "curling_discrete"),
        "import pyspiel; from asobiba.api import openspiel; openspiel.register(); "
        "pyspiel.random_sim_test(pyspiel.load_game('asobiba_' + NAME), num_sims=1, serialize=False, verbose=False)",
    ),
    "TorchRL's GymEnv": (
        "torchrl",
        (*BOARDS, "curling_end"),
        "from torchrl.envs import GymEnv; e = GymEnv(ID, categorical_action_encoding=True); e.rollout(3)",
    ),
    "Minari's DataCollector with record_infos": (
        "minari",
        (*BOARDS, "curling_end"),
        """import minari
e = minari.DataCollector(gymnasium.make(ID), record_infos=True)
for seed in range(2):
    _, info = e.reset(seed=seed); over = False
    while not over:
        action = sample(e, info)
        _, _, a, b, info = e.step(int(action) if GAME.ruleset().discrete else action); over = a or b""",
    ),
    "RLlib's default module": (
        "ray",
        ("animal_shogi", "gogo", "curling_end"),
        """from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune import register_env
register_env('game', lambda _: gymnasium.make(ID, dtype='float32'))
PPOConfig().environment('game').env_runners(num_env_runners=0).training(
    train_batch_size=256, minibatch_size=64, num_epochs=1).build_algo().train()""",
    ),
}


def try_one(package: str, games: tuple[str, ...], code: str) -> tuple[str, str]:
    """The library's version, and what came out."""
    try:
        found = version(package)
    except PackageNotFoundError:
        return "not installed", "not tried"
    good, bad = [], []
    for game in games:
        command = [sys.executable, "-c", f"{PREAMBLE}{code}", game]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            bad.append(f"{game}: more than 600 s")
            continue
        if done.returncode == 0:
            good.append(game)
        else:
            bad.append(f"{game}: {(done.stderr.strip().splitlines() or ['no message'])[-1][:160].replace('|', '/')}")
    shown = ["runs: " + ", ".join(good)] * bool(good) + ["fails: " + "; ".join(bad)] * bool(bad)
    return found, "; ".join(shown)


def main() -> None:
    rows = []
    for name, (package, games, code) in CHECKS.items():
        rows.append((name, package, *try_one(package, games, code)))
        print(*rows[-1], sep="  ", flush=True)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "# Compatibility\n\n## Recipes\n"
    recipes = page[page.index("## Recipes") :]
    PAGE.write_text(
        "# Compatibility\n\n"
        "The table is written by `python .ci/compatibility.py`, which tests each library, in its installed version, on the games named. *Runs* means that\n"
        "no error was raised, on a few steps: not that anything was learned. What libraries learn is under [Recipes](#recipes).\n\n"
        "| what | package | version | result |\n|---|---|---|---|\n" + "\n".join(lines) + "\n\n" + recipes,
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()

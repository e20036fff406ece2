"""Tries other people's libraries on the games and writes docs/compatibility.md: `python .ci/compatibility.py`.

Each check runs in a process of its own. A library that is not installed is written down as not tried.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PAGE = Path("docs/compatibility.md")
GAME = "asobiba/AnimalShogi-v0"
CHECKS = {
    "Gymnasium's check_env": (
        "gymnasium",
        f"from gymnasium.utils.env_checker import check_env; check_env(gymnasium.make('{GAME}').unwrapped)",
    ),
    "Gymnasium's vector environments": (
        "gymnasium",
        f"e = gymnasium.make_vec('{GAME}', num_envs=8, vectorization_mode='vector_entry_point'); e.reset(seed=0); e.close()",
    ),
    "Gymnasium's RecordVideo": (
        "moviepy",
        f"""import tempfile
from gymnasium.wrappers import RecordVideo
e = RecordVideo(gymnasium.make('{GAME}', render_mode='rgb_array'), tempfile.mkdtemp(), episode_trigger=lambda k: True)
_, info = e.reset(seed=0); over = False
while not over:
    _, _, a, b, info = e.step(e.action_space.sample(info['action_mask'])); over = a or b
e.close()""",
    ),
    "PettingZoo's api_test": (
        "pettingzoo",
        "from pettingzoo.test import api_test; from asobiba.envs.animal_shogi import env; api_test(env(), 50)",
    ),
    "Stable-Baselines3's MaskablePPO": (
        "sb3-contrib",
        "from asobiba.api.sb3 import SB3VecEnv; from sb3_contrib import MaskablePPO; "
        "MaskablePPO('MlpPolicy', SB3VecEnv('animal_shogi', 8, seed=0), n_steps=16, batch_size=64).learn(128)",
    ),
    "OpenSpiel's random_sim_test": (
        "open_spiel",
        "import pyspiel; from asobiba.api import openspiel; openspiel.register(); "
        "pyspiel.random_sim_test(pyspiel.load_game('asobiba_animal_shogi'), num_sims=1, serialize=False, verbose=False)",
    ),
    "TorchRL's GymEnv": (
        "torchrl",
        f"from torchrl.envs import GymEnv; e = GymEnv('{GAME}', categorical_action_encoding=True); e.rollout(3)",
    ),
    "Minari's DataCollector with record_infos": (
        "minari",
        f"""import minari
e = minari.DataCollector(gymnasium.make('{GAME}'), record_infos=True)
for seed in range(2):
    _, info = e.reset(seed=seed); over = False
    while not over:
        _, _, a, b, info = e.step(int(e.action_space.sample(info['action_mask']))); over = a or b""",
    ),
    "RLlib's default module": (
        "ray",
        f"""from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune import register_env
register_env('game', lambda _: gymnasium.make('{GAME}', dtype='float32'))
PPOConfig().environment('game').env_runners(num_env_runners=0).training(
    train_batch_size=256, minibatch_size=64, num_epochs=1).build_algo().train()""",
    ),
}


def try_one(package: str, code: str) -> tuple[str, str]:
    """The library's version, and what came out."""
    try:
        found = version(package)
    except PackageNotFoundError:
        return "not installed", "not tried"
    done = subprocess.run(
        [sys.executable, "-c", f"import asobiba, gymnasium\n{code}"], capture_output=True, text=True, timeout=600
    )
    if done.returncode == 0:
        return found, "runs"
    return found, "fails: " + (done.stderr.strip().splitlines() or ["no message"])[-1][:160].replace("|", "/")


def main() -> None:
    rows = []
    for name, (package, code) in CHECKS.items():
        rows.append((name, package, *try_one(package, code)))
        print(*rows[-1], sep="  ", flush=True)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "# What runs with which library\n\n## Recipes\n"
    recipes = page[page.index("## Recipes") :]
    PAGE.write_text(
        "# What runs with which library\n\n"
        "The table is written by `python .ci/compatibility.py`, which tries each library on animal shogi as it is installed.\n\n"
        "| what | package | version | result |\n|---|---|---|---|\n" + "\n".join(lines) + "\n\n" + recipes,
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()

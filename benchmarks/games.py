"""Our side of the benchmark: random legal play through the interfaces that users call."""

from __future__ import annotations

import gymnasium
import numpy as np
import pettingzoo
from peers import aec as random_aec
from peers import gymnasium_single, replayed_aec, replayed_seat
from timing import Burst

import asobiba  # noqa: F401 - registers the environments
from asobiba.api import AEC, Batch, SeatEnv
from asobiba.core import game
from asobiba.core import games as registered

PLIES = 1 << 17


def other_board_games() -> list[str]:
    """Names of the registered two-player games of sequential turns, but battleship."""
    return [g.name for g in registered() if len(g.players) == 2 and g.turns == "sequential" and g.name != "battleship"]


def all_games() -> list[tuple[str, str, dict]]:
    """Label, name and parameters of every registered game; variants that cost differently are apart."""
    rows: list[tuple[str, str, dict]] = []
    for declared in registered():
        rows.append((declared.name, declared.name, {"placement": "r"} if "placement" in declared.parameters else {}))
        if "endless" in declared.parameters:
            rows.append((f"{declared.name}, endless moves lose", declared.name, {"endless": "loses"}))
    return rows


def aec(name: str, **parameters) -> Burst:
    """One game through PettingZoo's AEC interface."""
    return random_aec(pettingzoo.make("aec", game(name).id, **parameters))


def single(name: str, opponent: str = "random", **parameters) -> Burst:
    """One game from one seat through gymnasium.make."""
    return gymnasium_single(gymnasium.make(game(name).gymnasium_id, opponent=opponent, **parameters))


def seat(name: str, opponent: str = "random", **parameters) -> Burst:
    """One game from one seat, the environment without any wrapper."""
    return gymnasium_single(SeatEnv(name, opponent=opponent, **parameters))


def unwrapped_aec(name: str, **parameters) -> Burst:
    """One game through PettingZoo's AEC interface, the environment without any wrapper."""
    return random_aec(AEC(name, **parameters))


def replayed(form: str, name: str, **parameters) -> Burst:
    """The steps of one game alone, without a draw: a seat, the seat of `gymnasium.make`, or AEC."""
    if form == "AEC":
        return replayed_aec(AEC(name, **parameters))
    if form == "seat":
        return replayed_seat(SeatEnv(name, opponent="random", **parameters))
    return replayed_seat(gymnasium.make(game(name).gymnasium_id, opponent="random", **parameters))


def vector(name: str, count: int, threads: int, **parameters) -> Burst:
    """Many games through gymnasium.make_vec; every step moves the side to move, or all who act."""
    declared = game(name)
    if declared.turns != "sequential":  # no single mover: the batch that the environments stand on
        return _play(Batch(declared.ruleset(**parameters), count, threads=threads), count)
    if len(declared.players) > 1:
        parameters["opponent"] = "self"
    env = gymnasium.make_vec(
        declared.gymnasium_id,
        num_envs=count,
        vectorization_mode="vector_entry_point",
        threads=threads,
        **parameters,
    )
    return _play(env, count)


def seat_vector(name: str, count: int) -> Burst:
    """Many games from one seat against a compiled opponent through gymnasium.make_vec."""
    env = gymnasium.make_vec(
        game(name).gymnasium_id,
        num_envs=count,
        vectorization_mode="vector_entry_point",
        threads=2,
        opponent="rnb",
        placement="r",
    )
    return _play(env, count)


def _play(env: gymnasium.vector.VectorEnv | Batch, count: int) -> Burst:
    if isinstance(env, Batch):
        env.reset(0)
        sample = env.sample_actions
    else:
        env.reset(seed=0)
        sample = env.unwrapped.sample_actions
    rounds = max(1, min(PLIES // count, 2000))

    def burst() -> int:
        for _ in range(rounds):
            env.step(sample())
        return rounds * count

    return burst


def sb3(name: str, count: int) -> Burst:
    """Many games from one seat through the VecEnv of Stable-Baselines3, masks asked for as MaskablePPO does."""
    from sb3_contrib.common.maskable.utils import get_action_masks

    from asobiba.api.sb3 import SB3VecEnv

    env = SB3VecEnv(game(name).ruleset(placement="r"), count, opponent="rnb", threads=2)
    env.reset()
    generator = np.random.default_rng(0)
    rounds = max(1, PLIES // 8 // count)

    def burst() -> int:
        for _ in range(rounds):
            masks = get_action_masks(env)
            env.step((masks * generator.random(masks.shape, np.float32)).argmax(1))
        return rounds * count

    return burst

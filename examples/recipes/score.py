"""The mean return of a network over games against the opponent, by its best legal actions."""

from collections.abc import Callable

import gymnasium
import numpy as np
import torch

import asobiba  # noqa: F401 - enters the games into Gymnasium's registry


def mean_return(game: str, opponent: str, logits: Callable, seed: int = 10_000, games: int = 1000) -> float:
    """The mean return of the first `games` finished games, from either seat.

    Args:
        game: a Gymnasium id, such as "asobiba/AnimalShogi-v0".
        opponent: the player of the other seat.
        logits: a function of observations, a `(n, size)` float32 tensor, that gives `(n, num_actions)` logits.
        seed: of the games.
        games: their number.
    """
    envs = gymnasium.make_vec(
        game, num_envs=100, vectorization_mode="vector_entry_point", opponent=opponent, autoreset_mode="SameStep"
    )
    observations, infos = envs.reset(seed=seed)
    returns: list[float] = []
    while len(returns) < games:
        with torch.no_grad():
            values = logits(torch.as_tensor(observations).float())
        legal = torch.as_tensor(infos["action_mask"]) == 1
        best = values.masked_fill(~legal, -torch.inf).argmax(1)
        observations, rewards, terminated, truncated, infos = envs.step(best.numpy())
        returns += rewards[terminated | truncated].tolist()
    envs.close()
    return float(np.mean(returns[:games]))

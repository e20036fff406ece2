"""Tianshou's PPO with masks, from one seat.

    python examples/recipes/tianshou_ppo.py --game asobiba/AnimalShogi-v0 --opponent random --steps 100000

Prints the mean return of 1,000 games by the best actions.
"""

import argparse

import gymnasium
import torch
from score import mean_return
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from torch import nn

from asobiba.api.masks import MaskedObservation


class Network(nn.Module):
    """Logits of legal actions, or a value, from observations with their masks."""

    def __init__(self, inputs: int, outputs: int, masked: bool, width: int = 128):
        super().__init__()
        self.masked = masked
        self.layers = nn.Sequential(
            nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, outputs)
        )

    def forward(self, obs, state=None, info=None):
        out = self.layers(torch.as_tensor(obs.observation, dtype=torch.float32))
        if not self.masked:
            return out
        return out.masked_fill(torch.as_tensor(obs.action_mask) == 0, -1e8), state


def make(game: str, opponent: str) -> gymnasium.Env:
    return MaskedObservation(gymnasium.make(game, opponent=opponent, dtype="float32"))


def learn(arguments: argparse.Namespace) -> nn.Module:
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    envs = DummyVectorEnv([lambda: make(arguments.game, arguments.opponent) for _ in range(arguments.envs)])
    one = make(arguments.game, arguments.opponent)
    size, actions = one.observation_space["observation"].shape[0], int(one.action_space.n)
    actor = Network(size, actions, masked=True)
    policy = DiscreteActorPolicy(actor=actor, action_space=one.action_space, observation_space=one.observation_space)
    ppo = PPO(
        policy=policy,
        critic=Network(size, 1, masked=False),
        optim=AdamOptimizerFactory(lr=1e-3),
        gamma=0.99,
        gae_lambda=0.95,
        ent_coef=0.01,
        max_grad_norm=0.5,
        advantage_normalization=True,
    )
    steps_at_once = 4096
    ppo.run_training(
        OnPolicyTrainerParams(
            training_collector=Collector(ppo, envs, VectorReplayBuffer(steps_at_once, arguments.envs)),
            test_collector=None,
            max_epochs=1,
            epoch_num_steps=arguments.steps,
            collection_step_num_env_steps=steps_at_once,
            update_step_num_repetitions=4,
            batch_size=512,
        )
    )
    return actor.layers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="asobiba/AnimalShogi-v0")
    parser.add_argument("--opponent", default="random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--envs", type=int, default=32)
    arguments = parser.parse_args()
    mean = mean_return(arguments.game, arguments.opponent, learn(arguments))
    print(f"mean return {mean:.3f} in 1,000 games")


if __name__ == "__main__":
    main()

"""TorchRL's PPO with masks, from one seat.

    python examples/recipes/torchrl_ppo.py --game asobiba/AnimalShogi-v0 --opponent random --steps 100000

Prints the mean return of the games of each batch, at the end that of 1,000 games by the best actions.
"""

import argparse

import gymnasium
import torch
from score import mean_return
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import DTypeCastTransform, GymWrapper, SerialEnv, TransformedEnv
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from asobiba.api.masks import MaskedObservation


def network(inputs: int, outputs: int, width: int = 128) -> nn.Module:
    return nn.Sequential(
        nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, outputs)
    )


def make(game: str, opponent: str) -> TransformedEnv:
    env = MaskedObservation(gymnasium.make(game, opponent=opponent, dtype="float32"))
    truths = DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    return TransformedEnv(GymWrapper(env, categorical_action_encoding=True), truths)


def learn(arguments: argparse.Namespace) -> nn.Module:
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    envs = SerialEnv(arguments.envs, lambda: make(arguments.game, arguments.opponent))
    envs.set_seed(arguments.seed)
    size, actions = envs.observation_spec["observation"].shape[-1], envs.observation_spec["action_mask"].shape[-1]
    policy, value = network(size, actions), network(size, 1)
    actor = ProbabilisticActor(
        TensorDictModule(policy, in_keys=["observation"], out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    critic = ValueOperator(value, in_keys=["observation"])
    loss = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=0.5)
    advantages = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    optimiser = torch.optim.Adam(loss.parameters(), lr=1e-3)
    collector = Collector(
        envs,
        actor,
        frames_per_batch=arguments.batch,
        total_frames=arguments.steps,
        auto_register_policy_transforms=True,
    )
    steps = 0
    for batch in collector:
        for _ in range(4):
            with torch.no_grad():
                advantages(batch)
            rows = batch.reshape(-1)
            for minibatch in torch.randperm(len(rows)).split(512):
                losses = loss(rows[minibatch])
                optimiser.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimiser.step()
        steps += batch.numel()
        over = batch["next", "done"]
        print(f"{steps:8,} steps  mean return {batch['next', 'reward'][over].mean():6.3f}", flush=True)
    collector.shutdown()
    return policy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="asobiba/AnimalShogi-v0")
    parser.add_argument("--opponent", default="random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--envs", type=int, default=32)
    parser.add_argument("--batch", type=int, default=4096, help="steps before each update")
    arguments = parser.parse_args()
    mean = mean_return(arguments.game, arguments.opponent, learn(arguments))
    print(f"mean return {mean:.3f} in 1,000 games")


if __name__ == "__main__":
    main()

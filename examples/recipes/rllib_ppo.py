"""RLlib's PPO (the new stack) with masks, from one seat.

    python examples/recipes/rllib_ppo.py --game asobiba/AnimalShogi-v0 --opponent random --steps 100000

Prints the mean return after each iteration, at the end that of 1,000 games by the best actions.
"""

import argparse

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env
from score import mean_return

from asobiba.api.masks import MaskedObservation


class ForRLlib(gymnasium.ObservationWrapper):
    """The names and types that RLlib's module for masks looks for."""

    def __init__(self, env: gymnasium.Env):
        super().__init__(MaskedObservation(env))
        size = self.env.observation_space["action_mask"].shape
        self.observation_space = spaces.Dict(
            {"action_mask": spaces.Box(0, 1, size, np.float32), "observations": env.observation_space}
        )

    def observation(self, observation: dict) -> dict:
        return {
            "action_mask": observation["action_mask"].astype(np.float32),
            "observations": observation["observation"],
        }


def learn(arguments: argparse.Namespace) -> torch.nn.Module:
    torch.set_num_threads(1)
    register_env(
        "seat", lambda _: ForRLlib(gymnasium.make(arguments.game, opponent=arguments.opponent, dtype="float32"))
    )
    config = (
        PPOConfig()
        .environment("seat")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=32)
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=ActionMaskingTorchRLModule,
                model_config={"fcnet_hiddens": [128, 128], "fcnet_activation": "tanh", "vf_share_layers": False},
            )
        )
        .training(
            train_batch_size_per_learner=4096,
            minibatch_size=512,
            num_epochs=4,
            lr=1e-3,
            gamma=0.99,
            lambda_=0.95,
            entropy_coeff=0.01,
            vf_loss_coeff=0.5,
            grad_clip=0.5,
        )
        .debugging(seed=arguments.seed, log_level="ERROR")
    )
    algorithm = config.build_algo()
    steps = 0
    while steps < arguments.steps:
        found = algorithm.train()["env_runners"]
        steps = int(found["num_env_steps_sampled_lifetime"])
        print(f"{steps:8,} steps  mean return {found['episode_return_mean']:6.3f}", flush=True)
    module = algorithm.get_module()
    algorithm.stop()
    return torch.nn.Sequential(module.encoder.actor_encoder.net, module.pi.net)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="asobiba/AnimalShogi-v0")
    parser.add_argument("--opponent", default="random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=100_000)
    arguments = parser.parse_args()
    mean = mean_return(arguments.game, arguments.opponent, learn(arguments))
    print(f"mean return {mean:.3f} in 1,000 games")


if __name__ == "__main__":
    main()

"""PPO with masks on PufferLib's emulation: flat observations in shared buffers, from one seat.

    python examples/recipes/pufferlib_ppo.py --game asobiba/AnimalShogi-v0 --opponent random --steps 100000

Prints the mean return of the last games, at the end that of 1,000 games by the best actions. The learner is that of
`cleanrl_ppo.py`.
"""

import gymnasium
import pufferlib.vector
import torch
from cleanrl_ppo import learn, parsed
from pufferlib.emulation import GymnasiumPufferEnv
from pufferlib.pytorch import nativize_dtype, nativize_tensor
from score import mean_return

from asobiba.api.masks import MaskedObservation


class Emulated:
    """PufferLib's vector environment, whose observations hold the masks, as `learn` calls environments."""

    def __init__(self, arguments, count):
        def make(buf=None, seed=0):
            env = gymnasium.make(arguments.game, opponent=arguments.opponent, dtype="float32")
            self.single_observation_space, self.single_action_space = env.observation_space, env.action_space
            return GymnasiumPufferEnv(env=MaskedObservation(env), buf=buf, seed=seed)

        self.envs = pufferlib.vector.make(make, backend="Serial", num_envs=count, seed=arguments.seed)
        self.form = nativize_dtype(self.envs.emulated)

    def unpacked(self, flat):
        # The buffer is written again by the next step.
        parts = nativize_tensor(torch.as_tensor(flat.copy()), self.form)
        return parts["observation"].numpy(), {"action_mask": parts["action_mask"].numpy()}

    def reset(self, seed):
        return self.unpacked(self.envs.reset(seed)[0])

    def step(self, actions):
        flat, rewards, terminals, truncations, _ = self.envs.step(actions)
        observations, infos = self.unpacked(flat)
        return observations, rewards.copy(), terminals.copy(), truncations.copy(), infos

    def close(self):
        self.envs.close()


def main():
    arguments = parsed(__doc__, steps=100_000, envs=32, minibatch=512)
    agent = learn(arguments, Emulated)
    mean = mean_return(arguments.game, arguments.opponent, lambda seen: agent.actor(agent.body(seen)))
    print(f"mean return {mean:.3f} in 1,000 games")


if __name__ == "__main__":
    main()

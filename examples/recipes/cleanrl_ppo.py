"""PPO with masks in one file, in the manner of CleanRL, on the vector environment.

    python examples/recipes/cleanrl_ppo.py --game asobiba/AnimalShogi-v0 --opponent random --steps 150000

Prints the mean return of the last games, at the end that of 1,000 games by the best actions.
"""

import argparse

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import asobiba  # noqa: F401 - enters the games into Gymnasium's registry

LEAST = -1e8  # logit of an illegal action


class Agent(nn.Module):
    def __init__(self, observation_size, actions, width=128):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observation_size, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.actor, self.critic = nn.Linear(width, actions), nn.Linear(width, 1)
        nn.init.orthogonal_(self.actor.weight, 0.01)

    def forward(self, observations, masks):
        hidden = self.body(observations.float())
        return Categorical(logits=self.actor(hidden).masked_fill(masks == 0, LEAST)), self.critic(hidden).squeeze(-1)


def make(arguments, count):
    return gymnasium.make_vec(
        arguments.game, num_envs=count, vectorization_mode="vector_entry_point", opponent=arguments.opponent,
        autoreset_mode="SameStep",
    )  # fmt: skip


def learn(arguments, make=make):
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    envs = make(arguments, arguments.envs)
    agent = Agent(envs.single_observation_space.shape[0], int(envs.single_action_space.n))
    optimiser = torch.optim.Adam(agent.parameters(), lr=arguments.learning_rate, eps=1e-5)
    length, n = arguments.rollout, arguments.envs
    observations, infos = envs.reset(seed=arguments.seed)
    returns = []
    for update in range(arguments.steps // (length * n)):
        seen, masks, taken, log_probs, values, rewards, ends = ([] for _ in range(7))
        for _ in range(length):
            looked, mask = torch.as_tensor(observations), torch.as_tensor(infos["action_mask"])
            with torch.no_grad():
                policy, value = agent(looked, mask)
                action = policy.sample()
            observations, reward, terminated, truncated, infos = envs.step(action.numpy())
            over = terminated | truncated  # games end with their reward: a truncated one is taken as ended too
            returns += reward[over].tolist()
            for kept, item in zip(
                (seen, masks, taken, log_probs, values, rewards, ends),
                (looked.clone(), mask.clone(), action, policy.log_prob(action), value, torch.as_tensor(reward).float(), torch.as_tensor(over).float()),
            ):  # fmt: skip
                kept.append(item)
        with torch.no_grad():
            _, following = agent(torch.as_tensor(observations), torch.as_tensor(infos["action_mask"]))
        advantages, later = [], torch.zeros(n)
        for t in reversed(range(length)):
            delta = rewards[t] + arguments.gamma * following * (1 - ends[t]) - values[t]
            later = delta + arguments.gamma * arguments.trace * (1 - ends[t]) * later
            advantages.insert(0, later)
            following = values[t]
        batch = [torch.cat(part) for part in (seen, masks, taken, log_probs, values, advantages)]
        improve(agent, optimiser, batch, arguments)
        if update % 10 == 9:
            print(f"{(update + 1) * length * n:8,} steps  mean return {np.mean(returns[-500:]):6.3f}", flush=True)
    envs.close()
    return agent


def improve(agent, optimiser, batch, arguments):
    seen, masks, taken, log_probs, values, advantages = batch
    targets = advantages + values
    for _ in range(arguments.epochs):
        for rows in torch.randperm(len(taken)).split(arguments.minibatch):
            policy, value = agent(seen[rows], masks[rows])
            ratio = (policy.log_prob(taken[rows]) - log_probs[rows]).exp()
            gain = (advantages[rows] - advantages[rows].mean()) / (advantages[rows].std() + 1e-8)
            clipped = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            loss = -clipped + 0.5 * (value - targets[rows]).pow(2).mean() - arguments.entropy * policy.entropy().mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimiser.step()


def evaluate(agent, arguments, games=1000):
    """The mean return of the first so many finished games, by the best legal actions."""
    envs = make(arguments, 100)
    observations, infos = envs.reset(seed=arguments.seed + 10_000)
    returns = []
    while len(returns) < games:
        with torch.no_grad():
            policy, _ = agent(torch.as_tensor(observations), torch.as_tensor(infos["action_mask"]))
        observations, reward, terminated, truncated, infos = envs.step(policy.logits.argmax(1).numpy())
        returns += reward[terminated | truncated].tolist()
    envs.close()
    return float(np.mean(returns[:games]))


def parsed(words, **defaults):
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("--game", default="asobiba/AnimalShogi-v0")
    parser.add_argument("--opponent", default="random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=150_000)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--rollout", type=int, default=64)
    parser.add_argument("--minibatch", type=int, default=1024)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--trace", type=float, default=0.95)
    parser.add_argument("--entropy", type=float, default=0.01)
    parser.set_defaults(**defaults)
    return parser.parse_args()


def main():
    arguments = parsed(__doc__)
    mean = evaluate(learn(arguments), arguments)
    print(f"mean return {mean:.3f} in 1,000 games")


if __name__ == "__main__":
    main()

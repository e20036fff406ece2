"""The peers' side of the benchmark: the same random legal play on the environments of other libraries."""

from __future__ import annotations

import random

import numpy as np
from timing import Burst

BURST = 2000
PGX_STEPS = 4
number = random.Random(0).random
"""One generator for all loops: what is compared are environments, not ways to draw a number."""


def draw(mask: np.ndarray) -> np.int64:
    """A random legal action of a mask, as cheaply as Python can."""
    legal = mask.nonzero()[0]
    return legal[int(number() * len(legal))]


def pettingzoo_aec(name: str) -> Burst:
    """PettingZoo's classic game through AEC: last(), a draw among the legal actions, step()."""
    import pettingzoo

    env = pettingzoo.make("aec", f"classic/{name}")
    return aec(env)


def aec(env) -> Burst:
    """Random legal play of any AEC environment; legal play where observations carry an action mask."""
    env.reset(seed=0)
    spaces = {agent: env.action_space(agent) for agent in env.possible_agents}
    for i, space in enumerate(spaces.values()):
        space.seed(i)

    def burst() -> int:
        for _ in range(BURST):
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.reset()
                observation, *_ = env.last()
            space = spaces[env.agent_selection]
            masked = isinstance(observation, dict) and "action_mask" in observation
            env.step(draw(observation["action_mask"]) if masked else space.sample())
        return BURST

    return burst


def gymnasium_single(env) -> Burst:
    """Random play of a Gymnasium environment; legal play where `info` has an action mask."""
    _, info = env.reset(seed=0)
    env.action_space.seed(0)
    masked = "action_mask" in info
    sample = env.action_space.sample

    def burst() -> int:
        nonlocal info
        for _ in range(BURST):
            action = draw(info["action_mask"]) if masked else sample()
            _, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                _, info = env.reset()
        return BURST

    return burst


def replayed_seat(env) -> Burst:
    """The steps of a Gymnasium environment alone: the actions of a first run, in games from the same seed."""
    generator = random.Random(0)
    actions: list[int | None] = []
    _, info = env.reset(seed=0)
    for _ in range(BURST):
        actions.append(generator.choice(info["action_mask"].nonzero()[0].tolist()))
        _, _, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            actions.append(None)
            _, info = env.reset()

    def burst() -> int:
        env.reset(seed=0)
        step = env.step
        for action in actions:
            if action is None:
                env.reset()
            else:
                step(action)
        return BURST

    return burst


def replayed_aec(env) -> Burst:
    """The steps of an AEC environment alone, `last()` and `step()`: as `replayed_seat`."""
    generator = random.Random(0)
    actions: list[int | None] = []
    env.reset(seed=0)
    for _ in range(BURST):
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            actions.append(None)
            env.reset()
            observation, *_ = env.last()
        actions.append(generator.choice(observation["action_mask"].nonzero()[0].tolist()))
        env.step(actions[-1])

    def burst() -> int:
        env.reset(seed=0)
        step, last = env.step, env.last
        for action in actions:
            last()
            if action is None:
                env.reset()
            else:
                step(action)
        return BURST

    return burst


def replayed_openspiel(name: str, observation: bool) -> Burst:
    """The steps of OpenSpiel's game alone, legal actions and tensor as in `openspiel`: as `replayed_seat`."""
    import pyspiel

    game = pyspiel.load_game(name)
    generator, games = random.Random(0), []
    while sum(map(len, games)) < BURST:
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(generator.choice(state.legal_actions()))
        games.append(state.history())
    steps = sum(map(len, games))

    def burst() -> int:
        for actions in games:
            state = game.new_initial_state()
            for action in actions:
                state.legal_actions()
                state.apply_action(action)
                if observation and not state.is_terminal():
                    state.observation_tensor(state.current_player())
        return steps

    return burst


def cartpole() -> Burst:
    """Gymnasium's CartPole-v1, one environment."""
    import gymnasium

    return gymnasium_single(gymnasium.make("CartPole-v1"))


def openspiel(name: str, observation: bool) -> Burst:
    """OpenSpiel's game driven from Python: legal actions, a random one, apply, and the tensor of the player to move."""
    import pyspiel

    game = pyspiel.load_game(name)
    if game.get_type().provides_observation_tensor:
        tensor = "observation_tensor"
    else:
        tensor = "information_state_tensor"

    def burst() -> int:
        steps = 0
        while steps < BURST:
            state = game.new_initial_state()
            while not state.is_terminal():
                legal = state.legal_actions()
                state.apply_action(legal[int(number() * len(legal))])
                if observation and not state.is_terminal():
                    getattr(state, tensor)(state.current_player())
                steps += 1
        return steps

    return burst


def pgx(name: str, batch: int) -> Burst:
    """Pgx's environment on the CPU: legal sampling, step and its automatic reset, compiled together, some steps a call.

    Raises `ImportError` where Pgx is not installed: `pip install pgx jax`.
    """
    import jax
    import jax.numpy as jnp
    import pgx as library
    from pgx.experimental import auto_reset

    env = library.make(name)
    step = jax.vmap(auto_reset(env.step, env.init))

    def play(carry, _):
        state, key = carry
        key, draw, chance = jax.random.split(key, 3)
        action = jax.random.categorical(draw, jnp.where(state.legal_action_mask, 0.0, -jnp.inf), axis=-1)
        return (step(state, action, jax.random.split(chance, batch)), key), None

    @jax.jit
    def advance(carry):
        return jax.lax.scan(play, carry, None, length=PGX_STEPS)[0]

    key = jax.random.PRNGKey(0)
    carry = jax.jit(jax.vmap(env.init))(jax.random.split(key, batch)), key

    def burst() -> int:
        nonlocal carry
        carry = advance(carry)
        carry[0].observation.block_until_ready()
        return PGX_STEPS * batch

    return burst

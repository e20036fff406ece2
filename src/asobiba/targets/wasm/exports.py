"""The exports of a module: a game's rules, from the loops that run natively (`asobiba.core.engine`), and agents'
policies.

| export | arguments after the number of rows |
|---|---|
| `new` | states, params, blank, seed: starting positions; game `i` has seed `seed + i` |
| `seed` | states, seed: starts their generators afresh, in the same way |
| `reset` | states, params, blank: new episodes, whose generators go on |
| `legal` | states, params, masks |
| `step` | states, params, actions, masks: the laws of every game around `step`; `masks` are those before it |
| `observe` | states, params, players, observations |
| `hide` | states, params, players: what a player may see, in place |
| `resample` | states, params, players: full states that a player's view can be, in place (games of hidden information) |
| `valid` | states, params, found: 1 where a record is a state of the game |
| `sample` | states, params, masks, samplers, actions: a uniform legal action each (discrete actions of games in turns) |
| `digest` | data, size, scratch, out: BLAKE2b of so many bytes |
| `agent_seed` | memories, seed, seat: starts an agent's generator for a game |
| `act_NUMBER` | views, params, masks, memories, actions: the answers of an agent that is a kernel |
| `act_NUMBER` | views, params, masks, the agent's own arrays, action: the answer of another to the first view |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from asobiba.core.agents import KernelAgent, Thinking
from asobiba.core.engine import engine_for
from asobiba.core.game import Ruleset
from asobiba.core.random import begin_memory, seed_record
from asobiba.core.record import SAMPLER
from asobiba.targets.wasm.digest import WORK, blake2b
from asobiba.targets.wasm.objects import ArrayOf, Export

_INTEGERS, _BYTES = np.dtype(np.int64), np.dtype(np.uint8)


def seed_each(states, seed):
    """Starts the generators of `(n,)` records as those of games with the seeds `seed`, `seed + 1`, ..."""
    for i in range(states.shape[0]):
        seed_record(states[i], seed + np.uint64(i))


def seed_memories(memories, seed, seat):
    """Starts the generators of agents' memories."""
    for i in range(memories.shape[0]):
        begin_memory(memories[i], seed, seat)


def write_digest(data, size, work, out):
    """See `asobiba.targets.wasm.digest`."""
    blake2b(data, size, work, out)


def _new(begin_all: Any) -> Callable[..., None]:
    def new(states, params, blank, seed):
        for i in range(states.shape[0]):
            seed_record(states[i], seed + np.uint64(i))
        begin_all(states, params, blank)

    return new


def _asking(policy: Any, discrete: bool) -> Callable[..., None]:
    def ask(views, params, masks, memories, actions):
        for i in range(views.shape[0]):
            actions[i] = np.int64(policy(views[i], params[0], masks[i], memories[i]))

    def ask_for_floats(views, params, masks, memories, actions):
        for i in range(views.shape[0]):
            policy(views[i], params[0], masks[i], memories[i], actions[i])

    return ask if discrete else ask_for_floats


def rules_exports(ruleset: Ruleset) -> tuple[Export, ...]:
    """The rules of a game, for records and arrays of this ruleset's layout."""
    engine = engine_for(ruleset.game)
    states, blank = ArrayOf(ruleset.dtype), ArrayOf(ruleset.dtype, rows=1)
    params = ArrayOf(ruleset.params.dtype, rows=1)
    masks = ArrayOf(np.dtype(np.int8), ruleset.mask_shape)
    actions = ArrayOf(ruleset.action_dtype, ruleset.actions_shape)
    players = ArrayOf(_INTEGERS)
    observations = ArrayOf(ruleset.observation_space.dtype, (ruleset.observation_size,))
    found = [
        Export("new", _new(engine.begin_all), (states, params, blank, np.dtype(np.uint64))),
        Export("seed", seed_each, (states, np.dtype(np.uint64))),
        Export("reset", engine.begin_all, (states, params, blank)),
        Export("legal", engine.write_masks, (states, params, masks)),
        Export("step", engine.advance_all, (states, params, actions, masks)),
        Export("observe", engine.observe_all, (states, params, players, observations)),
        Export("hide", engine.hide_all, (states, params, players)),
        Export("valid", engine.valid_all, (states, params, ArrayOf(_BYTES))),
        Export(
            "digest",
            write_digest,
            (ArrayOf(_BYTES), np.dtype(np.int32), ArrayOf(np.dtype(np.uint64), rows=WORK), ArrayOf(_BYTES, rows=64)),
        ),
        Export("agent_seed", seed_memories, (ArrayOf(SAMPLER), np.dtype(np.uint64), np.dtype(np.int32))),
    ]
    if ruleset.hidden:
        found.append(Export("resample", engine.resample_all, (states, params, players)))
    if ruleset.discrete and not ruleset.simultaneous:
        found.append(Export("sample", engine.sample_all, (states, params, masks, ArrayOf(SAMPLER), actions)))
    return tuple(found)


def _mask_row(ruleset: Ruleset) -> ArrayOf:
    return ArrayOf(np.dtype(np.int8), (ruleset.num_actions if ruleset.discrete else 0,))


def agent_export(ruleset: Ruleset, agent: KernelAgent, name: str) -> Export:
    """The policy of an agent, for views of this ruleset's layout and memories of the agent's."""
    return Export(
        name,
        _asking(agent.policy, ruleset.discrete),
        (
            ArrayOf(ruleset.dtype),
            ArrayOf(ruleset.params.dtype, rows=1),
            _mask_row(ruleset),
            ArrayOf(agent.memory_dtype),
            ArrayOf(ruleset.action_dtype, tuple(ruleset.action_space.shape or ())),
        ),
    )


def thinking_export(ruleset: Ruleset, thinking: Thinking, name: str) -> Export:
    """The compiled function of an agent that is not a kernel: view, parameters, mask, the agent's arrays, action."""
    arrays = [ArrayOf(one.dtype, one.shape[1:], rows=len(one)) for one in thinking.arrays.values()]
    params = ArrayOf(ruleset.params.dtype, rows=1)
    action = ArrayOf(ruleset.action_dtype, tuple(ruleset.action_space.shape or ()), rows=1)
    return Export(name, thinking.function, (ArrayOf(ruleset.dtype), params, _mask_row(ruleset), *arrays, action))

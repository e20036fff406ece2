"""Games on Numba's CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 python -W ignore tests/cuda_simulator.py STEPS GAME ...`
plays a random game in each of a few threads of a CUDA kernel and prints a digest of the final states."""

from __future__ import annotations

import hashlib
import sys

import numpy as np
from numba import cuda

from asobiba import game
from asobiba.core.laws import close_step, has_ended
from asobiba.core.random import Stream, random_legal, random_uniform, seed_record
from asobiba.core.record import SAMPLER

THREADS = 2


def digest(states: np.ndarray) -> str:
    return hashlib.sha256(states.tobytes()).hexdigest()[:16]


def kernel(ruleset, steps):
    """A CUDA kernel; each thread plays a game as `Batch` plays it with actions that it samples."""
    rules, box = ruleset.game.rules, ruleset.action_space
    joint, discrete, whole = ruleset.simultaneous, ruleset.discrete, bool(ruleset.actions_shape)

    def drawn(s, p, mask, actions, sampler):
        if not discrete:
            for row in actions if joint else (actions,):
                for k in range(row.shape[0]):
                    row[k] = box.low.flat[k] + (box.high.flat[k] - box.low.flat[k]) * random_uniform(sampler)
            return
        if hasattr(rules, "random_action") and not joint:
            actions[0] = rules.random_action(s, p, sampler)
            return
        rules.legal(s, p, mask)
        if joint:
            for k in range(mask.shape[0]):
                actions[k] = random_legal(sampler, mask[k])
        else:
            actions[0] = random_legal(sampler, mask)

    @cuda.jit
    def play(states, params, masks, actions, samplers):
        i = cuda.grid(1)
        s, p = states[i], params[0]
        seed_record(s, i + 1, int(Stream.GAME))
        seed_record(samplers[i], i + 1, int(Stream.SAMPLER))
        rules.reset(s, p)
        for _ in range(steps):
            for k in range(s.rewards.shape[0]):
                s.rewards[k] = 0
            if has_ended(s):
                continue
            drawn(s, p, masks[i], actions[i], samplers[i])
            rules.step(s, p, actions[i] if whole else actions[i][0])
            close_step(s, p)

    return play


def played(name: str, steps: int) -> str:
    ruleset = game(name).ruleset()
    states, samplers = ruleset.zeros(THREADS), np.zeros(THREADS, SAMPLER).view(np.recarray)
    masks = np.zeros((THREADS, *ruleset.mask_shape), np.int8)
    actions = np.zeros((THREADS, *(ruleset.actions_shape or (1,))), ruleset.action_dtype)
    kernel(ruleset, steps)[1, THREADS](states, ruleset.params, masks, actions, samplers)
    return digest(states)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        print(name, played(name, int(sys.argv[1])), flush=True)

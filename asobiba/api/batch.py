"""Many games at once in the compiled engine: what the vector environments, training and evaluation stand on."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np

from asobiba.core.errors import GameParameterError, IllegalAction
from asobiba.core.game import Ruleset
from asobiba.core.kernels import compiled, entry_point
from asobiba.core.laws import AUTORESET_DISABLED, AUTORESET_NEXT_STEP, AUTORESET_SAME_STEP
from asobiba.core.random import random_legal, seed_keys
from asobiba.core.state import SAMPLER, outcome_dtype
from asobiba.core.states import require_legal

# As in the engine's modules: rows of arrays are lent without counting references to them.
_inner = numba.njit(error_model="numpy", nogil=True, _nrt=False, forceinline=True)  # type: ignore[call-overload]
_random_legal = _inner(getattr(random_legal, "py_func", random_legal))
BEGIN, STEP, STEP_BLIND, OBSERVE = 0, 1, 2, 3
_MODES = {"disabled": AUTORESET_DISABLED, "next_step": AUTORESET_NEXT_STEP, "same_step": AUTORESET_SAME_STEP}
_RECYCLED, _WORTH_THREADS = 8, 256
_forked = False


def _after_fork() -> None:
    global _forked
    _forked = _used_threads


_used_threads = False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def require_threads() -> None:
    """To be called before compiled code that runs threads.

    Raises:
        RuntimeError: in a process that was forked from one that had already run compiled threads: GNU OpenMP would
            kill it. Start such processes with "spawn" or "forkserver".
    """
    global _used_threads
    if _forked:
        raise RuntimeError(
            "This process was forked from one that had already run asobiba's compiled threads, which cannot work. "
            'Start worker processes with multiprocessing.get_context("spawn") or "forkserver".'
        )
    _used_threads = True


@_inner
def _sample_games(begin, end, masks, samplers, actions):
    for i in range(begin, end):
        actions[i] = _random_legal(samplers[i], masks[i])


@compiled()
def _sample(masks, samplers, actions):
    _sample_games(0, masks.shape[0], masks, samplers, actions)


@compiled(parallel=True)
def _sample_in_threads(threads, masks, samplers, actions):
    for thread in numba.prange(threads):
        begin = np.int64(thread) * masks.shape[0] // threads
        end = (np.int64(thread) + 1) * masks.shape[0] // threads
        _sample_games(begin, end, masks, samplers, actions)


@compiled()
def _sample_joint(masks, samplers, actions):
    for i in range(masks.shape[0]):
        for k in range(masks.shape[1]):
            actions[i, k] = _random_legal(samplers[i], masks[i, k])


class Recycler:
    """Hands out arrays of one shape; one is written again only when nobody else holds it any more."""

    def __init__(self, shape: tuple[int, ...], dtype: Any):
        self._shape, self._dtype = shape, np.dtype(dtype)
        self._arrays = [np.zeros(shape, dtype)]
        self._free = sys.getrefcount(self._arrays[0])

    def take(self) -> Any:
        """An array that nobody else holds; its contents are arbitrary."""
        arrays = self._arrays
        for k in range(len(arrays)):
            if sys.getrefcount(arrays[k]) <= self._free:
                return arrays[k]
        array = np.zeros(self._shape, self._dtype)
        if len(arrays) < _RECYCLED:
            arrays.append(array)
        return array

    def __deepcopy__(self, memo: dict[int, Any]) -> Recycler:
        return Recycler(self._shape, self._dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return Recycler, (self._shape, self._dtype)


class Batch:
    """`num_envs` games of one ruleset, stepped together; whoever is to move in each game acts.

    Every array is allocated once and written in place by each call; copy what you keep, or set `recycle`.
    A step is one call of compiled code.

    Args:
        ruleset: the game with its parameters.
        num_envs: number of games.
        autoreset: "next_step", "same_step" or "disabled", as in Gymnasium's vector environments.
        threads: number of threads, from 1 to `NUMBA_NUM_THREADS` (all cores, unless that environment variable says
            otherwise); `None` takes one for fewer than 256 games, else all. The results do not depend on it.
        params: parameter records, `(1,)` for all games or `(num_envs,)`, one for each (domain randomisation); by
            default the ruleset's.
        strict: whether an illegal action raises `IllegalAction` instead of ending its game.
        recycle: `observations`, `masks` and what is told of a step become other arrays where somebody else holds them,
            so that what a caller keeps is never overwritten, without copying.

    Attributes:
        states: `(n,)` records.
        masks: `(n, num_actions)` int8, the mover's legal actions; `(n, players, num_actions)` where all act at once.
        observations: `(n, observation_size)`, the mover's view; `(n, players, size)` where all act at once.
        outcomes: `(n,)` records of what follows, which are views of its fields:
        rewards: `(n, players)` float32 of the last step.
        gains: `(n,)` float32, the reward of the player who acted in the last step (player 0's where all act).
        movers: `(n,)` int8, who acted in the last step.
        terminated, truncated: `(n,)` bool of the last step.
        reasons: `(n,)` uint8, index into `asobiba.core.state.END_REASONS`.
        finals: like `observations`; after a step with `autoreset="same_step"`, the rows of games that ended hold
            their last observation.
        final_states: like `states`; the last records of these games.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        num_envs: int,
        *,
        autoreset: str = "next_step",
        threads: int | None = None,
        params: np.ndarray | None = None,
        strict: bool = False,
        recycle: bool = False,
    ):
        if num_envs < 1:
            raise GameParameterError(f"num_envs must be at least 1, not {num_envs}")
        if autoreset not in _MODES:
            raise GameParameterError(f"autoreset must be one of {', '.join(_MODES)}, not {autoreset!r}")
        most_threads: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
        if threads is not None and not 1 <= threads <= most_threads:
            raise GameParameterError(f"threads must lie between 1 and {most_threads}, not {threads}")
        self.ruleset = ruleset
        self.num_envs = n = int(num_envs)
        self.autoreset = autoreset
        self.mode = _MODES[autoreset]
        self.threads = threads or (1 if n < _WORTH_THREADS else most_threads)
        self.strict = strict
        self.params = self._checked_params(params)
        players = ruleset.num_players
        dtype = ruleset.observation_space.dtype
        self.states = ruleset.zeros(n)
        self._mask_arrays = Recycler((n, *ruleset.mask_shape), np.int8)
        self._observation_arrays = Recycler((n, *ruleset.observations_shape), dtype)
        self.recycle = recycle
        self.masks = self._mask_arrays.take()
        self.observations = self._observation_arrays.take()
        self.finals = np.zeros(
            self.observations.shape if autoreset == "same_step" else self.observations[:1].shape, dtype
        )
        self.final_states = ruleset.zeros(n if autoreset == "same_step" else 1)
        self._outcome_arrays = Recycler((n,), outcome_dtype(players))
        self.outcomes = self._outcome_arrays.take()
        self.viewers = np.full(n, -1, np.int8)
        self.actions = np.zeros((n, *ruleset.actions_shape), ruleset.action_dtype)
        self._everywhere = np.ones(n, np.uint8)
        self.samplers = np.zeros(n, SAMPLER)
        self._bind()
        self.seed(0)

    def _checked_params(self, params: np.ndarray | None) -> np.ndarray:
        own = self.ruleset.params
        if params is None:
            return own
        params = np.ascontiguousarray(params)
        if params.dtype != own.dtype or params.shape not in ((1,), (self.num_envs,)):
            raise GameParameterError(
                f"params must be an array of shape (1,) or ({self.num_envs},) of the dtype of Ruleset.params, "
                f"not {params.shape} of {params.dtype}"
            )
        return params

    def bind(self, alone: Any, in_threads: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """The machine code to call with arguments of these types: `alone`, or `in_threads` with the threads before."""
        if self.threads == 1:
            return entry_point(alone, arguments)
        return partial(entry_point(in_threads, (self.threads, *arguments)), self.threads)

    def _bind(self) -> None:
        self.engine = self.ruleset.engine
        self._blank = self.ruleset.zeros()
        self._run: Any = None
        self._sample: Any = None

    @property
    def rewards(self) -> np.ndarray:
        return self.outcomes["rewards"]

    @property
    def gains(self) -> np.ndarray:
        return self.outcomes["gain"]

    @property
    def movers(self) -> np.ndarray:
        return self.outcomes["mover"]

    @property
    def terminated(self) -> np.ndarray:
        return self.outcomes["terminated"]

    @property
    def truncated(self) -> np.ndarray:
        return self.outcomes["truncated"]

    @property
    def reasons(self) -> np.ndarray:
        return self.outcomes["end_reason"]

    def seed(self, seed: int, offset: int = 0) -> None:
        """Game `i` plays as a single environment that is reset with `seed + i`."""
        seeds = (np.arange(self.num_envs, dtype=np.uint64) + np.uint64(offset)) + np.uint64(int(seed) & (2**64 - 1))
        self.states["rng_key"] = seed_keys(seeds, 0)
        self.states["rng_counter"] = 0
        self.samplers["rng_key"] = seed_keys(seeds, 2)
        self.samplers["rng_counter"] = 0

    def reset(self, seed: int | None = None, select: np.ndarray | None = None) -> np.ndarray:
        """Begins new episodes, in all games or where `select` (`(n,)` bool) is set; returns the observations.

        Without a seed every game's generator goes on.
        """
        if seed is not None:
            self.seed(seed)
        select = self._everywhere if select is None else np.ascontiguousarray(select, np.uint8)
        self.exchange(keep=select is not self._everywhere)
        self.run(BEGIN, select)
        self.outcomes[select != 0] = 0
        return self.observations

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Applies one action in every game, `(n,)` integers (or `(n, ...)` as the action space says).

        Returns the observations; rewards, flags and masks stand in the attributes. With `autoreset="next_step"` the
        step after the end begins the next episode and ignores its action; with "disabled" a finished game stands
        still until it is reset.

        Raises:
            IllegalAction: in strict mode, naming the first illegal action.
        """
        if actions is not self.actions:
            self.take_actions(actions)
        if self.strict:
            self.require_legal()
        masks = self.masks
        self.exchange()
        self.run(STEP, masks=masks)
        return self.observations

    def exchange(self, keep: bool = False) -> None:
        """Where `recycle` is set, puts arrays that nobody holds in the place of those that somebody may hold.

        What they contain is copied if `keep` is set, else arbitrary.
        """
        if not self.recycle:
            return
        kept = (self.masks, self.observations, self.outcomes) if keep else None
        self.masks = self._mask_arrays.take()
        # What nobody else holds is let go first, so that it is taken again while the processor's cache has it.
        self.observations = self.outcomes = None
        self.observations = self._observation_arrays.take()
        self.outcomes = self._outcome_arrays.take()
        if kept is not None:
            self.masks[...], self.observations[...], self.outcomes[...] = kept

    def take_actions(self, actions: np.ndarray) -> None:
        """Copies actions into `Batch.actions`. Raises `IllegalAction` for another shape or dtype."""
        given = np.asarray(actions)
        if given.shape != self.actions.shape or not np.can_cast(given.dtype, self.actions.dtype, "same_kind"):
            raise IllegalAction(
                f"{self.num_envs} games of {self.ruleset.game.name} take actions of shape {self.actions.shape} "
                f"and dtype {self.actions.dtype}, not of shape {given.shape} and dtype {given.dtype}"
            )
        self.actions[...] = given

    def require_legal(self) -> None:
        """Raises `IllegalAction` if an action in `Batch.actions` is illegal."""
        for i in range(self.num_envs):
            state = self.states[i]
            if not (state["terminated"] or state["truncated"]):
                require_legal(self.ruleset, state, self.masks[i], self.actions[i])

    def run(
        self, op: int, select: np.ndarray | None = None, mode: int | None = None, masks: np.ndarray | None = None
    ) -> None:
        """One compiled call over the games (see `templates/game.py.txt`)."""
        if self.threads > 1:
            require_threads()
        arguments = (
            op,
            self.mode if mode is None else mode,
            self._everywhere if select is None else select,
            self.states,
            self.params,
            self._blank,
            self.actions,
            self.viewers,
            self.masks if masks is None else masks,
            self.masks,
            self.observations,
            self.outcomes,
            self.finals,
            self.final_states,
        )
        if self._run is None:
            self._run = self.bind(self.engine.run_batch, self.engine.run_batch_in_threads, arguments)
        self._run(*arguments)

    def sample_actions(self) -> np.ndarray:
        """A uniform legal action for every game (`Batch.actions`, overwritten by the next call).

        Every game draws from its own generator, which `seed` starts. Finished games get -1. Continuous actions are
        uniform over the box.
        """
        if not self.ruleset.discrete:
            box: Any = self.ruleset.action_space
            unit = np.random.Generator(
                np.random.Philox(int(self.samplers["rng_key"][0] ^ self.samplers["rng_counter"][0]))
            )
            self.samplers["rng_counter"] += np.uint64(1)
            self.actions[...] = box.low + (box.high - box.low) * unit.random(self.actions.shape)
        elif self.ruleset.simultaneous:
            _sample_joint(self.masks, self.samplers, self.actions)
        else:
            if self.threads > 1:
                require_threads()
            arguments = (self.masks, self.samplers, self.actions)
            if self._sample is None:
                self._sample = self.bind(_sample, _sample_in_threads, arguments)
            self._sample(*arguments)
        return self.actions

    def refresh(self) -> None:
        """Writes masks and observations again, after `states` were changed from outside."""
        self.run(OBSERVE)

    def set_states(self, states: np.ndarray | np.void, select: Any = slice(None)) -> None:
        """Puts copies of state records into the games (all, or those of an index)."""
        if np.asarray(states).dtype != self.states.dtype:
            raise GameParameterError(f"these records are no states of {self.ruleset!r}")
        self.states[select] = states
        self.exchange()
        self.refresh()
        self.terminated[...] = self.states["terminated"] != 0
        self.truncated[...] = self.states["truncated"] != 0
        self.reasons[...] = self.states["end_reason"]

    def clone(self) -> Batch:
        """A batch that shares nothing with this one and continues identically."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        derived = ("engine", "_blank", "_run", "_sample")
        return {key: value for key, value in self.__dict__.items() if key not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

"""Many games at once in the compiled engine: the base of the environments, training, evaluation and leagues."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numba
import numpy as np

from asobiba.core.direct import Direct
from asobiba.core.errors import GameParameterError, IllegalAction
from asobiba.core.game import Ruleset
from asobiba.core.handover import Handover, address_of
from asobiba.core.kernels import compiled, entry_point
from asobiba.core.laws import DISABLED, NEXT_STEP, SAME_STEP
from asobiba.core.loops.arrays import NO_AGENTS, Games, Table
from asobiba.core.loops.games import BEGIN, OBSERVE, STEP, STEP_BLIND
from asobiba.core.random import Stream, random_legal, random_uniform, seed_keys
from asobiba.core.record import SAMPLER, outcome_dtype
from asobiba.core.states import as_seed, require_legal, require_valid
from asobiba.core.targets import COMPILES, INLINED, again, most_threads, part

__all__ = [
    "BEGIN",
    "OBSERVE",
    "STEP",
    "STEP_BLIND",
    "Batch",
    "Recycler",
    "checked_count",
    "checked_select",
    "require_threads",
]

# As in the loops over games: rows of arrays are lent without counting references to them.
_inner = part(**INLINED)
_random_legal = again(random_legal, **INLINED)
_random_uniform = again(random_uniform, **INLINED)
_MODES = {"disabled": DISABLED, "next_step": NEXT_STEP, "same_step": SAME_STEP}
_RECYCLED, _WORTH_THREADS = 8, 256
_RECYCLED_FIELDS = ("masks", "new_masks", "observations", "outcomes")
_LOOSE = tuple(1 + Games._fields.index(name) for name in _RECYCLED_FIELDS)
"""The arrays of a call, counted from `select`, that may be different ones in each step."""
_forked = False


def _after_fork() -> None:
    global _forked
    _forked = _used_threads


_used_threads = False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def require_threads() -> None:
    """Checks that this process may run threads; to be called before compiled code that does.

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


@compiled()
def _sample_box(low, high, samplers, actions):
    # actions: (n, numbers); low and high repeat for each player of a joint action.
    for i in range(actions.shape[0]):
        for j in range(actions.shape[1]):
            k = j % low.shape[0]
            actions[i, j] = low[k] + (high[k] - low[k]) * _random_uniform(samplers[i])


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def checked_count(num_envs: Any) -> int:
    """A number of games. Raises `GameParameterError` for anything but a whole number from 1."""
    if not _is_whole(num_envs) or num_envs < 1:
        raise GameParameterError(f"num_envs must be a whole number of at least 1, not {num_envs!r}")
    return int(num_envs)


def checked_select(select: Any, count: int) -> np.ndarray:
    """Selection among `count` games, as `(count,)` uint8. Raises `GameParameterError` for another shape or dtype."""
    given = np.asarray(select)
    if given.shape != (count,) or given.dtype.kind not in "biu":
        raise GameParameterError(
            f"select must be a ({count},) array of bool, one for each game, not of shape {given.shape} and dtype "
            f"{given.dtype}"
        )
    return np.ascontiguousarray(given != 0).view(np.uint8)


class Recycler:
    """Hands out arrays of one shape; an array is written again only when nobody else holds it."""

    def __init__(self, shape: tuple[int, ...], dtype: Any):
        self._shape, self._dtype = shape, np.dtype(dtype)
        self._arrays = [np.zeros(shape, dtype)]
        self._addresses = [address_of(self._arrays[0])]
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
            self._addresses.append(address_of(array))
        return array

    def address(self, array: np.ndarray) -> int:
        """The address of an array that may be one of these."""
        for k, one in enumerate(self._arrays):
            if one is array:
                return self._addresses[k]
        return address_of(array)

    def __deepcopy__(self, memo: dict[int, Any]) -> Recycler:
        return Recycler(self._shape, self._dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return Recycler, (self._shape, self._dtype)


class Batch:
    """`num_envs` games of one ruleset, stepped together; in each game the player to move acts.

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
        recycle: `observations`, `masks` and the results of a step become new arrays where a caller still holds the old
            ones, so that arrays a caller keeps are never overwritten, without copying.

    Attributes:
        states: `(n,)` records.
        masks: `(n, num_actions)` int8, the mover's legal actions; `(n, seats, num_actions)` where several may act at once.
        observations: `(n, observation_size)`, the mover's view; `(n, seats, size)` where several may act at once (the
            rows of those who do not act are old).
        outcomes: `(n,)` records; the attributes that follow are views of their fields:
        rewards: `(n, players)` float32 of the last step.
        gains: `(n,)` float32, the reward of the player who acted in the last step (player 0's in joint games).
        movers: `(n,)` int8, the player who acted in the last step.
        terminated, truncated: `(n,)` bool of the last step.
        reasons: `(n,)` uint8, index into `asobiba.core.record.END_REASONS`.
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
        num_envs = checked_count(num_envs)
        if autoreset not in _MODES:
            raise GameParameterError(f"autoreset must be one of {', '.join(_MODES)}, not {autoreset!r}")
        most = most_threads()
        if threads is not None and not (_is_whole(threads) and 1 <= threads <= most):
            raise GameParameterError(f"threads must be a whole number from 1 to {most}, not {threads!r}")
        self.ruleset = ruleset
        self.num_envs = n = num_envs
        self.autoreset = autoreset
        self.mode = _MODES[autoreset]
        self.threads = threads or (1 if n < _WORTH_THREADS else most)
        self.strict = strict
        self.params = self._checked_params(params)
        dtype = ruleset.observation_space.dtype
        self.states = ruleset.zeros(n)
        self._mask_arrays = Recycler((n, *ruleset.mask_shape), np.int8)
        self._observation_arrays = Recycler((n, *self._observed_shape()), dtype)
        self.recycle = recycle
        self.masks = self._mask_arrays.take()
        self.observations = self._observation_arrays.take()
        self.finals = np.zeros(
            self.observations.shape if autoreset == "same_step" else self.observations[:1].shape, dtype
        )
        self.final_states = ruleset.zeros(n if autoreset == "same_step" else 1)
        self._outcome_arrays = Recycler((n,), outcome_dtype(ruleset.seats))
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

    def _observed_shape(self) -> tuple[int, ...]:
        return self.ruleset.observations_shape

    def bind(self, alone: Any, in_threads: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """The machine code to call with arguments of these types: `alone`, or `in_threads` with the threads before."""
        if self.threads == 1:
            return entry_point(alone, arguments)
        return partial(entry_point(in_threads, (self.threads, *arguments)), self.threads)

    def _bind(self) -> None:
        self.engine = self.ruleset.engine
        self._blank = self.ruleset.zeros()
        self._loops: dict[str, tuple[Any, Any]] = {}  # the machine code, and on one thread its handover
        self._recyclers = {
            "masks": self._mask_arrays,
            "new_masks": self._mask_arrays,
            "observations": self._observation_arrays,
            "outcomes": self._outcome_arrays,
        }
        self._sample: Any = None
        self._arrays: Games | None = None

    @property
    def rewards(self) -> np.ndarray:
        rewards = self.outcomes["rewards"]
        players = self.ruleset.num_players
        return rewards if rewards.shape[1] == players else rewards[:, :players]

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
        self._seed(np.arange(self.num_envs, dtype=np.uint64) + np.uint64(offset) + as_seed(seed), slice(None))

    def _seed(self, seeds: np.ndarray, where: Any) -> None:
        # `seeds`: (n,) uint64, one for each game; only those of the games `where` are used.
        for records, stream in ((self.states, Stream.GAME), (self.samplers, Stream.SAMPLER)):
            records["rng_key"][where] = seed_keys(seeds[where], stream)
            records["rng_counter"][where] = 0

    def reset(self, seed: int | None = None, select: np.ndarray | None = None) -> np.ndarray:
        """Begins new episodes, in all games or where `select` (`(n,)` bool) is set; returns the observations.

        Without a seed every game's generator goes on.
        """
        if seed is not None:
            self.seed(seed)
        select = self._everywhere if select is None else checked_select(select, self.num_envs)
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
            IllegalAction: in strict mode, naming the first illegal action; for actions of another shape or dtype.
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
        """Replaces arrays that a caller may still hold by arrays that nobody holds, if `recycle` is set.

        Their contents are copied if `keep` is set, else arbitrary.
        """
        if not self.recycle:
            return
        kept = (self.masks, self.observations, self.outcomes) if keep else None
        self.masks = self._mask_arrays.take()
        # Arrays that nobody else holds are released first, so that they are reused while they are in the processor's
        # cache.
        self.observations = self.outcomes = None
        self.observations = self._observation_arrays.take()
        self.outcomes = self._outcome_arrays.take()
        if kept is not None:
            self.masks[...], self.observations[...], self.outcomes[...] = kept

    def take_actions(self, actions: np.ndarray) -> None:
        """Copies actions into `Batch.actions`. Raises `IllegalAction` for another shape or dtype."""
        given = np.asarray(actions)
        self._check_actions(given, self.actions.shape)
        self.actions[...] = given

    def _check_actions(self, given: np.ndarray, shape: tuple[int, ...]) -> None:
        if given.shape != shape or not np.can_cast(given.dtype, self.actions.dtype, "same_kind"):
            raise IllegalAction(
                f"{self.num_envs} games of {self.ruleset.game.name} take actions of shape {shape} "
                f"and dtype {self.actions.dtype}, not of shape {given.shape} and dtype {given.dtype}"
            )

    def require_legal(self) -> None:
        """Raises `IllegalAction` if an action in `Batch.actions` is illegal."""
        for i in range(self.num_envs):
            state = self.states[i]
            if not (state["terminated"] or state["truncated"]):
                require_legal(self.ruleset, state, self.masks[i], self.actions[i])

    def _require_legal_at(self, i: int, seat: int) -> None:
        # One player's part of the joint action of game i.
        joint = self.actions[i].copy()
        for k in self.ruleset.actors(self.states[i]):
            if k != seat:
                joint[k] = np.argmax(self.masks[i, k]) if self.ruleset.discrete else 0
        require_legal(self.ruleset, self.states[i], self.masks[i], joint)

    def games(self, masks: np.ndarray | None = None) -> Games:
        """The arrays as the loops take them; `masks`: those of the states before a step, if they are others."""
        if self._arrays is not None:
            return self._arrays
        games = Games(
            states=self.states,
            params=self.params,
            blank=self._blank,
            actions=self.actions,
            viewers=self.viewers,
            masks=self.masks if masks is None else masks,
            new_masks=self.masks,
            observations=self.observations,
            outcomes=self.outcomes,
            finals=self.finals,
            final_states=self.final_states,
        )
        if not self.recycle:
            self._arrays = games
        return games

    def run(
        self, op: int, select: np.ndarray | None = None, mode: int | None = None, masks: np.ndarray | None = None
    ) -> int | None:
        """One compiled call over the games (see `asobiba.core.loops.games`); on one thread it returns the first game's
        summary."""
        return self._call(op, select, mode, self.games(masks), *self._played_by())

    def _call(
        self, op: int, select: np.ndarray | None, mode: int | None, games: Games, engine: Any, table: Table
    ) -> int | None:
        mode = self.mode if mode is None else mode
        parts = (self._everywhere if select is None else select, games, table)
        found = self._loops.get(engine.__name__)
        if self.threads > 1:
            require_threads()
            arguments = (self.threads, op, mode, *parts)
            if found is None:
                found = self._loops[engine.__name__] = entry_point(engine.run_in_threads, arguments), None
            return found[0](*arguments)
        if found is None:
            handover = Handover(parts, _LOOSE if self.recycle else ())
            loop = entry_point(engine.run, (op, mode, handover))
            self._loops[engine.__name__] = loop, handover
        else:
            loop, handover = found
            handover.put(parts)
        if self.recycle:
            for k, name in zip(_LOOSE, _RECYCLED_FIELDS):
                array = getattr(games, name)
                handover.point(k, self._recyclers[name].address(array))
            if COMPILES:
                handover.parts = (parts[0], None, table)  # an array is free if nobody else holds it
        return loop(op, mode, handover)

    def direct(self, *ops: int, action: bool = False, sources: Sequence[np.ndarray] = ()) -> Direct:
        """Direct forms of `run(op)` for adaptors that step one game at a time: `calls` return the summary.

        They need one thread and arrays that are not replaced (`recycle` is off). With `action` their argument is the
        game's next action (of games in turn with discrete actions); `sources` are copied after each call.
        """
        engine, table = self._played_by()
        handover = Handover((self._everywhere, self.games(), table))
        return Direct(engine.run, ops, self.mode, handover, self.actions if action else None, sources)

    def _played_by(self) -> tuple[Any, Table]:
        """The loops that `run` calls, and the agents that play in them."""
        return self.engine, NO_AGENTS

    def sample_actions(self) -> np.ndarray:
        """A uniform legal action for every game (`Batch.actions`, overwritten by the next call).

        Every game draws from its own generator, which `seed` starts. Finished games, and players who do not act, get -1.
        Continuous actions are uniform over the box.
        """
        if not self.ruleset.discrete:
            box: Any = self.ruleset.action_space
            _sample_box(box.low.ravel(), box.high.ravel(), self.samplers, self.actions.reshape(self.num_envs, -1))
        elif self.ruleset.simultaneous:
            _sample_joint(self.masks, self.samplers, self.actions)
        elif self.engine.DRAWS:
            self.engine.sample_all(self.states, self.params, self.masks, self.samplers, self.actions)
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
        """Puts copies of state records into the games: all, or those of `select` (an index, a slice, a mask).

        Raises:
            StateBytesError: if one of them is not a state of these rules.
            GameParameterError: if the number of records differs from the number of selected games.
        """
        where, records = self._checked_states(states, select)
        self._put(where, records)
        self._look(where)

    def _checked_states(self, states: Any, select: Any) -> tuple[np.ndarray, np.ndarray]:
        """The games that `select` names, `(k,)` numbers, and the record for each: a state of that game's parameters."""
        try:
            where = np.atleast_1d(np.arange(self.num_envs)[select])
        except IndexError as error:
            raise GameParameterError(f"select names no games of {self.num_envs}: {error}") from None
        count = np.size(states)
        if count not in (1, len(where)):
            raise GameParameterError(f"{count} states were given for {len(where)} games")
        if len(self.params) > 1 and count == 1:  # every game checks its states itself
            states = np.repeat(np.atleast_1d(np.asarray(states)), len(where))
        params = self.params if len(self.params) == 1 else self.params[where]
        return where, require_valid(self.ruleset, states, params)

    def _look(self, where: np.ndarray) -> None:
        # After records were put into these games: observations and masks, and no rewards yet.
        self.exchange(keep=True)
        self.refresh()
        self.outcomes[where] = 0
        for name in ("terminated", "truncated"):
            self.outcomes[name][where] = self.states[name][where] != 0
        self.reasons[where] = self.states["end_reason"][where]

    def _put(self, where: np.ndarray, records: np.ndarray) -> None:
        self.states[where] = records

    def clone(self) -> Batch:
        """A batch that shares nothing with this one and continues identically."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        derived = ("engine", "_blank", "_loops", "_recyclers", "_sample", "_arrays")
        return {key: value for key, value in self.__dict__.items() if key not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

"""Many games at once, each from a learner's seat against other agents."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from asobiba.api.batch import BEGIN, OBSERVE, STEP, STEP_BLIND, Batch, require_threads
from asobiba.api.opponents import Opponent, as_agent, draw_episode, plays_batches, seat_number
from asobiba.core.agents import Agent, KernelAgent
from asobiba.core.engine import agent_engine_for
from asobiba.core.errors import GameParameterError
from asobiba.core.game import Ruleset
from asobiba.core.laws import AUTORESET_NEXT_STEP, AUTORESET_SAME_STEP
from asobiba.core.random import memory_keys, seed_keys
from asobiba.core.state import CONTROL


class SeatBatch:
    """`num_envs` games, each from the seat of a learner; agents play the other seats.

    Game `i` with seed `s` goes like `SeatEnv` with seed `s + i`. Where one compiled agent plays all opponents, a step
    is one compiled call. Arrays are written in place, or recycled, as in `Batch`.

    Args:
        ruleset, num_envs, autoreset, threads, params, strict, recycle: as in `Batch`.
        opponent: as in `SeatEnv`, or a sequence of `num_envs` of them, one for each game. Agents with `act_batch` (such
            as learned policies) are asked once for all games in which it is their turn; others one game at a time.
        seat: as in `SeatEnv`.

    Attributes:
        masks, observations, finals: as in `Batch`, always of the learner: `(n, num_actions)` and `(n, size)`.
        gains: `(n,)` float32, what the learner got since its last decision.
        terminated, truncated, reasons: as in `Batch`.
        learners: `(n,)` integers, the learner's seat in each game; `final_learners` in the games that ended.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        num_envs: int,
        *,
        opponent: Opponent | Sequence[Opponent] = "random",
        seat: str | int = "random",
        autoreset: str = "next_step",
        threads: int | None = None,
        params: np.ndarray | None = None,
        strict: bool = False,
        recycle: bool = False,
    ):
        self.batch = Batch(
            ruleset, num_envs, autoreset=autoreset, threads=threads, params=params, strict=strict, recycle=recycle
        )
        self.ruleset = ruleset
        self.num_envs = n = self.batch.num_envs
        self.players = ruleset.num_players
        self.alone = self.players == 1
        self.control = np.zeros(n, CONTROL)
        self.control["seat_choice"] = 0 if self.alone else seat_number(ruleset, seat)
        self._views = ruleset.zeros(n)
        self._all = np.arange(n)
        self.final_learners = np.zeros(n, np.int64)
        self._groups: list[_Group] = []
        self._compiled: KernelAgent | None = None
        if self.alone:
            self.batch.viewers[...] = 0
        else:
            self._set_opponents(opponent)
        self._bind()
        self.seed(0)

    def _set_opponents(self, opponent: Opponent | Sequence[Opponent]) -> None:
        n = self.num_envs
        given: list[Opponent]
        if isinstance(opponent, Sequence) and not isinstance(opponent, str):
            given = list(opponent)
        else:
            given = [opponent] * n
        if len(given) != n:
            raise GameParameterError(f"{len(given)} opponents were given for {n} games; give one, or one for each game")
        rows: dict[Any, list[int]] = {}
        for i, one in enumerate(given):
            rows.setdefault(one if isinstance(one, str) else id(one), []).append(i)
        for where in rows.values():
            agent = as_agent(self.ruleset, given[where[0]])
            self._groups.append(_Group(self.ruleset, agent, np.array(where), n))
        first = self._groups[0].agent
        if len(self._groups) == 1 and isinstance(first, KernelAgent) and not self.ruleset.simultaneous:
            self._compiled = first
            self._memories = np.zeros(n * self.players, first.memory_dtype)

    def _bind(self) -> None:
        if self._compiled is not None:
            self._engine = agent_engine_for(self.ruleset.game, self._compiled.policy)
        self._run_seats: Any = None

    @property
    def learners(self) -> np.ndarray:
        return self.control["seat"]

    @property
    def opponents(self) -> list[Agent]:
        """The agents that play the other seats, each once."""
        return [group.agent for group in self._groups]

    @property
    def masks(self) -> np.ndarray:
        masks = self.batch.masks
        return masks[self._all, self.learners] if self.ruleset.simultaneous else masks

    @property
    def observations(self) -> np.ndarray:
        observations = self.batch.observations
        return observations[self._all, self.learners] if self.ruleset.simultaneous else observations

    @property
    def finals(self) -> np.ndarray:
        finals = self.batch.finals
        return finals[self._all, self.final_learners] if self.ruleset.simultaneous else finals

    @property
    def gains(self) -> np.ndarray:
        return self.batch.gains

    @property
    def terminated(self) -> np.ndarray:
        return self.batch.terminated

    @property
    def truncated(self) -> np.ndarray:
        return self.batch.truncated

    @property
    def reasons(self) -> np.ndarray:
        return self.batch.reasons

    @property
    def states(self) -> np.ndarray:
        return self.batch.states

    def seed(self, seed: int) -> None:
        """Game `i` plays as a `SeatEnv` that is reset with `seed + i`."""
        self.batch.seed(seed)
        seeds = np.arange(self.num_envs, dtype=np.uint64) + np.uint64(int(seed) & (2**64 - 1))
        self.control["rng_key"] = seed_keys(seeds, 1)
        self.control["rng_counter"] = 0

    def reset(self, seed: int | None = None, select: np.ndarray | None = None) -> np.ndarray:
        """Begins new episodes, in all games or where `select` is set; returns the learner's observations."""
        if seed is not None:
            self.seed(seed)
        batch = self.batch
        if self.alone:
            return batch.reset(select=select)
        chosen = batch._everywhere if select is None else np.ascontiguousarray(select, np.uint8)
        batch.exchange(keep=select is not None)
        if self._compiled is not None:
            self._run(BEGIN, chosen)
        else:
            self._begin(chosen != 0)
            batch.run(OBSERVE)
        batch.outcomes[chosen != 0] = 0
        return self.observations

    def step(self, actions: np.ndarray) -> np.ndarray:
        """The learners act, then the others until each learner's next decision; returns the observations.

        Raises:
            IllegalAction: in strict mode, or for actions of another shape or dtype.
        """
        batch = self.batch
        if self.ruleset.simultaneous:
            batch.actions[self._all, self.learners] = actions
        elif actions is not batch.actions:
            batch.take_actions(actions)
        if self.alone:
            batch.step(batch.actions)
        elif self._compiled is None:
            self._step()
        else:
            if batch.strict:
                batch.require_legal()
            masks = batch.masks
            batch.exchange()
            if batch.mode == AUTORESET_SAME_STEP:
                self.final_learners[...] = self.learners
            self._run(STEP, batch._everywhere, masks)
        return self.observations

    def _run(self, op: int, select: np.ndarray, masks: np.ndarray | None = None) -> None:
        batch = self.batch
        assert self._compiled is not None
        if batch.threads > 1:
            require_threads()
        arguments = (
            op,
            batch.mode,
            select,
            batch.states,
            batch.params,
            batch._blank,
            batch.actions,
            batch.masks if masks is None else masks,
            batch.masks,
            batch.observations,
            batch.outcomes,
            batch.finals,
            batch.final_states,
            self._views,
            self._memories,
            self._compiled.initial,
            self.control,
        )
        if self._run_seats is None:
            self._run_seats = batch.bind(self._engine.run_seats, self._engine.run_seats_in_threads, arguments)
        self._run_seats(*arguments)

    # The path in which opponents think in Python.

    def _over(self) -> np.ndarray:
        return (self.states["terminated"] | self.states["truncated"]) != 0

    def _begin(self, select: np.ndarray) -> None:
        batch = self.batch
        left = select.copy()
        for _ in range(64):  # a game that an opponent ends before the learner's first move is dealt again
            if not left.any():
                break
            where = np.flatnonzero(left)
            seeds = np.array([draw_episode(self.control, i, self.players) for i in where], np.uint64)
            batch.viewers[where] = self.learners[where]
            batch.run(BEGIN, left.view(np.uint8))
            for group in self._groups:
                group.begin(where, seeds, self.learners)
            self._reply(left)
            left &= self._over()

    def _reply(self, active: np.ndarray) -> np.ndarray:
        """The others play until it is the learners' turn; returns what the learners got."""
        batch = self.batch
        gained = np.zeros(self.num_envs, np.float32)
        if self.ruleset.simultaneous:
            return gained
        while True:
            waiting = active & ~self._over() & (self.states["to_move"] != self.learners)
            if not waiting.any():
                return gained
            movers = self.states["to_move"].astype(np.int64)
            for group in self._groups:
                group.act(batch, self._views, waiting, movers, batch.masks, batch.actions)
            batch.run(STEP_BLIND, waiting.view(np.uint8), mode=0)
            gained += np.where(waiting, batch.rewards[self._all, self.learners], 0)

    def _step(self) -> None:
        batch = self.batch
        over = self._over()
        fresh = over if batch.mode == AUTORESET_NEXT_STEP else np.zeros_like(over)
        active = ~over
        if self.ruleset.simultaneous:
            for seat in range(self.players):
                for group in self._groups:
                    turn = active & (self.learners != seat)
                    movers = np.full(self.num_envs, seat)
                    group.act(batch, self._views, turn, movers, batch.masks[:, seat], batch.actions[:, seat])
        if batch.strict:
            batch.require_legal()
        batch.exchange(keep=True)
        batch.run(STEP_BLIND, active.view(np.uint8), mode=0)
        gained = np.where(active, batch.rewards[self._all, self.learners], 0)
        gained += self._reply(active)
        batch.gains[...] = gained
        for flag in ("terminated", "truncated"):
            getattr(batch, flag)[...] = (self.states[flag] != 0) & ~fresh
        batch.reasons[...] = np.where(fresh, 0, self.states["end_reason"])
        if batch.mode == AUTORESET_SAME_STEP and self._over().any():
            fresh = self._over()
            batch.run(OBSERVE)
            batch.finals[fresh] = batch.observations[fresh]
            batch.final_states[fresh] = self.states[fresh]
            self.final_learners[fresh] = self.learners[fresh]
        if fresh.any():
            outcomes = batch.outcomes.copy()
            self._begin(fresh)
            batch.outcomes[...] = outcomes
        batch.run(OBSERVE)

    def set_states(self, states: np.ndarray) -> None:
        """Puts copies of state records into the games; each learner takes the seat that is to move.

        Agents that remember the game begin anew.
        """
        batch = self.batch
        batch.states[...] = states
        if not self.ruleset.simultaneous:
            self.control["seat"] = np.maximum(batch.states["to_move"], 0)
        batch.viewers[...] = self.learners
        seeds = seed_keys(batch.states["rng_key"], 3) >> np.uint64(1)
        if self._compiled is not None:
            for seat in range(self.players):
                self._memories[seat :: self.players] = self._compiled.memories(seeds, seat)
        else:
            for group in self._groups:
                group.begin(self._all, seeds, self.learners)
        batch.exchange()
        batch.run(OBSERVE)
        batch.terminated[...] = batch.states["terminated"] != 0
        batch.truncated[...] = batch.states["truncated"] != 0
        batch.reasons[...] = batch.states["end_reason"]

    def reported(self, final: bool = False) -> dict[str, np.ndarray]:
        """What `Layout.info` names, of the learners: name -> `(n, ...)`; of the ended games if `final`."""
        states = self.batch.final_states if final else self.states
        learners = self.final_learners if final else self.learners
        return {name: states[field][self._all, learners] for name, field in self.ruleset.layout.info.items()}

    def sample_actions(self) -> np.ndarray:
        """A uniform legal action for every learner, as `Batch.sample_actions`."""
        actions = self.batch.sample_actions()
        return actions[self._all, self.learners] if self.ruleset.simultaneous else actions

    def clone(self) -> SeatBatch:
        """A batch that shares nothing with this one and continues identically."""
        return copy.deepcopy(self)

    def close(self) -> None:
        """Closes the opponents."""
        for group in self._groups:
            group.close()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_engine", "_run_seats")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()


class _Group:
    """The games in which one agent plays the opponents."""

    def __init__(self, ruleset: Ruleset, agent: Agent, rows: np.ndarray, num_envs: int):
        self.ruleset = ruleset
        self.agent = agent
        self.rows = np.zeros(num_envs, bool)
        self.rows[rows] = True
        self.kernel = agent if isinstance(agent, KernelAgent) and not ruleset.simultaneous else None
        self.batched = self.kernel is None and plays_batches(agent)
        self.memories: list[np.ndarray] = []
        if self.kernel is not None:
            self.memories = [np.zeros(num_envs, self.kernel.memory_dtype) for _ in range(ruleset.num_players)]
        self.singles: dict[tuple[int | np.integer, int | np.integer], Agent] = {}
        if self.batched:
            agent.reset(ruleset, 0, 0)

    def begin(self, where: np.ndarray, seeds: np.ndarray, learners: np.ndarray) -> None:
        """New episodes in the games `where` (those of this group) with the opponents' seeds."""
        mine = self.rows[where]
        where, seeds = where[mine], seeds[mine]
        for seat in range(self.ruleset.num_players):
            if self.kernel is not None:
                self.memories[seat][where] = self.kernel.initial[0]
                self.memories[seat]["rng_key"][where] = memory_keys(seeds, seat)
            elif not self.batched:
                for i, seed in zip(where, seeds, strict=True):
                    if seat != learners[i]:
                        player = self.singles.get((i, seat)) or copy.deepcopy(self.agent)
                        self.singles[i, seat] = player
                        player.reset(self.ruleset, seat, int(seed))

    def act(
        self,
        batch: Batch,
        views: np.ndarray,
        waiting: np.ndarray,
        movers: np.ndarray,
        masks: np.ndarray,
        actions: np.ndarray,
    ) -> None:
        """Writes the actions of those games of this group that are `waiting`, into `actions`."""
        turn = waiting & self.rows
        where = np.flatnonzero(turn)
        if not len(where):
            return
        if self.kernel is not None:
            engine = agent_engine_for(self.ruleset.game, self.kernel.policy)
            for seat in range(self.ruleset.num_players):
                now = (turn & (movers == seat)).view(np.uint8)
                if now.any():
                    engine.act_batch(batch.states, batch.params, masks, views, self.memories[seat], now, actions)
            return
        seen = batch.states[where]
        params = batch.params if len(batch.params) == 1 else batch.params[where]
        batch.engine.hide_batch(seen, params, movers[where])
        if self.batched:
            actions[where] = self.agent.act_batch(seen, masks[where])
            return
        for k, i in enumerate(where):
            actions[i] = self.singles[i, movers[i]].act(seen[k], masks[i].copy())

    def close(self) -> None:
        """Closes the agents."""
        for agent in [self.agent, *self.singles.values()]:
            agent.close()

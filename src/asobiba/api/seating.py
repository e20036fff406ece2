"""Many games at once, some seats played by agents: the base of every environment from a seat, and of the league."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from asobiba.api.batch import BEGIN, OBSERVE, STEP, STEP_BLIND, Batch, checked_count, checked_select
from asobiba.api.opponents import Opponent, Player, as_agent, at_each_seat, in_each_game, plays_batches, seat_number
from asobiba.api.referee import Referee
from asobiba.core.agents import Agent, Hand, KernelAgent
from asobiba.core.errors import GameParameterError
from asobiba.core.game import Ruleset
from asobiba.core.kernels import compiled
from asobiba.core.laws import DISABLED, NEXT_STEP, SAME_STEP
from asobiba.core.loops.arrays import MOST_POLICIES, NO_AGENTS, Table
from asobiba.core.loops.games import ATTEMPTS, NOBODY
from asobiba.core.random import Stream, begin_control, seed_keys
from asobiba.core.record import CONTROL
from asobiba.core.states import agent_views


@compiled()
def _begin_controls(control, where, players, seeds):
    for j in range(where.shape[0]):
        seeds[j] = begin_control(control[where[j]], players)


class Seating(Batch):
    """`num_envs` games in which agents play some seats and learners the rest.

    Each game has one learner, at one seat, or none (then agents play every seat; in `Batch` learners play every seat).
    Game `i` with seed `s` is the game of a single environment with seed `s + i`. Where compiled agents play all other
    seats, a step is one compiled call; otherwise agents with `act_batch` (such as learned policies) are asked once for
    all games in which they act, others one game at a time. Players who do not act are not asked. Arrays are written in
    place, or recycled, as in `Batch`.

    Args:
        ruleset, num_envs, autoreset, threads, params, strict, recycle: as in `Batch`.
        opponent: the players of the other seats: one agent for all of them, a mapping from seats to agents, a tuple
            with one for each seat (`None` at the learner's); or a list of `num_envs` of these, one for each game. An
            agent is given as the text of a registered one, an `asobiba.core.Agent`, or a function
            `(view, legal) -> action`.
        seat: the learner's: "first", "second", a seat's name or number, "random" (drawn anew for every episode), or
            `None` if nobody learns.
        referee: asks agents that are not compiled; if not given, their mistakes are raised to the caller.

    Attributes:
        observations, finals: `(n, size)`, always of the learner.
        masks: as in `Batch`; `learner_masks` are those of the learners, `(n, num_actions)`.
        gains: `(n,)` float32, the learner's rewards since its last decision; `rewards` likewise of all players.
        learners: `(n,)` integers, the learner's seat in each game; `final_learners` in the games that ended.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        num_envs: int,
        *,
        opponent: Opponent | Sequence[Opponent] = "random",
        seat: str | int | None = "random",
        autoreset: str = "next_step",
        threads: int | None = None,
        params: np.ndarray | None = None,
        strict: bool = False,
        recycle: bool = False,
        referee: Referee | None = None,
    ):
        self.players = ruleset.num_players
        self.referee = referee or Referee()
        self.alone = self.players == 1 and seat is not None
        self.control = np.zeros(checked_count(num_envs), CONTROL)
        self._hand: Hand | None = None  # of the compiled path
        self._groups: list[_Group] = []
        self._rows: np.ndarray | None = None
        super().__init__(
            ruleset, num_envs, autoreset=autoreset, threads=threads, params=params, strict=strict, recycle=recycle
        )
        choice = 0 if self.alone else NOBODY if seat is None else seat_number(ruleset, seat)
        self.control["seat_choice"] = choice
        self.control["seat"] = choice if choice != -1 else 0
        self.final_learners = np.zeros(self.num_envs, np.int64)
        self._all = np.arange(self.num_envs)
        if self.alone:
            self.viewers[...] = 0
        else:
            self._set_opponents(opponent, choice)

    def _observed_shape(self) -> tuple[int, ...]:
        return (self.ruleset.observation_size,)

    def _set_opponents(self, opponent: Opponent | Sequence[Opponent], learner: int) -> None:
        n = self.num_envs
        occupants = np.full((n, self.ruleset.seats), -1, np.int8)
        agents: list[Agent] = []
        known: dict[Any, int] = {}
        rows: dict[Any, list[int]] = {}
        for i, one in enumerate(in_each_game(self.ruleset, n, opponent)):
            rows.setdefault(one if isinstance(one, str) else id(one), []).append(i)
        given = in_each_game(self.ruleset, n, opponent)
        for where in rows.values():
            for k, player in enumerate(at_each_seat(self.ruleset, given[where[0]], learner)):
                if player is not None:
                    occupants[where, k] = self._slot(player, agents, known)
        self._occupied = occupants[:, : self.players] >= 0
        kernels = [agent for agent in agents if isinstance(agent, KernelAgent)]
        if len(kernels) == len(agents) <= MOST_POLICIES:
            self._hand = self._dealt(kernels, occupants)
        else:
            self._groups = self._grouped(agents, occupants)

    def _slot(self, player: Player, agents: list[Agent], known: dict[Any, int]) -> int:
        key = player if isinstance(player, str) else id(player)
        if key not in known:
            known[key] = len(agents)
            agents.append(as_agent(self.ruleset, player))
        return known[key]

    def _dealt(self, kernels: Sequence[KernelAgent], occupants: np.ndarray) -> Hand:
        hand = Hand(self.ruleset, kernels, self.num_envs, self.control)
        hand.occupants[...] = occupants
        return hand

    def _grouped(self, agents: Sequence[Agent], occupants: np.ndarray) -> list[_Group]:
        groups: list[_Group] = []
        kernels = [(k, agent) for k, agent in enumerate(agents) if isinstance(agent, KernelAgent)]
        for first in range(0, len(kernels), MOST_POLICIES):
            some = kernels[first : first + MOST_POLICIES]
            mine = np.full_like(occupants, -1)
            for slot, (k, _) in enumerate(some):
                mine[occupants == k] = slot
            groups.append(_Group(self, mine, hand=self._dealt([agent for _, agent in some], mine)))
        for k, agent in enumerate(agents):
            if not isinstance(agent, KernelAgent):
                groups.append(_Group(self, np.where(occupants == k, 0, -1).astype(np.int8), agent=agent))
        return groups

    @property
    def learners(self) -> np.ndarray:
        return self.control["seat"]

    @property
    def compiled(self) -> bool:
        """Whether a step is one compiled call."""
        return self.alone or self._hand is not None

    @property
    def opponents(self) -> list[Agent]:
        """The agents that play the other seats, each once."""
        if self._hand is not None:
            return list(self._hand.agents)
        return [agent for group in self._groups for agent in group.agents]

    @property
    def learner_masks(self) -> np.ndarray:
        return self.masks[self._all, self.learners] if self.ruleset.simultaneous else self.masks

    def _seed(self, seeds: np.ndarray, where: Any) -> None:
        super()._seed(seeds, where)
        self.control["rng_key"][where] = seed_keys(seeds[where], Stream.EPISODES)
        self.control["rng_counter"][where] = 0

    def _played_by(self) -> tuple[Any, Table]:
        return super()._played_by() if self._hand is None else (self._hand.dealer, self._hand.table)

    def reset(self, seed: int | None = None, select: np.ndarray | None = None) -> np.ndarray:
        """Begins new episodes, in all games or where `select` is set; returns the learner's observations."""
        if seed is not None:
            self.seed(seed)
        chosen = self._everywhere if select is None else checked_select(select, self.num_envs)
        self.exchange(keep=select is not None)
        if self.compiled:
            self.run(BEGIN, chosen)
        else:
            self._begin(chosen != 0)
            self._observe()
        self.outcomes[chosen != 0] = 0
        return self.observations

    def step(self, actions: np.ndarray) -> np.ndarray:
        """The learners act, then the others until each learner's next decision; returns the observations.

        Raises:
            IllegalAction: in strict mode, or for actions of another shape or dtype.
        """
        self._take(actions)
        if not self.compiled:
            self._step()
            return self.observations
        if self.strict:
            self._require_legal_learners()
        masks = self.masks
        self.exchange()
        if self.mode == SAME_STEP:
            self.final_learners[...] = self.learners
        self.run(STEP, masks=masks)
        return self.observations

    def _take(self, actions: np.ndarray) -> None:
        if actions is self.actions:
            return
        if not self.ruleset.simultaneous:
            self.take_actions(actions)
            return
        given = np.asarray(actions)
        wanted = (self.num_envs, *self.actions.shape[2:])
        self._check_actions(given, wanted)
        self.actions[self._all, np.maximum(self.learners, 0)] = given

    def _require_legal_learners(self) -> None:
        if not self.ruleset.simultaneous:
            self.require_legal()
            return
        for i in np.flatnonzero(~self._over()):
            seat = int(self.learners[i])
            if self.acts(seat)[i]:
                self._require_legal_at(int(i), seat)

    # The path for opponents that think in Python.

    def _over(self) -> np.ndarray:
        return (self.states["terminated"] | self.states["truncated"]) != 0

    def acts(self, seat: int | np.ndarray) -> np.ndarray:
        """The games in which the player at `seat` (one number, or one for each game) acts: `(n,)` bool."""
        turns = self.ruleset.game.turns
        if turns == "some":
            return (self.states["acting"][self._all, np.maximum(seat, 0)] != 0) & (np.asarray(seat) >= 0)
        if turns == "simultaneous":
            return np.broadcast_to(np.asarray(seat) >= 0, (self.num_envs,))
        return self.states["to_move"] == seat

    def _observe(self) -> None:
        if self.ruleset.simultaneous:
            self.engine.observe_all(self.states, self.params, np.maximum(self.learners, 0), self.observations)
        else:
            self.viewers[...] = self.learners
            self._plain(OBSERVE, np.ones(self.num_envs, bool))

    def _begin(self, select: np.ndarray) -> None:
        left = select.copy()
        for _ in range(ATTEMPTS):  # a game that agents end before the learner's first move is dealt again
            where = np.flatnonzero(left)
            if not len(where):
                break
            seeds = np.zeros(len(where), np.uint64)
            _begin_controls(self.control, where, self.players, seeds)
            self._plain(BEGIN, left)
            for k in range(self.players):
                for group in self._groups:
                    group.begin(where, k, seeds)
            self._reply(left)
            left &= self._over() & (self.learners >= 0)

    def _plain(self, op: int, select: np.ndarray) -> None:
        # The loop without agents, in the games of `select`.
        games = self.games()
        if self.ruleset.simultaneous:
            # It writes the observations of all who act; those of learners are written separately.
            if self._rows is None:
                shape = (self.num_envs, *self.ruleset.observations_shape)
                self._rows = np.zeros(shape, self.observations.dtype)
            games = games._replace(observations=self._rows, finals=self._rows)
        self._call(op, select.view(np.uint8), DISABLED, games, self.engine, NO_AGENTS)

    def turn(self, seat: int, select: np.ndarray) -> np.ndarray:
        """The games among `select` (`(n,)` bool) in which the agent at `seat` is to be asked: `(n,)` bool.

        An agent is not asked where its seat does not act, is the learner's, or is replaced for good
        (`Game.fault_limit`).
        """
        return select & self.acts(seat) & (self.learners != seat) & ~self.replaced_for_good()[:, seat]

    def replaced_for_good(self) -> np.ndarray:
        """The players whose actions the rules choose from now on, `(n, seats)` bool: those with `Game.fault_limit` mistakes."""
        limit = self.ruleset.game.fault_limit
        return self.states["faults"] >= limit if limit else np.zeros((self.num_envs, self.ruleset.seats), bool)

    def decide(self, seat: int, turn: np.ndarray) -> None:
        """Asks the agents at `seat` in the games of `turn` (see `turn`); the actions are written into `actions`."""
        if not turn.any():
            return
        if self._hand is not None:
            self._hand.engine.ask(seat, turn.view(np.uint8), self.games(), self._hand.table)
        for group in self._groups:
            group.decide(seat, turn)

    def advance(self, select: np.ndarray) -> None:
        """Applies `actions` in the games where `select` is set, and does nothing else."""
        self._plain(STEP_BLIND, select)

    def _reply(self, active: np.ndarray) -> np.ndarray:
        """The others play until the learners' turn; returns the rewards of all players, `(n, players)` float32."""
        gained = np.zeros((self.num_envs, self.players), np.float32)
        while True:
            waiting = active & ~self._over() & ~self.acts(self.learners)
            if not waiting.any():
                return gained
            for k in range(self.players):
                self.decide(k, self.turn(k, waiting))
            self._plain(STEP_BLIND, waiting)
            gained[waiting] += self.rewards[waiting]

    def _step(self) -> None:
        over = self._over()
        fresh = over if self.mode == NEXT_STEP else np.zeros_like(over)
        active = ~over
        if self.strict:
            self._require_legal_learners()
        self.exchange(keep=True)
        if self.ruleset.simultaneous:
            for k in range(self.players):
                self.decide(k, self.turn(k, active))
        self._plain(STEP_BLIND, self._everywhere.view(np.bool_))  # in games that are over it clears the rewards
        rewards = np.where(active[:, None], self.rewards, 0)
        rewards += self._reply(active)
        self.rewards[...] = rewards
        self.gains[...] = rewards[self._all, np.maximum(self.learners, 0)]
        for flag in ("terminated", "truncated"):
            getattr(self, flag)[...] = (self.states[flag] != 0) & ~fresh
        self.reasons[...] = np.where(fresh, 0, self.states["end_reason"])
        if self.mode == SAME_STEP and self._over().any():
            fresh = self._over()
            self._observe()
            self.finals[fresh] = self.observations[fresh]
            self.final_states[fresh] = self.states[fresh]
            self.final_learners[fresh] = self.learners[fresh]
        if fresh.any():
            outcomes = self.outcomes.copy()
            self._begin(fresh)
            self.outcomes[...] = outcomes
        self._observe()

    def set_states(self, states: np.ndarray | np.void, select: Any = slice(None)) -> None:
        """Puts copies of state records into the games; each learner takes the seat that is to move (in joint games the
        first of those who act, if its own does not).

        Agents begin anew. Raises the errors of `Batch.set_states`, and `GameParameterError` if no agent plays the seat
        that a learner leaves.
        """
        where, records = self._checked_states(states, select)
        learners = self._learners_of(where, np.broadcast_to(records, where.shape))
        self._put(where, records)
        self.control["seat"][where] = learners
        seeds = seed_keys(self.states["rng_key"][where], Stream.RESUMED) >> np.uint64(1)
        for k in range(self.players):
            if self._hand is not None:
                self._hand.begin(where, k, seeds)
            for group in self._groups:
                group.begin(where, k, seeds)
        self._look(where)

    def _learners_of(self, where: np.ndarray, records: np.ndarray) -> np.ndarray:
        """The learner's seat in each of the games `where`, when these records are put there."""
        learners = self.learners[where].copy()
        over = (records["terminated"] | records["truncated"]) != 0
        if not self.ruleset.simultaneous:
            to_move = records["to_move"].astype(np.int64)
        elif self.ruleset.game.turns == "some":
            acts = records["acting"] != 0
            own = acts[np.arange(len(where)), np.maximum(learners, 0)]
            to_move = np.where(own | over, learners, acts.argmax(1))
        else:
            to_move = learners
        moved = (learners >= 0) & (to_move != learners)
        learners[moved] = to_move[moved]
        if self.alone or not moved.any():
            return learners
        playing = self._occupied[where]
        playing[np.arange(len(where)), np.maximum(learners, 0)] = True
        for j in np.flatnonzero(moved & ~over & ~playing.all(1)):
            empty = [self.ruleset.players[k] for k in np.flatnonzero(~playing[j])]
            raise GameParameterError(
                f"the learner moves to {self.ruleset.players[learners[j]]}, who is to move in this state, and nobody plays "
                f"{', '.join(empty)}: name one opponent for all seats, or one for each"
            )
        return learners

    def begin_games(self, seeds: np.ndarray, agent_seeds: np.ndarray) -> None:
        """Deals all games, without a move: game `i` from `seeds[i]`, its agents with `agent_seeds[i]`, one per seat."""
        self._seed(seeds, slice(None))
        self._plain(BEGIN, np.ones(self.num_envs, bool))
        for k in range(self.players):
            if self._hand is not None:
                self._hand.begin(self._all, k, agent_seeds[:, k])
            for group in self._groups:
                group.begin(self._all, k, agent_seeds[:, k])

    def take_over(self, other: Seating, rows: np.ndarray) -> None:
        """Continues the games `rows` of another seating of the same compiled agents."""
        self.states[...], self.masks[...] = other.states[rows], other.masks[rows]
        if self._hand is None or other._hand is None:
            raise TypeError("games of agents that are not compiled cannot be moved")
        seats = self.ruleset.seats
        for mine, theirs in zip(self._hand.memories, other._hand.memories, strict=True):
            mine.reshape(-1, seats)[...] = theirs.reshape(-1, seats)[rows]

    def refresh(self) -> None:
        """Writes masks and observations again, after `states` were changed from outside."""
        if self.compiled:
            self.run(OBSERVE)
        else:
            self._plain(OBSERVE, np.ones(self.num_envs, bool))
            self._observe()

    def reported(self, final: bool = False) -> dict[str, np.ndarray]:
        """The learners' values named by `Layout.info`: name -> `(n, ...)`; of the ended games if `final`."""
        states = self.final_states if final else self.states
        learners = self.final_learners if final else self.learners
        return {name: states[field][self._all, learners] for name, field in self.ruleset.layout.info.items()}

    def sample_actions(self) -> np.ndarray:
        """A uniform legal action for every learner, as `Batch.sample_actions`."""
        actions = super().sample_actions()
        return actions[self._all, self.learners] if self.ruleset.simultaneous else actions

    def close(self) -> None:
        """Closes the opponents."""
        for agent in self.opponents:
            agent.close()


class _Group:
    """The seats that one agent plays in Python, or up to four compiled ones.

    Args:
        seating: the seating they belong to.
        occupants: `(n, seats)` int8: 0 or greater where one of them sits.
        agent: plays one game at a time, each with a separate copy, or many together (`act_batch`).
        hand: the compiled agents.
        own: the agent plays the one game at its one seat itself, and is prepared when it begins.
    """

    def __init__(
        self,
        seating: Seating,
        occupants: np.ndarray,
        agent: Agent | None = None,
        hand: Hand | None = None,
        own: bool = False,
    ):
        self.seating = seating
        self.occupants = occupants
        self.hand = hand
        self.agent = agent
        self.batched = agent is not None and not own and plays_batches(agent)
        self.numbered = hasattr(agent, "act_in")  # it is told the numbers of its games (asobiba.learn.pool)
        self.singles: dict[tuple[int, int], Agent] = {}
        self._seeds: dict[tuple[int, int], int] = {}  # of the games that the singles play
        self._forgotten: set[tuple[int, int]] = set()
        if agent is not None and own:
            where, seats = np.nonzero(occupants >= 0)
            self.singles = dict.fromkeys(zip(where.tolist(), seats.tolist()), agent)
        elif agent is not None:
            agent.prepare(seating.ruleset)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Searchers and programs are not copied: an agent that leaves such things behind, and does not itself get them
        # again, has lost its game and begins it anew when it is asked.
        self.__dict__.update({"_seeds": {}, "numbered": False, **state})  # checkpoints of older runs do not have it
        kinds = {key: type(player) for key, player in self.singles.items()}
        self._forgotten = {
            key for key, kind in kinds.items() if _own(kind, "__getstate__") and not _own(kind, "__setstate__")
        }

    @property
    def agents(self) -> list[Agent]:
        if self.hand is not None:
            return list(self.hand.agents)
        assert self.agent is not None
        return [self.agent, *self.singles.values()]

    def begin(self, where: np.ndarray, seat: int, seeds: np.ndarray) -> None:
        """New episodes in the games `where`, for the agents that sit at `seat` there."""
        mine = (self.occupants[where, seat] >= 0) & (self.seating.learners[where] != seat)
        where, seeds = where[mine], seeds[mine]
        if not len(where):
            return
        if self.hand is not None:
            self.hand.begin(where, seat, seeds)
            return
        assert self.agent is not None
        ruleset, referee = self.seating.ruleset, self.seating.referee
        if self.numbered:
            self.agent.begin_in(where, seat, seeds)  # type: ignore[attr-defined]
            return
        if self.batched:
            referee.begin(self.agent, ruleset, [seat] * len(where), seeds.tolist())
            return
        for i, seed in zip(where.tolist(), seeds.tolist(), strict=True):
            player = self.singles.get((i, seat))
            if player is None:
                player = self.singles[i, seat] = copy.deepcopy(self.agent)
            referee.begin(player, ruleset, (seat,), (seed,))
            self._seeds[i, seat] = seed
            self._forgotten.discard((i, seat))

    def decide(self, seat: int, turn: np.ndarray) -> None:
        """Writes the actions of the agents at `seat` in the games of `turn`."""
        turn = turn & (self.occupants[:, seat] >= 0)
        where = np.flatnonzero(turn)
        if not len(where):
            return
        seating = self.seating
        if self.hand is not None:
            self.hand.engine.ask(seat, turn.view(np.uint8), seating.games(), self.hand.table)
            return
        assert self.agent is not None
        ruleset, referee = seating.ruleset, seating.referee
        params = seating.params if len(seating.params) == 1 else seating.params[where]
        views = agent_views(ruleset, seating.states[where], np.full(len(where), seat), params)
        masks = seating.masks[where, seat] if ruleset.simultaneous else seating.masks[where]
        actions = seating.actions[:, seat] if ruleset.simultaneous else seating.actions
        if self.numbered:
            actions[where] = self.agent.act_in(where, seat, views, masks)  # type: ignore[attr-defined]
            return
        if self.batched:
            actions[where] = referee.ask_together(self.agent, views, masks)
            return
        for j, i in enumerate(where.tolist()):
            if (i, seat) in self._forgotten:
                self._forgotten.discard((i, seat))
                referee.begin(self.singles[i, seat], ruleset, (seat,), (self._seeds.get((i, seat), 0),))
            actions[i] = referee.ask(self.singles[i, seat], ruleset, seat, views[j], masks[j])


def _own(kind: type, name: str) -> bool:
    """Whether a class has a method of this name that is not `object`'s."""
    return getattr(kind, name, None) is not getattr(object, name, None)

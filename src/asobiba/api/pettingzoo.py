"""PettingZoo environments: AEC for every game, parallel where all act at once or there is one player."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv, ParallelEnv

from asobiba.api.batch import Batch
from asobiba.api.referee import one_action
from asobiba.api.render import Renderer, check_mode, step_fps
from asobiba.api.single import Shown, SingleGame, as_ruleset
from asobiba.api.spaces import action_space, masked_observation_space
from asobiba.core.errors import GameParameterError, IllegalAction
from asobiba.core.game import Game, Ruleset
from asobiba.core.laws import SUMMARY_MOVER, SUMMARY_OVER, SUMMARY_REASON_SHIFT, SUMMARY_REWARDED, SUMMARY_TERMINATED
from asobiba.core.record import END_REASONS
from asobiba.core.states import as_action, require_legal

_INT64 = np.int64


class _PettingZooGame(SingleGame):
    """The base of both forms: agents, spaces, masks, observations, pictures."""

    metadata: dict[str, Any]

    def _setup(
        self,
        game: Game | Ruleset | str,
        render_mode: str | None,
        max_cycles: int | None,
        strict: bool,
        parameters: dict[str, Any],
    ) -> None:
        ruleset = as_ruleset(game, parameters)
        if max_cycles is not None and max_cycles < 1:
            raise GameParameterError(f"max_cycles must be at least 1, not {max_cycles}")
        self._allocate(Batch(ruleset, 1, autoreset="disabled", threads=1))
        self._reports = bool(ruleset.layout.info)
        self.metadata = {
            "render_modes": ["human", "rgb_array", "ansi", "svg"],
            "name": f"{ruleset.game.name}_v{ruleset.game.version}",
            "is_parallelizable": ruleset.simultaneous or ruleset.num_players == 1,
            "render_fps": step_fps(ruleset, 2),
        }
        check_mode(render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.strict = strict
        self.max_cycles = max_cycles
        self.possible_agents = [f"player_{k}" for k in range(ruleset.num_players)]
        self.agents: list[str] = []
        self._seats = {agent: k for k, agent in enumerate(self.possible_agents)}
        self.action_spaces = {agent: action_space(ruleset) for agent in self.possible_agents}
        self.observation_spaces = {agent: masked_observation_space(ruleset) for agent in self.possible_agents}
        self._renderer = Renderer(ruleset)
        self._last_action: Any = None
        self._no_mask = np.zeros(ruleset.mask_shape[-1:], np.int8)
        self._leaves = ruleset.game.leaves
        self._in_turn = ruleset.discrete and not ruleset.simultaneous

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[agent]

    _DERIVED = (*SingleGame._DERIVED, "_copied_observation", "_copied_mask", "_fresh")

    def _bind(self) -> None:
        super()._bind()
        # Bound methods: they save a look-up in every step.
        self._copied_observation, self._copied_mask = self._observation.copy, self._mask.copy

    def _observe(self, agent: str) -> Any:
        seat = self._seats[agent]
        if self._in_turn and seat == (self._summary & SUMMARY_MOVER) - 1:
            return {"observation": self._copied_observation(), "action_mask": self._copied_mask()}
        ruleset = self.ruleset
        acts = self._acts(seat)
        if acts:
            observation = (self._observation[seat] if ruleset.simultaneous else self._observation).copy()
            mask = (self._mask[seat] if ruleset.simultaneous else self._mask).copy()
        else:
            one = np.empty((1, ruleset.observation_size), self._observations.dtype)
            self._batch.engine.observe_all(self._states, self._batch.params, np.array([seat]), one)
            observation = one[0]
            mask = self._no_mask.copy()
        return {"observation": observation, "action_mask": mask} if ruleset.discrete else observation

    def _acts(self, seat: int) -> bool:
        # Whether the loop has written this seat's observation: it acts now (or, at the end, it acted last).
        turns = self.ruleset.game.turns
        if turns == "some":
            return bool(self._states["acting"][0, seat]) and not self._summary & SUMMARY_OVER
        return turns == "simultaneous" or seat == (self._summary & SUMMARY_MOVER) - 1

    def _actors(self) -> list[str]:
        """The agents that act now, in the order of their seats."""
        return [self.possible_agents[k] for k in self.ruleset.actors(self._states[0])]

    def _gone(self, agent: str) -> bool:
        return self._leaves and bool(self._states["left"][0, self._seats[agent]])

    def _present(self) -> list[str]:
        """The agents that have not left."""
        return [agent for agent in self.possible_agents if not self._gone(agent)]

    def _everybody_reports(self) -> dict[str, dict[str, Any]]:
        return {agent: self._reported(seat) for agent, seat in self._seats.items()}

    def state(self) -> np.ndarray:
        """The bytes of the whole state record, `(itemsize,)` uint8, for a centralised critic."""
        return np.frombuffer(self._states.tobytes(), np.uint8).copy()

    def render(self) -> Any:
        """The picture in `render_mode`: text, an SVG string, a `(height, width, 3)` uint8 array, or a window."""
        return self._renderer.render(self.render_mode, self._states[0], last_action=self._last_action)

    def close(self) -> None:
        self._renderer.close()


class AEC(_PettingZooGame, AECEnv):
    """A game as a PettingZoo AEC environment.

    Observations are `{"observation": (size,), "action_mask": (num_actions,) int8}` (the bare observation where actions
    are continuous); the mask is all zero for an agent that is not to move. An illegal action ends the game: its player
    gets the game's illegal-action reward. After the end every agent takes the step `None`, as PettingZoo requires.

    Args:
        game: a game, its name, or a ruleset.
        render_mode: "human", "rgb_array", "ansi", "svg" or `None`.
        max_cycles: truncates the game after so many rounds (a round is one step of every agent).
        strict: an illegal action raises `IllegalAction` instead.
        parameters: of the game.

    >>> env = AEC("battleship")
    >>> env.reset(seed=0)
    >>> env.agent_selection
    'player_0'
    >>> observation, reward, terminated, truncated, info = env.last()
    >>> env.step(int(observation["action_mask"].argmax()))
    """

    _fresh: Shown | None
    """The output of a short step, until it is given out."""

    def __init__(
        self,
        game: Game | Ruleset | str,
        render_mode: str | None = None,
        max_cycles: int | None = None,
        strict: bool = False,
        **parameters: Any,
    ):
        AECEnv.__init__(self)
        self._setup(game, render_mode, max_cycles, strict, parameters)
        ruleset = self.ruleset
        self._sequential = not ruleset.simultaneous
        self._integer = ruleset.discrete and ruleset.actions_shape == ()
        self._joint = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
        self._decisions_left = -1
        self._nothing = dict.fromkeys(self.possible_agents, 0.0), dict.fromkeys(self.possible_agents, False)
        self._movers = ["", *self.possible_agents]  # by the number of the mover in summaries
        self._showable = self._in_turn and not self._leaves and not self._reports and max_cycles is None
        self._waiting: list[str] = []  # the other agents that act in this step of a joint game

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a new game. Without a seed the generator of the last game goes on."""
        self._seed(seed)
        self._last_action = None
        shown = self._begin()
        self._start_agents()
        self._fresh = shown

    def _bind(self) -> None:
        super()._bind()
        self._fresh = None

    def _start_agents(self) -> None:
        self._fresh = None
        agents = self._present() if self._leaves else self.possible_agents
        self.agents = agents[:]
        # A copy takes a quarter of the time of `dict.fromkeys`.
        rewards, flags = self._nothing
        if len(agents) < len(rewards):
            rewards, flags = dict.fromkeys(agents, 0.0), dict.fromkeys(agents, False)
        self.rewards = rewards.copy()
        self._cumulative_rewards = rewards.copy()
        self.terminations = flags.copy()
        self.truncations = flags.copy()
        over = self._summary & SUMMARY_OVER
        self._quiet = not over  # the game goes on, and no rewards are to be reported
        if over:
            ended = self.terminations if over & SUMMARY_TERMINATED else self.truncations
            ended.update(dict.fromkeys(agents, True))
        self.infos = {agent: self._reported(self._seats[agent]) if self._reports else {} for agent in agents}
        self._skip_agent_selection = None
        self._next_agent()
        self._decisions_left = -1 if self.max_cycles is None else self.max_cycles * len(agents)

    def _next_agent(self) -> None:
        if self._sequential:
            self.agent_selection = self._movers[self._summary & SUMMARY_MOVER]
            return
        self._waiting = self._actors()
        if self._waiting:
            self.agent_selection = self._waiting.pop(0)
        elif self.agents:
            self.agent_selection = self.agents[0]

    def set_state(self, state: np.void) -> None:
        super().set_state(state)
        self._last_action = None
        self._start_agents()

    def observe(self, agent: str) -> Any:
        return self._observe(agent)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its last step, terminated, truncated and info of the agent to act."""
        fresh = self._fresh
        if fresh is not None and observe:
            self._fresh = None
            agent = self.agent_selection
            observation = {"observation": fresh.observation, "action_mask": fresh.mask}
            if self._quiet:
                return observation, 0.0, False, False, self.infos[agent]
            return (
                observation,
                self._cumulative_rewards[agent],
                self.terminations[agent],
                self.truncations[agent],
                self.infos[agent],
            )
        try:
            agent = self.agent_selection
        except AttributeError:
            raise ResetNeeded("call reset() before last()") from None
        return (
            self._observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def step(self, action: Any) -> None:
        """The agent of `agent_selection` acts; `None` after the end of the game.

        Raises:
            ResetNeeded: before the first reset, and after every agent has left.
            ValueError: for an action other than `None` after the end.
            IllegalAction: in strict mode, or for an action that is not an element of the action space's type.
        """
        shown = self._shown
        if (
            shown is None
            or (action.__class__ is not _INT64 and action.__class__ is not int)
            or self._summary & SUMMARY_OVER
            or self.strict
            or self.render_mode is not None
        ):
            self._step(action)
            return
        if not self._quiet:
            self._settle(self.agent_selection)
        self._shown = shown = shown.next
        if getrefcount(shown.observation) > shown.free or getrefcount(shown.mask) > shown.free:
            shown.renew()
        try:
            self._summary = summary = shown.step(action)
        except OverflowError:
            raise self._no_action(action) from None
        self.agent_selection = self._movers[summary & SUMMARY_MOVER]
        self._fresh = shown
        if summary > SUMMARY_MOVER:
            self._consequences(summary)

    def _step(self, action: Any) -> None:
        """`step` of every environment and action, and after the end."""
        if not self.agents:
            raise ResetNeeded("the game is over and every agent has left: call reset()")
        self._fresh = None
        agent = self.agent_selection
        if self._summary & SUMMARY_OVER or (self._leaves and self.terminations[agent]):
            self._was_dead_step(action)
            return
        if self._sequential:
            if not self._integer or (action.__class__ is not _INT64 and action.__class__ is not int):
                action = as_action(self.ruleset, action)
            if self.strict:
                require_legal(self.ruleset, self._states[0], self._mask, action)
            if not self._quiet:
                self._settle(agent)
            self._advance(action)
            if self._showable and self._shown is None:
                self._show()
        else:
            seat = self._seats[agent]
            self._joint[seat] = one_action(self.ruleset, action)
            if not self._quiet:
                self._settle(agent)
            if self._waiting:
                self.agent_selection = self._waiting.pop(0)
                self._count()
                return
            if self.strict:
                require_legal(self.ruleset, self._states[0], self._mask, self._joint)
            self._advance(self._joint)
        if self.render_mode == "human":
            self.render()

    def _advance(self, action: Any) -> None:
        self._last_action = action
        self._act(action)
        self._summary = summary = self._go(None)
        if self._sequential:
            self.agent_selection = self._movers[summary & SUMMARY_MOVER]
        else:
            self._next_agent()
        self._consequences(summary)

    def _consequences(self, summary: int) -> None:
        # Of a step, for everything but the selection of the next agent.
        if summary > SUMMARY_MOVER:
            self._quiet = False
        if summary & SUMMARY_REWARDED:
            for agent, reward in zip(self.possible_agents, self._rewards.tolist(), strict=False):
                if not self._leaves or agent in self.rewards:
                    self.rewards[agent] = reward
                    self._cumulative_rewards[agent] += reward
        if self._reports:
            self.infos = {agent: self._reported(self._seats[agent]) for agent in self.agents}
        if summary & SUMMARY_OVER:
            self._finish(bool(summary & SUMMARY_TERMINATED), END_REASONS[summary >> SUMMARY_REASON_SHIFT])
            return
        if self._leaves:
            self._remove_gone()
        if self._decisions_left >= 0:
            self._count()

    def _remove_gone(self) -> None:
        # As PettingZoo prescribes: an agent that has left takes the step None before any other acts.
        for agent in self.agents:
            if self._gone(agent):
                self.terminations[agent] = True
        self._deads_step_first()

    def _count(self) -> None:
        if self._decisions_left < 0:
            return
        self._decisions_left -= 1
        if self._decisions_left == 0 and not self._summary & SUMMARY_OVER:
            self._states["truncated"] = 1
            self._summary |= SUMMARY_OVER & ~SUMMARY_TERMINATED
            self._masks[:] = 0
            self._finish(False, "max_cycles")

    def _finish(self, terminated: bool, reason: str) -> None:
        agents = self.agents
        for agent in agents:
            self.terminations[agent] = ended = terminated or self._gone(agent)
            self.truncations[agent] = not ended
            reported = self._reported(self._seats[agent]) if self._reports else {}
            self.infos[agent] = {**reported, "end_reason": reason}
        if self._leaves and self.agent_selection not in agents:
            self.agent_selection = agents[0]

    def _settle(self, agent: str) -> None:
        # This agent acts: it has been told its rewards.
        self._clear_rewards()
        self._cumulative_rewards[agent] = 0.0
        self._quiet = not any(self._cumulative_rewards.values())


class Parallel(_PettingZooGame, ParallelEnv):
    """A game as a PettingZoo parallel environment, where all act at once or there is one player.

    Args:
        game, render_mode, strict, parameters: as in `AEC`.
        max_cycles: truncates the game after so many steps.

    Raises:
        GameParameterError: for a game whose players move in turn.
    """

    def __init__(
        self,
        game: Game | Ruleset | str,
        render_mode: str | None = None,
        max_cycles: int | None = None,
        strict: bool = False,
        **parameters: Any,
    ):
        self._setup(game, render_mode, max_cycles, strict, parameters)
        if not self.metadata["is_parallelizable"]:
            raise GameParameterError(
                f"the players of {self.ruleset.game.name} move in turn, so it has no parallel environment; "
                f'use pettingzoo.make("aec", "{self.ruleset.game.id}")'
            )
        self._joint = np.zeros(self.ruleset.actions_shape, self.ruleset.action_dtype)
        self._cycles = 0

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begins a new game. Without a seed the generator of the last game goes on."""
        self._seed(seed)
        self._last_action = None
        self._begin()
        self.agents = self.possible_agents[:]
        self._cycles = 0
        return self._everybody_observes(), self._everybody_reports()

    def set_state(self, state: np.void) -> None:
        super().set_state(state)
        self.agents = [] if self._summary & SUMMARY_OVER else self._present()
        self._cycles = 0

    def _everybody_observes(self) -> dict[str, Any]:
        return {agent: self._observe(agent) for agent in self.possible_agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """All agents act.

        Raises:
            ResetNeeded: before the first reset and after the end.
            IllegalAction: in strict mode, or for an action of the wrong type.
        """
        if not self.agents:
            if not actions:
                return {}, {}, {}, {}, {}
            raise ResetNeeded("the game is over: call reset()")
        agents = self.agents
        action = (
            self._joint_action(actions) if self.ruleset.simultaneous else as_action(self.ruleset, actions[agents[0]])
        )
        if self.strict:
            require_legal(self.ruleset, self._states[0], self._mask, action)
        self._last_action = action
        self._advance(action)
        summary = self._summary
        self._cycles += 1
        reason = END_REASONS[summary >> SUMMARY_REASON_SHIFT]
        if not summary & SUMMARY_OVER and self._cycles == self.max_cycles:
            self._states["truncated"] = 1
            self._summary = summary = summary | (SUMMARY_OVER & ~SUMMARY_TERMINATED)
            self._masks[:] = 0
            reason = "max_cycles"
        terminated = bool(summary & SUMMARY_TERMINATED)
        truncated = bool(summary & SUMMARY_OVER) and not terminated
        if self.render_mode == "human":
            self.render()
        reports = self._everybody_reports()
        rewards = dict(zip(self.possible_agents, self._rewards.tolist(), strict=False))
        gone = {agent: self._gone(agent) for agent in agents}
        result = (
            {agent: self._observe(agent) for agent in agents},
            {agent: rewards[agent] for agent in agents},
            {agent: terminated or gone[agent] for agent in agents},
            {agent: truncated and not gone[agent] for agent in agents},
            {agent: {**reports[agent], "end_reason": reason} for agent in agents},
        )
        self.agents = [] if terminated or truncated else [agent for agent in agents if not gone[agent]]
        return result

    def _joint_action(self, actions: dict[str, Any]) -> Any:
        actors = self._actors()
        missing = [agent for agent in actors if agent not in actions]
        if missing:
            raise IllegalAction(f"{', '.join(missing)} must act in this step of {self.ruleset.game.name}")
        for agent in actors:
            self._joint[self._seats[agent]] = one_action(self.ruleset, actions[agent])
        return self._joint


def aec(game: str, **kwargs: Any) -> AEC:
    """The entry point of PettingZoo's AEC registry."""
    return AEC(game, **kwargs)


def parallel(game: str, **kwargs: Any) -> Parallel:
    """The entry point of PettingZoo's parallel registry."""
    return Parallel(game, **kwargs)

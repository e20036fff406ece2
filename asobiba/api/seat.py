"""A game from one seat, against other agents: a Gymnasium environment."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from asobiba.api.opponents import Opponent, as_agent, draw_episode, seat_number
from asobiba.api.render import MODES, Renderer, check_mode
from asobiba.api.single import SingleGame, as_ruleset, fresh_seed
from asobiba.api.spaces import action_space
from asobiba.core.agents import Agent, KernelAgent
from asobiba.core.engine import agent_engine_for
from asobiba.core.game import Game, Ruleset
from asobiba.core.kernels import entry_point
from asobiba.core.laws import SUMMARY_OVER, SUMMARY_REASON_SHIFT, SUMMARY_TERMINATED, SUMMARY_TRUNCATED
from asobiba.core.random import seed_keys
from asobiba.core.state import CONTROL, END_REASONS
from asobiba.core.states import as_action, require_legal, view_of


class SeatEnv(SingleGame, gymnasium.Env):
    """One player's game: the others are played by agents.

    The learner sees only its own decision points, from its own point of view. The reward of a step is what the learner
    got from its action up to its next decision, so the reward for the end of the game arrives on the learner's own
    last step, whichever side ended it. `info` holds `action_mask` (`(num_actions,)` int8; games of discrete actions)
    what the game reports (`Layout.info`) and, at the end, `end_reason`. An illegal action ends the game with the game's illegal-action reward.

    Args:
        game: a game, its name, or a ruleset.
        opponent: the text of a registered agent (`name` or `name:parameter=value`), an `asobiba.core.Agent`, or a
            function `(view, legal) -> action`; it plays all other seats. Compiled agents play in the engine.
        seat: "first", "second", a seat's name or number, or "random": drawn anew for every episode.
        render_mode: "human", "rgb_array", "ansi", "svg" or `None`; pictures show what the learner knows.
        strict: an illegal action raises `IllegalAction` instead of ending the game.
        parameters: of the game.
    """

    metadata = {"render_modes": list(MODES), "render_fps": 4}  # noqa: RUF012 - Gymnasium's own form

    def __init__(
        self,
        game: Game | Ruleset | str,
        opponent: Opponent = "random",
        seat: str | int = "random",
        render_mode: str | None = None,
        strict: bool = False,
        **parameters: Any,
    ):
        ruleset = as_ruleset(game, parameters)
        check_mode(render_mode)
        self._alone = ruleset.num_players == 1
        self._agent = None if self._alone else as_agent(ruleset, opponent)
        self._kernel_agent: KernelAgent | None = None
        if isinstance(self._agent, KernelAgent) and not ruleset.simultaneous:
            self._kernel_agent = self._agent
        self._compiled = self._kernel_agent is not None
        self._others: dict[int, Agent] = {}
        players = ruleset.num_players
        self._control = np.zeros(1, CONTROL)
        self._control["seat_choice"] = 0 if self._alone else seat_number(ruleset, seat)
        self._views = ruleset.zeros()
        self._memories: Any = None
        if self._kernel_agent is not None:
            self._memories = np.zeros(players, self._kernel_agent.memory_dtype)
        self._joint = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
        self._learner = 0
        self._integer = ruleset.discrete
        self._reports = bool(ruleset.layout.info)
        self._allocate(ruleset)
        self.strict = strict
        self.render_mode = render_mode
        self.observation_space = copy.deepcopy(ruleset.observation_space)
        self.action_space = action_space(ruleset)
        self._renderer = Renderer(ruleset, self.metadata["render_fps"])
        self._last_action: Any = None
        if self._compiled:  # one observation: the learner's
            self._observations = np.zeros((1, ruleset.observation_size), ruleset.observation_space.dtype)
            self._bind()

    _DERIVED = (*SingleGame._DERIVED, "_seat_step", "_seat_reset", "_own_mask", "_own_observation")  # type: ignore[assignment]

    def _bind(self) -> None:
        super()._bind()
        if self._kernel_agent is not None:
            engine = agent_engine_for(self.ruleset.game, self._kernel_agent.policy)
            action = 0 if self._integer else np.zeros(self.ruleset.actions_shape, self.ruleset.action_dtype)
            self._seat_step = entry_point(
                engine.seat_step_one,
                (
                    self._states,
                    0,
                    self._params,
                    action,
                    self._masks,
                    self._observations,
                    self._views,
                    self._memories,
                    self._control,
                ),
            )
            self._seat_reset = engine.seat_reset_one
        self._own_mask = self._mask
        self._own_observation = self._observation
        if self.ruleset.simultaneous:
            self._own_mask = self._mask[self._learner]
            self._own_observation = self._observation[self._learner]

    @property
    def learner(self) -> int:
        """The learner's seat in this episode."""
        return self._learner

    @property
    def opponent(self) -> Agent | None:
        """The agent that plays the other seats."""
        return self._agent

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Begins an episode; without a seed the generators of the last one go on."""
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = fresh_seed(self.np_random)
        self._seed(seed)
        if seed is not None:
            self._control["rng_key"] = seed_keys([int(seed) & (2**64 - 1)], 1)
            self._control["rng_counter"] = 0
        self._last_action = None
        if self._kernel_agent is not None:
            self._summary = self._seat_reset(
                self._states,
                0,
                self._params,
                self._blank,
                self._masks,
                self._observations,
                self._views,
                self._memories,
                self._kernel_agent.initial,
                self._control,
            )
            self._learner = int(self._control["seat"][0])
        else:
            self._begin()
        if self.render_mode == "human":
            self.render()
        return self._own_observation.copy(), self._info()

    def _begin(self) -> None:
        for _ in range(64):  # a game that the opponent ends before the learner's first move is dealt again
            seed = int(draw_episode(self._control, 0, self.ruleset.num_players))
            self._learner = int(self._control["seat"][0])
            self._summary = self._engine.reset_one(
                self._states, 0, self._params, self._blank, self._masks, self._observations
            )
            self._others = {}
            for k in range(self.ruleset.num_players):
                if k != self._learner and self._agent is not None:
                    self._others[k] = self._agent if self.ruleset.num_players == 2 else copy.deepcopy(self._agent)
                    self._others[k].reset(self.ruleset, k, seed)
            self._reply()
            if not self._summary & SUMMARY_OVER:
                break
        self._look()

    def _reply(self) -> float:
        # The others play until the learner's turn; returns the learner's rewards on the way.
        gained = 0.0
        if self._alone or self.ruleset.simultaneous:
            return gained
        while not self._summary & SUMMARY_OVER and self.to_move != self._learner:
            mover = self.to_move
            view = view_of(self.ruleset, self._states[0], mover)
            action = as_action(self.ruleset, self._others[mover].act(view, self._mask.copy()))
            gained += self._advance(action)
        return gained

    def _advance(self, action: Any) -> float:
        self._summary = self._engine.advance_one(self._states, 0, self._params, action, self._masks)
        self._engine.mask_one(self._states, 0, self._params, self._masks)
        return float(self._rewards[self._learner])

    def _look(self) -> None:
        if self.ruleset.simultaneous:
            self._engine.refresh_one(self._states, 0, self._params, self._masks, self._observations)
            self._own_mask = self._mask[self._learner]
            self._own_observation = self._observation[self._learner]
        else:
            self._engine.observe_one(self._states, 0, self._params, self._learner, self._observations)

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"action_mask": self._own_mask.copy()} if self._integer else {}
        info |= self._reported(self._learner)
        if self._summary & SUMMARY_OVER:
            info["end_reason"] = END_REASONS[self._summary >> SUMMARY_REASON_SHIFT]
        return info

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """The learner acts, then the others until its next decision or the end.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset and after the end of an episode.
            IllegalAction: in strict mode, or for an action of the wrong type.
        """
        if self._summary & SUMMARY_OVER:
            raise ResetNeeded("the episode is over, or none has begun: call reset()")
        if not self._integer or (action.__class__ is not int and action.__class__ is not np.int64):
            action = self._as_action(action)
        if self.strict:
            self._require_legal(action)
        if self._compiled:
            reward, summary = self._seat_step(
                self._states,
                0,
                self._params,
                action,
                self._masks,
                self._observations,
                self._views,
                self._memories,
                self._control,
            )
            self._summary = summary
        else:
            reward = self._play(action)
            summary = self._summary
        if self.render_mode is not None:
            self._last_action = action
            if self.render_mode == "human":
                self.render()
        info: dict[str, Any] = {"action_mask": self._own_mask.copy()} if self._integer else {}
        if self._reports:
            info |= self._reported(self._learner)
        if summary & SUMMARY_OVER:
            info["end_reason"] = END_REASONS[summary >> SUMMARY_REASON_SHIFT]
        return (
            self._own_observation.copy(),
            reward,
            summary & SUMMARY_TERMINATED != 0,
            summary & SUMMARY_TRUNCATED != 0,
            info,
        )

    def _as_action(self, action: Any) -> Any:
        if not self.ruleset.simultaneous:
            return as_action(self.ruleset, action)
        row = np.asarray(action, self._joint.dtype)
        if row.shape != self._joint.shape[1:]:
            return as_action(self.ruleset, action)  # says what is wrong
        return row

    def _require_legal(self, action: Any) -> None:
        if self.ruleset.simultaneous:
            joint = np.array(
                [np.argmax(row) if self._integer else np.zeros(self._joint.shape[1:]) for row in self._mask],
                self._joint.dtype,
            )
            joint[self._learner] = action
            action = joint
        require_legal(self.ruleset, self._states[0], self._mask, action)

    def _play(self, action: Any) -> float:
        if self.ruleset.simultaneous:
            joint = self._joint
            joint[self._learner] = action
            for k, agent in self._others.items():
                joint[k] = agent.act(view_of(self.ruleset, self._states[0], k), self._mask[k].copy())
            reward = self._advance(joint)
        else:
            reward = self._advance(action)
            reward += self._reply()
        self._look()
        return reward

    def action_masks(self) -> np.ndarray:
        """The learner's legal actions, `(num_actions,)` bool, as sb3-contrib's MaskablePPO asks for them."""
        if not self._integer:
            raise AttributeError(f"{self.ruleset.game.name} has continuous actions and therefore no masks")
        return self._own_mask.astype(np.bool_)

    def set_state(self, state: np.void) -> None:
        """Continues from a copy of this state record, with the learner in the seat that is to move.

        Agents that remember the game begin anew.
        """
        super().set_state(state)
        if not self._alone and not self.ruleset.simultaneous:
            self._learner = self.to_move
            self._control["seat"] = self._learner
        if self._agent is not None:
            seed = int(seed_keys(self._states["rng_key"], 3)[0] >> np.uint64(1))
            if self._kernel_agent is not None:
                for k in range(self.ruleset.num_players):
                    self._memories[k : k + 1] = self._kernel_agent.memories(np.array([seed]), k)
            else:
                self._others = {
                    k: self._agent if self.ruleset.num_players == 2 else copy.deepcopy(self._agent)
                    for k in range(self.ruleset.num_players)
                    if k != self._learner
                }
                for k, agent in self._others.items():
                    agent.reset(self.ruleset, k, seed)

    def render(self) -> Any:
        """The picture in `render_mode`, as the learner sees it."""
        return self._renderer.render(
            self.render_mode, self._states[0], seat=self._learner, last_action=self._last_action
        )

    def close(self) -> None:
        self._renderer.close()
        if self._agent is not None:
            self._agent.close()

"""A game from one seat, against other agents: a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from sys import getrefcount
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from asobiba.api.opponents import Opponent, seat_number
from asobiba.api.referee import one_action
from asobiba.api.render import MODES, Renderer, check_mode, step_fps
from asobiba.api.seating import Seating
from asobiba.api.single import SingleGame, as_ruleset, fresh_seed
from asobiba.api.spaces import action_space, observation_space
from asobiba.core.agents import Agent
from asobiba.core.game import Game, Ruleset
from asobiba.core.laws import SUMMARY_MOVER, SUMMARY_OVER, SUMMARY_REASON_SHIFT, SUMMARY_TERMINATED, SUMMARY_TRUNCATED
from asobiba.core.record import END_REASONS

_INT64 = np.int64


class SeatEnv(SingleGame, gymnasium.Env):
    """A game as one player sees it; agents play the other seats. A view of `asobiba.api.Seating` with one game.

    The learner sees only its own decision points, from its own point of view. The reward of a step is the sum of the
    learner's rewards from its action to its next decision, so the reward for the end of the game arrives with the
    learner's last step, whichever side ended it. `info` holds `action_mask` (`(num_actions,)` int8; games of discrete
    actions), the game's own entries (`Layout.info`) and `end_reason` ("running" until the end). An illegal action ends
    the game with the game's illegal-action reward, or is replaced, as the game declares.

    Args:
        game: a game, its name, or a ruleset.
        opponent: the player of the other seats: the text of a registered agent (`name` or `name:parameter=value`), an
            `asobiba.core.Agent`, or a function `(view, legal) -> action`; or a mapping from seats to these, or a tuple
            with one for each seat (`None` at the learner's). Compiled agents play in the engine.
        seat: "first", "second", a seat's name or number, or "random": drawn anew for every episode.
        render_mode: "human", "rgb_array", "ansi", "svg" or `None`; pictures show the learner's knowledge (for a car:
            the view from beside the course).
        strict: an illegal action raises `IllegalAction` instead.
        dtype: of the observations: the game's own, or a floating-point type such as "float32" for libraries that take
            nothing else.
        parameters: of the game.
    """

    metadata: dict[str, Any] = {"render_modes": list(MODES), "render_fps": 4}  # noqa: RUF012 - Gymnasium's own form
    _batch: Seating

    def __init__(
        self,
        game: Game | Ruleset | str,
        opponent: Opponent = "random",
        seat: str | int = "random",
        render_mode: str | None = None,
        strict: bool = False,
        dtype: Any = None,
        **parameters: Any,
    ):
        ruleset = as_ruleset(game, parameters)
        check_mode(render_mode)
        seat_number(ruleset, seat)  # without a learner it is no environment
        opponent = tuple(opponent) if isinstance(opponent, list) else opponent
        self._integer = ruleset.discrete
        self._reports = bool(ruleset.layout.info)
        self._joint = ruleset.simultaneous
        self.observation_space, self._dtype = observation_space(ruleset, dtype)
        self._allocate(Seating(ruleset, 1, opponent=opponent, seat=seat, autoreset="disabled", threads=1))
        self.strict = strict
        self.render_mode = render_mode
        self.action_space = action_space(ruleset)
        self.metadata = {**type(self).metadata, "render_fps": step_fps(ruleset, 4)}
        self._renderer = Renderer(ruleset, self.metadata["render_fps"])
        self._last_action: Any = None

    _DERIVED = (*SingleGame._DERIVED, "_own_mask", "_copied_mask", "_seen", "_gain", "_compiled")

    def _bind(self) -> None:
        super()._bind()
        # Bound methods: they save a look-up in every step.
        copied: Callable[[], np.ndarray] = self._observation.copy
        self._seen = copied if self._dtype is None else partial(self._observation.astype, self._dtype)
        self._find_mask()
        self._gain = memoryview(self._batch.outcomes["gain"])
        self._compiled = self._batch.compiled

    def _find_mask(self) -> None:
        """The learner's mask, after its seat may have changed."""
        self._own_mask = self._mask[self.learner] if self._joint else self._mask
        self._copied_mask = self._own_mask.copy

    def _first_step(self, action: None) -> int:
        if self._compiled:
            if self._number is not None and self._dtype is None and not self._reports:
                self._show()
            return super()._first_step(action)
        self._go = self._step_in_python
        return self._go(action)

    def _step_in_python(self, action: None) -> int:
        self._batch.step(self._batch.actions)
        self._look()
        return self._summary

    @property
    def learner(self) -> int:
        """The learner's seat in this episode."""
        return int(self._batch.control["seat"][0])

    @property
    def opponents(self) -> list[Agent]:
        """The agents that play the other seats."""
        return self._batch.opponents

    @property
    def opponent(self) -> Agent | None:
        """The agent that plays the other seats, where there is only one."""
        agents = self._batch.opponents
        return agents[0] if agents else None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Begins an episode; without a seed the generators of the last one go on."""
        if seed is not None:
            super().reset(seed=seed)  # it does nothing else
        elif not self._seeded:
            seed = fresh_seed(self.np_random)
        if seed is not None:
            self._batch.seed(seed)
            self._seeded = True
        self._last_action = None
        shown = None
        if self._compiled:
            shown = self._begin()
        else:
            self._batch.reset()
            self._look()
        if self._joint:
            self._find_mask()
        if self.render_mode == "human":
            self.render()
        if shown is not None:
            reason = END_REASONS[self._summary >> SUMMARY_REASON_SHIFT]
            return shown.observation, {"action_mask": shown.mask, "end_reason": reason}
        return self._seen(), self._info(self._summary)

    def _look(self) -> None:
        super()._look()
        if self._joint:
            self._find_mask()

    def _info(self, summary: int) -> dict[str, Any]:
        reason = END_REASONS[summary >> SUMMARY_REASON_SHIFT]
        if self._integer and not self._reports:
            return {"action_mask": self._copied_mask(), "end_reason": reason}
        masks = {"action_mask": self._copied_mask()} if self._integer else {}
        reported = self._reported(self.learner) if self._reports else {}
        return {**masks, **reported, "end_reason": reason}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """The learner acts, then the others until its next decision or the end.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset and after the end of an episode.
            IllegalAction: in strict mode, or for an action of the wrong type.
        """
        if self._summary & SUMMARY_OVER:
            raise ResetNeeded("the episode is over, or none has begun: call reset()")
        shown = self._shown
        if (
            shown is None
            or (action.__class__ is not _INT64 and action.__class__ is not int)
            or self.strict
            or self.render_mode is not None
        ):
            return self._step(action)
        self._shown = shown = shown.next
        if getrefcount(shown.observation) > shown.free or getrefcount(shown.mask) > shown.free:
            shown.renew()
        try:
            self._summary = summary = shown.step(action)
        except OverflowError:
            raise self._no_action(action) from None
        if summary <= SUMMARY_MOVER:  # the game goes on
            return shown.observation, self._gain[0], False, False, {"action_mask": shown.mask, "end_reason": "running"}
        return (
            shown.observation,
            self._gain[0],
            summary & SUMMARY_TERMINATED != 0,
            summary & SUMMARY_TRUNCATED != 0,
            {"action_mask": shown.mask, "end_reason": END_REASONS[summary >> SUMMARY_REASON_SHIFT]},
        )

    def _step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """`step` of every environment and action."""
        action = one_action(self.ruleset, action)
        if self._joint:
            self._batch.actions[0, self.learner] = action
        else:
            self._act(action)
        if self.strict:
            self._batch._require_legal_learners()
        self._summary = summary = self._go(None)
        if self.render_mode is not None:
            self._last_action = action
            if self.render_mode == "human":
                self.render()
        return (
            self._seen(),
            self._gain[0],
            summary & SUMMARY_TERMINATED != 0,
            summary & SUMMARY_TRUNCATED != 0,
            self._info(summary),
        )

    def action_masks(self) -> np.ndarray:
        """The learner's legal actions, `(num_actions,)` bool, as sb3-contrib's MaskablePPO asks for them."""
        if not self._integer:
            raise AttributeError(f"{self.ruleset.game.name} has continuous actions and therefore no masks")
        return self._own_mask.astype(np.bool_)

    def set_state(self, state: np.void) -> None:
        """Continues from a copy of this state record, with the learner in the seat that is to move.

        Agents that remember the game begin anew. Raises `StateBytesError` if it is not a state of these rules.
        """
        super().set_state(state)

    def render(self) -> Any:
        """The picture in `render_mode`, as the learner's player sees it."""
        return self._renderer.render(
            self.render_mode, self._states[0], seat=self.learner, last_action=self._last_action
        )

    def close(self) -> None:
        self._renderer.close()
        self._batch.close()

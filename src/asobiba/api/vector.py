"""Gymnasium's vector environment on the compiled engine."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from asobiba.api.batch import Batch
from asobiba.api.opponents import Opponent, seat_number
from asobiba.api.render import MODES, Renderer, check_mode, step_fps
from asobiba.api.seating import Seating
from asobiba.api.single import as_ruleset, fresh_seed
from asobiba.api.spaces import action_space, observation_space
from asobiba.core.errors import GameParameterError
from asobiba.core.game import Game, Ruleset

_MODES = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "disabled",
}


class VectorEnv(gymnasium.vector.VectorEnv):
    """`num_envs` games in one compiled call per step.

    With `opponent="self"` every step moves the side to move in each game: observation, mask and reward are the
    mover's, so the reward for the end of a game is that of the player who made the last move; `infos["rewards"]` holds
    the rewards of all players, `infos["mover"]` the player who moved. Otherwise each game is like a `SeatEnv`: a
    learner plays against agents, and the reward is the sum that the learner got since its last decision. Game `i` with
    seed `s` is the game of the single environment with seed `s + i`.

    Arrays that `reset` and `step` return are never overwritten while the caller holds them; arrays that nobody holds
    are reused, so nothing is copied. `infos["action_mask"]` is `(n, num_actions)` int8, `infos["end_reason"]` `(n,)`
    uint8 indexes `asobiba.core.record.END_REASONS` (0 while a game runs); against agents it also holds the game's own
    entries (`Layout.info`). All three auto-reset modes of Gymnasium are there: with "SameStep" `infos["final_obs"]` and
    `infos["final_info"]` hold the last observations and infos of the finished games; with "Disabled"
    `reset(options={"reset_mask": mask})` begins the games of a `(n,)` boolean mask anew.

    Args:
        game: a game, its name, or a ruleset.
        num_envs: number of games.
        opponent: "self", or as in `SeatEnv`, or a sequence with one for each game.
        seat: as in `SeatEnv`; not with `opponent="self"`.
        autoreset_mode: `gymnasium.vector.AutoresetMode` or its text.
        threads: as in `Batch`.
        render_mode: as in `SeatEnv`; `render` returns one picture per game.
        params: parameter records, one for each game (domain randomisation), `(n,)` of the dtype of `Ruleset.params`.
        strict: an illegal action raises `IllegalAction` instead of ending its game.
        dtype: as in `SeatEnv`; observations are then copied.
        parameters: of the game.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's own form
        "render_modes": list(MODES),
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        game: Game | Ruleset | str,
        num_envs: int = 1,
        opponent: Opponent | Sequence[Opponent] = "random",
        seat: str | int = "random",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
        render_mode: str | None = None,
        params: np.ndarray | None = None,
        strict: bool = False,
        dtype: Any = None,
        **parameters: Any,
    ):
        try:
            mode = AutoresetMode(autoreset_mode)
        except ValueError:
            names = ", ".join(repr(m.value) for m in AutoresetMode)
            raise GameParameterError(f"autoreset_mode must be one of {names}, not {autoreset_mode!r}") from None
        check_mode(render_mode)
        ruleset = as_ruleset(game, parameters)
        self.ruleset = ruleset
        self.num_envs = int(num_envs)
        self.render_mode = render_mode
        self.metadata = {**type(self).metadata, "autoreset_mode": mode, "render_fps": step_fps(ruleset, 4)}
        self.autoreset_mode = mode
        shared: dict[str, Any] = {
            "autoreset": _MODES[mode],
            "threads": threads,
            "params": params,
            "strict": strict,
            "recycle": True,
        }
        self.self_play = isinstance(opponent, str) and opponent == "self"
        self.games: Batch
        if self.self_play:
            if ruleset.simultaneous:
                raise GameParameterError(
                    f'the players of {ruleset.game.name} act at once, so opponent="self" has no single mover; '
                    "use asobiba.Batch, or name an opponent"
                )
            if seat != "random":
                raise GameParameterError('seat has no meaning with opponent="self"')
            self.games = Batch(ruleset, num_envs, **shared)
        else:
            seat_number(ruleset, seat)  # without a learner it is no environment
            self.games = Seating(ruleset, num_envs, opponent=opponent, seat=seat, **shared)
        self.single_observation_space, self._dtype = observation_space(ruleset, dtype)
        self.single_action_space = action_space(ruleset)
        self._begun = False
        self._seeded = False
        self._renderer = Renderer(ruleset, self.metadata["render_fps"])
        self._present = np.ones(self.num_envs, np.bool_)
        self._present.flags.writeable = False

    @cached_property
    def observation_space(self) -> gymnasium.Space:  # type: ignore[override]
        return batch_space(self.single_observation_space, self.num_envs)

    @cached_property
    def action_space(self) -> gymnasium.Space:  # type: ignore[override]
        return batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins new episodes: in all games, or in those of `options["reset_mask"]`.

        `seed` is an integer (game `i` gets `seed + i`) or one integer for each game; without it the games' generators
        go on.
        """
        select = self._reset_mask(options)
        if isinstance(seed, (int, np.integer)) or seed is None:
            super().reset(seed=None if seed is None else int(seed) % 2**64)
        if seed is None and not self._seeded:
            seed = fresh_seed(self.np_random)
        if seed is not None:
            self._seed(seed, select)
            self._seeded = True
        self._begun = True
        return self._turned(self.games.reset(select=select)), self._infos()

    def _reset_mask(self, options: dict[str, Any] | None) -> np.ndarray | None:
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return None
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise GameParameterError(f"options['reset_mask'] must be a ({self.num_envs},) array of bool, not {mask!r}")
        if not mask.any():
            raise GameParameterError("options['reset_mask'] names no game to reset")
        return mask

    def _seed(self, seed: int | Sequence[int], select: np.ndarray | None) -> None:
        if not isinstance(seed, (int, np.integer)):
            if len(seed) != self.num_envs:
                raise GameParameterError(f"{len(seed)} seeds were given for {self.num_envs} games")
            seeds = np.array([int(s) & (2**64 - 1) for s in seed], np.uint64)
        else:
            seeds = np.arange(self.num_envs, dtype=np.uint64) + np.uint64(int(seed) & (2**64 - 1))
        self.games._seed(seeds, slice(None) if select is None else select)

    def _turned(self, observations: np.ndarray) -> np.ndarray:
        return observations if self._dtype is None else observations.astype(self._dtype)

    def _infos(self) -> dict[str, Any]:
        games = self.games
        infos: dict[str, Any] = {"end_reason": games.reasons, "_end_reason": self._present}
        if self.ruleset.discrete:
            infos["action_mask"] = games.learner_masks if isinstance(games, Seating) else games.masks
            infos["_action_mask"] = self._present
        if isinstance(games, Seating):
            for name, values in games.reported().items():
                infos[name], infos["_" + name] = values, self._present
        if self.self_play:
            infos["rewards"] = games.rewards
            infos["mover"] = games.movers
            infos["_rewards"] = infos["_mover"] = self._present
        return infos

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One decision in every game: `(n,)` integers, or `(n, ...)` as the action space says.

        Returns observations `(n, size)`, rewards `(n,)` float32, terminated and truncated `(n,)` bool, and infos.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset; with "Disabled" also while a finished game waits.
            IllegalAction: in strict mode, or for actions of another shape or dtype.
        """
        games = self.games
        if not self._begun:
            raise ResetNeeded("call reset() before step()")
        if self.autoreset_mode is AutoresetMode.DISABLED and (games.terminated | games.truncated).any():
            waiting = np.flatnonzero(games.terminated | games.truncated)[:8].tolist()
            raise ResetNeeded(f"games {waiting} are over; reset them: reset(options={{'reset_mask': mask}})")
        observations = games.step(actions)
        terminated, truncated = games.terminated, games.truncated
        infos = self._infos()
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            done = terminated | truncated
            if done.any():
                final = np.full(self.num_envs, None, object)
                finals = games.finals
                for i in np.flatnonzero(done):
                    final[i] = finals[i].astype(self._dtype or finals.dtype)
                infos["final_obs"], infos["_final_obs"] = final, done
                reasons = np.where(done, games.reasons, 0).astype(np.uint8)
                final_info = {"end_reason": reasons, "_end_reason": done}
                if isinstance(games, Seating):
                    for name, values in games.reported(final=True).items():
                        final_info[name], final_info["_" + name] = values, done
                infos["final_info"] = final_info
                infos["_final_info"] = done
                infos["end_reason"] = np.where(done, 0, games.reasons).astype(np.uint8)
        return self._turned(observations), games.gains, terminated, truncated, infos

    def sample_actions(self) -> np.ndarray:
        """A uniform legal action for every game, `(n,)`, drawn in compiled code by each game's own generator.

        The array is overwritten by the next call.
        """
        return self.games.sample_actions()

    def action_masks(self) -> np.ndarray:
        """The legal actions, `(n, num_actions)` bool."""
        games = self.games
        return (games.learner_masks if isinstance(games, Seating) else games.masks).astype(np.bool_)

    @property
    def states(self) -> np.ndarray:
        """The state records, `(n,)`; see `asobiba.core.states` for their use."""
        return self.games.states

    def set_states(self, states: np.ndarray) -> None:
        """Continues every game from a copy of a state record. With agents, each learner takes the seat to move."""
        self._begun = self._seeded = True
        self.games.set_states(states)

    def clone(self) -> VectorEnv:
        """An environment that shares nothing with this one and continues identically."""
        return copy.deepcopy(self)

    def render(self) -> tuple[Any, ...] | None:
        """One picture per game, in `render_mode`; "human" shows the first game."""
        seats = self.games.learners if isinstance(self.games, Seating) else None
        count = 1 if self.render_mode == "human" else self.num_envs
        pictures = tuple(
            self._renderer.render(self.render_mode, self.states[i], seat=None if seats is None else int(seats[i]))
            for i in range(count)
        )
        return None if self.render_mode == "human" else pictures

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the window and the opponents."""
        self._renderer.close()
        if isinstance(self.games, Seating):
            self.games.close()

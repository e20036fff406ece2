"""A Stable-Baselines3 VecEnv on the compiled engine, with batched masks."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from asobiba.api.opponents import Opponent, seat_number
from asobiba.api.render import Renderer, check_mode
from asobiba.api.seating import Seating
from asobiba.api.single import as_ruleset, fresh_seed
from asobiba.api.spaces import action_space
from asobiba.core.errors import MissingExtra
from asobiba.core.game import Game, Ruleset
from asobiba.core.record import END_REASONS

__all__ = [
    "SB3VecEnv",
]

try:
    import torch
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise MissingExtra("stable-baselines3", "sb3") from None


@contextlib.contextmanager
def torch_threads_kept() -> Iterator[None]:
    """Keeps PyTorch's number of threads; Numba's threads would overwrite it, since both use OpenMP."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


class _Rows(np.ndarray):
    """Masks with one row per game, which `np.stack`, as sb3-contrib calls it, returns unchanged."""

    def __array_function__(self, function: Callable, types: Iterable, args: Any, kwargs: Any) -> Any:
        # The dispatcher takes the rows of the array for the arguments, so that `self` is one of them.
        if function is np.stack and len(args) == 1 and isinstance(args[0], _Rows) and not kwargs:
            return args[0].view(np.ndarray)
        return super().__array_function__(function, types, args, kwargs)


class SB3VecEnv(VecEnv):
    """`num_envs` games from a learner's seat against agents, as a Stable-Baselines3 `VecEnv`.

    Games are reset in the step in which they end; `infos[i]` then holds `terminal_observation`,
    `TimeLimit.truncated`, `end_reason`, the game's own entries (`Layout.info`) and `episode` (return `r`, length `l`,
    seconds `t`), as SB3's Monitor reports it. `env_method("action_masks")` gives all masks at once, `(n, num_actions)`
    bool, so MaskablePPO collects without a loop over games. Returned arrays are never overwritten while somebody holds
    them.

    Args:
        game, opponent, seat, threads, params, strict, parameters: as in `asobiba.api.VectorEnv`.
        num_envs: number of games.
        seed: of the first reset; `None` takes one from the operating system. `VecEnv.seed` sets it too.
        render_mode: "rgb_array" or "human".
    """

    def __init__(
        self,
        game: Game | Ruleset | str,
        num_envs: int = 1,
        opponent: Opponent | Sequence[Opponent] = "random",
        seat: str | int = "random",
        threads: int | None = None,
        seed: int | None = None,
        render_mode: str | None = None,
        params: np.ndarray | None = None,
        strict: bool = False,
        **parameters: Any,
    ):
        ruleset = as_ruleset(game, parameters)
        seat_number(ruleset, seat)  # without a learner it is no environment
        check_mode(render_mode)
        self.ruleset = ruleset
        self.games = Seating(
            ruleset,
            num_envs,
            opponent=opponent,
            seat=seat,
            autoreset="same_step",
            threads=threads,
            params=params,
            strict=strict,
            recycle=True,
        )
        self._mode = render_mode
        self._renderer = Renderer(ruleset)
        self._settings: dict[str, Any] = {}
        self._nothing: dict[str, Any] = {}
        self._waiting: np.ndarray | None = None
        self._returns = np.zeros(num_envs, np.float64)
        self._lengths = np.zeros(num_envs, np.int64)
        self._since = np.full(num_envs, time.time())
        super().__init__(num_envs, ruleset.observation_space, action_space(ruleset))
        self.seed(fresh_seed() if seed is None else seed)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seeds the next reset: game `i` gets `seed + i`. Without a seed one is drawn."""
        return super().seed(None if seed is None else int(seed))

    def reset(self) -> np.ndarray:
        """Begins new episodes in all games; returns the observations `(n, size)`."""
        seed = self._seeds[0]
        with torch_threads_kept():
            observations = self.games.reset(seed=seed)
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        self._returns[:] = 0
        self._lengths[:] = 0
        self._since[:] = time.time()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._waiting = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations `(n, size)`, rewards `(n,)` float32, dones `(n,)` bool and one info per game.

        The infos of games that go on are one and the same empty dictionary.
        """
        games = self.games
        assert self._waiting is not None
        actions, self._waiting = self._waiting, None
        with torch_threads_kept():
            observations = games.step(actions)
        rewards = games.gains
        dones = games.terminated | games.truncated
        self._returns += rewards
        self._lengths += 1
        if self._nothing:  # a caller wrote into it
            self._nothing = {}
        infos = [self._nothing] * self.num_envs
        if dones.any():
            now = time.time()
            finals = games.finals
            returns, seconds = np.round(self._returns, 6).tolist(), np.round(now - self._since, 6).tolist()
            reported = games.reported(final=True)
            for i in np.flatnonzero(dones).tolist():
                infos[i] = {
                    "terminal_observation": finals[i].copy(),
                    "TimeLimit.truncated": bool(games.truncated[i] and not games.terminated[i]),
                    "end_reason": END_REASONS[games.reasons[i]],
                    "episode": {
                        "r": returns[i],
                        "l": int(self._lengths[i]),
                        "t": seconds[i],
                    },
                    **{name: values[i] for name, values in reported.items()},
                }
            self._returns[dones] = 0
            self._lengths[dones] = 0
            self._since[dones] = now
        return observations, rewards, dones, infos

    def action_masks(self) -> np.ndarray:
        """The learners' legal actions, `(n, num_actions)` bool. Raises `AttributeError` for continuous actions."""
        if not self.ruleset.discrete:
            raise AttributeError(f"{self.ruleset.game.name} has continuous actions and therefore no masks")
        return self.games.learner_masks.astype(np.bool_)

    def has_attr(self, attr_name: str) -> bool:
        """Whether every game has this attribute: `action_masks` where actions are discrete, `render_mode`."""
        if attr_name == "action_masks":
            return self.ruleset.discrete
        return super().has_attr(attr_name)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> Any:
        """`action_masks` (all at once) and `render`; games of a batch have no other methods."""
        if method_name == "action_masks":
            masks = self.action_masks()
            return (masks if indices is None else masks[list(self._get_indices(indices))]).view(_Rows)
        if method_name == "render":
            return [self._picture(i) for i in self._get_indices(indices)]
        raise AttributeError(f"games in a batch have no method {method_name!r}; they have action_masks and render")

    def _picture(self, i: int) -> Any:
        return self._renderer.render(self._mode, self.games.states[i], seat=int(self.games.learners[i]))

    def get_images(self) -> Sequence[np.ndarray | None]:
        return [
            self._renderer.render("rgb_array", self.games.states[i], seat=int(self.games.learners[i]))
            for i in range(self.num_envs)
        ]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """`render_mode`, or a value that `set_attr` set."""
        where = list(self._get_indices(indices))
        if attr_name == "render_mode":
            return [self._mode for _ in where]
        if attr_name == "action_masks" and self.ruleset.discrete:
            return [self.action_masks] * len(where)
        if attr_name in self._settings:
            return [self._settings[attr_name][i] for i in where]
        raise AttributeError(f"games in a batch have no attribute {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Keeps a value for each game; `get_attr` gives it back."""
        values = self._settings.setdefault(attr_name, [None] * self.num_envs)
        for i in self._get_indices(indices):
            values[i] = value

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """True for SB3's Monitor, since the infos hold its episode statistics; false for all other wrappers."""
        from stable_baselines3.common.monitor import Monitor

        return [wrapper_class is Monitor for _ in self._get_indices(indices)]

    def close(self) -> None:
        self._renderer.close()
        self.games.close()

"""Shared by all players of curling: reading a view, the worth of an end's scores, a shot as the game's action."""

from __future__ import annotations

import math
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from asobiba.core import Agent, GameParameterError, Ruleset, compiled, kernel
from asobiba.core.elementary import atan2, sincos
from asobiba.core.random import seed_record
from asobiba.core.record import SAMPLER
from asobiba.core.states import as_seed
from asobiba.envs.curling import rules
from asobiba.envs.curling.motion import CS2_ALPHA, CS2_KAPPA, fcv1_tau, fcv1_turn, fcv1_way
from asobiba.envs.curling.simulators import CS2, FCV1_FRAME
from asobiba.envs.curling.win_table import LEAD


def whole(name: str, value: Any, low: int, high: int) -> int:
    """`value` as a whole number within bounds. Raises `GameParameterError` naming it."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise GameParameterError(f"{name} is {value!r}, but must be a whole number from {low} to {high}")
    return value


def number(name: str, value: Any, low: float, high: float) -> float:
    """`value` as a number within bounds. Raises `GameParameterError` naming it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise GameParameterError(f"{name} is {value!r}, but must be a number from {low:g} to {high:g}")
    return float(value)


def end_values(ruleset: Ruleset, view: np.void, table: np.ndarray | None = None) -> np.ndarray:
    """Win probability of the side that throws first, for each score of this end from -8 to 8: `(17,)`.

    Args:
        table: win probabilities as of `win_table`; `None`: the ruleset's.
    """
    table = ruleset.params[0]["win_table"] if table is None else table
    values = np.zeros(17)
    _end_values(np.array([view]), ruleset.params, table, values)
    return values


@compiled()
def _end_values(views, params, table, values):
    write_end_values(views[0], params[0], table, values)


@kernel
def write_end_values(s, p, table, values):
    """`end_values` for kernels: into `values`, `(17,)`."""
    first = 1 - s.hammer
    lead = int(np.int64(s.total[first]) - np.int64(s.total[1 - first]))
    played = int(np.int64(s.end) + 1)
    left = max(int(np.int64(p.ends)) - played, 0)
    last = played >= int(np.int64(p.last_end)) and p.reward_kind == rules.WIN
    for k in range(17):
        points = k - 8
        after = min(max(lead + points, -LEAD), LEAD)
        if p.reward_kind == rules.SCORE:
            values[k] = (points + 8) / 16.0
        elif left == 0 or last:
            values[k] = 1.0 if after > 0 else 0.0 if after < 0 else 0.5
            if left == 0 and after == 0 and int(np.int64(p.extra_ends)) > played - int(np.int64(p.ends)):
                # The scorer throws first in the extra end; who scored 0 or more here is first there.
                values[k] = table[0, LEAD] if points >= 0 else 1.0 - table[0, LEAD]
        else:
            values[k] = table[left, after + LEAD] if points >= 0 else 1.0 - table[left, -after + LEAD]


def free_stop(ruleset: Ruleset, vx: float, vy: float, spin: float) -> tuple[float, float]:
    """Stopping place of a delivery on a sheet without stones and edges, m from the tee."""
    return _free_stop(int(ruleset.params["model"][0]), float(ruleset.params["release"][0]), vx, vy, spin)


@compiled()
def _free_stop(model, release, vx, vy, spin):
    return free_stop_of(model, release, vx, vy, spin)


@kernel
def free_stop_of(model, release, vx, vy, spin):
    """`free_stop` for kernels."""
    speed, heading = math.sqrt(vx * vx + vy * vy), atan2(vy, vx)
    if model == CS2:
        way, heading = CS2_KAPPA * speed * speed, heading + spin * CS2_ALPHA
    else:
        tau = fcv1_tau(speed) - 0.5 * FCV1_FRAME
        along, across = fcv1_way(tau)
        way = math.sqrt(along * along + across * across)
        heading += spin * fcv1_turn(tau) - spin * atan2(across, along)
    sine, cosine = sincos(heading)
    return way * cosine, way * sine - release


def to_action(ruleset: Ruleset, vx: float, vy: float, spin: float) -> Any:
    """A delivery as an action of the ruleset: exact where actions are continuous, else the nearest of its shots."""
    p = ruleset.params[0]
    if ruleset.discrete:
        shots = p["shots"]
        apart = ((shots[:, 0] - vx) / 0.06) ** 2 + ((shots[:, 1] - vy) / 0.12) ** 2
        return int(np.where(shots[:, 2] == spin, apart, np.inf).argmin())
    action = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
    if int(p["by_target"]):
        x, y = free_stop(ruleset, vx, vy, spin)
        action[0] = x / p["target_side"]
        action[1] = (y - 0.5 * (p["hog"] + p["far"])) / (0.5 * (p["far"] - p["hog"]))
    else:
        action[0] = vx / p["lateral"]
        action[1] = (vy - 0.5 * (p["slowest"] + p["fastest"])) / (0.5 * (p["fastest"] - p["slowest"]))
    action[2] = spin
    if len(action) == 4:
        action[3] = -1.0
    return np.clip(action, -1.0, 1.0)


class CurlingPlayer(Agent):
    """A player that chooses deliveries; a subclass writes `choose`.

    Args:
        table: win probabilities as of `win_table`, for players that go by them; `None`: the player's own.
    """

    table: np.ndarray | None = None

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self.ruleset, self.seat = ruleset, seat
        self.sampler = np.zeros(1, SAMPLER)
        seed_record(self.sampler[0], as_seed(seed))
        self.begin_game()

    def begin_game(self) -> None:
        """Called at the beginning of every game."""

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        vx, vy, spin = self.choose(view)
        return to_action(self.ruleset, float(vx), float(vy), float(spin))

    def time_left(self, seconds: float) -> None:
        """Hosts and servers tell before a shot how long the player may still think in this game (s; 0: without limit)."""
        clock = getattr(self, "clock", None)
        if isinstance(clock, Clock):
            clock.left, clock.unlimited = seconds, seconds == 0.0

    def warm_up(self, views: Iterable[np.void]) -> None:
        """Thinks shortly about these views: what has to be compiled or loaded is then there. A game is begun anew after it."""
        clock = getattr(self, "clock", None)
        if isinstance(clock, Clock):
            self.clock = Clock(64)
            self.clock.begin_game(self.ruleset)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FewSimulations)
                for view in views:
                    self.act(view, np.zeros(0, np.int8))
        finally:
            if isinstance(clock, Clock):
                self.clock = clock

    @abstractmethod
    def choose(self, view: np.void) -> tuple[float, float, float]:
        """The delivery in this view: vx, vy (m/s) and the sign of the spin."""


class FewSimulations(UserWarning):
    """A search has so few simulations that it cannot try all its candidates."""


class Clock:
    """Budget of thinking: a number of simulations, seconds a shot, or a share of the game's time.

    Args:
        simulations: simulated lines of play for a shot.
        seconds: a shot; 0: by `simulations` alone.
        game: divide the game's `thinking_time` over its shots as Ayumu does: what is left, less half a second a shot and
            four seconds (but no more than half of it), over 7.5 shots for each end to come and those left in this one; 10 s
            where time is unlimited.

    `shots`, `lines` and `spent` are the searched shots of a game, their simulations, and the seconds that they took.
    """

    CHUNK = 200

    def __init__(self, simulations: int, seconds: float = 0.0, game: bool = False):
        self.simulations = whole("simulations", simulations, 1, 10**9)
        self.seconds = number("seconds", seconds, 0, 3600)
        self.by_game = bool(game)
        self.left = self.rate = self.spent = 0.0
        self.done = self.shots = self.lines = 0

    def begin_game(self, ruleset: Ruleset) -> None:
        self.ends = int(ruleset.params["ends"][0])
        self.left = float(ruleset.params["thinking_time"][0])
        self.unlimited = self.left == 0.0
        self.shots, self.lines, self.spent = 0, 0, 0.0

    def shot_seconds(self, view: np.void) -> float:
        """Seconds for this shot; 0: think by simulations."""
        if not self.by_game:
            return self.seconds
        if self.unlimited:
            return 10.0
        shots = max(self.ends - 1 - int(view["end"]), 0) * 7.5 + (17 - int(view["shot"])) // 2
        reserve = min(0.5 * shots + 4.0, 0.5 * self.left)
        return max((self.left - reserve) / shots, 0.01)

    @property
    def timed(self) -> bool:
        """Whether seconds bound the search rather than simulations."""
        return self.by_game or self.seconds > 0

    def start(self, view: np.void) -> None:
        """Begins a shot's budget."""
        self.shots += 1
        self._begun, self._limit, self.done = time.monotonic(), self.shot_seconds(view), 0

    def portion(self, think: Callable[[int], None], simulations: int, turn: int = 1) -> None:
        """Calls `think(n)` for these simulations, in parts after which the time is looked at: multiples of `turn`, the
        simulations that go once through all candidates.
        """
        left = simulations
        while left > 0:
            n = min(left, max(self.CHUNK // turn, 1) * turn if self.timed else left)
            began = time.monotonic()
            think(n)
            spent = max(time.monotonic() - began, 1e-6)
            self.rate = n / spent if self.rate == 0.0 else 0.7 * self.rate + 0.3 * n / spent
            self.done += n
            left -= n
            if self.out_of_time():
                return

    def out_of_time(self) -> bool:
        """Whether the seconds of a timed shot are spent."""
        return self.timed and time.monotonic() - self._begun >= self._limit

    def left_simulations(self) -> int:
        """Simulations that the shot's budget still allows: a count, or what the time left is worth at the present rate."""
        if not self.timed:
            return max(self.simulations - self.done, 0)
        return max(int((self._limit - (time.monotonic() - self._begun)) * self.rate), 0)

    def stop(self) -> None:
        """Ends a shot: its time is no longer there."""
        took = time.monotonic() - self._begun
        self.left -= took
        self.spent += took
        self.lines += self.done

    def run(self, view: np.void, think: Callable[[int], None]) -> int:
        """Calls `think(n)` for portions of simulations until the budget is spent. Returns how many were made."""
        self.start(view)
        self.portion(think, 10**12 if self.timed else self.simulations)
        self.stop()
        return self.done

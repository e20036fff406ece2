"""Plays a few games in the plain interpreter, where every mistake of a kernel is an error with a line.

Compiled kernels check no bounds: an index out of range overwrites memory. So before a game of another package is
compiled for the first time, `require` plays it here in a separate process, and keeps the verdict under a digest of the
game's files in the cache folder. Our own games are tested instead.

The kernels get guarded records and arrays. An index out of range is an `IndexError` in NumPy; a negative one
counts from the end, in NumPy and in compiled code, and is refused here: where a kernel computes one, it is a mistake.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from asobiba.core.errors import AsobibaError, GameMistake
from asobiba.core.identity import identity
from asobiba.core.mistakes import NEEDED, OPTIONAL, home_of, require_sound
from asobiba.core.places import function_of, nearest, place_of, told

if TYPE_CHECKING:
    from asobiba.core.game import Game, Ruleset

GAMES, STEPS = 3, 300
"""Games that a trial plays of the default parameters, and steps in all at most; of each variant it plays one game."""
VARIANT_SECONDS = 5.0
"""A variant's game is stopped after this time; its first position and its first step are checked in any case."""
SECONDS = 120
"""A trial that takes longer is abandoned, and the game is played without one."""


class _Array(np.ndarray):
    """An array that refuses negative indices."""

    def __getitem__(self, index: Any) -> Any:
        _refuse_negative(index, self.shape)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse_negative(index, self.shape)
        super().__setitem__(index, value)


def _refuse_negative(index: Any, shape: tuple[int, ...]) -> None:
    for axis, one in enumerate(index if isinstance(index, tuple) else (index,)):
        if isinstance(one, (int, np.integer)) and one < 0:
            raise IndexError(
                f"index {one} is negative (axis {axis} has {shape[axis]} entries); compiled code would count from the end"
            )


class _Record:
    """A state or parameter record as kernels see it: fields are attributes, and there are no others."""

    def __init__(self, record: Any, what: str, writable: bool = True) -> None:
        object.__setattr__(self, "_parts", (record, what, writable))

    def __getattr__(self, name: str) -> Any:
        record, what, _ = object.__getattribute__(self, "_parts")
        if name not in record.dtype.names:
            raise self._unknown(name)
        value = record[name]
        if isinstance(value, np.void):
            return _Record(value, f"{what}.{name}")
        return value.view(_Array) if isinstance(value, np.ndarray) and value.ndim else value

    def __setattr__(self, name: str, value: Any) -> None:
        record, what, writable = object.__getattribute__(self, "_parts")
        if name not in record.dtype.names:
            raise self._unknown(name)
        if not writable:
            raise AttributeError(f"the kernel writes {name!r} of the {what}, which all games share")
        record[name] = value

    def _unknown(self, name: str) -> AttributeError:
        record, what, _ = object.__getattribute__(self, "_parts")
        known = [field for field in record.dtype.names if not field.startswith("_pad")]
        return AttributeError(
            f"the {what} has no field {name!r}.{nearest(name, known)} Its fields are: {', '.join(known)}"
        )


class _Play:
    """One game, step by step, with the kernels called as the engine calls them."""

    def __init__(self, ruleset: Ruleset, seed: int) -> None:
        self.ruleset, self.game, self.rules = ruleset, ruleset.game, ruleset.game.rules
        self.home = home_of(self.game)
        self.generator = np.random.default_rng(seed)
        self.records = ruleset.zeros()
        self.records["rng_key"] = self.generator.integers(2**63)
        self.state = self.records[0]
        self.s = _Record(self.state, "record of the state")
        self.p = _Record(ruleset.params[0], "record of the parameters", writable=False)
        self.returns = np.zeros(ruleset.num_players)

    def call(self, name: str, *arguments: Any) -> Any:
        """Calls a kernel; any exception becomes one message."""
        try:
            with np.errstate(all="ignore"):
                return getattr(self.rules, name)(*arguments)
        except Exception as error:
            raise GameMistake(told(error, self.home, f"in the kernel `{name}`")) from error

    def fail(self, name: str, message: str) -> None:
        raise GameMistake(f"{place_of(function_of(getattr(self.rules, name)))}: after `{name}`: {message}")

    def play(self, steps: int, seconds: float = math.inf) -> int:
        """Plays to the end, or up to a number of steps or a time; returns the number of steps played."""
        begun = time.monotonic()
        self.call("reset", self.s, self.p)
        self.look("reset")
        for count in range(steps):
            late = count > 0 and time.monotonic() - begun > seconds
            if self.state["terminated"] or count >= self.ruleset.max_steps or late:
                return count
            self.state["rewards"] = 0
            self.call("step", self.s, self.p, self.drawn())
            self.state["steps"] += 1
            if self.state["terminated"]:
                self.state["end_reason"] = 1
            elif self.state["steps"] >= self.ruleset.max_steps:
                self.state["truncated"], self.state["end_reason"] = 1, 3
            self.rewarded()
            self.look("step")
        return steps

    def drawn(self) -> Any:
        """A random legal action, or one for each player."""
        ruleset = self.ruleset
        if not ruleset.discrete:
            box: Any = ruleset.action_space
            shape = ruleset.actions_shape
            return self.generator.uniform(box.low, box.high, shape).astype(ruleset.action_dtype).view(_Array)
        if not ruleset.simultaneous:
            return int(self.generator.choice(np.flatnonzero(self.mask)))
        joint = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
        for k in ruleset.actors(self.state):
            joint[k] = self.generator.choice(np.flatnonzero(self.mask[k]))
        return joint.view(_Array)

    def rewarded(self) -> None:
        """Checks the rewards of a step against the declaration."""
        game, ruleset = self.game, self.ruleset
        rewards = self.state["rewards"][: ruleset.num_players].astype(np.float64)
        low, high = game.reward_range
        if not np.isfinite(rewards).all() or rewards.min() < low - 1e-6 or rewards.max() > high + 1e-6:
            self.fail("step", f"the rewards are {rewards.tolist()}; reward_range declares {low} to {high} in a step")
        if game.utility == "zero_sum" and abs(rewards.sum()) > 1e-4:
            self.fail(
                "step",
                f"the rewards {rewards.tolist()} do not add up to 0, though utility is 'zero_sum' (which is what a game is "
                "that does not say otherwise): pay what one player wins to the cost of the others, or declare "
                "utility='general_sum'",
            )
        self.returns += rewards
        low, high = ruleset.return_range
        if self.returns.min() < low - 1e-3 or self.returns.max() > high + 1e-3:
            self.fail(
                "step",
                f"a game has brought {self.returns.tolist()} so far, outside {low} to {high}; a game that pays more than "
                "once gives its Layout a return_range",
            )

    def look(self, after: str) -> None:
        """Checks a position against the declaration: the mover, masks, observations, `valid`, views."""
        ruleset, state = self.ruleset, self.state
        over = bool(state["terminated"] or state["truncated"])
        to_move = int(state["to_move"])
        if ruleset.simultaneous and to_move != -1:
            self.fail(
                after, f"to_move is {to_move}, but turns is {self.game.turns!r}: it is -1 then (set it in `reset`)"
            )
        if not ruleset.simultaneous and not 0 <= to_move < ruleset.num_players:
            self.fail(after, f"to_move is {to_move}; expected a player, 0 to {ruleset.num_players - 1}")
        if not over:
            self.look_at_mask(after)
        out = np.full(ruleset.observation_size, 1, ruleset.observation_space.dtype)
        box = ruleset.observation_space
        for player in range(ruleset.num_players):
            self.call("observe", self.s, self.p, player, out.view(_Array))
            if not ((out >= box.low) & (out <= box.high)).all():
                k = int(np.flatnonzero(~((out >= box.low) & (out <= box.high)))[0])
                self.fail(
                    "observe",
                    f"entry {k} is {out[k]}; observation_low and observation_high declare {box.low[k]} to {box.high[k]}",
                )
            if ruleset.hidden:
                view = self.records.copy()
                guarded = _Record(view[0], "record of the state")
                self.call("hide", guarded, self.p, player)
                view["rng_key"] = self.generator.integers(2**63)
                self.call("resample", guarded, self.p, player)
        if not self.call("valid", self.s, self.p):
            self.fail("valid", f"it calls a state of random play invalid (after `{after}`, step {int(state['steps'])})")

    def look_at_mask(self, after: str) -> None:
        ruleset = self.ruleset
        actors = ruleset.actors(self.state)
        if ruleset.simultaneous and not len(actors):
            self.fail(after, "the game goes on, but nobody acts: acting is 0 for all")
        if not ruleset.discrete:
            return
        self.mask = np.ones(ruleset.mask_shape, np.int8)
        self.call("legal", self.s, self.p, self.mask.view(_Array))
        if not np.isin(self.mask, (0, 1)).all():
            self.fail("legal", f"the mask holds {sorted(set(self.mask.ravel().tolist()))}; expected 0 and 1")
        for k in actors:
            if not (self.mask[k] if ruleset.simultaneous else self.mask).any():
                self.fail(
                    "legal",
                    f"{ruleset.players[k]} is to move after {int(self.state['steps'])} steps, but the mask is empty: end the "
                    f"game in `{after}` (terminated = 1), give the move to somebody else, or allow an action that passes",
                )


def play(game: Game, games: int = GAMES, steps: int = STEPS) -> None:
    """Plays games of the default parameters, then one of each variant. To be called where nothing is compiled
    (`NUMBA_DISABLE_JIT=1`).

    Args:
        game: the game.
        games: of the default parameters.
        steps: at most, in all games of one set of parameters.

    Raises:
        GameMistake: for the first mistake; it names the variant in which it is found.
    """
    require_sound(game)
    ruleset, left = game.ruleset(), steps
    for seed in range(games):
        if left > 0:
            left -= _Play(ruleset, seed).play(left)
    for name, parameters in game.variants.items():
        try:
            _Play(game.ruleset(**parameters), 0).play(steps, VARIANT_SECONDS)
        except GameMistake as mistake:
            raise GameMistake(f"{mistake} (variant {name!r}: {dict(parameters)})") from mistake
        except AsobibaError as error:
            place = place_of(function_of(game.layout))
            raise GameMistake(f"{place}: the variant {name!r} is refused: {error}") from error


# Once for each game of another package


def digest(game: Game) -> str:
    """A digest of the game's files, and of what its kernels and its layout reach in others."""
    found = hashlib.sha256(Path(__file__).read_bytes())
    kernels = [getattr(game.rules, name) for name in (*NEEDED, *OPTIONAL) if hasattr(game.rules, name)]
    for functions in (kernels, [game.layout]):
        with contextlib.suppress(TypeError):  # they read a value without a digest
            found.update(identity(functions).encode())
    home = home_of(game)
    for path in sorted(home.rglob("*.py")):
        found.update(str(path.relative_to(home)).encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:24]


def address(game: Game) -> str | None:
    """The address of the game for another process: `module:NAME`; `None` for one that is made at run time."""
    module = sys.modules.get(game.layout.__module__)
    if module is None or module.__name__ == "__main__" or not getattr(module, "__file__", None):
        return None
    for name, value in vars(module).items():
        if value is game:
            return f"{module.__name__}:{name}"
    return None


def in_process(arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m ARGUMENTS`, with this process's module path."""
    path = os.pathsep.join(p for p in sys.path if p)
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def require(game: Game, cache_folder: Callable[[], Path]) -> None:
    """Requires a trial in a separate process, once for each edition of another package's game, before it is compiled.

    Raises:
        GameMistake: for the first mistake, now and whenever the same files are met again.
    """
    if os.environ.get("ASOBIBA_TRIAL") == "0" or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return  # without the compiler every mistake is an error of Python
    require_sound(game)
    where = address(game)
    if where is None:
        return
    file = cache_folder() / "trials" / f"{game.name}-{digest(game)}.json"
    try:
        verdict = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        verdict = _tried(where)
        if verdict is None:
            return
        try:
            file.parent.mkdir(exist_ok=True)
            temporary = file.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_text(json.dumps(verdict), encoding="utf-8")
            temporary.replace(file)
        except OSError:
            pass  # a read-only cache: the next process tries again
    if verdict["mistake"]:
        raise GameMistake(verdict["mistake"])


def _tried(where: str) -> dict[str, Any] | None:
    """The verdict on a game, or `None` where a trial cannot be held: too slow, or processes are forbidden."""
    try:
        done = in_process([__name__, where], NUMBA_DISABLE_JIT="1")
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode == 0:
        return {"mistake": None}
    if done.returncode == 3:
        return {"mistake": done.stdout.strip()}
    return None


def main() -> None:
    """`python -m asobiba.core.trial MODULE:NAME`: ends with 3 and prints the mistake where there is one."""
    import importlib

    module, _, name = sys.argv[1].partition(":")
    try:
        play(getattr(importlib.import_module(module), name))
    except GameMistake as mistake:
        print(mistake)
        sys.exit(3)


if __name__ == "__main__":
    main()

"""`Game` is a game's declaration; `Ruleset` is a game with its parameters chosen, ready to play."""

from __future__ import annotations

import difflib
import importlib
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from asobiba.core.errors import AsobibaError, GameMistake, GameParameterError, UnknownParameter
from asobiba.core.places import place_of
from asobiba.core.record import header, record_dtype
from asobiba.core.symmetry import Symmetry

OPENING = "opening_plies"
"""The parameter of every game that moves in turn: random plies that each game begins with."""
USUAL_OPENING = 4
"""Their number in games that declare none and whose course depends only on the players."""


def camel_case(name: str) -> str:
    """A name without underscores, its words with capitals; letters that follow a digit are capitals too.

    >>> camel_case("animal_shogi"), camel_case("mini4wd")
    ('AnimalShogi', 'Mini4WD')
    """
    capitals = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return re.sub(r"\d[a-z]+", lambda found: found[0].upper(), capitals)


@dataclass(frozen=True)
class Layout:
    """The layout of a game under its parameters: state, actions and observation.

    Args:
        state: fields of a state after the common header, as NumPy field tuples `(name, dtype[, shape])`.
        parameters: the values of the parameter record `p` that the rules read; their NumPy dtypes are the record's. A
            value that is expensive to compute is given as a function without arguments, called when the game is first
            played.
        actions: the number of discrete actions, or a `gymnasium.spaces.Box` of one player's continuous action.
        observation: named channels of the observation, in order: name -> shape. The observation is one flat vector;
            `Ruleset.channels` splits it again.
        observation_dtype, observation_low, observation_high: dtype and bounds of the observation.
        max_steps: longest game in steps; a game that reaches it is truncated.
        players: names of the seats, where they depend on the parameters.
        info: the entries of `info` after reset and step (a simulator's true state, reward terms):
            name in `info` -> field of the state. Each of these fields has one row per player (its first axis), and a
        player's `info` holds his own row, as a NumPy scalar or array. chance: whether these parameters draw random
        numbers, where that depends on them; `None`: as the game says. In a
            game that declares no chance they may draw in `reset` only: compiled policies are shown its generator.
        usual_opening: as `Game.usual_opening`, where that depends on the parameters; `None`: as the game says.
        seats: number of rows of the per-player fields of the state, if greater than the number of players: one compiled
            game then serves any number of players up to this. Empty seats never act.
    """

    state: Sequence[tuple]
    actions: int | spaces.Box
    observation: Mapping[str, tuple[int, ...]]
    max_steps: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    observation_dtype: Any = np.int8
    observation_low: float = 0
    observation_high: float = 1
    players: tuple[str, ...] | None = None
    info: Mapping[str, str] = field(default_factory=dict)
    return_range: tuple[float, float] | None = None
    chance: bool | None = None
    usual_opening: int | None = None
    seats: int | None = None


@dataclass(frozen=True)
class Game:
    """The declaration of a game: facts that the conformance tests hold it to.

    Args:
        name: lower case with underscores; the id of the PettingZoo environment is `asobiba/<name>-v<version>`.
        version: increased by any change in the bytes of a trajectory.
        title: for people.
        layout: a function from the game's parameters (keyword arguments with defaults) to a `Layout`. It raises
            `GameParameterError` for values that it does not accept.
        rules: the module with the kernels `reset`, `step`, `observe`, `valid`, and where they apply `legal`, `hide`,
            `resample`, `replacement`, `is_legal`, `random_action` (`asobiba.core.loops.placeholder` shows them all).
        players: names of the seats.
        information: "perfect" or "hidden". Hidden games have the kernels `hide` and `resample`.
        chance: whether `reset` or `step` draw random numbers; a `Layout` may say otherwise for its parameters.
        utility: "zero_sum" (the rewards of a step add up to 0), "general_sum" or "single_agent".
        turns: "sequential" (one player acts in a step; the same one may act several times in a row), "simultaneous"
            (all do) or "some" (those whose field `acting` of the state is 1). In the last two, which are called joint,
        an action has one row per player. leaves: whether players may leave before the end: `left` in the state. They
            are not asked any more, but they get their team's reward at the end.
        teams: the team number of each seat, or the name of a state field (one integer per seat) that holds them;
            `None`: every player plays alone. Members of a team win and lose together.
        usual_opening: random plies (`opening_plies`) with which training, evaluation and leagues begin games by
            default, so that deterministic players do not repeat one game. `None`: four if nothing else varies the games
            (two or more players in turn, perfect information, no chance), else none.
        faults: what an illegal action, a crash or a time-out does: "end" (the game ends, with `illegal_reward` for the
            culprit) or "replace" (the kernel `replacement` chooses another action, and the game goes on).
        fault_limit: after so many replaced actions all of a player's actions are replaced; 0: never.
        reward_range: least and greatest reward of one player in one step, or `None` where a parameter sets them.
        illegal_reward: the reward of a player whose illegal action ends the game.
        variants: named sets of parameters, for menus and for WebAssembly modules.
        notation, draw: modules of the text notation and the SVG picture, imported when first used.
        tie_break: a function `(ruleset, final state) -> one number per seat` that decides a match of two games in
            which each side won once: the greater sum wins narrowly. `None`: such a match is drawn.
        symmetries: a function from a ruleset to its `Symmetry` maps except the identity, with which learning augments
            its examples; `None`: there are none.
        evidence: the sources against which the rules were verified, in a few words.
    """

    name: str
    version: int
    title: str
    layout: Callable[..., Layout]
    rules: ModuleType
    players: tuple[str, ...] = ("first", "second")
    information: Literal["perfect", "hidden"] = "perfect"
    chance: bool = False
    utility: Literal["zero_sum", "general_sum", "single_agent"] = "zero_sum"
    turns: Literal["sequential", "simultaneous", "some"] = "sequential"
    leaves: bool = False
    usual_opening: int | None = None
    teams: tuple[int, ...] | str | None = None
    faults: Literal["end", "replace"] = "end"
    fault_limit: int = 0
    reward_range: tuple[float, float] = (-1.0, 1.0)
    illegal_reward: float = -1.0
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    notation: str | None = None
    draw: str | None = None
    tie_break: Callable[[Ruleset, np.void], Sequence[float]] | None = None
    symmetries: Callable[[Ruleset], Sequence[Symmetry]] | None = None
    evidence: str = ""

    @property
    def id(self) -> str:
        """The name in PettingZoo's registry, such as `asobiba/battleship-v0`."""
        return f"asobiba/{self.name}-v{self.version}"

    @property
    def gymnasium_id(self) -> str:
        """The name in Gymnasium's registry, such as `asobiba/Battleship-v0`."""
        return f"asobiba/{self.camel_name}-v{self.version}"

    @property
    def camel_name(self) -> str:
        """The name in camel case, such as `AnimalShogi`."""
        return camel_case(self.name)

    @property
    def package(self) -> str:
        """The package that declares the game; its docstring is the game's documentation page."""
        return self.rules.__name__.rpartition(".")[0]

    @property
    def parameters(self) -> dict[str, Any]:
        """The game's parameters and their defaults."""
        return {name: p.default for name, p in inspect.signature(self.layout).parameters.items()}

    def ruleset(self, **parameters: Any) -> Ruleset:
        """The game with these parameters.

        Every game of discrete actions, whose players move in turn, takes `opening_plies` besides its own: each of its
        games then begins with so many uniformly random legal plies, drawn anew for every episode from the game's own
        generator, so that deterministic players do not always play the same game. They are part of the deal: the same
        seed gives the same opening, no player is asked for them or rewarded for them, and they count as steps. An
        opening that ends the game is drawn again (64 times at most; then the game begins without one).

        Raises:
            UnknownParameter: for a parameter that the game does not have.
            GameParameterError: for a value that the game does not accept.
        """
        known = self.parameters
        plies = 0 if OPENING in known else parameters.pop(OPENING, 0)
        for name in parameters:
            if name not in known:
                close = difflib.get_close_matches(name, [*known, OPENING], n=1)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                raise UnknownParameter(
                    f"{self.name} got an unexpected keyword argument {name!r}.{hint} Its parameters are: "
                    f"{', '.join(known) or 'none'}."
                )
        try:
            return Ruleset(self, {**known, **parameters}, plies)
        except Exception as error:
            if isinstance(error, AsobibaError):
                raise
            if not parameters:
                where = f"{place_of(self.layout)}: " if isinstance(self.layout, FunctionType) else ""
                raise GameMistake(
                    f"{where}{self.name} cannot be made with its default parameters: {type(error).__name__}: {error}"
                ) from error
            if not isinstance(error, (TypeError, ValueError)):
                raise
            raise GameParameterError(f"{self.name} cannot be made with {parameters}: {error}") from error


class Ruleset:
    """A game with its parameters chosen: dtypes, spaces and the compiled engine.

    Two rulesets of the same game and parameters are equal. Pickled by name and parameters.
    """

    def __init__(self, game: Game, parameters: Mapping[str, Any], opening_plies: int = 0):
        self.game = game
        self.layout = game.layout(**parameters)
        self.opening_plies = opening_plies
        self.parameters = {**parameters, **({OPENING: opening_plies} if opening_plies else {})}
        self.players: tuple[str, ...] = self.layout.players or game.players
        self.seats = self.layout.seats or len(self.players)
        if self.seats < len(self.players):
            raise GameParameterError(f"{game.name} has {len(self.players)} players, but only {self.seats} seats")
        self.max_steps = int(self.layout.max_steps)
        head = header(self.seats, some=game.turns == "some", leaves=game.leaves, replaces=game.faults == "replace")
        self.dtype = record_dtype([*head, *self.layout.state])
        if opening_plies != 0:
            self._require_openings()

    def _require_openings(self) -> None:
        plies = self.opening_plies
        if not isinstance(plies, (int, np.integer)) or isinstance(plies, bool) or not 0 <= plies < self.max_steps:
            raise GameParameterError(
                f"{OPENING} is a whole number from 0 to {self.max_steps - 1} in {self.game.name}, not {plies!r}"
            )
        if not self.takes_openings:
            raise GameParameterError(
                f"{self.game.name} has no openings of random plies: its players do not move in turn, or not by discrete "
                "actions"
            )

    @property
    def takes_openings(self) -> bool:
        """Whether games may begin with random plies: several players who move in turn, discrete actions."""
        return self.discrete and not self.simultaneous and self.num_players > 1

    @property
    def usual_opening(self) -> int:
        """The number of random plies with which training, evaluation and leagues begin games by default."""
        declared = self.game.usual_opening if self.layout.usual_opening is None else self.layout.usual_opening
        if declared is not None:
            return declared
        drawn = self.game.chance if self.layout.chance is None else self.layout.chance
        return USUAL_OPENING if self.takes_openings and not drawn and not self.hidden else 0

    def opened(self, plies: int | None = None) -> Ruleset:
        """The same game with openings of so many random plies; `None`: its own, or else `usual_opening`.

        Raises:
            GameParameterError: for a number that is out of range, or above 0 in a game without openings.
        """
        if plies is None:
            plies = self.opening_plies or self.usual_opening
        return self if plies == self.opening_plies else self.game.ruleset(**{**self.parameters, OPENING: plies})

    @cached_property
    def unopened(self) -> Ruleset:
        """The same game from its own starting positions."""
        return self.opened(0)

    @cached_property
    def params(self) -> np.ndarray:
        """The parameter record `(1,)` that the rules read. Made at the first request: it may be expensive."""
        given = {name: value() if callable(value) else value for name, value in self.layout.parameters.items()}
        values = {
            "illegal_reward": np.float32(self.game.illegal_reward),
            "max_steps": np.int32(self.max_steps),
            "players": np.int32(self.num_players),
            **self._bounds(),
            **({OPENING: np.int32(self.opening_plies)} if self.takes_openings else {}),
            **{name: np.asarray(value) for name, value in given.items()},
        }
        fields = []
        for name, value in values.items():
            value = np.asarray(value)
            fields.append((name, value.dtype, value.shape) if value.shape else (name, value.dtype))
        record = np.zeros(1, record_dtype(fields))
        for name, value in values.items():
            record[name][0] = value
        return record

    def _bounds(self) -> dict[str, np.ndarray]:
        # Of continuous actions, for compiled policies.
        if self.discrete:
            return {}
        box: Any = self.layout.actions
        return {"action_low": box.low.ravel(), "action_high": box.high.ravel()}

    @property
    def num_players(self) -> int:
        """Number of players (`seats` may be greater; the further seats are empty)."""
        return len(self.players)

    def teams(self, state: np.void | None = None) -> np.ndarray:
        """The team number of each player: `(num_players,)`; if the state holds them, `state` is required.

        Raises:
            GameParameterError: if the state is needed and missing.
        """
        declared = self.game.teams
        if declared is None:
            return np.arange(self.num_players)
        if isinstance(declared, str):
            if state is None:
                raise GameParameterError(f"the teams of {self.game.name} stand in the state's field {declared!r}")
            return np.asarray(state[declared][: self.num_players], np.int64)
        return np.array(declared[: self.num_players])

    def actors(self, state: np.void) -> np.ndarray:
        """The players who act now, as `(k,)` integers; empty when the game is over."""
        if state["terminated"] or state["truncated"]:
            return np.zeros(0, np.int64)
        if self.game.turns == "some":
            return np.flatnonzero(state["acting"])
        if self.game.turns == "simultaneous":
            return np.arange(self.num_players)
        return np.array([state["to_move"]], np.int64)

    @property
    def return_range(self) -> tuple[float, float]:
        """Least and greatest sum of one player's rewards in one game.

        Unless the layout declares it: the reward range in zero-sum games, which pay once, else that of the longest
            game.
        """
        if self.layout.return_range is not None:
            return self.layout.return_range
        low, high = self.game.reward_range
        if self.game.utility == "zero_sum":
            return low, high
        return min(low * self.max_steps, low), max(high * self.max_steps, high)

    @property
    def chance(self) -> bool:
        """Whether `reset`, an opening or `step` draw random numbers."""
        drawn = self.game.chance if self.layout.chance is None else self.layout.chance
        return drawn or self.opening_plies > 0

    @property
    def simultaneous(self) -> bool:
        """Whether several players may act in one step (`to_move` is then -1, and an action has one row per player)."""
        return self.game.turns != "sequential"

    @property
    def hidden(self) -> bool:
        """Whether a player's view differs from the state."""
        return self.game.information == "hidden"

    @property
    def discrete(self) -> bool:
        """Whether actions are integers (and masks exist)."""
        return not isinstance(self.layout.actions, spaces.Box)

    @property
    def num_actions(self) -> int:
        """Number of discrete actions. Raises `TypeError` for a game of continuous actions."""
        if isinstance(self.layout.actions, spaces.Box):
            raise TypeError(f"{self.game.name} has continuous actions: {self.layout.actions}")
        return int(self.layout.actions)

    @cached_property
    def mask_shape(self) -> tuple[int, ...]:
        """Shape of a mask: `(num_actions,)`, one row per player where all act at once, 0 actions if continuous."""
        actions = self.num_actions if self.discrete else 0
        return (self.seats, actions) if self.simultaneous else (actions,)

    @cached_property
    def observations_shape(self) -> tuple[int, ...]:
        """Shape of one state's observations: `(observation_size,)`, one row per player where all act at once."""
        size = (self.observation_size,)
        return (self.seats, *size) if self.simultaneous else size

    @cached_property
    def actions_shape(self) -> tuple[int, ...]:
        """Shape of one step's action: `()` for one integer, one row per player where all act at once."""
        shape = tuple(self.action_space.shape or ())
        return (self.seats, *shape) if self.simultaneous else shape

    @property
    def action_dtype(self) -> np.dtype:
        """`int64` for discrete actions, else the dtype of the action box."""
        return np.dtype(np.int64) if self.discrete else np.dtype(self.action_space.dtype)

    @cached_property
    def action_space(self) -> spaces.Discrete | spaces.Box:
        """One player's action space."""
        if isinstance(self.layout.actions, spaces.Box):
            box = self.layout.actions
            return spaces.Box(box.low, box.high, box.shape, box.dtype)
        return spaces.Discrete(self.layout.actions)

    @cached_property
    def observation_size(self) -> int:
        """Length of the flat observation."""
        return sum(math.prod(shape) for shape in self.layout.observation.values())

    @cached_property
    def observation_space(self) -> spaces.Box:
        """One player's observation space: a flat vector."""
        return spaces.Box(
            self.layout.observation_low,
            self.layout.observation_high,
            (self.observation_size,),
            np.dtype(self.layout.observation_dtype).type,
        )

    @cached_property
    def engine(self) -> ModuleType:
        """The compiled kernels (compiled at first use, then loaded from the disk cache)."""
        from asobiba.core.engine import engine_for

        self.require_tried()
        return engine_for(self.game, self.opening_plies > 0)

    def require_tried(self) -> None:
        """A trial of a game of another package, before it is compiled: see `asobiba.core.trial`.

        Raises:
            GameMistake: for a mistake of its author.
        """
        if not self.game.rules.__name__.startswith("asobiba."):
            from asobiba.core.cache import cache_folder
            from asobiba.core.trial import require

            require(self.game, cache_folder)

    @cached_property
    def notation(self) -> ModuleType:
        """The game's notation module. Raises `LookupError` where the game has none."""
        return self._module("notation")

    @cached_property
    def draw(self) -> ModuleType:
        """The game's drawing module. Raises `LookupError` where the game has none."""
        return self._module("draw")

    def _module(self, role: str) -> ModuleType:
        name = getattr(self.game, role)
        if name is None:
            raise LookupError(f"{self.game.name} declares no {role} module")
        return importlib.import_module(name)

    def channels(self, observation: np.ndarray) -> dict[str, np.ndarray]:
        """Splits observations (`(..., observation_size)`) into their named channels, as views."""
        result, start = {}, 0
        for name, shape in self.layout.observation.items():
            stop = start + math.prod(shape)
            result[name] = observation[..., start:stop].reshape(*observation.shape[:-1], *shape)
            start = stop
        return result

    def zeros(self, count: int = 1) -> np.ndarray:
        """`count` blank state records; `reset` makes them starting positions."""
        records = np.zeros(count, self.dtype)
        if self.game.leaves:
            records["left"][:, self.num_players :] = 1
        return records

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ruleset) and self.game is other.game and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash((self.game.name, repr(sorted(self.parameters.items()))))

    def __repr__(self) -> str:
        usual = {OPENING: 0, **self.game.parameters}
        changed = {k: v for k, v in self.parameters.items() if v != usual[k]}
        return f"{self.game.id}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"

    def __deepcopy__(self, memo: dict) -> Ruleset:
        return self  # nothing in it changes

    def __reduce__(self):
        return _ruleset, (self.game, self.parameters)


def _ruleset(game: Game, parameters: Mapping[str, Any]) -> Ruleset:
    return game.ruleset(**parameters)

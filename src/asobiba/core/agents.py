"""Agents. An agent gets a view, which is the state record as its seat may see it, and returns an action."""

from __future__ import annotations

import difflib
import importlib
import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar

import numpy as np
import yaml

from asobiba.core.engine import agent_engine_for
from asobiba.core.errors import GameParameterError, UnknownAgent
from asobiba.core.game import Game, Ruleset
from asobiba.core.installed import entry_points
from asobiba.core.kernels import kernel
from asobiba.core.loops.arrays import MOST_POLICIES, NOTHING, Games, Table
from asobiba.core.places import told
from asobiba.core.random import memory_keys, random_legal, random_uniform
from asobiba.core.record import CONTROL, SAMPLER, outcome_dtype, record_dtype
from asobiba.core.states import require_seat
from asobiba.core.yaml_text import read_yaml

_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "true or false"),
    "str": ((str,), "text"),
    "None": ((type(None),), "null"),
}
"""Types that the annotations of agents' parameters accept, and their names in messages."""
_Loader = TypeVar("_Loader", bound=Callable[..., "Agent"])
_MEMORY_HEADER = [("rng_key", np.uint64), ("rng_counter", np.uint64)]


@dataclass(frozen=True)
class Thinking:
    """A compiled function that computes the answer of an agent that is not a kernel, for targets without Python.

    Args:
        function: `function(views, params, masks, *arrays, actions)` answers the first view.
        arrays: its working arrays, as they are when a game begins: by name, in the order of the arguments.
        generator: name of the array whose first record holds a generator started by the game's seed (`seed_record`); ""
            for none.
        seated: whether that generator is the memory of a `KernelAgent`, which its seat starts too.
    """

    function: Callable[..., Any]
    arrays: Mapping[str, np.ndarray]
    generator: str = ""
    seated: bool = False


class Agent(ABC):
    """A player of one game at a time.

    The caller runs `begin` before every game, then `act` whenever it is the agent's turn. All randomness
    comes from the seed: the same seed and the same views give the same actions.
    """

    name: str = "agent"
    declared: str = ""
    """The name that an agent in a file declares; its `name` is the text that requested it."""

    @property
    def remembers(self) -> bool:
        """Whether its answers depend on earlier positions of a game, so that `act_batch` cannot play many."""
        return False

    @property
    def same_in_batches(self) -> bool:
        """Whether `act_batch` gives each game, to the bit, the action that `act` does: leagues then play its games side by
        side.
        """
        return False

    def prepare(self, ruleset: Ruleset) -> None:  # noqa: B027 - most agents play any ruleset
        """Prepares the agent, once for all games of `ruleset`; called before its first game.

        Raises:
            GameParameterError: if the agent cannot play these rules.
        """

    def begin(self, ruleset: Ruleset, seats: Sequence[int], seeds: Sequence[int]) -> None:
        """New games begin: in game `i` the agent plays seat `seats[i]` (0 is the first player) with seed `seeds[i]`.

        Most agents write `reset` instead, which is called for the first of these games: they are given one at a time, or,
        if they play many at once (`act_batch`), have no memory of any.

        Raises:
            GameParameterError: as `prepare`; for several games, if the agent plays one at a time.
        """
        if len(seats) != 1 and (self.remembers or type(self).act_batch is Agent.act_batch):
            raise GameParameterError(f"agent {self.name!r} plays one game at a time, not {len(seats)}")
        self.prepare(ruleset)
        self.reset(ruleset, int(seats[0]), int(seeds[0]))

    @abstractmethod
    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        """A new game begins; the agent plays `seat`."""

    @abstractmethod
    def act(self, view: np.void, legal: np.ndarray) -> Any:
        """The action in this view. `legal` is the `(num_actions,)` int8 mask (empty for continuous actions)."""

    def act_batch(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray | None:
        """Actions for many independent games at once, or `None` if the agent can only play one game at a time.

        Only agents without memory of a game can do this; learned policies override it.
        """
        return None

    def thinking(self, ruleset: Ruleset) -> Thinking | None:
        """The compiled form of this agent, or `None` if it has none. Kernel agents are kernels and need none."""
        return None

    def ponder(self, view: np.void) -> None:  # noqa: B027 - most agents do not
        """The opponent is thinking about `view`: an agent may think too, in a thread of its own, until `stop_pondering`.

        Interactive play calls this; leagues do not.
        """

    def stop_pondering(self) -> None:  # noqa: B027
        """Ends what `ponder` began; `act` may follow."""

    def close(self) -> None:  # noqa: B027 - most agents hold nothing
        """Frees what the agent holds (processes, files)."""


class KernelAgent(Agent):
    """An agent whose thinking is a kernel, so that it also runs inside the compiled engine.

    Args:
        policy: a kernel `policy(view, p, legal, memory) -> action`: the view record (its `to_move` is the agent's
            seat; it must not be written), the parameter record, the `(num_actions,)` int8 mask, and the agent's own
            memory record, which it may read and write. Where actions are continuous it takes a fifth argument, an array
            of the box's shape and dtype, and writes the action there.
        memory: the fields of the memory record after `rng_key` and `rng_counter` (draw from it with
            `asobiba.core.random`), as NumPy field tuples.
        initial: the values that memory fields have when a game begins (others are zero); the agent's settings.
        name: how the agent is called in tables.
        masks: whether the policy reads `legal`; if not, a game with the kernel `is_legal` does not write it, and its
            contents are arbitrary.
    """

    def __init__(
        self,
        policy: Callable[..., Any],
        memory: Sequence[tuple] = (),
        initial: Mapping[str, Any] | None = None,
        name: str = "agent",
        masks: bool = True,
    ):
        self.policy = policy
        self.name = name
        self.masks = masks
        self.memory_dtype = record_dtype([*_MEMORY_HEADER, *memory]) if memory else SAMPLER
        self.initial = np.zeros(1, self.memory_dtype)
        for key, value in (initial or {}).items():
            self.initial[key][0] = value

    def initial_for(self, ruleset: Ruleset) -> np.ndarray:
        """The memory record `(1,)` that games of this ruleset begin with, apart from the generator's fields.

        An agent that precomputes values for all games of a ruleset does so in `prepare` and stores them here.
        """
        return self.initial

    def memories(self, seeds: np.ndarray, seats: np.ndarray | int, ruleset: Ruleset) -> np.ndarray:
        """Fresh memory records, one per seed (`(n,)` integers), with what is prepared for `ruleset`."""
        records = np.repeat(self.initial_for(ruleset), len(seeds))
        records["rng_key"] = memory_keys(seeds, seats)
        return records

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        seat = require_seat(ruleset, seat)
        self._hand = Hand(ruleset, (self,), 1)
        self._hand.occupants[:] = 0
        self._hand.begin(np.array([0]), np.array([seat]), np.array([seed]))
        self._seat = seat

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in self.__dict__.items() if key != "policy"}
        function = getattr(self.policy, "py_func", self.policy)
        return {**state, "policy": (function.__module__, function.__qualname__)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        module, name = state["policy"]
        self.__dict__.update(state, policy=getattr(importlib.import_module(module), name))

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        return self._hand.act(view, legal, self._seat)


class Hand:
    """Compiled agents at the seats of `n` games: their memories, and the loops that ask them.

    Args:
        ruleset: the game.
        agents: one to four; `occupants` gives their seats.
        count: the number of games.

    Attributes:
        occupants: `(n, seats)` int8, index into `agents`; -1 where none of them sits.
        control: `(n,)` records: the learner's seat in each game.
    """

    def __init__(self, ruleset: Ruleset, agents: Sequence[KernelAgent], count: int, control: np.ndarray | None = None):
        for agent in agents:
            agent.prepare(ruleset)
        self.ruleset = ruleset
        self.agents = tuple(agents)
        self.count = count
        self.occupants = np.full((count, ruleset.seats), -1, np.int8)
        self.control = np.zeros(count, CONTROL) if control is None else control
        self.views = ruleset.zeros(count)
        self.memories = tuple(np.zeros(count * ruleset.seats, agent.memory_dtype) for agent in agents)
        self._bound: tuple[Any, Table] | None = None
        self._one: Games | None = None

    def _bind(self) -> tuple[Any, Table]:
        # Late, since a copy is made piece by piece.
        if self._bound is None:
            self.ruleset.require_tried()
            nobody = [NOTHING] * (MOST_POLICIES - len(self.agents))
            initial = [agent.initial_for(self.ruleset) for agent in self.agents]
            self._bound = (
                self._engine(opened=False),
                Table(self.control, self.occupants, self.views, *self.memories, *nobody, *initial, *nobody),
            )
        return self._bound

    def _engine(self, opened: bool) -> Any:
        policies = [agent.policy for agent in self.agents]
        masked = any(agent.masks for agent in self.agents)
        return agent_engine_for(self.ruleset.game, *policies, masked=masked, opened=opened)

    @property
    def engine(self) -> Any:
        """The loops with these agents' policies, for asking them."""
        return self._bind()[0]

    @property
    def dealer(self) -> Any:
        """The loops with these agents' policies, for beginning games with them."""
        self._bind()
        return self._engine(self.ruleset.opening_plies > 0)

    @property
    def table(self) -> Table:
        """The seats and their players, as the loops take them."""
        return self._bind()[1]

    def begin(self, games: np.ndarray, seats: np.ndarray | int, seeds: np.ndarray) -> None:
        """New games at these seats (`(k,)` integers each): fresh memories for the agents that sit there."""
        seats = np.broadcast_to(np.asarray(seats, np.int64), np.shape(games))
        for slot, agent in enumerate(self.agents):
            mine = self.occupants[games, seats] == slot
            if mine.any():
                rows = np.asarray(games)[mine] * self.ruleset.seats + seats[mine]
                self.memories[slot][rows] = agent.memories(np.asarray(seeds)[mine], seats[mine], self.ruleset)

    def act(self, view: np.void, legal: np.ndarray, seat: int) -> Any:
        """The action of the agent at `seat` of the first game, in this view."""
        games = self._games()
        games.states[0] = view
        if self.ruleset.simultaneous:
            games.masks[0, seat] = legal
            if self.ruleset.game.turns == "some":
                games.states["acting"][0, seat] = 1
            games.states["to_move"] = -1
        else:
            games.masks[0] = legal
        self.engine.ask(seat, _ONE, games, self.table)
        action = games.actions[0, seat] if self.ruleset.simultaneous else games.actions[0]
        return int(action) if self.ruleset.discrete else action.copy()

    def _games(self) -> Games:
        if self._one is None:
            ruleset = self.ruleset
            masks = np.zeros((1, *ruleset.mask_shape), np.int8)
            nothing = np.zeros((1, 1), ruleset.observation_space.dtype)
            self._one = Games(
                states=ruleset.zeros(),
                params=ruleset.params,
                blank=ruleset.zeros(),
                actions=np.zeros((1, *ruleset.actions_shape), ruleset.action_dtype),
                viewers=np.zeros(1, np.int8),
                masks=masks,
                new_masks=masks,
                observations=nothing,
                outcomes=np.zeros(1, outcome_dtype(ruleset.seats)),
                finals=nothing,
                final_states=ruleset.zeros(),
            )
        return self._one

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_bound": None, "_one": None}


_ONE = np.ones(1, np.uint8)


@dataclass(frozen=True)
class AgentDeclaration:
    """Entry of `asobiba agents GAME`; a package of agents holds them as `AGENTS`.

    Args:
        name: lower case; the agent is called by `name` or `name:parameter=value,parameter=value`.
        make: builds the agent from its parameters (keyword arguments with defaults).
        description: one line.
        source: its description in the literature.
        deterministic: whether equal views give equal actions whatever the seed.
        league: whether a league without a list of agents includes it.
        kind: "classical" (written down), "learned" (from games), or "exact" (looks its moves up in a solved table).
        portable: parameters with which it plays where there is no Python, if its defaults need it: `endgame=0`.
    """

    name: str
    make: Callable[..., Agent]
    description: str
    source: str = ""
    deterministic: bool = False
    league: bool = True
    kind: Literal["classical", "learned", "exact"] = "classical"
    portable: str = ""


@kernel
def random_policy(view, p, legal, memory):
    """Uniform over the legal actions."""
    return random_legal(memory, legal)


@kernel
def random_box_policy(view, p, legal, memory, action):
    """Uniform over the box of continuous actions."""
    for k in range(action.shape[0]):
        action[k] = p.action_low[k] + (p.action_high[k] - p.action_low[k]) * random_uniform(memory)


def random_agent() -> KernelAgent:
    """Plays uniformly over the legal actions."""
    return KernelAgent(random_policy, name="random")


def random_box_agent() -> KernelAgent:
    """Plays uniformly over the box of continuous actions."""
    return KernelAgent(random_box_policy, name="random")


AGENTS = "asobiba.agents"
_EVERY_GAME = "plays uniformly over the legal actions"


def agent_packages(game_name: str) -> list[str]:
    """The packages with agents of a game: the entry points of the group `asobiba.agents` with the game's name.

    Such a package has `AGENTS` (declarations, or game name -> declarations), and may have a module `commands` (with a
    typer `app`), a `training.yml`, trained policies in `policies/`, `LEARNED` (see `asobiba.learn.agent`), and a module
    `compiled` with `COMPILED`: classes of agents -> a function `(agent, ruleset) -> Thinking | None`, as
    `Agent.thinking` is. Those of other distributions that cannot be loaded are left out, with a warning.
    """
    found = dict.fromkeys(entry.value for entry in entry_points(group=AGENTS) if entry.name == game_name)
    return [package for package in found if package.startswith("asobiba.") or _can_be_loaded(package)]


@cache
def _can_be_loaded(package: str) -> bool:
    """Whether somebody else's package has agents; otherwise a warning, since the game's other agents can still play."""
    try:
        _ = importlib.import_module(package).AGENTS
    except (Exception, SystemExit) as error:
        warnings.warn(told(error, None, f"the agents of {package!r} are left out"), stacklevel=3)
        return False
    return True


def agent_declarations(game: Game) -> dict[str, AgentDeclaration]:
    """The agents of a game by name: those of its packages, and `random`."""
    make = random_agent if hasattr(game.rules, "legal") else random_box_agent
    found = {"random": AgentDeclaration("random", make, _EVERY_GAME)}
    for package in agent_packages(game.name):
        declared = importlib.import_module(package).AGENTS
        if isinstance(declared, Mapping):
            declared = declared.get(game.name, ())
        for declaration in declared:
            found[declaration.name] = declaration
    return found


def parse_agent(text: str) -> tuple[str, dict[str, Any]]:
    """Splits `name:key=value,key=value` into the name and the parameters (numbers, booleans or text).

    >>> parse_agent("alpha_beta:depth=4,quiescence=true")
    ('alpha_beta', {'depth': 4, 'quiescence': True})

    Raises:
        UnknownAgent: for text of another form.
    """
    name, _, tail = text.partition(":")
    parameters: dict[str, Any] = {}
    for part in filter(None, tail.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise UnknownAgent(f"Cannot read {part!r} in agent {text!r}: expected name:key=value,key=value")
        try:
            parameters[key.strip()] = read_yaml(value)
        except yaml.YAMLError:
            raise UnknownAgent(
                f"Cannot read the value {value[:60]!r} of {key.strip()!r} in agent {text[:60]!r}: expected a number, true, "
                "false or a word"
            ) from None
    return name, parameters


def _value_for(what: str, annotation: str, value: Any) -> Any:
    """A value of text as a parameter of this annotation. Raises `GameParameterError` for one of another kind."""
    if annotation.startswith("float") and isinstance(value, str):
        with suppress(ValueError):
            value = float(value)  # YAML takes 1e-3 for text
    kinds = annotation.split(" | ")
    for kind in kinds:
        if kind not in _KINDS:
            return value
        if isinstance(value, _KINDS[kind][0]) and (kind == "bool" or not isinstance(value, bool)):
            return value
    raise GameParameterError(f"{what} is {' or '.join(_KINDS[kind][1] for kind in kinds)}, not {value!r}")


LOADERS = "asobiba.agent_loaders"
Starts = Literal["nothing", "program", "code"]


def agent_loader(starts: Starts) -> Callable[[_Loader], _Loader]:
    """Declares what a loader of agents starts. A loader without a declaration is assumed to run code.

    Args:
        starts: "nothing": it reads data only. "program": it starts a program, contained by
            `asobiba.protocols.sandbox.current()`, which the agent keeps as `sandbox`. "code": it runs the given code in
            its own process, so leagues run the whole agent in a contained process.
    """

    def declare(loader: _Loader) -> _Loader:
        loader.starts = starts  # type: ignore[attr-defined]
        return loader

    return declare


def make_agent(game: Game, text: str) -> Agent:
    """Builds the agent described by `text`: `name`, `name:key=value,...`, or `loader:argument` such as `sb3:PATH`.

    Loaders are entry points of the group `asobiba.agent_loaders`: functions `(game, argument) -> Agent`, declared by
    `agent_loader`.

    Raises:
        UnknownAgent: with the nearest names; for a loader that cannot be imported, with the reason.
        GameParameterError: for a parameter that the agent does not have, or a value that it refuses.
    """
    prefix, colon, argument = text.partition(":")
    for entry in entry_points(group=LOADERS):
        if colon and entry.name == prefix:
            try:
                load = entry.load()
            except (Exception, SystemExit) as error:
                raise UnknownAgent(told(error, None, f"loading {prefix!r} (entry point {entry.value!r})")) from error
            agent = load(game, argument)
            agent.declared = "" if agent.name == text else agent.name
            agent.name = text
            return agent
    declarations = agent_declarations(game)
    name, parameters = parse_agent(text)
    if name not in declarations:
        close = difflib.get_close_matches(name, declarations, n=3)
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Agents: {', '.join(declarations)}."
        raise UnknownAgent(f"No agent of {game.name} is called {name!r}. {hint}")
    declaration = declarations[name]
    known = inspect.signature(declaration.make).parameters
    for key in parameters:
        if key not in known:
            raise GameParameterError(
                f"Agent {name!r} of {game.name} has no parameter {key!r}; it has: {', '.join(known) or 'none'}."
            )
        parameters[key] = _value_for(f"{key} of agent {name!r}", str(known[key].annotation), parameters[key])
    agent = declaration.make(**parameters)
    agent.name = text
    return agent

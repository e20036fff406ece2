"""Agents: what plays. An agent is given a view, the state record as its seat may see it, and returns an action."""

from __future__ import annotations

import difflib
import importlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import yaml
from gymnasium import spaces

from asobiba.core.engine import agent_engine_for
from asobiba.core.errors import GameParameterError, UnknownAgent
from asobiba.core.game import Game, Ruleset
from asobiba.core.kernels import kernel
from asobiba.core.random import memory_keys, random_legal
from asobiba.core.state import SAMPLER, record_dtype

_MEMORY_HEADER = [("rng_key", np.uint64), ("rng_counter", np.uint64)]


class Agent(ABC):
    """A player of one game at a time.

    `reset` is called before every game, then `act` whenever it is the agent's turn. All randomness comes from `seed`:
    the same seed and the same views give the same actions.
    """

    name: str = "agent"

    @abstractmethod
    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        """A new game begins; the agent plays `seat` (0 is the first player)."""

    @abstractmethod
    def act(self, view: np.void, legal: np.ndarray) -> Any:
        """The action in this view. `legal` is the `(num_actions,)` int8 mask (empty for continuous actions)."""

    def act_batch(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray | None:
        """Actions for many independent games at once, or `None` if the agent can only play one game at a time.

        Only agents without memory of a game can answer this; learned policies override it.
        """
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
            memory record, which it may read and write.
        memory: the fields of the memory record after `rng_key` and `rng_counter` (draw from it with
            `asobiba.core.random`), as NumPy field tuples.
        initial: the values that memory fields have when a game begins (others are zero); the agent's settings.
        name: how the agent is called in tables.
    """

    def __init__(
        self,
        policy: Callable[..., Any],
        memory: Sequence[tuple] = (),
        initial: Mapping[str, Any] | None = None,
        name: str = "agent",
    ):
        self.policy = policy
        self.name = name
        self.memory_dtype = record_dtype([*_MEMORY_HEADER, *memory]) if memory else SAMPLER
        self.initial = np.zeros(1, self.memory_dtype)
        for key, value in (initial or {}).items():
            self.initial[key][0] = value

    def initial_for(self, ruleset: Ruleset) -> np.ndarray:
        """The memory record `(1,)` that games of this ruleset begin with, apart from the generator's fields.

        An agent that works something out once for all games of a ruleset overrides this and keeps it there.
        """
        return self.initial

    def memories(self, seeds: np.ndarray, seat: int, ruleset: Ruleset | None = None) -> np.ndarray:
        """Fresh memory records, one per seed (`(n,)` integers), with what is prepared for `ruleset`, if it is given."""
        records = np.repeat(self.initial if ruleset is None else self.initial_for(ruleset), len(seeds))
        records["rng_key"] = memory_keys(seeds, seat)
        return records

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self._ruleset = ruleset
        self._engine = agent_engine_for(ruleset.game, self.policy)
        self._memory = self.memories(np.array([seed]), seat, ruleset)
        self._view = ruleset.zeros()
        self._scratch = ruleset.zeros()
        self._legal = np.zeros((1, ruleset.num_actions), np.int8)

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in self.__dict__.items() if key not in ("policy", "_engine")}
        function = getattr(self.policy, "py_func", self.policy)
        return {**state, "policy": (function.__module__, function.__qualname__)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        module, name = state["policy"]
        self.__dict__.update(state, policy=getattr(importlib.import_module(module), name))
        if "_ruleset" in state:
            self._engine = agent_engine_for(self._ruleset.game, self.policy)

    def act(self, view: np.void, legal: np.ndarray) -> int:
        self._view[0] = view
        self._legal[0] = legal
        return int(self._engine.act_one(self._view, 0, self._ruleset.params, self._legal, self._scratch, self._memory))


@dataclass(frozen=True)
class AgentDeclaration:
    """What `asobiba agents GAME` lists. `baselines/<game>/__init__.py` holds them as `AGENTS`.

    Args:
        name: lower case; the agent is called by `name` or `name:parameter=value,parameter=value`.
        make: builds the agent from its parameters (keyword arguments with defaults).
        description: one line.
        source: where the literature describes it.
        deterministic: whether equal views give equal actions whatever the seed.
        league: whether a league without a list of agents includes it.
    """

    name: str
    make: Callable[..., Agent]
    description: str
    source: str = ""
    deterministic: bool = False
    league: bool = True


@kernel
def random_policy(view, p, legal, memory):
    """Uniform over the legal actions."""
    return random_legal(memory, legal)


def random_agent() -> KernelAgent:
    """Plays uniformly over the legal actions."""
    return KernelAgent(random_policy, name="random")


class RandomContinuousAgent(Agent):
    """Plays uniformly over the box of continuous actions."""

    name = "random"

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        assert isinstance(ruleset.action_space, spaces.Box)
        self._space = ruleset.action_space
        self._generator = np.random.Generator(np.random.Philox(seed))

    def act(self, view: np.void, legal: np.ndarray) -> np.ndarray:
        return self._generator.uniform(self._space.low, self._space.high).astype(self._space.dtype)


_EVERY_GAME = "plays uniformly over the legal actions"


def agent_declarations(game: Game) -> dict[str, AgentDeclaration]:
    """The agents of a game by name: those of `baselines/<game>`, of other packages, and `random`."""
    make = random_agent if _is_discrete(game) else RandomContinuousAgent
    found = {"random": AgentDeclaration("random", make, _EVERY_GAME)}
    packages = [f"{game.package.replace('.envs.', '.baselines.')}"] if ".envs." in game.package else []
    packages += [e.value for e in entry_points(group="asobiba.agents") if e.name == game.name]
    for package in packages:
        try:
            module = importlib.import_module(package)
        except ModuleNotFoundError as error:
            if error.name and package.startswith(error.name):
                continue
            raise
        declared = module.AGENTS
        if isinstance(declared, Mapping):
            declared = declared.get(game.name, ())
        for declaration in declared:
            found[declaration.name] = declaration
    return found


def _is_discrete(game: Game) -> bool:
    return game.ruleset().discrete


def parse_agent(text: str) -> tuple[str, dict[str, Any]]:
    """Splits `name:key=value,key=value` into the name and the parameters (numbers, booleans or text).

    Raises:
        UnknownAgent: for text of another form.
    """
    name, _, tail = text.partition(":")
    parameters: dict[str, Any] = {}
    for part in filter(None, tail.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise UnknownAgent(f"Cannot read {part!r} in agent {text!r}: expected name:key=value,key=value")
        parameters[key.strip()] = yaml.safe_load(value)
    return name, parameters


def make_agent(game: Game, text: str) -> Agent:
    """Builds the agent described by `text`: `name`, `name:key=value,...`, or `loader:argument` such as `sb3:PATH`.

    Loaders are entry points of the group `asobiba.agent_loaders`: functions `(game, argument) -> Agent`.

    Raises:
        UnknownAgent: with the nearest names.
        GameParameterError: for a parameter that the agent does not have, or a value that it refuses.
    """
    prefix, colon, argument = text.partition(":")
    for entry in entry_points(group="asobiba.agent_loaders"):
        if colon and entry.name == prefix:
            agent = entry.load()(game, argument)
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
    agent = declaration.make(**parameters)
    agent.name = text
    return agent

"""A strategy in a file: `file:PATH`. It runs in a contained process unless the user trusts it.

The file defines an `Agent` subclass that is built without arguments, or a function `agent()` that returns an agent.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path

from asobiba.core import Agent, AsobibaError, Game, agent_loader
from asobiba.protocols import sandbox


class StrategyError(AsobibaError, ValueError):
    """A file that holds no strategy."""


@agent_loader(starts="code")
def load_agent(game: Game, argument: str) -> Agent:
    """The loader behind `file:PATH` (entry point of the group `asobiba.agent_loaders`).

    Raises:
        FileNotFoundError: if there is no such file.
        StrategyError: if it defines no agent.
    """
    path = Path(argument)
    if not path.is_file():
        raise FileNotFoundError(f"no strategy file at {path}")
    if not sandbox.consented():
        from asobiba.protocols.hosted import HostedAgent

        return HostedAgent(game, f"file:{argument}")
    name = f"asobiba_strategy_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise StrategyError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if hasattr(module, "agent"):
        return module.agent()
    own = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Agent) and value.__module__ == name
    ]
    if len(own) != 1:
        raise StrategyError(
            f"{path} defines {len(own)} classes that are agents; it must define one, or a function agent() that builds it"
        )
    return own[0]()

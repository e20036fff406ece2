"""The executors by name."""

from __future__ import annotations

from typing import Any

from asobiba.arena.executors import Executor, LocalExecutor
from asobiba.core.errors import AsobibaError

EXECUTORS = ("local", "ray")


def make_executor(name: str, **options: Any) -> Executor:
    """The executor of this name (`local` or `ray`).

    Raises:
        AsobibaError: for another name.
        MissingExtra: if it needs an extra that is not installed.
    """
    if name not in EXECUTORS:
        raise AsobibaError(f"no executor is called {name!r}; there are: {', '.join(EXECUTORS)}")
    if name == "ray":
        from asobiba.arena.cluster import RayExecutor

        return RayExecutor(**options)
    return LocalExecutor(**options)

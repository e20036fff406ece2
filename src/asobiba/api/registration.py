"""Enters the games into Gymnasium's and PettingZoo's registries, without importing any of them.

If a library is already imported, the games are entered at once, otherwise as soon as it is imported. So
`import asobiba` and the command line start without them. PettingZoo has a registry from 1.27 on; with an older one,
make a game by `asobiba.envs.GAME.env(...)`.

Environments that are not games in the engine, such as real hardware, are entry points of the group
`asobiba.environments`: the name is the Gymnasium id after `asobiba/`, the value a class.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

ENVIRONMENTS = "asobiba.environments"


def register() -> None:
    """Enters every game that is not entered yet, in those of the two libraries that are imported."""
    if "asobiba.core" in sys.modules and _REGISTRY not in sys.modules:
        return  # the core is being imported, and itself imports a library; it reports when its registry is ready
    for library, enter in _LIBRARIES.items():
        if library in sys.modules:
            enter()


def register_when_imported() -> None:
    """Registers now, and for a library that is imported later, at its import."""
    if not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())
    register()


def _enter_gymnasium() -> None:
    import gymnasium

    from asobiba.core.installed import entry_points
    from asobiba.core.registry import game_ids

    for entry in entry_points(group=ENVIRONMENTS):
        if (identity := f"asobiba/{entry.name}") not in gymnasium.registry:
            gymnasium.register(
                identity,
                entry_point=entry.value,
                nondeterministic=True,
                order_enforce=False,
                disable_env_checker=True,
            )
    for name, ids in game_ids().items():
        if ids.gymnasium not in gymnasium.registry:
            gymnasium.register(
                ids.gymnasium,
                entry_point="asobiba.api.seat:SeatEnv",
                vector_entry_point="asobiba.api.vector:VectorEnv",
                kwargs={"game": name},
                order_enforce=False,  # the environments do both themselves
                disable_env_checker=True,
            )


def _enter_pettingzoo() -> None:
    import pettingzoo

    from asobiba.core.registry import game_ids

    if not hasattr(pettingzoo, "aec_registry"):  # before 1.27
        return
    for name, ids in game_ids().items():
        if ids.pettingzoo not in pettingzoo.aec_registry:
            pettingzoo.register("aec", ids.pettingzoo, "asobiba.api.pettingzoo:AEC", kwargs={"game": name})
        if ids.pettingzoo not in pettingzoo.parallel_registry:
            pettingzoo.register("parallel", ids.pettingzoo, "asobiba.api.pettingzoo:Parallel", kwargs={"game": name})


_LIBRARIES: dict[str, Callable[[], None]] = {"gymnasium": _enter_gymnasium, "pettingzoo": _enter_pettingzoo}
_REGISTRY = "asobiba.core.registry"


class _Watcher:
    """An import finder that finds no module; it enters the games when a library, or the core's registry, is loaded."""

    def __init__(self) -> None:
        self._asking: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not (fullname in _LIBRARIES or fullname == _REGISTRY) or fullname in self._asking:
            return None
        self._asking.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asking.discard(fullname)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_enter(module: ModuleType) -> None:
            execute(module)
            if fullname == _REGISTRY:
                module.listeners.append(register)  # for games that are added later
            register()

        spec.loader.exec_module = execute_and_enter  # type: ignore[method-assign]
        return spec

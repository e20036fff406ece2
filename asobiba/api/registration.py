"""Enters the games into Gymnasium's and PettingZoo's registries, without importing any of them.

Environments that are no game in the engine, such as real hardware, are entry points of the group
`asobiba.environments`: the name is the Gymnasium id after `asobiba/`, the value a class.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from asobiba.core.registry import game_ids

ENVIRONMENTS = "asobiba.environments"


def register() -> None:
    """Enters every game that is not entered yet."""
    import gymnasium
    from pettingzoo import aec_registry, parallel_registry
    from pettingzoo import register as register_pettingzoo

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
                order_enforce=False,  # the environments see to both themselves
                disable_env_checker=True,
            )
        if ids.pettingzoo not in aec_registry:
            register_pettingzoo("aec", ids.pettingzoo, "asobiba.api.pettingzoo:AEC", kwargs={"game": name})
        if ids.pettingzoo not in parallel_registry:
            register_pettingzoo("parallel", ids.pettingzoo, "asobiba.api.pettingzoo:Parallel", kwargs={"game": name})

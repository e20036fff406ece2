"""Enters the games into Gymnasium's and PettingZoo's registries, without importing any of them."""

from __future__ import annotations

from asobiba.core.registry import game_ids


def register() -> None:
    """Enters every game that is not entered yet."""
    import gymnasium
    from pettingzoo import aec_registry, parallel_registry
    from pettingzoo import register as register_pettingzoo

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

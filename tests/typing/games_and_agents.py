"""mypy reads the games and agents: it finds the mistakes below, and would report an `ignore` that ignores nothing."""

from __future__ import annotations

from asobiba.baselines.gogo import AGENTS
from asobiba.core import make_agent
from asobiba.envs.gogo import GAME

game_is_no_number: int = GAME  # type: ignore[assignment]
agents_are_no_text: str = AGENTS  # type: ignore[assignment]
agent_is_no_number: int = make_agent(GAME, "random")  # type: ignore[assignment]

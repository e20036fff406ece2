"""The planner as an agent: predictive control (`plan`) with numbers that `asobiba mini4wd search` has learned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from asobiba.baselines.mini4wd import policies
from asobiba.baselines.mini4wd.controllers import Controller, require_range
from asobiba.core import AgentDeclaration, GameParameterError

FOLDER = Path(__file__).parent / "policies" / "plan_cem"
FILE = "learned.json"
LEARNED: Mapping[str, tuple[float, float]] = {
    "shortest": (0.02, 0.3),
    "longer": (0.1, 0.6),
    "longest": (0.3, 1.2),
    "rollers": (0.0, 0.9),
    "fence": (0.0, 0.6),
    "pitch": (0.0, 0.6),
    "grip": (0.0, 0.6),
}
"""The numbers that are learned, and their ranges: the three times for which a command is tried (s), and the shares by which
the pessimistic car's rollers lie higher and its fence, landing angle and grip are less."""


def settings_of(learned: Mapping[str, float]) -> list[float]:
    """Settings for the kernel `plan`.

    Raises:
        GameParameterError: for a number that is missing, out of its range, or of another name.
    """
    if set(learned) != set(LEARNED):
        raise GameParameterError(f"the planner's numbers are {sorted(learned)}, but must be {', '.join(LEARNED)}")
    value = {name: require_range(name, learned[name], *limits) for name, limits in LEARNED.items()}
    identified, trust = 0.0, 1.0  # as in `predict`
    return [
        value["shortest"], value["longer"], identified, trust, value["longest"],
        value["rollers"], value["fence"], value["pitch"], value["grip"],
    ]  # fmt: skip


def plan_cem(path: str | None = None) -> Controller:
    """Predictive control whose seven numbers were learned over generated courses and drawn cars by the cross-entropy method
    (`policies/plan_cem`), or are those in the JSON file at `path`. Knows the course and the nominal car, as `predict` does."""
    file = FOLDER / FILE if path is None else Path(path)
    try:
        learned = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GameParameterError(f"{file} cannot be read as the planner's numbers: {error}") from None
    return Controller(policies.PLAN, settings_of(learned), "plan_cem")


PLAN_CEM = AgentDeclaration(
    "plan_cem",
    plan_cem,
    "predictive control, its numbers learned over generated courses by `asobiba mini4wd search`",
    "baselines/mini4wd/policies/plan_cem",
    deterministic=True,
    kind="learned",
)

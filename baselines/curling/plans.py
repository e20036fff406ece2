"""End plans, from `plans.yml`: the goal of an end, and the kinds of shots that serve it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import yaml

from asobiba.baselines.curling.candidates import KINDS
from asobiba.core import GameParameterError, Ruleset

FIRST_PLANS, HAMMER_PLANS = ("steal", "force", "prevent"), ("keep", "score2", "score3")
TWO_VERSIONS = ("steal", "force", "score2")
"""Plans with an aggressive and a conservative version."""
POSITIONS = ("empty", "guards", "own", "theirs")


class Plan(NamedTuple):
    """A plan's name and its risk, 0 to 3."""

    name: str
    risk: int

    @property
    def version(self) -> str:
        """The name with its version, as the narrowing's table calls it."""
        if self.name not in TWO_VERSIONS:
            return self.name
        return f"{self.name} {'aggressive' if self.risk >= 2 else 'conservative'}"


@cache
def tables() -> tuple[dict[str, dict[int, list[Plan]]], dict[str, dict[str, int]]]:
    """The plans by side and lead, and the kinds (as bits) by plan and position.

    Raises:
        GameParameterError: naming the entry of `plans.yml` that cannot be read.
    """
    data = yaml.safe_load((files("asobiba.baselines.curling") / "plans.yml").read_text(encoding="utf-8"))
    plans: dict[str, dict[int, list[Plan]]] = {}
    for side, known in (("first", FIRST_PLANS), ("hammer", HAMMER_PLANS)):
        plans[side] = {}
        for lead in range(-3, 4):
            row = [Plan(cell.split()[0], int(cell.split()[1])) for cell in data["plans"][side][lead]]
            if len(row) != 6 or any(plan.name not in known or not 0 <= plan.risk <= 3 for plan in row):
                raise GameParameterError(
                    f"plans.yml: {side}, lead {lead}: {data['plans'][side][lead]}, but expected six plans of "
                    f"{', '.join(known)} with a risk from 0 to 3"
                )
            plans[side][lead] = row
    kinds: dict[str, dict[str, int]] = {}
    for version, rows in data["narrowing"].items():
        kinds[version] = {}
        for position in POSITIONS:
            for kind in rows[position]:
                if kind not in KINDS:
                    raise GameParameterError(f"plans.yml: {version}, {position}: no kind of shot is called {kind!r}")
            kinds[version][position] = sum(1 << KINDS.index(kind) for kind in rows[position])
    return plans, kinds


def plan_of(ruleset: Ruleset, view: np.void) -> Plan:
    """The plan of the side to move for this end."""
    seat = int(view["to_move"])
    side = "hammer" if int(view["hammer"]) == seat else "first"
    left = min(max(int(ruleset.params["ends"][0]) - int(view["end"]), 1), 6)
    lead = int(view["total"][seat] - view["total"][1 - seat])
    return tables()[0][side][min(max(lead, -3), 3)][left - 1]


def position_of(ruleset: Ruleset, view: np.void) -> str:
    """Row of the narrowing's table for a position."""
    here = np.flatnonzero(view["in_play"])
    if not len(here):
        return "empty"
    distance = np.hypot(*view["stones"][here].T)
    if distance.min() >= float(ruleset.params["score"][0]):
        return "guards"
    return "own" if int(here[distance.argmin()]) % 2 == int(view["shot"]) % 2 else "theirs"


def kinds_for(ruleset: Ruleset, view: np.void, system: int = 2) -> int:
    """The kinds of shots (bits) that the plan leaves in a position.

    Args:
        system: of the paper. The first knows no versions of a plan: it leaves what either of them leaves.
    """
    plan, position = plan_of(ruleset, view), position_of(ruleset, view)
    if system == 2 or plan.name not in TWO_VERSIONS:
        return tables()[1][plan.version][position]
    return tables()[1][f"{plan.name} aggressive"][position] | tables()[1][f"{plan.name} conservative"][position]

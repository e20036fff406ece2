"""The searching agents: M-UCT and F-UCT as published and corrected, their variants, and the strongest, `uct_plus`.

Published values are 1, 0.5 and 0 for a win, a draw and a loss with an exploration of 0.15; here they are 1, 0 and -1,
so that the same exploration is 0.3 and the published value of an unvisited child, 100, is 199.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.search.fuzzy import FuzzySet, as_knowledge
from asobiba.baselines.search.uct import UctAgent
from asobiba.baselines.tactics.features import NAMES_OF
from asobiba.core import GameParameterError
from asobiba.envs.tactics.units import NAMES

LABELS = Path(__file__).parent / "labels"
VARIANTS = ("plain", "widening", "reuse", "transpositions")
_EXPLORATION, _UNVISITED, _EXPAND_AFTER = 0.3, 199.0, 11
_WIDENING_POWER = 0.4
_TREE = 1 << 17


@cache
def _sets(folder: Path) -> tuple[FuzzySet | None, ...]:
    found = tuple(FuzzySet.load(path) if (path := folder / f"{name}.csv").is_file() else None for name in NAMES)
    if not any(found):
        raise GameParameterError(f"{folder} holds no fuzzy sets: expected files such as {NAMES[-1]}.csv")
    for name, fuzzy in zip(NAMES, found, strict=True):
        if fuzzy is not None and fuzzy.names != NAMES_OF:
            raise GameParameterError(
                f"{folder / name}.csv is a fuzzy set of {', '.join(fuzzy.names)}; expected the features {', '.join(NAMES_OF)}"
            )
    return found


def knowledge(labels: str | None = None) -> np.ndarray:
    """The fuzzy sets of a folder, or the shipped ones, as the table that the search reads."""
    return as_knowledge(_sets(Path(labels) if labels else LABELS))


def _variant(variant: str) -> dict[str, Any]:
    if variant not in VARIANTS:
        raise GameParameterError(f"variant is one of {', '.join(VARIANTS)}, not {variant!r}")
    return {
        "widening": (2.0, _WIDENING_POWER) if variant == "widening" else None,
        "reuse": variant == "reuse",
        "transpositions": variant == "transpositions",
    }


def m_uct(simulations: int, published: bool, variant: str, attack_share: float, exploration: float) -> UctAgent:
    """M-UCT; with `published` including what its program does wrongly: both sides maximise the root's value, and its
    playouts attack where that takes nothing, take a lead by just the threshold for a win, and count a turn too many where
    they begin within the enemy's turn or before the own side's next one.
    """
    return UctAgent(
        simulations,
        name="m_uct",
        exploration=exploration,
        tree_size=_TREE,
        expand_after=_EXPAND_AFTER,
        log_count="root",
        urgency=_UNVISITED,
        cooperative=published,
        final="mean",
        playout=True,
        settings={"attack_share": attack_share, "as_published": published},
        **_variant(variant),
    )


def f_uct(
    simulations: int, published: bool, variant: str, attack_share: float, exploration: float, weight: float,
    neighbours: int, labels: str | None,
) -> UctAgent:  # fmt: skip
    """F-UCT: M-UCT whose new children begin with `weight` x membership visits that all were won.

    With `published` the nearest sample alone counts, staying without an attack is a full member, the visits of the prior
    count for the expansion threshold, and children of membership below a tenth, who begin without visits, are tried
    first. Corrected, memberships are the paper's (equation 4), the threshold is higher by the visits of a full member, so
    that no child is expanded after fewer playouts than in M-UCT, those without visits wait until the others have proved
    worse than a draw ("search those of high membership first"), and the most visited is played: the best mean would be
    that of a child that was never tried. `neighbours` matters to the corrected one only.
    """
    return UctAgent(
        simulations,
        name="f_uct",
        exploration=exploration,
        tree_size=_TREE,
        expand_after=_EXPAND_AFTER if published else _EXPAND_AFTER + round(weight),
        log_count="root",
        urgency=_UNVISITED if published else 0.0,
        cooperative=published,
        final="mean" if published else "visits",
        playout=True,
        knowledge=knowledge(labels),
        settings={
            "attack_share": attack_share,
            "as_published": published,
            "weight": weight,
            "neighbours": 1 if published else neighbours,
            "rules_of_thumb": published,
        },
        **_variant(variant),
    )


def uct_plus(
    simulations: int,
    exploration: float,
    attack_share: float,
    choosy: float,
    expand_after: int,
    weight: float,
    bargain: float,
    caution: float,
    mean: float,
    neighbours: int,
    widening: float,
    transpositions: bool,
    reuse: bool,
) -> UctAgent:
    """The right sign, attack-first playouts, priors by what an action gains, shared transpositions, a tree that is kept.

    New children begin with `weight` visits whose mean is by what the action gains (`search_rules.gain`); with `bargain=0`
    by their membership in the fuzzy sets instead.
    """
    return UctAgent(
        simulations,
        name="uct_plus",
        exploration=exploration,
        tree_size=2 * _TREE,
        expand_after=expand_after,
        log_count="parent",
        urgency=_UNVISITED,
        final="visits",
        playout=True,
        knowledge=None if not weight else np.zeros((1, 1), np.float32) if bargain else knowledge(),
        settings={
            "attack_share": attack_share, "choosy": choosy, "weight": weight, "mean": mean, "lowest": 1,
            "neighbours": neighbours, "rules_of_thumb": False, "bargain": bargain, "caution": caution,
        },
        widening=(widening, _WIDENING_POWER) if widening else None,
        transpositions=transpositions,
        reuse=reuse,
    )  # fmt: skip


def uct_learned(
    simulations: int,
    exploration: float,
    expand_after: int,
    weight: float,
    bargain: float,
    caution: float,
    mean: float,
    turns: int,
    reuse: bool,
) -> UctAgent:
    """`uct_plus` whose playouts end after `turns` turns' attacks in the learned evaluation."""
    from asobiba.baselines.tactics import learned_rules

    return UctAgent(
        simulations,
        name="uct_learned",
        exploration=exploration,
        tree_size=4 * _TREE,
        expand_after=expand_after,
        log_count="parent",
        urgency=_UNVISITED,
        final="visits",
        playout=True,
        knowledge=np.zeros((1, 1), np.float32) if weight else None,
        settings={"weight": weight, "mean": mean, "lowest": 1, "turns": turns, "bargain": bargain, "caution": caution},
        transpositions=True,
        reuse=reuse,
        search_module=learned_rules.__name__,
    )

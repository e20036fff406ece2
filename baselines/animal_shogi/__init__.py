"""The classical agents of animal shogi: the ladder of Hiroshi Gomi's tutorial, and alpha-beta beyond it."""

from __future__ import annotations

from pathlib import Path

from asobiba.core import Agent, AgentDeclaration

_POLICIES = Path(__file__).parent / "policies"
_TANAKA = "Tetsuro Tanaka, An analysis of a board game Doubutsu Shogi (in Japanese), IPSJ SIG Notes 2009-GI-22 No. 3"
_TUTORIAL = "Hiroshi Gomi, How to write Doubutsu Shogi, gently (in Japanese), 2010"


def first_legal() -> Agent:
    """The first legal move."""
    from asobiba.baselines.animal_shogi.ladder import first_legal as make

    return make()


def one_ply(terms: str = "all") -> Agent:
    """One ply by the named groups of terms."""
    from asobiba.baselines.animal_shogi.ladder import one_ply as make

    return make(terms)


def minimax(depth: int = 3) -> Agent:
    """Every line of `depth` plies, the evaluation at its end."""
    from asobiba.baselines.search.agent import SearchAgent

    return SearchAgent(
        "minimax", depth=depth, alpha_beta=False, table="off", ordering=False, quiescence=0, iterative=False
    )


def alpha_beta(
    depth: int | None = None, nodes: int | None = None, seconds: float | None = None, table_size: int = 1 << 18
) -> Agent:
    """The full search; `depth=8` where no budget is given."""
    from asobiba.baselines.search.agent import SearchAgent

    if depth is None and nodes is None and seconds is None:
        depth = 8
    return SearchAgent("alpha_beta", depth=depth, nodes=nodes, seconds=seconds, table_size=table_size)


def plain_alpha_beta(depth: int = 3) -> Agent:
    """Alpha-beta alone: the values of `minimax`, sooner."""
    from asobiba.baselines.search.agent import SearchAgent

    return SearchAgent(
        "plain_alpha_beta", depth=depth, table="off", pvs=False, ordering=False, quiescence=0, iterative=False
    )


def forward_pruning(depth: int = 6, lower: int = -700, upper: int = 700) -> Agent:
    """Alpha-beta that does not follow positions whose value is beyond the thresholds."""
    from asobiba.baselines.search.agent import SearchAgent

    return SearchAgent("forward_pruning", depth=depth, lower=lower, upper=upper, quiescence=0)


def fighter(depth: int = 6, losing: str = "confusing") -> Agent:
    """Keeps fighting when all moves lose: `longest` line, or the most `confusing` move."""
    from asobiba.baselines.search.agent import SearchAgent

    return SearchAgent("fighter", losing=losing, depth=depth)


def perfect(table: str | None = None) -> Agent:
    """The fastest win, else a draw, else the longest resistance; `table` names another file than the usual one."""
    from asobiba.baselines.animal_shogi.perfect import PerfectAgent

    return PerfectAgent(table)


def perfect_graded(strength: float = 5.0, table: str | None = None) -> Agent:
    """Draws moves with weights exp(strength * value): 0 plays at random, more approaches `perfect`."""
    from asobiba.baselines.animal_shogi.perfect import GradedAgent

    return GradedAgent(strength, table)


def _table_is_there() -> bool:
    from asobiba.baselines.animal_shogi.solver.table import table_path

    return table_path().is_file()


def _one_term(group: str):
    def make() -> Agent:
        return one_ply(group)

    return make


def ppo() -> Agent:
    """The policy in `policies/`, trained by `asobiba train animal_shogi`. Needs the extra `sb3`."""
    from asobiba.learn.agent import PolicyAgent, load_policy

    return PolicyAgent(load_policy(_POLICIES / "policy.safetensors"), "ppo")


def gumbel_az(simulations: int = 64, time: float | None = None) -> Agent:
    """The network in `policies/gumbel_az`, trained by `asobiba train animal_shogi --algo gumbel_az`, with PUCT.

    With 400 simulations PUCT plays better than the search that it learned from (its README).

    Args:
        simulations: of a move; 1: the network alone.
        time: milliseconds of a move instead, as many simulations as this machine does in them.
    """
    from asobiba.learn.search_agent import NetAgent

    return NetAgent(_POLICIES / "gumbel_az" / "policy.safetensors", simulations, time, "puct", name="gumbel_az")


AGENTS = (
    AgentDeclaration("first_legal", first_legal, "the first legal move", _TUTORIAL + ", 5.2", deterministic=True),
    *(
        AgentDeclaration(f"one_ply_{name}", _one_term(name), f"one ply: {what}", _TUTORIAL + ", 5.2")
        for name, what in (
            ("material", "pieces on the board and in hand"),
            ("attacks", "squares attacked"),
            ("check", "check, and escape from it"),
            ("try", "try, and preventing it"),
            ("lion_rank", "the lion's advance"),
            ("relations", "protected and threatened pieces"),
        )
    ),
    AgentDeclaration("one_ply", one_ply, "one ply by all terms of the evaluation", _TUTORIAL + ", 5.2"),
    AgentDeclaration("minimax", minimax, "minimax of a fixed depth", _TUTORIAL + ", 7", deterministic=True),
    AgentDeclaration(
        "plain_alpha_beta",
        plain_alpha_beta,
        "alpha-beta without any ordering or table: minimax's values",
        _TUTORIAL + ", 7.3",
        deterministic=True,
        league=False,
    ),
    AgentDeclaration(
        "forward_pruning", forward_pruning, "alpha-beta with thresholds", _TUTORIAL + ", 7.3 and 8", deterministic=True
    ),
    AgentDeclaration(
        "fighter", fighter, "alpha-beta that makes winning hard when it loses", _TUTORIAL + ", 8.3", deterministic=True
    ),
    AgentDeclaration(
        "alpha_beta",
        alpha_beta,
        "iterative deepening, transposition table, killers, history, quiescence",
        "Marsland and Campbell 1982; Schaeffer 1989",
        deterministic=True,
    ),
    AgentDeclaration(
        "perfect",
        perfect,
        "exact values: fastest win, longest resistance (needs the table: asobiba solve animal_shogi)",
        _TANAKA,
        deterministic=True,
        league=_table_is_there(),
        kind="exact",
    ),
    AgentDeclaration(
        "perfect_graded",
        perfect_graded,
        "exact values, moves drawn by strength (needs the table)",
        "clausecker, dobutsu (the idea of a strength), and " + _TANAKA,
        league=_table_is_there(),
        kind="exact",
    ),
    AgentDeclaration(
        "ppo",
        ppo,
        "MaskablePPO, trained by `asobiba train animal_shogi`; needs the extra sb3",
        "baselines/animal_shogi/policies",
        league=False,
        kind="learned",
    ),
    AgentDeclaration(
        "gumbel_az",
        gumbel_az,
        "a search guided by a network that learned from it; needs the extra sb3",
        "Danihelka et al. 2022; baselines/animal_shogi/policies/gumbel_az",
        deterministic=True,
        league=False,
        kind="learned",
    ),
)

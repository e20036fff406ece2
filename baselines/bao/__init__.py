"""The classical agents of Bao."""

from __future__ import annotations

from pathlib import Path

from asobiba.core import Agent, AgentDeclaration

_POLICIES = Path(__file__).parent / "policies"


def greedy() -> Agent:
    """Captures the most seeds now."""
    from asobiba.baselines.bao.agents import one_move_agent

    return one_move_agent("greedy", gain=1)


def hoard() -> Agent:
    """Captures, and keeps seeds in one's own row."""
    from asobiba.baselines.bao.agents import one_move_agent

    return one_move_agent("hoard", gain=2, row=1)


def starve() -> Agent:
    """Captures, and leaves the opponent's row as empty as it can be."""
    from asobiba.baselines.bao.agents import one_move_agent

    return one_move_agent("starve", gain=2, theirs=-1)


def cautious() -> Agent:
    """Captures the most seeds less what the best reply captures."""
    from asobiba.baselines.bao.agents import one_move_agent

    return one_move_agent("cautious", gain=1, reply=-1)


def leftmost(from_right: bool = False) -> Agent:
    """The first legal hole from the left, or from the right."""
    import numpy as np

    from asobiba.baselines.bao.agents import leftmost_policy
    from asobiba.core import KernelAgent

    return KernelAgent(leftmost_policy, [("from_right", np.int64)], {"from_right": int(from_right)}, "leftmost")


def alpha_beta(
    depth: int | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    endgame: int = 10,
    table_size: int = 1 << 18,
) -> Agent:
    """The shared search with the endgame database; `depth=8` where no budget is given."""
    from asobiba.baselines.bao.agents import AlphaBetaAgent

    if depth is None and nodes is None and seconds is None:
        depth = 8
    return AlphaBetaAgent(endgame, depth=depth, nodes=nodes, seconds=seconds, table_size=table_size)


def alpha_beta_learned(
    depth: int | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    endgame: int = 10,
    table_size: int = 1 << 18,
) -> Agent:
    """The same search with the evaluation in `policies/alpha_beta_learned`, made by `asobiba bao learn`, on 8x2 boards."""
    from asobiba.baselines.bao.agents import AlphaBetaAgent

    if depth is None and nodes is None and seconds is None:
        depth = 8
    return AlphaBetaAgent(endgame, True, depth=depth, nodes=nodes, seconds=seconds, table_size=table_size)


def td(path: str = "") -> Agent:
    """The policy in `policies/td`, made by `asobiba bao learn-td`, on 8x2 boards.

    Args:
        path: another folder that the command has written.
    """
    from asobiba.baselines.bao import values
    from asobiba.baselines.search.afterstates import td_agent

    return td_agent(values, path)


def uct(simulations: int = 1000, exploration: float = 1.0) -> Agent:
    """Monte-Carlo tree search with random playouts."""
    from asobiba.baselines.search.uct import UctAgent

    return UctAgent(simulations=simulations, exploration=exploration)


def perfect() -> Agent:
    """Perfect play on boards of up to four holes in a row."""
    from asobiba.baselines.bao.agents import PerfectAgent

    return PerfectAgent()


def ppo() -> Agent:
    """The policy in `policies/`, trained by `asobiba train bao`. Needs the extra `sb3`."""
    from asobiba.learn.agent import PolicyAgent, load_policy

    return PolicyAgent(load_policy(_POLICIES / "policy.safetensors"), "ppo")


def gumbel_az(simulations: int = 64, time: float | None = None, endgame: int = 10, search: str = "puct") -> Agent:
    """The network in `policies/gumbel_az`, trained by `asobiba train bao --algo gumbel_az`, with its search; on the boards of
    4x2 and 6x2 those in the folders there.

    Args:
        simulations: of a move; 1: the network alone.
        time: milliseconds of a move instead, as many simulations as this machine does in them.
        endgame: seeds of the endgame database, as for `alpha_beta`; 0: without, so that the network judges every board.
        search: `puct`, or `gumbel`, by whose rules it learned: with many simulations these hardly try, below the root, the
            replies that the network thinks little of.
    """
    from asobiba.baselines.bao.guided import GuidedAgent

    files = [_POLICIES / "gumbel_az" / board / "policy.safetensors" for board in (".", "4x2", "6x2")]
    return GuidedAgent(endgame, policy=files, simulations=simulations, time=time, search=search, name="gumbel_az")


AGENTS = (
    AgentDeclaration("greedy", greedy, "captures the most seeds now"),
    AgentDeclaration("hoard", hoard, "captures, and keeps seeds in its row"),
    AgentDeclaration("starve", starve, "captures, and empties the opponent's row"),
    AgentDeclaration("cautious", cautious, "captures, less what the best reply captures"),
    AgentDeclaration("leftmost", leftmost, "the first legal hole from the left", deterministic=True),
    AgentDeclaration(
        "alpha_beta",
        alpha_beta,
        "alpha-beta, transposition table, iterative deepening, endgame database",
        "Donkers and Uiterwijk, Programming Bao, 2002 (alpha-beta for a sowing game with relays)",
        deterministic=True,
        portable="endgame=0",
    ),
    AgentDeclaration(
        "alpha_beta_learned",
        alpha_beta_learned,
        "alpha_beta whose evaluation is a small network that learned from its games: `asobiba bao learn`",
        "baselines/bao/policies/alpha_beta_learned",
        deterministic=True,
        league=False,
        kind="learned",
        portable="endgame=0",
    ),
    AgentDeclaration(
        "uct", uct, "UCT with random playouts", "Kocsis and Szepesvári, Bandit based Monte-Carlo planning, ECML 2006"
    ),
    AgentDeclaration(
        "perfect", perfect, "perfect play on 4x2 by retrograde analysis", deterministic=True, league=False, kind="exact"
    ),
    AgentDeclaration(
        "td",
        td,
        "the move whose position it values most, learned from its own games: `asobiba bao learn-td`",
        "Tesauro 1995 (TD-Gammon)",
        deterministic=True,
        league=False,
        kind="learned",
    ),
    AgentDeclaration(
        "ppo",
        ppo,
        "MaskablePPO, trained by `asobiba train bao`; needs the extra sb3",
        "baselines/bao/policies",
        league=False,
        kind="learned",
    ),
    AgentDeclaration(
        "gumbel_az",
        gumbel_az,
        "a search guided by a network that learned from it, endgame database; needs the extra sb3",
        "Danihelka et al. 2022; baselines/bao/policies/gumbel_az",
        deterministic=True,
        league=False,
        kind="learned",
        portable="endgame=0",
    ),
)

"""The agents of Gogo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from asobiba.core import Agent, AgentDeclaration

STRATEGIES = Path(__file__).parent / "strategies"
REFERENCES = ("prototype", "weak", "middle", "strong", "champion")
"""The reference strategies, weakest first: three levels in five classes."""
_COURSE = "Hanakawa and Tominaga: strategies as production rules (Table 1), reference strategies (Table 2)"


def _reference(name: str) -> Callable[[], Agent]:
    def make() -> Agent:
        from asobiba.baselines.gogo.rule_table import load_strategy, rule_agent

        return rule_agent(load_strategy(STRATEGIES / f"{name}.yaml"))

    return make


def strategy_file(path: str) -> Agent:
    """The agent of a strategy file: what `rules:FILE` names.

    Raises:
        GameParameterError: for a file that is not a strategy, naming the line and the reason.
    """
    from asobiba.baselines.gogo.rule_table import load_strategy, rule_agent

    return rule_agent(load_strategy(path))


_DESCRIPTIONS = {
    "prototype": "level 1: what decides the game at once, else beside other stones",
    "weak": "level 1: the paper's Table 1 of production rules",
    "middle": "level 2: open fours and threes of both sides",
    "strong": "level 3: rules whose values add up",
    "champion": "level 3: rules that count directions and captures",
}


QUIET = 60
"""The order of a move below which it is a late one: it makes less than an open four, and stops less."""


def alpha_beta(
    depth: int | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    solve: int = 60,
    solve_root: int = 4000,
    table_size: int = 1 << 18,
    late: int = 2,
    forced: bool = True,
    threads: int = 1,
    ponder: bool = False,
) -> Agent:
    """The shared search with threats at the leaves; 20,000 positions a move where no budget is given.

    `late=0,forced=False` is the search without late move reductions, and without moves that cost no depth. With `seconds`
    alone, `threads=2` searches in two threads that share the table, and `ponder=True` thinks in the opponent's time.
    """
    from asobiba.baselines.search.agent import SearchAgent

    if depth is None and nodes is None and seconds is None:
        nodes = 20_000
    return SearchAgent(
        "alpha_beta",
        depth=depth,
        nodes=nodes,
        seconds=seconds,
        solve=solve,
        solve_root=solve_root,
        table_size=table_size,
        late=late,
        quiet=QUIET,
        forced=forced,
        threads=threads,
        ponder=ponder,
    )


def alpha_beta_learned(
    depth: int | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    solve: int = 60,
    solve_root: int = 4000,
    table_size: int = 1 << 18,
    late: int = 2,
    forced: bool = True,
    threads: int = 1,
    ponder: bool = False,
) -> Agent:
    """The same search with the evaluation in `policies/alpha_beta_learned`, made by `asobiba gogo learn`."""
    from asobiba.baselines.gogo import learned_rules
    from asobiba.baselines.search.agent import SearchAgent

    if depth is None and nodes is None and seconds is None:
        nodes = 20_000
    return SearchAgent(
        "alpha_beta_learned",
        depth=depth,
        nodes=nodes,
        seconds=seconds,
        solve=solve,
        solve_root=solve_root,
        table_size=table_size,
        late=late,
        quiet=QUIET,
        forced=forced,
        threads=threads,
        ponder=ponder,
        search_module=learned_rules.__name__,
    )


def uct(simulations: int = 1000, exploration: float = 0.5) -> Agent:
    """Monte-Carlo tree search over the moves that the patterns name, in the tree and in the playouts."""
    from asobiba.baselines.gogo import uct_rules
    from asobiba.baselines.search.uct import UctAgent

    return UctAgent(simulations=simulations, exploration=exploration, search_module=uct_rules.__name__)


def uct_learned(simulations: int = 1000, exploration: float = 0.2, weight: int = 1) -> Agent:
    """UCT guided by the network of `alpha_beta_learned`: its value of a new child counts as `weight` visits, and leaves get
    its value in place of a playout."""
    import numpy as np

    from asobiba.baselines.gogo import uct_learned_rules
    from asobiba.baselines.search.uct import UctAgent

    return UctAgent(
        simulations,
        "uct_learned",
        exploration=exploration,
        playout=True,
        knowledge=np.zeros((1, 1), np.float32),
        settings={"weight": weight},
        transpositions=True,
        search_module=uct_learned_rules.__name__,
    )


def ppo() -> Agent:
    """The policy in `policies/`, trained by `asobiba train gogo`. Needs the extra `sb3`."""
    from asobiba.learn.agent import PolicyAgent, load_policy

    return PolicyAgent(load_policy(Path(__file__).parent / "policies" / "policy.safetensors"), "ppo")


AGENTS = (
    *(AgentDeclaration(name, _reference(name), _DESCRIPTIONS[name], _COURSE) for name in REFERENCES),
    AgentDeclaration(
        "alpha_beta",
        alpha_beta,
        "alpha-beta with patterns kept up by every move, and threat-space search that knows captures",
        "Allis, van den Herik and Huntjens, Go-Moku solved by new search techniques, 1993",
        deterministic=True,
    ),
    AgentDeclaration(
        "alpha_beta_learned",
        alpha_beta_learned,
        "alpha_beta whose evaluation is a small network that learned from its games: `asobiba gogo learn`",
        "baselines/gogo/policies/alpha_beta_learned",
        deterministic=True,
        league=False,
        kind="learned",
    ),
    AgentDeclaration(
        "uct",
        uct,
        "UCT whose tree and playouts take the moves that patterns name",
        "Kocsis and Szepesvári, Bandit based Monte-Carlo planning, ECML 2006",
    ),
    AgentDeclaration(
        "uct_learned",
        uct_learned,
        "UCT with the network of alpha_beta_learned as prior of new moves and as value of leaves",
        "baselines/gogo/policies/alpha_beta_learned",
        league=False,
        kind="learned",
    ),
    AgentDeclaration(
        "ppo",
        ppo,
        "imitation of a small search, then MaskablePPO: `asobiba train gogo`; needs the extra sb3",
        "baselines/gogo/policies",
        league=False,
        kind="learned",
    ),
)

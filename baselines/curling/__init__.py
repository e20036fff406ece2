"""Players of digital curling: those of the UEC Cup and GAT papers, and two that came later."""

from __future__ import annotations

from asobiba.baselines.curling.imitation import Imitation, prior_of
from asobiba.baselines.curling.jiritsu import Jiritsu, JiritsuLearned
from asobiba.baselines.curling.learned import ppo, ppo_continuous
from asobiba.baselines.curling.player import Clock
from asobiba.baselines.curling.regression import KernelRegression
from asobiba.baselines.curling.searchers import Ayumu, EndPlan, Gccs, Through
from asobiba.baselines.curling.simple import rule_based, rule_based_discrete, tee_draw, tee_draw_discrete
from asobiba.core import AgentDeclaration

_GAT = "GAT 2016 (Game AI Tournaments)"


def ayumu(simulations: int = 1000, seconds: float = 0.0, clock: bool = False, threads: int = 1) -> Ayumu:
    """Thinks by `simulations` a shot, by `seconds` a shot, or (`clock`) by the game's time; on so many `threads`."""
    return Ayumu(Clock(simulations, seconds, clock), threads)


def gccs(simulations: int = 1000, seconds: float = 0.0, clock: bool = False, threads: int = 1) -> Gccs:
    """The budget is that of the shots beyond the book."""
    return Gccs(Clock(simulations, seconds, clock), threads)


def end_plan(
    shots: int = 8,
    system: int = 2,
    simulations: int = 1000,
    seconds: float = 0.0,
    clock: bool = False,
    threads: int = 1,
) -> EndPlan:
    """Candidates are narrowed in the first `shots` shots of an end, by the plans of the paper's `system` 1 or 2."""
    return EndPlan(Clock(simulations, seconds, clock), shots, system, threads)


def through(simulations: int = 1000, seconds: float = 0.0, clock: bool = False, threads: int = 1) -> Through:
    """Without an opening: both first stones go through the sheet."""
    return Through(Clock(simulations, seconds, clock), threads)


def kr_uct(
    simulations: int = 1000, seconds: float = 0.0, clock: bool = False, exploration: float = 0.1, widening: float = 0.1
) -> KernelRegression:
    """Kernel regression UCT."""
    return KernelRegression(Clock(simulations, seconds, clock), exploration, widening)


def kr_uct_prior(
    simulations: int = 1000, seconds: float = 0.0, clock: bool = False, exploration: float = 0.1, widening: float = 0.1
) -> KernelRegression:
    """Kernel regression UCT whose shots are drawn from the mixture network of `dis`."""
    return KernelRegression(Clock(simulations, seconds, clock), exploration, widening, prior_of())


def jiritsu(grid: int = 3, stride: int = 4) -> Jiritsu:
    """Shots on every `grid`-th point, the replies to each of them on every `stride`-th; 1 and 1 are the paper's: minutes a
    shot."""
    return Jiritsu(2, grid, stride)


def jiritsu_depth1(grid: int = 1) -> Jiritsu:
    """Shots on every `grid`-th point, without replies."""
    return Jiritsu(1, grid)


def jiritsu_learned(depth: int = 1, grid: int = 1, stride: int = 4) -> JiritsuLearned:
    """`jiritsu` with a learned evaluation. Shots on every `grid`-th point; with `depth=2` the replies to each of them on
    every `stride`-th, which takes as long as `jiritsu` with the same strides."""
    return JiritsuLearned(depth, grid, stride)


def dis(path: str = "") -> Imitation:
    """The published network; `path`: another file of its kind."""
    return Imitation("mean", path)


def dis_mixture(path: str = "") -> Imitation:
    """The network with a mixture of deliveries as its output."""
    return Imitation("mixture", path)


PLAYERS = (
    AgentDeclaration(
        "ayumu", ayumu, "Monte-Carlo tree search, positions told apart by visits", "K. Ohto, Ayumu; GPW 2016"
    ),
    AgentDeclaration("gccs", gccs, "end plan, opening book, then ayumu", f"{_GAT}: Mori, Ito"),
    AgentDeclaration(
        "end_plan", end_plan, "ayumu on the shots that serve an end plan", f"{_GAT}: narrowing by strategy"
    ),
    AgentDeclaration(
        "through", through, "two stones through the sheet, then ayumu", f"{_GAT}: Mori, Ito", league=False
    ),
    AgentDeclaration("kr_uct", kr_uct, "kernel regression UCT", "Yee et al. 2016; Lee et al. 2018"),
    AgentDeclaration(
        "kr_uct_prior",
        kr_uct_prior,
        "kernel regression UCT on shots of a learned prior",
        "Lee et al. 2018",
        league=False,
        kind="learned",
    ),
    AgentDeclaration(
        "jiritsu",
        jiritsu,
        "expectimax over targets, with replies",
        f"{_GAT}: Kato, Iizuka, Yamamoto",
        deterministic=True,
    ),
    AgentDeclaration(
        "jiritsu_depth1",
        jiritsu_depth1,
        "expectimax over 3328 targets, without replies",
        f"{_GAT}: Kato, Iizuka, Yamamoto",
        deterministic=True,
    ),
    AgentDeclaration(
        "jiritsu_learned",
        jiritsu_learned,
        "expectimax over 3328 targets, learned evaluation: `asobiba curling learn`",
        f"search: {_GAT}: Kato, Iizuka, Yamamoto",
        deterministic=True,
        league=False,
        kind="learned",
    ),
    AgentDeclaration(
        "dis", dis, "Deep Imitation System", f"{_GAT}: DIS", deterministic=True, league=False, kind="learned"
    ),
    AgentDeclaration(
        "dis_mixture",
        dis_mixture,
        "imitation by a mixture of deliveries",
        deterministic=True,
        league=False,
        kind="learned",
    ),
)
_PPO = "taught by jiritsu_learned, then MaskablePPO: `asobiba train curling_discrete`; needs the extra sb3"
_POLICIES = "baselines/curling/policies"
_TEE_DRAW = "draws to the tee, whatever lies there"
_RULES, _SAMPLE = "draw, hit or guard by who lies nearest", "sample player of Digital Curling 3"
CONTINUOUS = (
    AgentDeclaration("tee_draw", tee_draw, _TEE_DRAW, deterministic=True),
    AgentDeclaration("rule_based", rule_based, _RULES, _SAMPLE),
    *PLAYERS,
    AgentDeclaration("ppo", ppo_continuous, _PPO, _POLICIES, league=False, kind="learned"),
)
DISCRETE = (
    AgentDeclaration("tee_draw", tee_draw_discrete, _TEE_DRAW, deterministic=True),
    AgentDeclaration("rule_based", rule_based_discrete, _RULES, _SAMPLE),
    *PLAYERS,
    AgentDeclaration("ppo", ppo, _PPO, _POLICIES, league=False, kind="learned"),
)
AGENTS = {"curling": CONTINUOUS, "curling_discrete": DISCRETE, "curling_end": CONTINUOUS}

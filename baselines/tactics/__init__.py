"""The agents of turn-based tactics: the published programs, their corrected versions, and stronger ones."""

from __future__ import annotations

from asobiba.baselines.tactics.learned import InWords
from asobiba.core import Agent, AgentDeclaration

_PAPER = "Muto and Nishino, GAT 2016 (in Japanese)"
_M_UCT = _PAPER + "; program AI_M_UCT.cs, in TaylorNeller/TUBSTAP_Taylor"
_F_UCT = _PAPER + "; program mu-to/TUBSTAP"
_TUBSTAP = "TUBSTAP's sample programs"
_PPO = "Schulman et al. 2017; Huang and Ontañón 2022 (masking); asobiba train tactics_steps"


def attack_first() -> Agent:
    """A random attack if there is any, otherwise a random move."""
    from asobiba.baselines.tactics import simple

    return simple.simple_agent(simple.attack_first_policy, "attack_first", words=False)


def max_act_eval() -> Agent:
    """The best attack by a formula, otherwise the best ground."""
    from asobiba.baselines.tactics import simple

    return simple.simple_agent(simple.max_act_policy, "max_act_eval", words=False)


def attack_first_in_words() -> Agent:
    """`attack_first` in words."""
    from asobiba.baselines.tactics import simple

    return simple.simple_agent(simple.attack_first_words, "attack_first", words=True)


def max_act_eval_in_words() -> Agent:
    """`max_act_eval` in words."""
    from asobiba.baselines.tactics import simple

    return simple.simple_agent(simple.max_act_words, "max_act_eval", words=True)


def alpha_beta(
    depth: int | None = None, nodes: int | None = None, seconds: float | None = None, table_size: int = 1 << 16
) -> Agent:
    """The shared search over unit actions; `depth=3` where no budget is given."""
    from asobiba.baselines.search.agent import SearchAgent

    if depth is None and nodes is None and seconds is None:
        depth = 3
    return SearchAgent("alpha_beta", depth=depth, nodes=nodes, seconds=seconds, table_size=table_size)


def m_uct(
    simulations: int = 1000,
    published: bool = True,
    variant: str = "plain",
    attack_share: float = 0.8,
    exploration: float = 0.3,
) -> Agent:
    """M-UCT, as published or corrected (`published=False`); variants: plain, widening, reuse, transpositions."""
    from asobiba.baselines.tactics.agents import m_uct as make

    return make(simulations, published, variant, attack_share, exploration)


def f_uct(
    simulations: int = 1000,
    published: bool = True,
    variant: str = "plain",
    attack_share: float = 0.8,
    exploration: float = 0.3,
    weight: float = 10.0,
    neighbours: int = 10,
    labels: str | None = None,
) -> Agent:
    """F-UCT, as published or corrected; `labels` is a folder of fuzzy sets, the shipped ones by default."""
    from asobiba.baselines.tactics.agents import f_uct as make

    return make(simulations, published, variant, attack_share, exploration, weight, neighbours, labels)


def uct_plus(
    simulations: int = 1000,
    exploration: float = 0.5,
    attack_share: float = 1.0,
    choosy: float = 0.0,
    expand_after: int = 4,
    weight: float = 2.0,
    bargain: float = 0.02,
    caution: float = 0.5,
    mean: float = 0.2,
    neighbours: int = 10,
    widening: float = 0.0,
    transpositions: bool = True,
    reuse: bool = True,
) -> Agent:
    """The strongest search; `asobiba reproduce tactics` shows what each of its settings is worth."""
    from asobiba.baselines.tactics.agents import uct_plus as make

    return make(
        simulations=simulations,
        exploration=exploration,
        attack_share=attack_share,
        choosy=choosy,
        expand_after=expand_after,
        weight=weight,
        bargain=bargain,
        caution=caution,
        mean=mean,
        neighbours=neighbours,
        widening=widening,
        transpositions=transpositions,
        reuse=reuse,
    )


def uct_learned(
    simulations: int = 2000,
    exploration: float = 0.4,
    expand_after: int = 4,
    weight: float = 1.0,
    bargain: float = 0.02,
    caution: float = 0.5,
    mean: float = 0.2,
    turns: int = 2,
    reuse: bool = True,
) -> Agent:
    """`uct_plus` with short playouts and the evaluation in `policies/uct_learned`, made by `asobiba tactics learn`."""
    from asobiba.baselines.tactics.agents import uct_learned as make

    return make(
        simulations=simulations,
        exploration=exploration,
        expand_after=expand_after,
        weight=weight,
        bargain=bargain,
        caution=caution,
        mean=mean,
        turns=turns,
        reuse=reuse,
    )


def uct_learned_in_words(simulations: int = 2000) -> Agent:
    """`uct_learned` in words, without the tree of the last move."""
    from asobiba.baselines.search.uct import UctAgent
    from asobiba.baselines.tactics.words import SearchInWords

    player = uct_learned(simulations, reuse=False)
    assert isinstance(player, UctAgent)
    return SearchInWords(player)


def rhea(evaluations: int = 1000, population: int = 24, mutation: float = 0.15) -> Agent:
    """Rolling-horizon evolution of the turn."""
    from asobiba.baselines.tactics.evolution import EvolutionAgent

    return EvolutionAgent(evaluations, population, mutation)


def td(path: str = "") -> Agent:
    """The policy in `policies/td`, made by `asobiba tactics learn-td`.

    Args:
        path: another folder that the command has written.
    """
    from asobiba.baselines.search.afterstates import td_agent
    from asobiba.baselines.tactics import values

    return td_agent(values, path)


def ppo_in_words() -> Agent:
    """The policy in `policies/`, trained by `asobiba train tactics_steps`. Needs the extra `sb3`."""
    from pathlib import Path

    from asobiba.learn.agent import PolicyAgent, load_policy

    return PolicyAgent(load_policy(Path(__file__).parent / "policies" / "policy.safetensors"), "ppo")


def ppo() -> Agent:
    """`ppo_in_words` in the flat game. Boards of 8 only."""
    return InWords(ppo_in_words())


def _corrected(make):
    def corrected(simulations: int = 1000, variant: str = "plain") -> Agent:
        return make(simulations=simulations, published=False, variant=variant)

    return corrected


AGENTS = {
    "tactics": (
        AgentDeclaration("attack_first", attack_first, "a random attack if there is any, else a random move", _TUBSTAP),
        AgentDeclaration("max_act_eval", max_act_eval, "the best attack by a formula, else good ground", _TUBSTAP),
        AgentDeclaration(
            "alpha_beta",
            alpha_beta,
            "alpha-beta over unit actions, by material",
            "Knuth and Moore 1975",
            deterministic=True,
        ),
        AgentDeclaration("m_uct", m_uct, "M-UCT as published: the enemy is taken for a friend", _M_UCT),
        AgentDeclaration("m_uct_corrected", _corrected(m_uct), "M-UCT whose enemy is an enemy", _M_UCT),
        AgentDeclaration("f_uct", f_uct, "M-UCT with fuzzy priors, as published", _F_UCT),
        AgentDeclaration("f_uct_corrected", _corrected(f_uct), "M-UCT with fuzzy priors, corrected", _F_UCT),
        AgentDeclaration(
            "uct_plus",
            uct_plus,
            "the right sign, attack-first playouts, priors, transpositions, reuse",
            "Okuda, Ikeda and Hashimoto 2022 (attack-first playouts); " + _PAPER,
            portable="reuse=false",
        ),
        AgentDeclaration(
            "rhea",
            rhea,
            "rolling-horizon evolution of the turn",
            "Justesen, Mahlmann and Togelius, EvoApplications 2016",
        ),
        AgentDeclaration(
            "uct_learned",
            uct_learned,
            "uct_plus with short playouts and a small network that learned from its games: `asobiba tactics learn`",
            "baselines/tactics/policies/uct_learned",
            kind="learned",
            portable="reuse=false",
        ),
        AgentDeclaration(
            "td",
            td,
            "the action whose position it values most, learned from its own games: `asobiba tactics learn-td`",
            "Tesauro 1995 (TD-Gammon)",
            deterministic=True,
            kind="learned",
        ),
        AgentDeclaration("ppo", ppo, "the trained policy of tactics_steps", _PPO, deterministic=True, kind="learned"),
    ),
    "tactics_steps": (
        AgentDeclaration(
            "attack_first", attack_first_in_words, "a random attack if there is any, else a random move", _TUBSTAP
        ),
        AgentDeclaration(
            "max_act_eval", max_act_eval_in_words, "the best attack by a formula, else good ground", _TUBSTAP
        ),
        AgentDeclaration(
            "uct_learned",
            uct_learned_in_words,
            "uct_learned of the flat game, word by word",
            "baselines/tactics/policies/uct_learned",
            league=False,
            kind="learned",
        ),
        AgentDeclaration("ppo", ppo_in_words, "the trained policy", _PPO, deterministic=True, kind="learned"),
    ),
}
LEARNED = {"tactics": InWords}
"""Policies are trained in `tactics_steps`."""

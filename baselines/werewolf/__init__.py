"""The agents of werewolf: the platform's samples, Kanda and Ito's basic play, and others of the same proceedings.

`asobiba reproduce werewolf` replays the published table of theories, `asobiba roles werewolf` rates a league by role, `asobiba
fit werewolf` counts the tables of the multi-perspective agent; `asobiba serve werewolf` and `asobiba join werewolf` connect
these agents with AIWolf clients and servers.
"""

from __future__ import annotations

from asobiba.baselines.werewolf.basic_play import OPEN_POINTS, THEORIES, VILLAGE_THEORIES, basic_agent
from asobiba.baselines.werewolf.kanolab import kanolab_agent
from asobiba.baselines.werewolf.perspective import PerspectiveAgent
from asobiba.baselines.werewolf.samples import sample_agent
from asobiba.core import Agent, AgentDeclaration, GameParameterError, KernelAgent

_KANDA = "Kanda and Ito, GAT 2016"


def basic(theory: str = "basic", village: str = "") -> KernelAgent:
    """The basic play; `theory` is the play of the werewolves' side, `village` a theory of the villagers' side."""
    if theory not in THEORIES:
        raise GameParameterError(f"theory is {theory!r}; expected one of: {', '.join(THEORIES)}")
    if village and village not in VILLAGE_THEORIES:
        raise GameParameterError(f"village is {village!r}; expected one of: {', '.join(VILLAGE_THEORIES)}")
    choices = {village: 1 - VILLAGE_THEORIES[village][0]} if village else {}
    return basic_agent(theory, **choices)


def ppo(deterministic: bool = False) -> Agent:
    """The policy in `policies/`, trained by `asobiba train werewolf` in the village of five: it plays with
    `players=5, seats=5, rules="0.6"` only. It draws from its distribution: always taking the likeliest action
    (`deterministic`) reveals the role, and actions of lower probability are never taken. Needs the extra `sb3`."""
    from pathlib import Path

    from asobiba.learn.agent import PolicyAgent, load_policy

    return PolicyAgent(load_policy(Path(__file__).parent / "policies" / "policy.safetensors"), "ppo", deterministic)


AGENTS = (
    AgentDeclaration("sample", sample_agent, "the platform's sample agents of 2016", "AIWolf project, client of 2016"),
    AgentDeclaration("basic", basic, "public suspicion, with theories A to E and others", _KANDA),
    AgentDeclaration("kanolab", kanolab_agent, "weighted rules and pair rules", "Minowa and Kano, GAT 2016"),
    AgentDeclaration(
        "perspective",
        PerspectiveAgent,
        "psychology tables of what everybody thinks of everybody",
        "Nakamura et al., GAT 2016 and IEEE SSCI 2016",
        league=False,  # milliseconds a decision
    ),
    AgentDeclaration(
        "ppo",
        ppo,
        "MaskablePPO, trained by `asobiba train werewolf` for the village of five; needs the extra sb3",
        "baselines/werewolf/policies",
        league=False,
        kind="learned",
        portable="deterministic=true",
    ),
)

__all__ = ["AGENTS", "OPEN_POINTS"]

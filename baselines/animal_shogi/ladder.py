"""The agents of one move's look-ahead: the first legal move, and the best position after one move by some terms."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.animal_shogi.search_rules import GROUPS, WEIGHTS, evaluate
from asobiba.core import GameParameterError, KernelAgent, kernel, random_below
from asobiba.envs.animal_shogi.board import destination, flip, moved
from asobiba.envs.animal_shogi.rules import decided

_WIN = 1 << 20


@kernel
def first_legal_policy(view, p, legal, memory):
    """The legal action of the lowest number."""
    for action in range(legal.shape[0]):
        if legal[action] != 0:
            return action
    return -1


@kernel
def one_ply_policy(view, p, legal, memory):
    """The action after which the weighted terms are best; a draw among equals."""
    best = -2 * _WIN
    chosen = -1
    equals = 0
    for action in range(legal.shape[0]):
        if legal[action] != 0:
            after = moved(view.position, action)
            _, sign = decided(view.position, after, destination(action), p.try_at_once != 0)
            memory.position = flip(after)
            value = sign * _WIN if sign != 0 else -evaluate(memory, p, memory)
            if value > best:
                best = value
                chosen = action
                equals = 1
            elif value == best:
                equals += 1
                if random_below(memory, equals) == 0:
                    chosen = action
    return chosen


def first_legal() -> KernelAgent:
    """Plays the first legal move."""
    return KernelAgent(first_legal_policy, name="first_legal")


def one_ply(terms: str = "all") -> KernelAgent:
    """Plays the move after which the evaluation is best.

    Args:
        terms: "all", or names of term groups joined with "+": material, attacks, check, try, lion_rank, relations.

    Raises:
        GameParameterError: for a group that does not exist.
    """
    groups = list(GROUPS) if terms == "all" else terms.split("+")
    for group in groups:
        if group not in GROUPS:
            raise GameParameterError(
                f"terms are all, or of {', '.join(GROUPS)} joined with +; got {group!r} in {terms!r}"
            )
    used = {term for group in groups for term in GROUPS[group]}
    initial = {term: weight if term in used else 0 for term, weight in WEIGHTS.items()}
    fields = [("position", np.int64), *((term, np.int32) for term in WEIGHTS)]
    return KernelAgent(one_ply_policy, fields, initial, name="one_ply")

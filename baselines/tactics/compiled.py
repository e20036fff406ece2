"""Policies that were trained in words as compiled functions of the flat game, for targets without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from asobiba.baselines.tactics.learned import InWords
from asobiba.core import Agent, Ruleset, kernel
from asobiba.core.agents import Thinking
from asobiba.envs.tactics import steps
from asobiba.envs.tactics.battle import attack_action, end_action, move_action, unit_at
from asobiba.envs.tactics.orders import other_game
from asobiba.learn.agent import PolicyAgent
from asobiba.learn.formulas import choosing, working_arrays


@kernel
def begin_words(view, s):
    """The position of the flat game in words, before a unit is chosen."""
    s.to_move, s.board, s.turns = view.to_move, view.board, view.turns
    s.phase, s.unit, s.goal = 0, 0, 0
    for k in range(view.moved.shape[0]):
        s.moved[k] = view.moved[k]
        for side in range(2):
            s.hp[side, k], s.cell[side, k], s.kind[side, k] = view.hp[side, k], view.cell[side, k], view.kind[side, k]


@kernel
def completed(s, p, word):
    """The flat game's action that a word completes, or -1."""
    cells, side, unit = p.stars.shape[1], np.int64(s.to_move), np.int64(s.unit)
    found = np.int64(-1)
    if word > cells:
        found = end_action(s, p) + word - cells - 1
    elif s.phase == steps.GOAL and not steps.any_target(s, p, side, unit, word):
        found = move_action(p, unit, word)
    elif s.phase == steps.TARGET and word == cells:
        found = move_action(p, unit, np.int64(s.goal))
    elif s.phase == steps.TARGET:
        found = attack_action(s, p, side, unit, np.int64(s.goal), unit_at(s, 1 - side, word))
    return found


def _playing(choose: Any) -> Callable[..., None]:
    def play(
        views, params, masks, words, inner, legal,
        operations, tables, constants, numbers, row, apart, columns, seen, actions,
    ):  # fmt: skip
        s, p = words[0], inner[0]
        begin_words(views[0], s)
        action = np.int64(-1)
        while action < 0:
            steps.legal(s, p, legal)
            word = choose(
                s, p, legal,
                operations=operations, tables=tables, constants=constants, numbers=numbers, row=row, apart=apart,
                columns=columns, seen=seen,
            )  # fmt: skip
            action = completed(s, p, word)
            if action < 0:
                steps.step(s, p, word)
        actions[0] = action

    return play


def in_words(agent: InWords, ruleset: Ruleset) -> Thinking | None:
    """An `InWords` of a trained policy."""
    inner = other_game(ruleset)
    found = agent.player.as_formulas(inner) if isinstance(agent.player, PolicyAgent) else None
    if found is None:
        return None
    formulas, columns = found
    arrays = {
        "words": inner.zeros(),
        "inner": inner.params,
        "legal": np.zeros(inner.num_actions, np.int8),
        **working_arrays(inner, formulas, columns),
    }
    return Thinking(_playing(choosing(steps.observe, formulas.policy, formulas.actions)), arrays)


COMPILED: dict[type[Agent], Callable[[Any, Ruleset], Thinking | None]] = {InWords: in_words}

"""The trained policy in the continuous game and `jiritsu_learned` as compiled functions, for targets without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from asobiba.baselines.curling.evaluation import SCORES, Net, NetScratch
from asobiba.baselines.curling.jiritsu import (
    Grids,
    JiritsuLearned,
    Judge,
    Scratch,
    best_cell,
    cell_count,
    target_of,
)
from asobiba.baselines.curling.learned import Translated
from asobiba.baselines.curling.player import to_action, write_end_values
from asobiba.baselines.curling.simple import nearest_shot, write_action
from asobiba.core import Agent, Ruleset, kernel
from asobiba.core.agents import Thinking
from asobiba.envs.curling.shots import draw_shot
from asobiba.learn.agent import PolicyAgent
from asobiba.learn.formulas import choosing, working_arrays


def _playing(choose: Any) -> Callable[..., None]:
    def play(
        views, params, masks, inner, every, shots,
        operations, tables, constants, numbers, row, apart, columns, seen, actions,
    ):  # fmt: skip
        number = choose(
            views[0], inner[0], every,
            operations=operations, tables=tables, constants=constants, numbers=numbers, row=row, apart=apart,
            columns=columns, seen=seen,
        )  # fmt: skip
        for k in range(actions.shape[1]):
            actions[0, k] = shots[number, k]

    return play


def translated(agent: Translated, ruleset: Ruleset) -> Thinking | None:
    """A `Translated`: all its shots are prepared as actions."""
    if not isinstance(agent.agent, PolicyAgent):
        return None
    agent.reset(ruleset, 0, 0)
    found = agent.agent.as_formulas(agent.inner)
    if found is None:
        return None
    formulas, columns = found
    arrays = {
        "inner": agent.inner.params,
        "every": np.ones(len(agent.shots), np.int8),
        "shots": np.array([to_action(ruleset, *shot) for shot in agent.shots], ruleset.action_dtype),
        **working_arrays(agent.inner, formulas, columns),
    }
    choose = choosing(agent.inner.game.rules.observe, formulas.policy, formulas.actions)
    return Thinking(_playing(choose), arrays)


def _expectimax(decide: Any) -> Callable[..., None]:
    def play(
        views, params, masks, table, weights, front, back, layers, network, deviations, settings,
        board, here, before, before_in, after, after_in, worths, chance, trace,
        numbers, active, order, distance, scores, told, values, raw, mean, actions,
    ):  # fmt: skip
        s, p = views[0], params[0]
        write_end_values(s, p, table, values)
        net = NetScratch(numbers, active, order, distance)
        scratch = Scratch(
            board=board, here=here, before=before, before_in=before_in, after=after, after_in=after_in, worths=worths,
            chance=chance, trace=trace, net=net, scores=scores, told=told,
        )  # fmt: skip
        judge = Judge(values, weights, front, back, Net(layers, network))
        grids = Grids(deviations, settings[0], settings[1], settings[2])
        cell, _ = best_cell(p, s.stones, s.in_play, np.int64(s.shot), judge, grids, scratch, raw, mean)
        x, y, spin = target_of(p, cell, grids.shots)
        vx, vy = draw_shot(p.model, p.release, x, y, spin)
        decide(p, vx, vy, spin, actions)

    return play


@kernel
def _continuous(p, vx, vy, spin, actions):
    write_action(p, vx, vy, spin, actions[0])


@kernel
def _discrete(p, vx, vy, spin, actions):
    actions[0] = nearest_shot(p, vx, vy, spin)


def expectimax(agent: JiritsuLearned, ruleset: Ruleset) -> Thinking:
    """A `JiritsuLearned`. (With `Jiritsu`, too, a page of curling would be larger than 1 MB.)"""
    agent.reset(ruleset, 0, 0)
    scratch, cells = agent.scratch, cell_count(agent.grid)
    arrays = {
        "table": agent.worths_table(),
        "weights": agent.weights,
        "front": agent.front,
        "back": agent.back,
        "layers": agent.net.layers,
        "network": agent.net.weights,
        "deviations": agent.deviations,
        "settings": np.array([agent.depth, agent.grid, agent.stride]),
        **{name: value for name, value in scratch._asdict().items() if name not in ("net", "scores", "told")},
        **scratch.net._asdict(),
        "scores": scratch.scores,
        "told": scratch.told,
        "values": np.zeros(SCORES),
        "raw": np.zeros(cells),
        "mean": np.zeros(cells),
    }
    return Thinking(_expectimax(_discrete if ruleset.discrete else _continuous), arrays)


COMPILED: dict[type[Agent], Callable[[Any, Ruleset], Thinking | None]] = {
    Translated: translated,
    JiritsuLearned: expectimax,
}

"""Search module of the game for the shared searches: positions, unit actions, an evaluation, playouts, priors.

The actions of a position are those of the published programs: every unit that has not moved goes anywhere (or stays) or
attacks, if it takes hit points; a turn is ended early by units that stay. `settings_record` documents the playouts.
"""

from __future__ import annotations

import numpy as np

from asobiba.baselines.search.fuzzy import membership
from asobiba.baselines.tactics.features import FEATURES, action_features, danger
from asobiba.baselines.tactics.playouts import (
    play_out,
    play_out_as_published,
    value_as_published,
    value_for,
    worth_hitting,
)
from asobiba.core import GameParameterError, kernel, mix64
from asobiba.core.record import record_dtype
from asobiba.envs.tactics import battle
from asobiba.envs.tactics.battle import (
    DRAW,
    RED_WINS,
    attack_action,
    decode,
    end_action,
    hit,
    move_action,
    occupied,
    reach,
    shot_number,
    total_hp,
    unit_at,
)
from asobiba.envs.tactics.layout import position_fields as _position_fields
from asobiba.envs.tactics.rules import choice, from_where, size_of
from asobiba.envs.tactics.units import DIRECTIONS, INDIRECT

WEIGHTS = {
    "fighter": 200, "attacker": 200, "panzer": 150, "cannon": 100, "antiair": 70, "infantry": 20, "hit_points": 60,
}  # fmt: skip
"""Of a hit point: the types' values as in M3Lee, and what every hit point adds, since they are counted at the end."""

_DX = np.array([dx for dx, _ in DIRECTIONS], np.int64)
_DY = np.array([dy for _, dy in DIRECTIONS], np.int64)
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
SETTINGS: list[tuple] = [
    ("attack_share", np.float64),
    ("choosy", np.float64),
    ("as_published", np.int64),
    ("neighbours", np.int64),
    ("weight", np.float64),
    ("prior_mean", np.float64),
    ("lowest", np.int64),
    ("rules_of_thumb", np.int64),
    ("bargain", np.float64),
    ("caution", np.float64),
    ("vector", np.float32, (FEATURES,)),  # where features are written
]
"""The fields of what `settings_record` gives."""


def settings_record(
    ruleset,
    attack_share: float = 0.8,
    choosy: float = 0.0,
    as_published: bool = False,
    neighbours: int = 1,
    weight: float = 10.0,
    mean: float = 1.0,
    lowest: int = 0,
    rules_of_thumb: bool = True,
    bargain: float = 0.0,
    caution: float = 0.5,
) -> np.ndarray:
    """Settings that `playout` and `prior` read.

    Args:
        attack_share: how often a playout attacks if it can; otherwise it plays any unit action.
        choosy: how often this attack is the best of a few by MaxActEval's formula instead of any (`draw_order`).
        as_published: a playout attacks where that takes nothing, too, takes a lead by the threshold for a win, and counts a
            turn too many where it begins within the enemy's turn or before the own side's next one.
        neighbours: `k` of the nearest samples whose memberships are interpolated, 1 to 16.
        weight: visits of a full member; fractions are cut off.
        mean: the mean result of these visits.
        lowest: least visits: 0 is as published, where memberships below a tenth are tried first.
        rules_of_thumb: as published, staying without an attack has membership 1, being killed by the counter 0.
        bargain: where it is above 0 fuzzy sets do not matter; all actions begin with `weight` visits, whose mean result
            is `mean` and `bargain` for each hit point that the action gains.
        caution: what a hit point counts there that the enemies could take from the unit in their next turn.

    Raises:
        GameParameterError: for numbers out of range.
    """
    for name, value, low, high in (
        ("attack_share", attack_share, 0, 1), ("choosy", choosy, 0, 1), ("neighbours", neighbours, 1, 16), ("weight", weight, 0, 1000),
        ("mean", mean, -1, 1), ("lowest", lowest, 0, 1000), ("bargain", bargain, 0, 1), ("caution", caution, 0, 10),
    ):  # fmt: skip
        if not low <= value <= high:
            raise GameParameterError(f"{name} is from {low} to {high}, not {value!r}")
    record = np.zeros(1, record_dtype(SETTINGS))
    record["attack_share"], record["choosy"], record["as_published"] = attack_share, choosy, as_published
    record["neighbours"] = neighbours
    record["weight"], record["prior_mean"], record["lowest"] = weight, mean, lowest
    record["rules_of_thumb"], record["bargain"], record["caution"] = rules_of_thumb, bargain, caution
    return record


def position_fields(ruleset):
    return _position_fields(int(ruleset.params["width"][0]))


def max_moves(ruleset):
    size, units = int(ruleset.params["width"][0]), ruleset.params["setup_moved"].shape[-1]
    return units * ((size - 2) ** 2 + 4 * units) + 1


def repetition(ruleset):
    return 0, 0


def game_keys(ruleset, state):
    return np.zeros(1, np.int64)


@kernel
def key_of(node):
    """A 64-bit hash of a position."""
    total = mix64(np.uint64(2 * np.int64(node.turns) + 65536 * np.int64(node.board) + np.int64(node.side)) + _GAMMA)
    for side in range(2):
        for k in range(node.hp.shape[1]):
            if node.hp[side, k] > 0:
                word = np.int64(node.cell[side, k]) | (np.int64(node.hp[side, k]) << 8) | ((2 * k + side) << 16)
                if side == node.side:
                    word |= np.int64(node.moved[k]) << 24
                total += mix64(np.uint64(word) * _GAMMA)
    return np.int64(total)


@kernel
def copy_position(s, node):
    """Copies the fields of a position."""
    node.board = s.board
    node.turns = s.turns
    for k in range(s.moved.shape[0]):
        node.moved[k] = s.moved[k]
        for side in range(2):
            node.hp[side, k] = s.hp[side, k]
            node.cell[side, k] = s.cell[side, k]
            node.kind[side, k] = s.kind[side, k]


@kernel
def load(s, p, node):
    copy_position(s, node)
    node.side = s.to_move
    node.key = key_of(node)


@kernel
def add_attack(node, p, side, unit, cell, target, count):
    """Writes an attack behind `count` moves: what it takes, less what it is worth, decides the order."""
    done = hit(node, p, side, unit, node.hp[side, unit], target)
    if done == 0:
        return count
    node.moves[count] = attack_action(node, p, side, unit, cell, target)
    kills = done == node.hp[1 - side, target]
    node.order[count] = 100 + 20 * done + (300 if kills else 0) + np.int64(p.stars[node.board, cell])
    return count + 1


@kernel
def generate(node, p):
    words, size, span = p.enter_1.shape[2], np.int64(p.width), np.int64(p.span)
    side = np.int64(node.side)
    own, enemy = occupied(node, p, side), occupied(node, p, 1 - side)
    count = 0
    for unit in range(node.moved.shape[0]):
        if node.moved[unit] != 0 or node.hp[side, unit] == 0:
            continue
        stops = reach(node, p, side, unit, own, enemy)
        if INDIRECT[node.kind[side, unit]] != 0:
            here = np.int64(node.cell[side, unit])
            for k in range(node.hp.shape[1]):
                if node.hp[1 - side, k] > 0 and shot_number(p, here, np.int64(node.cell[1 - side, k])) >= 0:
                    count = add_attack(node, p, side, unit, here, k, count)
        else:
            worth = worth_hitting(node, p, side, unit)
            for direction in range(4):
                places = from_where(stops, worth, direction, words, size, span)
                for rank in range(size_of(places)):
                    cell = choice(places, rank, span)
                    target = unit_at(node, 1 - side, cell + _DX[direction] + _DY[direction] * size)
                    count = add_attack(node, p, side, unit, cell, target, count)
        for rank in range(size_of(stops)):
            cell = choice(stops, rank, span)
            node.moves[count] = move_action(p, unit, cell)
            node.order[count] = 0
            count += 1
    if count == 0:
        node.moves[0] = end_action(node, p)
        node.order[0] = 0
        count = 1
    return count


@kernel
def play(node, child, p, move):
    copy_position(node, child)
    mover = np.int64(node.side)
    result, side = battle.play(child, p, mover, move)
    child.side = side
    child.key = key_of(child)
    if result == 0:
        return 0
    if result == DRAW:
        return 2
    return 1 if (result == RED_WINS) == (mover == 0) else -1


@kernel
def evaluate(node, p, w):
    side = np.int64(node.side)
    total = np.int64(0)
    for k in range(node.moved.shape[0]):
        for owner in range(2):
            kind = node.kind[owner, k]
            value = w.hit_points
            if kind == 0:
                value += w.fighter
            elif kind == 1:
                value += w.attacker
            elif kind == 2:
                value += w.panzer
            elif kind == 3:
                value += w.cannon
            elif kind == 4:
                value += w.antiair
            else:
                value += w.infantry
            total += np.int64(node.hp[owner, k]) * value * (1 if owner == side else -1)
    return total


@kernel
def playout(node, p, generator, settings, root_side):
    side = np.int64(node.side)
    if settings.as_published != 0:
        # The program's count of turns rises with the first action of a turn, and its playouts begin with the root's side.
        moved = 0
        for k in range(node.moved.shape[0]):
            moved += node.moved[k] != 0
        if (moved > 0) == (side != root_side):
            node.turns += 1
        if node.turns < p.limit[node.board]:
            play_out_as_published(node, p, side, generator, settings.attack_share)
        return value_as_published(node, p, side, root_side)
    return value_for(play_out(node, p, side, generator, settings.attack_share, settings.choosy), side)


@kernel
def gain(node, child, p, side, unit, target, caution):
    """Hit points that an action takes and loses, and with `caution` what the enemies could take from the unit next."""
    found = -caution * danger(child, p, side, unit) if child.hp[side, unit] > 0 else 0.0
    if target >= 0:
        found += total_hp(node, 1 - side) - total_hp(child, 1 - side) - (total_hp(node, side) - total_hp(child, side))
    return found


@kernel
def prior(node, child, p, move, settings, knowledge):
    """Visits by the membership of the action in the fuzzy set of good ones of its unit's type, or a mean by its bargain."""
    if move >= end_action(node, p):
        return 0, 0.0
    side = np.int64(node.side)
    unit, cell, target = decode(node, p, side, np.int64(move))
    if settings.bargain > 0:
        worth = settings.prior_mean + settings.bargain * gain(node, child, p, side, unit, target, settings.caution)
        return np.int64(settings.weight), min(0.9, max(-0.9, worth))
    if settings.rules_of_thumb != 0 and target < 0 and cell == node.cell[side, unit]:
        member = 1.0
    elif settings.rules_of_thumb != 0 and child.hp[side, unit] == 0:
        member = 0.0
    else:
        action_features(node, child, p, side, unit, target, settings.vector)
        member = membership(knowledge, node.kind[side, unit], settings.vector, settings.neighbours)
    return max(np.int64(settings.weight * member), settings.lowest), settings.prior_mean

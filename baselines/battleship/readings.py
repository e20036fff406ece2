"""Other readings of the placement strategies, and the paper's future work: models of the opponent learned over games."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asobiba.baselines.battleship.agents import make_mp
from asobiba.baselines.battleship.hunt import mark_undetermined, neighbourhood, settle
from asobiba.baselines.battleship.policy import play
from asobiba.core import Ruleset, compiled, kernel, random_below, seed_record
from asobiba.core.random import begin_memory
from asobiba.envs.battleship.parameters import parse_placement
from asobiba.envs.battleship.placement import (
    PLACE_PK,
    PLACE_R,
    TOUCHING_CORNERS,
    _outside,
    clash,
    draw_fleet,
    inside_band,
    random_placement,
)
from asobiba.envs.battleship.rules import legal, reset, step

_RECORD = np.dtype([("rng_key", np.uint64), ("rng_counter", np.uint64)])
ORDERS = {"whole fleet drawn again": 0, "ship drawn again, largest first": 1, "ship drawn again, smallest first": 2}
"""Readings of the drawing of a fleet: the part drawn again after a clash, and the order of the ships."""


@compiled()
def _draw_in_turn(records, params, strategy, apart, pack_x, pack_y, backwards, fleets):
    """Fleets ship by ship, where a ship that clashes with those before is drawn again; in the order of the sizes given, or
    backwards."""
    p, record = params[0], records[0]
    ships = fleets.shape[1]
    for n in range(fleets.shape[0]):
        done = False
        while not done:
            top, left, height, width = 0, 0, np.int64(p.height), np.int64(p.width)
            if strategy == PLACE_PK:
                height, width = np.int64(pack_x), np.int64(pack_y)
                if random_below(record, 2) == 1:
                    height, width = width, height
                top = random_below(record, p.height - height + 1)
                left = random_below(record, p.width - width + 1)
            done = True
            for turn in range(ships):
                j = ships - 1 - turn if backwards else turn
                size, alone = np.int64(p.sizes[j]), strategy == PLACE_PK and j == p.smallest
                placed = False
                for _ in range(300):
                    if alone:
                        place = random_placement(record, p, 0, 0, p.height, p.width, size)
                        good = _outside(p, place, size, top, left, height, width)
                    else:
                        place = random_placement(record, p, top, left, height, width, size)
                        good = strategy in (PLACE_R, PLACE_PK) or inside_band(p, place, size, strategy)
                    for before in range(turn):
                        i = ships - 1 - before if backwards else before
                        touching = np.int64(p.touching)
                        if apart and (strategy != PLACE_PK or alone or i == p.smallest):
                            touching = max(touching, np.int64(TOUCHING_CORNERS))
                        if good and clash(p, np.int64(fleets[n, i]), p.sizes[i], place, size, touching):
                            good = False
                    if good:
                        fleets[n, j] = place
                        placed = True
                        break
                if not placed:
                    done = False
                    break


@compiled()
def _draw_whole(records, params, strategy, apart, pack_x, pack_y, fleets):
    for n in range(fleets.shape[0]):
        draw_fleet(records[0], params[0], strategy, apart, pack_x, pack_y, fleets[n])


def draw_fleets(ruleset: Ruleset, placement: str, count: int, order: int, seed: int) -> np.ndarray:
    """`(count, ships)` placements by a strategy (such as `ed1sp`) in one of `ORDERS`."""
    settings = parse_placement(placement)
    records = np.zeros(1, _RECORD)
    records["rng_key"] = np.uint64(2 * seed + 1)
    fleets = np.zeros((count, len(ruleset.params["sizes"][0])), np.int64)
    numbers = (settings["placement"], bool(settings["apart"]), settings["pack_x"], settings["pack_y"])
    if order == 0:
        _draw_whole(records, ruleset.params, *numbers, fleets)
    else:
        _draw_in_turn(records, ruleset.params, *numbers, order == 2, fleets)
    return fleets


@kernel
def _learned_shot(s, p, side, legal, memory, heat):
    """The neighbourhood of open hits as the paper's attacks; else the undetermined cell where ships stood most often."""
    settled = memory.settled
    settle(s, p, side, settled)
    cell = neighbourhood(s, p, side, memory, settled)
    if cell >= 0:
        return cell
    mark_undetermined(s, p, side, settled, False, memory.undetermined)
    chosen, best = -1, -1.0
    for cell in range(p.cells):
        if memory.undetermined[cell] != 0 and heat[cell] > best:
            chosen, best = cell, heat[cell]
    for cell in range(p.cells):
        if chosen < 0 and legal[cell] != 0:
            chosen = cell
    return chosen


@compiled()
def _play(states, params, memories, heat, learner, seed, results, shot_at):
    """Games of planned fleets; `learner` (a side or -1) shoots by `heat`. A row of results: the winner, shots of both; `shot_at`
    `(n, 2, cells)`: when each side shot at each cell (0: never)."""
    p = params[0]
    for i in range(states.shape[0]):
        s = states[i]
        seed_record(s, seed + i)
        for seat in range(2):
            begin_memory(memories[2 * i + seat], seed + i, seat)
        reset(s, p)
        mask = np.zeros(2 * p.cells, np.int8)
        while s.terminated == 0:
            legal(s, p, mask)
            side = np.int64(s.to_move)
            memory = memories[2 * i + side]
            if side == learner and s.placed[side] == p.sizes.shape[0]:
                action = _learned_shot(s, p, side, mask, memory, heat)
            else:
                action = play(s, p, mask, memory)
            step(s, p, action)
        results[i, 0] = 0 if s.rewards[0] > 0 else 1
        for seat in range(2):
            results[i, 1 + seat] = s.shots[seat]
            for cell in range(p.cells):
                shot_at[i, seat, cell] = s.shot_number[seat, cell]


@dataclass
class Games:
    """Winners `(n,)` (0 or 1), shots `(n, 2)`, and when each side shot at each cell `(n, 2, cells)` (0: never)."""

    winners: np.ndarray
    shots: np.ndarray
    shot_at: np.ndarray


def play_fleets(
    ruleset: Ruleset,
    fleets: tuple[np.ndarray, np.ndarray],
    seed: int,
    heat: np.ndarray | None = None,
    learner: int = -1,
) -> Games:
    """Games between two fleets each, `(n, ships)`; both sides shoot as MP70, or `learner` by `heat`, a number a cell."""
    count = len(fleets[0])
    memories = np.concatenate([make_mp().initial_for(ruleset)] * 2)[np.arange(2 * count) % 2]
    for side in range(2):
        memories["planned"][side::2] = 1
        memories["plan"][side::2, : fleets[side].shape[1]] = fleets[side]
    cells = int(ruleset.params["cells"][0])
    results, shot_at = np.zeros((count, 3), np.int64), np.zeros((count, 2, cells), np.int16)
    chosen = np.zeros(cells) if heat is None else np.ascontiguousarray(heat, float)
    _play(ruleset.zeros(count), ruleset.params, memories, chosen, learner, np.uint64(seed), results, shot_at)
    return Games(results[:, 0], results[:, 1:], shot_at)


def duel(ruleset: Ruleset, one: tuple[str, int], other: tuple[str, int], games: int, seed: int) -> tuple[float, int]:
    """Wins of the first of two placements (name and order) under MP70, half of the games from each seat, and games."""
    half = games // 2
    mine = draw_fleets(ruleset, *one[:1], 2 * half, one[1], 2 * seed)
    theirs = draw_fleets(ruleset, *other[:1], 2 * half, other[1], 2 * seed + 1)
    first = play_fleets(ruleset, (mine[:half], theirs[:half]), seed << 20)
    second = play_fleets(ruleset, (theirs[half:], mine[half:]), (seed << 20) + half)
    return float((first.winners == 0).sum() + (second.winners == 1).sum()), 2 * half


def covered(ruleset: Ruleset, fleets: np.ndarray) -> np.ndarray:
    """The cells that each fleet covers: `(n, cells)` of 0 and 1."""
    p = ruleset.params[0]
    cells, width, sizes = int(p["cells"]), int(p["width"]), p["sizes"]
    found = np.zeros((len(fleets), cells), np.int8)
    rows = np.arange(len(fleets))
    for ship, size in enumerate(sizes.tolist()):
        place = fleets[:, ship]
        for k in range(size):
            found[rows, place % cells + k * np.where(place >= cells, width, 1)] = 1
    return found


def learning_attack(ruleset: Ruleset, placement: str, games: int, rounds: int, seed: int) -> list[float]:
    """Wins of the first player, round by round, of an attack that counts where an opponent's ships stood in earlier games (all
    are known at a game's end), against MP70 with this placement; its own fleets are random."""
    cells = int(ruleset.params["cells"][0])
    heat, found = np.zeros(cells), []
    generator = np.random.default_rng(seed)
    for number in range(rounds):
        theirs = draw_fleets(ruleset, placement, games, 0, seed + 100 + number)
        mine = draw_fleets(ruleset, "r", games, 0, seed + 900 + number)
        played = play_fleets(ruleset, (mine, theirs), (seed + number) << 20, heat + generator.random(cells) * 1e-6, 0)
        found.append(float((played.winners == 0).mean()))
        heat += covered(ruleset, theirs).sum(0)
    return found


def learning_placement(ruleset: Ruleset, games: int, rounds: int, tried: int, seed: int) -> list[tuple[float, float]]:
    """Against MP70: in each round, wins of a placement that takes of `tried` random fleets the one whose cells the opponent has
    shot at latest in earlier games, and the mean number of the shot that hits a cell of it."""
    cells = int(ruleset.params["cells"][0])
    when, seen, found = np.zeros(cells), np.zeros(cells), []
    for number in range(rounds):
        offered = draw_fleets(ruleset, "r", games * tried, 0, seed + 100 + number)
        late = np.divide(when, seen, out=np.zeros(cells), where=seen > 0)
        score = (covered(ruleset, offered) * late).sum(1).reshape(games, tried)
        mine = offered.reshape(games, tried, -1)[np.arange(games), score.argmax(1)]
        theirs = draw_fleets(ruleset, "r", games, 0, seed + 900 + number)
        played = play_fleets(ruleset, (mine, theirs), (seed + number) << 20)
        shot = played.shot_at[:, 1].astype(float)
        when += np.where(shot == 0, played.shots[:, 1:2] + 1, shot).sum(0)
        seen += len(shot)
        hit = shot[covered(ruleset, mine) == 1]
        found.append((float((played.winners == 0).mean()), float(hit[hit > 0].mean())))
    return found

"""Random games on Digital Curling 4's own code, recorded, and the same games played by ours, shot by shot.

    python tests/curling_beside_dc4.py SIMULATOR SERVER.py --doubles 400 --ends 1500 [--record tests/data/curling_dc4.json.xz]

plays games of mixed doubles, and beginnings of ends under the rules of the free guard zone and of no-tick. SIMULATOR is a
program around `SimulatorFCV1` of github.com/being24/DigitalCurling4-Server (`workers/wasm-src/fcv1_simulator_core.cpp`, built
with Box2D 2.4.1), which applies these rules: it reads a shot a line (applied rule, shot of the end, team, shot of the
team, vx, vy, angular velocity, then the places of 16 stones) and prints the places afterwards. SERVER.py has functions of
github.com/digitalcurling/DigitalCurling4-Server as they stand there, over a database in memory:
`perform_mixed_doubles_end_setup` (`src/services/match_db.py`), with what it calls, and as `last_shot` what
`receive_shot_info` (`src/routers/match.py`) does at the end of an end.

What came out stands in `docs/curling.md`. The recording in `data` is a run with `--doubles 24 --ends 60`.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import lzma
import math
import random
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np

from asobiba.core import Ruleset, game
from asobiba.core.states import is_over, new_state
from asobiba.envs.curling.doubles.rules import POSITIONED
from asobiba.envs.curling.doubles.simulate import deliver, place
from asobiba.envs.curling.simulate import Shot
from asobiba.envs.curling.simulate import deliver as deliver_of_four

TEE = 38.405
"""m from the release, where the server has its origin."""
FGZ, NO_TICK, MODIFIED_FGZ = range(3)
"""The server's `applied_rule`."""
REQUESTS = ("center_guard", "center_house", "pp_left", "pp_right")
LOOKED_AT = 7
"""Shots of an end of four-person curling that are played: the rules hold for five."""
Sheet = list[list[float]]
"""Places of 16 stones, team0's before team1's; (0, 0): not in play."""


class Simulator:
    """The server's simulator in another process."""

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, rule: int, shot: int, team: int, delivery: list[float], before: Sheet) -> Sheet:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        numbers = [*delivery, *(value for place in before for value in place)]
        text = " ".join([*map(str, (rule, shot, team, shot // 2)), *(f"{value:.9g}" for value in numbers)])
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()
        found = [round(float(word), 5) for word in self._process.stdout.readline().split()]
        return [found[k : k + 2] for k in range(0, 32, 2)]


def some_shot(ruleset: Ruleset, draw: random.Random, sheet: Sheet, early: bool) -> list[float]:
    """A draw, a guard, or a shot at a stone: vx, vy, angular velocity (positive: counter-clockwise)."""
    spin = draw.choice((1, -1))
    stones = [(x, y - TEE) for x, y in sheet if (x, y) != (0.0, 0.0)]
    if stones and draw.random() < 0.6:
        x, y = draw.choice(stones)
        x += draw.gauss(0.0, 0.12)
        shot = Shot.hit(ruleset, min(max(x, -2.2), 2.2), max(y, -6.0), spin, draw.choice((0.3, 0.8, 1.5, 2.5)))
    elif early and draw.random() < 0.7:
        shot = Shot.draw(ruleset, draw.gauss(0.0, 0.15), draw.uniform(-5.5, -2.2), spin)
    else:
        shot = Shot.draw(ruleset, draw.uniform(-1.7, 1.7), draw.uniform(-4.5, 1.6), spin)
    speed, angle = math.hypot(shot.vx, shot.vy), math.atan2(shot.vy, shot.vx)
    speed, angle = min(speed + draw.gauss(0.0, 0.01), 4.0), angle + draw.gauss(0.0, 0.002)
    return [round(speed * math.cos(angle), 6), round(speed * math.sin(angle), 6), round(spin * math.pi / 2, 6)]


def recorded_doubles(simulator: Simulator, server: Any, seed: int, pattern: int, ends: int = 3) -> dict[str, Any]:
    """A game of mixed doubles on the server's code."""
    draw, ruleset = random.Random(seed), game("curling_doubles").ruleset(noise="none")
    teams = (UUID(int=10), UUID(int=11))
    server.DB.settings = SimpleNamespace(
        end_setup_team_ids=[teams[1]],
        positioned_stones_pattern=pattern,
        team0_power_play_end=None,
        team1_power_play_end=None,
    )
    match = SimpleNamespace(
        match_id=UUID(int=1), first_team_id=teams[0], second_team_id=teams[1], standard_end_count=ends,
        game_mode="mixed_doubles", mixed_doubles_settings=server.DB.settings,
    )  # fmt: skip
    score = SimpleNamespace(team0=[0] * (ends + 1), team1=[0] * (ends + 1))
    events: list[list[Any]] = []
    for end in range(ends + 3):
        selector = teams.index(server.DB.settings.end_setup_team_ids[end])
        request = draw.choice(REQUESTS)
        asyncio.run(
            server.perform_mixed_doubles_end_setup(
                match, SimpleNamespace(end_number=end), f"team{selector}", server.PositionedStonesModel(request)
            )
        )
        setup = server.DB.states[-1]
        data = setup.stone_coordinate.data
        sheet = [[each["x"], each["y"]] for team in ("team0", "team1") for each in data[team]]
        team = teams.index(setup.next_shot_team_id)
        events.append(["place", selector, request, team, sheet])
        for shot in range(10):
            delivery = some_shot(ruleset, draw, sheet, shot < 4)
            sheet = simulator(MODIFIED_FGZ, shot, team, delivery, sheet)
            events.append(["shot", team, delivery, sheet])
            team = 1 - team
        stones = [[tuple(at) for at in sheet[:8]], [tuple(at) for at in sheet[8:]]]
        before = [sum(score.team0), sum(score.team1)]
        winner, following, _ = server.last_shot(match, f"team{1 - team}", end, 6, stones, score)
        points = [sum(score.team0) - before[0], sum(score.team1) - before[1]]
        events.append(["end", points, None if winner is None else teams.index(winner)])
        if winner is not None:
            break
        server.DB.settings.end_setup_team_ids.append(following)
    return {"rule": MODIFIED_FGZ, "pattern": pattern, "ends": ends, "events": events}


def recorded_end(simulator: Simulator, seed: int, rule: int) -> dict[str, Any]:
    """The beginning of an end of four-person curling on the server's code."""
    draw, ruleset = random.Random(seed), game("curling").ruleset(simulator="fcv1", noise="none")
    sheet: Sheet = [[0.0, 0.0]] * 16
    events: list[list[Any]] = []
    for shot in range(LOOKED_AT):
        delivery = some_shot(ruleset, draw, sheet, shot < 3)
        sheet = simulator(rule, shot, shot % 2, delivery, sheet)
        events.append(["shot", shot % 2, delivery, sheet])
    return {"rule": rule, "events": events}


@dataclass
class Found:
    """What a comparison has found.

    Args:
        counts: shots, fouls, placements, ends and the like, and how many of them differ.
        errors: m, of the stones that a shot moved.
        differing: the shots, by number of the game and of the event.
    """

    counts: Counter[str] = field(default_factory=Counter)
    errors: list[float] = field(default_factory=list)
    differing: list[tuple[int, int]] = field(default_factory=list)


def rows_of(state: np.void, doubles: bool) -> list[int]:
    """The rows of our state in the order of a sheet; -1: there is none."""
    first, rows = 1 - int(state["hammer"]), []
    for team in range(2):
        for n in range(8):
            row = (POSITIONED if doubles else 0) + 2 * n + (0 if team == first else 1)
            rows.append(row if row < 16 else -1)
    return rows


def sheet_of(stones: np.ndarray, in_play: np.ndarray, rows: list[int]) -> np.ndarray:
    """Our stones as a sheet: `(16, 2)`."""
    found = np.zeros((16, 2))
    for k, row in enumerate(rows):
        if row >= 0 and in_play[row]:
            found[k] = stones[row, 0], stones[row, 1] + TEE
    return found


def put(state: np.void, sheet: Sheet, rows: list[int]) -> None:
    """Puts a sheet's stones into our state."""
    for (x, y), row in zip(sheet, rows, strict=True):
        if row >= 0:
            here = (x, y) != (0.0, 0.0)
            state["stones"][row] = (x, y - TEE) if here else (0.0, 0.0)
            state["in_play"][row] = here


def same_shot(found: Found, before: Sheet, theirs: Sheet, ours: np.ndarray, where: tuple[int, int]) -> bool:
    """Counts a shot; whether the same stones are in play, and all stones lie where they lay on both sides or on neither."""
    a, b = np.array(before), np.array(theirs)
    still, ours_still = np.array_equal(a, b), bool(np.abs(ours - a).max() < 1e-9)
    found.counts["shots"] += 1
    same = still == ours_still and np.array_equal(b.any(axis=1), ours.any(axis=1))
    if not same:
        found.counts["shots that differ"] += 1
        found.differing.append(where)
        return False
    moved = (a != b).any(axis=1) & b.any(axis=1)
    found.errors += np.hypot(*(ours - b)[moved].T).tolist()
    return True


def compare_doubles(number: int, one: dict[str, Any], found: Found) -> None:
    """Plays a recorded game of mixed doubles; a shot begins where the server's last one ended."""
    ruleset = game("curling_doubles").ruleset(noise="none", pattern=one["pattern"], ends=one["ends"])
    state, sheet, same = new_state(ruleset, 0), [[0.0, 0.0]] * 16, True
    for n, (kind, *told) in enumerate(one["events"]):
        if kind == "place":
            team, request, following, sheet = told
            assert int(state["to_move"]) == team, (number, n)
            state = place(ruleset, state, REQUESTS.index(request))
            rows = rows_of(state, True)
            assert np.abs(sheet_of(state["stones"], state["in_play"], rows) - sheet).max() < 1e-9, (number, n)
            assert int(state["to_move"]) == following, (number, n)
            found.counts["placements"] += 1
            found.counts["power plays"] += int(any(x != 0.0 for x, _ in sheet))
        elif kind == "shot":
            team, (vx, vy, spin), after = told
            assert int(state["to_move"]) == team, (number, n)
            put(state, sheet, rows)
            total = state["total"].copy()
            state = deliver(ruleset, state, Shot(vx, vy, 1 if spin > 0 else -1), exact=True)
            last = int(state["shot"]) == 0
            prefix = "last_" if last else ""
            same = same_shot(
                found, sheet, after, sheet_of(state[prefix + "stones"], state[prefix + "in_play"], rows), (number, n)
            )
            found.counts["taken back"] += int(state["foul"])
            sheet = after
        else:
            points, winner = told
            if not same:  # the last shot came out otherwise, and so may the end
                found.counts["games left"] += 1
                return
            assert (state["total"] - total).tolist() == points, (number, n)
            assert is_over(state) == (winner is not None), (number, n)
            assert winner is None or state["rewards"][winner] == 1, (number, n)
            found.counts["ends"] += 1
            found.counts["blank ends"] += points == [0, 0]


def compare_end(number: int, one: dict[str, Any], found: Found) -> None:
    """Plays the recorded beginning of an end of four-person curling."""
    guards = "removal" if one["rule"] == FGZ else "no_tick"
    ruleset = game("curling").ruleset(simulator="fcv1", noise="none", guards=guards)
    state, sheet = new_state(ruleset, 0), [[0.0, 0.0]] * 16
    rows = rows_of(state, False)
    for n, (_, team, (vx, vy, spin), after) in enumerate(one["events"]):
        assert int(state["to_move"]) == team, (number, n)
        put(state, sheet, rows)
        state = deliver_of_four(ruleset, state, Shot(vx, vy, 1 if spin > 0 else -1), exact=True)
        same_shot(found, sheet, after, sheet_of(state["stones"], state["in_play"], rows), (number, n))
        found.counts["taken back"] += int(state["foul"])
        sheet = after


def compare(games: list[dict[str, Any]], rule: int) -> Found:
    """Plays the recorded games under one of the server's rules.

    Raises:
        AssertionError: where more than a shot's outcome differs, with the numbers of the game and of the event.
    """
    found = Found()
    for number, one in enumerate(games):
        if one["rule"] == rule:
            (compare_doubles if rule == MODIFIED_FGZ else compare_end)(number, one, found)
    return found


def load(path: Path) -> list[dict[str, Any]]:
    """A recording."""
    return json.loads(lzma.decompress(path.read_bytes()))


def _module(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("dc4_server", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("simulator")
    parser.add_argument("server")
    parser.add_argument("--doubles", type=int, default=20)
    parser.add_argument("--ends", type=int, default=60)
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    run, module = Simulator(given.simulator), _module(given.server)
    played = [recorded_doubles(run, module, seed, seed % 6) for seed in range(given.doubles)]
    for rule in (FGZ, NO_TICK):
        played += [recorded_end(run, 1_000_000 * (rule + 1) + seed, rule) for seed in range(given.ends)]
    for rule, name in ((MODIFIED_FGZ, "mixed doubles"), (FGZ, "free guard zone"), (NO_TICK, "no-tick")):
        outcome = compare(played, rule)
        errors = 1000 * np.quantile(outcome.errors or [0.0], (0.5, 0.9, 0.99, 1.0))
        print(f"{name}: {dict(outcome.counts)}; mm at 50, 90, 99, 100 %: {errors.round(1).tolist()}")
        print(f"  differing: {outcome.differing[:40]}", flush=True)
    if given.record is not None:
        given.record.write_bytes(lzma.compress(json.dumps(played, separators=(",", ":")).encode(), preset=9))

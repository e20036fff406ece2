"""Controllers that prepare on the course: the taught tape, and the learned speed per cell."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.baselines.mini4wd import policies
from asobiba.baselines.mini4wd.controllers import Controller, nominal, run_many
from asobiba.baselines.mini4wd.localise import CELL, CELLS
from asobiba.core import Agent, GameParameterError, Ruleset, make_agent
from asobiba.core import states as one
from asobiba.envs.mini4wd.layout import control_ms_of


@dataclass(frozen=True)
class Tape:
    """A recorded run: the command of every control step and the measured battery voltage.

    Args:
        control_ms: length of a control step.
        teacher: the driver.
        rows: `(duty, mode selector, volts)` of each step.
    """

    control_ms: int
    teacher: str
    rows: list[list[float]]

    def save(self, path: str | Path) -> None:
        """Writes the tape as JSON."""
        Path(path).write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Tape:
        """Reads a tape. Raises `GameParameterError` for a file that holds none."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            tape = cls(int(data["control_ms"]), str(data["teacher"]), [[float(x) for x in row] for row in data["rows"]])
        except OSError as error:
            raise GameParameterError(f"the tape {str(path)!r} cannot be read: {error}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise GameParameterError(f"{str(path)!r} holds no tape: {error!r}") from None
        if not tape.rows or any(len(row) != 3 for row in tape.rows):
            raise GameParameterError(f"{str(path)!r} holds no tape: every row must be [duty, mode selector, volts]")
        return tape


def record_tape(ruleset: Ruleset, drive: Callable[[np.void], Any], teacher: str, seed: int = 0) -> Tape:
    """Records a run of the nominal car under `drive(view) -> action` (a person's or another controller's)."""
    rules = nominal(ruleset)
    state = one.new_state(rules, seed)
    rows: list[list[float]] = []
    while not one.is_over(state) and len(rows) < policies.TAPE:
        view = one.view_of(rules, state, 0)
        action = np.zeros(2, np.float32)
        given = np.asarray(drive(view), np.float32).ravel()
        action[: len(given)] = given
        rows.append([float(action[0]), float(action[1]), float(view["voltage"][0])])
        state = one.step(rules, state, action)
    return Tape(control_ms_of(rules), teacher, rows)


def teach(ruleset: Ruleset, teacher: str, seed: int = 0) -> Tape:
    """Records a run of another controller, named as everywhere, such as `constant:duty=0.6`."""
    from asobiba.envs.mini4wd import GAME

    agent: Agent = make_agent(GAME, teacher)
    agent.reset(nominal(ruleset), 0, seed)
    return record_tape(ruleset, lambda view: agent.act(view, np.zeros(0, np.int8)), teacher, seed)


class Playback(Controller):
    """Teach and playback: a recorded run, played again in time.

    Args:
        path: of a saved tape; without one, `teacher` drives a teaching run on the course before the game.
        teacher: another controller by name.
        correct: raise the duty as the battery's voltage falls below that of the recording.
    """

    def __init__(self, path: str | None, teacher: str, correct: bool):
        super().__init__(policies.PLAYBACK, [1.0 if correct else 0.0], "playback")
        self.path, self.teacher = path, teacher

    def practise(self, ruleset: Ruleset, memory: np.ndarray, seed: int) -> None:
        tape = Tape.load(self.path) if self.path else teach(ruleset, self.teacher)
        if tape.control_ms != control_ms_of(ruleset):
            raise GameParameterError(
                f"the tape was recorded in steps of {tape.control_ms} ms, but the game's are of "
                f"{control_ms_of(ruleset)} ms"
            )
        rows = np.array(tape.rows[: policies.TAPE], np.float32)
        memory["tape"][0, : len(rows)] = rows
        memory["tape_length"] = len(rows)


class Localiser(Controller):
    """Self-localisation by a histogram filter, with a speed per cell that practice runs learn.

    Practice runs take place on the course before the game, each with another drawn car, as a contest's learning time
    allows: where a car goes out, the cells behind it become slower; cells that all cars pass become faster.

    Args:
        rounds: practice rounds of `cars` runs each.
        cars: runs in a round.
        top: greatest speed that is learned, m/s.
    """

    def __init__(self, rounds: int, cars: int, top: float, gain: float, brake_at: float, feed: float):
        super().__init__(policies.LOCALISE, [gain, brake_at, feed], "localise")
        self.rounds, self.cars, self.top = rounds, cars, top

    def prepare(self, ruleset: Ruleset) -> None:
        if not ruleset.parameters.get("tachometer"):
            raise GameParameterError("the controller 'localise' needs the game's parameter tachometer=True")

    def practise(self, ruleset: Ruleset, memory: np.ndarray, seed: int) -> None:
        self.prepare(ruleset)
        rules = nominal(ruleset)
        self._draw_map(rules, memory, seed)
        cells = int(memory["cells"][0])
        speed = np.full(cells, 2.4)
        lowered = np.zeros(cells)
        known = {n: v for n, v in ruleset.parameters.items() if n in rules.parameters and n != "actions"}
        drawn = rules.game.ruleset(**{**rules.parameters, **known, "actions": "duty_mode"})
        for turn in range(self.rounds):
            memory["speed"][0, :cells] = speed
            trail = np.zeros((self.cars, drawn.max_steps, 4), np.float32)
            seeds = np.arange(self.cars) + (seed % 2**31) * 1000 + turn * self.cars + 1
            states = run_many(drawn, np.repeat(memory, self.cars), seeds, trail=trail)
            slower = np.zeros(cells)
            for i in range(self.cars):
                if states["cause"][i, 0] > 0:
                    at = int(trail[i, states["steps"][i] - 1, 0])
                    reach = max(int(0.5 * speed[at] / CELL), 6)
                    window = (at - np.arange(-2, reach)) % cells
                    slower[window] += 1
            grow = 0.18 * (1 - turn / self.rounds) + 0.04
            hit = slower > 0
            lowered[hit] += 1
            speed[~hit] += grow / (1 + 3 * lowered[~hit])
            speed[hit] -= np.minimum(0.35, 0.15 + 0.1 * slower[hit])
            speed = np.clip(speed, 1.2, self.top)
        memory["speed"][0, :cells] = speed - 0.05

    def _draw_map(self, rules: Ruleset, memory: np.ndarray, seed: int) -> None:
        course = rules.params
        lanes = int(course["lanes"][0])
        slow = rules.game.ruleset(**{**rules.parameters, "lane": 0, "laps": lanes, "max_seconds": 60.0})
        slow_memory = Controller(policies.CONSTANT, [0.55], "map").memory()
        trail = np.zeros((1, slow.max_steps, 4), np.float32)
        final = run_many(slow, slow_memory, np.array([1]), trail=trail)
        # Row n was sensed before step n: it belongs to the distance that the steps before it have driven.
        rows = trail[0, : int(final["steps"][0])]
        distance = np.cumsum(rows[:, 1]) * float(slow.params["control_step"][0])
        cells = min(max(math.ceil(distance[-1] / CELL), 10), CELLS)
        place, sums = np.zeros((cells, 2)), np.zeros(cells)
        at = np.minimum((distance / CELL).astype(int), cells - 1)
        moving = np.maximum(np.abs(rows[:, 1]), 0.5)
        np.add.at(place, at, rows[:, 2:] / moving[:, None])
        np.add.at(sums, at, 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = place / sums[:, None]
        for column, name in ((0, "bend"), (1, "climb")):
            values = mean[:, column]
            good = np.flatnonzero(np.isfinite(values))
            memory[name][0, :cells] = np.interp(np.arange(cells), good, values[good])
        memory["cells"] = cells
        memory["starts"] = lanes


def localised_cells(memory: np.ndarray) -> np.ndarray:
    """The learned speeds, `(cells,)` m/s."""
    return memory["speed"][0, : int(memory["cells"][0])].copy()


__all__ = ["Localiser", "Playback", "Tape", "localised_cells", "record_tape", "run_many", "teach"]

"""Plots of a run with matplotlib (extra `render`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.core import MissingExtra, make_agent
from asobiba.core import states as one
from asobiba.envs.mini4wd.simulate import Log


def run_of(controller: str, *, course: Any = "junior", car: Any = "stock", seed: int = 0, **parameters: Any) -> Log:
    """A run of a controller, by name, as a log."""
    from asobiba.envs.mini4wd import GAME

    ruleset = GAME.ruleset(course=course, car=car, **{"tachometer": True, "randomise": "none", **parameters})
    agent = make_agent(GAME, controller)
    agent.reset(ruleset, 0, seed)
    state = one.new_state(ruleset, seed)
    states, commands = [state], []
    while not one.is_over(state):
        action = agent.act(one.view_of(ruleset, state, 0), np.zeros(0, np.int8))
        state = one.step(ruleset, state, action)
        states.append(state)
        commands.append([float(x) for x in action])
    rows = ruleset.zeros(len(states))
    for k, record in enumerate(states):
        rows[k] = record
    return Log(ruleset, rows, np.array(commands))


def plot_run(log: Log) -> Any:
    """Speed, duty, acceleration and rates over the distance, lap by lap marked; a matplotlib `Figure`.

    Raises:
        MissingExtra: without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "render") from None
    distance = log["progress"]
    figure = Figure(figsize=(11, 9), layout="constrained")
    axes = figure.subplots(4, 1, sharex=True)
    axes[0].plot(distance, log["v"], label="speed")
    axes[0].plot(distance, log["wheel_speed"], lw=0.7, label="wheels")
    axes[0].set_ylabel("m/s")
    axes[1].step(distance[:-1], log.commands[:, 0], where="post", label="duty")
    braking = log.commands[:, 1] < 0 if log.commands.shape[1] > 1 else np.zeros(len(log), bool)
    axes[1].plot(distance[:-1][braking], np.zeros(braking.sum()), "|", color="tab:red", label="brake or free")
    axes[1].plot(distance, log["voltage"] / 3.0, lw=0.7, label="voltage / 3 V")
    axes[1].set_ylabel("duty")
    imu = log["imu"].mean(axis=1)
    for column, name in enumerate("xyz"):
        axes[2].plot(distance, imu[:, column], lw=0.8, label=f"acc {name}")
        axes[3].plot(distance, imu[:, 3 + column], lw=0.8, label=f"gyro {name}")
    axes[2].set_ylabel("g")
    axes[3].set_ylabel("rad/s")
    axes[3].set_xlabel("distance, m")
    lap = float(log.ruleset.params["lap_length"][0])
    for axis in axes:
        axis.legend(loc="upper right", fontsize=8, ncols=3)
        axis.grid(alpha=0.3)
        for k in range(int(distance.max() / lap) + 1):
            axis.axvline(k * lap, color="#999", lw=0.8)
    result = f"{log.finish_time:.2f} s" if log.finish_time else log.cause
    figure.suptitle(f"{_named(log, 'course')}, {_named(log, 'car')}: {result}")
    return figure


def _named(log: Log, parameter: str) -> str:
    # A course or a car that was made in the program is no text, but has a name.
    given = log.ruleset.parameters.get(parameter, "")
    return given if isinstance(given, str) else str(getattr(given, "name", ""))

"""Computes the tables of fcv1's motion: `python -m asobiba.envs.curling.tables` writes `fcv1.json` again.

The numbers are shipped, because a quadrature in NumPy gives different last bits on another machine.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from asobiba.envs.curling import simulators as const
from asobiba.envs.curling.motion import ROOT_STEP, TOP_SPEED


def friction(v):
    """fcv1's deceleration (m/s2) at speed `v`."""
    a, b, c = const.FCV1_FRICTION
    return const.FCV1_GRAVITY * (a / (v + b) + c)


def tables():
    """By name: rows every `ROOT_STEP` of cubic pieces of the way to the stop (along, then across the last heading); of the
    length of the path; the heading and the spin that are lost from there on; `tau` by the root of the speed, and of the
    distance to the stop; the greatest distance."""
    # Everything as a function of g = v**(1/5), in which every integrand is smooth down to standstill.
    g = np.linspace(0.0, TOP_SPEED**0.2, 400_001)
    v = g**5
    slow = friction(v)

    def integral(of):
        steps = 0.5 * (of[1:] + of[:-1]) * (g[1] - g[0])
        return np.concatenate([[0.0], np.cumsum(steps)])

    tau = integral(5.0 * g**4 / slow)
    turn = integral(5.0 * const.FCV1_YAW / slow)
    spin = integral(const.FCV1_SPIN_LOSS * 5.0 * g**4 / (np.maximum(v, const.FCV1_SPIN_SPEED) * slow))
    along = integral(v * np.cos(turn) * 5.0 * g**4 / slow)
    across = integral(v * np.sin(turn) * 5.0 * g**4 / slow)
    length = integral(v * 5.0 * g**4 / slow)
    at = (np.arange(int(math.sqrt(tau[-1]) / ROOT_STEP)) * ROOT_STEP) ** 2
    step = np.diff(at)

    def pieces(values, slopes):
        y, d = np.interp(at, tau, values), np.interp(at, tau, slopes)
        jump = (y[1:] - y[:-1]) / step
        square = (3.0 * jump - 2.0 * d[:-1] - d[1:]) / step
        cube = (d[:-1] + d[1:] - 2.0 * jump) / step**2
        return np.stack([y[:-1], d[:-1], square, cube], axis=1)

    curve = np.concatenate([pieces(along, v * np.cos(turn)), pieces(across, v * np.sin(turn))], axis=1)
    distance = np.hypot(along, across)
    return {
        "curve": curve,
        "length": pieces(length, v),
        "turn": np.interp(at, tau, turn),
        "spin_lost": np.interp(at, tau, spin),
        "tau_of_speed": np.interp(np.linspace(0.0, math.sqrt(TOP_SPEED), len(at)) ** 2, v, tau),
        "tau_of_distance": np.interp(np.linspace(0.0, math.sqrt(distance[-1]), len(at)) ** 2, distance, tau),
        "farthest": distance[-1],
    }


def text() -> str:
    """The file: a row to a line."""
    lines = []
    for name, values in tables().items():
        rows = np.asarray(values).tolist()
        if isinstance(rows, list):
            rows = "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"
        lines.append(f"{json.dumps(name)}: {rows}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    Path(__file__).with_name("fcv1.json").write_text(text(), encoding="utf-8")

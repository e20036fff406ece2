"""Ratings in the course of a league: the extended score chart of Hanakawa, Tominaga (see `asobiba.arena.wwg`).

Every agent has a candlestick at the time of its first match: the box from its first rating to its present one, filled
where it fell, and a whisker from its lowest to its highest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from asobiba.arena.ratings import ELO as _ELO
from asobiba.arena.ratings import agent_names, fit_davidson, outcomes
from asobiba.arena.results import Results
from asobiba.arena.wwg import points_table, weighted_degree

MOST_CUTS = 24
"""Number of times at which ratings are computed."""


@dataclass(frozen=True)
class Candle:
    """One agent's history.

    Args:
        agent: its name.
        time: of its first match, in seconds.
        first, last, lowest, highest: its ratings after the first cut that it was in, now, and between.
    """

    agent: str
    time: float
    first: float
    last: float
    lowest: float
    highest: float


def history(results: Results, times: np.ndarray) -> list[Candle]:
    """The history of every agent, in the order of their first matches.

    Ratings are weighted winning degrees in games of two, Elo points around the field's mean in games of more, and mean
    returns where one plays alone.

    Args:
        results: of a league.
        times: `(n,)` when each match was played, in seconds.
    """
    if not len(results):
        return []
    order = np.argsort(times, kind="stable")
    moments = np.unique(times)
    if len(moments) > MOST_CUTS:
        moments = moments[np.linspace(0, len(moments) - 1, MOST_CUTS).astype(int)]
    seen: dict[str, list[float]] = {}
    for moment in moments:
        some = results.take(order[: np.searchsorted(times[order], moment, "right")])
        for name, value in _ratings(some).items():
            seen.setdefault(name, []).append(value)
    first = {
        name: float(times[(results.seats == k).any(1)].min())
        for k, name in enumerate(results.agents)
        if (results.seats == k).any()
    }
    candles = [
        Candle(name, first[name], values[0], values[-1], min(values), max(values)) for name, values in seen.items()
    ]
    return sorted(candles, key=lambda candle: (candle.time, candle.agent))


def _ratings(results: Results) -> dict[str, float]:
    names = agent_names(results)
    seats = results.seats.shape[1]
    if seats == 1:
        values = np.array([results.returns[results.seats == results.agents.index(name)].mean() for name in names])
    elif seats == 2 and len(names) > 1:
        values = weighted_degree(*points_table(results, names))
    else:
        values = fit_davidson(outcomes(results, names)).strengths * _ELO
    return dict(zip(names, values.tolist()))


def chart(candles: list[Candle], width: int = 900, height: int = 320) -> dict[str, Any] | None:
    """The drawing of a history, for the page: boxes and whiskers in units of the picture; `None` if nothing changed."""
    if len({candle.time for candle in candles}) < 2:
        return None
    low, high = min(c.lowest for c in candles), max(c.highest for c in candles)
    begin, end = candles[0].time, candles[-1].time
    left, right, top, bottom = 60, width - 30, 16, height - 30

    def x(time: float) -> float:
        return round(left + (right - left) * (time - begin) / (end - begin), 1)

    def y(value: float) -> float:
        return round(bottom - (bottom - top) * (value - low) / ((high - low) or 1), 1)

    boxes, taken = [], dict[float, int]()
    for candle in candles:
        place = x(candle.time)
        shift = 9 * taken.get(place, 0)  # those that came at the same time stand side by side
        taken[place] = taken.get(place, 0) + 1
        ends = sorted((y(candle.first), y(candle.last)))
        boxes.append(
            {
                "x": min(place + shift, right), "top": ends[0], "height": max(round(ends[1] - ends[0], 1), 1.0),
                "high": y(candle.highest), "low": y(candle.lowest), "fell": candle.last < candle.first,
                "agent": candle.agent,
                "title": f"{candle.agent}: {candle.first:.3g} at first, {candle.last:.3g} now, "
                f"{candle.lowest:.3g} to {candle.highest:.3g}",
            }
        )  # fmt: skip
    ticks = [(y(v), f"{v:.3g}") for v in np.linspace(low, high, 5)]
    return {
        "boxes": boxes,
        "ticks": ticks,
        "width": width,
        "height": height,
        "left": left,
        "right": right,
        "bottom": bottom,
    }

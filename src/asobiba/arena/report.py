"""The league as one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment
from markupsafe import Markup

from asobiba.api.render import step_fps, svg
from asobiba.api.scene import NUMBER, PLACE, POINT, Pen, number_text
from asobiba.arena.browse import PIECE, packed
from asobiba.arena.history import chart, history
from asobiba.arena.match import MatchRecord
from asobiba.arena.person import move_text, result_text
from asobiba.arena.records_file import NAME
from asobiba.arena.replay import replay
from asobiba.arena.results import Result, Results
from asobiba.arena.show import headline, record_json
from asobiba.arena.standings import Standing, Standings, columns, shown_names
from asobiba.arena.store import Store
from asobiba.core.answers import printable

_SAMPLES = 6
_FRAMES = 300
_PACKED_BYTES = 200_000
"""Limits for a game in real time; beyond them every second picture is dropped until the game fits."""


def _shown(value: Any) -> Any:
    # A text for the page, without anything unprintable; markup stays markup.
    return type(value)(printable(value)) if isinstance(value, str) else value


def write_report(path: Path, table: Standings, results: Sequence[Result], store: Store) -> None:
    """Writes the page of a league.

    Args:
        path: of the `.html` file; its folder is made if need be.
        table: the standings of `results`.
        results: all results; the games to show are chosen from them.
        store: holds their records.
    """
    template = files("asobiba.arena").joinpath("report.html").read_text(encoding="utf-8")
    page = Environment(autoescape=True, finalize=_shown, trim_blocks=True, lstrip_blocks=True).from_string(template)
    head, rows = columns(table)
    found = Results.of(results)
    text = page.render(
        table=table,
        game=table.ruleset.game,
        parameters=table.ruleset.parameters,
        head=head,
        rows=rows,
        intervals=_intervals(table),
        cross=_cross(table),
        seats=table.ruleset.players,
        times=_times(table),
        matches=packed(found),
        piece_size=PIECE,
        history=_history(table, chart(history(found, store.times(table.ruleset, found.number)))),
        style=Markup(_shared("player.css")),
        player=Markup("\n".join(_shared(name).replace("\nexport ", "\n") for name in ("writer.js", "player.js"))),
        samples=[_sample(result, store) for result in _chosen(table, found)],
        version=version("asobiba"),
        place=_place(path.parent, table.ruleset.game.name),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _shared(name: str) -> str:
    """A file of the player that this page and the playground have in common."""
    return (files("asobiba.api") / "page" / name).read_text(encoding="utf-8")


def _place(folder: Path, game: str) -> str:
    """The argument of `asobiba replay`: the folder of a published league (nothing above it), or the game."""
    if not (folder / NAME).is_file():
        return game
    return f"leaderboards/{folder.name}" if folder.resolve().parent.name == "leaderboards" else f"./{folder.name}"


def _history(table: Standings, drawn: dict[str, Any] | None) -> dict[str, Any] | None:
    """The drawing of the history, with the names that tables show, and its axis."""
    if drawn is None:
        return None
    names = shown_names([line.agent for line in table.lines])
    boxes = [{**box, "agent": names.get(box["agent"], box["agent"])} for box in drawn["boxes"]]
    seats = table.ruleset.num_players
    axis = "mean return" if seats == 1 else "weighted winning degree" if seats == 2 else "Elo points"
    return {**drawn, "boxes": boxes, "axis": f"Up: {axis}"}


def _intervals(table: Standings) -> dict[str, Any]:
    """Dots with whiskers, one row per agent, in a drawing 900 units wide."""
    lines = table.lines
    finite = [v for line in lines for v in (line.low, line.high) if math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    low, high = (low, high) if high > low else (low - 1, high + 1)
    left, right = 240, 880

    def x(value: float) -> float:
        return round(left + (right - left) * (min(max(value, low), high) - low) / (high - low), 1)

    step = _tick(high - low)
    first = math.ceil(low / step)
    ticks = [(x(k * step), f"{k * step:g}") for k in range(first, math.floor(high / step) + 1)]
    rows = [
        {"y": 24 + 28 * k, "agent": line.agent, "value": x(line.rating), "low": x(line.low), "high": x(line.high),
         "title": f"{line.agent}: {line.rating:.1f} ({line.low:.1f} to {line.high:.1f})"}
        for k, line in enumerate(lines)
    ]  # fmt: skip
    return {"rows": rows, "ticks": ticks, "height": 28 * len(lines) + 44}


def _tick(span: float) -> float:
    power = 10 ** math.floor(math.log10(span / 5))
    return next((k * power for k in (1, 2, 5) if span / (k * power) <= 8), 10 * power)


def _cross(table: Standings) -> list[dict[str, Any]]:
    rows = []
    for line in table.lines:
        cells: list[dict[str, str] | None] = []
        for other in table.lines:
            cell = table.cells.get((line.agent, other.agent))
            if cell is None:
                cells.append(None)
                continue
            hue = 8 if cell.score < 0.5 else 210
            strength = abs(cell.score - 0.5) * 2
            seats = ", ".join(
                f"{100 * s:.1f} % as {name}"
                for name, s in zip(table.ruleset.players, cell.seat_scores)
                if s is not None
            )
            cells.append(
                {
                    "text": f"{100 * cell.score:.1f}",
                    "colour": f"hsl({hue} 70% {97 - 47 * strength:.0f}%)",
                    "ink": "#fff" if strength > 0.75 else "#1c2430",
                    "title": f"{line.agent} against {other.agent}: {100 * cell.score:.1f} % "
                    f"({100 * cell.low:.1f} to {100 * cell.high:.1f}) of {cell.games} games; {seats}",
                }
            )
        rows.append({"agent": line.agent, "rank": line.rank, "cells": cells})
    return rows


def _times(table: Standings) -> list[dict[str, Any]]:
    """Time per move on a logarithmic scale from 1 microsecond to 10 seconds."""

    def share(line: Standing) -> float:
        return min(max((math.log10(max(line.milliseconds, 1e-3)) + 3) / 7, 0.004), 1.0)

    return [
        {"agent": line.agent, "width": round(100 * share(line), 1), "text": _duration(line.milliseconds)}
        for line in table.lines
    ]


def _duration(milliseconds: float) -> str:
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.3g} s"
    return f"{milliseconds:.3g} ms" if milliseconds >= 1 else f"{1000 * milliseconds:.3g} µs"


def _chosen(table: Standings, results: Results) -> list[Result]:
    """Games to show: the best agents among themselves, and one for every kind of failure."""
    rank = {line.agent: line.rank for line in table.lines}
    ranks = np.array([rank[name] for name in results.agents])
    chosen: dict[tuple, Result] = {}
    for row in np.flatnonzero(results.culprit >= 0).tolist():
        key = (int(results.reason[row]), int(results.seats[row, results.culprit[row]]))
        if key not in chosen:
            chosen[key] = results[row]
    faults = list(chosen.values())[: _SAMPLES // 2]
    pairs: dict[tuple, Result] = {}
    for row in np.lexsort((results.number, ranks[results.seats].sum(1))).tolist():
        pair = tuple(sorted(results.seats[row].tolist()))
        if pair not in pairs:
            pairs[pair] = results[row]
            if len(pairs) == _SAMPLES - len(faults):
                break
    return [*pairs.values(), *faults]


def _sample(result: Result, store: Store) -> dict[str, Any]:
    record = store.record(result.number)
    return {"number": result.number, "seats": record.match.seats, "film": _pack(film(record))}


def _pack(content: Any) -> str:
    """Base64 of gzipped JSON, which the page unpacks."""
    plain = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    return base64.b64encode(gzip.compress(plain, mtime=0)).decode()


def film(record: MatchRecord) -> dict[str, Any]:
    """A match for the page's player: its positions as scenes, and what it says of them.

    Returns:
        `first` and `last` (the numbers of its positions), `plies` (those of which there is a picture: all of a game in
        turns), `frames` (for each of them a picture: indices into `rows`, the different rows of its scenes, which
        `tables` go with; an SVG text where the game's drawing is no scene), `moves` (a text each; none in real time),
        `seconds` (of a step in real time, else 0), `title`, `result`, and `match`, the record as plain data.

    Raises:
        ReplayError: if the record does not come out.
    """
    ruleset = record.match.ruleset()
    steps = list(replay(record))
    first = int(steps[0][0]["steps"])
    fps = step_fps(ruleset, 0.0)
    scenic = ruleset.game.draw is not None and (hasattr(ruleset.draw, "scene") or hasattr(ruleset.draw, "scenes"))
    about: dict[str, Any] = {
        "first": first,
        "last": first + len(steps) - 1,
        "moves": [] if fps else [_move(record, state, action) for state, action in steps[:-1]],
        "seconds": 1 / fps if fps else 0,
        "title": printable(headline(record)),
        "result": _result(record),
        "match": record_json(record),
    }
    kept = list(range(len(steps)))
    while fps and len(kept) > _FRAMES:
        kept = _every_second(kept)
    draw = _scenes if scenic else _pictures
    about |= draw(record, steps, kept)
    while fps and len(kept) > 2 and len(_pack(about)) > _PACKED_BYTES:
        kept = _every_second(kept)
        about |= draw(record, steps, kept)
    return {**about, "plies": [first + k for k in kept]}


def _every_second(kept: list[int]) -> list[int]:
    return [*kept[:-1:2], kept[-1]]


def _result(record: MatchRecord) -> str:
    alone = len(record.match.seats) == 1
    return printable(
        f"The game is over: {f'return {record.returns[0]:g}' if alone else result_text(record)}, by {record.reason}."
    )


def _move(record: MatchRecord, state: np.void, action: Any) -> str:
    try:
        return printable(move_text(record.match.ruleset(), state, action))
    except Exception:  # an illegal action may have no text
        return printable(str(action))


def _last(steps: Sequence[tuple[np.void, Any]], k: int) -> Any:
    return steps[k - 1][1] if k else None


def _pictures(record: MatchRecord, steps: Sequence[tuple[np.void, Any]], kept: Sequence[int]) -> dict[str, Any]:
    return {"frames": [svg(record.match.ruleset(), steps[k][0], None, _last(steps, k)) for k in kept]}


def _scenes(record: MatchRecord, steps: Sequence[tuple[np.void, Any]], kept: Sequence[int]) -> dict[str, Any]:
    pen = Pen(record.match.ruleset())
    rows: dict[tuple[float, ...], int] = {}
    frames = [
        [rows.setdefault(_rounded(row), len(rows)) for row in pen.scene(steps[k][0], None, _last(steps, k)) if row[0] != PLACE]
        for k in kept
    ]  # fmt: skip
    tables = {"styles": list(pen.styles), "symbols": list(pen.symbols), "texts": list(pen.texts)}
    return {"tables": tables, "rows": list(rows), "frames": frames}


def _rounded(row: np.ndarray) -> tuple[float, ...]:
    """A row with the digits that are written of it, and without zeros at its end that the writer does not read."""
    values = row.tolist()
    if values[0] == NUMBER:
        values[2] = float(number_text(values[2], int(values[3]), False))
    else:
        values[2:6] = [float(number_text(value, 2, False)) for value in values[2:6]]
    if values[0] == POINT:
        del values[4:]
    return tuple(int(value) if value == int(value) else value for value in values)

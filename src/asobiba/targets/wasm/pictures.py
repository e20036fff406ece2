"""The exports of a game's drawing (`asobiba.api.scene`), beside those of its rules, and its tables for `game.json`.

| export | arguments after the number of rows |
|---|---|
| `scene` | states, params, data, mask, seat, last action, out: the picture of the first state |
| `spots` | states, params, data, action, out: the places to click for an action |
| `answer` | states, params, data, out: the action of the controls' values, which stand in out |
| `tell` | states, params, data, what, about, out: words for an action, a spot or the ending |
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from asobiba.api.scene import COLUMNS, ROWS, data, functions, table
from asobiba.core.game import Ruleset
from asobiba.targets.wasm.objects import ArrayOf, Export

_NUMBER = np.dtype(np.int64)


def picture_exports(ruleset: Ruleset) -> tuple[Export, ...]:
    """The functions of a game's drawing for records of this ruleset's layout; the data may be of any length."""
    module = functions(ruleset)
    draw, tell = module.scene, module.tell
    spots: Any = getattr(module, "spots", None)
    answer: Any = getattr(module, "answer", None)

    def scene(data, states, params, mask, seat, last, out):
        draw(states[0], params[0], data, mask[0], seat, last, out)

    def words(data, states, params, what, about, out):
        tell(states[0], params[0], data, what, about, out)

    def clicked(data, states, params, action, out):
        spots(states[0], params[0], data, action, out)

    def controlled(data, states, params, out):
        answer(states[0], params[0], data, out)

    numbers = ArrayOf(np.dtype(np.float64))
    states, params = ArrayOf(ruleset.dtype, rows=1), ArrayOf(ruleset.params.dtype, rows=1)
    mask = ArrayOf(np.dtype(np.int8), (ruleset.num_actions if ruleset.discrete else 0,), rows=1)
    out = ArrayOf(np.dtype(np.float64), (COLUMNS,), rows=ROWS)
    found = [
        Export("scene", scene, (numbers, states, params, mask, _NUMBER, _NUMBER, out)),
        Export("tell", words, (numbers, states, params, _NUMBER, _NUMBER, out)),
    ]
    if answer is not None and _controls(ruleset) is not None:
        found.append(Export("answer", controlled, (numbers, states, params, out)))
    if spots is not None and ruleset.discrete:
        found.append(Export("spots", clicked, (numbers, states, params, _NUMBER, out)))
    return tuple(found)


def _controls(ruleset: Ruleset) -> Callable[[Ruleset], dict[str, Any]] | None:
    """The function that tells the controls of the page, where actions are not chosen one by one."""
    wanted = not ruleset.discrete or hasattr(ruleset.draw, "steps_per_second")
    return getattr(ruleset.draw, "controls", None) if wanted else None


def picture_tables(ruleset: Ruleset) -> dict[str, Any]:
    """Texts, styles, symbols and numbers of a drawing, controls, and the time of a step of a game in real time."""
    controls = _controls(ruleset) if hasattr(functions(ruleset), "answer") else None
    seconds = 1.0 / ruleset.draw.steps_per_second(ruleset) if hasattr(ruleset.draw, "steps_per_second") else 0.0
    return {
        "controls": None if controls is None else controls(ruleset),
        "seconds": seconds,
        "rows": ROWS,
        "columns": COLUMNS,
        **{name: list(table(ruleset, name)) for name in ("texts", "styles", "symbols")},
        "languages": {name: list(texts) for name, texts in getattr(ruleset.draw, "LANGUAGES", {}).items()},
        "spectator": getattr(ruleset.draw, "SPECTATOR", False),
        "data": base64.b64encode(data(ruleset).tobytes()).decode(),
    }

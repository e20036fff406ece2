"""Time of a picture: `rgb_array` of every game that draws itself."""

from __future__ import annotations

import statistics
import time

from asobiba.api import Batch
from asobiba.api.render import rasterise, svg
from asobiba.core import Ruleset, games
from asobiba.core.states import as_action

FRAMES = 30


def frame_times() -> list[tuple[str, tuple[int, int], float, float]]:
    """Name, pixels (width, height), median milliseconds of the drawing as SVG, and of the whole frame."""
    return [(game.name, *_times(game.ruleset())) for game in games() if game.draw is not None]


def _times(ruleset: Ruleset) -> tuple[tuple[int, int], float, float]:
    batch = Batch(ruleset, 1, threads=1)
    batch.reset(0)
    action = None
    drawing, whole, size = [], [], (0, 0)
    for k in range(FRAMES + 3):
        begin = time.perf_counter()
        picture = svg(ruleset, batch.states[0], last_action=action)
        drawn = time.perf_counter()
        pixels = rasterise(picture)
        end = time.perf_counter()
        if k >= 3:  # the first ones import and read fonts
            drawing.append(drawn - begin)
            whole.append(end - begin)
        size = (pixels.shape[1], pixels.shape[0])
        actions = batch.sample_actions()
        action = as_action(ruleset, actions[0])
        batch.step(actions)
    return size, 1000 * statistics.median(drawing), 1000 * statistics.median(whole)

"""Pictures of mixed doubles: those of curling, with words for placements. Positioned stones have the number 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from asobiba.api.scene import DONE, Pen, begin_words, drawing, word
from asobiba.core import Ruleset
from asobiba.envs.curling import draw
from asobiba.envs.curling.doubles.rules import FIRST_SHOT, PLACEMENTS, POSITIONED
from asobiba.envs.curling.draw import FPS, STYLES, TEXTS, data, paint
from asobiba.envs.curling.draw import answer as shot_answer
from asobiba.envs.curling.draw import tell as tell_shot

__all__ = ["FPS", "STYLES", "TEXTS", "answer", "controls", "data", "frames", "scene", "svg", "tell"]

_PLACEMENTS_AT = TEXTS(PLACEMENTS[0])
for _placement in PLACEMENTS[1:]:
    TEXTS(_placement)


@drawing
def scene(s, p, d, mask, seat, last, out):
    """The position; after an end, its final position (faint), with the paths of the last shot."""
    paint(s, p, d, mask, FIRST_SHOT, out)


@drawing
def tell(s, p, d, what, about, out):
    if what == DONE and s.conceded < 0 and s.shot == FIRST_SHOT:
        begin_words(out)
        placement = 1 if s.hammer == s.decider else 0
        if s.stones[POSITIONED, 0] != 0.0:
            placement = 2 if s.stones[POSITIONED, 0] < 0.0 else 3
        word(out, _PLACEMENTS_AT + placement)
    else:
        tell_shot(s, p, d, what, about, out)


@drawing
def answer(s, p, d, out):
    """The continuous action of the controls' weight, x, y (m), spin and placement."""
    placement = int(out[5, 0])
    shot_answer(s, p, d, out)
    out[4, 0] = (placement + 0.5) / 2.0 - 1.0
    out[0, 0], out[5, 0] = 5 if p.concession else 4, 0.0


def controls(ruleset: Ruleset) -> dict[str, Any]:
    """A shot as in curling, and a placement."""
    found = draw.controls(ruleset)
    found["fields"].append({"name": "placement", "choices": list(PLACEMENTS)})
    found["hint"] += " The placement counts at the beginning of an end, and nothing else does then."
    return found


def svg(ruleset: Ruleset, state: np.void, *, seat: int | None = None, last_action: Any = None) -> str:
    """The position as an SVG picture; after an end, its final position (faint)."""
    return Pen(ruleset).svg(state, seat)


def frames(ruleset: Ruleset, before: np.void, action: Any, after: np.void) -> Iterator[str]:
    """The pictures of a shot: every stone on its way, then the position after it; of a placement, the position alone."""
    return draw.frames(ruleset, before, action, after)

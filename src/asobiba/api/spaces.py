"""The spaces of the adaptors."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium import spaces

from asobiba.core.errors import GameParameterError
from asobiba.core.game import Ruleset


class LegalDiscrete(spaces.Discrete):
    """`gymnasium.spaces.Discrete` whose `sample(mask)` is ten times as fast; equal to it otherwise."""

    def sample(self, mask: np.ndarray | None = None, probability: np.ndarray | None = None) -> np.int64:
        """A uniform draw, among the non-zero entries of `mask` (`(n,)` int8 or bool) where one is given."""
        if mask is None or probability is not None:
            return super().sample(mask, probability)
        if not isinstance(mask, np.ndarray) or mask.shape != (self.n,) or mask.dtype not in (np.int8, np.bool_):
            return super().sample(mask)  # it says what is wrong with the mask
        legal = mask.nonzero()[0]
        count = len(legal)
        if count == 0:
            return self.start
        return self.start + legal[int(self.np_random.random() * count)]


def observation_space(ruleset: Ruleset, dtype: Any = None) -> tuple[spaces.Box, np.dtype | None]:
    """The space of one player's observations, and the dtype to cast them to (`None`: they keep the game's dtype).

    Raises:
        GameParameterError: if `dtype` is neither the game's own nor a floating-point type.
    """
    box = deepcopy(ruleset.observation_space)
    try:
        wanted = box.dtype if dtype is None else np.dtype(dtype)
    except TypeError:
        wanted = None
    if wanted == box.dtype:
        return box, None
    if wanted is None or wanted.kind != "f":
        raise GameParameterError(
            f"dtype is that of the observations: {box.dtype} as {ruleset.game.name} has them, or one of floating-point "
            f"numbers such as 'float32', not {dtype!r}"
        )
    return spaces.Box(box.low.astype(wanted), box.high.astype(wanted), box.shape, wanted.type), wanted


def action_space(ruleset: Ruleset) -> spaces.Space:
    """One player's action space, with fast sampling where actions are discrete."""
    return LegalDiscrete(ruleset.num_actions) if ruleset.discrete else deepcopy(ruleset.action_space)


def masked_observation_space(ruleset: Ruleset) -> spaces.Space:
    """`{"observation", "action_mask"}` as in PettingZoo's classic games; the plain box where actions are continuous."""
    box = deepcopy(ruleset.observation_space)
    if not ruleset.discrete:
        return box
    return spaces.Dict({"observation": box, "action_mask": spaces.Box(0, 1, (ruleset.num_actions,), np.int8)})

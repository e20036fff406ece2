"""Converts arbitrary answers of agents into actions that can be recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from asobiba.core import Ruleset

_LONGEST = 500
"""Number of characters of a message that are recorded."""


def read_answer(ruleset: Ruleset, answer: Any) -> tuple[Any, str]:
    """An agent's answer as an action that can be recorded, with a remark if it was not an action.

    An answer that is not an integer (or no array of numbers of the right shape) becomes -1 (or not-a-number), which every
    game's engine treats as an illegal action.
    """
    if ruleset.discrete:
        try:
            array = np.asarray(answer)  # which may run the answer's own code
            if array.size == 1 and array.dtype.kind in "iu":
                value = int(array.reshape(()))
                if 0 <= value < ruleset.num_actions:
                    return np.int64(value), ""
                return no_action(ruleset), refused(ruleset, value)
        except Exception as error:
            return no_action(ruleset), f"answered {_short(answer)}, which is not an integer ({describe(error)})"
        return no_action(ruleset), f"answered {_short(answer)}, which is not an integer"
    box = ruleset.action_space
    try:
        array = np.asarray(answer, box.dtype)
        if array.shape == box.shape and np.isfinite(array).all():
            return array, ""
        why = ""
    except Exception as error:
        why = f" ({describe(error)})"
    return no_action(ruleset), refused(ruleset, answer) + why


def refused(ruleset: Ruleset, answer: Any) -> str:
    """The remark on a number, or numbers, that are no action."""
    if ruleset.discrete:
        return f"answered {answer}, actions are 0 to {ruleset.num_actions - 1}"
    return f"answered {_short(answer)}, expected finite numbers of shape {ruleset.action_space.shape}"


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:
        text = f"{type(value).__name__} (its repr raises {type(error).__name__})"
    return printable(text if len(text) <= 100 else text[:97] + "...")


def describe(error: BaseException) -> str:
    """The message of an exception, even if its `__str__` fails."""
    try:
        text = str(error)
    except BaseException as other:
        text = f"(its text raises {type(other).__name__})"
    return printable(f"{type(error).__name__}: {text}"[:_LONGEST])


def printable(text: str) -> str:
    """The text without characters that databases or terminals reject: lone surrogates, NUL and other control
    characters.
    """
    shown = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in shown)


def no_action(ruleset: Ruleset) -> Any:
    """The recorded action for an answer that is none: -1, or not-a-number, which is illegal in every game."""
    if ruleset.discrete:
        return np.int64(-1)
    box = ruleset.action_space
    return np.full(box.shape, np.nan, box.dtype)

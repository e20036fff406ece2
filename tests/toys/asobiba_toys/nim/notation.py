import re

import numpy as np

from asobiba.core import NotationError, PositionError


def action_to_text(ruleset, state, action):
    size = int(ruleset.params["largest"][0])
    return f"{chr(97 + action // size)}{action % size + 1}"


def text_to_action(ruleset, state, text):
    size = int(ruleset.params["largest"][0])
    heaps = ruleset.parameters["heaps"]
    match = re.fullmatch(r"([a-z])(\d+)", text.strip())
    if not match or ord(match[1]) - 97 >= heaps or not 1 <= int(match[2]) <= size:
        raise NotationError(f"{text!r} is not a move of nim: write heap and number, such as a1")
    return (ord(match[1]) - 97) * size + int(match[2]) - 1


def state_to_text(ruleset, state):
    return f"{' '.join(map(str, state['heaps']))} {int(state['to_move'])}"


def text_to_state(ruleset, text):
    if not re.fullmatch(r"[0-9]{1,2}( [0-9]{1,2})+", text):
        raise NotationError(f"{text!r} is not a position of nim: write the heaps and the mover, such as 1 2 3 0")
    *heaps, mover = map(int, text.split())
    if len(heaps) != ruleset.parameters["heaps"]:
        raise PositionError(f"{text!r} has {len(heaps)} heaps, expected {ruleset.parameters['heaps']}")
    state = ruleset.zeros()[0]
    state["heaps"] = np.array(heaps)
    state["to_move"] = mover
    return state


def board_text(ruleset, state, seat=None):
    return "\n".join(f"{chr(97 + h)} {'o' * int(n)}" for h, n in enumerate(state["heaps"]))

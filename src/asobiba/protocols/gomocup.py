"""`asobiba engine GAME`: any agent as a Gomocup program (a "brain") on standard input and output.

A game can be served if its notation module has

    gomocup_parameters(size, rule) -> dict          the game's parameters for a board and a rule number of the protocol
    gomocup_rule(ruleset) -> int                    the rule number, or `GameParameterError` for other rules
    gomocup_square(ruleset, action) -> (x, y)       and `gomocup_action(ruleset, x, y)` back
    gomocup_state(ruleset, stones, first) -> state  of stones (x, y, mine) in the order of play; `first`: I am the first
    gomocup_stones(ruleset, state, seat) -> stones  the same back; and `gomocup_last(ruleset, state)`: the last action or -1

Agents are asked as everywhere else; `set_budget(seconds=...)` is used where an agent has it. A move that the rules do not
allow is answered with ERROR and changes nothing.

Source: Petr Laštovička and others, the Gomocup protocol, version 2 (the commands of piskvork).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any, TextIO

import numpy as np

from asobiba.core.agents import Agent, make_agent
from asobiba.core.errors import AsobibaError, GameParameterError
from asobiba.core.game import Game, Ruleset
from asobiba.core.states import action_mask, is_over, legal_actions, new_state, step

HOOKS = ("gomocup_parameters", "gomocup_rule", "gomocup_square", "gomocup_action", "gomocup_state", "gomocup_stones")
_MARGIN = 0.05
"""Seconds subtracted from the time of a move for the transfer of the answer."""
_SQUARE = re.compile(r"\s*([0-9]{1,4})\s*,\s*([0-9]{1,4})\s*")
_STONE = re.compile(r"\s*([0-9]{1,4})\s*,\s*([0-9]{1,4})\s*,\s*([123])\s*")


class GomocupServer:
    """Answers the manager's commands.

    Args:
        game: a game with the protocol's hooks.
        agent: the agent's name with parameters.
        parameters: override those of the hooks (a preset with captures, for managers that know its rules).
        output: receives the answers.
    """

    def __init__(
        self,
        game: Game,
        agent: str,
        parameters: Mapping[str, Any] | None = None,
        output: TextIO | None = None,
    ):
        notation = game.ruleset().notation
        missing = [name for name in HOOKS if not hasattr(notation, name)]
        if missing:
            raise GameParameterError(f"{game.name} cannot be played by the Gomocup protocol: {missing[0]} is missing")
        self.game, self._notation, self._name = game, notation, agent
        self._chosen = dict(parameters or {})
        self._output = output or sys.stdout
        self._size, self._rule, self._seconds = 0, 0, 0.0
        self._left: float | None = None
        self._ruleset: Ruleset | None = None
        self._agent: Agent = make_agent(game, agent)
        self._state: np.void | None = None
        self._seat: int | None = None
        self._past: list[np.void] = []
        self._board: list[tuple[int, int, bool]] | None = None

    def run(self, lines: Iterable[str]) -> None:
        """Answers line by line until END or the end of the input."""
        for line in lines:
            words = line.split()
            if self._board is not None:
                self._read_board(line)
                continue
            if not words:
                continue
            command = words[0].upper()
            if command == "END":
                break
            handler = getattr(self, f"_on_{command.lower()}", None)
            if handler is None:
                self._say(f"UNKNOWN command {words[0][:40]}")
                continue
            try:
                handler(words[1:])
            except (AsobibaError, ValueError, IndexError) as error:
                self._say("ERROR " + " ".join(str(error).split())[:300])
        self._agent.close()

    def _say(self, text: str) -> None:
        self._output.write(text + "\n")
        self._output.flush()

    def _on_about(self, words: list[str]) -> None:
        self._say(f'name="asobiba {self._name}", version="{version("asobiba")}", author="The asobiba developers"')

    def _on_start(self, words: list[str]) -> None:
        if not words or not re.fullmatch("[0-9]{1,4}", words[0]):
            raise GameParameterError("START needs the size of the board, such as START 15")
        self._size = int(words[0])
        self._begin()
        self._say("OK")

    def _on_rectstart(self, words: list[str]) -> None:
        raise GameParameterError("the board must be square: use START")

    def _on_restart(self, words: list[str]) -> None:
        self._begin()
        self._say("OK")

    def _on_info(self, words: list[str]) -> None:
        key, value = (words[0].lower(), words[1]) if len(words) > 1 else ("", "")
        if key == "timeout_turn":
            self._seconds = int(value) / 1000
        elif key == "time_left":
            self._left = int(value) / 1000
        elif key == "rule":
            self._rule = int(value)
            if self._size and not self._past:
                self._begin()

    def _begin(self) -> None:
        if not self._size:
            raise GameParameterError("START comes first")
        self._agent.stop_pondering()
        parameters = {**self._notation.gomocup_parameters(self._size, self._rule), **self._chosen}
        self._ruleset = self.game.ruleset(**parameters)
        self._state = new_state(self._ruleset, 0)
        self._seat, self._past = None, []

    def _playing(self) -> tuple[Ruleset, np.void]:
        if self._ruleset is None or self._state is None:
            raise GameParameterError("START comes first")
        return self._ruleset, self._state

    def _on_begin(self, words: list[str]) -> None:
        self._playing()
        self._answer()

    def _on_turn(self, words: list[str]) -> None:
        ruleset, _ = self._playing()
        found = _SQUARE.fullmatch(" ".join(words))
        if found is None:
            raise GameParameterError("TURN needs the opponent's move, such as TURN 7,7")
        self._put(self._notation.gomocup_action(ruleset, int(found[1]), int(found[2])))
        self._answer()

    def _on_takeback(self, words: list[str]) -> None:
        self._playing()
        if not self._past:
            raise GameParameterError("there is no move to take back")
        self._state = self._past.pop()
        self._say("OK")

    def _on_board(self, words: list[str]) -> None:
        self._playing()
        self._board = []

    def _read_board(self, line: str) -> None:
        assert self._board is not None
        if line.strip().upper() != "DONE":
            if found := _STONE.fullmatch(line):
                self._board.append((int(found[1]), int(found[2]), found[3] == "1"))
            return
        stones, self._board = self._board, None
        ruleset, _ = self._playing()
        mine = sum(own for *_, own in stones)
        try:
            self._state = self._notation.gomocup_state(ruleset, stones, 2 * mine == len(stones))
            self._past, self._seat = [], None
            self._answer()
        except (AsobibaError, ValueError) as error:
            self._say("ERROR " + " ".join(str(error).split())[:300])

    def _put(self, action: int) -> None:
        ruleset, state = self._playing()
        after = step(ruleset, state, action)
        self._past.append(state)
        self._state = after

    def _answer(self) -> None:
        ruleset, state = self._playing()
        if is_over(state):
            raise GameParameterError("the game is over")
        seat = int(state["to_move"])
        if self._seat != seat:
            self._agent.reset(ruleset, seat, 0)
            self._seat = seat
        if hasattr(self._agent, "set_budget"):
            seconds = self._seconds
            if self._left is not None:
                seconds = min(seconds or self._left, self._left / 10)
            self._agent.set_budget(seconds=max(seconds - _MARGIN, 0.02) if seconds else None)
        mask = action_mask(ruleset, state)
        action = int(self._agent.act(state, mask))
        if not 0 <= action < len(mask) or not mask[action]:
            action = int(legal_actions(ruleset, state)[0])
        self._put(action)
        x, y = self._notation.gomocup_square(ruleset, action)
        self._say(f"{x},{y}")


def serve(
    game: Game,
    agent: str,
    parameters: Mapping[str, Any] | None = None,
    lines: Iterable[str] | None = None,
    output: TextIO | None = None,
) -> None:
    """Serves until END or the end of the input (standard input and output unless given)."""
    GomocupServer(game, agent, parameters, output).run(sys.stdin if lines is None else lines)

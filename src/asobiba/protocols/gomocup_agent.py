"""External Gomocup programs as agents: `gomocup:COMMAND`.

The program runs in its own process. Any failure to answer in time (silence, noise, an exit, invalid squares) raises an
`EngineError`, which costs only the game; the program is restarted for the next game.
"""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np

from asobiba.core.agents import Agent, agent_loader
from asobiba.core.errors import AsobibaError, GameParameterError
from asobiba.core.game import Game, Ruleset
from asobiba.core.states import legal_actions, new_state, step
from asobiba.protocols import sandbox
from asobiba.protocols.gomocup import HOOKS
from asobiba.protocols.process import EngineError, EngineProcess, EngineTimeout, split_command

_SETTING = re.compile(r"(seconds|handshake|grace|memory)=(.*)")
REST = 0.05
"""Seconds from an answer to the next command: Rapfi drops what comes while its search is put away."""
_SQUARE = re.compile(r"\s*([0-9]{1,4})\s*,\s*([0-9]{1,4})\s*")


class GomocupAgent(Agent):
    """Plays the moves of an external Gomocup program.

    Args:
        command: the program and its arguments, quoted as in a shell.
        seconds: time for a move (`INFO timeout_turn`).
        handshake: seconds that it has to answer START.
        grace: seconds that it may be late with a move.
        memory: bytes that it may use (`INFO max_memory`); 0 for no limit but the sandbox's.
    """

    def __init__(
        self, command: str, seconds: float = 1.0, handshake: float = 30.0, grace: float = 2.0, memory: int = 0
    ):
        for name, value in (("seconds", seconds), ("handshake", handshake), ("grace", grace)):
            if not 0 < value < 1e6:
                raise GameParameterError(f"{name} of a Gomocup program must be more than 0 seconds, not {value!r}")
        self.command = command
        self.name = f"gomocup:{command}"
        self.seconds, self.handshake, self.grace, self.memory = seconds, handshake, grace, int(memory)
        self._words = split_command(command)
        self.sandbox = sandbox.current()
        self._process: EngineProcess | None = None
        self._answered: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": None, "_answered": None}

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        notation = ruleset.game.notation and ruleset.notation
        if not all(hasattr(notation, name) for name in HOOKS):
            raise EngineError(f"{ruleset.game.name} has no Gomocup notation, so a Gomocup program cannot play it")
        rule = ruleset.notation.gomocup_rule(ruleset)
        self._ruleset, self._seat = ruleset, seat
        self._state: np.void | None = new_state(ruleset.unopened, 0)
        try:
            self.close()
            process = self._process = EngineProcess(self._words, sandbox=self.sandbox)
            width = max(ruleset.notation.gomocup_square(ruleset, ruleset.num_actions - 1)) + 1
            process.send(f"START {width}")
            self._expect(lambda line: line.strip().upper() == "OK", self.handshake)
            process.send(f"INFO timeout_turn {round(1000 * self.seconds)}")
            process.send("INFO timeout_match 0")
            process.send(f"INFO max_memory {self.memory}")
            process.send("INFO game_type 1")
            process.send(f"INFO rule {rule}")
        except EngineError:
            self.close()
            raise

    def act(self, view: np.void, legal: np.ndarray) -> int:
        if self._process is None:
            raise EngineError(f"{self.name} is not running: reset(ruleset, seat, seed) comes first")
        try:
            return self._act(self._process, view)
        except AsobibaError:
            self.close()
            raise

    def _act(self, process: EngineProcess, view: np.void) -> int:
        ruleset, notation = self._ruleset, self._ruleset.notation
        if self._answered is not None:
            time.sleep(max(0.0, self._answered + REST - time.monotonic()))
        process.skip_lines()
        played = self._reply_in(view)
        if int(view["steps"]) == 0:
            process.send("BEGIN")
        elif played is not None:
            x, y = notation.gomocup_square(ruleset, played)
            process.send(f"TURN {x},{y}")
        else:
            process.send("BOARD")
            for x, y, mine in notation.gomocup_stones(ruleset, view, self._seat):
                process.send(f"{x},{y},{1 if mine else 2}")
            process.send("DONE")
        answer = self._expect(lambda line: _SQUARE.fullmatch(line) is not None, self.seconds + self.grace)
        self._answered = time.monotonic()
        found = _SQUARE.fullmatch(answer)
        assert found is not None
        action = int(notation.gomocup_action(ruleset, int(found[1]), int(found[2])))
        if action in legal_actions(ruleset, view):
            self._state = step(ruleset, view, action)
        return action  # the rules judge it

    def _expect(self, fits: Any, seconds: float) -> str:
        """The first matching line; the program's messages for people are skipped."""
        assert self._process is not None
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self._process.read_line(deadline)
            except EngineTimeout:
                raise EngineTimeout(f"{self.name} did not answer within {seconds:g} s") from None
            if fits(line):
                return line
            word = line.split()[0].upper() if line.split() else ""
            if word in ("ERROR", "UNKNOWN"):
                raise EngineError(f"{self.name} answered {line[:200]!r}")

    def _reply_in(self, view: np.void) -> int | None:
        """The opponent's move that leads from the last known state to `view`, or `None`."""
        before = self._state
        if before is None or int(before["steps"]) + 1 != int(view["steps"]):
            return None
        action = int(self._ruleset.notation.gomocup_last(self._ruleset, view))
        if action not in legal_actions(self._ruleset, before):
            return None
        after = step(self._ruleset, before, action)
        same = all(after[name].tobytes() == view[name].tobytes() for name in _board_fields(view))
        return action if same else None

    def close(self) -> None:
        if self._process is not None:
            self._process.close("END")
            self._process = None


def _board_fields(view: np.void) -> list[str]:
    skipped = ("rng_key", "rng_counter", "rewards")
    return [name for name in view.dtype.names or () if name not in skipped]


@agent_loader(starts="program")
def load_agent(game: Game, argument: str) -> GomocupAgent:
    """The loader behind `gomocup:COMMAND` (entry point of the group `asobiba.agent_loaders`).

    Settings may stand before the command, as variables do in a shell: `gomocup:seconds=0.5 ./pbrain-name`.

    Raises:
        EngineError: if no command is given.
        GameParameterError: for a setting that cannot be read.
    """
    settings: dict[str, Any] = {}
    rest = argument.strip()
    while found := re.match(r"(\S+)(?:\s+|$)", rest):
        setting = _SETTING.fullmatch(found[1])
        if setting is None:
            break
        try:
            settings[setting[1]] = float(setting[2])
        except ValueError:
            raise GameParameterError(f"{setting[1]} of a Gomocup program is a number, not {setting[2]!r}") from None
        rest = rest[found.end() :]
    return GomocupAgent(rest, **settings)

"""Programs that speak one JSON object a line are agents: `process:COMMAND`. The protocol stands in docs/programs.md.

The program runs in a separate contained process (`asobiba.protocols.sandbox`). A fault costs it only the game: silence
is a time-out, an answer that is not a legal action is an illegal action, an exit is a crash.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.core.agents import Agent, agent_loader
from asobiba.core.errors import AsobibaError, GameParameterError
from asobiba.core.game import Game, Ruleset
from asobiba.protocols import sandbox
from asobiba.protocols.process import (
    EngineDied,
    EngineError,
    EngineProcess,
    EngineTimeout,
    IllegalAnswer,
    split_command,
)

PROTOCOL = 1
START_SECONDS = 60.0
"""Seconds that a program has to start and to report that it is ready for its first game."""


class JsonLinesAgent(Agent):
    """Plays the answers of a program.

    Args:
        command: the program and its arguments, quoted as in a shell.
        seconds: for a move; `None`: no limit (a league has its own).
        readable: files and folders that it may read.
        environment: variables of its environment.
    """

    thinks_outside = True

    def __init__(
        self,
        command: str | Sequence[str],
        seconds: float | None = None,
        readable: Sequence[str | Path] = (),
        environment: Mapping[str, str] | None = None,
    ):
        self.command = split_command(command)
        self.name = f"process:{command if isinstance(command, str) else ' '.join(self.command)}"
        self.limit = seconds
        self.readable, self.environment = tuple(readable), dict(environment or {})
        self.sandbox = sandbox.current()
        self.started_late = False
        """Whether the program has once not started in time; it then has no more time than for a move."""
        self._process: EngineProcess | None = None

    @property
    def running(self) -> bool:
        """Whether the program has been started and has not ended."""
        return self._process is not None and self._process.alive

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": None}

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self._ruleset, self._seat = ruleset, seat
        fresh = not self.running
        patient = fresh and not (self.started_late and self.limit is not None)
        try:
            if fresh:
                self.close()
                self._process = EngineProcess(
                    self.command, None, self.environment, sandbox=self.sandbox, readable=self.readable
                )
            answer = self._say(self._beginning(ruleset, seat, seed), START_SECONDS if patient else self.limit)
        except (EngineTimeout, EngineDied) as error:
            self.started_late |= fresh and isinstance(error, EngineTimeout)
            self.close()
            raise
        wants = answer.get("wants", ["view", "legal"])
        self._wants = (
            set(wants) if isinstance(wants, list) and all(isinstance(w, str) for w in wants) else {"view", "legal"}
        )

    def _beginning(self, ruleset: Ruleset, seat: int, seed: int) -> dict[str, Any]:
        return {
            "type": "begin", "protocol": PROTOCOL, "game": ruleset.game.name, "version": ruleset.game.version,
            "parameters": _plain(ruleset.parameters), "players": list(ruleset.players), "seat": seat, "seed": int(seed),
            "actions": ruleset.num_actions if ruleset.discrete else None,
            "seconds": self.limit,
        }  # fmt: skip

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        try:
            answer = self._say(self._question(view, legal), self.limit)
        except (EngineTimeout, EngineDied):
            self.close()  # a late answer would be taken for that to another question
            raise
        return self._action(view, answer)

    def _question(self, view: np.void, legal: np.ndarray) -> dict[str, Any]:
        question: dict[str, Any] = {"type": "act"}
        if "view" in self._wants:
            question["view"] = {
                name: _plain(view[name]) for name in view.dtype.names or () if not name.startswith(("_pad", "rng_"))
            }
        if "legal" in self._wants:
            question["legal"] = np.flatnonzero(legal).tolist()
        if "bytes" in self._wants:
            question["bytes"] = base64.b64encode(view.tobytes()).decode()
            question["mask"] = base64.b64encode(legal.tobytes()).decode()
        if "moves" in self._wants and self._ruleset.game.notation is not None:
            notation = self._ruleset.notation
            question["moves"] = [notation.action_to_text(self._ruleset, view, int(a)) for a in np.flatnonzero(legal)]
        if "observation" in self._wants:
            out = np.zeros((1, self._ruleset.observation_size), self._ruleset.observation_space.dtype)
            views = np.zeros(1, view.dtype)
            views[0] = view
            self._ruleset.engine.observe_all(views, self._ruleset.params, np.array([self._seat], np.int8), out)
            question["observation"] = out[0].tolist()
        return question

    def _action(self, view: np.void, answer: Mapping[str, Any]) -> Any:
        if "move" in answer and self._ruleset.game.notation is not None:
            try:
                return int(self._ruleset.notation.text_to_action(self._ruleset, view, str(answer["move"])))
            except (AsobibaError, ValueError, LookupError) as error:
                raise IllegalAnswer(f"answered the move {str(answer['move'])[:100]!r}: {error}") from None
        if "action" not in answer:
            raise IllegalAnswer(f"answered {json.dumps(answer)[:100]}, which holds no action")
        if isinstance(answer["action"], bool) or not isinstance(answer["action"], (int, float, list)):
            raise IllegalAnswer(f"answered the action {json.dumps(answer['action'])[:100]}, which is not a number")
        return answer["action"]

    def _say(self, message: Mapping[str, Any], seconds: float | None) -> dict[str, Any]:
        """Sends a message and returns the answer.

        Raises:
            EngineTimeout, EngineDied: as `EngineProcess`.
            IllegalAnswer: if the line is not a JSON object.
            HostedFault: for an exception of a hosted agent.
        """
        process = self._process
        if process is None:
            raise EngineError(f"{self.command[0]!r} has ended")
        allowed = 1e9 if seconds is None else seconds
        process.skip_lines()  # answers to nothing
        process.send(json.dumps(message, separators=(",", ":")), timeout=min(allowed, 60.0))
        line = process.read_answer(allowed)
        try:
            answer = json.loads(line, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise IllegalAnswer(f"answered {line[:100]!r}, which is not JSON") from None
        if not isinstance(answer, dict):
            raise IllegalAnswer(f"answered {line[:100]!r}, which is not a JSON object")
        return answer

    def close(self) -> None:
        if self._process is not None:
            self._process.close(farewell='{"type":"quit"}', grace=0.05)
            self._process = None


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.void):
        return {name: _plain(value[name]) for name in value.dtype.names or ()}
    if isinstance(value, np.ndarray) and value.dtype.names:
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


@agent_loader(starts="program")
def load_agent(game: Game, argument: str) -> Agent:
    """The loader behind `process:COMMAND` (entry point of the group `asobiba.agent_loaders`).

    Raises:
        GameParameterError: if no command is given.
    """
    if not argument.strip():
        raise GameParameterError("process: needs a command, such as process:'python3 my_agent.py'")
    return JsonLinesAgent(argument)

"""External programs that speak USI (Universal Shogi Interface) as agents: `usi:COMMAND`.

The program runs in its own process. Any failure to answer in time (silence, noise, an exit, invalid moves) raises an
`EngineError`, which costs only the game; the program is restarted for the next game.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from asobiba.core.agents import Agent, agent_loader
from asobiba.core.errors import AsobibaError, GameParameterError
from asobiba.core.game import Game, Ruleset
from asobiba.core.states import is_over, legal_actions, new_state, step
from asobiba.protocols import sandbox
from asobiba.protocols.process import EngineError, EngineProcess, IllegalAnswer, split_command

_SETTING = re.compile(r"(seconds|nodes|depth|handshake|loading|grace|ponder|option\.[^=]+)=(.*)")


class NotItsGame(EngineError, GameParameterError):
    """A game that USI programs cannot play."""


class Resigned(EngineError):
    """The program gave up the game."""


class UsiAgent(Agent):
    """Plays the moves of an external USI program.

    Args:
        command: the program and its arguments, quoted as in a shell.
        seconds: time for a move, sent as `byoyomi`.
        nodes, depth: sent instead of a time if given; `seconds` is then only the time to wait.
        handshake: seconds that the program has to answer `usi`.
        loading: seconds that it has to answer `isready`, after loading its data.
        grace: seconds that it may be late with a move: then it is told to `stop`, and has the same time again.
        ponder: let it think in the opponent's time, if it names the reply that it expects.
        options: its own options by name, sent as `setoption`.
    """

    def __init__(
        self,
        command: str,
        seconds: float = 1.0,
        nodes: int | None = None,
        depth: int | None = None,
        handshake: float = 30.0,
        loading: float = 60.0,
        grace: float = 2.0,
        ponder: bool = False,
        options: Mapping[str, str] | None = None,
    ):
        for name, value in (("seconds", seconds), ("handshake", handshake), ("loading", loading), ("grace", grace)):
            if not 0 < value < 1e6:
                raise GameParameterError(f"{name} of a USI program must be more than 0 seconds, not {value!r}")
        for name, count in (("nodes", nodes), ("depth", depth)):
            if count is not None and count < 1:
                raise GameParameterError(f"{name} of a USI program must be at least 1, not {count!r}")
        self.command = command
        self.name = f"usi:{command}"
        self.seconds, self.nodes, self.depth = seconds, nodes, depth
        self.handshake, self.loading, self.grace = handshake, loading, grace
        self.thinks_ahead, self.options = ponder, dict(options or {})
        self.engine_name = ""
        """Name that the program gives itself."""
        self.info = ""
        """Its last line of information about the last move."""
        self._process: EngineProcess | None = None
        self._words = split_command(command)
        self.sandbox = sandbox.current()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": None}

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        if ruleset.game.notation is None or not hasattr(ruleset.notation, "action_to_usi"):
            raise NotItsGame(f"{ruleset.game.name} has no USI notation, so a USI program cannot play it")
        self._ruleset, self._seat = ruleset, seat
        self._root, self._pondering = "startpos", ""
        self._moves: list[str] = []
        self._state: np.void | None = None
        try:
            if self._process is None or not self._process.alive:
                self._start()
            self._get_ready()
        except EngineError:
            self.close()
            raise

    def _start(self) -> None:
        self.close()
        process = self._process = EngineProcess(self._words, sandbox=self.sandbox)
        process.send("usi")
        lines: list[str] = []
        process.wait_for("usiok", timeout=self.handshake, others=lines)
        names = [line[8:].strip() for line in lines if line.startswith("id name ")]
        self.engine_name = names[0] if names else ""
        offered = {m[1] for line in lines if (m := re.match(r"option name (\S+) type ", line))}
        for name, value in self.options.items():
            process.send(f"setoption name {name} value {value}")
        if "USI_Ponder" in offered:
            process.send(f"setoption name USI_Ponder value {str(self.thinks_ahead).lower()}")

    def _get_ready(self) -> None:
        assert self._process is not None
        self._process.send("isready")
        self._process.wait_for("readyok", timeout=self.loading)
        self._process.send("usinewgame")

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
        self._follow(view)
        moves = f" moves {' '.join(self._moves)}" if self._moves else ""
        position = f"position {self._root}{moves}"
        if self._pondering and position == self._pondering:
            process.send("ponderhit")
        else:
            if self._pondering:
                process.send("stop")
                process.wait_for("bestmove", timeout=self.grace)
            process.skip_lines()
            process.send(position)
            process.send(f"go {self._limits()}")
        self._pondering = ""
        answer = self._best_move(process)
        words = answer.split()
        if len(words) < 2:
            raise IllegalAnswer(f"{self.name} answered {answer[:100]!r}: expected bestmove and a move")
        if words[1] in ("resign", "win"):
            raise Resigned(f"{self.name} answered {answer[:100]!r}")
        try:
            action = int(notation.text_to_action(ruleset, view, words[1]))
        except (AsobibaError, ValueError, LookupError) as error:
            raise IllegalAnswer(f"{self.name} answered {answer[:100]!r}: {error}") from None
        if action not in legal_actions(ruleset, view):
            return action  # the rules judge it
        self._moves.append(words[1])
        self._state = step(ruleset, view, action)
        if self.thinks_ahead and len(words) >= 4 and words[2] == "ponder" and not is_over(self._state):
            self._pondering = f"position {self._root} moves {' '.join([*self._moves, words[3]])}"
            process.send(self._pondering)
            process.send(f"go ponder {self._limits()}")
        return action

    def _limits(self) -> str:
        if self.nodes is not None:
            return f"nodes {self.nodes}"
        if self.depth is not None:
            return f"depth {self.depth}"
        return f"btime 0 wtime 0 byoyomi {max(1, round(1000 * self.seconds))}"

    def _best_move(self, process: EngineProcess) -> str:
        lines: list[str] = []
        try:
            answer = process.wait_for("bestmove", timeout=self.seconds + self.grace, others=lines)
        except TimeoutError:
            process.send("stop")
            answer = process.wait_for("bestmove", timeout=self.grace, others=lines)
        self.info = next((line for line in reversed(lines) if line.startswith("info ")), "")
        return answer

    def _follow(self, view: np.void) -> None:
        """Brings `position ... moves ...` up to `view`: finds the moves that led here, or takes it as a new root."""
        ruleset, text = self._ruleset, self._ruleset.notation.state_to_text
        state = self._state if self._state is not None else self._opening()
        if state is not None:
            if self._same(state, view):
                return
            if not is_over(state):
                for action in legal_actions(ruleset, state):
                    if self._same(step(ruleset, state, int(action)), view):
                        self._moves.append(ruleset.notation.action_to_usi(ruleset, state, int(action)))
                        return
        self._root, self._moves = f"sfen {text(ruleset, view)}", []

    def _opening(self) -> np.void | None:
        return None if self._ruleset.unopened.chance else new_state(self._ruleset.unopened, 0)

    def _same(self, state: np.void, view: np.void) -> bool:
        """Whether two states are the same point of a game; the generator's fields do not count."""
        a, b = state.copy(), view.copy()
        for record in (a, b):
            record["rng_key"] = record["rng_counter"] = 0
        return a.tobytes() == b.tobytes()

    def close(self) -> None:
        if self._process is not None:
            self._process.close("quit")
            self._process = None


@agent_loader(starts="program")
def load_agent(game: Game, argument: str) -> UsiAgent:
    """The loader behind `usi:COMMAND` (entry point of the group `asobiba.agent_loaders`).

    Settings may stand before the command, as variables do in a shell: `usi:seconds=0.5 option.Hash=16 ./engine --x`.

    Raises:
        EngineError: if no command is given.
        GameParameterError: for a setting that cannot be read.
    """
    settings: dict[str, Any] = {}
    options: dict[str, str] = {}
    rest = argument.strip()
    while found := re.match(r"(\S+)(?:\s+|$)", rest):
        setting = _SETTING.fullmatch(found[1])
        if setting is None:
            break
        name, value = setting[1], setting[2]
        if name.startswith("option."):
            options[name[7:]] = value
        else:
            settings[name] = _value(name, value)
        rest = rest[found.end() :]
    return UsiAgent(rest, options=options, **settings)


def _value(name: str, text: str) -> float | int | bool:
    try:
        if name == "ponder":
            return {"true": True, "false": False}[text.lower()]
        return int(text) if name in ("nodes", "depth") else float(text)
    except (ValueError, KeyError):
        expected = "true or false" if name == "ponder" else "a number"
        raise GameParameterError(f"{name} of a USI program is {expected}, not {text!r}") from None

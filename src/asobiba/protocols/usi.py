"""`asobiba engine GAME`: any agent behind USI (Universal Shogi Interface) on standard input and output.

A game can be served if its notation module has `action_to_usi` and its `text_to_state` reads the text after `sfen`.

Agents are asked as everywhere else (`reset`, `act`). Three things are used where an agent has them:

    set_budget(seconds=None, nodes=None, depth=None)    limits of the next moves, from `go`
    stop()                                              end the present thinking with the best move so far
    expected_reply                                      the reply expected to the last move (an action or `None`)

An agent without `stop` that has not answered when its time is up, or a moment after `stop`, is abandoned: its seat
plays a legal move at once, and a new agent continues.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from asobiba.core.agents import Agent, make_agent
from asobiba.core.errors import AsobibaError, GameParameterError
from asobiba.core.game import Game
from asobiba.core.states import action_mask, is_over, legal_actions, new_state, step

_RULE = "Rule_"
_MARGIN = 0.05
"""Seconds subtracted from every time limit for the transfer of the answer."""
_PATIENCE = 1.0
"""Seconds that an agent has after `stop`."""


@dataclass(frozen=True)
class Limits:
    """Limits of a `go` command.

    Args:
        seconds: time to aim at, `None` for no limit.
        hard: seconds after which a move must be played.
        nodes, depth: other budgets.
        hold: keep the move back until `stop` or `ponderhit`.
    """

    seconds: float | None = None
    hard: float | None = None
    nodes: int | None = None
    depth: int | None = None
    hold: bool = False


def read_limits(words: list[str], first_player: bool) -> Limits:
    """The limits in the words after `go`; words that cannot be read count as absent.

    `btime` and `wtime` are the time left, `binc` and `winc` the increment per move, `byoyomi` and `movetime` the time
    for a move, all in milliseconds.
    """
    numbers: dict[str, int] = {}
    for key, value in itertools.pairwise(words):
        with contextlib.suppress(ValueError):
            numbers[key] = max(0, int(value))
    side = "b" if first_player else "w"
    hold = "ponder" in words or "infinite" in words
    nodes, depth = numbers.get("nodes") or None, numbers.get("depth") or None
    left, added = numbers.get(f"{side}time"), numbers.get(f"{side}inc", 0)
    extra, fixed = numbers.get("byoyomi", 0), numbers.get("movetime")
    if "infinite" in words or (left is None and fixed is None and "byoyomi" not in numbers):
        return Limits(None, None, nodes, depth, hold)
    most = (fixed if fixed is not None else (left or 0) + added + extra) / 1000
    aim = most if fixed is not None else ((left or 0) / 30 + 0.8 * added + extra) / 1000
    hard = max(most - _MARGIN, 0.5 * most)
    return Limits(max(min(aim, most) - 2 * _MARGIN, 0.4 * min(aim, most)), hard, nodes, depth, hold)


class UsiServer:
    """One USI conversation.

    Args:
        game: the game to serve.
        agent: the agent as text, as in `make_agent`.
        output: receives the answers.

    Raises:
        AsobibaError: if the game has no USI notation.
    """

    def __init__(self, game: Game, agent: str, output: TextIO | None = None):
        ruleset = game.ruleset()
        if game.notation is None or not hasattr(ruleset.notation, "action_to_usi"):
            raise AsobibaError(f"{game.name} has no USI notation, so it cannot be played through USI")
        self.game, self.ruleset = game, ruleset
        self.agent_text = agent
        self.failed = False
        self._output = output if output is not None else sys.stdout
        self._seed = 0
        self._agent: Agent | None = None
        self._seat: int | None = None
        self._state = new_state(ruleset, 0)
        self._lock = threading.RLock()
        self._go: _Go | None = None

    def run(self, lines: Iterable[str]) -> int:
        """Answers until `quit` or the end of the lines. Returns the exit status."""
        for line in lines:
            words = line.split()
            if not words:
                continue
            if words[0] == "quit":
                break
            try:
                self._answer(words)
            except BrokenPipeError:
                break
            except Exception as error:  # no input may end the conversation
                self._note(f"error: {error}")
            if self.failed:
                break
        self._finish()
        if self._agent is not None:
            with contextlib.suppress(Exception):
                self._agent.close()
        return 1 if self.failed else 0

    def _answer(self, words: list[str]) -> None:
        command = getattr(self, f"_on_{words[0]}", None)
        if command is None:
            self._note(f"unknown command: {words[0][:40]}")
        else:
            command(words[1:])

    def _say(self, line: str) -> None:
        with self._lock:
            self._output.write(line + "\n")
            self._output.flush()

    def _note(self, text: str) -> None:
        self._say("info string " + " ".join(text.split())[:400])

    def _on_usi(self, words: list[str]) -> None:
        self._say(f"id name asobiba {self.game.name} {self.agent_text}")
        self._say("id author the asobiba developers")
        self._say("option name USI_Ponder type check default false")
        self._say(f"option name Agent type string default {self.agent_text}")
        self._say(f"option name Seed type spin default 0 min 0 max {2**31 - 1}")
        for name, value in self.game.parameters.items():
            if isinstance(value, bool):
                self._say(f"option name {_RULE}{name} type check default {str(value).lower()}")
            elif isinstance(value, int):
                self._say(f"option name {_RULE}{name} type spin default {value} min 0 max {2**31 - 1}")
            elif isinstance(value, str):
                self._say(f"option name {_RULE}{name} type string default {value}")
        self._say("usiok")

    def _on_setoption(self, words: list[str]) -> None:
        if "name" not in words:
            raise GameParameterError("expected: setoption name NAME value VALUE")
        end = words.index("value") if "value" in words else len(words)
        name, value = " ".join(words[words.index("name") + 1 : end]), " ".join(words[end + 1 :])
        self._finish()
        if name == "Agent":
            self._drop_agent()
            self.agent_text = value
        elif name == "Seed":
            self._seed, self._seat = int(value), None
        elif name.startswith(_RULE) and name[len(_RULE) :] in self.game.parameters:
            key = name[len(_RULE) :]
            default = self.game.parameters[key]
            given: Any = value.lower() == "true" if isinstance(default, bool) else type(default)(value)
            self.ruleset = self.game.ruleset(**{**self.ruleset.parameters, key: given})
            self._state, self._seat = new_state(self.ruleset, self._seed), None
        elif not name.startswith("USI_"):
            self._note(f"no option is called {name}")

    def _on_isready(self, words: list[str]) -> None:
        self._finish()
        try:
            self._load()
        except Exception as error:
            self.failed = True
            self._note(f"error: {error}")
            print(f"asobiba engine: {error}", file=sys.stderr)
            return
        self._say("readyok")

    def _load(self) -> Agent:
        """The agent, built and prepared (files read, code compiled) if need be."""
        if self._agent is None:
            agent = make_agent(self.game, self.agent_text)
            self._warm_up(agent)
            self._agent, self._seat = agent, None
        seat = int(self._state["to_move"])
        if self._seat != seat:
            self._agent.begin(self.ruleset, (seat,), (self._seed,))
            self._seat = seat
        return self._agent

    def _warm_up(self, agent: Agent) -> None:
        """Plays a move from the start, so that all code is compiled and all files are read."""
        state = new_state(self.ruleset, self._seed)
        agent.begin(self.ruleset, (int(state["to_move"]),), (self._seed,))
        if hasattr(agent, "set_budget"):
            agent.set_budget(nodes=1)
        action = int(agent.act(state.copy(), action_mask(self.ruleset, state)))
        step(self.ruleset, state, action)

    def _drop_agent(self) -> None:
        if self._agent is not None:
            self._agent.close()
        self._agent, self._seat = None, None

    def _on_usinewgame(self, words: list[str]) -> None:
        self._finish()
        self._seat = None
        self._state = new_state(self.ruleset, self._seed)

    def _on_gameover(self, words: list[str]) -> None:
        self._finish()

    def _on_position(self, words: list[str]) -> None:
        self._finish()
        end = words.index("moves") if "moves" in words else len(words)
        kind, text = (words[0] if words else ""), " ".join(words[1:end])
        notation = self.ruleset.notation
        if kind == "startpos":
            state = new_state(self.ruleset, self._seed)
        elif kind == "sfen":
            state = notation.text_to_state(self.ruleset, text)
        else:
            raise GameParameterError("expected: position startpos [moves ...] or position sfen SFEN [moves ...]")
        for move in words[end + 1 :]:
            state = step(self.ruleset, state, notation.text_to_action(self.ruleset, state, move))
        self._state = state

    def _on_go(self, words: list[str]) -> None:
        self._finish()
        if "mate" in words[:1]:
            self._say("checkmate notimplemented")
            return
        if is_over(self._state):
            self._say("bestmove resign")
            return
        self._go = _Go(self, read_limits(words, int(self._state["to_move"]) == 0), words)
        self._go.start()

    def _on_ponderhit(self, words: list[str]) -> None:
        if self._go is not None:
            self._go.release()

    def _on_stop(self, words: list[str]) -> None:
        self._finish()

    def _finish(self) -> None:
        """Ends the present thinking; its move has been printed when this returns."""
        if self._go is not None:
            self._go.stop()
            self._go = None


class _Go:
    """One `go`: the agent thinks in a thread of its own; exactly one move is printed."""

    def __init__(self, server: UsiServer, limits: Limits, words: list[str]):
        self._server, self._limits = server, limits
        self._state = server._state.copy()
        self._held = limits.hold
        self._said = False
        self._done = threading.Event()
        self._result: tuple[int, int | None] | None = None
        self._guard = threading.Condition()
        self._timer: threading.Timer | None = None
        self._thread = threading.Thread(target=self._think, daemon=True)

    def start(self) -> None:
        if not self._held:
            self._start_clock()
        self._thread.start()

    def _start_clock(self) -> None:
        if self._limits.hard is not None:
            self._timer = threading.Timer(self._limits.hard, self._give_up)
            self._timer.daemon = True
            self._timer.start()

    def _think(self) -> None:
        server = self._server
        try:
            agent = server._load()
            if hasattr(agent, "set_budget"):
                limits = self._limits
                agent.set_budget(seconds=limits.seconds, nodes=limits.nodes, depth=limits.depth)
            action = int(agent.act(self._state.copy(), action_mask(server.ruleset, self._state)))
            reply = getattr(agent, "expected_reply", None)
            with self._guard:
                self._result = (action, None if reply is None else int(reply))
        except Exception as error:
            with contextlib.suppress(Exception):
                server._note(f"error: {error}")
        self._done.set()
        if not self._held:
            self._say_move()

    def release(self) -> None:
        """The opponent played the expected move: from now on the clock runs."""
        with self._guard:
            self._held = False
        if self._done.is_set():
            self._say_move()
        else:
            self._start_clock()

    def stop(self) -> None:
        """Ends the thinking and prints the move, unless it was printed."""
        with self._guard:
            self._held = False
        agent = self._server._agent
        deadline = time.monotonic() + _PATIENCE
        while not self._done.wait(0.01) and time.monotonic() < deadline:
            _tell_to_stop(agent)  # repeated, since the search may not have begun at the first call
        if not self._done.is_set():
            self._abandon()
        self._say_move()
        if self._timer is not None:
            self._timer.cancel()

    def _give_up(self) -> None:
        """Called when the time is up."""
        if _tell_to_stop(self._server._agent):
            self._done.wait(_MARGIN / 2)
        if not self._done.is_set():
            self._abandon()
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._say_move()

    def _abandon(self) -> None:
        """Abandons an agent that does not answer."""
        with self._guard:
            if self._result is None and not self._said:
                legal = legal_actions(self._server.ruleset, self._state)
                self._result = (int(random.Random(self._server._seed).choice(legal.tolist())), None)
                self._server._note("the agent does not answer in time: any legal move is played")
                self._server._agent = self._server._seat = None

    def _say_move(self) -> None:
        with self._guard:
            if self._said or self._held:
                return
            self._said = True
            result = self._result
        server = self._server
        if result is None:
            server._say("bestmove resign")
            return
        action, reply = result
        notation = server.ruleset.notation
        line = f"bestmove {notation.action_to_usi(server.ruleset, self._state, action)}"
        if reply is not None:
            with contextlib.suppress(AsobibaError):
                after = step(server.ruleset, self._state, action)
                if not is_over(after) and np.isin(reply, legal_actions(server.ruleset, after)):
                    line += f" ponder {notation.action_to_usi(server.ruleset, after, reply)}"
        server._say(line)


def _tell_to_stop(agent: Agent | None) -> bool:
    """Tells the agent to stop; returns whether it can be stopped."""
    stop = getattr(agent, "stop", None)
    if stop is None:
        return False
    with contextlib.suppress(Exception):  # it may not have begun
        stop()
    return True


def serve(game: Game, agent: str, lines: Iterable[str] | None = None, output: TextIO | None = None) -> int:
    """Speaks USI until `quit`, on standard input and output by default. Returns the exit status."""
    return UsiServer(game, agent, output).run(lines if lines is not None else iter(sys.stdin.readline, ""))

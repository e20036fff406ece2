"""A person against an agent on a page of the local browser, for every game of sequential turns.

The picture is the game's SVG. Where the game's drawing module has `clicks(ruleset, state) -> {action: [data-name, ...]}`
a move is played by clicking those parts of the picture; the legal moves also stand beside it as buttons. A game without
a picture is shown as text.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

import numpy as np

from asobiba.core import Agent, AsobibaError, GameParameterError, IllegalAction, NotationError, Ruleset, make_agent
from asobiba.core.states import action_mask, as_action, is_over, new_state, step, view_of

_LOCAL = ("127.0.0.1", "localhost")
_LARGEST_REQUEST = 10_000
_IDLE_SECONDS = 20.0


@dataclass
class Table:
    """One game in progress between a person and an agent.

    Args:
        ruleset: a game of sequential turns. Where actions are continuous the person writes them.
        agent: the agent's name with parameters, or an `Agent`.
        seat: the person's seat, or -1 if he moves for all seats.
        position: where to begin, in the game's notation; `None` is a starting position.
        ponder: whether the agent is told to think while the person does.
        seed: of the game's chance and of the agent; each new game takes the next one.

    All methods may be called from several threads.
    """

    ruleset: Ruleset
    agent: str | Agent
    seat: int = 0
    position: str | None = None
    ponder: bool = True
    seed: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        game = self.ruleset.game
        if self.ruleset.simultaneous:
            raise GameParameterError(f"{game.name} cannot be played here: its players do not choose moves in turn")
        if not -1 <= self.seat < self.ruleset.num_players:
            raise GameParameterError(f"the seat is from -1 (all) to {self.ruleset.num_players - 1}, not {self.seat}")
        self._agents: dict[int, Agent] = {}
        for k in range(self.ruleset.num_players):
            if self.seat not in (-1, k):
                self._agents[k] = make_agent(game, self.agent) if isinstance(self.agent, str) else self.agent
        self._thinker: threading.Thread | None = None
        self._trouble = ""
        self.new()

    def new(self) -> None:
        """Begins a new game."""
        self._settle()
        with self._lock:
            if self.position is None:
                state = new_state(self.ruleset, self.seed)
            else:
                state = self.ruleset.notation.text_to_state(self.ruleset, self.position)
            self.past: list[tuple[np.void, Any]] = []
            self.state = state
            self._trouble = ""
            for seat, agent in self._agents.items():
                agent.begin(self.ruleset, (seat,), (self.seed,))
            self.seed += 1
        self._answer()

    def play(self, action: int | str, ply: int | None = None) -> None:
        """The person's move. With `ply` it must be the number of moves played so far, so that no click counts twice.

        Raises:
            IllegalAction: if it is not the person's turn, or the move is not legal.
            NotationError: for text that is no move.
        """
        with self._lock:
            if ply is not None and ply != len(self.past):
                raise IllegalAction(f"the game is at move {len(self.past) + 1}, the page showed move {ply + 1}")
            if is_over(self.state):
                raise IllegalAction("the game is over")
            if int(self.state["to_move"]) in self._agents:
                raise IllegalAction("it is the agent's turn")
            move = as_action(self.ruleset, self._written(action) if isinstance(action, str) else action)
            after = step(self.ruleset, self.state, move)
            self.past.append((self.state, move))
            self.state = after
        self._answer()

    def _written(self, text: str) -> Any:
        """The action of a text: numbers where actions are continuous, else the game's notation."""
        if self.ruleset.discrete and self.ruleset.game.notation is not None:
            return self.ruleset.notation.text_to_action(self.ruleset, self.state, text)
        try:
            numbers = [float(word) for word in text.replace(",", " ").split()]
        except ValueError:
            raise NotationError(f"a move is written in numbers here, not {text!r}") from None
        return numbers[0] if self.ruleset.discrete and numbers else numbers

    def undo(self) -> None:
        """Takes back moves until the person is to move again."""
        self._settle()
        with self._lock:
            self._trouble = ""
            while self.past:
                self.state = self.past.pop()[0]
                if int(self.state["to_move"]) not in self._agents:
                    break
        self._answer()

    def wait(self) -> None:
        """Returns when the agent has moved."""
        if self._thinker is not None:
            self._thinker.join()

    def close(self) -> None:
        """Ends all thinking."""
        self._settle()
        for agent in self._agents.values():
            agent.close()

    def _settle(self) -> None:
        for agent in self._agents.values():
            agent.stop_pondering()
        self.wait()
        for agent in self._agents.values():
            agent.stop_pondering()

    def _answer(self) -> None:
        """Lets the agents move until it is the person's turn, in a thread of its own."""
        with self._lock:
            if is_over(self.state) or int(self.state["to_move"]) not in self._agents:
                self._ponder()
                return
            self._thinker = threading.Thread(target=self._think, daemon=True)
            self._thinker.start()

    def _think(self) -> None:
        while not is_over(self.state) and (seat := int(self.state["to_move"])) in self._agents:
            try:
                view = view_of(self.ruleset, self.state, seat)
                action = as_action(self.ruleset, self._agents[seat].act(view, action_mask(self.ruleset, self.state)))
                after = step(self.ruleset, self.state, action)
            except Exception as error:  # whatever an agent raises must reach the page
                self._trouble = f"{self._agents[seat].name} failed: {type(error).__name__}: {error}"
                return
            with self._lock:
                self.past.append((self.state, action))
                self.state = after
        self._ponder()

    def _ponder(self) -> None:
        if self.ponder and not is_over(self.state):
            for seat, agent in self._agents.items():
                agent.ponder(view_of(self.ruleset, self.state, seat))

    def describe(self) -> dict[str, Any]:
        """What the page shows, as JSON-ready values."""
        with self._lock:
            state, past = self.state, list(self.past)
        ruleset, game, over = self.ruleset, self.ruleset.game, is_over(state)
        viewer = None if self.seat < 0 else self.seat
        shown = state if viewer is None else view_of(ruleset, state, viewer)
        mover = int(state["to_move"])
        theirs = mover in self._agents
        thinking = not over and theirs and not self._trouble
        result: dict[str, Any] = {
            "title": game.title,
            "ply": len(past),
            "thinking": thinking,
            "over": over,
            "status": self._status(state),
            "note": self._trouble,
            "svg": None,
            "text": "",
            "record": [_move_text(ruleset, before, action, viewer) for before, action in past],
            "moves": [],
            "write": "",
        }
        if game.draw is not None:
            result["svg"] = ruleset.draw.svg(ruleset, shown, seat=viewer, last_action=past[-1][1] if past else None)
        elif game.notation is not None:
            result["text"] = ruleset.notation.board_text(ruleset, shown, viewer)
        else:
            result["text"] = str(shown)
        if not over and not theirs and not ruleset.discrete:
            result["write"] = f"{ruleset.actions_shape[0]} numbers from -1 to 1"
        elif not over and not theirs:
            clicks = ruleset.draw.clicks if game.draw is not None and hasattr(ruleset.draw, "clicks") else None
            paths = clicks(ruleset, shown) if clicks else {}
            for action in np.flatnonzero(action_mask(ruleset, state)):
                text = _move_text(ruleset, state, int(action), None)
                result["moves"].append({"action": int(action), "text": text, "path": paths.get(int(action), [])})
        return result

    def _status(self, state: np.void) -> str:
        names = self.ruleset.players
        if not is_over(state):
            mover = int(state["to_move"])
            who = f"{self._agents[mover].name} is thinking" if mover in self._agents else "your move"
            return f"{names[mover]} to move: {who}"
        rewards = state["rewards"].tolist()
        if self.seat < 0 or len(rewards) < 2:
            return "The game is over: " + ", ".join(f"{n} {r:+g}" for n, r in zip(names, rewards, strict=True))
        mine = rewards[self.seat]
        return f"The game is over: {'you win' if mine > 0 else 'you lose' if mine < 0 else 'a draw'}"


def _move_text(ruleset: Ruleset, state: np.void, action: Any, viewer: int | None) -> str:
    if ruleset.hidden and viewer is not None and int(state["to_move"]) != viewer:
        return "..."
    if not ruleset.discrete:
        return ", ".join(f"{number:.3f}" for number in np.ravel(action))
    if ruleset.game.notation is None:
        return str(action)
    return ruleset.notation.action_to_text(ruleset, state, action)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    timeout = _IDLE_SECONDS
    """After which a connection that says nothing is closed."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):  # the page was closed while it was answered
            self.close_connection = True

    def do_GET(self) -> None:
        if not self._trusted():
            return
        if self.path == "/":
            page = (files("asobiba.protocols") / "browser.html").read_bytes()
            self._send(200, page, "text/html; charset=utf-8")
        elif self.path == "/state":
            self._describe()
        else:
            self._send_json(404, {"error": f"there is nothing at {self.path}"})

    def do_POST(self) -> None:
        if not self._trusted():
            return
        table = self.server.table
        try:
            asked = self._body()
            with self.server.turn:  # many tabs at once are served one by one
                if self.path == "/play":
                    move = asked["text"] if isinstance(asked.get("text"), str) else _number(asked, "action")
                    table.play(move, None if "ply" not in asked else _number(asked, "ply"))
                elif self.path == "/new":
                    table.new()
                elif self.path == "/undo":
                    table.undo()
                else:
                    self._send_json(404, {"error": f"there is nothing at {self.path}"})
                    return
        except (AsobibaError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            self._send_json(400, {"error": str(error) or type(error).__name__})
            return
        self._describe()

    def _body(self) -> dict[str, Any]:
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= _LARGEST_REQUEST:
            self.close_connection = True  # what was not read is no further request
            raise ValueError(f"a request has at most {_LARGEST_REQUEST} bytes, not {length}")
        asked = json.loads(self.rfile.read(length) or b"{}", parse_constant=_no_number)
        if not isinstance(asked, dict):
            raise ValueError("a request is a JSON object")
        return asked

    def _trusted(self) -> bool:
        """Other sites' pages must not play: the host is this machine, and the origin, where named, is this page."""
        host = self.headers.get("Host", "")
        origin = self.headers.get("Origin")
        if host.rsplit(":", 1)[0] in _LOCAL and origin in (None, f"http://{host}"):
            return True
        self._send_json(403, {"error": "only the page of this machine may play here"})
        return False

    def _describe(self) -> None:
        self._send_json(200, self.server.table.describe())

    def _send_json(self, code: int, value: dict[str, Any]) -> None:
        self._send(code, json.dumps(value).encode(), "application/json")

    def _send(self, code: int, body: bytes, kind: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass  # the terminal belongs to the person


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def _number(asked: dict[str, Any], name: str) -> int:
    """A whole number of a request.

    Raises:
        ValueError: if it is none.
    """
    value = asked[name]
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 1 << 31:
        raise ValueError(f"{name} is a whole number, not {str(value)[:40]!r}")
    return value


class PageServer(ThreadingHTTPServer):
    """Serves one table on this machine only."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, table: Table, port: int = 0):
        self.table = table
        self.turn = threading.Lock()
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise GameParameterError(
                f"port {port} cannot be used ({error.strerror}); port 0 takes a free one"
            ) from None

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://127.0.0.1:{self.server_address[1]}/"


def serve(
    ruleset: Ruleset,
    agent: str = "random",
    seat: int = 0,
    *,
    port: int = 8000,
    position: str | None = None,
    ponder: bool = True,
    open_page: bool = True,
    seed: int = 0,
) -> None:
    """Serves the page until interrupted (Ctrl-C), and opens it in the browser where there is one."""
    import webbrowser

    server = PageServer(Table(ruleset, agent, seat, position, ponder, seed), port)
    print(f"{ruleset.game.title} on {server.url} (Ctrl-C ends it)", flush=True)
    if open_page:
        threading.Timer(0.3, webbrowser.open, (server.url,)).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
        server.table.close()

"""A person against agents on a page of the local browser, for every game.

The picture is the game's SVG; a game without one is shown as text. Legal moves are buttons beside it, chosen word by
word where there are many; continuous actions are typed, in the game's notation or as numbers. The game's drawing module
may have these optional hooks:

* `clicks(ruleset, state) -> {action: [name, ...]}`: the parts of the picture that one clicks to play a move. A part is an
  element with that `data-name`, or one of
* `targets(ruleset) -> {name: (x, y, width, height)}`: rectangles in the picture's units, which the page lays over it.
* `controls(ruleset) -> dict`: input fields for an action. `fields`, whose values joined by blanks are its text: each
  has a `name` and either `choices` or `low`, `high`, `step`; `value`, where it begins; and, where a click on the
  picture sets it, `axis` ("x" or "y"), `origin` and `scale`, by which a place in the picture becomes a value. `lead`:
  words in front. `suggestions`: whole texts, as buttons. `hint`: a line of help. `seconds`: of one step, if an action
  may be held for several.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from itertools import groupby
from typing import Any

import numpy as np

from asobiba.api.render import picture_seat
from asobiba.arena.match import agent_seed
from asobiba.arena.person import end_text, move_text, read_action, status_text, why_not
from asobiba.core import Agent, AsobibaError, Game, GameParameterError, IllegalAction, Ruleset, make_agent
from asobiba.core.answers import read_answer
from asobiba.core.states import action_mask, agent_views, is_over, new_state, step

_LOCAL = ("127.0.0.1", "localhost")
_LARGEST_REQUEST = 10_000
_MOST_STEPS = 1000
_IDLE_SECONDS = 20.0
_PATIENCE = 2.0
"""Seconds that a new game, or an undo, waits for an agent that is thinking."""


@dataclass
class PageGame:
    """One game in progress between a person and an agent, which has all other seats.

    Args:
        ruleset: the game. Where several act at once, the others answer after the person has chosen, without knowing the
            choice.
        agent: the agent's name with parameters, or an `Agent`.
        seat: the person's seat, or -1 if the person moves for all seats (in games of sequential turns).
        position: the position to begin with, in the game's notation; `None` is a starting position.
        ponder: whether the agent is told to think while the person does.
        seed: of the game's chance and of the agent; each new game takes the next one.
        build: makes an agent from its text; another function may make it contained.

    All methods may be called from several threads.
    """

    ruleset: Ruleset
    agent: str | Agent
    seat: int = 0
    position: str | None = None
    ponder: bool = True
    seed: int = 0
    build: Callable[[Game, str], Agent] = make_agent
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        game = self.ruleset.game
        if not -1 <= self.seat < self.ruleset.num_players:
            raise GameParameterError(f"the seat is from -1 (all) to {self.ruleset.num_players - 1}, not {self.seat}")
        if self.ruleset.simultaneous and self.seat < 0:
            raise GameParameterError(f"{game.name} is played from one seat: several players may act at once there")
        self._agents: dict[int, Agent] = {}
        for k in range(self.ruleset.num_players):
            if self.seat not in (-1, k):
                self._agents[k] = self.build(game, self.agent) if isinstance(self.agent, str) else self.agent
        self._thinker: threading.Thread | None = None
        self._thinking = False
        self._round = 0  # counts agents left alone in thought
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
            self._chosen: list[int] = []  # plies of the person's choices
            self._trouble = ""
            for seat, agent in self._agents.items():
                agent.begin(self.ruleset, (seat,), (agent_seed(self.seed, seat),))
            self.seed += 1
        self._answer()

    def play(self, action: int | str, ply: int | None = None, times: int = 1) -> None:
        """The person's move. With `ply` it must be the number of moves played so far, so that a click never counts
        twice.

        Args:
            action: its number or its text.
            times: number of successive steps in which it is played, while the person is asked again at once.

        Raises:
            IllegalAction: if it is not the person's turn, or the move is not legal.
            NotationError: for text that is not a move.
        """
        if not 1 <= times <= _MOST_STEPS:
            raise IllegalAction(f"an action is kept for 1 to {_MOST_STEPS} steps, not {times}")
        with self._lock:
            if ply is not None and ply != len(self.past):
                raise IllegalAction(f"the game is at move {len(self.past) + 1}, the page showed move {ply + 1}")
            if is_over(self.state):
                raise IllegalAction("the game is over")
            if self._thinking or not self._asked():
                raise IllegalAction("it is the agent's turn")
            seat = self._mover()
            move = self._checked(action, seat)
            self._chosen.append(len(self.past))
            self._trouble = ""
            if not self.ruleset.simultaneous:
                for _ in range(times):
                    if is_over(self.state) or self._mover() != seat:
                        break
                    try:
                        self._take(move)
                    except IllegalAction:  # kept for longer than it is legal
                        break
        if self.ruleset.simultaneous:
            self._answer(move, times)
        else:
            self._answer()

    def _mover(self) -> int:
        """The seat for which the person moves now."""
        return self.seat if self.ruleset.simultaneous else int(self.state["to_move"])

    def _asked(self) -> bool:
        """Whether the person acts now, alone or among others."""
        return any(int(k) not in self._agents for k in self.ruleset.actors(self.state))

    def _view(self, seat: int) -> np.void:
        return agent_views(self.ruleset, np.array([self.state]), np.array([seat]))[0]

    def _mask(self, seat: int) -> np.ndarray:
        masks = action_mask(self.ruleset, self.state)
        return masks[seat] if self.ruleset.simultaneous else masks

    def _checked(self, action: int | str, seat: int) -> Any:
        """The person's action, if it is allowed."""
        found = read_action(self.ruleset, self._view(seat), action) if isinstance(action, str) else action
        move, remark = read_answer(self.ruleset, found)
        if remark:
            raise IllegalAction(remark.replace("answered", "you chose", 1))
        if self.ruleset.discrete:
            if not self._mask(seat)[move]:
                what = repr(action) if isinstance(action, str) else f"action {move}"
                told = f"{self.ruleset.players[seat]} may not play {what} now"
                reason = why_not(self.ruleset, self._view(seat), int(move))
                raise IllegalAction(f"{told}: {reason}" if reason else told)
        elif not self.ruleset.action_space.contains(move):
            raise IllegalAction(f"{move.tolist()} is outside the action space {self.ruleset.action_space}")
        return move

    def _take(self, action: Any, number: int | None = None) -> None:
        strict = self.ruleset.game.faults == "end"
        with self._lock:
            if number not in (None, self._round):
                raise _LeftAlone
            after = step(self.ruleset, self.state, action, strict=strict)
            self.past.append((self.state, action))
            self.state = after

    def undo(self) -> None:
        """Takes back the person's last choice and everything after it.

        Raises:
            IllegalAction: in games of hidden information, where an undo would reveal something.
        """
        if self._secret():
            raise IllegalAction("nothing is taken back in a game of hidden information")
        self._settle()
        with self._lock:
            self._trouble = ""
            if self._chosen:
                ply = self._chosen.pop()
                self.state = self.past[ply][0] if ply < len(self.past) else self.state
                del self.past[ply:]
        self._answer()

    def _secret(self) -> bool:
        """Whether the person sees less than the full state."""
        return self.ruleset.hidden and self.seat >= 0 and picture_seat(self.ruleset, self.seat) is not None

    def wait(self) -> None:
        """Returns when the agent has moved."""
        if self._thinker is not None:
            self._thinker.join()

    def close(self) -> None:
        """Ends all thinking."""
        for agent in self._agents.values():
            agent.stop_pondering()
        if self._thinker is not None:
            self._thinker.join(_PATIENCE)
        for agent in self._agents.values():
            agent.close()

    def _settle(self) -> None:
        """Ends all thinking. An agent that does not answer in time is abandoned, and a new one takes its place.

        Raises:
            IllegalAction: if that agent was given as an object, so that no new one can be made.
        """
        for agent in self._agents.values():
            agent.stop_pondering()
        if self._thinker is not None:
            self._thinker.join(_PATIENCE)
            if self._thinker.is_alive():
                self._leave_alone()
        for agent in self._agents.values():
            agent.stop_pondering()

    def _leave_alone(self) -> None:
        if not isinstance(self.agent, str):
            raise IllegalAction(f"{self.agent.name} is still thinking; try again when it has moved")
        with self._lock:
            self._round += 1
            self._thinking, self._thinker = False, None
            for seat, agent in self._agents.items():
                threading.Thread(target=agent.close, daemon=True).start()
                self._agents[seat] = self.build(self.ruleset.game, self.agent)
                self._agents[seat].begin(self.ruleset, (seat,), (agent_seed(self.seed - 1, seat),))

    def _answer(self, move: Any = None, times: int = 0) -> None:
        """Lets the agents act until it is the person's turn, in a separate thread; first, where all act at once,
        together with the person's move.
        """
        with self._lock:
            if move is None and (is_over(self.state) or self._asked()):
                self._ponder()
                return
            self._thinking = True
            self._thinker = threading.Thread(target=self._think, args=(move, times, self._round), daemon=True)
            self._thinker.start()

    def _think(self, move: Any, times: int, number: int) -> None:
        try:
            while not is_over(self.state) and (times > 0 or not self._asked()):
                asked = self._asked()
                if asked and self.ruleset.discrete and not self._mask(self.seat)[move]:
                    break  # kept for longer than it is legal
                times -= asked
                self._take(self._joined(move) if self.ruleset.simultaneous else self._choice(self._mover()), number)
        except _LeftAlone:
            return
        except _Trouble as error:
            if number == self._round:
                self._trouble = str(error)
        finally:
            with self._lock:
                if number == self._round:
                    self._thinking = False
        if number == self._round and not self._trouble:
            self._ponder()

    def _joined(self, move: Any) -> np.ndarray:
        """Actions of all who act now: the person's move, and the agents' choices."""
        action = np.zeros(self.ruleset.actions_shape, self.ruleset.action_dtype)
        for seat in self.ruleset.actors(self.state).tolist():
            action[seat] = self._choice(seat) if seat in self._agents else move
        return action

    def _choice(self, seat: int) -> Any:
        agent, remark = self._agents[seat], ""
        try:
            answer, remark = read_answer(self.ruleset, agent.act(self._view(seat), self._mask(seat)))
            if not remark and self.ruleset.discrete and not self._mask(seat)[answer]:
                remark = f"answered {answer}, which is not legal"
        except Exception as error:  # any exception of an agent must reach the page
            raise _Trouble(f"{agent.name} failed: {type(error).__name__}: {error}") from None
        if remark and self.ruleset.game.faults == "end":
            raise _Trouble(f"{agent.name} failed: it {remark}")
        return answer

    def _ponder(self) -> None:
        if self.ponder and not self.ruleset.simultaneous and not is_over(self.state):
            for seat, agent in self._agents.items():
                agent.ponder(self._view(seat))

    def describe(self) -> dict[str, Any]:
        """Content of the page, as JSON-ready values."""
        with self._lock:
            state, past = self.state, list(self.past)
            over, asked = is_over(state), self._asked() and not self._thinking
            thinking = not over and not asked and not self._trouble
            mover = self._mover()
            result: dict[str, Any] = {
                "title": self.ruleset.game.title,
                "ply": len(past),
                "thinking": thinking,
                "over": over,
                "status": self._status(asked),
                "note": self._trouble,
                "record": self._record(past),
                "moves": [],
                "targets": {},
                "controls": None,
                "write": "",
                "undo": not self._secret(),
                **self._picture(state, past),
            }
            if asked:
                result.update(self._choices(mover))
        return result

    def _picture(self, state: np.void, past: list[tuple[np.void, Any]]) -> dict[str, Any]:
        """The picture or text for the person: everything when the game is over."""
        ruleset = self.ruleset
        seat = None if self.seat < 0 or is_over(state) else picture_seat(ruleset, self.seat)
        shown = state if seat is None else agent_views(ruleset, np.array([state]), np.array([seat]))[0]
        if ruleset.game.draw is not None:
            last = past[-1][1] if past else None
            return {"svg": ruleset.draw.svg(ruleset, shown, seat=seat, last_action=last), "text": ""}
        if ruleset.game.notation is not None:
            return {"svg": None, "text": ruleset.notation.board_text(ruleset, shown, seat)}
        return {"svg": None, "text": str(shown)}

    def _choices(self, mover: int) -> dict[str, Any]:
        """Actions that the person may choose from."""
        ruleset, view = self.ruleset, self._view(mover)
        drawing: Any = ruleset.draw if ruleset.game.draw is not None else None
        result: dict[str, Any] = {}
        if hasattr(drawing, "controls"):
            result["controls"] = drawing.controls(ruleset)
        if not ruleset.discrete:
            box: Any = ruleset.action_space
            numbers = f"{box.shape[0]} numbers from {box.low.min():g} to {box.high.max():g}"
            result["write"] = numbers if ruleset.game.notation is None else f"a text, or {numbers}"
            return result
        if result.get("controls", {}).get("fields"):
            return result
        clicks = drawing.clicks(ruleset, view) if hasattr(drawing, "clicks") else {}
        if hasattr(drawing, "targets"):
            result["targets"] = drawing.targets(ruleset)
        result["moves"] = [
            {"action": action, "text": move_text(ruleset, view, action), "path": clicks.get(action, [])}
            for action in np.flatnonzero(self._mask(mover)).tolist()
        ]
        return result

    def _record(self, past: list[tuple[np.void, Any]]) -> list[str]:
        """The moves as text. Where all act at once, only the person's actions, with repetitions merged."""
        ruleset = self.ruleset
        if not ruleset.simultaneous and ruleset.num_players > 1:
            return [self._told(before, action) for before, action in past]
        own = []
        for before, action in past:
            if self.seat in ruleset.actors(before):
                view = agent_views(ruleset, np.array([before]), np.array([self.seat]))[0]
                own.append(move_text(ruleset, view, action[self.seat] if ruleset.simultaneous else action))
        runs = [(text, len(list(run))) for text, run in groupby(own)]
        return [text if count == 1 else f"{text}, {count} times" for text, count in runs]

    def _told(self, before: np.void, action: Any) -> str:
        secret = self.ruleset.hidden and not is_over(self.state)
        if secret and self.seat not in (-1, int(before["to_move"])):
            return "..."
        return move_text(self.ruleset, before, action)

    def _status(self, asked: bool) -> str:
        names, state = self.ruleset.players, self.state
        if not is_over(state):
            if self.ruleset.simultaneous:
                now = status_text(self.ruleset, self._view(self.seat), self.seat) if asked else ""
                return f"You are {names[self.seat]}: {now or ('your move' if asked else 'the others act')}"
            mover = int(state["to_move"])
            who = f"{self._agents[mover].name} is thinking" if mover in self._agents else "your move"
            return f"{names[mover]} to move: {who}"
        states = [*(before for before, _ in self.past[1:]), state]
        if self.seat >= 0 and (told := end_text(self.ruleset, state, self.seat)):
            return f"The game is over: {told}"
        totals = [round(sum(float(s["rewards"][k]) for s in states), 3) for k in range(len(names))]
        if self.seat < 0 or len(names) < 2:
            return "The game is over: " + ", ".join(f"{n} {r:+g}" for n, r in zip(names, totals, strict=True))
        mine = totals[self.seat]
        return f"The game is over: {'you win' if mine > 0 else 'you lose' if mine < 0 else 'a draw'}"


class _LeftAlone(Exception):
    """An answer that arrived after the agent was abandoned."""


class _Trouble(Exception):
    """Raised for an agent that did not answer with an action."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    timeout = _IDLE_SECONDS
    """Seconds after which a silent connection is closed."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):  # the page was closed while it was answered
            self.close_connection = True

    def do_GET(self) -> None:
        if not self._trusted():
            return
        if self.path == "/":
            page = (files("asobiba.arena") / "browser.html").read_bytes()
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
                    ply = None if "ply" not in asked else _number(asked, "ply")
                    table.play(move, ply, 1 if "times" not in asked else _number(asked, "times"))
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
        length = self.headers.get("Content-Length") or "0"
        if not (length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= _LARGEST_REQUEST):
            self.close_connection = True  # the unread rest must not be taken for another request
            raise ValueError(f"a request has at most {_LARGEST_REQUEST} bytes; Content-Length is {length[:40]!r}")
        asked = json.loads(self.rfile.read(int(length)) or b"{}", parse_constant=_no_number)
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
        pass  # keep the terminal free for the person


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


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

    def __init__(self, table: PageGame, port: int = 0):
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
    build: Callable[[Game, str], Agent] = make_agent,
) -> None:
    """Serves the page until interrupted (Ctrl-C), and opens it in the browser where there is one."""
    import webbrowser

    server = PageServer(PageGame(ruleset, agent, seat, position, ponder, seed, build), port)
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

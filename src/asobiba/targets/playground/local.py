"""The page of the playground with the agents of this machine as opponents, for `asobiba play --browser`.

Rules, pictures and the person's moves are the page's own, as on the static site. The page sends an agent's seat and the
position to this process, on which nothing outside this machine may call; the agent sees its seat's view alone, and may be
contained like everywhere else.
"""

from __future__ import annotations

import base64
import binascii
import json
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.arena.match import agent_seed
from asobiba.core import (
    Agent,
    AsobibaError,
    Game,
    GameParameterError,
    IllegalAction,
    Ruleset,
    StateBytesError,
    make_agent,
)
from asobiba.core.agents import agent_declarations
from asobiba.core.answers import describe, read_answer
from asobiba.core.states import action_mask, agent_views, is_over, require_valid, step
from asobiba.targets.playground.build import write_local

_LOCAL = ("127.0.0.1", "localhost")
_IDLE_SECONDS = 20.0
_PATIENCE = 2.0
"""Seconds that a new game, or an undo, waits for an agent that is thinking."""
_PAGES = 4
"""Pages whose agents are kept; those of the page that has been silent for the longest time are closed."""
_BESIDE = 4096
"""Bytes of a request beside the position."""


@dataclass
class _Party:
    """The agents of a page's game."""

    seats: dict[int, str]
    agents: dict[int, Agent] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def stop_pondering(self) -> None:
        for agent in self.agents.values():
            agent.stop_pondering()

    def close(self) -> None:
        self.stop_pondering()
        for agent in self.agents.values():
            agent.close()


class Opponents:
    """Agents that pages ask. All methods may be called from several threads.

    Args:
        ruleset: the game.
        known: the texts of the agents that may be asked.
        build: makes an agent from its text; another function may make it contained.
        ponder: whether agents are told to think while the person does.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        known: Iterable[str],
        build: Callable[[Game, str], Agent] = make_agent,
        ponder: bool = True,
    ):
        self.ruleset, self.known, self.ponder = ruleset, frozenset(known), ponder
        self._build = build
        self._parties: OrderedDict[str, _Party] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, page: str, seats: Mapping[int, str], seed: int) -> None:
        """A page begins a game, or goes on with one after a move was taken back. An agent that still thinks for it is
        left alone, and a new one takes its place.

        Raises:
            AsobibaError: for seats, agents or seeds that do not exist, and from agents that do not play this game.
        """
        for seat, text in seats.items():
            if not 0 <= seat < self.ruleset.num_players:
                raise GameParameterError(f"there is no seat {seat}")
            if text not in self.known:
                raise GameParameterError(f"{text!r} is not among the agents of this page")
        if not 0 <= seed < 2**64:
            raise GameParameterError(f"a seed is from 0 to 2**64 - 1, not {seed}")
        party = self._party(page, dict(seats))
        with party.lock:
            for seat, text in seats.items():
                if seat not in party.agents:
                    party.agents[seat] = self._build(self.ruleset.game, text)
                party.agents[seat].begin(self.ruleset, (seat,), (agent_seed(seed, seat),))

    def _party(self, page: str, seats: dict[int, str]) -> _Party:
        """The page's agents if they are the same as before and have answered; else new ones."""
        with self._lock:
            before = self._parties.pop(page, None)
        if before is not None:
            before.stop_pondering()
            answered = before.lock.acquire(timeout=_PATIENCE)
            if answered:
                before.lock.release()
            if not answered or before.seats != seats:
                threading.Thread(target=before.close, daemon=True).start()
                before = None
        party = _Party(seats) if before is None else before
        with self._lock:
            self._parties[page] = party
            while len(self._parties) > _PAGES:
                threading.Thread(target=self._parties.popitem(last=False)[1].close, daemon=True).start()
        return party

    def act(self, page: str, seats: Iterable[int], content: bytes) -> list[list[Any]]:
        """The answers of these seats' agents in a position: `[seat, action]` each.

        Args:
            content: the state record's bytes.

        Raises:
            AsobibaError: for a position that is none, seats that are not asked, and agents that fail.
        """
        ruleset = self.ruleset
        with self._lock:
            party = self._parties.get(page)
            if party is not None:
                self._parties.move_to_end(page)
        if party is None:
            raise GameParameterError("this page has no agents here; begin a new game")
        if len(content) != ruleset.dtype.itemsize:
            raise StateBytesError(f"a position has {ruleset.dtype.itemsize} bytes, not {len(content)}")
        state = require_valid(ruleset, np.frombuffer(content, ruleset.dtype).copy())[0]
        asked = set() if is_over(state) else {int(k) for k in ruleset.actors(state)}
        wanted = list(seats)
        for seat in wanted:
            if seat not in asked or seat not in party.seats:
                raise IllegalAction(f"the agent of seat {seat} is not asked here")
        with party.lock:
            party.stop_pondering()
            found = [[seat, self._answer(party.agents[seat], state, seat)] for seat in wanted]
            if self.ponder and not ruleset.simultaneous:
                self._go_on_thinking(party, step(ruleset, state, found[0][1], strict=False))
        return found

    def _answer(self, agent: Agent, state: np.void, seat: int) -> Any:
        ruleset = self.ruleset
        masks = action_mask(ruleset, state)
        mask = masks[seat] if ruleset.simultaneous else masks
        try:
            answer, remark = read_answer(ruleset, agent.act(self._view(state, seat), mask))
        except Exception as error:  # any exception of an agent must reach the page
            raise IllegalAction(describe(error)) from None
        if not remark and ruleset.discrete and not mask[answer]:
            remark = f"answered {answer}, which is not legal"
        if remark and (ruleset.game.faults == "end" or not ruleset.discrete):
            raise IllegalAction(f"{agent.name} {remark}")
        return np.asarray(answer).tolist()

    def _view(self, state: np.void, seat: int) -> np.void:
        return agent_views(self.ruleset, np.array([state]), np.array([seat]))[0]

    def _go_on_thinking(self, party: _Party, state: np.void) -> None:
        if not is_over(state) and int(state["to_move"]) not in party.agents:
            for seat, agent in party.agents.items():
                agent.ponder(self._view(state, seat))

    def close(self) -> None:
        """Ends all thinking."""
        with self._lock:
            parties = list(self._parties.values())
            self._parties.clear()
        for party in parties:
            party.close()


class _Handler(SimpleHTTPRequestHandler):
    server: LocalServer
    timeout = _IDLE_SECONDS
    """Seconds after which a silent connection is closed."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):  # the page was closed while it was answered
            self.close_connection = True

    def do_GET(self) -> None:
        if self._trusted():
            super().do_GET()

    def do_HEAD(self) -> None:
        if self._trusted():
            super().do_HEAD()

    def do_POST(self) -> None:
        if not self._trusted():
            return
        opponents = self.server.opponents
        try:
            asked = self._body()
            page = asked["page"]
            if not isinstance(page, str):
                raise ValueError("page is a text")
            if self.path == "/python/begin":
                seats = {int(seat): str(text) for seat, text in dict(asked["seats"]).items()}
                opponents.begin(page, seats, int(str(asked["seed"])))
                answer: dict[str, Any] = {"ready": True}
            elif self.path == "/python/act":
                content = base64.b64decode(asked["state"], validate=True)
                answer = {"actions": opponents.act(page, [_number(seat) for seat in asked["seats"]], content)}
            else:
                self._send_json(404, {"error": f"there is nothing at {self.path}"})
                return
        except (AsobibaError, KeyError, TypeError, ValueError, OverflowError, RecursionError, binascii.Error) as error:
            self._send_json(400, {"error": str(error) or type(error).__name__})
            return
        except Exception as error:  # of an agent that cannot be built: the page says which
            self._send_json(400, {"error": describe(error)})
            return
        self._send_json(200, answer)

    def _body(self) -> dict[str, Any]:
        length, most = self.headers.get("Content-Length") or "0", self.server.most
        if not (length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= most):
            self.close_connection = True  # the unread rest must not be taken for another request
            raise ValueError(f"a request has at most {most} bytes; Content-Length is {length[:40]!r}")
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
        self.close_connection = True
        self._send_json(403, {"error": "only the page of this machine may play here"})
        return False

    def _send_json(self, code: int, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass  # keep the terminal free for the person


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def _number(value: Any) -> int:
    """A seat of a request. Raises `ValueError` if it is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"a seat is a whole number, not {str(value)[:40]!r}")
    return value


class LocalServer(ThreadingHTTPServer):
    """Serves a site, and the agents that its page asks, to this machine only.

    Args:
        folder: the site.

    Raises:
        GameParameterError: for a port that cannot be used.
    """

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, folder: Path, opponents: Opponents, port: int = 0):
        self.opponents = opponents
        self.most = _BESIDE + 2 * opponents.ruleset.dtype.itemsize
        try:
            super().__init__(("127.0.0.1", port), partial(_Handler, directory=str(folder)))
        except OSError as error:
            raise GameParameterError(
                f"port {port} cannot be used ({error.strerror}); port 0 takes a free one"
            ) from None

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://127.0.0.1:{self.server_address[1]}/"


def known_agents(ruleset: Ruleset, agent: str) -> dict[str, tuple[str, str]]:
    """The agents that a page offers, with description and source: this one, then all that the game declares."""
    declared = {name: (one.description, one.source) for name, one in agent_declarations(ruleset.game).items()}
    return {agent: declared.get(agent.partition(":")[0], ("", "")), **declared}


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
    label: str = "default",
    build: Callable[[Game, str], Agent] = make_agent,
    report: Callable[[str], None] = lambda text: None,
) -> None:
    """Serves the page until interrupted (Ctrl-C), and opens it in the browser where there is one.

    Args:
        seat: the person's seat, or -1 if the person moves for all seats.
        position: where to begin, in the game's notation; `None` is a starting position.
        label: the name of the ruleset in the page's menu.
        report: called with a message on what is compiled.
    """
    import webbrowser
    from urllib.parse import urlencode

    known = known_agents(ruleset, agent)
    link = {"game": ruleset.game.name, "variant": label, "seat": seat, "agent": f"python:{agent}", "seed": seed}
    if position is not None:
        state = ruleset.notation.text_to_state(ruleset, position)
        link["start"] = base64.urlsafe_b64encode(state.tobytes()).decode().rstrip("=")
    with tempfile.TemporaryDirectory(prefix="asobiba-") as folder:
        write_local(Path(folder), ruleset, label, known, urlencode(link), report)
        opponents = Opponents(ruleset, known, build, ponder)
        server = LocalServer(Path(folder), opponents, port)
        print(f"{ruleset.game.title} on {server.url} (Ctrl-C ends it)", flush=True)
        if open_page:
            threading.Timer(0.3, webbrowser.open, (server.url,)).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            server.server_close()
            opponents.close()

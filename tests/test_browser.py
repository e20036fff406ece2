"""`asobiba play --browser`: the agents behind the page, through HTTP as a browser speaks it, and a game in Chromium."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
from arena_tools import ENVIRONMENT
from playground_tools import DESK, PHONE, Visitor, chromium

from asobiba.api.scene import SPOT, Pen
from asobiba.arena.executors import LocalExecutor
from asobiba.arena.league import run_league
from asobiba.arena.match import agent_seed
from asobiba.arena.publish import publish
from asobiba.arena.replay import replay
from asobiba.arena.store import Store
from asobiba.core import Agent, AsobibaError, GameParameterError, Ruleset, game, make_agent
from asobiba.core.states import action_mask, agent_views, is_over, legal_actions, new_state, step
from asobiba.targets.playground import local
from asobiba.targets.playground.local import LocalServer, Opponents, _Handler, known_agents

RULES = game("animal_shogi").ruleset()
PAGE = {"page": "a"}


@pytest.fixture
def served(tmp_path):
    servers = []
    (tmp_path / "index.html").write_text("<!doctype html>")

    def start(ruleset, agent="random", **more):
        server = LocalServer(tmp_path, Opponents(ruleset, known_agents(ruleset, agent), **more))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
        server.opponents.close()


def ask(server, path, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.url + path, data, headers)
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def refused(server, path, body=None, **headers):
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(server, path, body, **headers)
    with caught.value as answer:
        return answer.code, json.loads(answer.read())["error"]


def begin(server, seats, seed=0):
    return ask(server, "python/begin", {**PAGE, "seats": seats, "seed": str(seed)})


def asked(state, *seats):
    return {**PAGE, "seats": list(seats), "state": base64.b64encode(state.tobytes()).decode()}


def answers(server, state, *seats):
    return json.loads(ask(server, "python/act", asked(state, *seats)))["actions"]


def test_an_agent_plays_what_it_plays_elsewhere(served):
    server, text = served(RULES, "alpha_beta:depth=3"), "alpha_beta:depth=3"
    assert "<!doctype html>" in ask(server, "")
    begin(server, {"1": text}, 3)
    agent = make_agent(RULES.game, text)
    agent.begin(RULES, (1,), (agent_seed(3, 1),))
    state = new_state(RULES, 3)
    while not is_over(state := step(RULES, state, legal_actions(RULES, state)[-1])):
        view = agent_views(RULES, np.array([state]), np.array([1]))[0]
        wanted = int(agent.act(view, action_mask(RULES, state)))
        assert answers(server, state, 1) == [[1, wanted]]
        if is_over(state := step(RULES, state, wanted)):
            break
    assert int(state["steps"]) > 2


def test_what_a_page_asks_wrongly_is_refused(served):
    server, state = served(RULES), new_state(RULES, 0)
    assert "begin a new game" in refused(server, "python/act", asked(state, 0))[1]
    assert (
        "not among the agents" in refused(server, "python/begin", {**PAGE, "seats": {"0": "file:x.py"}, "seed": "0"})[1]
    )
    assert "no seat 2" in refused(server, "python/begin", {**PAGE, "seats": {"2": "random"}, "seed": "0"})[1]
    assert "a seed is" in refused(server, "python/begin", {**PAGE, "seats": {"0": "random"}, "seed": "-1"})[1]
    begin(server, {"1": "random"})
    assert "seat 1 is not asked" in refused(server, "python/act", asked(state, 1))[1]
    assert "seat 0 is not asked" in refused(server, "python/act", asked(state, 0))[1]
    broken = np.frombuffer(b"\xff" * len(state.tobytes()), RULES.dtype)[0]
    assert "not a state" in refused(server, "python/act", asked(broken, 1))[1]
    assert "bytes, not 3" in refused(server, "python/act", {**asked(state, 1), "state": "AAAA"})[1]
    assert refused(server, "python/act", {**asked(state, 1), "state": "?"})[0] == 400
    assert refused(server, "python/act", {**asked(state), "seats": [True]})[0] == 400
    assert refused(server, "python/begin", {})[0] == 400
    assert refused(server, "python/elsewhere", PAGE)[0] == 404
    for headers in ({"Origin": "http://elsewhere.example"}, {"Host": "elsewhere.example"}):
        assert refused(server, "python/begin", PAGE, **headers)[0] == 403
        assert refused(server, "", **headers)[0] == 403


def test_an_agent_ponders_while_the_person_thinks(served):
    server = served(RULES, "alpha_beta:depth=4")
    begin(server, {"0": "alpha_beta:depth=4"})
    answers(server, new_state(RULES, 0), 0)
    agent = server.opponents._parties["a"].agents[0]
    server.opponents.close()
    assert agent.pondered.nodes > 0


class Broken(Agent):
    name = "broken"

    def reset(self, ruleset, seat, seed):
        pass

    def act(self, view, legal):
        raise RuntimeError("no idea")


def test_an_agent_that_fails_is_told(served):
    server = served(RULES, build=lambda game, text: Broken())
    begin(server, {"0": "random"})
    assert refused(server, "python/act", asked(new_state(RULES, 0), 0)) == (400, "RuntimeError: no idea")


class Silent(Agent):
    """Never answers, until it is told to."""

    name = "silent"

    def __init__(self):
        self.released = threading.Event()

    def reset(self, ruleset, seat, seed):
        pass

    def act(self, view, legal):
        self.released.wait(60)
        return int(np.flatnonzero(legal)[0])


def test_a_new_game_does_not_wait_for_an_agent_that_never_answers(monkeypatch, served):
    made = []

    def make(game, text):
        made.append(Silent())
        return made[-1]

    monkeypatch.setattr(local, "_PATIENCE", 0.1)
    server, state = served(RULES, build=make), new_state(RULES, 0)
    begin(server, {"0": "random"})
    thread = threading.Thread(target=answers, args=(server, state, 0))
    thread.start()
    while not server.opponents._parties["a"].lock.locked():
        pass
    begin(server, {"0": "random"})
    assert len(made) == 2
    begin(server, {"0": "random"})  # who has answered goes on
    assert len(made) == 2
    for agent in made:
        agent.released.set()
    thread.join()
    assert answers(server, state, 0) == [[0, int(legal_actions(RULES, state)[0])]]


def test_only_the_agents_of_a_few_pages_are_kept():
    closed = threading.Event()

    class Closing(Silent):
        def close(self):
            closed.set()

    opponents = Opponents(RULES, ["random"], lambda game, text: Closing())
    for page in range(local._PAGES):
        opponents.begin(str(page), {0: "random"}, 0)
    assert not closed.is_set()
    opponents.begin("one more", {0: "random"}, 0)
    assert closed.wait(30)
    with pytest.raises(AsobibaError, match="begin a new game"):
        opponents.act("0", [0], new_state(RULES, 0).tobytes())


@pytest.mark.parametrize("length", ["1_000", "-1", "+5", "\u0661", "99999999999999999999", "1e3", "10 10"])
def test_a_content_length_that_is_no_number_is_refused(served, length):
    server = served(RULES)
    with socket.create_connection(server.server_address) as connection:
        head = f"POST /python/act HTTP/1.1\r\nHost: 127.0.0.1:{server.server_address[1]}\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode("latin-1", "replace"))
        connection.settimeout(10)
        answer = connection.makefile("rb").readline()
    assert b" 400 " in answer


def raw(server, body, length=None, path="/python/act"):
    """The code and the JSON that a body gets, sent as it is."""
    with socket.create_connection(server.server_address, 30) as connection:
        head = f"POST {path} HTTP/1.0\r\nHost: 127.0.0.1:{server.server_address[1]}\r\n"
        connection.sendall(head.encode() + f"Content-Length: {length or len(body)}\r\n\r\n".encode() + body)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    head, _, content = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(content)


def test_bodies_that_are_too_large_too_deep_or_no_objects_are_refused(served, capsys):
    server = served(RULES)
    for body, length in (
        (b"[" * 4000, None),
        (b'{"page": ' * 400, None),
        (b'{"page": Infinity}', None),
        (b'{"page": "a", "seats": NaN}', None),
        (b'{"page": "a", "seats": [1e400], "state": ""}', None),
        (b'{"page": "a", "seats": ["' + b"9" * 3000 + b'"], "state": ""}', None),
        (b"\xff\xfe", None),
        (b"{}", 10**9),
        (b"[1]", None),
        (b"{}", None),
    ):
        code, answer = raw(server, body, length)
        assert code == 400, body[:20]
        assert answer["error"]
    assert "Traceback" not in capsys.readouterr().err


def test_many_tabs_at_once_are_all_served(served):
    server, found = served(RULES), []

    def tab(number):
        body = json.dumps({"page": str(number), "seats": {"1": "random"}, "seed": "1"}).encode()
        found.append(raw(server, body, path="/python/begin")[0])

    threads = [threading.Thread(target=tab, args=(k,)) for k in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200] * 60


def test_a_connection_that_says_nothing_is_closed(served, monkeypatch):
    monkeypatch.setattr(_Handler, "timeout", 0.2)
    server = served(RULES)
    with socket.create_connection(server.server_address, 30) as connection:
        assert connection.recv(10) == b""


def test_a_port_that_is_taken_is_an_error(served, tmp_path):
    server = served(RULES)
    with pytest.raises(GameParameterError, match="port 0 takes a free one"):
        LocalServer(tmp_path, server.opponents, server.server_address[1])


def test_a_village_is_asked_at_once_and_each_sees_its_own_view(served):
    ruleset = game("werewolf").ruleset(players=5)
    server, state = served(ruleset, "basic"), new_state(ruleset, 4)
    begin(server, {str(seat): "basic" for seat in range(1, 5)}, 4)
    agents = {seat: make_agent(ruleset.game, "basic") for seat in range(1, 5)}
    for seat, agent in agents.items():
        agent.begin(ruleset, (seat,), (agent_seed(4, seat),))
    for _ in range(12):
        masks, actors = action_mask(ruleset, state), ruleset.actors(state).tolist()
        action = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
        others = [seat for seat in actors if seat > 0]
        wanted = []
        for seat in others:
            view = agent_views(ruleset, np.array([state]), np.array([seat]))[0]
            wanted.append([seat, int(agents[seat].act(view, masks[seat]))])
        assert (answers(server, state, *others) if others else []) == wanted
        for seat, answer in wanted:
            action[seat] = answer
        if 0 in actors:
            action[0] = np.flatnonzero(masks[0])[0]
        state = step(ruleset, state, action)


@pytest.mark.parametrize("name", ["bao", "battleship", "battleship_attack", "tactics", "tactics_steps"])
def test_moves_are_clicked_on_the_picture(name):
    ruleset: Ruleset = game(name).ruleset()
    pen, state = Pen(ruleset), new_state(ruleset, 1)
    for _ in range(12):
        legal = legal_actions(ruleset, state).tolist()
        paths = [tuple(pen.spots(state, action)) for action in legal]
        clicked = [path for path in paths if path]
        assert len(clicked) >= len(legal) - 2  # `end` and `wait` have buttons alone
        assert len(set(clicked)) == len(clicked)
        drawn = re.findall("data-name='([^']*)'", pen.svg(state))
        assert {pen.tell(state, SPOT, spot) for path in clicked for spot in path} <= {*drawn}
        state = step(ruleset, state, legal[len(legal) // 2])


def started(*arguments):
    """The command, and the address of the page that it serves."""
    process = subprocess.Popen(
        [sys.executable, "-c", "from asobiba.cli import main; main()", "play", *arguments, "--browser", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ENVIRONMENT, "BROWSER": "true"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    assert process.stdout is not None
    address = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
    assert address is not None
    return process, address[0]


def test_play_serves_the_page():
    process, address = started("animal_shogi", "--seed", "3", "--against", "alpha_beta:depth=2")
    try:
        for name in ("index.html", "worker.js", "asobiba/games/animal_shogi/game.json"):
            with urllib.request.urlopen(f"{address}/{name}") as answer:
                assert answer.status == 200
        with urllib.request.urlopen(f"{address}/games.json") as answer:
            (about,) = json.loads(answer.read())
        assert about["link"] == "game=animal_shogi&variant=default&seat=0&agent=python%3Aalpha_beta%3Adepth%3D2&seed=3"
        assert [*about["python"]][:2] == ["alpha_beta:depth=2", "random"]
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["animal_shogi", "mini4wd_race"])
def test_a_game_is_played_against_python_in_a_browser(name):
    """The moves are those of the agent in Python: a learned policy, a controller."""
    ruleset, text = game(name).ruleset(), {"animal_shogi": "ppo", "mini4wd_race": "constant:duty=0.5"}[name]
    process, address = started(name, "--seed", "3", "--against", text)
    try:
        with chromium() as browser:
            visitor = Visitor(browser, address)
            visitor.page.goto(address)
            visitor.wait()
            if name == "mini4wd_race":
                visitor.page.click("#controls button")
            while (
                visitor.wait() == "asked" and name == "animal_shogi" and visitor.link().get("moves", "").count(".") < 20
            ):
                ply = visitor.page.get_attribute("body", "data-ply")
                visitor.page.fill("#text", visitor.page.inner_text("#hint").removeprefix("for example "))
                visitor.page.press("#text", "Enter")
                visitor.page.wait_for_function(f"document.body.dataset.ply != '{ply}'")
            if name == "mini4wd_race":
                visitor.page.wait_for_selector("body[data-state='over']", timeout=120_000)
            moves = visitor.link()["moves"]
            assert not visitor.errors
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    agent, state = make_agent(ruleset.game, text), new_state(ruleset, 3)
    agent.begin(ruleset, (1,), (agent_seed(3, 1),))
    if ruleset.simultaneous:
        content = base64.urlsafe_b64decode(moves + "=" * (-len(moves) % 4))
        played = np.frombuffer(content, ruleset.action_dtype).reshape(-1, *ruleset.actions_shape)
        assert np.allclose(played[:, 1, 0], 0.5)
        return
    for action in map(int, moves.split(".")):
        if int(state["to_move"]) == 1:
            view = agent_views(ruleset, np.array([state]), np.array([1]))[0]
            assert int(agent.act(view, action_mask(ruleset, state))) == action
        state = step(ruleset, state, action)
    assert int(state["steps"]) > 10 or is_over(state)


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_a_report_is_stepped_by_the_playgrounds_player_from_a_file(tmp_path, dark):
    with Store(tmp_path / "store.sqlite") as store:
        run_league(RULES, ["random", "first_legal"], store, LocalExecutor(1), games=4)
        results = store.results(RULES)
        path = publish(RULES, store, results, tmp_path / "out")
        records = {str(one.number): store.record(one.number) for one in results}
    with chromium() as browser:
        visitor = Visitor(browser, path.as_uri(), PHONE if dark else DESK, dark)
        page = visitor.page
        page.goto(path.as_uri())
        page.wait_for_selector("#picture svg")
        number = page.input_value("#chosen")
        steps, pen = list(replay(records[number])), Pen(RULES)

        def shows(ply):
            assert page.get_attribute("#picture svg", "aria-label") == f"Match {number}, position {ply}"
            wanted = pen.svg(steps[ply][0], None, steps[ply - 1][1] if ply else None)
            assert page.evaluate(SAME_PICTURE, wanted)

        shows(len(steps) - 1)
        page.focus("#first")
        page.keyboard.press("Enter")
        shows(0)
        page.focus("#next")
        page.keyboard.press("Enter")
        shows(1)
        page.focus("#place")
        page.keyboard.press("ArrowRight")
        shows(2)
        page.click("#record li:nth-child(3) a")
        page.wait_for_function("location.hash.endsWith('-3')")
        shows(3)
        page.click("#previous")
        page.click("#link")
        assert page.evaluate("location.hash") == f"#match-{number}-2"
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        page.wait_for_selector("#picture svg")
        shows(2)
        page.focus("#film")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#picture svg[aria-label='Match {number}, position 4']")
        page.click("#film")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert visitor.errors == []
        assert all(request.startswith(("file:", "data:", "blob:", "about:")) for request in visitor.requests)


SAME_PICTURE = """(wanted) => {
  const [box, shown] = [document.createElement("div"), document.querySelector("#picture svg").cloneNode(true)];
  box.innerHTML = wanted;
  box.querySelectorAll(".spot").forEach((spot) => spot.remove());
  for (const name of ["role", "aria-label"]) shown.removeAttribute(name);
  return shown.outerHTML === box.firstChild.outerHTML;
}"""

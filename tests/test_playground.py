"""The playground: its drawings are Python's, its games are Python's, and it is usable by everybody."""

from __future__ import annotations

import base64
import json
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import debian_program
from playground_tools import DESK, PHONE, Visitor, chromium, served

from asobiba import game
from asobiba.api.scene import ACTION, ENDING, SPOT, Pen, number_text
from asobiba.arena.match import Match, agent_seed
from asobiba.arena.playing import play_match
from asobiba.arena.show import record_json
from asobiba.arena.store import Store
from asobiba.core import Ruleset, make_agent
from asobiba.core.states import agent_views, is_over, legal_actions, new_state, step, view_of
from asobiba.targets.playground.build import drawn_games, write_site

QUICK, OPPONENT = "animal_shogi", "one_ply"
LIMIT = 1_000_000
"""Bytes that a game may transfer."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A playground with one game and two of its agents, in a folder below the server's."""
    folder = tmp_path_factory.mktemp("files") / "some" / "folder"
    write_site(folder, [QUICK], agents=["random", OPPONENT], variants=False)
    return folder


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(site):
    with served(site.parent.parent) as url:
        yield f"{url}/some/folder"


@pytest.mark.parametrize(
    ("value", "decimals", "plus", "text"),
    [(0.125, 2, False, "0.13"), (-0.001, 2, True, "+0.00"), (-2.5, 0, False, "-3"), (7, 1, True, "+7.0")],
)
def test_numbers_are_rounded_half_away_from_zero(value, decimals, plus, text):
    assert number_text(value, decimals, plus) == text


def positions(ruleset: Ruleset, count: int, seed: int):
    """Positions of random games with the seat that looks at them, its view and the action before: those of one game and
    its end."""
    rng = random.Random(seed)
    state, last, found = new_state(ruleset, seed), None, []
    while not is_over(state):
        seat = rng.choice([None, *range(ruleset.num_players)]) if ruleset.hidden else None
        found.append((state if seat is None else view_of(ruleset, state, seat), seat, last, state))
        if ruleset.simultaneous or not ruleset.discrete:
            space = ruleset.action_space
            last = (
                np.array([space.sample() for _ in range(ruleset.num_players)])
                if ruleset.simultaneous
                else space.sample()
            )
        else:
            last = int(rng.choice(legal_actions(ruleset, state)))
        state = step(ruleset, state, last, strict=False)
    chosen = found if len(found) < count else sorted(rng.sample(found, count), key=lambda one: int(one[0]["steps"]))
    return [*chosen, (state, None, last, state)]


def same_drawing(site: Path, name: str, variant: str, ruleset: Ruleset, count: int = 25) -> None:
    """The page draws and names what Python does."""
    pen, jobs, native = Pen(ruleset), [], []
    for view, seat, last, state in positions(ruleset, count, 7):
        plain = ruleset.discrete and not ruleset.simultaneous
        actions = (
            []
            if is_over(state) or not plain or seat not in (None, int(state["to_move"]))
            else legal_actions(ruleset, state)[:40].tolist()
        )
        single = last if isinstance(last, int) else None
        jobs.append(
            {"bytes": base64.b64encode(view.tobytes()).decode(), "seat": seat, "last": single, "actions": actions}
        )
        native.append(
            {
                "svg": pen.svg(view, seat, single),
                "words": [pen.tell(view, ACTION, action) for action in actions],
                "spots": [[pen.tell(view, SPOT, spot) for spot in pen.spots(view, action)] for action in actions],
                "ending": pen.tell(view, ENDING, 0),
            }
        )
        assert native[-1]["words"] == [ruleset.notation.action_to_text(ruleset, view, action) for action in actions]
    done = subprocess.run(
        [debian_program("node", "nodejs"), str(Path(__file__).parent / "wasm" / "scenes.mjs")],
        input=json.dumps({"site": str(site), "game": name, "variant": variant, "positions": jobs}),
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for mine, theirs in zip(native, json.loads(done.stdout), strict=True):
        assert theirs == mine


def test_the_page_draws_what_python_draws(site):
    same_drawing(site, QUICK, "default", game(QUICK).ruleset())


def actions_of(ruleset: Ruleset, link: dict[str, str]) -> list:
    """The moves of a link: numbers, or rows of continuous actions."""
    text = link.get("moves", "")
    if ruleset.discrete:
        return [int(action) for action in text.split(".") if action]
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return list(np.frombuffer(content, ruleset.action_dtype).reshape(-1, *ruleset.actions_shape))


def played_back(ruleset: Ruleset, link: dict[str, str]) -> np.void:
    """Plays the moves of a link with Python's agent in the other seats; the last state."""
    seat, seed = int(link["seat"]), int(link["seed"])
    agents = {}
    for k in range(ruleset.num_players):
        if k != seat:
            agents[k] = make_agent(ruleset.game, link["agent"])
            agents[k].begin(ruleset, (k,), (agent_seed(seed, k),))
    state = new_state(ruleset, seed)
    for action in actions_of(ruleset, link):
        mover = int(state["to_move"])
        if mover in agents:
            view = agent_views(ruleset, np.array([state]), np.array([mover]))[0]
            mask = np.zeros(ruleset.num_actions if ruleset.discrete else 0, np.int8)
            if ruleset.discrete:
                mask[legal_actions(ruleset, state)] = 1
            assert np.array_equal(np.asarray(agents[mover].act(view, mask), ruleset.action_dtype), action)
        state = step(ruleset, state, action)
    return state


def game_by_controls(visitor: Visitor, ruleset: Ruleset, seed: int) -> np.void:
    """Plays a game of continuous actions to its end by the controls; its last state."""
    rng, page, pen = random.Random(seed), visitor.page, Pen(ruleset)
    fields = ruleset.draw.controls(ruleset)["fields"]
    while visitor.wait() == "asked":
        moves, values = len(actions_of(ruleset, visitor.link())), []
        for k, field in enumerate(fields):
            control = page.locator("#controls").locator("select, input").nth(k)
            if "choices" in field:
                values.append(rng.randrange(len(field["choices"])))
                control.select_option(index=values[-1])
            else:
                steps = round((field["high"] - field["low"]) / field["step"])
                control.fill(str(round(field["low"] + field["step"] * rng.randrange(steps + 1), 6)))
                values.append(float(control.input_value()))
        page.click("#controls button")
        page.wait_for_function(f"Number(document.body.dataset.ply) > {moves}")
        actions = actions_of(ruleset, visitor.link())
        state = new_state(ruleset, seed)
        for action in actions[:moves]:
            state = step(ruleset, state, action)
        chosen = np.asarray(pen.answer(view_of(ruleset, state, int(state["to_move"])), values), ruleset.action_dtype)
        assert np.array_equal(chosen, actions[moves])
    return played_back(ruleset, visitor.link())


def game_in_real_time(visitor: Visitor, ruleset: Ruleset, seed: int) -> np.void:
    """Drives to the end with one command; its last state."""
    page, pen = visitor.page, Pen(ruleset)
    visitor.wait()
    fields = page.locator("#controls").locator("select, input")
    if ruleset.discrete:
        fields.nth(0).select_option(label="drive +0.50")
        values = [ruleset.draw.page_controls(ruleset)["fields"][0]["choices"].index("drive +0.50")]
    else:
        fields.nth(0).fill("0.5")
        values = [0.5, 0]
    page.click("#controls button")
    page.wait_for_selector("body[data-state='over']", timeout=120_000)
    actions = np.array(actions_of(ruleset, visitor.link()))
    own = actions if ruleset.num_players == 1 else actions[:, int(visitor.link()["seat"])]
    chosen = np.asarray(pen.answer(new_state(ruleset, seed), values), ruleset.action_dtype)
    assert (own == (chosen[0] if ruleset.discrete else chosen)).all()
    state = new_state(ruleset, seed)
    for action in actions:
        state = step(ruleset, state, int(action) if ruleset.discrete else action)
    return state


def game_by_clicks(visitor: Visitor, ruleset: Ruleset, seed: int) -> np.void:
    """Plays a game to its end, move by move with the mouse, the keyboard or text in turn; its last state."""
    rng, page, pen = random.Random(seed), visitor.page, Pen(ruleset)
    turn = 0
    while visitor.wait() == "asked":
        link = visitor.link()
        state = new_state(ruleset, seed)
        for action in link.get("moves", "").split(".") if link.get("moves") else []:
            state = step(ruleset, state, int(action))
        seat = int(state["to_move"])
        view = view_of(ruleset, state, seat)
        action = int(rng.choice(legal_actions(ruleset, state)))
        path = pen.spots(view, action)
        paths = [pen.spots(view, other) for other in legal_actions(ruleset, state).tolist()]
        if path and any(len(other) > len(path) and other[: len(path)] == path for other in paths):
            path = [*path, path[-1]]
        ways = 3 if path else 1
        if turn % ways == 0:
            page.fill("#text", pen.tell(view, ACTION, action).upper())
            page.press("#text", "Enter")
        else:
            for spot in path:
                place = page.locator(f'.spot[data-name="{pen.tell(view, SPOT, spot)}"]')
                if turn % ways == 1:
                    place.click()
                else:
                    place.focus()
                    place.press("Enter")
        page.wait_for_function(f"Number(document.body.dataset.ply) > {int(state['steps'])}")
        turn += 1
    return played_back(ruleset, visitor.link())


@pytest.mark.slow
def test_a_game_is_played_to_its_end(browser, address):
    visitor = Visitor(browser, address)
    visitor.open(game=QUICK, seat=0, agent=OPPONENT, seed=11)
    ruleset = game(QUICK).ruleset()
    state = game_by_clicks(visitor, ruleset, 11)
    assert is_over(state)
    assert Pen(ruleset).tell(state, ENDING, 0) in visitor.said()
    # The link of an earlier position leads there; taking back asks the person again.
    visitor.page.click("#first")
    visitor.page.click("#next")
    visitor.page.click("#next")
    link = visitor.link()
    assert link["moves"].count(".") == 1
    visitor.open(**link)
    visitor.page.wait_for_selector("body[data-ply='2']")
    visitor.page.click("#undo")
    visitor.page.wait_for_selector("body[data-ply='0']")
    assert not visitor.errors
    assert all(request.startswith((address, "about:", "data:", "blob:")) for request in visitor.requests)
    visitor.close()


@pytest.mark.slow
def test_it_goes_on_without_the_server_and_can_be_watched(browser, address):
    visitor = Visitor(browser, address)
    visitor.open(game=QUICK, seat=0, agent=OPPONENT)
    visitor.page.wait_for_selector("body[data-loaded]")
    assert visitor.bytes < LIMIT
    visitor.context.set_offline(True)
    visitor.page.click("#text")
    visitor.page.fill("#text", "b3b2")
    visitor.page.press("#text", "Enter")
    visitor.page.wait_for_selector("body[data-ply='2'][data-state='asked']")
    visitor.page.click("#undo")
    visitor.page.wait_for_selector("body[data-ply='0'][data-state='asked']")
    visitor.page.fill("#text", "b3b2")
    visitor.page.press("#text", "Enter")
    visitor.page.wait_for_selector("body[data-ply='2'][data-state='asked']")
    visitor.context.set_offline(False)
    visitor.open(game=QUICK, seat="watch", agent=OPPONENT, other="random", seed=5)
    assert visitor.page.get_attribute("body", "data-state") == "over"
    assert not visitor.errors
    visitor.close()


@pytest.mark.slow
def test_a_match_of_a_league_is_replayed_and_a_changed_one_is_not(browser, site, address, tmp_path):
    ruleset = game(QUICK).ruleset()
    played = Match.of(ruleset, [OPPONENT, "random"], 3)
    with Store(tmp_path / "league.sqlite") as store:
        store.write([play_match(played, [make_agent(ruleset.game, text) for text in (OPPONENT, "random")])])
        match = record_json(store.record(played.key))
    (site / "match.json").write_text(json.dumps(match), encoding="utf-8")
    (site / "changed.json").write_text(json.dumps({**match, "digest": "0" * 16}), encoding="utf-8")
    visitor = Visitor(browser, address)
    visitor.open(match="match.json")
    assert f"the digest {match['digest']} is right" in visitor.page.inner_text("#error")
    assert visitor.said().startswith("Position 0 of")
    visitor.page.click("#latest")
    assert visitor.page.inner_text("#status").startswith("The game is over")
    assert played_back(ruleset, {**visitor.link(), "agent": "random", "seat": "0"})["terminated"]
    visitor.page.goto("about:blank")
    visitor.page.goto(f"{address}/index.html#match=changed.json")
    visitor.page.wait_for_function("document.getElementById('error').textContent.includes('not 0000000000000000')")
    visitor.close()


@pytest.mark.slow
def test_everybody_can_use_it(browser, address):
    """axe-core finds nothing, in light and dark, on a desk and on a phone; nothing is wider than the phone."""
    for viewport, dark in ((DESK, False), (PHONE, True)):
        visitor = Visitor(browser, address, viewport, dark)
        visitor.open(game=QUICK, seat=0, agent=OPPONENT)
        visitor.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        found = Axe().run(visitor.page)
        assert found.violations_count == 0, found.generate_report()
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        visitor.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", drawn_games())
def test_every_game_is_played_to_its_end(name, browser, tmp_path):
    write_site(tmp_path, [name])
    one = game(name)
    for variant, parameters in {"default": {}, **one.variants}.items():
        same_drawing(tmp_path, one.name, variant, one.ruleset(**parameters), 60)
    with served(tmp_path) as url:
        visitor = Visitor(browser, url)
        visitor.open(game=one.name, seat=0, agent="random", seed=11)
        assert visitor.bytes < LIMIT
        play = game_by_clicks if one.ruleset().discrete else game_by_controls
        if hasattr(one.ruleset().draw, "steps_per_second"):
            play = game_in_real_time
        state = play(visitor, one.ruleset(), 11)
        assert is_over(state)
        assert Pen(one.ruleset()).tell(state, ENDING, 0) in visitor.said()
        assert not visitor.errors
        visitor.close()

"""The playground: its drawings are Python's, its games are Python's, and it is usable by everybody."""

from __future__ import annotations

import atexit
import base64
import json
import os
import random
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import debian_program
from firefox_tools import Firefox, firefox
from playground_tools import CHROMIUM, DESK, PHONE, Visitor, chromium, served

from asobiba import game
from asobiba.api.scene import ACTION, ASKED, ENDING, SPOT, Pen, number_text
from asobiba.arena.match import Match, action_dtype, agent_seed
from asobiba.arena.playing import play_match
from asobiba.arena.show import record_json
from asobiba.arena.store import Store
from asobiba.core import Ruleset, make_agent
from asobiba.core.states import action_mask, agent_views, is_over, legal_actions, new_state, step, view_of
from asobiba.targets.playground.build import drawn_games, write_site

QUICK, OPPONENT = "animal_shogi", "one_ply"
LIMIT = 1_000_000
"""Bytes that a game may transfer."""
SOON = 2.0
"""Seconds from opening a page on this machine to the first move, where nothing else runs."""


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
    """Positions of random games with the seat that looks at them, its view, and the action and the position before: those
    of one game and its end."""
    rng = random.Random(seed)
    state, last, before, found = new_state(ruleset, seed), None, None, []
    while not is_over(state):
        seat = rng.choice([None, *range(ruleset.num_players)]) if ruleset.hidden else None
        found.append((state if seat is None else view_of(ruleset, state, seat), seat, last, state, before))
        if ruleset.simultaneous:
            last = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
            for seat in ruleset.actors(state):
                own = choices(ruleset, state, seat, 1000)
                last[seat] = rng.choice(own) if own else ruleset.action_space.sample()
        elif not ruleset.discrete:
            last = ruleset.action_space.sample()
        else:
            last = int(rng.choice(legal_actions(ruleset, state)))
        before, state = state, step(ruleset, state, last, strict=False)
    chosen = found if len(found) < count else sorted(rng.sample(found, count), key=lambda one: int(one[0]["steps"]))
    return [*chosen, (state, None, last, state, before)]


def choices(ruleset: Ruleset, state: np.void, seat: int | None, most: int) -> list[int]:
    """At most so many of the actions that a seat may choose from."""
    if is_over(state) or not ruleset.discrete or (ruleset.simultaneous and seat is None):
        return []
    if seat is not None and seat not in ruleset.actors(state):
        return []
    masks = action_mask(ruleset, state)
    return np.flatnonzero(masks[seat] if ruleset.simultaneous else masks)[:most].tolist()


def same_drawing(site: Path, name: str, variant: str, ruleset: Ruleset, count: int = 25) -> None:
    """The page draws and names what Python does."""
    jobs, native = [], []
    pens = {name: Pen(ruleset, name) for name in ("en", *getattr(ruleset.draw, "LANGUAGES", {}))}
    plain = ruleset.discrete and not ruleset.simultaneous
    for k, (view, seat, last, state, before) in enumerate(positions(ruleset, count, 7)):
        language = [*pens][k % len(pens)]
        pen, actions = pens[language], choices(ruleset, state, seat, 40)
        single = last if isinstance(last, int) else None
        content = base64.b64encode(view.tobytes()).decode()
        jobs.append({"bytes": content, "seat": seat, "last": single, "actions": actions, "language": language})
        native.append(
            {
                "svg": pen.svg(view, seat, single),
                "words": [pen.tell(view, ACTION, action) for action in actions],
                "spots": [[pen.tell(view, SPOT, spot) for spot in pen.spots(view, action)] for action in actions],
                "ending": pen.tell(view, ENDING, 0),
                "asked": pen.tell(view, ASKED, -1 if seat is None else seat),
                "log": pen.log(view),
                "done": pen.done(view),
            }
        )
        if not ruleset.discrete and pen.done(view):
            assert pen.done(view) == ruleset.notation.move_text(ruleset, before, last)
        if plain:
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
    if ruleset.discrete and not ruleset.simultaneous:
        return [int(action) for action in text.split(".") if action]
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return list(np.frombuffer(content, action_dtype(ruleset)).reshape(-1, *ruleset.actions_shape))


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
        masks = action_mask(ruleset, state) if ruleset.discrete else np.zeros(0, np.int8)
        for mover in ruleset.actors(state).tolist():
            if mover in agents:
                view = agent_views(ruleset, np.array([state]), np.array([mover]))[0]
                answer = agents[mover].act(view, masks[mover] if masks.ndim > 1 else masks)
                played = action[mover] if ruleset.simultaneous else action
                assert np.array_equal(np.asarray(answer, ruleset.action_dtype), played)
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
        values = [ruleset.draw.controls(ruleset)["fields"][0]["choices"].index("drive +0.50")]
    else:
        fields.nth(0).fill("0.5")
        values = [0.5, 0]
    # Somebody impatient, who goes, stops and goes on at once.
    page.evaluate("for (let k = 0; k < 3; k++) document.querySelector('#controls button').click()")
    page.wait_for_selector("body[data-state='over']", timeout=120_000)
    actions = np.array(actions_of(ruleset, visitor.link()))
    own = actions if ruleset.num_players == 1 else actions[:, int(visitor.link()["seat"])]
    chosen = np.asarray(pen.answer(new_state(ruleset, seed), values), ruleset.action_dtype)
    assert (own == (chosen[0] if ruleset.discrete else chosen)).all()
    return played_back(ruleset, visitor.link())


def game_by_sentences(visitor: Visitor, ruleset: Ruleset, seed: int) -> np.void:
    """Plays a game in which all act at once by buttons, in two steps where there are many, the picture and text in turn;
    its last state."""
    rng, page, turn = random.Random(seed), visitor.page, 0
    while visitor.wait() == "asked":
        link = visitor.link()
        seat, state, pen = int(link["seat"]), new_state(ruleset, seed), Pen(ruleset, "ja" if turn % 2 else "en")
        page.select_option("#language", "ja" if turn % 2 else "en")
        for action in actions_of(ruleset, link):
            state = step(ruleset, state, action, strict=False)
        view = view_of(ruleset, state, seat)
        legal = np.flatnonzero(action_mask(ruleset, state)[seat])
        chosen = int(rng.choice(legal))
        assert visitor.said() == f"{ruleset.players[seat]}: {pen.tell(view, ASKED, seat)}"
        heard = [line for line in page.inner_text("#log").split("\n") if line]
        assert heard == [line for day in pen.log(view) for line in day]
        path = [pen.tell(view, SPOT, spot) for spot in pen.spots(view, chosen)]
        if turn % 5 == 4 or len(legal) <= 40:
            page.fill("#text", pen.tell(view, ACTION, chosen))
            page.press("#text", "Enter")
        else:
            for name in path:
                spot = page.locator(f'.spot[data-name="{name}"]')
                if turn % 3 and spot.count():
                    spot.click()
                else:
                    button = page.locator("#moves button").get_by_text(name, exact=True)
                    button.focus()
                    button.press("Enter")
        page.wait_for_function(f"Number(document.body.dataset.ply) > {int(state['steps'])}")
        action = actions_of(ruleset, visitor.link())[int(state["steps"])]
        assert action[seat] == chosen
        turn += 1
    page.select_option("#language", "en")
    return played_back(ruleset, visitor.link())


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


SIDEWAYS = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.getElementById('picture'))"
FINGER = 16
"""Pixels that a place to click is wide at least: on a board of 19 lines on a phone."""
NARROWEST = (
    "Math.min(1000, ...[...document.querySelectorAll('.spot.next')].map((spot) => spot.getBoundingClientRect().width))"
)


def accessible(visitor: Visitor, viewport: dict[str, int]) -> None:
    """axe-core finds nothing on the page with everything unfolded, nothing is wider than the window, and a finger finds
    the places to click."""
    visitor.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    found = Axe().run(visitor.page)
    assert found.violations_count == 0, found.generate_report()
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert visitor.page.evaluate(SIDEWAYS) == 0
    assert visitor.page.evaluate(NARROWEST) >= FINGER


@pytest.mark.skipif(not any(map(shutil.which, CHROMIUM)), reason="no Chromium is installed; the slow tests ask for it")
def test_a_game_begins_in_a_browser(browser, address):
    """The checks of the slow tests, for one game and its first moves."""
    visitor = Visitor(browser, address, PHONE, dark=True)
    link = {"game": QUICK, "variant": "default", "seat": 0, "agent": OPPONENT, "seed": 11}
    opens_soon(visitor, link)
    assert visitor.bytes < 3 * LIMIT  # it was opened three times
    accessible(visitor, PHONE)
    first_move_by_keyboard(visitor)
    visitor.wait()
    assert int(played_back(game(QUICK).ruleset(), visitor.link())["steps"]) == 2
    assert not visitor.errors
    visitor.close()


@pytest.mark.slow
def test_everybody_can_use_it(browser, address):
    """In light and dark, on a desk and on a phone."""
    for viewport, dark in ((DESK, False), (PHONE, True)):
        visitor = Visitor(browser, address, viewport, dark)
        visitor.open(game=QUICK, seat=0, agent=OPPONENT)
        accessible(visitor, viewport)
        visitor.close()


@pytest.mark.slow
def test_a_finger_may_miss_a_narrow_place(browser, address):
    """On a touch screen it is tapped twice; another one may be tapped between."""
    visitor = Visitor(browser, address, {"width": 90, "height": 700}, touch=True)
    visitor.open(game=QUICK, seat=0, agent=OPPONENT, seed=11)
    spots = [visitor.page.locator(f'.spot[data-name="{name}"]') for name in ("B3", "C4")]
    for spot in (spots[0], spots[1], spots[0]):
        spot.tap()
        assert visitor.page.inner_text("#error") == f"{spot.get_attribute('data-name')}: tap once more"
        assert visitor.page.locator(".spot.chosen").count() == 0
    spots[0].tap()
    assert visitor.page.inner_text("#error") == ""
    assert visitor.page.locator(".spot.chosen").count() == 1
    visitor.close()


def tab_to(page: Any, expression: str) -> None:
    """Presses Tab until the expression holds for the element `here` that has the focus."""
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate(f"(here => {expression})(document.activeElement)"):
            return
    raise AssertionError(f"Tab does not lead to {expression}")


def first_move_by_keyboard(visitor: Visitor) -> None:
    """Makes a move by Tab, letters and Enter alone."""
    page = visitor.page
    ply = page.get_attribute("body", "data-ply")
    if page.is_visible("#text"):
        tab_to(page, "here.id === 'text'")
        page.keyboard.type(page.inner_text("#hint").removeprefix("for example "))
    else:
        tab_to(page, "here.tagName === 'BUTTON' && here.closest('#controls') !== null")
    page.keyboard.press("Enter")
    page.wait_for_function(f"document.body.dataset.ply !== '{ply}'")


@pytest.mark.slow
def test_the_keyboard_alone_suffices(browser, address):
    visitor = Visitor(browser, address)
    visitor.open(game=QUICK, seat=0, agent=OPPONENT)
    page = visitor.page

    tab_to(page, "here.classList.contains('spot')")  # B4, the first piece that can move
    for goal in ("B3", "B2"):
        page.keyboard.press("ArrowUp")
        assert page.evaluate("document.activeElement.dataset.name") == goal
        page.keyboard.press("Enter")
    page.wait_for_selector("body[data-ply='2'][data-state='asked']")
    tab_to(page, "here.id === 'text'")
    page.keyboard.type(page.inner_text("#hint").removeprefix("for example "))
    page.keyboard.press("Enter")
    page.wait_for_function("Number(document.body.dataset.ply) > 2")
    tab_to(page, "here.id === 'seat'")
    page.keyboard.press("ArrowDown")
    tab_to(page, "here.textContent === 'New game'")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-ply='1'][data-state='asked']")
    visitor.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", drawn_games())
def test_no_game_weighs_too_much(name, tmp_path):
    (size,) = write_site(tmp_path, [name]).values()
    assert size < LIMIT


@cache
def built(name: str) -> Path:
    """A playground with one game, all its variants and the agent that moves at random."""
    folder = Path(tempfile.mkdtemp(prefix="playground-"))
    atexit.register(shutil.rmtree, folder)
    write_site(folder, [name], agents=["random"])
    return folder


def everything(found: list[str]) -> list[tuple[str, str]]:
    return [(name, variant) for name in found for variant in ("default", *game(name).variants)]


def opens_soon(visitor: Visitor, link: dict[str, object]) -> None:
    """The first move is possible soon; on a busy machine as much later as there are more processes than cores."""
    found = []
    for _ in range(3):
        begin = monotonic()
        visitor.open(**link)
        found.append(monotonic() - begin)
    assert min(found) < SOON * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)), found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant"), everything(drawn_games()))
def test_every_game_is_played_to_its_end(name, variant, browser):
    one = game(name)
    ruleset = one.ruleset(**one.variants.get(variant, {}))
    same_drawing(built(name), one.name, variant, ruleset, 60)
    with served(built(name)) as url:
        link = {"game": one.name, "variant": variant, "seat": 0, "agent": "random", "seed": 11}
        phone = Visitor(browser, url, PHONE, dark=True)
        opens_soon(phone, link)
        accessible(phone, PHONE)
        first_move_by_keyboard(phone)
        phone.close()
        visitor = Visitor(browser, url)
        visitor.open(**link)
        accessible(visitor, DESK)
        play = game_by_clicks if ruleset.discrete else game_by_controls
        if ruleset.simultaneous:
            play = game_by_sentences
        if hasattr(ruleset.draw, "steps_per_second"):
            play = game_in_real_time
        state = play(visitor, ruleset, 11)
        assert is_over(state)
        assert Pen(ruleset).tell(state, ENDING, 0) in visitor.said()
        assert not visitor.errors
        visitor.close()


CONTROLLERS = [
    "constant",
    "sequence:on=0.5,off=0.1",
    "slope",
    "playback",
    "pseudo_speed",
    "gyro_pitch",
    "shape",
    "predict",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mini4wd", "mini4wd_discrete"])
def test_controllers_drive_in_the_page(name, browser, tmp_path):
    """Each is chosen and drives to the end, and its actions are Python's."""
    ruleset = game(name).ruleset()
    write_site(tmp_path, [name], agents=["random", *CONTROLLERS], variants=False)
    with served(tmp_path) as url:
        for text in CONTROLLERS:
            visitor = Visitor(browser, url)
            visitor.open(game=name, seat="watch", agent=text, seed=5)
            visitor.page.wait_for_selector("body[data-state='over']", timeout=120_000)
            link = {key: unquote(value) for key, value in visitor.link().items()}
            assert link["agent"] == text
            assert is_over(played_back(ruleset, {**link, "seat": "-1"}))
            assert not visitor.errors
            visitor.close()


MOVE = """(() => {
  if (document.body.dataset.state !== "asked") return document.body.dataset.state;
  const drive = document.querySelector("#controls button");
  const buttons = [...document.querySelectorAll("#moves button")].filter((one) => one.textContent !== "Back");
  if (!document.querySelector("#controls").hidden) { if (drive.textContent !== "Stop") drive.click(); }
  else if (buttons.length) buttons[Math.floor(%f * buttons.length)].click();
  return "asked";
})()"""


def accessible_in_firefox(page: Firefox, viewport: dict[str, int], dark: bool) -> None:
    """The checks of `accessible`, in Firefox."""
    page.size(**viewport)
    assert page.run("matchMedia('(prefers-color-scheme: dark)').matches") is dark
    page.run("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.violations() == []
    assert page.run("document.documentElement.scrollWidth") <= viewport["width"]
    assert page.run(SIDEWAYS) == 0
    assert page.run(NARROWEST) >= FINGER


def first_move_by_keyboard_in_firefox(page: Firefox) -> None:
    """Makes a move by Tab, letters and Enter alone. A headless Firefox never has the focus (`document.hasFocus()`), and
    without it Enter presses no button: where a button makes the move, Tab must lead to it; Chromium's test presses it."""
    tab, enter, letters = "\ue004", "\ue007", ""
    goal = "here.tagName === 'BUTTON' && here.closest('#controls') !== null"
    ply = page.run("document.body.dataset.ply")
    if typed := page.run("document.getElementById('text').checkVisibility()"):
        goal = "here.id === 'text'"
        letters = page.run("document.getElementById('hint').textContent").removeprefix("for example ")
    for _ in range(400):
        page.keys(tab)
        if page.run(f"(here => {goal})(document.activeElement)"):
            break
    else:
        raise AssertionError(f"Tab does not lead to {goal}")
    if typed:
        page.keys(*letters, enter)
        page.wait(f"document.body.dataset.ply !== '{ply}'")


@pytest.mark.slow
@pytest.mark.parametrize("name", drawn_games())
def test_every_game_is_played_in_firefox(name, tmp_path):
    rng, one = random.Random(5), game(name)
    variants = {"default": one.ruleset()} | {label: one.ruleset(**given) for label, given in one.variants.items()}
    fewest = min(variants, key=lambda label: variants[label].num_players)
    begun = f"#game={one.name}&variant={fewest}&seat=0&agent=random&seed=11"
    ready = "['asked', 'over'].includes(document.body.dataset.state)"
    with served(built(name)) as url, firefox(tmp_path / "phone", dark=True) as page:
        page.open(f"{url}/index.html{begun}")
        page.wait(ready)
        accessible_in_firefox(page, PHONE, dark=True)
        first_move_by_keyboard_in_firefox(page)
        assert not page.errors
    with served(built(name)) as url, firefox(tmp_path / "desk") as page:
        page.open(f"{url}/index.html{begun}")
        page.wait(ready)
        accessible_in_firefox(page, DESK, dark=False)
        end = monotonic() + 900
        while page.run(MOVE % rng.random()) != "over":
            assert monotonic() < end
            sleep(0.01)
        page.run("document.getElementById('link').click()")
        link = dict(part.split("=", 1) for part in page.run("location.hash.slice(1)").split("&"))
        state = played_back(variants[fewest], link)
        assert is_over(state)
        assert Pen(variants[fewest]).tell(state, ENDING, 0) in page.run("document.getElementById('status').textContent")
        assert not page.errors

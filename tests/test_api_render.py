"""Pictures, films and windows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import imageio.v3 as imageio
import matplotlib_fontja
import numpy as np
import pytest
import resvg_py

from asobiba.api import Batch, SeatEnv, render
from asobiba.core import GameParameterError, game, games, states
from asobiba.core.states import as_action

ACTIONS = [0, 5, 11]
DRAWN = [found.name for found in games() if found.draw is not None]


def test_pixels_are_those_of_the_svg():
    pixels = render.rasterise(
        '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="2"><rect width="2" height="2" fill="#ff0000"/></svg>'
    )
    assert pixels.shape == (2, 4, 3)
    assert pixels.dtype == np.uint8
    assert pixels[0].tolist() == [[255, 0, 0], [255, 0, 0], [255, 255, 255], [255, 255, 255]]


def test_text_is_drawn_without_system_fonts():
    frame = '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20"><text x="2" y="15">{}</text></svg>'
    assert render.rasterise(frame.format("遊び場")).min() < 128
    assert (render.rasterise(frame.format("")) == 255).all()


def from_resvg(picture: str) -> np.ndarray:
    """The pixels as another library draws them, with the same font."""
    font = next(Path(matplotlib_fontja.__file__).parent.rglob("*.ttf"))
    families = ("font_family", "serif_family", "sans_serif_family", "monospace_family")
    png = resvg_py.svg_to_bytes(
        svg_string=picture,
        background="#ffffff",
        skip_system_fonts=True,
        font_files=[str(font)],
        **dict.fromkeys(families, "IPAexGothic"),
    )
    return imageio.imread(bytes(png), extension=".png")[:, :, :3]


def assert_like_resvg(picture: str) -> None:
    # Both smooth edges in their own way: nothing is missing, and nothing stands elsewhere.
    ours, theirs = render.rasterise(picture), from_resvg(picture)
    assert ours.shape == theirs.shape
    apart = abs(ours.astype(int) - theirs).max(axis=2)
    assert apart.mean() < 0.8  # a picture full of text has many edges
    assert (apart > 80).mean() < 1e-4


@pytest.mark.parametrize("name", DRAWN)
def test_pictures_are_those_of_another_library(name):
    ruleset = game(name).ruleset()
    batch = Batch(ruleset, 1, threads=1)
    batch.reset(5)
    for _ in range(40):
        actions = batch.sample_actions()
        batch.step(actions)
    assert_like_resvg(render.svg(ruleset, batch.states[0], last_action=as_action(ruleset, actions[0])))


def test_letters_stand_where_they_should():
    text = "<text x='{}' y='{}' {}>{}</text>"
    lines = [
        text.format(10, 30, "font-size='20'", "Il1 - wg &lt;&amp;"),
        text.format(150, 60, "text-anchor='middle' fill='#c00'", "遊び場 が ぱ"),
        text.format(290, 90, "text-anchor='end' font-size='9px' fill='#00000080'", "the end |"),
        text.format(10, 120, "xml:space='preserve' font-family='monospace'", "a   b"),
        text.format(20, 140, "transform='rotate(-10 20 140)'", "turned"),
        text.format(150, 150, "stroke='#fff' stroke-width='3' paint-order='stroke'", "outlined"),
        text.format(10, 170, "", "l"),
        text.format(150, 170, "style='font-size: 12px; text-anchor: middle; fill: #080'", "styled"),
    ]
    assert_like_resvg(
        "<svg xmlns='http://www.w3.org/2000/svg' width='300' height='180' font-size='15'>"
        f"<rect width='300' height='180' fill='#dde'/><g fill='#123'>{''.join(lines)}</g></svg>"
    )


def test_what_is_no_picture_is_said():
    for text in ("no picture", "<svg", "<html/>"):
        with pytest.raises(GameParameterError, match="SVG picture"):
            render.rasterise(text)
    wide = render.rasterise("<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'/>", 100)
    assert wide.shape == (50, 100, 3)


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
@pytest.mark.parametrize("name", ["toy_nim", "toy_kuhn"])
def test_films(tmp_path, suffix, name):
    ruleset = game(name).ruleset()
    actions = ACTIONS if name == "toy_nim" else [1, 1]
    path = render.save_replay(tmp_path / "deep" / f"film{suffix}", ruleset, actions, seed=3, fps=2)
    frames = imageio.imread(path, index=None)
    assert len(frames) >= len(actions) if suffix == ".mp4" else len(frames) == len(actions) + 1
    first = render.rasterise(render.svg(ruleset, states.new_state(ruleset, 3)))
    assert abs(frames[0][: first.shape[0], : first.shape[1], :3].astype(int) - first).mean() < 8
    assert not np.array_equal(frames[0], frames[-1])


def test_bad_films(tmp_path):
    with pytest.raises(GameParameterError, match=r"\.gif or \.mp4"):
        render.save_movie(tmp_path / "film.avi", [])
    with pytest.raises(GameParameterError, match="no pictures"):
        render.save_movie(tmp_path / "film.gif", [])


def test_a_seat_sees_its_own_cards_only():
    ruleset = game("toy_kuhn").ruleset()
    state = states.new_state(ruleset, 1)
    cards = state["cards"].tolist()
    assert f"cards: {cards}" in render.ansi(ruleset, state)
    assert f"cards: [{cards[0]}, -1]" in render.ansi(ruleset, state, 0)
    env = SeatEnv("toy_kuhn", render_mode="ansi", seat="first")
    env.reset(seed=1)
    assert ", -1]" in env.render()


def test_a_window_needs_a_display():
    code = (
        "import os; os.environ['SDL_VIDEODRIVER'] = 'x11'; os.environ.pop('DISPLAY', None)\n"
        "import asobiba\n"
        "env = asobiba.make('toy_nim', render_mode='human'); env.reset(seed=0)"
    )
    path = ":".join(filter(None, sys.path))
    found = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert "no window can be opened" in found.stderr
    assert "rgb_array" in found.stderr

"""Pictures, films and windows."""

from __future__ import annotations

import subprocess
import sys

import imageio.v3 as imageio
import numpy as np
import pytest

from asobiba.api import SeatEnv, render
from asobiba.core import GameParameterError, game, states

ACTIONS = [0, 5, 11]


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

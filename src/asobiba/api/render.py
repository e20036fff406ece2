"""Pictures: text, SVG, pixels (rasterised from the same SVG, without a display), a window, GIF and MP4 files."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.api.pixels import rasterise
from asobiba.core.errors import AsobibaError, GameParameterError, MissingExtra
from asobiba.core.game import Ruleset
from asobiba.core.states import as_action, new_state, step, view_of

__all__ = [
    "MODES",
    "NoDisplay",
    "Renderer",
    "ansi",
    "replay_pictures",
    "save_movie",
    "save_replay",
    "svg",
]

MODES = ("human", "rgb_array", "ansi", "svg")
_NAMES_OF_HEADER = ("rng_key", "rng_counter")


class NoDisplay(AsobibaError, RuntimeError):
    """Raised when a window is asked for and none can be opened."""


def check_mode(mode: str | None, modes: Sequence[str] = MODES) -> None:
    """Raises `GameParameterError` for a render mode that does not exist."""
    if mode is not None and mode not in modes:
        raise GameParameterError(f"render_mode must be one of {', '.join(modes)} or None, not {mode!r}")


def ansi(ruleset: Ruleset, state: np.void, seat: int | None = None) -> str:
    """The position as text: the full state, or the knowledge of `seat`."""
    if seat is not None:
        state = view_of(ruleset, state, seat)
    if ruleset.game.notation is not None:
        return ruleset.notation.board_text(ruleset, state, seat)
    names = [n for n in ruleset.dtype.names or () if not n.startswith("_pad") and n not in _NAMES_OF_HEADER]
    values = {name: np.asarray(state[name]) for name in names}
    shown = {name: np.round(v.astype(float), 3) if v.dtype.kind == "f" else v for name, v in values.items()}
    return "\n".join(f"{name}: {value.tolist()}" for name, value in shown.items())


def picture_seat(ruleset: Ruleset, seat: int | None) -> int | None:
    """The seat whose knowledge a picture for `seat` shows; `None`: the full state.

    A game whose drawing module says `SPECTATOR = True` is played in full view of its players, whatever their agents
    sense.
    """
    drawing = ruleset.draw if ruleset.game.draw is not None else None
    return None if getattr(drawing, "SPECTATOR", False) else seat


def svg(ruleset: Ruleset, state: np.void, seat: int | None = None, last_action: Any = None) -> str:
    """The position as a standalone SVG picture: the full state, or the knowledge of `seat`."""
    if seat is not None:
        state = view_of(ruleset, state, seat)
    if ruleset.game.draw is not None:
        return ruleset.draw.svg(ruleset, state, seat=seat, last_action=last_action)
    lines = ansi(ruleset, state, seat).splitlines() or [""]
    width, height = 16 + 9 * max(map(len, lines)), 16 + 18 * len(lines)
    rows = "".join(
        f'<text x="8" y="{22 + 18 * k}" xml:space="preserve">{escape(line)}</text>' for k, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        f'<g font-family="monospace" font-size="15" fill="#222222">{rows}</g></svg>'
    )


class Renderer:
    """Draws the states of one environment; holds its window."""

    def __init__(self, ruleset: Ruleset, fps: float = 4.0):
        self.ruleset = ruleset
        self.fps = fps
        self._window: Any = None

    def render(self, mode: str | None, state: np.void, *, seat: int | None = None, last_action: Any = None) -> Any:
        """The picture in `mode`: `str` for "ansi" and "svg", pixels for "rgb_array", `None` for "human"."""
        if mode is None:
            raise GameParameterError(f"this environment was made without render_mode; choose one of {', '.join(MODES)}")
        if mode == "ansi":
            return ansi(self.ruleset, state, seat)
        picture = svg(self.ruleset, state, picture_seat(self.ruleset, seat), last_action)
        if mode == "svg":
            return picture
        pixels = rasterise(picture)
        if mode == "rgb_array":
            return pixels
        self._show(pixels)
        return None

    def _show(self, pixels: np.ndarray) -> None:
        try:
            import pygame
        except ImportError:
            raise MissingExtra("pygame-ce", "render") from None
        size = (pixels.shape[1], pixels.shape[0])
        try:
            if self._window is None or self._window.get_size() != size:
                pygame.display.init()
                pygame.display.set_caption(self.ruleset.game.title)
                self._window = pygame.display.set_mode(size)
        except pygame.error as error:
            raise NoDisplay(
                f"no window can be opened ({error}). Without a display use render_mode 'rgb_array', 'svg' or 'ansi'."
            ) from None
        pygame.surfarray.blit_array(self._window, pixels.swapaxes(0, 1))
        pygame.event.pump()
        pygame.display.flip()

    def close(self) -> None:
        """Closes the window, if there is one."""
        if self._window is not None:
            import pygame

            pygame.display.quit()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return {"ruleset": self.ruleset, "fps": self.fps, "_window": None}


def step_fps(ruleset: Ruleset, otherwise: float) -> float:
    """Pictures per second where every step is drawn: `steps_per_second(ruleset)` of the drawing module, if it says that
    the game runs in real time, else `otherwise`.
    """
    drawing = ruleset.draw if ruleset.game.draw is not None else None
    found = getattr(drawing, "steps_per_second", None)
    return otherwise if found is None else float(found(ruleset))


def film_fps(ruleset: Ruleset) -> float:
    """Pictures per second of a game's films: the `FPS` of its drawing module where it has one, else 4."""
    return float(getattr(ruleset.draw, "FPS", 4.0)) if ruleset.game.draw is not None else 4.0


def replay_pictures(
    ruleset: Ruleset, actions: Iterable[Any], *, seed: int = 0, start: np.void | None = None, seat: int | None = None
) -> Iterator[str]:
    """The SVG pictures of a game: the start, then one (or several, where the game animates) after each action.

    Raises:
        IllegalAction: for an action that the rules forbid.
    """
    state = new_state(ruleset, seed) if start is None else start
    yield svg(ruleset, state, seat)
    animated = seat is None and ruleset.game.draw is not None and hasattr(ruleset.draw, "frames")
    for action in actions:
        before, state = state, step(ruleset, state, action)
        if animated:
            yield from ruleset.draw.frames(ruleset, before, as_action(ruleset, action), state)
        else:
            yield svg(ruleset, state, seat, action)


def save_movie(
    path: str | Path, pictures: Iterable[str | np.ndarray], *, fps: float = 4.0, width: int | None = None
) -> Path:
    """Writes pictures (SVG strings, or pixels) as a film: `.gif` or `.mp4`, by the name of the file.

    Raises:
        GameParameterError: for another suffix, or no pictures.
        MissingExtra: without the extra `render`.
    """
    path = Path(path)
    if path.suffix not in (".gif", ".mp4"):
        raise GameParameterError(f"a film is written to a .gif or .mp4 file, not to {path.name!r}")
    try:
        import imageio.v2 as imageio
    except ImportError:
        raise MissingExtra("imageio", "render") from None
    if path.suffix == ".mp4" and importlib.util.find_spec("imageio_ffmpeg") is None:
        raise MissingExtra("imageio-ffmpeg", "render")
    frames = [p if isinstance(p, np.ndarray) else rasterise(p, width) for p in pictures]
    if not frames:
        raise GameParameterError("there are no pictures to write")
    height, wide = (max(frame.shape[k] for frame in frames) for k in (0, 1))
    height, wide = height + height % 2, wide + wide % 2  # the video codec wants even numbers
    full: list[Any] = []
    for frame in frames:
        page = np.full((height, wide, 3), 255, np.uint8)
        page[: frame.shape[0], : frame.shape[1]] = frame
        full.append(page)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gif":
        imageio.mimwrite(path, full, duration=1000 / fps, loop=0)
    else:
        imageio.mimwrite(path, full, fps=fps, macro_block_size=2)
    return path


def save_replay(
    path: str | Path,
    ruleset: Ruleset,
    actions: Iterable[Any],
    *,
    seed: int = 0,
    start: np.void | None = None,
    seat: int | None = None,
    fps: float | None = None,
    width: int | None = None,
) -> Path:
    """Writes a game as a film, `.gif` or `.mp4`; the game begins from `seed`, or from the state `start`.

    Args:
        seat: the seat whose knowledge is shown; `None` shows everything.
        fps: pictures per second; `None` takes the game's own.
        width: of the film in pixels; `None` takes the pictures' own.
    """
    pictures = replay_pictures(ruleset, actions, seed=seed, start=start, seat=seat)
    return save_movie(path, pictures, fps=film_fps(ruleset) if fps is None else fps, width=width)

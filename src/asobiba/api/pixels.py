"""Pixels of SVG pictures.

ThorVG fills and strokes; its C functions are called directly, so that a frame takes two milliseconds. Text is converted
to the outlines of one font here, so that the same letters stand at the same place on every machine, whatever its fonts.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from asobiba.core.errors import GameParameterError, MissingExtra

_SVG = "{http://www.w3.org/2000/svg}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_LENGTH = re.compile(r"\s*(-?[0-9]*\.?[0-9]+)(px)?\s*")
_INHERITED = {"font-size": "16", "text-anchor": "start", _SPACE: "default"}
_OF_LETTERS = {*_INHERITED, "x", "y", "font-family", "font-weight", "font-style", "paint-order"}


def rasterise(picture: str, width: int | None = None) -> np.ndarray:
    """The pixels of an SVG picture, `(height, width, 3)` uint8, on white.

    Lengths are plain numbers or `px`; a `text` has one style and one place; there are no style sheets.

    Args:
        width: of the result in pixels; `None` takes the picture's own.

    Raises:
        GameParameterError: for text that is not an SVG picture.
        MissingExtra: without the extra `render`.
    """
    thorvg = _thorvg()
    try:
        root = ElementTree.fromstring(picture)
    except ElementTree.ParseError as error:
        raise GameParameterError(f"this is not an SVG picture: {error}") from None
    _plain(root, _INHERITED)
    root.set("xmlns", _SVG[1:-1])
    return thorvg.draw(ElementTree.tostring(root), width)


def _number(text: str) -> float:
    found = _LENGTH.fullmatch(text)
    if found is None:
        raise GameParameterError(f"a length of an SVG picture is a number or a number of px here, not {text!r}")
    return float(found[1])


def _plain(element: ElementTree.Element, inherited: dict[str, str]) -> None:
    """Removes the namespace from the names, turns styles into attributes, splits colours with opacity into two
    attributes, and turns text into outlines.
    """
    for declaration in element.attrib.pop("style", "").split(";"):
        name, _, value = declaration.partition(":")
        if value:
            element.set(name.strip(), value.strip())
    # ThorVG knows neither `transparent` nor colours of eight digits.
    element.tag = element.tag.removeprefix(_SVG)
    for name in ("fill", "stroke"):
        colour = element.get(name, "")
        if len(colour) == 9 and colour[0] == "#":
            element.set(name, colour[:7])
            element.set(f"{name}-opacity", f"{int(colour[7:], 16) / 255:.4f}")
        elif colour == "transparent":
            element.set(name, "none")
    if not inherited.keys().isdisjoint(element.keys()):
        inherited = {name: element.get(name, value) for name, value in inherited.items()}
    for child in element:
        _plain(child, inherited)
    if element.tag == "text":
        _outline(element, inherited)


def _outline(element: ElementTree.Element, style: dict[str, str]) -> None:
    """Turns a `text` into a `g` of its letters' outlines."""
    text = "".join(element.itertext())
    text = text.replace("\n", " ") if style[_SPACE] == "preserve" else " ".join(text.split())
    font = _font()
    letters = [font.glyph(letter) for letter in text]
    scale = _number(style["font-size"]) / font.units
    length = scale * sum(advance for advance, _ in letters)
    x = _number(element.get("x", "0")) - {"middle": length / 2, "end": length}.get(style["text-anchor"], 0)
    y = _number(element.get("y", "0"))
    order = element.get("paint-order", "")
    attributes = {name: value for name, value in element.attrib.items() if name not in _OF_LETTERS}
    if "stroke-width" in attributes:
        attributes["stroke-width"] = f"{_number(attributes['stroke-width']) / scale:.2f}"
    place = f"translate({x:.3f} {y:.3f}) scale({scale:.6f} {-scale:.6f})"
    attributes["transform"] = f"{attributes.get('transform', '')} {place}".strip()
    # One path of all letters, begun by a bare point: a path that is one upright rectangle, such as an l, would be
    # moved to whole pixels.
    reached, outlines = 0, ["M0 0"]
    for advance, outline in letters:
        outlines.append(f"M{reached} 0{outline}")
        reached += advance
    element.clear()
    element.tag = "g"
    element.attrib.update(attributes)
    for layer in [{"fill": "none"}, {"stroke": "none"}] if order.startswith("stroke") else [{}]:
        ElementTree.SubElement(element, "path", {"d": "".join(outlines), **layer})


class _Font:
    """The outlines of a TrueType font, read when first needed."""

    def __init__(self, path: Path):
        from fontTools.ttLib import TTFont

        self._file = TTFont(path, lazy=True)
        self.units: int = self._file["head"].unitsPerEm
        self._names = self._file.getBestCmap()
        self._glyphs = self._file.getGlyphSet()
        self._known: dict[str, tuple[int, str]] = {}

    def glyph(self, letter: str) -> tuple[int, str]:
        """Advance of a letter, and its outline in the font's units: the relative commands of an SVG path."""
        if letter not in self._known:
            from fontTools.pens.recordingPen import DecomposingRecordingPen

            glyph = self._glyphs[self._names.get(ord(letter), ".notdef")]
            pen = DecomposingRecordingPen(self._glyphs)
            glyph.draw(pen)
            self._known[letter] = glyph.width, _relative(pen.value)
        return self._known[letter]


def _relative(contours: list[tuple[str, tuple[Any, ...]]]) -> str:
    """The commands of a TrueType outline as those of an SVG path, each relative to where the last one ended."""
    from fontTools.pens.basePen import decomposeQuadraticSegment

    commands: list[str] = []
    here = start = (0, 0)

    def add(letter: str, *points: Any) -> None:
        nonlocal here
        commands.append(letter + " ".join(f"{x - here[0]:g} {y - here[1]:g}" for x, y in points))
        here = points[-1]

    for name, points in contours:
        if name == "moveTo":
            add("m", *points)
            start = here
        elif name == "lineTo":
            add("l", *points)
        elif name == "qCurveTo" and points[-1] is not None:
            for control, end in decomposeQuadraticSegment(points):
                add("q", control, end)
        elif name == "qCurveTo":  # a contour of control points alone begins halfway between the last and the first
            *controls, _ = points
            (x0, y0), (x1, y1) = controls[-1], controls[0]
            middle = ((x0 + x1) / 2, (y0 + y1) / 2)
            add("m", middle)
            start = here
            for control, end in decomposeQuadraticSegment([*controls, middle]):
                add("q", control, end)
        elif name == "curveTo":
            add("c", *points)
        else:
            commands.append("z")
            here = start
    return "".join(commands)


@cache
def _font() -> _Font:
    # A font that is installed with the extra makes the same pixels on every machine, Japanese included.
    found = importlib.util.find_spec("matplotlib_fontja")
    if found is None or not found.submodule_search_locations:
        raise MissingExtra("matplotlib-fontja", "render")
    return _Font(next(iter(sorted(Path(found.submodule_search_locations[0]).rglob("*.ttf")))))


_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "swcanvas_create": (ctypes.c_void_p, (ctypes.c_int,)),
    "swcanvas_set_target": (
        ctypes.c_int,
        (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_int),
    ),
    "canvas_add": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_void_p)),
    "canvas_draw": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_bool)),
    "canvas_sync": (ctypes.c_int, (ctypes.c_void_p,)),
    "canvas_destroy": (ctypes.c_int, (ctypes.c_void_p,)),
    "picture_new": (ctypes.c_void_p, ()),
    "picture_load_data": (
        ctypes.c_int,
        (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_bool),
    ),
    "picture_get_size": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)),
    "picture_set_size": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_float, ctypes.c_float)),
    "paint_unref": (ctypes.c_uint16, (ctypes.c_void_p, ctypes.c_bool)),
}
"""ThorVG's C functions: what they return, and their arguments (its header thorvg_capi.h, version 1)."""
_RGBA = 0  # bytes in memory: red, green, blue, alpha
_DEFAULT_OPTIONS = 1


class _ThorVG:
    def __init__(self) -> None:
        from PIL import Image
        from thorvg_python import Engine

        self._image = Image
        self._engine = Engine(threads=0)  # ends the library when it is collected
        self._call: dict[str, Any] = {}
        for name, (result, arguments) in _FUNCTIONS.items():
            # By index: a separate function object, whose argument types no other code sets.
            function = self._engine.thorvg_lib[f"tvg_{name}"]
            function.restype, function.argtypes = result, arguments
            self._call[name] = function

    def draw(self, svg: bytes, width: int | None) -> np.ndarray:
        call = self._call
        picture = call["picture_new"]()
        if call["picture_load_data"](picture, svg, len(svg), b"svg", None, False) != 0:
            call["paint_unref"](picture, True)
            raise GameParameterError("this SVG picture cannot be drawn")
        wide, high = ctypes.c_float(), ctypes.c_float()
        call["picture_get_size"](picture, ctypes.byref(wide), ctypes.byref(high))
        columns = max(1, round(wide.value) if width is None else width)
        rows = max(1, round(high.value * columns / (wide.value or 1)))
        call["picture_set_size"](picture, columns, rows)
        pixels = np.full((rows, columns), 0xFFFFFFFF, np.uint32)
        canvas = call["swcanvas_create"](_DEFAULT_OPTIONS)
        call["swcanvas_set_target"](canvas, pixels.ctypes.data, columns, columns, rows, _RGBA)
        call["canvas_add"](canvas, picture)
        call["canvas_draw"](canvas, False)
        call["canvas_sync"](canvas)
        call["canvas_destroy"](canvas)  # and its picture
        return np.array(self._image.frombuffer("RGBX", (columns, rows), pixels, "raw", "RGBX", 0, 1).convert("RGB"))


@cache
def _thorvg() -> _ThorVG:
    try:
        import fontTools  # noqa: F401
        import PIL  # noqa: F401
        import thorvg_python  # noqa: F401
    except ImportError as error:
        raise MissingExtra(str(error.name).replace("_", "-"), "render") from None
    return _ThorVG()

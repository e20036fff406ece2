"""The opening paragraphs of reproduction pages: written by people in `docs/reproductions/openings.yml`, with figures that
stand in the pages.

A page gets its paragraph when it is stamped (`asobiba.pages`), so that its command need not run for it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import fill

_FILE = "docs/reproductions/openings.yml"
_BLOCK = re.compile(r"<!-- opening: from openings\.yml -->\n.*?\n<!-- end of the opening -->\n\n", re.DOTALL)
_FIGURE = re.compile(r"\{((?:[^{}]|\{\d+\})+)\}")


class NoFigure(ValueError):
    """Raised for a figure that the page does not have."""


def without_opening(text: str) -> str:
    """A page's text without its opening paragraph."""
    return _BLOCK.sub("", text)


def with_opening(text: str, opening: str) -> str:
    """A page's text with this opening paragraph below its title.

    Args:
        opening: its numbers must occur in the page; `{PATTERN}` stands for what the group of a regular expression finds.

    Raises:
        NoFigure: if a number does not occur, or a pattern finds nothing.
    """
    title, _, body = without_opening(text).partition("\n\n")

    def figure(pattern: re.Match[str]) -> str:
        found = re.search(pattern[1], body)
        if found is None:
            raise NoFigure(f"no figure fits {pattern[1]!r}")
        return found[1]

    for number in re.findall(r"\d[\d,.]*(?<![,.])", re.sub(r"`[^`]*`", "", _FIGURE.sub("", opening))):
        if not re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d]|[.,]\d)", f"{title} {body}"):
            raise NoFigure(f"the page has no number {number}")
    told = fill(_FIGURE.sub(figure, opening), 120, break_long_words=False, break_on_hyphens=False)
    return f"{title}\n\n<!-- opening: from openings.yml -->\n{told}\n<!-- end of the opening -->\n\n{body}"


def openings(root: Path) -> dict[str, str]:
    """The opening paragraphs by the names of their pages; none where there is no file of them."""
    import yaml

    file = root / _FILE
    return yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else {}


def opened(root: Path, path: str, text: str) -> str:
    """The text of the page at `path` with its opening; without one, and a remark, if a figure of it is not there."""
    found = openings(root).get(Path(path).stem) if path.startswith("docs/reproductions/") else None
    if found is None:
        return text
    try:
        return with_opening(text, found)
    except NoFigure as error:
        print(f"{path} has no opening: {error}; see {_FILE}", file=sys.stderr)
        return without_opening(text)

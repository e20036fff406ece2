"""Holds a built site to what it promises, and enters it among the versions that lie beside it.

    python docs/_site/finish.py build/site main

Nothing is loaded from elsewhere: no script, style sheet, font or picture. `versions.json` names the versions of the folder, and
its `index.html` leads to the newest release, or to `main` where there is none.
"""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path


class _Loaded(HTMLParser):
    """The addresses that a page loads, not those that it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed"):
            self.found.append(values.get("src") or "")
        if tag == "link" and {*(values.get("rel") or "").split()} & {"stylesheet", "icon", "preload", "preconnect"}:
            self.found.append(values.get("href") or "")


def loaded_from_elsewhere(folder: Path) -> list[str]:
    """The addresses on other hosts that pages and style sheets of a folder load, with the file that does."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        reader = _Loaded()
        reader.feed(path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(folder)}: {one}" for one in reader.found if re.match(r"(https?:)?//", one)]
    for path in sorted(folder.rglob("*.css")):
        addresses = re.findall(
            r"(?:url\(|@import\s+)['\"]?((?:https?:)?//[^'\")\s]+)", path.read_text(encoding="utf-8")
        )
        found += [f"{path.relative_to(folder)}: {one}" for one in addresses]
    return found


def dead_links(folder: Path) -> list[str]:
    """Links of the pages of a folder to files that are not there."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        for target in set(re.findall(r'<a [^>]*href="([^"#?]+)', text)):
            if not re.match(r"[a-z]+:|//", target) and not (path.parent / target).exists():
                found.append(f"{path.relative_to(folder)}: {target}")
    return found


def _order(name: str) -> tuple[bool, list[int]]:
    return name.startswith("v"), [int(part) for part in re.findall(r"\d+", name)]


def enter(site: Path) -> list[str]:
    """Writes `versions.json` and `index.html`; returns the versions, newest first, `main` last."""
    names = sorted((path.parent.name for path in site.glob("*/searchindex.js")), key=_order, reverse=True)
    (site / "versions.json").write_text(json.dumps(names), encoding="utf-8")
    (site / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>asobiba</title><meta http-equiv="refresh" content="0; url={names[0]}/">'
        f'<a href="{names[0]}/">asobiba</a>\n',
        encoding="utf-8",
    )
    (site / ".nojekyll").touch()  # folders that begin with _ are part of the site
    return names


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if len(sys.argv) > 2:
        wrong = [*loaded_from_elsewhere(place / sys.argv[2]), *dead_links(place / sys.argv[2])]
        if wrong:
            sys.exit("\n".join(["loaded from elsewhere, or linked and not there:", *wrong]))
    print("Versions:", ", ".join(enter(place)))

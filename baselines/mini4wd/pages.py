"""The pages of the mini 4WD that commands write."""

from __future__ import annotations

from asobiba.pages import Page, reproduction_modules


def _page(name: str, *modules: str) -> Page:
    path = f"docs/reproductions/mini4wd-{name}.md"
    return Page(path, f"asobiba mini4wd {name} --output {path}", reproduction_modules("mini4wd", *modules))


PAGES = (
    Page(
        "docs/reproductions/mini4wd.md",
        "asobiba reproduce mini4wd --output docs/reproductions/mini4wd.md",
        ("asobiba.envs.mini4wd", "asobiba.baselines.mini4wd.published"),
    ),
    _page("controllers", "report"),
    _page("ranges", "ranges"),
    _page("sides", "sides"),
)

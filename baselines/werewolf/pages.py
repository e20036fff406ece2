"""The pages of werewolf that a command writes."""

from __future__ import annotations

from asobiba.pages import Page, reproduction_modules

PAGES = (
    Page(
        "docs/reproductions/werewolf.md",
        "asobiba reproduce werewolf --full --output docs/reproductions/werewolf.md",
        reproduction_modules("werewolf", "reproduction"),
    ),
    Page(
        "docs/reproductions/werewolf-fifteen.md",
        "asobiba measure werewolf --games 1000 --slow 60 --output docs/reproductions/werewolf-fifteen.md",
        reproduction_modules("werewolf", "fifteen"),
    ),
)

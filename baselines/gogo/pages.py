"""The page of Gogo that a command writes."""

from __future__ import annotations

from asobiba.pages import Page, reproduction_modules

PAGES = (
    Page(
        "docs/reproductions/gogo.md",
        "asobiba reproduce gogo --years 4 --students 40 --submissions 300 --entry 100 --seed 0 --output docs/reproductions/gogo.md",
        reproduction_modules("gogo", "contest", "contest_page", "years"),
    ),
)

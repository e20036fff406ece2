"""The pages of Gogo that commands write."""

from __future__ import annotations

from asobiba.pages import Page, reproduction_modules

PAGES = (
    Page(
        "docs/reproductions/gogo.md",
        "asobiba reproduce gogo --years 4 --students 40 --submissions 300 --entry 100 --seed 0 --output docs/reproductions/gogo.md",
        reproduction_modules("gogo", "contest", "contest_page", "years"),
    ),
    Page(
        "docs/reproductions/gogo-engines.md",
        "asobiba gogo engines --rapfi rapfi/build/pbrain-rapfi --mammel examples/mammel/player.py --output docs/reproductions/gogo-engines.md",
        reproduction_modules("gogo", "engines"),
    ),
    Page(
        "docs/reproductions/gogo-small-boards.md",
        "asobiba gogo small-boards --output docs/reproductions/gogo-small-boards.md",
        reproduction_modules("gogo", "small_boards"),
    ),
)

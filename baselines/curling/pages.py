"""The pages of digital curling that commands write."""

from __future__ import annotations

from asobiba.pages import Page, reproduction_modules

_MATCHES, _ENDS = "docs/reproductions/curling.md", "docs/reproductions/curling-ends.md"
PAGES = (
    Page(
        _MATCHES,
        "\n".join(
            f"asobiba reproduce curling {options} --output {_MATCHES}"
            for options in ("--candidates 20", "--openings 80", "--simulations 5000")
        ),
        reproduction_modules("curling", "reproduction"),
    ),
    Page(_ENDS, f"asobiba curling ends --ends 24 --output {_ENDS}", reproduction_modules("curling", "ends")),
)

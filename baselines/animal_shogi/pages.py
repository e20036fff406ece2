"""The page that `asobiba reproduce animal_shogi` writes, from the counts that it leaves beside it."""

from __future__ import annotations

import json
from pathlib import Path

from asobiba.pages import Page

FIGURES = "docs/reproductions/animal_shogi.json"
_MATERIALS = ((0, 0, 1), (0, 1, 0), (1, 0, 1))


def _whole(root: Path) -> str:
    from asobiba.baselines.animal_shogi.solver.published import as_markdown

    kept = json.loads((root / FIGURES).read_text(encoding="utf-8"))
    return as_markdown(kept["counted"], kept["measured"])


def _probe() -> list:
    import hashlib

    from asobiba.baselines.animal_shogi.solver.index import material_code
    from asobiba.baselines.animal_shogi.solver.solve import solve_material, solve_mates

    found = []
    for pieces in _MATERIALS:
        material = material_code(*pieces)
        values = solve_material(material)
        mates = solve_mates(material, values)
        found.append(
            [pieces, hashlib.sha256(values.tobytes()).hexdigest(), hashlib.sha256(mates.tobytes()).hexdigest()]
        )
    return found


PAGES = (
    Page(
        "docs/reproductions/animal_shogi.md",
        "asobiba reproduce animal_shogi",
        ("asobiba.baselines.animal_shogi.solver.published", "asobiba.baselines.animal_shogi.solver.solve"),
        _whole,
        _probe,
    ),
    Page(
        "docs/reproductions/animal_shogi-tutorial.md",
        "asobiba solve animal_shogi\nasobiba animal_shogi tutorial --output docs/reproductions/animal_shogi-tutorial.md",
        ("asobiba.baselines.animal_shogi.tutorial_page",),
    ),
)

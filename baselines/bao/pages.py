"""The pages of Bao that a command writes."""

from __future__ import annotations

from asobiba.pages import Page

PAGES = (
    Page("docs/reproductions/bao.md", "asobiba reproduce bao", ("asobiba.baselines.bao.reproduction",)),
    Page("docs/reproductions/bao-endgame.md", "asobiba bao endgame", ("asobiba.baselines.bao.endgame",)),
)

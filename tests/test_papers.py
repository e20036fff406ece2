"""The table of the papers names every page, no page that is not there, and says of everything what became of it; pages of the
papers open with a verdict."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asobiba.pages import Opening, in_hours

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ROOT / "docs" / "papers.md"
OUTCOMES = ("comes out", "differs", "cannot be read", "not done")
OPENED = ("gogo", "animal_shogi-tutorial", "bao-claims", "battleship-readings", "werewolf-fifteen")


def rows() -> list[list[str]]:
    text = PAPERS.read_text(encoding="utf-8")
    found = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]
    return [row for row in found if row[0] != "what" and not set(row[0]) <= {"-"}]


def test_every_row_has_a_page_that_exists_and_an_outcome():
    assert len(rows()) > 60
    for row in rows():
        assert len(row) == 3, row
        what, where, outcome = row
        assert what
        assert outcome.startswith(OUTCOMES), row
        if outcome.startswith("differs"):
            assert len(outcome) > len("differs: "), row
        links = re.findall(r"\]\(([^)#]+)\)", where)
        assert links or outcome.startswith("not done") or outcome.startswith("cannot be read"), row
        for link in links:
            assert (PAPERS.parent / link).is_file(), row


def test_every_page_of_the_reproductions_is_named():
    named = {link for row in rows() for link in re.findall(r"\]\(reproductions/([^)#]+)\)", row[1])}
    assert named == {page.name for page in (ROOT / "docs" / "reproductions").glob("*.md")}


@pytest.mark.parametrize("page", OPENED)
def test_pages_open_with_a_verdict_and_their_words(page):
    text = (ROOT / "docs" / "reproductions" / f"{page}.md").read_text(encoding="utf-8")
    assert re.search(r"Written by `asobiba [^`]+` in [\d.]+ (s|min|h) on \d+ cores\.", text)
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert sections[:2] == ["Verdict", "Words"]


def test_an_opening_says_what_how_long_and_where_it_differs():
    text = Opening("T", "Source.", "asobiba x", 7200.0, (("claim", "found", "why"),), (("word", "meaning"),)).markdown()
    assert text.startswith("# T\n\nSource. Written by `asobiba x` in 2.0 h on ")
    assert "| claim | found | why |" in text
    assert text.endswith("* *word*: meaning")
    assert [in_hours(s) for s in (5, 600)] == ["5 s", "10 min"]

"""Pages that a command writes are what the committed code writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from asobiba.pages import Page, all_pages

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: page.path)
def test_a_committed_page_is_as_the_code_writes_it(page):
    assert page.trouble(ROOT) is None


def test_a_stale_page_is_found(tmp_path):
    page = Page("page.md", "write it", lambda root: "text\n", lambda: [1, 2])
    file = tmp_path / "page.md"
    file.write_text(page.stamped("text\n"))
    assert page.trouble(tmp_path) is None
    assert "run `write it`" in Page("page.md", "write it", probe=lambda: [1, 3]).trouble(tmp_path)
    assert "not what" in Page("page.md", "write it", lambda root: "other text").trouble(tmp_path)
    file.write_text("text\n")
    assert "no digest" in page.trouble(tmp_path)

"""The tables in docs/reference are what the code says, and links in the docs lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.docs import FOLDER, PAGES

ROOT = Path(__file__).resolve().parent.parent.parent
TEXTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "examples" / "README.md"]


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_made_page_is_current(page: str) -> None:
    assert (FOLDER / page).read_text() == PAGES[page](), "run: make docs"


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(text: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text.read_text())
    assert [link for link in links if not (text.parent / link).exists()] == []

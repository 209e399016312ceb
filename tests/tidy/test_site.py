"""The documentation site builds strictly, and its pages need no other site."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tools.site.builder import ROOT, build


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    built = build(target)
    assert built.returncode == 0, built.stderr
    return target


def test_pages_load_nothing_from_another_site(site: Path) -> None:
    foreign = re.compile(
        r"<(?:script|img|iframe)[^>]*src=\"?https?:|<link[^>]*stylesheet[^>]*https?:"
    )
    pages = [*site.rglob("*.html")]
    assert pages
    assert [page for page in pages if foreign.search(page.read_text())] == []


def test_links_to_files_of_the_repository_become_their_names(site: Path) -> None:
    assert (
        "<code>examples/README.md</code>" in (site / "reference" / "python-client.html").read_text()
    )


def test_diagrams_are_left_to_the_script_beside_the_pages(site: Path) -> None:
    page = (site / "concepts" / "send.html").read_text()
    assert '<pre class="mermaid">' in page
    assert "../javascripts/mermaid.min.js" in page


def test_each_decision_is_in_the_navigation_once(site: Path) -> None:
    page = (site / "design" / "decisions" / "index.html").read_text()
    navigation = page[page.index("md-nav--primary") : page.index("<article")]
    decisions = [path.stem for path in (ROOT / "docs" / "design" / "decisions").glob("0*.md")]
    assert [each for each in decisions if navigation.count(f'href="{each}.html"') != 1] == []


def test_broken_links_and_pages_outside_the_navigation_fail_the_build(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copytree(ROOT / "tools" / "site", tmp_path / "tools" / "site")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "docs" / "orphan.md").write_text(
        "# Orphan\n\n[a](nowhere.md) [b](reference/store.md#nowhere)\n"
    )
    built = build(tmp_path / "site", tmp_path)
    assert built.returncode != 0
    assert "orphan.md\n" in built.stderr
    assert "'nowhere.md'" in built.stderr
    assert "'#nowhere'" in built.stderr

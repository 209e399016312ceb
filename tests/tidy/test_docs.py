"""Generated tables and examples are what the code says, and links in the docs lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gantrymq.broker.core.messages import File
from tidy.test_prose import matches
from tools import state_diagrams
from tools.docs import FOLDER, PAGES
from tools.formats import blocks

ROOT = Path(__file__).resolve().parent.parent.parent
TEXTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "bench").rglob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    ROOT / "examples" / "README.md",
]


# Pages that programs generate from texts in the code, and diaries, which stay as they were written.
NOT_BY_HAND = [
    *(ROOT / "bench" / "notebooks").glob("*.md"),
    *(ROOT / "bench" / "results").glob("*.md"),
    *(ROOT / "docs" / "operations" / "alerts").glob("*.md"),
    *(FOLDER / page for page in [*PAGES, "clients.md", "resources.md"]),
    ROOT / "CHANGELOG.md",
    ROOT / "docs" / "design" / "attacks.md",
    ROOT / "docs" / "operations" / "conditions.md",
]


@pytest.mark.parametrize(
    "page", sorted({*TEXTS} - {*NOT_BY_HAND}), ids=lambda path: str(path.relative_to(ROOT))
)
def test_sentences_of_a_page_name_their_actors(page: Path) -> None:
    assert [*matches(re.sub("`[^`\n]*`", "", page.read_text()))] == []


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_made_page_is_current(page: str) -> None:
    assert (FOLDER / page).read_text() == PAGES[page](), "run: make docs"


FORMAT_PAGES = sorted(blocks.FOLDER.glob("*.md"))


@pytest.mark.parametrize("page", FORMAT_PAGES, ids=lambda path: path.stem)
def test_layouts_and_examples_of_formats_are_current(page: Path) -> None:
    text = page.read_text()
    assert text == blocks.filled(text), "run: make docs"
    assert text.count("made by `make docs`") == len(blocks.names_in(text)), "a block has no end"


def test_each_layout_and_example_stands_on_one_page() -> None:
    shown = [name for page in FORMAT_PAGES for name in blocks.names_in(page.read_text())]
    assert sorted(shown) == sorted(blocks.NAMES)


def test_diagrams_of_state_machines_are_current() -> None:
    for page in state_diagrams.PAGES:
        text = (state_diagrams.DOCS / page).read_text()
        assert text == state_diagrams.filled(text), f"docs/{page}: run make docs"


def test_each_state_machine_stands_once_on_its_page() -> None:
    expected = sorted(
        (page, state_diagrams.mark_name(each)) for page, each in state_diagrams.MACHINES
    )
    shown = sorted(
        (str(path.relative_to(state_diagrams.DOCS)), name)
        for path in state_diagrams.DOCS.rglob("*.md")
        for name in state_diagrams.names_in(path.read_text())
    )
    assert shown == expected


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "concepts").glob("*.md")), ids=lambda path: path.stem
)
def test_code_that_a_concept_names_exists(page: Path) -> None:
    paths = re.findall(r"`([\w/-]+\.py)`", page.read_text())
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(text: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text.read_text())
    assert [link for link in links if not (text.parent / link).exists()] == []


def test_each_file_of_a_store_has_a_page() -> None:
    own = {
        name
        for path in (ROOT / "broker").rglob("*.py")
        for name in re.findall(r'f"\{OWN\}/([a-z.0-9-]+)"', path.read_text())
    }
    config = {f"config/{file.value}" for file in File if file is not File.SETTINGS}
    index = (blocks.FOLDER / "README.md").read_text()
    assert own
    assert [name for name in own if f"gantry/{name}" not in index] == []
    assert [name for name in config if f"`{name}`" not in index] == []


def test_each_page_of_a_format_names_its_writer_and_what_damage_does() -> None:
    pages = {page.stem: page.read_text().lower() for page in FORMAT_PAGES if page.stem != "README"}
    for word in ("writer", "damage", "limits", "compatibility"):
        assert [name for name, text in pages.items() if word not in text] == [], word

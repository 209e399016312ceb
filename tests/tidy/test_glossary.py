"""The glossary and the code use the same names: classes exist, and replaced names are gone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent.parent
SOURCES: Final = [
    path
    for folder in ("common", "namesrv", "broker", "client", "operator", "spark")
    for path in (ROOT / folder).rglob("*.py")
]
GLOSSARY: Final = (ROOT / "docs" / "glossary.md").read_text()
_NAME: Final = re.compile(r"`(\w+)`")
_CLASS: Final = re.compile(r"^ *class (\w+)", re.MULTILINE)


def rows(*header: str) -> Iterator[Sequence[str]]:
    """The rows of the glossary's tables that have this header."""
    is_wanted = False
    for line in GLOSSARY.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            is_wanted = False
        elif tuple(cells) == header:
            is_wanted = True
        elif is_wanted and not line.startswith("|--"):
            yield cells


RENAMES: Final = {
    (package, _NAME.findall(now)[0]): _NAME.findall(after)[0]
    for package, now, after, _ in rows("package", "before", "name", "because")
}
TERMS: Final = [
    *((row[0], row[2]) for row in rows("term", "RocketMQ's", "class", "meaning")),
    *((row[0], row[1]) for row in rows("term", "class", "meaning")),
]


@pytest.fixture(scope="module")
def classes() -> set[str]:
    """The names of all classes of the product."""
    return {name for path in SOURCES for name in _CLASS.findall(path.read_text())}


def test_each_class_that_the_glossary_names_exists(classes: set[str]) -> None:
    named = [name for _, cell in TERMS for name in _NAME.findall(cell)]
    assert named
    missing = [name for name in named if name not in classes]
    assert missing == []


def test_each_rename_led_to_a_name_of_the_code() -> None:
    code = {
        package: "\n".join(
            f"{path.stem}\n{path.read_text()}" for path in SOURCES if package in path.parts
        )
        for package in {package for package, _ in RENAMES}
    }
    unknown = [
        (package, now, after)
        for (package, now), after in RENAMES.items()
        if not re.search(rf"\b{after}\b", code[package])
    ]
    assert unknown == []


def test_names_that_were_replaced_are_gone() -> None:
    names = {
        (package, each)
        for path in SOURCES
        for package in path.parts
        for each in (path.stem, *_CLASS.findall(path.read_text()))
    }
    left = {old for old in RENAMES if old in names}
    assert left == set(), "the glossary has other names for these"


def test_each_term_has_one_meaning() -> None:
    terms = [row[0] for row in rows("term", "RocketMQ's", "class", "meaning")]
    assert len(terms) == len(set(terms))
    assert len(set(RENAMES.values())) == len(RENAMES)

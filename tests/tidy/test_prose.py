"""Plain English: first lines of docstrings are sentences, and some constructions are not used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tidy.source_files import PYTHON_FILES, name, text

WORDS_MIN: Final = 4
_DOCSTRING: Final = re.compile(r'\A(?:#.*\n)*r?"""(?P<first>.*)')

# Pronouns without a noun hide the actor of a sentence; "for good" and "is to be" hide the verb. A
# name of a function counts, too. "The client that ...", "persistently", "the master deletes ...".
BANNED: Final = re.compile(
    r"(?<!BY_)(?<!User:)(?<![^\W_])"  # RequestCode.QUERY_TOPIC_CONSUME_BY_WHO; a user of this name
    r"(?:who(?:m|ever|mever)?(?!_CONSUME_THE)|(?:no|some|any|every)body)"
    r"(?![^\W_]|\"[^\"]|'|-)"  # and the quoted name of a user
    r"|\bfor[ _]good\b|\b(?:is|are) to be\b",
    re.IGNORECASE,
)
NOT_SEARCHED: Final = {"tests/tidy/test_prose.py"}  # its cases use the constructions


def first_line_fault(content: str) -> str:
    """What is wrong with the first line of a module's docstring; "" if nothing is."""
    found = _DOCSTRING.match(content)
    if found is None:
        return "there is no docstring" if content.strip() else ""
    first = found["first"].removesuffix('"""').rstrip()
    if not first.endswith("."):
        return f"not one sentence on one line: {first}"
    if len(first.split()) < WORDS_MIN:
        return f"fewer than {WORDS_MIN} words: {first}"
    return f"no subject or verb: {first}" if first.startswith("Of ") else ""


def first_line_faults(paths: list[Path]) -> dict[str, str]:
    faults = {name(path): first_line_fault(text(path)) for path in paths}
    return {each: fault for each, fault in faults.items() if fault}


def test_modules_say_in_one_sentence_what_they_provide() -> None:
    others = [path for path in PYTHON_FILES if not name(path).startswith("tests/")]
    assert first_line_faults(others) == {}


def test_modules_of_tests_say_in_one_sentence_what_they_test() -> None:
    tests = [path for path in PYTHON_FILES if name(path).startswith("tests/")]
    assert first_line_faults(tests) == {}


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    assert [
        f"{name(path)}:{number} {line.strip()}"
        for path in PYTHON_FILES
        if name(path) not in NOT_SEARCHED
        for number, line in enumerate(text(path).splitlines(), 1)
        if line.lstrip().startswith('"""Of ')
    ] == []


def matches(content: str) -> Iterator[tuple[int, str]]:
    """The number and text of each line with a banned construction."""
    if BANNED.search(content):
        for number, line in enumerate(content.splitlines(), 1):
            if BANNED.search(line):
                yield number, line.strip()


def test_sentences_name_their_actors() -> None:
    assert [
        f"{name(path)}:{number} {line}"
        for path in PYTHON_FILES
        if name(path) not in NOT_SEARCHED
        for number, line in matches(text(path))
    ] == []


@pytest.mark.parametrize(
    "line",
    [
        "# whoever asks gets it",
        "def test_nobody_waits() -> None:",
        '"""Stored for good."""',
        "what is to be kept",
        "Who sends it",
    ],
)
def test_banned_construction_is_found(line: str) -> None:
    assert [*matches(f"first\n{line}\n")] == [(2, line)]


@pytest.mark.parametrize(
    "line", ["the whole log", "def wholesale() -> None:", "a bodyguard", "for goods", "is to begin"]
)
def test_plain_words_are_not_banned(line: str) -> None:
    assert [*matches(line)] == []


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('"""Tracks the replicas that are in sync."""\n', ""),
        ('# a remark\nr"""Tracks the replicas that are in sync.\n\nMore.\n"""\n', ""),
        ("", ""),
        ("import os\n", "there is no docstring"),
        ('"""Tracks the replicas that are in\nsync."""\n', "not one sentence"),
        ('"""Tracks replicas here\n"""\n', "not one sentence"),
        ('"""Tracks replicas."""\n', "fewer than 4 words"),
        ('"""Of one master and its epoch."""\n', "no subject or verb"),
    ],
)
def test_fault_of_a_first_line_is_named(content: str, fault: str) -> None:
    assert first_line_fault(content).startswith(fault)
    assert bool(first_line_fault(content)) == bool(fault)

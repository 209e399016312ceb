"""Tests ordinals of releases against the names that Java gives them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gantrymq.wire import version

FUNCTIONS = Path(__file__).parents[2] / "vectors" / "functions-5.3.3.json"
JAVA: dict[str, int] = {
    name: ordinal
    for name, ordinal in json.loads(FUNCTIONS.read_text())["versions"].items()
    if isinstance(ordinal, int)
}


@pytest.mark.parametrize(("name", "ordinal"), JAVA.items())
def test_ordinals_equal_javas(name: str, ordinal: int) -> None:
    assert version.version_ordinal(name) == ordinal
    assert version.version_name(ordinal) == name


def test_named_constants_equal_javas() -> None:
    constants = {name: value for name, value in vars(version).items() if name in JAVA}
    assert len(constants) >= 8
    assert constants == {name: JAVA[name] for name in constants}


def test_every_ordinal_has_a_name_of_its_own() -> None:
    names = [version.version_name(ordinal) for ordinal in range(version.HIGHER_VERSION + 1)]
    assert [version.version_ordinal(name) for name in names] == list(range(613))


@pytest.mark.parametrize("ordinal", [-1, 613, 32767])
def test_ordinals_beyond_the_last_release_are_higher(ordinal: int) -> None:
    assert version.version_name(ordinal) == "HIGHER_VERSION"


def test_an_unknown_name_has_no_ordinal() -> None:
    assert version.version_ordinal("V9_9_9") is None


def test_own_commands_carry_the_followed_release() -> None:
    assert version.version_name(version.OWN_VERSION) == "V5_3_3"

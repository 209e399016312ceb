"""Tests tags: subscriptions as Java parses them, and matching by hash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.wire.message import tags

VECTORS = Path(__file__).parents[3] / "vectors"
FUNCTIONS = json.loads((VECTORS / "functions-5.3.3.json").read_text())


@pytest.mark.parametrize("item", FUNCTIONS["subscription"])
def test_subscription_is_parsed_as_in_java(item: dict[str, Any]) -> None:  # Any: mixed JSON
    found = tags.parse(item["expr"])
    assert found.expression == item["subString"]
    assert list(found.tags) == item["tagsSet"]
    assert found.codes == set(item["codeSet"])


@pytest.mark.parametrize("item", FUNCTIONS["stringHash"])
def test_tags_code_equals_javas(item: dict[str, Any]) -> None:  # Any: mixed JSON
    assert tags.tags_code(item["s"]) == item["tagsCode"]


def test_no_tag_has_code_zero() -> None:
    assert tags.tags_code(None) == tags.tags_code("") == 0


def test_a_filter_matches_its_tags_by_the_low_32_bits() -> None:
    found = tags.parse("TagA || polygenelubricants")
    assert found.matches(tags.tags_code("TagA"))
    assert found.matches(-(2**31))
    assert found.matches(tags.tags_code("TagA") + 2**32)
    assert not found.matches(tags.tags_code("TagB"))
    assert not found.matches(0)


def test_everything_matches_all() -> None:
    assert tags.parse(None).matches(0)
    assert tags.parse("*").matches(12345)


def test_each_tag_counts_once() -> None:
    assert tags.parse("B||A||B").tags == ("B", "A")


def test_blank_expressions_match_nothing() -> None:
    assert tags.parse(" ").tags == ()
    assert not tags.parse(" || ").matches(0)


@pytest.mark.parametrize("expression", ["||", "||||"])
def test_separators_alone_are_refused(expression: str) -> None:
    with pytest.raises(RemoteError, match="names no tag"):
        tags.parse(expression)


@given(st.lists(st.text("abc|* \t", min_size=1), min_size=1))
def test_a_filter_matches_each_of_its_tags(words: list[str]) -> None:
    try:
        found = tags.parse("||".join(words))
    except RemoteError:
        return
    assert all(found.matches(tags.tags_code(tag)) for tag in found.tags)

"""Tests Java's string hashes for every kind of character, and text that is not UTF-8."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.wire import java_string

VECTORS = Path(__file__).parents[2] / "vectors"
HASHES = json.loads((VECTORS / "functions-5.3.3.json").read_text())["stringHash"]


@pytest.mark.parametrize("item", HASHES)
def test_hashes_equal_javas(item: dict[str, Any]) -> None:  # Any: mixed JSON
    assert java_string.hash_code(item["s"]) == item["hashCode"]


def test_lone_surrogates_count_as_themselves() -> None:
    assert java_string.hash_code("\ud800") == 0xD800
    assert java_string.hash_code("\udc00\ud800") == 31 * 0xDC00 + 0xD800
    assert java_string.hash_code("\ud83d\ude00") == java_string.hash_code("😀")


@given(st.text(st.characters(exclude_categories=[])))
def test_hash_is_the_polynomial_over_utf16_units_in_32_bits(text: str) -> None:
    encoded = text.encode("utf-16-le", "surrogatepass")
    units = [int.from_bytes(encoded[i : i + 2], "little") for i in range(0, len(encoded), 2)]
    total = sum(unit * 31**power for power, unit in enumerate(reversed(units)))
    assert (java_string.hash_code(text) - total) % 2**32 == 0
    assert -(2**31) <= java_string.hash_code(text) < 2**31


def test_text_and_bytes_never_fail() -> None:
    assert java_string.utf8_bytes("a\ud800b") == b"a?b"
    assert java_string.utf8_text(b"a\xffb") == "a\ufffdb"
    assert java_string.utf8_text(java_string.utf8_bytes("标签😀")) == "标签😀"

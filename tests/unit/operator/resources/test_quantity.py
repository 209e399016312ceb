"""Tests that quantities are parsed as Kubernetes parses them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.operator.resources.quantity import parse_quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", "0"),
        ("1", "1"),
        ("+1", "1"),
        ("-2", "-2"),
        ("250m", "0.25"),
        ("7u", "0.000007"),
        ("7n", "0.000000007"),
        ("1.5", "1.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("3k", "3000"),
        ("3M", "3000000"),
        ("1Ki", "1024"),
        ("1Gi", "1073741824"),
        ("1.5Gi", "1610612736"),
        ("1Ei", "1152921504606846976"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("12e-1", "1.2"),
        ("2E", "2000000000000000000"),
    ],
)
def test_a_quantity_is_a_number(text: str, number: str) -> None:
    assert parse_quantity(text) == Decimal(number)


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "1\n", "Gi", "1gi", "1K", "1GB", "1Gib", "1e", "--1", "1.2.3", "0x1"]
)
def test_other_texts_are_no_quantities(text: str) -> None:
    assert parse_quantity(text) is None


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_none(text: str) -> None:
    number = parse_quantity(text)
    assert number is None or number.is_finite()

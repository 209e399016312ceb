"""Tests that the hours of deletion are parsed as in Java, and invalid ones refused."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.store.retention.delete_hours import parse_hours
from gantrymq.store.settings import StoreSettings


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        (StoreSettings().delete_when, {4}),
        ("4", {4}),
        ("00;23", {0, 23}),
        ("04;", {4}),
        (" 04 ; 16 ;4", {4, 16}),
    ],
)
def test_hours_are_read_as_java_reads_them(text: str, hours: set[int]) -> None:
    assert parse_hours(text) == hours


@pytest.mark.parametrize("text", ["", ";", "24", "-1", "4:00", "04,16", "004", "04;x", "\u0664"])
def test_invalid_hours_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="deleteWhen="):
        parse_hours(text)

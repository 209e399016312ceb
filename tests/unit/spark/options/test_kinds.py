"""Each kind of option value takes what it says it allows, and refuses the rest."""

from __future__ import annotations

import pytest

from gantrymq.spark.options import kinds
from gantrymq.spark.options.kinds import Kind


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (kinds.BOOLEAN, "TRUE", True),
        (kinds.BOOLEAN, "false", False),
        (kinds.NAMES, "a, b,a", ("a", "b")),
        (kinds.ADDRESSES, "n1:9876;http://n2:9876", ("n1:9876", "n2:9876")),
        (kinds.MOMENT, "1700000000000", 1_700_000_000_000),
        (kinds.MOMENT, "1970-01-01T00:00:01+00:00", 1000),
        (kinds.size(1, 1 << 40), "4m", 4 << 20),
        (kinds.size(1, 1 << 40), "512kb", 512 << 10),
        (kinds.duration(1, 10**9), "500", 500),
        (kinds.duration(1, 10**9), "15m", 900_000),
        (kinds.number(1, 9), "9", 9),
        (kinds.one_of("TAG", "SQL92"), "sql92", "SQL92"),
    ],
)
def test_allowed_texts_become_values(kind: Kind[object], text: str, value: object) -> None:
    assert kind.parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (kinds.BOOLEAN, "yes"),
        (kinds.TEXT, "  "),
        (kinds.NAMES, "a,,b"),
        (kinds.ADDRESSES, "nameserver"),
        (kinds.ADDRESSES, ";"),
        (kinds.MOMENT, "yesterday"),
        (kinds.MOMENT, "2026-11-28T09:00:00"),
        (kinds.PATTERN, "a("),
        (kinds.size(10, 100), "9"),
        (kinds.size(10, 100), "1m"),
        (kinds.size(10, 100), "m"),
        (kinds.duration(1, 1000), "2s"),
        (kinds.number(1, 9), "1.5"),
        (kinds.number(1, 9), "10"),
        (kinds.one_of("map", "json"), "xml"),
    ],
)
def test_other_texts_are_refused(kind: Kind[object], text: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        kind.parse(text)

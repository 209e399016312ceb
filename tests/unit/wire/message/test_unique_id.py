"""Tests how unique ids of Java's clients are read, and how Gantry's are made."""

from __future__ import annotations

import ipaddress
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire.message import unique_id
from gantrymq.wire.message.unique_id import UniqueIdMaker

VECTORS = Path(__file__).parents[3] / "vectors"
KEYS = json.loads((VECTORS / "functions-5.3.3.json").read_text())["uniqKeys"]
NOVEMBER_MS = 1793491200000  # 2026-11-01 00:00 UTC, the vectors' month and zone
OCTOBER_MS = NOVEMBER_MS - 31 * 86_400_000


@pytest.mark.parametrize("item", KEYS)
def test_reads_javas_ids(item: dict[str, Any]) -> None:  # Any: mixed JSON
    found = unique_id.decode(item["id"])
    assert found.address == ipaddress.ip_address(item["ip"]).packed
    assert found.pid == item["pid"]
    created_ms = found.created_ms(item["createdAtMs"] + 1000, NOVEMBER_MS, OCTOBER_MS)
    assert abs(created_ms - item["createdAtMs"]) <= 2  # read just before or after


def test_makes_javas_ids() -> None:
    first = unique_id.decode(KEYS[0]["id"])
    maker = UniqueIdMaker(first.address, first.pid, first.salt)
    made = [
        maker.make(NOVEMBER_MS + unique_id.decode(key["id"]).elapsed_ms, NOVEMBER_MS)
        for key in KEYS
    ]
    assert made == [key["id"] for key in KEYS]


def test_an_ipv4_id_has_32_characters() -> None:
    made = UniqueIdMaker(b"\x7f\x00\x00\x01", 0x10B64, 0x18B4AAC2).make(5, 0)
    assert made == "7F0000010B6418B4AAC2000000050000"


def test_the_counter_wraps_without_a_repeat_before() -> None:
    maker = UniqueIdMaker(bytes(4), 1, 1)
    made = [maker.make(7, 0) for _ in range(65536)]
    assert len(set(made)) == 65536
    assert maker.make(7, 0) == made[0]


def test_many_ids_at_once_equal_ids_one_by_one() -> None:
    one_by_one, at_once = (UniqueIdMaker(bytes(4), 1, 1) for _ in range(2))
    made = [one_by_one.make(7, 0) for _ in range(66_000)]
    assert at_once.make_many(0, 7, 0) == []
    found = [at_once.make(7, 0), *at_once.make_many(65_536, 7, 0), *at_once.make_many(463, 7, 0)]
    assert found == made
    with pytest.raises(AssertionError):
        at_once.make_many(65_537, 8, 0)


def test_a_clock_behind_the_month_counts_as_its_start() -> None:
    assert unique_id.decode(UniqueIdMaker(bytes(4), 1, 1).make(5, 9)).elapsed_ms == 0


def test_time_ahead_of_now_belongs_to_the_month_before() -> None:
    found = unique_id.decode(UniqueIdMaker(bytes(4), 1, 1).make(OCTOBER_MS + 500, OCTOBER_MS))
    assert found.created_ms(NOVEMBER_MS + 499, NOVEMBER_MS, OCTOBER_MS) == OCTOBER_MS + 500
    assert found.created_ms(NOVEMBER_MS + 500, NOVEMBER_MS, OCTOBER_MS) == NOVEMBER_MS + 500


@given(
    st.binary(min_size=4, max_size=4) | st.binary(min_size=16, max_size=16),
    st.integers(0, 0xFFFF),
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, 0xFFFFFFFF),
)
def test_ids_survive_the_round_trip(address: bytes, pid: int, salt: int, elapsed_ms: int) -> None:
    found = unique_id.decode(UniqueIdMaker(address, pid, salt).make(elapsed_ms, 0))
    assert found == unique_id.UniqueId(address, pid, salt, elapsed_ms, 0)


@given(st.text() | st.text("0123456789ABCDEFG ", min_size=32, max_size=32))
def test_other_texts_are_refused(text: str) -> None:
    try:
        found = unique_id.decode(text)
    except RemoteError:
        return
    assert len(found.address) + unique_id.TAIL_BYTES == len(text) // 2


def test_an_address_is_4_or_16_bytes() -> None:
    with pytest.raises(LocalError):
        UniqueIdMaker(bytes(5), 1, 1)

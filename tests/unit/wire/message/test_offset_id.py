"""Tests offset message ids: Java's, in both directions, and malformed ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire import hosts
from gantrymq.wire.message import offset_id

VECTORS = Path(__file__).parents[3] / "vectors"
IDS = json.loads((VECTORS / "functions-5.3.3.json").read_text())["messageIds"]


@pytest.mark.parametrize("item", IDS)
def test_encodes_and_decodes_javas_ids(item: dict[str, Any]) -> None:  # Any: mixed JSON
    host = hosts.parse(item["host"])
    assert offset_id.encode(host, item["offset"]) == item["id"]
    assert offset_id.decode(item["id"]) == (host, item["offset"])
    assert offset_id.decode(item["id"].lower()) == (host, item["offset"])


@given(
    st.sampled_from([4, 16]).flatmap(lambda size: st.binary(min_size=size, max_size=size)),
    st.integers(0, 65535),
    st.integers(0, 2**63 - 1),
)
def test_ids_survive_the_round_trip(address: bytes, port: int, offset: int) -> None:
    host = hosts.pack(address, port)
    assert offset_id.decode(offset_id.encode(host, offset)) == (host, offset)


@given(st.text() | st.text("0123456789ABCDEF ", min_size=32, max_size=32))
def test_other_texts_are_refused(text: str) -> None:
    try:
        host, offset = offset_id.decode(text)
    except RemoteError:
        return
    assert offset_id.encode(host, offset) == text.upper()


@pytest.mark.parametrize(
    "text", ["", "C0A8", "00" * 4 + "00010000" + "00" * 8, "0" * 16 + "F" * 16]
)
def test_wrong_length_port_and_offset_are_refused(text: str) -> None:
    with pytest.raises(RemoteError):
        offset_id.decode(text)


def test_negative_offset_is_a_programming_error() -> None:
    with pytest.raises(LocalError):
        offset_id.encode(bytes(8), -1)

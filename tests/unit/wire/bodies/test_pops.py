"""Tests acknowledgements of many messages: the encoded messages, and the size."""

from __future__ import annotations

import base64
import tracemalloc

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.wire.bodies.consuming.pops import BITS_BYTES_MAX, BatchAckBody
from gantrymq.wire.jsonvalue import JsonObject


def ack(bits: bytes) -> JsonObject:
    return {"c": "G", "t": "T", "r": "0", "so": 7, "b": base64.b64encode(bits).decode()}


@pytest.mark.parametrize(
    ("bits", "offsets"),
    [
        (b"", []),
        (b"\x00\x00", []),
        (b"\x01", [7]),
        (b"\x82\x01", [8, 14, 15]),
        (b"\x00\xff", list(range(15, 23))),
    ],
)
def test_the_lowest_bit_stands_for_the_first_message(bits: bytes, offsets: list[int]) -> None:
    (read,) = BatchAckBody.from_json({"acks": [ack(bits)]}).acks
    assert (read.count, read.offsets) == (len(offsets), offsets)


def test_acknowledged_messages_are_counted_before_they_are_listed() -> None:
    entry = ack(b"\xff" * BITS_BYTES_MAX)
    tracemalloc.start()
    try:
        body = BatchAckBody.from_json({"acks": [entry] * 20})
        assert sum(each.count for each in body.acks) == 20 * 8 * BITS_BYTES_MAX
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * BITS_BYTES_MAX


@pytest.mark.parametrize("bits", [17, "?", "\u00e9", "AAA", [300.5], "////" * BITS_BYTES_MAX])
def test_malformed_bit_set_is_refused(bits: object) -> None:
    with pytest.raises(RemoteError):
        BatchAckBody.from_json({"acks": [{**ack(b""), "b": bits}]})  # type: ignore[dict-item]

"""Tests batches: Java's bytes in both directions, the stored messages, and wrong lengths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire.message import batch, properties, record
from gantrymq.wire.message.batch import BatchPart

VECTORS = Path(__file__).parents[3] / "vectors"
MESSAGES = json.loads((VECTORS / "messages-5.3.3.json").read_text())
VECTOR = next(item for item in MESSAGES if "wireHex" in item)
WIRE = bytes.fromhex(VECTOR["wireHex"])

parts = st.builds(
    BatchPart,
    body=st.binary(max_size=40),
    flag=st.integers(-(2**31), 2**31 - 1),
    properties=st.binary(max_size=40),
)


def test_encodes_and_decodes_javas_bytes() -> None:
    wanted = [
        BatchPart(part["body"].encode(), part["flag"], properties.encode(part["properties"]))
        for part in VECTOR["parts"]
    ]
    assert batch.decode(WIRE) == wanted
    assert batch.encode(wanted) == WIRE
    assert [batch.encode([part]).hex() for part in wanted] == [p["hex"] for p in VECTOR["parts"]]


def test_inner_messages_become_the_records_that_java_stores() -> None:
    """Flag and body from the part, properties joined with the batch's, all else shared."""
    shared = properties.encode(VECTOR["batchProperties"])
    stored = bytes.fromhex(VECTOR["storedHexBeforeAppend"])
    found = record.decode_all(stored)
    assert len(found) == VECTOR["batchSize"]
    for part, item in zip(batch.decode(WIRE), found, strict=True):
        item.body, item.flag = part.body, part.flag
        item.properties = properties.join(part.properties, shared)
    assert b"".join(record.encode(item) for item in found) == stored


@given(st.lists(parts, min_size=1, max_size=5))
def test_encoded_batch_is_decoded_back(items: list[BatchPart]) -> None:
    assert batch.decode(batch.encode(items)) == items


def test_truncated_batch_is_refused() -> None:
    size = len(WIRE) // 3
    for cut in range(len(WIRE)):
        if cut and cut % size == 0:
            assert len(batch.decode(WIRE[:cut])) == cut // size
        else:
            with pytest.raises(RemoteError):
                batch.decode(WIRE[:cut])


def test_damaged_lengths_are_refused() -> None:
    lengths = [*range(4), *range(16, 20), *range(26, 28)]
    for position in range(len(WIRE)):
        damaged = bytearray(WIRE)
        damaged[position] ^= 0xFF
        if position in lengths:
            with pytest.raises(RemoteError):
                batch.decode(bytes(damaged))
        elif position < 28:
            assert len(batch.decode(bytes(damaged))) == 3  # magic, CRC, flag, body: not checked


@given(st.binary(max_size=120))
def test_any_bytes_are_refused_or_read_back(data: bytes) -> None:
    try:
        found = batch.decode(data)
    except RemoteError:
        return
    assert len(batch.encode(found)) == len(data)


def test_trailing_bytes_and_too_many_messages_are_refused() -> None:
    with pytest.raises(RemoteError, match="ends in 1 bytes"):
        batch.decode(WIRE + b"\x00")
    with pytest.raises(RemoteError, match="more than 2"):
        batch.decode(WIRE, parts_max=2)
    assert len(batch.decode(WIRE, parts_max=3)) == 3


def test_empty_batches_and_long_properties_are_refused() -> None:
    with pytest.raises(RemoteError, match="empty"):
        batch.decode(b"")
    with pytest.raises(LocalError, match="at least one"):
        batch.encode([])
    with pytest.raises(LocalError, match="32768"):
        batch.encode([BatchPart(b"", 0, b"p" * 32768)])

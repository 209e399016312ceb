"""Tests which messages can never be stored, and the texts for producers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gantrymq.store.record.message_checks import (
    batch_log_bytes_max,
    check_batch,
    check_batch_body,
    check_batch_size,
    check_message,
)
from gantrymq.store.record.put_status import PutStatus
from gantrymq.store.settings import StoreSettings
from gantrymq.wire.message.record import Record

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
SETTINGS = StoreSettings(mapped_file_size_commit_log=4096, max_message_size=1000)


def message(topic: bytes = b"T", body: bytes = b"x", properties: bytes = b"") -> Record:
    return Record(topic, body, properties=properties, born_host=HOST, store_host=HOST)


@pytest.mark.parametrize(
    "good",
    [
        message(body=bytes(1000)),
        message(topic=b"t" * 127),
        message(topic=b"%RETRY%" + b"g" * 248),
        message(topic=b"%DLQ%" + b"g" * 250),
        message(body=bytes(1000), properties=b"x" * (4096 - 8 - 91 - 1000 - 1)),
        message(properties=b"a\x01" + bytes(511) + b"\x02"),
    ],
)
def test_values_at_the_limits_are_allowed(good: Record) -> None:
    assert check_message(good, SETTINGS) is None


@pytest.mark.parametrize(
    ("bad", "status", "text"),
    [
        (message(body=b""), PutStatus.MESSAGE_ILLEGAL, "body is empty"),
        (
            message(body=bytes(1001)),
            PutStatus.MESSAGE_ILLEGAL,
            "1001 bytes, maxMessageSize is 1000",
        ),
        (message(topic=b"t" * 128), PutStatus.MESSAGE_ILLEGAL, "128 bytes, at most 127"),
        (message(topic=b"%RETRY%" + b"g" * 249), PutStatus.MESSAGE_ILLEGAL, "256 bytes"),
        (message(properties=b"x" * 32768), PutStatus.PROPERTIES_SIZE_EXCEEDED, "32768 bytes"),
        (message(topic=b"T\0"), PutStatus.MESSAGE_ILLEGAL, "The topic holds a NUL"),
        (message(properties=b"a\x01b\0"), PutStatus.MESSAGE_ILLEGAL, "end in one"),
        (
            message(properties=b"a\x01" + bytes(512) + b"\x02"),
            PutStatus.MESSAGE_ILLEGAL,
            "in a row",
        ),
        (message(properties=b"x" * 4000), PutStatus.MESSAGE_ILLEGAL, "4093 bytes.*holds 4088"),
    ],
)
def test_values_above_the_limits_are_refused_with_the_reason(
    bad: Record, status: PutStatus, text: str
) -> None:
    refused = check_message(bad, SETTINGS)
    assert refused is not None
    assert refused.status is status
    assert refused.text.startswith("the message is illegal, maybe msg body or properties length")
    assert re.search(text, refused.text)


def test_batch_is_refused_as_a_whole() -> None:
    half = message(body=bytes(500))
    assert check_batch([half, half], SETTINGS) is None
    refused = check_batch([half, half, half], SETTINGS)
    assert refused is not None
    assert "1500 bytes, maxMessageSize is 1000" in refused.text


def test_a_batch_must_fit_into_one_file() -> None:
    small = message()
    refused = check_batch([small] * 45, SETTINGS)
    assert refused is not None
    assert "holds 4088" in refused.text


def test_maxmessagesize_bounds_the_body_of_a_batch() -> None:
    assert check_batch_body(1000, SETTINGS) is None
    refused = check_batch_body(1001, SETTINGS)
    assert refused is not None
    assert re.search(
        "message body size exceeded.* 1001 bytes, maxMessageSize is 1000", refused.text
    )


@pytest.mark.parametrize("max_message_size", [100, 4 << 20])
def test_messages_of_a_batch_may_take_512_bytes_each_in_the_log(max_message_size: int) -> None:
    settings = replace(SETTINGS, max_message_size=max_message_size)
    count, body_bytes = 13_000, 13_000 * 65
    limit = batch_log_bytes_max(body_bytes, count, max_message_size)
    assert limit == body_bytes + count * 512 + 65_536
    assert check_batch_size(limit, body_bytes, count, settings) is None
    refused = check_batch_size(limit + 1, body_bytes, count, settings)
    assert refused is not None
    assert re.search(
        f"message size exceeded.* 13000 messages.*{limit + 1} bytes.* may take {limit};",
        refused.text,
    )


def test_a_few_messages_may_share_properties_up_to_maxmessagesize() -> None:
    assert batch_log_bytes_max(500, 10, 4 << 20) == (4 << 20) + 65_536


def test_a_batch_with_one_bad_message_is_refused() -> None:
    assert check_batch([message(), message(body=b"")], SETTINGS) is not None

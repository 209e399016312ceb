"""Checks whether a message or a batch can be stored at all: its size, topic and properties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.store.record.put_status import ILLEGAL, PutStatus, Refused, illegal
from gantrymq.store.record.walk import has_hole
from gantrymq.store.settings import StoreSettings
from gantrymq.wire.message import record as codec
from gantrymq.wire.message.record import Record, Unfit
from gantrymq.wire.message.record_scan import BLANK_BYTES

# These topics contain a group's name, and groups with names of any length may use them.
LONG_TOPICS: Final = (b"%RETRY%", b"%DLQ%")

# What the records of a batch may take in addition to its body or to maxMessageSize, as in RocketMQ.
BATCH_SPARE_BYTES: Final = 64 * 1024
# What each message of a batch may take in the log beside its part of the batch's body: the fixed
# fields of its record, the longest topic, the broker's properties, and 200 bytes of properties that
# all messages of the batch share. RocketMQ 5 has no such bound, and would store a body of 4 MiB as
# gigabytes of repeated properties.
BATCH_MESSAGE_SPARE_BYTES: Final = 512


def check_message(
    message: Record, settings: StoreSettings, *, was_accepted: bool = False
) -> Refused | None:
    """Why this message can never be stored, or None. A message that `was_accepted` from its
    producer is stored even if maxMessageSize was lowered since."""
    if not message.body:
        return illegal("The body is empty.")
    if len(message.body) > settings.max_message_size and not was_accepted:
        return illegal(
            f"The body has {len(message.body)} bytes, maxMessageSize is "
            f"{settings.max_message_size}; send less at once, or compress."
        )
    topic = message.topic
    if len(topic) > codec.TOPIC_BYTES_MAX_V1 and not topic.startswith(LONG_TOPICS):
        return illegal(
            f"The topic has {len(topic)} bytes, at most {codec.TOPIC_BYTES_MAX_V1} are allowed; "
            "choose a shorter name."
        )
    unfit = codec.refusal(len(topic), len(message.properties))
    if unfit is not None:
        too_long = unfit.cause is Unfit.PROPERTIES_TOO_LONG
        status = PutStatus.PROPERTIES_SIZE_EXCEEDED if too_long else PutStatus.MESSAGE_ILLEGAL
        return Refused(status, f"{ILLEGAL}{unfit.text}.")
    if has_hole(topic, message.properties):
        return illegal(
            "The topic holds a NUL, or the properties end in one or hold hundreds in a row: after "
            "a power cut it could not be told from a torn message; put such bytes into the body."
        )
    return _check_room(message.size, settings)


def check_batch(messages: Sequence[Record], settings: StoreSettings) -> Refused | None:
    """Why these messages can never be stored together, or None."""
    for message in messages:
        refused = check_message(message, settings)
        if refused is not None:
            return refused
    bodies = sum(len(message.body) for message in messages)
    refused = check_batch_body(bodies, settings)
    return refused or _check_room(sum(message.size for message in messages), settings)


def check_batch_body(body_bytes: int, settings: StoreSettings) -> Refused | None:
    """Why a batch may not have a body of that size, or None. Like RocketMQ 5, this compares
    bodies, not the size of the records in the log: the body of the request where the batch came
    as one, otherwise the sum of its messages' bodies."""
    if body_bytes <= settings.max_message_size:
        return None
    return illegal(
        f"message body size exceeded: the batch's body has {body_bytes} bytes, maxMessageSize is "
        f"{settings.max_message_size}; send fewer messages at once."
    )


def batch_log_bytes_max(body_bytes: int, count: int, max_message_size: int) -> int:
    """The most bytes that a batch of `count` messages with a body of `body_bytes` may take in the
    log."""
    with_properties = body_bytes + count * BATCH_MESSAGE_SPARE_BYTES
    return max(max_message_size, with_properties) + BATCH_SPARE_BYTES


def check_batch_size(
    size: int, body_bytes: int, count: int, settings: StoreSettings
) -> Refused | None:
    """Why a batch may not take `size` bytes in the log, or None. A small batch becomes a large one
    when each of its messages gets a copy of long shared properties."""
    limit = batch_log_bytes_max(body_bytes, count, settings.max_message_size)
    if size <= limit:
        return None
    return illegal(
        f"message size exceeded: the batch's {count} messages would take {size} bytes in the log, "
        f"or more, with the properties that all of them have, and may take {limit}; send fewer at "
        "once, or move properties from the batch to the messages that need them."
    )


def _check_room(size: int, settings: StoreSettings) -> Refused | None:
    room = settings.mapped_file_size_commit_log - BLANK_BYTES
    if size <= room:
        return None
    return illegal(
        f"It needs {size} bytes in one file of the log, which holds {room}; raise "
        "mappedFileSizeCommitLog of an empty store, or send less at once."
    )

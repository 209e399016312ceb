"""Encodes batches: many messages of one topic in one request, stored all or none.

    batch = await producer.send_batch(messages)
    for part in split(messages, bytes_max=1 << 20): ...

Invariant: the messages of a batch go to one queue in their order, and each has its own unique id.
The batch itself has none, because brokers would give that id to all of its messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from librt.strings import BytesWriter, write_i16_be, write_i32_be
from mypy_extensions import i16, i32, i64

from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.message import namespace
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.send_request import (
    DELAYS,
    SendRequest,
    is_delayed,
    must_be_sendable,
    property_text,
)
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.message import property_names
from gantrymq.wire.message.batch import FIXED_BYTES

# Overhead of a message besides topic, body and properties, as RocketMQ's users compute it.
MESSAGE_BYTES: Final = 20

_VALUE_END: Final = 2

# Properties of which some values exclude a message from batches.
_LEAVE_ALONE: Final = DELAYS | {property_names.MSG_TYPE}

_WAITS_NOT: Final = f"{property_names.WAIT}\x01false\x02"


def of_batch(
    messages: Sequence[Message],
    *,
    settings: ProducerSettings,
    group: str,
    wrapped_in: str,
    new_id: Callable[[], str],
) -> SendRequest:
    """Return the request for a batch of messages; raises MessageError if they do not fit
    together."""
    if not messages:
        raise MessageError("a batch holds at least one message")
    first = messages[0]
    parts = BytesWriter()
    ids = []
    for message in messages:
        fault = unbatchable(message) or _unlike(message, first)
        if fault is not None:
            raise MessageError(fault)
        must_be_sendable(message, settings)
        ids.append(add_part(parts, message, wrapped_in, new_id()))
    request = joined(
        parts,
        first.topic,
        ids,
        settings=settings,
        group=group,
        wrapped_in=wrapped_in,
        waits=waits(first),
    )
    request.messages += messages
    return request


def joined(
    parts: BytesWriter,
    topic: str,
    ids: list[str],
    *,
    settings: ProducerSettings,
    group: str,
    wrapped_in: str,
    waits: bool,
) -> SendRequest:
    """Return the request for encoded messages; raises MessageError if the body is too large."""
    body = parts.getvalue()
    if len(body) > settings.message_bytes_max:
        raise MessageError(
            f"the message body size over max value, MAX: {settings.message_bytes_max}: the batch"
            f" has {len(body)} bytes; divide it with gantrymq.client.split"
        )
    wrapped = namespace.wrap(wrapped_in, topic)
    request = SendRequest(RequestCode.SEND_BATCH_MESSAGE, group, wrapped, body, [], ids)
    request.describe(settings, "" if waits else _WAITS_NOT)
    return request


def add_part(parts: BytesWriter, message: Message, wrapped_in: str, new_id: str) -> str:
    """Append one encoded message and return its id: its UNIQ_KEY, or `new_id` if it has none.
    Writes nothing if it raises MessageError. Hot path."""
    properties = message.properties
    if properties or wrapped_in:
        if wrapped_in:
            properties = {**properties, property_names.INSTANCE_ID: wrapped_in}
        message_id = properties.get(property_names.UNIQ_KEY) or new_id
        encoded = property_text(properties, message_id).encode("utf-8", "replace")
    else:
        message_id = new_id
        encoded = b"UNIQ_KEY\x01%b\x02" % message_id.encode()
    body = message.body
    size = len(body)
    length = len(encoded)
    flag: i32 = message.flag
    write_i32_be(parts, FIXED_BYTES + size + length)
    write_i32_be(parts, 0)
    write_i32_be(parts, 0)
    write_i32_be(parts, flag)
    write_i32_be(parts, size)
    parts.write(body)
    write_i16_be(parts, length)
    parts.write(encoded)
    return message_id


def pattern_start(pattern: Message, wrapped_in: str, some_id: str) -> bytes:
    """Return the encoded properties of every message like the pattern, up to the unique id; raises
    MessageError."""
    properties = pattern.properties
    if wrapped_in:
        properties = {**properties, property_names.INSTANCE_ID: wrapped_in}
    encoded = property_text(properties, some_id).encode("utf-8", "replace")
    return encoded[: -1 - len(some_id)]


def add_parts(
    parts: BytesWriter,
    flag: int,
    start: bytes,
    bodies: list[bytes],
    first: int,
    ids: list[str],
    bytes_max: int,
) -> int:
    """Append messages until the ids are used up or `bytes_max` is reached, but at least one;
    returns how many were appended. Hot path."""
    taken: i64 = 0
    limit: i64 = bytes_max
    flag_bits: i32 = flag
    start_bytes: i64 = len(start) + 1
    for message_id in ids:
        body = bodies[first + taken]
        size: i64 = len(body)
        if taken and len(parts) + start_bytes + size > limit:
            break
        length: i64 = start_bytes + len(message_id)
        write_i32_be(parts, i32(FIXED_BYTES + size + length))
        write_i32_be(parts, 0)
        write_i32_be(parts, 0)
        write_i32_be(parts, flag_bits)
        write_i32_be(parts, i32(size))
        parts.write(body)
        write_i16_be(parts, i16(length))
        parts.write(start)
        parts.write(message_id.encode())
        parts.append(_VALUE_END)
        taken += 1
    return taken


def unbatchable(message: Message) -> str | None:
    """Return the reason why a message cannot be in a batch; None if it can."""
    if message.properties and not _LEAVE_ALONE.isdisjoint(message.properties):
        if is_delayed(message):
            return "TimeDelayLevel is not supported for batching: send delayed messages one by one"
        if message.properties.get(property_names.MSG_TYPE) == "reply":
            return "replies are not supported for batching: send them one by one"
    if message.topic.startswith(namespace.RETRY_PREFIX):
        return "Retry Group is not supported for batching: send retried messages one by one"
    return None


def split(messages: Iterable[Message], bytes_max: int = 1 << 20) -> Iterable[list[Message]]:
    """Divide messages into lists that each fit in one batch. The size of a message counts as topic,
    body, properties and 20 bytes. A message larger than `bytes_max` is a list of its own."""
    part: list[Message] = []
    part_bytes = 0
    for message in messages:
        size = reckoned_bytes(message)
        if part and part_bytes + size > bytes_max:
            yield part
            part, part_bytes = [], 0
        part.append(message)
        part_bytes += size
    if part:
        yield part


def reckoned_bytes(message: Message) -> int:
    """Return the size that `split` counts for a message."""
    properties = sum(len(name) + len(value) for name, value in message.properties.items())
    return len(message.topic) + len(message.body) + properties + MESSAGE_BYTES


def _unlike(message: Message, first: Message) -> str | None:
    if message.topic != first.topic:
        return (
            "The topic of the messages in one batch should be the same:"
            f" {first.topic} and {message.topic}"
        )
    if waits(message) != waits(first):
        return "The waitStoreMsgOK of the messages in one batch should the same"
    return None


def waits(message: Message) -> bool:
    return message.properties.get(property_names.WAIT) != "false"

"""Converts messages, results and deliveries to JSON for the scenarios."""

import time
from typing import Any, TypeAlias

from gantrymq.base.errors import RemoteError
from gantrymq.client import Message, PoppedMessage, ReceivedMessage, SendResult
from gantrymq.wire import hosts
from gantrymq.wire.message import offset_id

Fields: TypeAlias = dict[str, Any]  # an order or an answer: JSON


def message_of(fields: Fields) -> Message:
    properties = dict(fields["properties"])
    return Message(
        fields["topic"],
        fields["body"],
        tag=fields["tag"],
        keys=fields["key"],
        delay_level=fields["level"],
        deliver_at_ms=int(properties.pop("TIMER_DELIVER_MS", 0)),
        properties=properties,
    )


def sent(result: SendResult) -> Fields:
    return {
        "status": result.status.name,
        "id": result.message_id,
        "offset_id": result.offset_message_id,
        "queue": result.queue.queue_id,
        "offset": result.queue_offset,
    }


def delivery(message: ReceivedMessage) -> Fields:
    return {
        "topic": message.topic,
        "body": message.body.decode(),
        "tag": message.tag,
        "key": " ".join(message.keys),
        "id": message.id,
        "queue": message.queue.queue_id,
        "offset": message.offset,
        "tries": message.reconsume_times,
        "properties": message.properties,
        "at_ms": int(time.time() * 1000),
    }


def popped_delivery(popped: PoppedMessage) -> Fields:
    told = delivery(popped.message)
    return {**told, "properties": {**told["properties"], "POP_CK": str(popped.out.handle)}}


def address_in(message_id: str) -> str:
    """The broker's address in an offset message id; "" for other ids."""
    try:
        return hosts.text(offset_id.decode(message_id)[0])
    except RemoteError:
        return ""

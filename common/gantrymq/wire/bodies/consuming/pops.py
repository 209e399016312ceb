"""Defines the bodies of pop consumption: acknowledgements, request modes, assignments.

BatchAckMessageRequestBody    {"acks":[ACK],"brokerName":"b"}
ACK                           {"b":"base64 of a BitSet","c":"group","it":60000,"pt":1700000000000,
                              "q":0,"r":"0","rq":0,"so":17,"t":"topic"}, or by the long names
SetMessageRequestModeRequestBody
                              {"consumerGroup":"g","mode":"PULL"|"POP","popShareQueueNum":0,
                              "topic":"t"}
QueryAssignmentRequestBody    {"clientId":"c","consumerGroup":"g","messageModel":"CLUSTERING",
                              "strategyName":"AVG","topic":"t"}
QueryAssignmentResponseBody   {"messageQueueAssignments":[{"messageQueue":MQ,"mode":"POP"}]}; with
                              null instead, the client keeps its assignment

Bit n of an ACK stands for the message at offset `so` + n; the set's bytes have the lowest bits
first. They are expanded to offsets on demand: a body has room for a hundred million bits, so
callers check `count` first.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    int_field,
    list_of,
    long_field,
    object_of,
    required_text_field,
    text_field,
)

# A pop returns 32 messages, but a filter may skip far more between them.
BITS_BYTES_MAX: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAck:
    """Messages of one queue that were popped together: bits, counted from offset `start` on."""

    group: str
    topic: str
    retry: str
    queue_id: int
    revive_queue: int
    pop_ms: int
    start: int
    bits: bytes

    @property
    def count(self) -> int:
        return int.from_bytes(self.bits, "little").bit_count()

    @property
    def offsets(self) -> Sequence[int]:
        """The list of all offsets; `count` says how many there are."""
        return [
            self.start + at * 8 + bit
            for at, byte in enumerate(self.bits)
            if byte
            for bit in range(8)
            if byte >> bit & 1
        ]

    @classmethod
    def from_json(cls, value: Json) -> BatchAck:
        bean = object_of(value, "BatchAck")
        for short, name in _LONG_NAMES.items():
            if short not in bean and name in bean:
                bean[short] = bean[name]
        return cls(
            group=required_text_field(bean, "c"),
            topic=required_text_field(bean, "t"),
            retry=required_text_field(bean, "r"),
            queue_id=int_field(bean, "q"),
            revive_queue=int_field(bean, "rq"),
            pop_ms=long_field(bean, "pt"),
            start=long_field(bean, "so"),
            bits=_bits(bean.get("b")),
        )


_LONG_NAMES: Final = {
    "c": "consumerGroup",
    "t": "topic",
    "r": "retry",
    "so": "startOffset",
    "q": "queueId",
    "rq": "reviveQueueId",
    "pt": "popTime",
    "b": "bitSet",
}


def _bits(value: Json) -> bytes:
    """The bytes of a BitSet: base64, or Java's signed bytes."""
    if isinstance(value, str):
        if len(value) > BITS_BYTES_MAX * 4 // 3 + 4:
            raise RemoteError(f"bitSet: {len(value)} characters are too many")
        try:
            return base64.b64decode(value, validate=True)
        except ValueError as error:  # binascii.Error, or a character outside of base64
            raise RemoteError(f"bitSet: {error}") from error
    numbers = list_of(value, "bitSet")
    if len(numbers) > BITS_BYTES_MAX:
        raise RemoteError(f"bitSet: {len(numbers)} bytes are too many")
    return bytes(int_field({"bitSet": number}, "bitSet") & 0xFF for number in numbers)


@dataclass(frozen=True, slots=True)
class BatchAckBody:
    """BATCH_ACK_MESSAGE."""

    acks: tuple[BatchAck, ...]

    @classmethod
    def from_json(cls, value: Json) -> BatchAckBody:
        bean = object_of(value, "BatchAckMessageRequestBody")
        return cls(tuple(map(BatchAck.from_json, list_of(bean.get("acks"), "acks"))))


class RequestMode(StrEnum):
    """How a group gets a topic's messages."""

    PULL = "PULL"
    POP = "POP"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMode:
    """SET_MESSAGE_REQUEST_MODE."""

    topic: str
    consumer_group: str
    mode: RequestMode = RequestMode.PULL
    pop_share_queue_num: int = 0
    """How many of the following clients also pop from a client's queues; 0 means all."""

    @classmethod
    def from_json(cls, value: Json) -> TopicMode:
        bean = object_of(value, "SetMessageRequestModeRequestBody")
        mode = text_field(bean, "mode")
        return cls(
            topic=required_text_field(bean, "topic"),
            consumer_group=required_text_field(bean, "consumerGroup"),
            mode=RequestMode.POP if mode == RequestMode.POP else RequestMode.PULL,
            pop_share_queue_num=int_field(bean, "popShareQueueNum"),
        )

    def to_json(self) -> JsonObject:
        return {
            "consumerGroup": self.consumer_group,
            "mode": self.mode.value,
            "popShareQueueNum": self.pop_share_queue_num,
            "topic": self.topic,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentQuery:
    """QUERY_ASSIGNMENT: asks for the queues of one client."""

    topic: str
    consumer_group: str
    client_id: str
    strategy_name: str
    message_model: str

    @classmethod
    def from_json(cls, value: Json) -> AssignmentQuery:
        bean = object_of(value, "QueryAssignmentRequestBody")
        return cls(
            topic=required_text_field(bean, "topic"),
            consumer_group=required_text_field(bean, "consumerGroup"),
            client_id=text_field(bean, "clientId") or "",
            strategy_name=text_field(bean, "strategyName") or "",
            message_model=text_field(bean, "messageModel") or "",
        )


@dataclass(frozen=True, slots=True)
class Assignment:
    """The response to QUERY_ASSIGNMENT; None means that the assignment is not known now."""

    queues: tuple[MessageQueue, ...] | None
    mode: RequestMode = RequestMode.PULL

    def to_json(self) -> JsonObject:
        if self.queues is None:
            return {}
        return {"messageQueueAssignments": [assigned(queue, self.mode) for queue in self.queues]}


def assigned(queue: MessageQueue, mode: RequestMode) -> JsonObject:
    """One entry of an Assignment."""
    return {"messageQueue": queue.to_json(), "mode": mode.value}

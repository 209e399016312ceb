"""Encodes requests that send and pull messages as a Java 5.3.3 client writes them.

The body of a batch is its messages, one after the other:

    int32 total | int32 0 | int32 0 | int32 flag | int32 size | body | int16 size | properties
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from bench.namesrv.request import binary_request, json_request

SEND_MESSAGE_V2 = 310
SEND_BATCH_MESSAGE = 320
PULL_MESSAGE = 11
PULL = 32
HAS_SUBSCRIPTION = "4"  # without it, a broker looks for the subscription in heartbeats
BORN_MS = "1700000000000"


def sends(
    topic: str, queues: int, body_bytes: int, count: int, *, batch: int = 1, binary: bool = False
) -> bytes:
    """So many sends, to each queue in turn; every message has a key of its own."""
    encode = binary_request if binary else json_request
    body = bytes(at % 256 for at in range(body_bytes))
    frames = []
    for number in range(count):
        if batch == 1:
            ext = _send_ext(topic, number % queues, _properties(number), is_batch=False)
            frames.append(encode(SEND_MESSAGE_V2, ext, number, body))
        else:
            ext = _send_ext(topic, number % queues, "WAIT\u0001true\u0002", is_batch=True)
            first = number * batch
            parts = b"".join(_part(body, first + at) for at in range(batch))
            frames.append(encode(SEND_BATCH_MESSAGE, ext, number, parts))
    return b"".join(frames)


def pulls(topic: str, queue_ends: Sequence[int], *, binary: bool = False) -> list[bytes]:
    """A request for each piece of 32 messages in the queues."""
    encode = binary_request if binary else json_request
    return [
        encode(PULL_MESSAGE, _pull_ext(topic, queue_id, offset), opaque)
        for opaque, (queue_id, offset) in enumerate(_pieces(queue_ends))
    ]


def _pieces(queue_ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    for queue_id, end in enumerate(queue_ends):
        for offset in range(0, end - PULL + 1, PULL):
            yield queue_id, offset


def _send_ext(topic: str, queue_id: int, properties: str, *, is_batch: bool) -> dict[str, str]:
    return {
        "a": "bench-producer",
        "b": topic,
        "c": "TBW102",
        "d": "4",
        "e": str(queue_id),
        "f": "0",
        "g": BORN_MS,
        "h": "0",
        "i": properties,
        "j": "0",
        "k": "false",
        "m": "true" if is_batch else "false",
        "n": "bench-broker",
    }


def _pull_ext(topic: str, queue_id: int, offset: int) -> dict[str, str]:
    return {
        "bname": "bench-broker",
        "commitOffset": "0",
        "consumerGroup": "bench-puller",
        "expressionType": "TAG",
        "maxMsgNums": str(PULL),
        "queueId": str(queue_id),
        "queueOffset": str(offset),
        "subVersion": BORN_MS,
        "subscription": "*",
        "suspendTimeoutMillis": "0",
        "sysFlag": HAS_SUBSCRIPTION,
        "topic": topic,
    }


def _properties(number: int) -> str:
    return f"UNIQ_KEY\u0001{number * 2654435761:032X}\u0002WAIT\u0001true\u0002TAGS\u0001TagA\u0002"


def _part(body: bytes, number: int) -> bytes:
    properties = _properties(number).encode()
    total = 20 + len(body) + 2 + len(properties)
    head = struct.pack(">iiiii", total, 0, 0, 0, len(body))
    return head + body + struct.pack(">h", len(properties)) + properties

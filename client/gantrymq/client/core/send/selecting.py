"""Selects a message's queue by a key, so that messages with the same key stay in order.

    await producer.send(message, select=by_key, key="order 4711")
    await producer.send(message, select=lambda queues, message, key: queues[0])

Invariant of `by_key`: the same key and number of queues give the same queue, and the same queue as
Java's SelectMessageQueueByHash for a String.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.message.message import Message
from gantrymq.wire import java_string
from gantrymq.wire.bodies.shared import MessageQueue

# Any: the type of a key depends on the user's selector.
Selector: TypeAlias = Callable[
    [list[MessageQueue], Message, Any], MessageQueue | Awaitable[MessageQueue]
]
"""Receives the topic's queues, the message and the key of the send; returns one of the queues."""


def by_key(queues: Sequence[MessageQueue], message: Message, key: object) -> MessageQueue:
    """Select by Java's hash of the key: of a string, or of an int as Java's Integer or Long."""
    del message
    return queues[abs(hash_code(key)) % len(queues)]


def random_queue(chance: Callable[[int], int]) -> Selector:
    """Return a selector of random queues; `chance(n)` returns a number below n."""

    def select(queues: Sequence[MessageQueue], message: Message, key: object) -> MessageQueue:
        del message, key
        return queues[chance(len(queues))]

    return select


def choices(queues: Sequence[MessageQueue], topic: str) -> list[MessageQueue]:
    """Return the queues with the user's topic name."""
    return [replace(queue, topic=topic) for queue in queues]


def chosen(found: object, select: Selector, message: Message) -> MessageQueue:
    """Check the result of a selector; raises MessageError if it is not a queue of the topic."""
    if not isinstance(found, MessageQueue):
        raise MessageError(
            f"select queue return null: the selector {select} gave {found!r}; it must give"
            " one of the queues it is given"
        )
    return must_be_of(message, found)


def must_be_of(message: Message, queue: MessageQueue) -> MessageQueue:
    """Return the queue; raises MessageError if it belongs to another topic."""
    if queue.topic != message.topic:
        raise MessageError(
            "message's topic not equal mq's topic:"
            f" {message.topic} is not sent to a queue of {queue.topic}"
        )
    return queue


def queue_or_selector() -> MessageError:
    """Return the error for a send with both a queue and a selector."""
    return MessageError("a send is given a queue or a selector, not both")


def key_without_selector() -> MessageError:
    """Return the error for a send with a key but no selector."""
    return MessageError("a key is for a selector: give select=by_key, or your own, as well")


def hash_code(key: object) -> int:
    """Return Java's `hashCode()` of an int, or of the text of any other key."""
    if isinstance(key, int) and not isinstance(key, bool):
        if -(1 << 31) <= key < 1 << 31:
            return key
        return _int32((key ^ (key >> 32)) & 0xFFFFFFFF)
    return java_string.hash_code(str(key))


def _int32(value: int) -> int:
    return value - (1 << 32) if value & 0x80000000 else value

"""Reads the messages that consumers find in a topic, directly from the store."""

from __future__ import annotations

from collections.abc import Iterator

from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.engine import Store
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.message.record import Record, decode


def messages_of(store: Store, broker_name: str, topic: str) -> list[ReceivedMessage]:
    """All messages of the topic, in the order in which they were stored."""
    found = []
    for queue in _queues(store, topic):
        place = MessageQueue(topic, broker_name, queue.queue_id)
        found += [ReceivedMessage(record, place) for record in records_of(store, queue)]
    return sorted(found, key=lambda message: message.record.physical_offset)


def records_of(store: Store, queue: ConsumeQueue) -> Iterator[Record]:
    """The records that the units of one queue point to."""
    for offset in range(queue.minimum, queue.end):
        position, size, _ = queue.unit(offset)
        record = decode(store.log.segments.read(position, size))
        assert (record.queue_offset, record.physical_offset) == (offset, position)
        yield record


def bodies_of(store: Store, topic: str) -> list[bytes]:
    """The bodies of all messages of the topic, in the order in which they were stored."""
    return [message.body for message in messages_of(store, "", topic)]


def count_of(store: Store, topic: str) -> int:
    """The number of messages of the topic."""
    return sum(queue.end - queue.minimum for queue in _queues(store, topic))


def _queues(store: Store, topic: str) -> Iterator[ConsumeQueue]:
    for queue_id in store.queues.queue_ids(topic):
        queue = store.queues.find(topic, queue_id)
        assert queue is not None, "it was listed"
        yield queue

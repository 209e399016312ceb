"""Presents a stored record as the message that a consumer receives.

Invariant: the record's parts are decoded on access. So a body that cannot be decompressed fails in
the listener that reads it, like any message that cannot be processed, and does not block the
messages after it.
"""

from __future__ import annotations

from typing import final

from gantrymq.wire import hosts
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.message import compression, offset_id, property_names
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message.record import Record
from gantrymq.wire.message.sys_flag import COMPRESSED

# Maximum size of a decompressed body; a larger one is refused.
BODY_BYTES_MAX = 256 << 20


@final
class ReceivedMessage:
    """A message for a listener. Hot path, hence slotted; treat it as immutable."""

    __slots__ = ("_body", "_bounds", "_properties", "_topic", "queue", "record")

    def __init__(
        self, record: Record, queue: MessageQueue, bounds: tuple[int, int] | None = None
    ) -> None:
        """`bounds` are the queue's first offset and end at the time of the read."""
        self.record = record
        self.queue = queue
        """The queue from which it was read; `topic` is the topic to which it was sent."""
        self._bounds = bounds
        self._body: bytes | None = None if record.sys_flag & COMPRESSED else record.body
        self._properties: dict[str, str] | None = None
        self._topic = ""

    @property
    def body(self) -> bytes:
        """The body as sent; raises RemoteError if it cannot be decompressed."""
        if self._body is None:
            record = self.record
            kind = compression.of(record.sys_flag)
            assert kind is not None, "a body that is not ready is compressed"
            self._body = compression.decompress(kind, record.body, BODY_BYTES_MAX)
        return self._body

    @property
    def properties(self) -> dict[str, str]:
        """The user's and RocketMQ's properties, plus the queue's bounds as MIN_OFFSET and
        MAX_OFFSET."""
        if self._properties is None:
            self._properties = codec.parse(self.record.properties)
            if self._bounds is not None:
                low, high = self._bounds
                self._properties[property_names.MIN_OFFSET] = str(low)
                self._properties[property_names.MAX_OFFSET] = str(high)
        return self._properties

    @property
    def topic(self) -> str:
        """The topic to which it was sent; for a retried message not that of its queue."""
        return self._topic or (
            self.properties.get(property_names.RETRY_TOPIC) or self.record.topic.decode()
        )

    def rename(self, topic: str) -> None:
        """Set the topic name without the namespace."""
        self._topic = topic

    @property
    def tag(self) -> str:
        return self.properties.get(property_names.TAGS, "")

    @property
    def keys(self) -> list[str]:
        return self.properties.get(property_names.KEYS, "").split()

    @property
    def id(self) -> str:
        """Its unique id, or its offset message id if it has none."""
        return self.properties.get(property_names.UNIQ_KEY) or self.offset_id

    @property
    def offset_id(self) -> str:
        return offset_id.encode(self.record.store_host, self.record.physical_offset)

    @property
    def offset(self) -> int:
        """Its queue offset."""
        return self.record.queue_offset

    @property
    def flag(self) -> int:
        return self.record.flag

    @property
    def reconsume_times(self) -> int:
        """How often it was sent back before."""
        return self.record.reconsume_times

    @property
    def born_ms(self) -> int:
        return self.record.born_timestamp_ms

    @property
    def stored_ms(self) -> int:
        return self.record.store_timestamp_ms

    @property
    def born_host(self) -> str:
        return hosts.text(self.record.born_host)

    @property
    def store_host(self) -> str:
        return hosts.text(self.record.store_host)

    def __reduce__(self) -> tuple[object, ...]:
        """Support copy and pickle, which cannot handle compiled classes by themselves."""
        return _remade, (self.record, self.queue, self._bounds, self._topic)

    def __repr__(self) -> str:
        return (
            f"ReceivedMessage({self.topic!r}, <{len(self.record.body)} bytes>, id={self.id!r},"
            f" queue={self.queue.broker_name}/{self.queue.queue_id}, offset={self.offset},"
            f" reconsume_times={self.reconsume_times})"
        )


def _remade(
    record: Record, queue: MessageQueue, bounds: tuple[int, int] | None, topic: str
) -> ReceivedMessage:
    message = ReceivedMessage(record, queue, bounds)
    message.rename(topic)
    return message

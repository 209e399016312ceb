"""A message as a consumer gets it: a view of the stored record.

Invariant: what the record holds is read when it is asked for; only the body is made ready at once,
for that may fail (a compressed body, a damaged record).
"""

from __future__ import annotations

from typing import final

from gantrymq.wire import hosts
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.message import compression, offset_id, property_names
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message.record import Record

# A body that claims to be larger than this when it is decompressed is refused.
BODY_BYTES_MAX = 256 << 20


@final
class ReceivedMessage:
    """What a listener is given. Hot, hence slotted; treat it as a value."""

    __slots__ = ("_properties", "_topic", "body", "queue", "record")

    def __init__(self, record: Record, queue: MessageQueue) -> None:
        """Raises RemoteError when the body cannot be decompressed."""
        self.record = record
        self.queue = queue
        """Where it was read; `topic` says what it was sent to."""
        self._properties: dict[str, str] | None = None
        self._topic = ""
        kind = compression.of(record.sys_flag)
        self.body = (
            record.body
            if kind is None
            else compression.decompress(kind, record.body, BODY_BYTES_MAX)
        )

    @property
    def properties(self) -> dict[str, str]:
        if self._properties is None:
            self._properties = codec.parse(self.record.properties)
        return self._properties

    @property
    def topic(self) -> str:
        """What it was sent to: a retried message's is not that of its queue."""
        return self._topic or (
            self.properties.get(property_names.RETRY_TOPIC) or self.record.topic.decode()
        )

    def rename(self, topic: str) -> None:
        """Without its namespace."""
        self._topic = topic

    @property
    def tag(self) -> str:
        return self.properties.get(property_names.TAGS, "")

    @property
    def keys(self) -> list[str]:
        return self.properties.get(property_names.KEYS, "").split()

    @property
    def id(self) -> str:
        """The id it was given when it was sent, else the one that says where it lies."""
        return self.properties.get(property_names.UNIQ_KEY) or self.offset_id

    @property
    def offset_id(self) -> str:
        return offset_id.encode(self.record.store_host, self.record.physical_offset)

    @property
    def offset(self) -> int:
        """In its queue."""
        return self.record.queue_offset

    @property
    def flag(self) -> int:
        return self.record.flag

    @property
    def reconsume_times(self) -> int:
        """How often it was given back before."""
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

    def __repr__(self) -> str:
        return (
            f"ReceivedMessage({self.topic!r}, <{len(self.body)} bytes>, id={self.id!r},"
            f" queue={self.queue.broker_name}/{self.queue.queue_id}, offset={self.offset},"
            f" reconsume_times={self.reconsume_times})"
        )

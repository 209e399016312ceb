"""Records what a store was given and what it acknowledged, which the audit compares.

The timeline has every accepted message in the order of the log, also those that were deleted since.
Its first `durable` messages can never be lost again: they were acknowledged, or a consumer has seen
them. `doubtful` are groups that were refused, or whose outcome is unknown: the first records of one
of them may be found behind the timeline after a stop, but nothing else, and never before messages
that were accepted later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, final

from gantrymq.sim.store.store_script import Kind, Sending
from gantrymq.store.consumequeue.queue_unit import UNIT
from gantrymq.wire.message.record import Record, encode

HOST: Final = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
DELAYS_MS: Final = (1000, 5000, 10_000)


@final
class Message:
    """One message: its content, and where the store put it."""

    __slots__ = ("_delay", "_tags", "data", "keys", "number", "queue", "record", "sent", "unit")

    def __init__(self, number: int, sending: Sending) -> None:
        topic = sending.topic.encode()
        properties = b"".join(
            b"%s\x01%s\x02" % (name, value.encode())
            for name, value in (
                (b"TAGS", sending.tags),
                (b"KEYS", sending.keys),
                (b"DELAY", str(sending.delay or "")),
                (b"UNIQ_KEY", f"unique{number}"),
            )
            if value
        )
        text = b"%07d " % number
        body = (text * (sending.body_bytes // len(text) + 1))[: sending.body_bytes]
        self.number = number
        self.sent = (topic, sending.queue_id, body, properties, sending.kind.value)
        self.record = Record(
            topic,
            body,
            properties=properties,
            queue_id=sending.queue_id,
            sys_flag=sending.kind.value,
            born_host=HOST,
            store_host=HOST,
        )
        is_shown = sending.kind in {Kind.PLAIN, Kind.COMMITTED}
        self.queue = (sending.topic, sending.queue_id) if is_shown else None
        self.keys = [f"unique{number}", *sending.keys.split()]
        if sending.kind is Kind.ROLLED_BACK:
            self.keys = []
        self._tags = sending.tags
        self._delay = sending.delay if sending.topic == SCHEDULE_TOPIC else 0
        self.data = b""
        self.unit = b""

    @property
    def position(self) -> int:
        return self.record.physical_offset

    @property
    def end(self) -> int:
        return self.record.physical_offset + len(self.data)

    def place(self) -> None:
        """Note where the store put the message: log and queue must have it from now on."""
        record = self.record
        kept = (record.topic, record.queue_id, record.body, record.properties, record.sys_flag)
        assert kept == self.sent, f"{self} was changed"
        self.data = encode(record)
        code = _hash(self._tags)
        if self._delay:
            code = record.store_timestamp_ms + DELAYS_MS[self._delay - 1]
        self.unit = UNIT.pack(record.physical_offset, len(self.data), code)

    def __repr__(self) -> str:
        place = f"{self.record.queue_offset} of {self.queue}, at {self.position}"
        return f"message {self.number} ({place})"


@final
@dataclass
class Ledger:
    """The ledger of one directory over all lives of its store. The history owns it."""

    timeline: list[Message] = field(default_factory=list)
    durable: int = 0
    doubtful: list[list[Message]] = field(default_factory=list)
    deleted_below: int = 0
    """The highest start of the log that was seen."""
    is_damaged: bool = False
    """Whether the test removed a folder since the last start."""
    had_power_cut: bool = False
    """Whether there was a power cut since the last start."""
    deleting: set[str] = field(default_factory=set)
    """Topics whose deletion was requested and may not have happened yet."""
    deleted: set[str] = field(default_factory=set)
    """Topics that were deleted once or more."""
    count: int = 0

    def message(self, sending: Sending) -> Message:
        """Create a message."""
        self.count += 1
        return Message(self.count, sending)

    def accept(self, group: Sequence[Message]) -> None:
        """Note that the store accepted these messages, in this order."""
        for message in group:
            message.place()
            before = self.timeline[-1] if self.timeline else None
            if before is not None:
                assert message.position >= before.end, f"{message} lies before {before}"
                stamps = before.record.store_timestamp_ms, message.record.store_timestamp_ms
                assert stamps[0] <= stamps[1], f"{message} is older than {before}"
            self.timeline.append(message)
        self.doubtful.clear()

    def untrusted_reason(self, group: Sequence[Message]) -> None:
        """Note that the store refused these, or stopped before it answered."""
        for message in group:
            message.place()
        self.doubtful.append(list(group))

    def forget(self, topic: str) -> None:
        """Note that the topic was deleted: its messages are in no queue, but still in the index."""
        for message in self.timeline:
            if message.queue is not None and message.queue[0] == topic:
                message.queue = None
        self.deleting.discard(topic)
        self.deleted.add(topic)

    def promise(self, position: int) -> None:
        """Note that everything below this log position is durable."""
        self.durable = max(self.durable, self.count_below(position))

    def count_below(self, position: int) -> int:
        """The number of messages that end at or below this log position."""
        return bisect_right(self.timeline, position, key=lambda message: message.end)

    def settle(self, kept: Sequence[Message]) -> None:
        """Note the messages that recovery found: the log has these, durably, and no others."""
        self.timeline[:] = kept
        self.durable = len(kept)
        self.doubtful.clear()

    def by_queue(self) -> dict[tuple[str, int], list[Message]]:
        """The messages of each queue, in order."""
        queues: dict[tuple[str, int], list[Message]] = {}
        for message in self.timeline:
            if message.queue is not None:
                queues.setdefault(message.queue, []).append(message)
        return queues


def _hash(text: str) -> int:
    """Java's hash of an ASCII string."""
    code = 0
    for letter in text:
        code = (code * 31 + ord(letter)) & 0xFFFFFFFF
    return code if code < 1 << 31 else code - (1 << 32)

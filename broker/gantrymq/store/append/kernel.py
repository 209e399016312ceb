"""Turns plain send requests in a receive buffer into records of the log's next group.

    frame -> fields (send_binary.py, send_json.py) -> record (record_writer.py) -> entry -> reply
             a batch's messages (batch_parts.py)   -> records, all or none      -> entries -> reply

One call takes a run of whole frames. It stops at the first frame that is not a send, not whole, or
not entirely plain: a topic that is not `served`, the first message of a queue, a transaction, a
delay, a property that the store or the broker acts on, a body over maxMessageSize, a frame over 256
KiB, or malformed bytes. The broker decodes such a frame into a command and takes the general path,
which checks, refuses and explains.

Invariant: the general path would accept every message that the kernel takes, and would write the
same bytes to the log. The stored properties are the producer's, followed by the broker's. For a
message in a batch they are the message's own, the batch's, and the broker's, in this order.

This module is written to be compiled. Interpreted it is correct, but slower than the general path
with the standard library's JSON; a caller that can choose checks `IS_QUICK`.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_be
from mypy_extensions import i64

from gantrymq.base.disk import DiskError
from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.store.append.kernel_counts import KernelCounts, SizeCounts
from gantrymq.store.append.send_reply import ReplyWriter
from gantrymq.store.append.write_group import WriteGroup
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.record import send_binary
from gantrymq.store.record.batch_parts import read_parts
from gantrymq.store.record.dispatch_entry import SCHEDULE_TOPIC, DispatchEntry, tag_hash
from gantrymq.store.record.message_checks import batch_log_bytes_max
from gantrymq.store.record.plain_properties import are_plain
from gantrymq.store.record.property_scan import PropertyScan
from gantrymq.store.record.record_writer import RecordWriter
from gantrymq.store.record.send_fields import SendFields
from gantrymq.store.record.send_json import JsonReader
from gantrymq.wire import java_string
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message.batch import FIXED_BYTES
from gantrymq.wire.message.record import PROPERTIES_BYTES_MAX, TOPIC_BYTES_MAX_V1

_PREFIX: Final = 8
_ONEWAY: Final = 2
# Transaction types and inner batches: a plain message has none of these bits.
_SPECIAL_BITS: Final = 0xCC
_BLANK_BYTES: Final = 8

# The kernel leaves longer frames to the broker, because taking them here gains nothing. Every limit
# of a session is higher.
KERNEL_FRAME_BYTES_MAX: Final = 262144

# Messages of these topics, and of topics that begin with %, are not stored as they come.
_NEVER_SERVED: Final = frozenset({SCHEDULE_TOPIC, b"RMQ_SYS_TRANS_HALF_TOPIC"})


@final
class Fed:
    """The result of feeding a buffer to the kernel."""

    __slots__ = ("at", "count", "first_entry", "number", "replies")

    def __init__(self, at: int, count: int, replies: bytes, first_entry: int = 0) -> None:
        self.at: int = at
        """The offset in the buffer of the first frame that was not taken."""
        self.count: int = count
        self.first_entry: int = first_entry
        """The index in `WriteGroup.entries` of the first entry that was added."""
        self.number: int = 0
        """The store's number for the answer to these sends; 0 if none was taken."""
        self.replies: bytes = replies
        """Response frames with code 0, to be sent when the store answers `number` with success.
        Oneway sends have none."""


@final
class _Topic:
    """A topic that the kernel serves, with the counts since the last `take_counts`.

    `queues` grows up to the highest queue id that received a message, so an unused topic with
    thousands of queues takes no memory for them.
    """

    __slots__ = ("fifo", "name", "normal", "queue_count", "queues", "text")

    def __init__(self, name: bytes, text: str, queue_count: int) -> None:
        self.name: bytes = name
        self.text: str = text
        self.queue_count: i64 = queue_count
        self.queues: list[ConsumeQueue | None] = []
        self.normal: SizeCounts = SizeCounts()
        self.fifo: SizeCounts = SizeCounts()
        """The counts of messages that have a sharding key, which are sent in order."""


@final
class Kernel:
    """The send kernel of one broker. `added_properties` are the broker's, appended to the
    producer's."""

    __slots__ = (
        "_added",
        "_body_bytes_max",
        "_fields",
        "_file_bytes",
        "_is_json",
        "_json",
        "_left",
        "_queues",
        "_records",
        "_replies",
        "_scan",
        "_served",
    )

    def __init__(
        self,
        queues: Queues,
        store_host: bytes,
        *,
        region: str,
        added_properties: bytes,
        max_message_size: int,
        file_bytes: int,
    ) -> None:
        self._added: bytes = added_properties
        self._body_bytes_max: i64 = max_message_size
        self._file_bytes: i64 = file_bytes
        self._queues: Queues = queues
        self._fields: SendFields = SendFields()
        self._json: JsonReader = JsonReader(self._fields)
        self._is_json: bool = False
        self._scan: PropertyScan = PropertyScan()
        self._records: RecordWriter = RecordWriter(store_host)
        self._replies: ReplyWriter = ReplyWriter(store_host, region)
        self._served: dict[bytes, _Topic] = {}
        self._left: list[_Topic] = []

    def serve(self, topic: bytes, queue_count: int) -> None:
        """Take messages for the first `queue_count` queues of this topic, which must be writable.

        Topics whose messages the broker changes, and topics of consumer groups, must not be served.
        """
        is_plain = 0 < len(topic) <= TOPIC_BYTES_MAX_V1 and topic[0] != 0x25 and 0 not in topic
        if not is_plain or topic in _NEVER_SERVED:
            raise LocalError(f"topic {topic!r} is not for the kernel")
        text = java_string.utf8_text(topic)
        assert java_string.utf8_bytes(text) == topic, "queues are found by the topic's text"
        self.forget(topic)
        self._served[topic] = _Topic(topic, text, queue_count)

    def forget(self, topic: bytes) -> None:
        """Leave this topic to the general path from now on."""
        served = self._served.pop(topic, None)
        if served is not None and (served.normal.count or served.fifo.count):
            self._left.append(served)

    def take_counts(self) -> list[KernelCounts]:
        """The counts of messages that the kernel took since the last call, by topic.

        The counts include messages that it took and a full disk then refused. A topic that was
        forgotten and served again since the last call has several entries.
        """
        counts: list[KernelCounts] = []
        for topic in [*self._left, *self._served.values()]:
            if topic.normal.count:
                counts.append(KernelCounts(topic.text, topic.normal, is_fifo=False))
                topic.normal = SizeCounts()
            if topic.fifo.count:
                counts.append(KernelCounts(topic.text, topic.fifo, is_fifo=True))
                topic.fifo = SizeCounts()
        self._left.clear()
        return counts

    def feed(self, group: WriteGroup, data: bytes, start: int, born_host: bytes) -> Fed:
        """Take the frames in data[start:] into the group, up to the first that is not plain."""
        replies = BytesWriter()
        self._records.begin(born_host)
        first_entry = len(group.entries)
        count = 0
        at: i64 = start
        while True:
            length = self._frame(data, at)
            if length == 0 or not self._take(group, data, at, at + length, replies):
                break
            at += length
            count += 1
        return Fed(int(at), count, replies.getvalue(), first_entry)

    def _frame(self, data: bytes, at: i64) -> i64:
        """Decode the send request at `at` into `_fields`; return its length, or 0 if it is not
        one."""
        left = len(data) - at
        if left < _PREFIX:
            return 0
        length = i64(read_i32_be(data, at)) + 4
        kind: i64 = data[at + 4]
        header_end = at + _PREFIX + (i64(read_i32_be(data, at + 4)) & 0xFFFFFF)
        if length > left or length > KERNEL_FRAME_BYTES_MAX or kind > 1 or header_end > at + length:
            return 0
        self._is_json = kind == 0
        if self._is_json:
            is_plain = self._json.read(data, at + _PREFIX, header_end)
        else:
            is_plain = send_binary.read(self._fields, data, at + _PREFIX, header_end)
        if not is_plain or not self._fields.is_complete:
            return 0  # a separate statement: otherwise mypyc boxes the length
        return length

    def _take(
        self, group: WriteGroup, data: bytes, at: i64, end: i64, replies: BytesWriter
    ) -> bool:
        """Store the request in `_fields` and write its reply; False if it is not plain."""
        fields = self._fields
        topic = self._served.get(fields.topic)
        if topic is None or not self._is_plain():
            return False
        queue = self._queue(topic, fields.queue_id)
        if queue is None:
            return False
        body_at: i64 = at + _PREFIX + (i64(read_i32_be(data, at + 4)) & 0xFFFFFF)
        first: i64 = len(group.entries)
        counts = self._counts_of(topic)
        if fields.is_batch:
            size = self._take_batch(group, topic, queue, data, body_at, end)
        else:
            size = self._take_one(group, topic, queue, data[body_at:end])
        if size == 0:
            return False
        counts.note(len(group.entries) - first, size)
        if (fields.command_flag & _ONEWAY) == 0:
            self._reply(group.entries, first, replies)
        return True

    def _counts_of(self, topic: _Topic) -> SizeCounts:
        """The counts to which the request in `_fields` belongs. `_scan` has just read it."""
        return topic.fifo if self._scan.has_sharding_key else topic.normal

    def _take_one(self, group: WriteGroup, topic: _Topic, queue: ConsumeQueue, body: bytes) -> i64:
        """Take one message. Return the size of its record, or 0 if the kernel does not take it."""
        fields = self._fields
        properties = codec.join(fields.properties, self._added)
        size = self._records.size(len(body), len(fields.topic), len(properties))
        if (
            not body
            or len(body) > self._body_bytes_max
            or len(properties) > PROPERTIES_BYTES_MAX
            or size + _BLANK_BYTES > self._file_bytes
        ):
            return 0
        self._store(group, topic, queue, body, properties, self._scan, size)
        return size

    def _take_batch(
        self, group: WriteGroup, topic: _Topic, queue: ConsumeQueue, data: bytes, at: i64, end: i64
    ) -> i64:
        """Take all messages of the batch in data[at:end] into one file of the log, or none of them.
        Return the size of their records, or 0."""
        fields = self._fields
        body_bytes: i64 = end - at
        if body_bytes > self._body_bytes_max:
            return 0
        shared = codec.join(fields.properties, self._added)
        most = batch_log_bytes_max(
            int(body_bytes), int(body_bytes) // FIXED_BYTES, int(self._body_bytes_max)
        )
        parts = read_parts(data, at, end, self._scan, shared, most)
        total: i64 = 0
        for part in parts:
            total += self._records.size(len(part.body), len(fields.topic), len(part.properties))
        if total == 0 or total + _BLANK_BYTES > self._file_bytes:
            return 0
        if total > batch_log_bytes_max(int(body_bytes), len(parts), int(self._body_bytes_max)):
            return 0
        group.arena.room(total)
        for part in parts:
            fields.flag = part.flag  # the flag of the request belongs to no message
            size = self._records.size(len(part.body), len(fields.topic), len(part.properties))
            self._store(group, topic, queue, part.body, part.properties, part.scan, size)
        return total

    def _queue(self, topic: _Topic, queue_id: i64) -> ConsumeQueue | None:
        """The queue; None if the topic has no such queue, or the queue has no message yet."""
        if 0 <= queue_id < len(topic.queues):
            queue = topic.queues[queue_id]
            if queue is not None and queue.is_open:
                return queue
        return self._find_queue(topic, queue_id)

    def _find_queue(self, topic: _Topic, queue_id: i64) -> ConsumeQueue | None:
        """Look up a queue that is not cached in the topic; None as in `_queue`."""
        if not 0 <= queue_id < topic.queue_count:
            return None
        try:
            queue = self._queues.find(topic.text, queue_id)
        except (DiskError, CorruptionError):
            return None  # it cannot be opened: the general path reports that
        if queue is not None:
            missing = queue_id + 1 - len(topic.queues)
            if missing > 0:
                topic.queues.extend([None] * int(missing))
            topic.queues[queue_id] = queue
        return queue

    def _is_plain(self) -> bool:
        """Whether the request only has to be stored, without any other action on it."""
        fields = self._fields
        if fields.command_flag & ~_ONEWAY or fields.sys_flag & _SPECIAL_BITS:
            return False
        properties = fields.properties
        if not _is_utf8(properties):
            return False
        scan = self._scan
        scan.read(properties, 0, len(properties))
        has_key = scan.unique_key.isalnum() or (fields.is_batch and not scan.unique_key)
        return has_key and are_plain(properties, scan)

    def _store(
        self,
        group: WriteGroup,
        topic: _Topic,
        queue: ConsumeQueue,
        body: bytes,
        properties: bytes,
        scan: PropertyScan,
        size: i64,
    ) -> None:
        """Add a message of the request in `_fields` to the group."""
        fields = self._fields
        arena = group.arena
        position = arena.room(size)
        queue_offset = group.number(queue, 1)
        self._records.write(
            arena.writer,
            fields,
            body,
            properties,
            queue_offset=queue_offset,
            physical_offset=position,
            store_timestamp_ms=arena.store_timestamp_ms,
        )
        arena.took(size)
        entry = DispatchEntry(
            topic.name,
            fields.queue_id,
            queue_offset,
            position,
            size,
            tags_code=tag_hash(scan.tags),
            unique_key=scan.unique_key,
            keys=scan.keys,
            store_timestamp_ms=arena.store_timestamp_ms,
            sys_flag=self._records.sys_flag(fields),
        )
        group.entries.append(entry)

    def _reply(self, entries: list[DispatchEntry], first: i64, replies: BytesWriter) -> None:
        opaque = self._fields.opaque
        unique_key = self._scan.unique_key
        if self._is_json:
            self._replies.write_json(replies, opaque, entries, first, unique_key)
        else:
            self._replies.write_binary(replies, opaque, entries, first, unique_key)


def _is_utf8(text: bytes) -> bool:
    """Whether decoding and encoding gives the same bytes."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


# A compiled function is a builtin. This tells whether the module is compiled.
IS_QUICK: Final = type(_is_utf8).__name__ != "function"

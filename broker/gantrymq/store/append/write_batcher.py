"""Collects the sends and puts since the last turn, and lays them out as one group.

    sends that were fed      laid out at once, as the kernel reads them
    messages that were put   laid out behind them when the turn takes the group

The whole group is written, or none of it. Invariant: the queue offsets that a group assigns begin
at the queue's end and have no gaps, however its messages arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, final

from gantrymq.store.append.kernel import Fed, Kernel
from gantrymq.store.append.pending_put import Confirmation, PendingPut
from gantrymq.store.append.pending_sends import Sends
from gantrymq.store.append.write_group import TopicSize, WriteGroup
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.consumequeue.queue_folder import folder_fault
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.dispatch.dispatch import Dispatcher
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.put_status import Refused, illegal
from gantrymq.wire import java_string
from gantrymq.wire.message.record import Record

Pending: TypeAlias = "PendingPut | Sends | Confirmation"


@final
class WriteBatcher:
    """The next group of one store, which owns it."""

    __slots__ = (
        "_confirmations",
        "_dispatcher",
        "_group",
        "_last_number",
        "_levels",
        "_log",
        "_put_bytes",
        "_puts",
        "_queues",
        "_sends",
    )

    def __init__(
        self, log: CommitLog, queues: Queues, dispatcher: Dispatcher, levels: DelayLevels
    ) -> None:
        self._confirmations: list[Confirmation] = []
        self._dispatcher: Dispatcher = dispatcher
        self._group: WriteGroup | None = None
        self._last_number: int = 0
        self._levels: DelayLevels = levels
        self._log: CommitLog = log
        self._put_bytes: int = 0
        self._puts: list[PendingPut] = []
        self._queues: Queues = queues
        self._sends: list[Sends] = []

    @property
    def is_empty(self) -> bool:
        return not self._puts and not self._sends and not self._confirmations

    @property
    def waiting_bytes(self) -> int:
        """The size of the records that wait in memory to be written."""
        group = self._group
        return self._put_bytes + (0 if group is None else int(group.arena.end - group.arena.start))

    def put(
        self, messages: Sequence[Record], *, is_batch: bool, waits: bool, repeats: int = 0
    ) -> int | Refused:
        """Add one message or a batch, and return its number. `repeats` messages of the same send
        were stored before."""
        first = messages[0]
        # The lookup opens the queue now, so that nothing waits for the disk later.
        if self._find(first) is None:
            topic = java_string.utf8_text(first.topic)
            if java_string.utf8_bytes(topic) != first.topic:
                return illegal("The topic is not UTF-8.")
            fault = folder_fault(topic, first.queue_id)
            if fault is not None:
                return illegal(f"{fault}.")
        self._last_number += 1
        for message in messages:
            self._put_bytes += message.size
        put = PendingPut(
            self._last_number, messages, is_batch=is_batch, waits=waits, repeats=repeats
        )
        self._puts.append(put)
        return self._last_number

    def confirm(self, repeats: int, *, waits: bool) -> int:
        """Add a send whose messages are stored already or are in this group. Return the number of
        the answer that comes when they are safe."""
        self._last_number += 1
        self._confirmations.append(Confirmation(self._last_number, repeats, waits=waits))
        return self._last_number

    def feed(self, kernel: Kernel, data: bytes, start: int, born_host: bytes, wall_ms: int) -> Fed:
        """Take the sends in data[start:] that the kernel accepts; `Fed.number` is their number."""
        if self._group is None:
            self._group = WriteGroup(self._log.start_group(wall_ms), self._levels)
        fed = kernel.feed(self._group, data, start, born_host)
        if fed.count:
            self._last_number = fed.number = self._last_number + 1
            self._sends.append(Sends(fed.number, fed.replies))
        elif not self._sends:
            self._group = None  # the next group gets a store time of its own
        return fed

    def sizes_of(self, fed: Fed) -> list[TopicSize]:
        """The messages and bytes that the last `feed` added, by topic."""
        group = self._group
        return [] if group is None else group.sizes_from(fed.first_entry)

    def take(self, wall_ms: int) -> tuple[WriteGroup, Sequence[Pending]]:
        """The group, laid out, and the sends that wait for it, in order."""
        group, sends, puts = self._group, self._sends, self._puts
        confirmations, self._confirmations = self._confirmations, []
        self._group, self._sends, self._puts, self._put_bytes = None, [], [], 0
        if group is None:
            group = WriteGroup(self._log.start_group(wall_ms), self._levels)
        self._lay_out(puts, group)
        return group, [*sends, *puts, *confirmations]

    def drop(self, wall_ms: int) -> Sequence[Pending]:
        """Drop everything; return the sends that wait for it."""
        group, pending = self.take(wall_ms)
        group.end()
        return pending

    def _lay_out(self, puts: Sequence[PendingPut], group: WriteGroup) -> None:
        """Assign queue offsets and log positions to the messages that were put."""
        new_ends: dict[tuple[bytes, int], int] = {}
        for put in puts:
            first = put.messages[0]
            count = len(put.messages) if put.has_units else 0
            queue = self._find(first)
            if count and queue is not None:
                queue_offset = int(group.number(queue, count))
            elif count:  # the first messages of a queue: the kernel never takes those
                key = (first.topic, first.queue_id)
                queue_offset = new_ends.get(key, 0)
                new_ends[key] = queue_offset + count
            else:
                queue_offset = 0
            put.lay_out(group, queue_offset)

    def _find(self, message: Record) -> ConsumeQueue | None:
        topic, queue_id = message.topic, message.queue_id
        known = self._dispatcher.known(topic, queue_id)
        if known is not None:
            return known
        return self._queues.find(java_string.utf8_text(topic), queue_id)

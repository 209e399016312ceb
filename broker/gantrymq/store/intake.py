"""What came in since the last turn, on its way into one group.

    sends that were fed      laid out at once, as the kernel reads them
    what was put             laid out behind them when the group is wanted

All of it is written at once, or nothing. Invariant: the numbers that a group gives out in a queue
begin at the queue's end and have no gap, whichever way its messages came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, final

from gantrymq.store.commitlog import CommitLog
from gantrymq.store.consumequeue import ConsumeQueue
from gantrymq.store.delay_levels import DelayLevels
from gantrymq.store.dispatch import Dispatcher
from gantrymq.store.group import Group, TopicSize
from gantrymq.store.kernel import Fed, Kernel
from gantrymq.store.pending_put import Confirmation, Put
from gantrymq.store.pending_sends import Sends
from gantrymq.store.put import Refused, illegal
from gantrymq.store.queue_folder import folder_fault
from gantrymq.store.queues import Queues
from gantrymq.wire import java_string
from gantrymq.wire.message.record import Record

Pending: TypeAlias = "Put | Sends | Confirmation"


@final
class Intake:
    """Of one store."""

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
        self._group: Group | None = None
        self._last_number: int = 0
        self._levels: DelayLevels = levels
        self._log: CommitLog = log
        self._put_bytes: int = 0
        self._puts: list[Put] = []
        self._queues: Queues = queues
        self._sends: list[Sends] = []

    @property
    def is_empty(self) -> bool:
        return not self._puts and not self._sends and not self._confirmations

    @property
    def waiting_bytes(self) -> int:
        """What lies in memory until it is taken, as records of the log."""
        group = self._group
        return self._put_bytes + (0 if group is None else int(group.arena.end - group.arena.start))

    def put(
        self, messages: Sequence[Record], *, is_batch: bool, waits: bool, repeats: int = 0
    ) -> int | Refused:
        """One message, or a batch: its number. So many `repeats` were sent before these."""
        first = messages[0]
        if self._find(first) is None:  # it is open now: nothing waits for the disk later
            topic = java_string.utf8_text(first.topic)
            if java_string.utf8_bytes(topic) != first.topic:
                return illegal("The topic is not UTF-8.")
            fault = folder_fault(topic, first.queue_id)
            if fault is not None:
                return illegal(f"{fault}.")
        self._last_number += 1
        for message in messages:
            self._put_bytes += message.size
        put = Put(self._last_number, messages, is_batch=is_batch, waits=waits, repeats=repeats)
        self._puts.append(put)
        return self._last_number

    def confirm(self, repeats: int, *, waits: bool) -> int:
        """Messages that are stored already, or will be with this group: the number of the answer
        that comes when they are safe."""
        self._last_number += 1
        self._confirmations.append(Confirmation(self._last_number, repeats, waits=waits))
        return self._last_number

    def feed(self, kernel: Kernel, data: bytes, start: int, born_host: bytes, wall_ms: int) -> Fed:
        """The sends from data[start] on that the kernel takes: `Fed.number` is theirs."""
        if self._group is None:
            self._group = Group(self._log.start_group(wall_ms), self._levels)
        fed = kernel.feed(self._group, data, start, born_host)
        if fed.count:
            self._last_number = fed.number = self._last_number + 1
            self._sends.append(Sends(fed.number, fed.replies))
        elif not self._sends:
            self._group = None  # its store time is this turn's
        return fed

    def sizes_of(self, fed: Fed) -> list[TopicSize]:
        """How much of what was just fed goes to which topic."""
        group = self._group
        return [] if group is None else group.sizes_from(fed.first_entry)

    def take(self, wall_ms: int) -> tuple[Group, Sequence[Pending]]:
        """Everything, laid out, and who waits for it to be written, in its order."""
        group, sends, puts = self._group, self._sends, self._puts
        confirmations, self._confirmations = self._confirmations, []
        self._group, self._sends, self._puts, self._put_bytes = None, [], [], 0
        if group is None:
            group = Group(self._log.start_group(wall_ms), self._levels)
        self._lay_out(puts, group)
        return group, [*sends, *puts, *confirmations]

    def drop(self, wall_ms: int) -> Sequence[Pending]:
        """Forget everything: who waits for it."""
        group, pending = self.take(wall_ms)
        group.end()
        return pending

    def _lay_out(self, puts: Sequence[Put], group: Group) -> None:
        """Give each message that was put its place in its queue and in the log."""
        new_ends: dict[tuple[bytes, int], int] = {}
        for put in puts:
            first = put.messages[0]
            count = len(put.messages) if put.has_units else 0
            queue = self._find(first)
            if count and queue is not None:
                queue_offset = int(group.number(queue, count))
            elif count:  # the first messages of a queue, which the kernel leaves to us
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

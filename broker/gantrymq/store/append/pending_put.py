"""Holds a put, one message or a batch that is stored together, until it is answered.

All puts of a turn are written at once, or none of them. Their messages get offsets and positions
only then, so that refused ones leave no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from gantrymq.store.append.write_group import WriteGroup
from gantrymq.store.record.put_status import PutStatus
from gantrymq.wire.message import sys_flag
from gantrymq.wire.message.record import Record


@final
class PutAnswer:
    """The answer to a put. The fields behind `status` are valid if `status` says that it is stored.

    Created on the hot path, hence slotted rather than a frozen dataclass; treat it as immutable.
    """

    __slots__ = (
        "number",
        "positions",
        "queue_offset",
        "remark",
        "repeats",
        "replies",
        "status",
        "store_timestamp_ms",
    )

    def __init__(
        self,
        number: int,
        status: PutStatus,
        positions: Sequence[int] = (),
        queue_offset: int = 0,
        store_timestamp_ms: int = 0,
        remark: str = "",
        *,
        replies: bytes = b"",
        repeats: int = 0,
    ) -> None:
        self.number: int = number
        self.status: PutStatus = status
        self.positions: Sequence[int] = positions
        """The log position of each message."""
        self.queue_offset: int = queue_offset
        """The queue offset of the first message."""
        self.store_timestamp_ms: int = store_timestamp_ms
        self.remark: str = remark
        self.replies: bytes = replies
        """For sends that were fed: the response frames, whatever the outcome."""
        self.repeats: int = repeats
        """How many messages of a producer session were repeats, and not stored again."""


@final
class PendingPut:
    """Messages that are stored together, and whether their sender waits for more than the write."""

    __slots__ = ("is_batch", "messages", "number", "repeats", "waits")

    def __init__(
        self,
        number: int,
        messages: Sequence[Record],
        *,
        is_batch: bool,
        waits: bool,
        repeats: int = 0,
    ) -> None:
        self.number: int = number
        self.messages: Sequence[Record] = messages
        self.is_batch: bool = is_batch
        self.repeats: int = repeats
        self.waits: bool = waits

    @property
    def has_units(self) -> bool:
        """Whether the messages have units in their queue; those of open transactions have none."""
        transaction = sys_flag.transaction_type(self.messages[0].sys_flag)
        return transaction in (sys_flag.TRANSACTION_NONE, sys_flag.TRANSACTION_COMMIT)

    def lay_out(self, group: WriteGroup, queue_offset: int) -> None:
        """Set the queue offsets, from this one on, and the log positions."""
        if not self.is_batch:
            message = self.messages[0]
            message.queue_offset = queue_offset
            group.add(message)
            return
        step = 1 if self.has_units else 0
        for message in self.messages:
            message.queue_offset = queue_offset
            queue_offset += step
        group.add_batch(self.messages)

    def answer(self, status: PutStatus, remark: str = "") -> PutAnswer:
        if not status.is_stored:
            return PutAnswer(self.number, status, remark=remark)
        first = self.messages[0]
        return PutAnswer(
            self.number,
            status,
            [message.physical_offset for message in self.messages],
            first.queue_offset,
            first.store_timestamp_ms,
            remark,
            repeats=self.repeats,
        )


@final
class Confirmation:
    """A send of a producer session with only repeats. It is answered when the messages that were
    sent before are safe."""

    __slots__ = ("number", "repeats", "waits")

    def __init__(self, number: int, repeats: int, *, waits: bool) -> None:
        self.number: int = number
        self.repeats: int = repeats
        self.waits: bool = waits

    def answer(self, status: PutStatus, remark: str = "") -> PutAnswer:
        return PutAnswer(self.number, status, remark=remark, repeats=self.repeats)

"""A put: one message, or a batch that is stored together, from being taken to its answer.

All puts of a turn are written at once, or none of them is. Their messages get their places only
then, so that what is refused leaves no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from gantrymq.store.group import Group
from gantrymq.store.put import PutStatus
from gantrymq.wire.message import sys_flag
from gantrymq.wire.message.record import Record


@final
class PutAnswer:
    """What became of a put; the rest is told where the status says that it is stored.

    Hot, hence slotted and not frozen; treat it as a value all the same.
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
        """Where in the log each message lies."""
        self.queue_offset: int = queue_offset
        """Of the first message."""
        self.store_timestamp_ms: int = store_timestamp_ms
        self.remark: str = remark
        self.replies: bytes = replies
        """To sends that were fed: the frames to send, whatever became of them."""
        self.repeats: int = repeats
        """Messages of a producer session that were sent again, and are not stored again."""


@final
class Put:
    """Messages that are stored together, and who waits for them."""

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
        """Whether the messages stand in their queue; those of open transactions do not."""
        transaction = sys_flag.transaction_type(self.messages[0].sys_flag)
        return transaction in (sys_flag.TRANSACTION_NONE, sys_flag.TRANSACTION_COMMIT)

    def lay_out(self, group: Group, queue_offset: int) -> None:
        """Set the places in the queue, from this one on, and in the log."""
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
    """A send of a producer session that brings nothing new; its sender waits for what it sent
    before."""

    __slots__ = ("number", "repeats", "waits")

    def __init__(self, number: int, repeats: int, *, waits: bool) -> None:
        self.number: int = number
        self.repeats: int = repeats
        self.waits: bool = waits

    def answer(self, status: PutStatus, remark: str = "") -> PutAnswer:
        return PutAnswer(self.number, status, remark=remark, repeats=self.repeats)

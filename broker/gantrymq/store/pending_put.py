"""A put: one message, or a batch that is stored together, from being taken to its answer.

All puts of a turn are written at once, or none of them is. Their messages get their places only
then, so that what is refused leaves no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from gantrymq.store.arena import Arena
from gantrymq.store.put import PutStatus
from gantrymq.wire.message import sys_flag
from gantrymq.wire.message.record import Record


@final
@dataclass(frozen=True, slots=True)
class PutAnswer:
    """What became of a put; the rest is told where the status says that it is stored."""

    number: int
    status: PutStatus
    positions: Sequence[int] = ()
    """Where in the log each message lies."""
    queue_offset: int = 0
    """Of the first message."""
    store_timestamp_ms: int = 0
    remark: str = ""


@final
class Put:
    """Messages that are stored together, and who waits for them."""

    __slots__ = ("is_batch", "messages", "number", "waits")

    def __init__(
        self, number: int, messages: Sequence[Record], *, is_batch: bool, waits: bool
    ) -> None:
        self.number = number
        self.messages = messages
        self.is_batch = is_batch
        self.waits = waits

    @property
    def has_units(self) -> bool:
        """Whether the messages stand in their queue; those of open transactions do not."""
        transaction = sys_flag.transaction_type(self.messages[0].sys_flag)
        return transaction in {sys_flag.TRANSACTION_NONE, sys_flag.TRANSACTION_COMMIT}

    def number_from(self, queue_offset: int) -> int:
        """Set the places in the queue; the next one that is free then."""
        if not self.has_units:
            for message in self.messages:
                message.queue_offset = 0
            return queue_offset
        for offset, message in enumerate(self.messages, queue_offset):
            message.queue_offset = offset
        return queue_offset + len(self.messages)

    def lay_out(self, arena: Arena) -> None:
        """Set the places in the log."""
        if self.is_batch:
            arena.add_batch(self.messages)
        else:
            arena.add(self.messages[0])

    def answer(self, status: PutStatus) -> PutAnswer:
        """For a put that is stored."""
        first = self.messages[0]
        return PutAnswer(
            self.number,
            status,
            [message.physical_offset for message in self.messages],
            first.queue_offset,
            first.store_timestamp_ms,
        )

"""Holds the messages of one request of the record accumulator, and their results.

Invariant: a batch is over when it has a result or an error. The results of its messages are made
from the one result when they are read, so that unused results cost nothing.
"""

from __future__ import annotations

from typing import TypeAlias, final

from librt.strings import BytesWriter

from gantrymq.client.core.errors import SendError
from gantrymq.client.core.flow.flow_steps import Signal
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.results import SendResult
from gantrymq.wire.bodies.shared import MessageQueue

BatchKey: TypeAlias = tuple[str, MessageQueue | None, bool]
"""Topic, the explicitly chosen queue if any, and whether the broker answers only once the message
is stored."""


@final
class Batch:
    """Messages that are sent in one request. Hot path, hence slotted."""

    __slots__ = (
        "_offset_ids",
        "bytes",
        "count",
        "ended",
        "error",
        "full",
        "ids",
        "is_watched",
        "key",
        "messages",
        "parts",
        "result",
        "spare_ids",
    )

    def __init__(self, key: BatchKey) -> None:
        self.key = key
        self.count = 0
        self.messages: list[Message] = []
        """The Message objects for hooks; without hooks, only a message that is sent alone."""
        self.parts = BytesWriter()
        self.ids: list[str] = []
        self.spare_ids: list[str] = []
        """Ids made ahead; the next one is the last of the list."""
        self.bytes = 0
        """Memory of the whole batch."""
        self.full = Signal()
        self.ended = Signal()
        self.result: SendResult | None = None
        self.error: Exception | None = None
        self.is_watched = False
        """Whether a caller will see its error."""
        self._offset_ids: list[str] | None = None

    @property
    def is_over(self) -> bool:
        return self.result is not None or self.error is not None

    def result_of(self, index: int) -> SendResult:
        """Return the result of one message after the batch is over; raises SendError if it
        failed."""
        if self.result is None:
            assert self.error is not None, "asked too early"
            # Each call raises its own error, because a traceback grows each time an error is
            # raised.
            raise SendError(str(self.error), (self.error,)) from self.error
        result = self.result
        ids = self.ids
        if self.count == 1:
            return result
        if self._offset_ids is None:
            self._offset_ids = result.offset_message_id.split(",")
        offset_ids = self._offset_ids
        return SendResult(
            result.status,
            ids[index],
            result.queue,
            result.queue_offset + index,
            offset_ids[index] if len(offset_ids) == len(ids) else "",
            transaction_id=result.transaction_id,
            region_id=result.region_id,
            is_traced=result.is_traced,
        )


@final
class Share:
    """Consecutive messages of one batch."""

    __slots__ = ("batch", "count", "first")

    def __init__(self, batch: Batch, first: int, count: int) -> None:
        self.batch = batch
        self.first = first
        self.count = count

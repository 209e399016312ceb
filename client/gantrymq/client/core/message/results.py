"""Defines the result of a send."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final, final

from gantrymq.wire.bodies.shared import MessageQueue


class SendStatus(IntEnum):
    """How safely the message is stored; with every status the broker has it. The values are
    response codes. SEND_OK is 0 and therefore false, so compare values instead of testing truth."""

    SEND_OK = 0
    FLUSH_DISK_TIMEOUT = 10
    SLAVE_NOT_AVAILABLE = 11
    FLUSH_SLAVE_TIMEOUT = 12

    def __str__(self) -> str:
        return self.name


# The fields of a result, because compiled classes have no __slots__ to read.
_FIELDS: Final = (
    "status",
    "message_id",
    "queue",
    "queue_offset",
    "offset_message_id",
    "transaction_id",
    "region_id",
    "is_traced",
    "recall_handle",
)


@final
class SendResult:
    """Where the message is stored. Hot path, hence slotted and not frozen; treat it as
    immutable."""

    __slots__ = _FIELDS

    def __init__(
        self,
        status: SendStatus,
        message_id: str,
        queue: MessageQueue,
        queue_offset: int,
        offset_message_id: str,
        *,
        transaction_id: str = "",
        region_id: str = "DefaultRegion",
        is_traced: bool = True,
        recall_handle: str = "",
    ) -> None:
        self.status: SendStatus = status
        self.message_id: str = message_id
        """The unique id; for a batch, the ids joined by commas."""
        self.queue: MessageQueue = queue
        self.queue_offset: int = queue_offset
        self.offset_message_id: str = offset_message_id
        """Names the broker and the position in its commit log."""
        self.transaction_id: str = transaction_id
        self.region_id: str = region_id
        self.is_traced: bool = is_traced
        self.recall_handle: str = recall_handle
        """Identifies a delayed message for a recall (5.x brokers)."""

    def of_topic(self, topic: str) -> SendResult:
        """Return the same result with another topic name."""
        queue = self.queue
        return SendResult(
            self.status,
            self.message_id,
            MessageQueue(topic, queue.broker_name, queue.queue_id),
            self.queue_offset,
            self.offset_message_id,
            transaction_id=self.transaction_id,
            region_id=self.region_id,
            is_traced=self.is_traced,
            recall_handle=self.recall_handle,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SendResult):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _FIELDS)

    def __hash__(self) -> int:
        return hash((self.message_id, self.queue, self.queue_offset))

    def __reduce__(self) -> tuple[object, ...]:
        """Support copy and pickle, which cannot handle compiled classes by themselves."""
        return _remade, ({name: getattr(self, name) for name in _FIELDS},)

    def __repr__(self) -> str:
        fields = ", ".join([f"{name}={getattr(self, name)!r}" for name in _FIELDS])
        return f"SendResult({fields})"


# Any: each field has a type of its own.
def _remade(fields: Mapping[str, Any]) -> SendResult:
    return SendResult(**fields)

"""What became of a message that was sent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from gantrymq.wire.bodies.shared import MessageQueue


class SendStatus(IntEnum):
    """How safe it is; all of them mean that the broker has it. The values are response codes."""

    SEND_OK = 0
    FLUSH_DISK_TIMEOUT = 10
    SLAVE_NOT_AVAILABLE = 11
    FLUSH_SLAVE_TIMEOUT = 12


@dataclass(frozen=True, slots=True)
class SendResult:
    """Where it is."""

    status: SendStatus
    message_id: str
    """UNIQ_KEY; those of a batch, joined by commas."""
    queue: MessageQueue
    queue_offset: int
    offset_message_id: str
    """Where it lies in the broker's log."""
    transaction_id: str = ""
    region_id: str = "DefaultRegion"
    is_traced: bool = True
    recall_handle: str = ""
    """What a delayed message is taken back by (5.x brokers)."""

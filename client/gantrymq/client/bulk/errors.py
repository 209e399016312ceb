"""Defines the errors that only bulk reads and sends raise.

Errors of reads say exactly which messages are missing; the caller decides whether that fails its
program. A queue that cannot be read for `recover_s` raises another ClientError.
"""

from __future__ import annotations

from gantrymq.client.core.errors import SendError
from gantrymq.remoting.failures import ClientError
from gantrymq.wire.bodies.shared import MessageQueue


def named(queue: MessageQueue) -> str:
    """Return the queue's name for error texts."""
    return f"queue {queue.queue_id} of topic {queue.topic} on broker {queue.broker_name}"


class OffsetGoneError(ClientError):
    """The queue begins after the requested offset, because retention removed messages."""

    def __init__(self, queue: MessageQueue, asked: int, first_kept: int, end_of_queue: int) -> None:
        self.queue = queue
        self.asked = asked
        self.first_kept = first_kept
        self.end_of_queue = end_of_queue
        super().__init__(
            f"{named(queue)} has no messages {asked} to {first_kept - 1} any more; it has"
            f" {first_kept} to {end_of_queue - 1}: the broker removed messages that are older than"
            " its retention (fileReservedTime)"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.queue, self.asked, self.first_kept, self.end_of_queue)


class QueueTruncatedError(ClientError):
    """The queue ends before the requested offset, although it was longer once."""

    def __init__(self, queue: MessageQueue, asked: int, end: int, end_of_queue: int) -> None:
        self.queue = queue
        self.asked = asked
        self.end = end
        self.end_of_queue = end_of_queue
        super().__init__(
            f"{named(queue)} ends at {end_of_queue}, but messages {asked} to {end - 1} were asked"
            " for: the broker lost its newest messages, as a master does that fails before they"
            " were replicated or flushed"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.queue, self.asked, self.end, self.end_of_queue)


class NotSupportedError(SendError):
    """A broker does not support producer sessions."""

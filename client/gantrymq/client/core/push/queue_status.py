"""Defines the state of one queue of a push consumer, as `status` reports it to operators."""

from __future__ import annotations

from dataclasses import dataclass

from gantrymq.wire.bodies.shared import MessageQueue


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """The state of one queue of a consumer."""

    queue: MessageQueue
    commit_offset: int | None
    """The offset up to which everything is consumed; None before the first pull."""
    cached: int
    """Number of buffered messages that are not consumed yet."""
    is_locked: bool
    """Whether this consumer holds the queue's lock, which an orderly consumer needs."""
    trouble: str | None
    """Why the queue is stalled, as text for operators."""

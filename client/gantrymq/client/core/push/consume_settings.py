"""Defines the settings of a push consumer, with Java's defaults; times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gantrymq.client.core.bounds import ABOVE_0, FROM_0, at_least, must_fit, refused, within
from gantrymq.client.core.group.allocation import Allocate, average
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.message.namespace import TRACE_TOPIC


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeSettings:
    """The settings of one push consumer."""

    orderly: bool = False
    """Consume each queue in order, one message after the other; a failing one stalls its queue."""
    broadcasting: bool = False
    """Deliver every message to every client of the group; progress is stored in a local file."""
    allocate: Allocate = average
    """The allocation strategy; it must be the same for all clients of the group."""
    consume_from: ConsumeFrom = ConsumeFrom.LAST_OFFSET
    consume_timestamp_ms: int | None = None
    """The start time for ConsumeFrom.TIMESTAMP; None: half an hour before the consumer starts."""
    consume_threads: int = 20
    """Maximum number of concurrent calls of async listeners (concurrent consumers)."""
    consume_batch: int = 1
    """Maximum number of messages per call of a listener."""
    pull_batch: int = 32
    pull_interval_s: float = 0.0
    pull_threshold: int = 1000
    """Maximum number of buffered, unconsumed messages per queue."""
    pull_threshold_bytes: int = 100 << 20
    topic_pull_threshold: int | None = None
    """Maximum number of buffered messages of all queues together, divided equally among the queues;
    replaces `pull_threshold`."""
    topic_pull_threshold_bytes: int | None = None
    max_span: int = 2000
    """Maximum distance between a queue's first unconsumed and last buffered offset (concurrent)."""
    consume_timeout_s: float = 900.0
    """After this time a listener's messages are sent back and delivered again (concurrent)."""
    max_reconsume_times: int = -1
    """Retries before a message becomes a dead letter; -1: 16, or unlimited for orderly
    consumers."""
    suspend_s: float = 1.0
    """Pause before an orderly listener gets the same messages again."""
    auto_commit: bool = True
    """Whether SUCCESS of an orderly listener commits; if False, only COMMIT does."""
    close_timeout_s: float = 10.0
    """How long closing waits for running listeners."""
    post_subscription: bool = False
    """Send the filter with each pull: for groups whose members have different subscriptions."""
    trace: bool = False
    """Whether calls of listeners are recorded in the trace topic."""
    trace_topic: str = TRACE_TOPIC

    def __post_init__(self) -> None:
        must_fit(self, _BOUNDS)
        if not callable(self.allocate):
            raise refused(self, "allocate", "a strategy: average, another one, or a function")
        if not isinstance(self.consume_from, ConsumeFrom):
            raise refused(self, "consume_from", "a ConsumeFrom")


_BOUNDS: Final = {
    "consume_threads": within(1, 1000),
    "consume_batch": within(1, 1024),
    "pull_batch": within(1, 1024),
    "pull_interval_s": FROM_0,
    "pull_threshold": within(1, 65535),
    "pull_threshold_bytes": within(1 << 20, 1 << 30),
    "topic_pull_threshold": within(1, 6_553_500),
    "topic_pull_threshold_bytes": within(1 << 20, 102_400 << 20),
    "max_span": within(1, 65535),
    "consume_timeout_s": ABOVE_0,
    "max_reconsume_times": at_least(-1),
    "suspend_s": ABOVE_0,
    "close_timeout_s": FROM_0,
}

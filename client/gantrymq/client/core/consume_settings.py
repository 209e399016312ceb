"""Settings of a push consumer: Java's defaults, in seconds where Java has other units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gantrymq.client.core.allocation import Allocate, average
from gantrymq.client.core.bounds import ABOVE_0, FROM_0, at_least, must_fit, refused, within
from gantrymq.client.core.namespace import TRACE_TOPIC
from gantrymq.client.core.start_offset import ConsumeFrom


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeSettings:
    """Of one consumer."""

    orderly: bool = False
    """One message of a queue after the other, in order; a failing one stalls its queue."""
    broadcasting: bool = False
    """Every client of the group gets every message; progress is a file of this machine."""
    allocate: Allocate = average
    """Must be the same for all clients of the group."""
    consume_from: ConsumeFrom = ConsumeFrom.LAST_OFFSET
    consume_timestamp_ms: int | None = None
    """For ConsumeFrom.TIMESTAMP; None: half an hour before the start."""
    consume_threads: int = 20
    """How many calls of async listeners are under way at most (concurrent consumers)."""
    consume_batch: int = 1
    """How many messages a listener is given at most."""
    pull_batch: int = 32
    pull_interval_s: float = 0.0
    pull_threshold: int = 1000
    """Messages of one queue that may be here, unconsumed."""
    pull_threshold_bytes: int = 100 << 20
    topic_pull_threshold: int | None = None
    """Messages of all queues together; each queue has an equal part of it, whatever
    `pull_threshold` says."""
    topic_pull_threshold_bytes: int | None = None
    max_span: int = 2000
    """Between the first unconsumed offset of a queue and the last one here (concurrent)."""
    consume_timeout_s: float = 900.0
    """A listener that has a message for longer: the message comes again (concurrent)."""
    max_reconsume_times: int = -1
    """Before a message is a dead letter; -1: 16, and without end for orderly consumers."""
    suspend_s: float = 1.0
    """Before an orderly listener is given the same again."""
    auto_commit: bool = True
    """An orderly listener's SUCCESS is progress; False: only COMMIT is."""
    close_timeout_s: float = 10.0
    """How long closing waits for listeners."""
    post_subscription: bool = False
    """Each pull brings the filter: for groups whose members subscribe differently."""
    trace: bool = False
    """Whether calls of listeners are told to the trace topic."""
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

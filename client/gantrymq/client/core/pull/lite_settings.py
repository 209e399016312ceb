"""Defines the settings of a pull consumer, with Java's defaults; times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gantrymq.client.core.bounds import ABOVE_0, FROM_0, at_least, must_fit, refused, within
from gantrymq.client.core.group.allocation import Allocate, average
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.pull.lite_queue import Buffering


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteSettings:
    """The settings of one pull consumer."""

    pull_batch: int = 10
    """Maximum number of messages per pull."""
    auto_commit: bool = True
    auto_commit_s: float = 5.0
    poll_timeout_s: float = 5.0
    queue_check_s: float = 30.0
    """How often topics are checked for changed queues."""
    broadcasting: bool = False
    """Deliver every message to every client; each keeps its progress in a local file."""
    consume_from: ConsumeFrom = ConsumeFrom.LAST_OFFSET
    consume_timestamp_ms: int | None = None
    """The start time for ConsumeFrom.TIMESTAMP; None: half an hour before the consumer starts."""
    buffering: Buffering = Buffering()  # noqa: RUF009 - frozen
    allocate: Allocate = average

    def __post_init__(self) -> None:
        must_fit(self, _BOUNDS)
        if not callable(self.allocate):
            raise refused(self, "allocate", "a strategy: average, another one, or a function")
        if not isinstance(self.consume_from, ConsumeFrom):
            raise refused(self, "consume_from", "a ConsumeFrom")


_BOUNDS: Final = {
    "pull_batch": within(1, 1024),
    "auto_commit_s": at_least(1),
    "poll_timeout_s": FROM_0,
    "queue_check_s": ABOVE_0,
}

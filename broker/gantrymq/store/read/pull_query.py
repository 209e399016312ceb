"""Defines the request of a pull and its answer, with the statuses of RocketMQ's getMessage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, final

from mypy_extensions import i64

from gantrymq.store.read.work_meter import WorkMeter
from gantrymq.wire.message.record import Record


class PullStatus(Enum):
    """The outcome of a pull, with Java's names."""

    FOUND = "messages were found"
    NO_MATCHED_LOGIC_QUEUE = "there is no such queue"
    NO_MESSAGE_IN_QUEUE = "the queue never had a message"
    OFFSET_TOO_SMALL = "the message was deleted"
    OFFSET_OVERFLOW_ONE = "the message comes next"
    OFFSET_OVERFLOW_BADLY = "the queue ends before"
    OFFSET_FOUND_NULL = "a file of the queue is missing"
    NO_MATCHED_MESSAGE = "the filter let no message pass"
    MESSAGE_WAS_REMOVING = "the messages were deleted meanwhile"


# Module constants, because mypyc looks up members of an enum each time.
FOUND: Final = PullStatus.FOUND
NO_MATCHED_MESSAGE: Final = PullStatus.NO_MATCHED_MESSAGE
MESSAGE_WAS_REMOVING: Final = PullStatus.MESSAGE_WAS_REMOVING


@final
class PullQuery:
    """A consumer's request. `tags` decides by the unit's tags code, `matches` by the record.

    With `keeps_offset` the offset is not corrected: a slave leaves that to its master, unless it
    has offsetCheckInSlave. `bulk_bytes_max` makes it a bulk pull of at most that many bytes.
    `meter` bounds the time that `matches` takes. Created on the hot path, hence slotted; treat it
    as immutable.
    """

    __slots__ = (
        "bulk_bytes_max",
        "count_max",
        "keeps_offset",
        "matches",
        "meter",
        "offset",
        "queue_id",
        "tags",
        "topic",
    )

    def __init__(
        self,
        topic: str,
        queue_id: i64,
        offset: i64,
        count_max: i64,
        tags: Callable[[int], bool] | None = None,
        matches: Callable[[Record], bool] | None = None,
        meter: WorkMeter | None = None,
        *,
        keeps_offset: bool = False,
        bulk_bytes_max: i64 = 0,
    ) -> None:
        self.bulk_bytes_max: i64 = bulk_bytes_max
        self.topic: str = topic
        self.queue_id: i64 = queue_id
        self.offset: i64 = offset
        self.count_max: i64 = count_max
        self.tags: Callable[[int], bool] | None = tags
        self.matches: Callable[[Record], bool] | None = matches
        self.meter: WorkMeter | None = None if matches is None else meter
        self.keeps_offset: bool = keeps_offset


@final
class Pulled:
    """The answer; `chunks` are the records in order. Slotted like `PullQuery`; treat it as
    immutable."""

    __slots__ = (
        "chunks",
        "count",
        "maximum",
        "minimum",
        "next_offset",
        "size",
        "status",
        "suggests_slave",
    )

    def __init__(
        self,
        status: PullStatus,
        next_offset: i64,
        minimum: i64,
        maximum: i64,
        chunks: Sequence[bytes] = (),
        count: i64 = 0,
        size: i64 = 0,
        *,
        suggests_slave: bool = False,
    ) -> None:
        self.status: PullStatus = status
        self.next_offset: i64 = next_offset
        self.minimum: i64 = minimum
        self.maximum: i64 = maximum
        self.chunks: Sequence[bytes] = chunks
        self.count: i64 = count
        self.size: i64 = size
        self.suggests_slave: bool = suggests_slave


def corrected(
    query: PullQuery, status: PullStatus, next_offset: i64, minimum: i64, maximum: i64
) -> Pulled:
    """An answer without messages, which tells the client from where to continue."""
    if query.keeps_offset:
        next_offset = query.offset
    return Pulled(status, next_offset, minimum, maximum)

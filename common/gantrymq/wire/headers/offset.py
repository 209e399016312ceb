"""Headers to query, store and reset offsets of queues and consumers."""

from __future__ import annotations

from typing import Annotated

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int32, Int64, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOffsetRequest(Header):
    """SEARCH_OFFSET_BY_TIMESTAMP; `boundary_type` (5.x) is LOWER or UPPER in any case."""

    topic: str
    queue_id: Int32
    timestamp: Int64
    boundary_type: str | None = None
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMaxOffsetRequest(Header):
    """GET_MAX_OFFSET."""

    topic: str
    queue_id: Int32
    committed: bool | None = None
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMinOffsetRequest(Header):
    """GET_MIN_OFFSET."""

    topic: str
    queue_id: Int32
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetResponse(Header):
    """The response to SEARCH_OFFSET_BY_TIMESTAMP, GET_MAX_OFFSET, GET_MIN_OFFSET and
    QUERY_CONSUMER_OFFSET.
    """

    offset: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class GetEarliestMsgStoretimeRequest(Header):
    """GET_EARLIEST_MSG_STORETIME."""

    topic: str
    queue_id: Int32
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetEarliestMsgStoretimeResponse(Header):
    """The response; -1 if the queue is empty."""

    timestamp: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumerOffsetRequest(Header):
    """QUERY_CONSUMER_OFFSET."""

    consumer_group: str
    topic: str
    queue_id: Int32
    set_zero_if_not_found: bool | None = None
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateConsumerOffsetRequest(Header):
    """UPDATE_CONSUMER_OFFSET."""

    consumer_group: str
    topic: str
    queue_id: Int32
    commit_offset: Int64
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOffsetRequest(Header):
    """INVOKE_BROKER_TO_RESET_OFFSET, RESET_CONSUMER_CLIENT_OFFSET.

    An absent queue, or -1 (5.x), means all queues; 4.9 peers always mean all.
    """

    topic: str
    group: str
    timestamp: Int64
    is_force: bool
    queue_id: Int32 | None = None
    offset: Int64 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerStatusRequest(Header):
    """INVOKE_BROKER_TO_GET_CONSUMER_STATUS, GET_CONSUMER_STATUS_FROM_CLIENT."""

    topic: str
    group: str
    client_addr: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCorrectionOffsetRequest(Header):
    """QUERY_CORRECTION_OFFSET."""

    filter_groups: str | None = None
    compare_group: str
    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneGroupOffsetRequest(Header):
    """CLONE_GROUP_OFFSET."""

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: bool | None = None

"""Headers for finding stored messages."""

from __future__ import annotations

from typing import Annotated

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int32, Int64, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewMessageRequest(Header):
    """VIEW_MESSAGE_BY_ID: the message at a physical offset."""

    topic: str | None = None
    offset: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMessageRequest(Header):
    """QUERY_MESSAGE: by key, or by unique key."""

    topic: str
    key: str
    max_num: Int32
    begin_timestamp: Int64
    end_timestamp: Int64
    unique_key_query: Annotated[bool | None, Wire("_UNIQUE_KEY_QUERY")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMessageResponse(Header):
    """The progress of the index."""

    index_last_update_timestamp: Int64
    index_last_update_phyoffset: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumeQueueRequest(Header):
    """QUERY_CONSUME_QUEUE: entries of a queue as stored."""

    topic: str | None = None
    queue_id: Int32 | None = None
    index: Int64 | None = None
    count: Int32 | None = None
    consumer_group: str | None = None

"""Headers for pulling messages from a queue."""

from __future__ import annotations

from typing import Annotated

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int32, Int64, Wire


@dataclass(slots=True, kw_only=True)
class PullMessageRequest(Header):
    """PULL_MESSAGE, LITE_PULL_MESSAGE: messages of one queue from an offset on.

    One is made for each pull. A frozen dataclass would take five times as long; treat this as
    immutable.
    """

    consumer_group: str
    topic: str
    queue_id: Int32
    queue_offset: Int64
    max_msg_nums: Int32
    sys_flag: Int32
    commit_offset: Int64
    suspend_timeout_millis: Int64
    subscription: str | None = None
    sub_version: Int64
    expression_type: str | None = None
    max_msg_bytes: Int32 | None = None
    request_source: Int32 | None = None
    proxy_froward_client_id: str | None = None
    broker_name: Annotated[str | None, Wire("bname")] = None
    request_type: Annotated[Int32 | None, Wire("ReqT")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullMessageResponse(Header):
    """The next offset and the suggested broker; for SUCCESS and the PULL_ codes 19, 20 and 21."""

    suggest_which_broker_id: Int64
    next_begin_offset: Int64
    min_offset: Int64
    max_offset: Int64
    offset_delta: Int64 | None = None
    topic_sys_flag: Int32 | None = None
    group_sys_flag: Int32 | None = None
    forbidden_type: Int32 | None = None

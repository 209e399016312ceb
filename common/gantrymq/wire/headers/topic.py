"""Headers to create, change, delete and describe topics of a broker."""

from __future__ import annotations

from typing import Annotated

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int32, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicRequest(Header):
    """UPDATE_AND_CREATE_TOPIC; `attributes` (5.x) is "+key=value,-key"."""

    topic: str
    default_topic: str
    read_queue_nums: Int32
    write_queue_nums: Int32
    perm: Int32
    topic_filter_type: str
    topic_sys_flag: Int32 | None = None
    order: bool
    attributes: str | None = None
    force: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicRequest(Header):
    """DELETE_TOPIC_IN_BROKER."""

    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTopicConfigRequest(Header):
    """GET_TOPIC_CONFIG (5.x)."""

    topic: str
    logical: Annotated[bool | None, Wire("lo")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTopicStatsRequest(Header):
    """GET_TOPIC_STATS_INFO."""

    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTopicConsumeByWhoRequest(Header):
    """QUERY_TOPIC_CONSUME_BY_WHO."""

    topic: str

"""Headers about connected clients, and requests that are forwarded to them."""

from __future__ import annotations

from typing import Annotated

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int32, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse(Header):
    """HEART_BEAT (5.x); without these fields a client keeps sending full heartbeats."""

    is_support_heart_beat_v2: Annotated[bool | None, Wire("IS_SUPPORT_HEART_BEAT_V2")] = None
    is_sub_change: Annotated[bool | None, Wire("IS_SUB_CHANGE")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterClientRequest(Header):
    """UNREGISTER_CLIENT."""

    client_id: Annotated[str, Wire("clientID")]
    producer_group: str | None = None
    consumer_group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupRequest(Header):
    """GET_CONSUMER_LIST_BY_GROUP, GET_CONSUMER_CONNECTION_LIST, NOTIFY_CONSUMER_IDS_CHANGED."""

    consumer_group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetProducerConnectionListRequest(Header):
    """GET_PRODUCER_CONNECTION_LIST."""

    producer_group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerRunningInfoRequest(Header):
    """GET_CONSUMER_RUNNING_INFO."""

    consumer_group: str
    client_id: str
    jstack_enable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeMessageDirectlyRequest(Header):
    """CONSUME_MESSAGE_DIRECTLY. To a broker the ids name the client and the message; to a client
    the body is the message.
    """

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: str | None = None
    topic_sys_flag: Int32 | None = None
    group_sys_flag: Int32 | None = None

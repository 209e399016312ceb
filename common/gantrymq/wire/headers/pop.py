"""Headers of 5.x's pop requests, by which the broker distributes single messages."""

from __future__ import annotations

from typing import Annotated

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int32, Int64, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class PopMessageRequest(Header):
    """POP_MESSAGE."""

    consumer_group: str
    topic: str
    queue_id: Int32
    max_msg_nums: Int32
    invisible_time: Int64
    poll_time: Int64
    born_time: Int64
    init_mode: Int32
    exp_type: str | None = None
    exp: str | None = None
    order: bool | None = None
    attempt_id: str | None = None
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PopMessageResponse(Header):
    pop_time: Int64
    invisible_time: Int64
    revive_qid: Int32
    rest_num: Int64
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AckMessageRequest(Header):
    """ACK_MESSAGE."""

    consumer_group: str
    topic: str
    queue_id: Int32
    extra_info: str
    offset: Int64
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeekMessageRequest(Header):
    """PEEK_MESSAGE."""

    topic: str
    queue_id: Int32
    max_msg_nums: Int32
    consumer_group: str
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInvisibleTimeRequest(Header):
    """CHANGE_MESSAGE_INVISIBLETIME."""

    consumer_group: str
    topic: str
    queue_id: Int32
    extra_info: str
    offset: Int64
    invisible_time: Int64
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInvisibleTimeResponse(Header):
    pop_time: Int64
    invisible_time: Int64
    revive_qid: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationRequest(Header):
    """NOTIFICATION: asks whether there are messages to pop."""

    consumer_group: str
    topic: str
    queue_id: Int32
    poll_time: Int64
    born_time: Int64
    order: bool | None = None
    attempt_id: str | None = None
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationResponse(Header):
    has_msg: bool
    polling_full: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingInfoRequest(Header):
    """POLLING_INFO."""

    consumer_group: str
    topic: str
    queue_id: Int32
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingInfoResponse(Header):
    polling_num: Int32

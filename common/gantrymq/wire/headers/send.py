"""Headers for sending messages: the long form, the short form (V2) of clients, and the response."""

from __future__ import annotations

from typing import Annotated

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int32, Int64, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessageRequest(Header):
    """SEND_MESSAGE, SEND_REPLY_MESSAGE: a message to append, with long field names."""

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int32
    queue_id: Int32
    sys_flag: Int32
    born_timestamp: Int64
    flag: Int32
    properties: str | None = None
    reconsume_times: Int32 | None = None
    unit_mode: bool | None = None
    max_reconsume_times: Int32 | None = None
    batch: bool | None = None
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessageV2Request(Header):
    """SEND_MESSAGE_V2, SEND_BATCH_MESSAGE, SEND_REPLY_MESSAGE_V2: one letter a field."""

    producer_group: Annotated[str, Wire("a")]
    topic: Annotated[str, Wire("b")]
    default_topic: Annotated[str, Wire("c")]
    default_topic_queue_nums: Annotated[Int32, Wire("d")]
    queue_id: Annotated[Int32, Wire("e")]
    sys_flag: Annotated[Int32, Wire("f")]
    born_timestamp: Annotated[Int64, Wire("g")]
    flag: Annotated[Int32, Wire("h")]
    properties: Annotated[str | None, Wire("i")] = None
    reconsume_times: Annotated[Int32 | None, Wire("j")] = None
    unit_mode: Annotated[bool | None, Wire("k")] = None
    max_reconsume_times: Annotated[Int32 | None, Wire("l")] = None
    batch: Annotated[bool | None, Wire("m")] = None
    broker_name: Annotated[str | None, Wire("n")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessageResponse(Header):
    """Where the message was stored. Java clients read `MSG_REGION` and `TRACE_ON` without checking
    that they exist.
    """

    msg_id: str
    queue_id: Int32
    queue_offset: Int64
    transaction_id: str | None = None
    batch_uniq_id: str | None = None
    recall_handle: str | None = None
    msg_region: Annotated[str | None, Wire("MSG_REGION")] = None
    trace_on: Annotated[str | None, Wire("TRACE_ON")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSendMsgBackRequest(Header):
    """CONSUMER_SEND_MSG_BACK: a message to be delivered again later."""

    offset: Int64
    group: str
    delay_level: Int32
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool | None = None
    max_reconsume_times: Int32 | None = None
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyMessageRequest(Header):
    """PUSH_REPLY_MESSAGE_TO_CLIENT: a reply for the producer that sent the request."""

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int32
    queue_id: Int32
    sys_flag: Int32
    born_timestamp: Int64
    flag: Int32
    properties: str | None = None
    reconsume_times: Int32 | None = None
    unit_mode: bool | None = None
    born_host: str
    store_host: str
    store_timestamp: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallMessageRequest(Header):
    """RECALL_MESSAGE (5.x): cancel a message that is not due yet."""

    producer_group: str | None = None
    topic: str
    recall_handle: str
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallMessageResponse(Header):
    """The unique id of the recalled message."""

    msg_id: str

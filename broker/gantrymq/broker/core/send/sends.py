"""Validates a send in RocketMQ's order, and turns it into a record.

    does the broker accept sends -> is the name legal, and open to clients -> does the topic exist,
    or can it be created -> does it have the queue

Invariant: a message that the kernel accepts (store/append/kernel.py) is stored here with the same
bytes: the sender's properties unchanged, followed by the broker's own.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from gantrymq.broker.core.access import forward_proofs
from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.metadata.topic_creation import (
    UNIT,
    UNIT_SUBSCRIBED,
    create_by_send,
    create_retry_topic,
    has_room,
)
from gantrymq.broker.core.names.name_rules import RETRY_PREFIX, topic_fault
from gantrymq.broker.core.names.topic_names import NOT_FOR_CLIENTS
from gantrymq.broker.core.state import State
from gantrymq.store.record.send_fields import BORN_HOST
from gantrymq.wire import hosts
from gantrymq.wire.bodies.shared import Permission, TopicConfig, TopicFilterType
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.headers.send import SendMessageRequest, SendMessageV2Request
from gantrymq.wire.java_string import utf8_bytes
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message import property_names, sys_flag
from gantrymq.wire.message.record import Record

SendHeader: TypeAlias = SendMessageRequest | SendMessageV2Request

# Properties that only the broker sets; a value that a sender gives is removed.
_BROKERS_OWN: Final = (
    property_names.POP_CK,
    property_names.MSG_REGION,
    property_names.TRACE_ON,
    property_names.CLUSTER,
    property_names.PRODUCER_SESSION,
)


# Addresses of connections that send alternately.
HOSTS_KEPT: Final = 4096


class Refusal(NamedTuple):
    """The response code and remark of a send that was not stored."""

    code: int
    remark: str


# ---------------------------------------------------------------------- judging


def judge(state: State, request: Request, header: SendHeader) -> TopicConfig | Refusal:
    """Return the topic to store into, which may have been created for this message."""
    topic = header.topic
    refused = _refused_by_broker(state, topic) or _refused_by_name(topic)
    if refused is not None:
        return refused
    config = state.topics.find(topic)
    if config is None:
        created = _create(state, request, header)
        if isinstance(created, str):
            return Refusal(
                ResponseCode.TOPIC_NOT_EXIST,
                f"topic[{topic}] not exist, apply first please! It is not on"
                f" {state.identity.name}, and {created}; create it with mqadmin updateTopic"
                f" -b {state.identity.address} -t {topic}, or on all masters with"
                f" -c {state.identity.cluster}",
            )
        config = created
    return _refused_by_queue(state, request, header, config) or config


def _refused_by_broker(state: State, topic: str) -> Refusal | None:
    """Why the broker accepts no sends, or none to this topic, else None."""
    settings, identity = state.settings, state.identity
    if not identity.is_master:
        return Refusal(
            ResponseCode.SYSTEM_BUSY,
            "[REJECTREQUEST]system busy, start flow control for a while"
            f" ({identity.address} is a slave of {identity.name}; send to its master)",
        )
    start_ms = settings.start_accept_send_request_time_stamp
    if state.wall_ms < start_ms:
        return Refusal(
            ResponseCode.SYSTEM_ERROR,
            f"broker unable to service, until {start_ms} ms after 1970, which is in"
            f" {(start_ms - state.wall_ms) / 1000:.0f} s (startAcceptSendRequestTimeStamp)",
        )
    if settings.broker_permission & Permission.WRITE:
        return None
    config = state.topics.find(topic)
    return None if config is None or not config.order else forbidden(state)


def forbidden(state: State) -> Refusal:
    """The refusal of a broker without write permission."""
    host = state.identity.address.rpartition(":")[0]
    return Refusal(
        ResponseCode.NO_PERMISSION,
        f"the broker[{host}] sending message is forbidden: brokerPermission is"
        f" {state.settings.broker_permission}; mqadmin updateBrokerConfig"
        f" -b {state.identity.address} -k brokerPermission -v 6 allows it",
    )


def _refused_by_name(topic: str) -> Refusal | None:
    fault = topic_fault(topic)
    if fault is not None:
        return Refusal(ResponseCode.INVALID_PARAMETER, fault)
    if topic in NOT_FOR_CLIENTS:
        return Refusal(
            ResponseCode.NO_PERMISSION,
            f"Sending message to topic[{topic}] is forbidden. It is the broker's own.",
        )
    return None


def _create(state: State, request: Request, header: SendHeader) -> TopicConfig | str:
    """The topic created for this message, or why it cannot be created."""
    is_retry = header.topic.startswith(RETRY_PREFIX)
    unit = (UNIT_SUBSCRIBED if is_retry else UNIT) if header.unit_mode else 0
    created = create_by_send(
        state,
        header.topic,
        header.default_topic,
        header.default_topic_queue_nums,
        unit,
        request.channel.peer,
    )
    if is_retry and isinstance(created, str) and has_room(state):
        return create_retry_topic(state, header.topic.removeprefix(RETRY_PREFIX), 1, sys_flag=unit)
    return created


def _refused_by_queue(
    state: State, request: Request, header: SendHeader, config: TopicConfig
) -> Refusal | None:
    count = max(config.write_queue_nums, config.read_queue_nums)
    if header.queue_id < count and (header.queue_id >= 0 or config.write_queue_nums > 0):
        return None
    return Refusal(
        ResponseCode.INVALID_PARAMETER,
        f"request queueId[{header.queue_id}] is illegal, topic {header.topic} has"
        f" {config.write_queue_nums} queues to write and {config.read_queue_nums} to read on"
        f" {state.identity.name}. Producer: {request.channel.peer}",
    )


# ---------------------------------------------------------------------- records


def record_of(state: State, request: Request, header: SendHeader, config: TopicConfig) -> Record:
    """The record of a message that is not held back."""
    properties = sent_properties(header)
    if codec.get(properties, property_names.UNIQ_KEY) is None:
        unique_key = state.unique_ids.make(state.wall_ms, _month_start_ms(state.wall_ms))
        properties = codec.append(properties, property_names.UNIQ_KEY, unique_key)
    return Record(
        utf8_bytes(header.topic),
        request.command.body,
        properties=codec.join(properties, added_properties(state)),
        queue_id=queue_id_of(state, header, config),
        flag=header.flag,
        sys_flag=stored_sys_flag(header, config),
        born_timestamp_ms=header.born_timestamp,
        born_host=born_host(state, request),
        store_host=packed_host(state.identity.stored_address),
        reconsume_times=header.reconsume_times or 0,
    )


def born_host(state: State, request: Request) -> bytes:
    """The sender's address. A forwarded send carries it, with a proof by the forwarding member."""
    command, relayed = request.command, None
    if state.identity.is_elected and command.ext and BORN_HOST in command.ext:
        relayed = forward_proofs.born_host(command, state.group_secret, state.identity)
    return packed_host(relayed or request.channel.peer)


@lru_cache(maxsize=HOSTS_KEPT)
def packed_host(text: str) -> bytes:
    """The packed form of `ip:port`, cached because parsing would take a quarter of a send's
    time."""
    return hosts.parse(text)


def sent_properties(header: SendHeader) -> bytes:
    """The sender's properties, without those that only a broker may set."""
    properties = utf8_bytes(header.properties or "")
    for name in _BROKERS_OWN:
        if codec.get(properties, name) is not None:
            properties = codec.delete(properties, name)
    return properties


def added_properties(state: State, *, has_cluster: bool = True) -> bytes:
    """The properties that this broker adds to each message."""
    added = {
        property_names.MSG_REGION: state.settings.region_id,
        property_names.TRACE_ON: trace_on(state),
    }
    if has_cluster:
        added[property_names.CLUSTER] = state.identity.cluster
    return codec.encode(added)


def trace_on(state: State) -> str:
    return "true" if state.settings.trace_on else "false"


def queue_id_of(state: State, header: SendHeader, config: TopicConfig) -> int:
    """The queue that the sender chose, or a random one."""
    return header.queue_id if header.queue_id >= 0 else state.chance(config.write_queue_nums)


def stored_sys_flag(header: SendHeader, config: TopicConfig) -> int:
    """The sender's flags: a compressed body stays compressed."""
    is_multi = config.topic_filter_type is TopicFilterType.MULTI_TAG
    return header.sys_flag | (sys_flag.MULTI_TAGS if is_multi else 0)


def _month_start_ms(wall_ms: int) -> int:
    now = datetime.fromtimestamp(wall_ms // 1000, UTC)
    return int(datetime(now.year, now.month, 1, tzinfo=UTC).timestamp()) * 1000


def waits(properties: bytes) -> bool:
    """Whether the sender waits for the flush and for the slaves."""
    value = codec.get(properties, property_names.WAIT)
    return value is None or value.lower() == "true"

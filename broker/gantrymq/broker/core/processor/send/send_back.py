"""Retries messages that consumers failed to process, and makes them dead letters at last.

    CONSUMER_SEND_MSG_BACK    the broker copies its stored message into %RETRY%group, after a
                              delay of level 3, 4, ... with each retry; at last into %DLQ%group
    a send to %RETRY%group    what a consumer does instead when it cannot send back

A group has `retryMaxTimes` retries unless its consumer sets the number; a negative level makes the
message a dead letter at once. Invariant: the copy keeps the message's body, birth, keys and
transaction; RETRY_TOPIC and ORIGIN_MESSAGE_ID identify the original message.
"""

from __future__ import annotations

from typing import Final

from gantrymq.acl.rights.rights import Right
from gantrymq.base.bounds import INT_MAX
from gantrymq.broker.core.acl import checks
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.metadata import topic_creation
from gantrymq.broker.core.metadata.group_creation import ensure_group, why_no_group
from gantrymq.broker.core.names.name_rules import RETRY_PREFIX
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, refused
from gantrymq.broker.core.schedule.hold_back import hold_back
from gantrymq.broker.core.send.sends import Refusal, SendHeader, forbidden
from gantrymq.broker.core.state import State
from gantrymq.store.read.lookups import message_at
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import Permission, TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import ConsumerSendMsgBackRequest
from gantrymq.wire.java_string import utf8_bytes, utf8_text
from gantrymq.wire.message import offset_id, property_names
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message.record import TOPIC_BYTES_MAX_V1, Record
from gantrymq.wire.version import V3_4_9

# The delay level of the first retry; each further retry waits a level longer.
FIRST_LEVEL: Final = 3


def send_back(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = ConsumerSendMsgBackRequest.decode(request.command.ext)
    if not state.identity.is_master:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"no master available along with {state.identity.address}: it is a slave of"
            f" {state.identity.name}; the consumer continues when its master is back",
        )
    group = ensure_group(state, header.group)
    if group is None:
        return refused(*_no_group(state, header.group))
    if not state.settings.broker_permission & Permission.WRITE:
        return refused(*forbidden(state))
    if group.retry_queue_nums <= 0:
        return done()  # the group wants no retries
    return _send_back(state, request, header, group)


def _send_back(
    state: State, request: Request, header: ConsumerSendMsgBackRequest, group: GroupConfig
) -> Task[Outcome]:
    unit = topic_creation.UNIT_SUBSCRIBED if header.unit_mode else 0
    config = topic_creation.create_retry_topic(
        state, header.group, group.retry_queue_nums, sys_flag=unit
    )
    if not config.perm & Permission.WRITE:
        return refused(
            ResponseCode.NO_PERMISSION,
            f"the topic[{config.topic_name}] sending message is forbidden, its perm is"
            f" {config.perm}; mqadmin updateTopicPerm -t {config.topic_name} -p 6 allows it",
        )
    found = yield from tasks.read(message_at(state.store, header.offset))
    if found is None:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"look message by offset failed, {header.offset}: the log of {state.identity.name}"
            " has no message there (any more)",
        )
    refusal = checks.refuse_message(state, request, found.record, Right.SUB, header.group)
    if refusal is not None:
        return refusal
    times_max = _times_max(request.command, header.max_reconsume_times, group)
    is_dead = found.record.reconsume_times >= times_max or header.delay_level < 0
    if is_dead:
        config = topic_creation.create_dead_letter_topic(state, header.group)
    why_not = yield from _why_not_into(state, config.topic_name)
    if why_not is not None:
        return refused(ResponseCode.SYSTEM_ERROR, why_not)
    next_level = min(FIRST_LEVEL + found.record.reconsume_times, INT_MAX)
    level = 0 if is_dead else header.delay_level or next_level
    queue_id = _queue_id(state, group, config)
    return (
        yield from _store(
            state,
            header,
            _copy(state, found.record, config.topic_name, queue_id, level),
            origin=found.record,
            is_dead=is_dead,
        )
    )


def _why_not_into(state: State, topic: str) -> Task[str | None]:
    """Why a crash or a deletion could lose messages of this topic; None once it is persistent."""
    failure = yield from topic_creation.safe(state, topic)
    if failure is not None:
        return f"a restart or a failover could forget topic[{topic}]: {failure}"
    if state.topics.find(topic) is None:
        return f"topic[{topic}] was deleted just now: send the message back again"
    return None


def _store(
    state: State,
    header: ConsumerSendMsgBackRequest,
    copy: Record,
    *,
    origin: Record,
    is_dead: bool,
) -> Task[Outcome]:
    to_store = hold_back(state, copy)
    if isinstance(to_store, tuple):
        return refused(*to_store)
    answer = yield from tasks.put_accepted(to_store, waits=False)
    if not answer.status.is_stored:
        state.stats.put_failed()
        return refused(
            ResponseCode.SYSTEM_ERROR, f"{answer.status.name}: {answer.remark}".rstrip(": ")
        )
    state.groups.keep(header.group, state.wall_ms)
    topic, origin_topic = utf8_text(to_store.topic), utf8_text(origin.topic)
    place = (header.group, origin_topic, origin.queue_id)
    state.retry_copies.note(place, origin.queue_offset, state.store.log.end)
    state.stats.sent(topic, 1, to_store.size)
    said = codec.get(copy.properties, property_names.RETRY_TOPIC)
    if said is None or state.topics.find(said) is None:
        said = origin_topic  # a property may have any value
    state.stats.sent_back(header.group, said)
    if is_dead:
        state.figures.dead.add((header.group, said))
        unique_key = codec.get(copy.properties, property_names.UNIQ_KEY)
        state.effects.info(
            f"send msg to DLQ {topic}, originalTopic={header.origin_topic},"
            f" consumerId={header.group}, msgUniqKey={unique_key},"
            f" storeTimestamp={answer.store_timestamp_ms}"
        )
    return done()


def _copy(state: State, message: Record, topic: str, queue_id: int, level: int) -> Record:
    """A copy of the message, for a retry or as a dead letter."""
    properties = message.properties
    if codec.get(properties, property_names.RETRY_TOPIC) is None:
        properties = codec.replace(properties, property_names.RETRY_TOPIC, utf8_text(message.topic))
    if not (codec.get(properties, property_names.ORIGIN_MESSAGE_ID) or "").strip():
        origin = offset_id.encode(message.store_host, message.physical_offset)
        properties = codec.replace(properties, property_names.ORIGIN_MESSAGE_ID, origin)
    properties = codec.replace(properties, property_names.WAIT, "false")
    properties = codec.replace(properties, property_names.DELAY, str(level))
    return Record(
        utf8_bytes(topic),
        message.body,
        properties=properties,
        queue_id=queue_id,
        flag=message.flag,
        sys_flag=message.sys_flag,
        born_timestamp_ms=message.born_timestamp_ms,
        born_host=message.born_host,
        store_host=state.identity.store_host,
        reconsume_times=min(message.reconsume_times + 1, INT_MAX),
    )


def _queue_id(state: State, group: GroupConfig, config: TopicConfig) -> int:
    """A random queue that consumers read: the topic may have fewer than the group asks for by
    now."""
    return state.chance(max(1, min(group.retry_queue_nums, config.read_queue_nums)))


# ---------------------------------------------------------------------- sends to %RETRY%group


def retried(
    state: State, command: Command, header: SendHeader, message: Record
) -> Record | Refusal:
    """Return a message sent to a retry topic, either for a retry or as a dead letter.

    An orderly group retries locally; a message that it sends is not tried again.
    """
    name = header.topic.removeprefix(RETRY_PREFIX)
    group = ensure_group(state, name)
    if group is None:
        return _no_group(state, name)
    state.groups.keep(name, state.wall_ms)
    times_max = _times_max(command, header.max_reconsume_times, group)
    if message.reconsume_times <= times_max and not state.locks.is_orderly(name, state.now):
        return message
    config = topic_creation.create_dead_letter_topic(state, name)
    message.topic = utf8_bytes(config.topic_name)
    message.version = 1 if len(message.topic) <= TOPIC_BYTES_MAX_V1 else 2
    message.queue_id = 0
    message.properties = codec.replace(message.properties, property_names.DELAY, "-1")
    return message


def _times_max(command: Command, said: int | None, group: GroupConfig) -> int:
    return said if said is not None and command.version >= V3_4_9 else group.retry_max_times


def _no_group(state: State, group: str) -> Refusal:
    return Refusal(
        ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
        f"subscription group not exist, {group} ({why_no_group(state, group)})",
    )


HANDLERS: Final[Handlers] = {RequestCode.CONSUMER_SEND_MSG_BACK: send_back}

"""Handles reply messages: pushes them to the client that asked, and stores a copy in their topic.

    SEND_REPLY_MESSAGE -> the producer REPLY_TO_CLIENT -> PUSH_REPLY_MESSAGE_TO_CLIENT -> its answer

The replier's answer says whether the push succeeded. It does not depend on the stored copy
(storeReplyMessageEnable), which is for inspection and which no client waits for.
"""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Channel, Outcome, Reply, Request
from gantrymq.broker.core.metadata import topic_creation
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.processor.send.send_requests import answer_refused, header_of
from gantrymq.broker.core.responses import refused
from gantrymq.broker.core.send import sends
from gantrymq.broker.core.send.sends import Refusal, SendHeader
from gantrymq.broker.core.state import State
from gantrymq.remoting.refusal import clip
from gantrymq.store.record.put_status import illegal
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import ReplyMessageRequest, SendMessageResponse
from gantrymq.wire.java_string import utf8_bytes, utf8_text
from gantrymq.wire.message import offset_id, property_names
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message.record import Record

# Java's timeout for the client that asked.
PUSH_SECONDS: Final = 10.0


def send_reply(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = header_of(request)
    judged = sends.judge(state, request, header)
    if isinstance(judged, Refusal):
        return answer_refused(state, judged)
    return _send_reply(state, request, header, judged)


def _send_reply(
    state: State, request: Request, header: SendHeader, config: TopicConfig
) -> Task[Outcome]:
    record = _record_of(state, request, header, config)
    most = state.store.settings.max_message_size
    if len(record.body) > most:
        text = f"The reply has {len(record.body)} bytes, maxMessageSize is {most}; compress it."
        return refused(ResponseCode.MESSAGE_ILLEGAL, illegal(text).text)
    failure = yield from _push(state, request, header, record)
    message_id, queue_offset = "0", 0
    if state.settings.store_reply_message_enable:
        stored = yield from _keep(state, record)
        if stored is not None:
            message_id, queue_offset = stored
    answer = SendMessageResponse(
        msg_id=message_id,
        queue_id=record.queue_id,
        queue_offset=queue_offset,
        msg_region=state.settings.region_id,
        trace_on=sends.trace_on(state),
    )
    code = ResponseCode.SUCCESS if failure is None else ResponseCode.SYSTEM_ERROR
    remark = None if failure is None else clip(failure)
    return Reply(Command(code, ext=answer.encode(), remark=remark))


def _record_of(state: State, request: Request, header: SendHeader, config: TopicConfig) -> Record:
    added = sends.added_properties(state, has_cluster=False)
    return Record(
        utf8_bytes(header.topic),
        request.command.body,
        properties=codec.join(sends.sent_properties(header), added),
        queue_id=sends.queue_id_of(state, header, config),
        flag=header.flag,
        sys_flag=sends.stored_sys_flag(header, config),
        born_timestamp_ms=header.born_timestamp,
        born_host=sends.packed_host(request.channel.peer),
        store_host=sends.packed_host(state.identity.stored_address),
        reconsume_times=header.reconsume_times or 0,
    )


# ---------------------------------------------------------------------- the push


def _push(state: State, request: Request, header: SendHeader, record: Record) -> Task[str | None]:
    """Push the reply; return why the client did not get it, or None."""
    client_id = codec.get(record.properties, property_names.REPLY_TO_CLIENT)
    if client_id is None:
        return (
            f"reply message properties[{property_names.REPLY_TO_CLIENT}] is null: no client can"
            " be found to push the reply to; make replies with createReplyMessage"
        )
    channel = _channel_of(state, client_id)
    if channel is None:
        return (
            f"push reply message fail, channel of <{client_id}> not found: no producer of this id"
            f" is connected to {state.identity.name}, as its heartbeats tell; it may have gone"
        )
    command = _push_command(state, request, header, record)
    answer = yield from tasks.ask(channel, command, PUSH_SECONDS)
    if answer is None:
        return f"push reply message to {client_id} fail. It did not answer in {PUSH_SECONDS:.0f} s"
    if answer.code != ResponseCode.SUCCESS:
        return (
            f"push reply message to {client_id} fail. It answered code {answer.code}:"
            f" {answer.remark}"
        )
    return None


def _channel_of(state: State, client_id: str) -> Channel | None:
    """The most recently active connection of the producer with this client id."""
    clients = [
        client for client in state.clients.producers_of(client_id) if not client.channel.is_closing
    ]
    return max(clients, key=lambda client: client.heard_at).channel if clients else None


def _push_command(state: State, request: Request, header: SendHeader, record: Record) -> Command:
    properties = codec.append(record.properties, property_names.PUSH_REPLY_TIME, str(state.wall_ms))
    pushed = ReplyMessageRequest(
        producer_group=header.producer_group,
        topic=header.topic,
        default_topic=header.default_topic,
        default_topic_queue_nums=header.default_topic_queue_nums,
        queue_id=header.queue_id,
        sys_flag=header.sys_flag,
        born_timestamp=header.born_timestamp,
        flag=header.flag,
        properties=utf8_text(properties),
        reconsume_times=header.reconsume_times,
        unit_mode=bool(header.unit_mode),
        born_host=request.channel.peer,
        store_host=state.identity.stored_address,
        store_timestamp=state.wall_ms,
    )
    return Command(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, ext=pushed.encode(), body=record.body)


# ---------------------------------------------------------------------- the copy


def _keep(state: State, record: Record) -> Task[tuple[str, int] | None]:
    """Store the copy; return its offset message id and queue offset, or None on failure."""
    topic = utf8_text(record.topic)
    failure = yield from topic_creation.safe(state, topic)
    if failure is None:
        answer = yield from tasks.put(record, waits=sends.waits(record.properties))
        if answer.status.is_stored:
            state.stats.sent(topic, 1, record.size)
            message_id = offset_id.encode(record.store_host, answer.positions[0])
            return message_id, answer.queue_offset
        state.stats.put_failed()
        failure = f"{answer.status.name}: {answer.remark}"
    state.effects.warning(f"storing a reply failed topic={topic}: {failure}")
    return None


HANDLERS: Final[Handlers] = {
    RequestCode.SEND_REPLY_MESSAGE: send_reply,
    RequestCode.SEND_REPLY_MESSAGE_V2: send_reply,
}

"""Handles SEND_MESSAGE in its three forms, for one message or a batch, and builds the answers.

    10 long names   310 letters   320 letters, from batches; `batch` says whether it is one

Every answer has MSG_REGION and TRACE_ON, because Java's clients read them unconditionally. A
rewritten message (a half, a delayed one) is answered with the queue that was requested and with its
position in the queue where it waits, as in Java.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.figures.messages import type_of
from gantrymq.broker.core.messages import Outcome, Reply, Request
from gantrymq.broker.core.metadata import topic_creation
from gantrymq.broker.core.names.name_rules import RETRY_PREFIX
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.processor.send.send_back import retried
from gantrymq.broker.core.schedule import timers
from gantrymq.broker.core.send import batch_sends, sends, session_sends
from gantrymq.broker.core.send.message_rewrite import rewrite
from gantrymq.broker.core.send.sends import Refusal, SendHeader
from gantrymq.broker.core.state import State
from gantrymq.remoting.refusal import refusal
from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.store.sessions.table import SessionSend
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import (
    SendMessageRequest,
    SendMessageResponse,
    SendMessageV2Request,
)
from gantrymq.wire.java_string import utf8_text
from gantrymq.wire.message import offset_id, property_names
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message.property_names import MSG_REGION, TRACE_ON
from gantrymq.wire.message.record import Record


def send(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = header_of(request)
    busy = state.admission.refusal(state.settings)
    if busy is not None:
        return answer_refused(state, Refusal(ResponseCode.SYSTEM_BUSY, busy))
    judged = sends.judge(state, request, header)
    if isinstance(judged, Refusal):
        return answer_refused(state, judged)
    if state.quotas.is_on:
        full = state.quotas.refusal_of_storage(request, header.topic)
        if full is not None:
            return full
    if header.batch:
        return _send_batch(state, request, header, judged)
    return _send_one(state, request, header, judged)


def header_of(request: Request) -> SendHeader:
    command = request.command
    if command.code in (RequestCode.SEND_MESSAGE, RequestCode.SEND_REPLY_MESSAGE):
        return SendMessageRequest.decode(command.ext)
    return SendMessageV2Request.decode(command.ext)


def answer_refused(state: State, refused: Refusal) -> Reply:
    answer = refusal(refused.code, refused.remark)
    answer.ext = {MSG_REGION: state.settings.region_id, TRACE_ON: sends.trace_on(state)}
    return Reply(answer)


def unsafe(topic: str, failure: str) -> Refusal:
    """The refusal of a message whose topic is not persistent."""
    return Refusal(
        ResponseCode.SYSTEM_ERROR,
        f"topic[{topic}] was created, but a restart or a failover could forget it: {failure}",
    )


def deleted(topic: str) -> Refusal:
    """The refusal of a message whose topic was deleted while the send waited."""
    return Refusal(
        ResponseCode.TOPIC_NOT_EXIST,
        f"topic[{topic}] not exist, apply first please! It was deleted just now",
    )


# ---------------------------------------------------------------------- one message


def _send_one(
    state: State, request: Request, header: SendHeader, config: TopicConfig
) -> Task[Outcome]:
    record = sends.record_of(state, request, header, config)
    session = session_sends.session_of(request, header)
    if isinstance(session, Refusal):
        return answer_refused(state, session)
    if session is not None:
        session_sends.mark([record], session)
    queue_id = record.queue_id
    to_store = _to_store(state, request, header, record)
    if isinstance(to_store, Refusal):
        return answer_refused(state, to_store)
    for topic in (header.topic, utf8_text(to_store.topic)):
        failure = yield from topic_creation.safe(state, topic)
        if failure is not None:
            return answer_refused(state, unsafe(topic, failure))
        if state.topics.find(topic) is None:
            return answer_refused(state, deleted(topic))
    answer = yield from put(state, [to_store], is_batch=False, session=session)
    if not answer.status.is_stored:
        return _answer_not_stored(state, answer)
    if header.topic.encode() != to_store.topic:
        state.figures.count_rewritten(header.topic, to_store)
    unique_key = codec.get(to_store.properties, property_names.UNIQ_KEY)
    is_of_session = session is not None
    return _answer_stored(
        state, [to_store], answer, queue_id, unique_key, is_of_session=is_of_session
    )


def _to_store(
    state: State, request: Request, header: SendHeader, record: Record
) -> Record | Refusal:
    """The record as it is stored: in its own queue, in a queue where it waits, or as a dead
    letter."""
    if header.topic.startswith(RETRY_PREFIX):
        record_or_not = retried(state, request.command, header, record)
        if isinstance(record_or_not, Refusal):
            return record_or_not
        record = record_or_not
    return rewrite(state, record)


def put(
    state: State,
    records: Sequence[Record],
    *,
    is_batch: bool,
    session: SessionSend | None = None,
) -> Task[PutAnswer]:
    """Store the records together and count them; wait for disk and slaves if the last one's sender
    does."""
    began = state.now
    waits = sends.waits(records[-1].properties)
    state.admission.begin(began)
    if session is not None:
        answer = yield from tasks.put_session(records, session, is_batch=is_batch, waits=waits)
        records = records[answer.repeats :]
    elif is_batch:
        answer = yield from tasks.put_batch(records, waits=waits)
    else:
        answer = yield from tasks.put(records[0], waits=waits)
    state.admission.end(began, state.now, len(records))
    if not answer.status.is_stored:
        state.stats.put_failed(len(records))
    elif records:
        size = sum(record.size for record in records)
        topic = utf8_text(records[0].topic)
        state.stats.sent(topic, len(records), size)
        state.figures.count_sent(topic, type_of(records[0]), len(records), size)
    return answer


# ---------------------------------------------------------------------- a batch


def _send_batch(
    state: State, request: Request, header: SendHeader, config: TopicConfig
) -> Task[Outcome]:
    records = batch_sends.records_of(state, request, header, config)
    if isinstance(records, Refusal):
        return answer_refused(state, records)
    session = session_sends.session_of(request, header, len(records))
    if isinstance(session, Refusal):
        return answer_refused(state, session)
    if session is not None:
        session_sends.mark(records, session)
    failure = yield from topic_creation.safe(state, header.topic)
    if failure is not None:
        return answer_refused(state, unsafe(header.topic, failure))
    if state.topics.find(header.topic) is None:
        return answer_refused(state, deleted(header.topic))
    answer = yield from put(state, records, is_batch=True, session=session)
    if not answer.status.is_stored:
        return _answer_not_stored(state, answer)
    unique_key = codec.get(sends.sent_properties(header), property_names.UNIQ_KEY)
    queue_id, is_of_session = records[0].queue_id, session is not None
    return _answer_stored(state, records, answer, queue_id, unique_key, is_of_session=is_of_session)


# ---------------------------------------------------------------------- answers


def _answer_stored(
    state: State,
    records: Sequence[Record],
    answer: PutAnswer,
    queue_id: int,
    unique_key: str | None,
    *,
    is_of_session: bool,
) -> Reply:
    host = records[0].store_host
    is_new = bool(answer.positions)
    header = SendMessageResponse(
        msg_id=",".join(offset_id.encode(host, position) for position in answer.positions),
        queue_id=queue_id,
        queue_offset=answer.queue_offset if is_new else session_sends.NO_OFFSET,
        transaction_id=unique_key,
        recall_handle=timers.recall_handle(state, records[0]) if is_new else None,
        msg_region=state.settings.region_id,
        trace_on=sends.trace_on(state),
    )
    code, ext = answer.status.response_code, header.encode()
    if is_of_session:
        ext[session_sends.REPEATS_FIELD] = str(answer.repeats)
    return Reply(Command(code, ext=ext, remark=answer.remark or None))


def _answer_not_stored(state: State, answer: PutAnswer) -> Reply:
    return answer_refused(state, Refusal(answer.status.response_code, answer.remark))


HANDLERS: Final[Handlers] = {
    RequestCode.SEND_MESSAGE: send,
    RequestCode.SEND_MESSAGE_V2: send,
    RequestCode.SEND_BATCH_MESSAGE: send,
}

"""Handles GANTRY_SESSION_NOTE: stores one note for each epoch of a producer session.

    topic     whose producers may ask
    session   id ":" epoch ":" 0
    body      the proposed note, or empty to ask only
    answer    SUCCESS and the note of this epoch; QUERY_NOT_FOUND; or fenced by a newer epoch

The first note wins. A sink that repeats a batch needs the choices of its first attempt, such as the
queues over which the batch is spread. A note is a message of its session in an internal topic. So
it is stored once and replicated with the log, and it is answered only when it is as durable as any
message.
"""

from __future__ import annotations

from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.metadata import topic_creation
from gantrymq.broker.core.names.system_topics import PREFIX
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, refused
from gantrymq.broker.core.send import session_sends
from gantrymq.broker.core.send.sends import packed_host
from gantrymq.broker.core.state import State
from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.store.read.lookups import message_at
from gantrymq.store.sessions.table import SessionSend, parse_sent
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.java_string import utf8_bytes
from gantrymq.wire.message.record import Record

TOPIC: Final = f"{PREFIX}gantry_session_notes"

# A layout of thousands of queues fits; a larger body is not a note.
NOTE_BYTES_MAX: Final = 256 << 10


def note(state: State, request: Request) -> Outcome | Task[Outcome]:
    """Answer the note of this epoch, after storing the proposal if there is none."""
    ext = request.command.ext or {}
    try:
        session = parse_sent(utf8_bytes(ext.get("session", "")))
    except RemoteError as error:
        return refused(ResponseCode.INVALID_PARAMETER, str(error))
    if session.first != 0:
        return refused(ResponseCode.INVALID_PARAMETER, "a note is message 0 of its session's epoch")
    if len(request.command.body) > NOTE_BYTES_MAX:
        return refused(
            ResponseCode.MESSAGE_ILLEGAL,
            f"the note has {len(request.command.body)} bytes, at most {NOTE_BYTES_MAX} are taken",
        )
    if not state.identity.is_master:
        return refused(
            ResponseCode.SYSTEM_BUSY,
            f"{state.identity.address} is a slave of {state.identity.name}; ask its master",
        )
    return _answer(state, request, session)


def _answer(state: State, request: Request, session: SessionSend) -> Task[Outcome]:
    known = state.store.sessions.find(session.session_id)
    is_noted = known is not None and known.epoch >= session.epoch
    if not is_noted and not request.command.body:
        return refused(
            ResponseCode.QUERY_NOT_FOUND, f"epoch {session.epoch} of the session has no note"
        )
    if is_noted:
        answer = yield from tasks.put_session([], _behind(session), is_batch=True, waits=True)
    else:
        failure = yield from _made_topic(state)
        if failure is not None:
            return refused(ResponseCode.SYSTEM_ERROR, failure)
        record = _record(state, request, session)
        answer = yield from tasks.put_session([record], session, is_batch=False, waits=True)
    if answer.status.response_code is not ResponseCode.SUCCESS:
        return refused(answer.status.response_code, answer.remark)
    return (yield from _read(state, session, answer))


def _read(state: State, session: SessionSend, answer: PutAnswer) -> Task[Outcome]:
    """Read the note that was stored first."""
    known = state.store.sessions.find(session.session_id)
    found = None
    if known is not None and known.epoch == session.epoch:
        found = yield from tasks.read(message_at(state.store, known.position))
    if found is None:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"the note of epoch {session.epoch} of the session was deleted: the log keeps it for"
            " fileReservedTime, as any message. Go on with another session id.",
        )
    return done(body=found.record.body)


def _behind(session: SessionSend) -> SessionSend:
    """An empty send after the note: its answer says that the note is persistent."""
    return SessionSend(session.session_id, session.epoch, 1, 0)


def _made_topic(state: State) -> Task[str | None]:
    """Create the topic of notes; return why it is not persistent, or None."""
    if state.topics.find(TOPIC) is None:
        config = TopicConfig(TOPIC, read_queue_nums=1, write_queue_nums=1)
        state.topics.unsaved.add(TOPIC)
        state.topics.put(config, state.wall_ms)
    return (yield from topic_creation.safe(state, TOPIC))


def _record(state: State, request: Request, session: SessionSend) -> Record:
    record = Record(
        TOPIC.encode(),
        request.command.body,
        born_timestamp_ms=state.wall_ms,
        born_host=packed_host(request.channel.peer),
        store_host=packed_host(state.identity.stored_address),
    )
    session_sends.mark([record], session)
    return record


HANDLERS: Final[Handlers] = {RequestCode.GANTRY_SESSION_NOTE: note}

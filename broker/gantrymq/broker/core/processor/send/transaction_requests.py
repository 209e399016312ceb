"""Handles END_TRANSACTION and RESUME_CHECK_HALF_MESSAGE.

A producer ends a transaction with a oneway request; when that fails, the check asks the producer
again. The log therefore says why a transaction was not committed, at a limited rate.
"""

from __future__ import annotations

from typing import Final

from gantrymq.acl.rights.rights import Right
from gantrymq.broker.core.acl import checks
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import SILENT, Outcome, Reply, Request
from gantrymq.broker.core.names.system_topics import HALF_TOPIC
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, refused
from gantrymq.broker.core.state import State
from gantrymq.broker.core.transaction.check_decision import immunity_ms_of
from gantrymq.broker.core.transaction.put_batches import put_together
from gantrymq.broker.core.transaction.transaction_end import NOT_FOUND, decide
from gantrymq.broker.core.transaction.transactions import (
    GIVEN_UP_TOPIC,
    copy_of,
    fresh_copy_of,
    group_of,
    have_topic,
    op_of,
)
from gantrymq.store.read import lookups
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.transaction import (
    EndTransactionRequest,
    ResumeCheckHalfMessageRequest,
)
from gantrymq.wire.message import offset_id, sys_flag
from gantrymq.wire.message.record import Record

_DECISIONS: Final = (sys_flag.TRANSACTION_COMMIT, sys_flag.TRANSACTION_ROLLBACK)
_REMARK_CHARACTERS: Final = 200  # Java producers send the text of the exception
_NOT_RESUMED: Final = f"Put message back to {HALF_TOPIC} failed"


# ---------------------------------------------------------------------- the producer's decision


def end_transaction(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = EndTransactionRequest.decode(request.command.ext)
    if not state.identity.is_master:
        refusal = refused(
            ResponseCode.SLAVE_NOT_AVAILABLE,
            "Message store is slave mode, so end transaction is forbidden; ask the master, or wait "
            "until there is one: it asks for the transaction's state by itself",
        )
        _log_refusal(state, request, header, refusal)
        return refusal
    if header.commit_or_rollback not in _DECISIONS:
        _log_rollback(state, request, header, "pending status: the producer has not decided yet")
        return SILENT
    return _end(state, request, header)


def _end(state: State, request: Request, header: EndTransactionRequest) -> Task[Outcome]:
    reply = yield from _decided(state, request, header)
    if reply.command.code != ResponseCode.SUCCESS:
        _log_refusal(state, request, header, reply)
    elif header.commit_or_rollback == sys_flag.TRANSACTION_ROLLBACK:
        _log_rollback(state, request, header, "the producer rolled the message back")
    return reply


def _log_refusal(
    state: State, request: Request, header: EndTransactionRequest, reply: Reply
) -> None:
    skipped = state.open_halves.refusal_lines.note(state.now)
    if skipped is not None:
        text = _line(request, header, skipped, reply.command.remark or "")
        state.effects.warning(f"{text} code={reply.command.code}")


def _log_rollback(
    state: State, request: Request, header: EndTransactionRequest, reason: str
) -> None:
    skipped = state.open_halves.rollback_lines.note(state.now)
    if skipped is not None:
        said = (request.command.remark or "")[:_REMARK_CHARACTERS]
        state.effects.info(f"{_line(request, header, skipped, reason)} remark={said!r}")


def _line(request: Request, header: EndTransactionRequest, skipped: int, reason: str) -> str:
    return (
        f"end transaction committed nothing producer={request.channel.peer} "
        f"group={header.producer_group!r} message={header.msg_id!r} "
        f"offset={header.commit_log_offset} from_check={header.from_transaction_check} "
        f"skipped_lines={skipped} reason={reason!r}"
    )


def _decided(state: State, request: Request, header: EndTransactionRequest) -> Task[Reply]:
    found = yield from tasks.read(lookups.message_at(state.store, header.commit_log_offset))
    if found is None or found.record.topic != HALF_TOPIC.encode():
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"{NOT_FOUND}: there is no half message at {header.commit_log_offset} of the log of "
            f"{state.identity.name}; it was deleted, or the request is meant for another broker",
        )
    half = found.record
    fault = (
        _mismatch(header, half)
        or checks.refuse_message(state, request, half, Right.PUB)
        or _rejected(state, header, half)
    )
    if fault is not None:
        return fault
    commits = header.commit_or_rollback == sys_flag.TRANSACTION_COMMIT
    waits = not request.command.is_oneway
    return (yield from decide(state, half, commits=commits, waits=waits))


def _mismatch(header: EndTransactionRequest, half: Record) -> Reply | None:
    """The refusal of a request that names another half message than the one it found, else None."""
    group = group_of(half)
    if group != header.producer_group:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"The producer group wrong: {header.producer_group!r} ends a transaction of {group!r}",
        )
    if half.queue_offset != header.tran_state_table_offset:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"The transaction state table offset wrong: the half message at "
            f"{half.physical_offset} of the log is number {half.queue_offset}, not "
            f"{header.tran_state_table_offset}",
        )
    return None


def _rejected(state: State, header: EndTransactionRequest, half: Record) -> Reply | None:
    """Refuse a late decision of a producer that set its own immunity time: it is asked by the
    check."""
    immunity_ms = immunity_ms_of(half)
    if header.from_transaction_check or immunity_ms is None:
        return None
    age_ms = state.wall_ms - half.born_timestamp_ms
    if age_ms <= immunity_ms:
        return None
    return refused(
        ResponseCode.ILLEGAL_OPERATION,
        f"the transaction is {age_ms} ms old and its CHECK_IMMUNITY_TIME_IN_SECONDS says "
        f"{immunity_ms} ms; the broker asks for its state by itself, wait for that",
    )


# ---------------------------------------------------------------------- once more


def resume_check(state: State, request: Request) -> Task[Outcome]:
    """Restart the checks of this half message.

    Java puts any message into the half queue again, decided transactions and plain messages
    included; those are refused here.
    """
    message_id = ResumeCheckHalfMessageRequest.decode(request.command.ext).msg_id or ""
    found = yield from tasks.read(lookups.message_by_id(state.store, message_id))
    half = None if found is None else found.record
    if half is not None:
        refusal = checks.refuse_message(state, request, half, Right.PUB)
        if refusal is not None:
            return refusal
    if half is not None and half.topic == GIVEN_UP_TOPIC.encode():
        return (yield from _begin_anew(state, half))
    halves = state.open_halves
    if (
        half is None
        or half.topic != HALF_TOPIC.encode()
        or not halves.is_ready
        or halves.is_claimed(half)
        or not halves.is_open(half)
    ):
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"{_NOT_RESUMED}: {message_id} is neither an open half message of this broker nor one "
            f"in {GIVEN_UP_TOPIC}; take the offset message id from there",
        )
    return (yield from _start_over(state, half))


def _begin_anew(state: State, half: Record) -> Task[Outcome]:
    """Make a new transaction of a message that was given up."""
    position = half.physical_offset
    if not state.open_halves.resume(position):
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"{_NOT_RESUMED}: {offset_id.encode(half.store_host, position)} has been resumed"
            " before; if it is given up again, it is in that topic once more, with another id",
        )
    have_topic(state, HALF_TOPIC)
    answer = yield from tasks.put_accepted(fresh_copy_of(half))
    if not answer.status.is_stored:
        state.open_halves.not_resumed(position)
        return refused(answer.status.response_code, f"{_NOT_RESUMED}. {answer.remark}")
    return done()


def _start_over(state: State, half: Record) -> Task[Outcome]:
    """Replace an open half by a copy with no checks."""
    halves = state.open_halves
    copy = copy_of(half, checks=0)
    number = halves.newest(half)
    with halves.claim([half]):
        answer = yield from put_together(state, [copy, op_of(state, number)], waits=True)
        if not answer.status.is_stored:
            return refused(answer.status.response_code, f"{_NOT_RESUMED}. {answer.remark}")
        halves.replaced(copy, number)
    return done()


HANDLERS: Final[Handlers] = {
    RequestCode.END_TRANSACTION: end_transaction,
    RequestCode.RESUME_CHECK_HALF_MESSAGE: resume_check,
}

r"""Builds the records of a transaction, in Java's formats and topics, for each of its phases.

    half        RMQ_SYS_TRANS_HALF_TOPIC, queue 0. No transaction bits; the message's own properties
                and __transactionId__, REAL_TOPIC, REAL_QID
    copy        the half again, at the queue's end: TRANSACTION_CHECK_TIMES=n and
                TRAN_PREPARED_QUEUE_OFFSET=<queue offset of the first half>
    op          RMQ_SYS_TRANS_OP_HALF_TOPIC, queue 0, TAGS=d, body "17": half 17 is closed
    final       the message in its topic and queue, bits of COMMIT, prepared offset = the half's
    given up    the half again, in TRANS_CHECK_MAX_TIME_TOPIC

An op is written for every half that was committed, rolled back, given up or replaced by a copy, so
that the two queues alone determine which halves are open. Java omits the ops of copies and relies
on the group's offset, which a crash sets back. Bodies from Java 5 hold several numbers, each
followed by a comma. 4.9 reads a single number without a comma, so that form is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.broker.core.names.system_topics import HALF_TOPIC, OP_TOPIC
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.open_halves import origin_of
from gantrymq.wire import java_string
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.header_fields import parse_int32
from gantrymq.wire.headers.transaction import CheckTransactionStateRequest
from gantrymq.wire.message import offset_id, properties, sys_flag
from gantrymq.wire.message.property_names import (
    DELAY,
    PRODUCER_GROUP,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TAGS,
    TRANSACTION_CHECK_TIMES,
    TRANSACTION_ID,
    TRANSACTION_PREPARED,
    TRANSACTION_PREPARED_QUEUE_OFFSET,
    UNIQ_KEY,
)
from gantrymq.wire.message.record import PROPERTIES_BYTES_MAX, Record, encode

GIVEN_UP_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
HALF_QUEUE: Final = 0

# The two properties of a copy, names and separators included: 23 + 1 + 10 + 1 and 26 + 1 + 19 + 1;
# and TIMER_OUT_MS of a message whose delay begins at the commit: 12 + 1 + 19 + 1. A half without
# room for them could never be checked or committed.
COPY_BYTES: Final = 120

_OP_TAG: Final = "d"
_DONE: Final = properties.encode({TAGS: _OP_TAG})


# ---------------------------------------------------------------------- sends


def rewrite(state: State, message: Record) -> Record | tuple[int, str]:
    """The record to store for a producer's message: itself or its half, or why it is refused."""
    if not is_prepared(message):
        return message
    if state.settings.reject_transaction_message:
        remark = (
            f"the broker[{state.identity.address}] sending transaction message is forbidden: "
            "rejectTransactionMessage=true; send without a transaction, or to another broker"
        )
        return ResponseCode.NO_PERMISSION, remark
    if not state.open_halves.room:
        remark = (
            f"the broker[{state.identity.address}] sending transaction message is forbidden: "
            f"{state.open_halves.copied} transactions are open and were checked; their "
            "producers must answer, and mqadmin producerConnection lists them; after "
            f"transactionCheckMax={state.settings.transaction_check_max} checks they are given up"
        )
        return ResponseCode.NO_PERMISSION, remark
    half = half_of(message)
    room = PROPERTIES_BYTES_MAX - COPY_BYTES
    if len(half.properties) > room:
        remark = (
            "the message is illegal, maybe msg body or properties length not matched. The "
            f"properties of this half message take {len(half.properties)} bytes, at most {room} "
            "leave room to check it back; move large values into the body."
        )
        return ResponseCode.MESSAGE_ILLEGAL, remark
    have_topic(state, HALF_TOPIC)
    return half


def is_prepared(message: Record) -> bool:
    """Whether the message is hidden from consumers until its producer commits.

    Java decides by the property. Old clients leave it on messages that their consumers send back
    with a delay.
    """
    prepared = properties.get(message.properties, TRANSACTION_PREPARED) or ""
    if prepared.lower() == "true":
        return not (message.reconsume_times > 0 and _has_delay(message))
    return sys_flag.transaction_type(message.sys_flag) == sys_flag.TRANSACTION_PREPARED


def _has_delay(message: Record) -> bool:
    level = properties.get(message.properties, DELAY) or ""
    return level.isdecimal() and int(level[:9]) > 0


def half_of(message: Record) -> Record:
    held = properties.delete(message.properties, TRANSACTION_PREPARED_QUEUE_OFFSET)
    held = properties.delete(held, TRANSACTION_CHECK_TIMES)
    transaction_id = properties.get(held, UNIQ_KEY)
    if transaction_id is not None:
        held = properties.replace(held, TRANSACTION_ID, transaction_id)
    held = properties.replace(held, REAL_TOPIC, java_string.utf8_text(message.topic))
    held = properties.replace(held, REAL_QUEUE_ID, str(message.queue_id))
    half = _again(message, HALF_TOPIC, held)
    half.sys_flag = sys_flag.with_transaction_type(message.sys_flag, sys_flag.TRANSACTION_NONE)
    return half


# ---------------------------------------------------------------------- what a half says


def checks_of(half: Record) -> int:
    """How often its producer was asked."""
    text = properties.get(half.properties, TRANSACTION_CHECK_TIMES)
    try:
        return 0 if text is None else max(parse_int32(text), 0)
    except ValueError:
        return 0


def group_of(half: Record) -> str:
    return properties.get(half.properties, PRODUCER_GROUP) or ""


def place_of(half: Record) -> tuple[str, int] | None:
    """The topic and queue of the message; None if they are missing."""
    topic = properties.get(half.properties, REAL_TOPIC)
    queue_id = properties.get(half.properties, REAL_QUEUE_ID)
    if topic is None or queue_id is None:
        return None
    try:
        return topic, parse_int32(queue_id)
    except ValueError:
        return None


# ---------------------------------------------------------------------- what follows a half


def copy_of(half: Record, checks: int) -> Record:
    held = properties.replace(half.properties, TRANSACTION_CHECK_TIMES, str(checks))
    held = properties.replace(held, TRANSACTION_PREPARED_QUEUE_OFFSET, str(origin_of(half)))
    return _again(half, HALF_TOPIC, held)


def fresh_copy_of(half: Record) -> Record:
    """A copy that begins a new transaction without checks."""
    held = properties.delete(half.properties, TRANSACTION_PREPARED_QUEUE_OFFSET)
    held = properties.replace(held, TRANSACTION_CHECK_TIMES, "0")
    return _again(half, HALF_TOPIC, held)


def given_up(half: Record) -> Record:
    return _again(half, GIVEN_UP_TOPIC, half.properties)


def final_of(half: Record, topic: str, queue_id: int) -> Record:
    """The record for consumers. Clients take the transaction id from the properties left on it."""
    final = _again(half, topic, half.properties)
    final.queue_id = queue_id
    final.sys_flag = sys_flag.with_transaction_type(half.sys_flag, sys_flag.TRANSACTION_COMMIT)
    final.prepared_transaction_offset = half.physical_offset
    return final


def op_of(state: State, number: int) -> Record:
    """The op that marks half `number` as closed."""
    have_topic(state, OP_TOPIC)
    host = state.identity.store_host
    return Record(
        OP_TOPIC.encode(),
        b"%d" % number,
        properties=_DONE,
        queue_id=HALF_QUEUE,
        born_timestamp_ms=state.wall_ms,
        born_host=host,
        store_host=host,
    )


def check_of(state: State, copy: Record) -> Command:
    """The check request for a producer: the message as it was sent, and the position of its
    half."""
    topic, queue_id = place_of(copy) or (HALF_TOPIC, HALF_QUEUE)
    shown = final_of(copy, topic, queue_id)
    shown.sys_flag = copy.sys_flag
    shown.prepared_transaction_offset = 0
    shown.queue_offset = copy.queue_offset
    shown.physical_offset = copy.physical_offset
    shown.store_timestamp_ms = copy.store_timestamp_ms
    header = CheckTransactionStateRequest(
        topic=HALF_TOPIC,
        tran_state_table_offset=copy.queue_offset,
        commit_log_offset=copy.physical_offset,
        msg_id=properties.get(copy.properties, UNIQ_KEY),
        transaction_id=properties.get(copy.properties, TRANSACTION_ID),
        offset_msg_id=offset_id.encode(copy.store_host, copy.physical_offset),
        broker_name=state.identity.name,
    )
    return Command(
        RequestCode.CHECK_TRANSACTION_STATE,
        flag=FLAG_ONEWAY,
        ext=header.encode(),
        body=encode(shown),
    )


def numbers_of(op: Record) -> Sequence[int]:
    """The halves that an op marks as closed, in either form of the body."""
    if properties.get(op.properties, TAGS) != _OP_TAG:
        return ()
    return [int(part) for part in op.body.split(b",") if part.isdigit() and len(part) < 20]


def have_topic(state: State, topic: str) -> None:
    """Create the topic if it is missing, so that tools can show its messages."""
    if state.topics.find(topic) is None:
        config = TopicConfig(topic, read_queue_nums=1, write_queue_nums=1)
        state.topics.put(config, state.wall_ms)


def _again(record: Record, topic: str, held: bytes) -> Record:
    """A copy of the message for another topic."""
    return Record(
        java_string.utf8_bytes(topic),
        record.body,
        properties=held,
        queue_id=HALF_QUEUE,
        flag=record.flag,
        sys_flag=record.sys_flag,
        born_timestamp_ms=record.born_timestamp_ms,
        born_host=record.born_host,
        store_host=record.store_host,
        reconsume_times=record.reconsume_times,
    )

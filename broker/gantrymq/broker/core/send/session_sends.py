"""Parses the session field of sends, and marks their messages with their place in the session.

    gantrySession   id ":" epoch ":" number of the first message, a field of the request
    gantryRepeats   how many of the messages are repeats, a field of the answer, which also tells
                    the sender that the broker supports sessions

Each message is stored with its place in the session as GANTRY_SESSION, which only the broker sets:
if an ordinary producer sends a consumed message again, it is a new message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.names.name_rules import RETRY_PREFIX
from gantrymq.broker.core.send.sends import Refusal, SendHeader
from gantrymq.store.record.send_fields import SESSION
from gantrymq.store.sessions.table import SessionSend, parse_sent
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.java_string import utf8_bytes
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message import property_names, sys_flag
from gantrymq.wire.message.record import Record

REPEATS_FIELD: Final = "gantryRepeats"

# The offset in the answer to a send that only had repeats; the first attempt got the real one.
NO_OFFSET: Final = -1

_NAME: Final = property_names.PRODUCER_SESSION.encode()


def session_of(
    request: Request, header: SendHeader, count: int = 1
) -> SessionSend | Refusal | None:
    """The place of the request's messages in a session; None when they belong to none."""
    text = (request.command.ext or {}).get(SESSION)
    if text is None:
        return None
    try:
        session = parse_sent(utf8_bytes(text)).of(count)
    except RemoteError as error:
        return Refusal(ResponseCode.INVALID_PARAMETER, str(error))
    is_plain = sys_flag.transaction_type(header.sys_flag) == sys_flag.TRANSACTION_NONE
    if is_plain and not header.topic.startswith(RETRY_PREFIX):
        return session
    return Refusal(
        ResponseCode.MESSAGE_ILLEGAL,
        "Messages of transactions and of retry topics cannot be sent in a producer session; send"
        f" them without the field {SESSION}.",
    )


def mark(records: Sequence[Record], session: SessionSend) -> None:
    """Add its place in the session to each message."""
    for index, record in enumerate(records):
        own = b"%b\x01%b\x02" % (_NAME, session.property_value(index))
        record.properties = codec.join(record.properties, own)


def without(properties: bytes) -> bytes:
    """The message's properties, without a place in a session that its sender set."""
    if _NAME not in properties:
        return properties
    return codec.delete(properties, property_names.PRODUCER_SESSION)

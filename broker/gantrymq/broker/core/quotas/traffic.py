"""Classifies requests for quotas: sends, reads, sizes and addresses."""

from __future__ import annotations

from typing import Final

from gantrymq.acl.requests.needs import BROKER_ADMIN
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.message.record import RECORD_BYTES_MIN

# By request code of a send, the field that names its topic.
_SENT_TO: Final = {
    int(RequestCode.SEND_MESSAGE): "topic",
    int(RequestCode.SEND_MESSAGE_V2): "b",
    int(RequestCode.SEND_BATCH_MESSAGE): "b",
    int(RequestCode.SEND_REPLY_MESSAGE): "topic",
    int(RequestCode.SEND_REPLY_MESSAGE_V2): "b",
}
_PROPERTIES: Final = {"topic": "properties", "b": "i"}

READS: Final = frozenset(
    {
        int(RequestCode.PULL_MESSAGE),
        int(RequestCode.LITE_PULL_MESSAGE),
        int(RequestCode.POP_MESSAGE),
        int(RequestCode.PEEK_MESSAGE),
        int(RequestCode.QUERY_MESSAGE),
        int(RequestCode.VIEW_MESSAGE_BY_ID),
    }
)
"""Requests answered with messages: the answer waits, not the connection."""

ONLY_DELAYED: Final = frozenset(
    {
        int(RequestCode.HEART_BEAT),
        int(RequestCode.UNREGISTER_CLIENT),
        int(RequestCode.UPDATE_CONSUMER_OFFSET),
        int(RequestCode.ACK_MESSAGE),
        int(RequestCode.BATCH_ACK_MESSAGE),
        int(RequestCode.CHANGE_MESSAGE_INVISIBLETIME),
        int(RequestCode.CONSUMER_SEND_MSG_BACK),
        int(RequestCode.END_TRANSACTION),
        int(RequestCode.LOCK_BATCH_MQ),
        int(RequestCode.UNLOCK_BATCH_MQ),
        *map(int, BROKER_ADMIN),
    }
)
"""Requests that are delayed and never refused.

They complete work already begun, so that a refusal would cause more work than it saves; or an
administrator needs them to change a quota from an address that has used it up.
"""


def sent_topic(command: Command) -> str | None:
    """The topic of a send; None for every other request."""
    field = _SENT_TO.get(command.code)
    return None if field is None or command.ext is None else command.ext.get(field)


def sent_bytes(command: Command) -> int:
    """Approximately the size of a send in the log: body, properties, topic and the record's own
    fields."""
    field = _SENT_TO[command.code]
    ext = command.ext or {}
    texts = len(ext.get(field, "")) + len(ext.get(_PROPERTIES[field], ""))
    return RECORD_BYTES_MIN + texts + len(command.body)

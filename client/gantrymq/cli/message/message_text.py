"""Formats messages as mqadmin prints them: as lines, as JSON, or in one line as Java's classes."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Final

from gantrymq.cli.frame import timestamps
from gantrymq.cli.frame.page import Text, members
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.wire import hosts
from gantrymq.wire.jsonvalue import JsonObject
from gantrymq.wire.message import property_names
from gantrymq.wire.message import record as records

_ADDED: Final = frozenset({property_names.MIN_OFFSET, property_names.MAX_OFFSET})
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")


def described(message: ReceivedMessage, *, with_offset_id: bool = True) -> Text:
    """Describe a message in lines, including its body."""
    record = message.record
    values: dict[str, str | int] = {
        "OffsetID": message.offset_id,
        "Topic": message.topic,
        "Tags": f"[{message.tag or 'null'}]",
        "Keys": f"[{' '.join(message.keys) or 'null'}]",
        "Queue ID": record.queue_id,
        "Queue Offset": record.queue_offset,
        "CommitLog Offset": record.physical_offset,
        "Reconsume Times": record.reconsume_times,
        "Born Timestamp": timestamps.millisecond(message.born_ms),
        "Store Timestamp": timestamps.millisecond(message.stored_ms),
        "Born Host": message.born_host,
        "Store Host": message.store_host,
        "System Flag": record.sys_flag,
        "Properties": _java_map(message.properties),
        "Message Body": body_text(message),
    }
    if not with_offset_id:
        del values["OffsetID"]
    lines = [f"{name + ':':<20} {value}" for name, value in values.items()]
    return Text("messages", lines, to_json(message), is_one_of_many=True)


def body_text(message: ReceivedMessage, charset: str = "UTF-8") -> str:
    """Decode the body; bytes that are not text become escapes."""
    return message.body.decode(charset, "backslashreplace")


def one_line(text: str) -> str:
    """Escape characters that would end the line or move a terminal's cursor."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def to_json(message: ReceivedMessage) -> JsonObject:
    """Return the message with its body as `body`, or as `bodyBase64` if it is not UTF-8."""
    record = message.record
    return {
        "messageId": message.id,
        "offsetMessageId": message.offset_id,
        "topic": message.topic,
        "brokerName": message.queue.broker_name,
        "queueId": record.queue_id,
        "queueOffset": record.queue_offset,
        "commitLogOffset": record.physical_offset,
        "bornTimestamp": message.born_ms,
        "storeTimestamp": message.stored_ms,
        "bornHost": message.born_host,
        "storeHost": message.store_host,
        "reconsumeTimes": record.reconsume_times,
        "sysFlag": record.sys_flag,
        "flag": record.flag,
        "properties": members(_own_properties(message)),
        **_json_body(message.body),
    }


def _own_properties(message: ReceivedMessage) -> dict[str, str]:
    """Return the properties without those that a pull adds."""
    properties = message.properties
    return {name: properties[name] for name in properties if name not in _ADDED}


def _json_body(body: bytes) -> JsonObject:
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"bodyBase64": b64encode(body).decode()}


def java_text(message: ReceivedMessage) -> str:
    """Return the message as Java prints MessageExt."""
    record = message.record
    body = ", ".join(str(byte - 256 if byte > 127 else byte) for byte in message.body)
    return (
        f"MessageExt [brokerName={message.queue.broker_name}, queueId={record.queue_id},"
        f" storeSize={record.size}, queueOffset={record.queue_offset}, sysFlag={record.sys_flag},"
        f" bornTimestamp={message.born_ms}, bornHost={hosts.java_text(record.born_host)},"
        f" storeTimestamp={message.stored_ms}, storeHost={hosts.java_text(record.store_host)},"
        f" msgId={message.offset_id}, commitLogOffset={record.physical_offset},"
        f" bodyCRC={records.body_crc(record.body)}, reconsumeTimes={record.reconsume_times},"
        f" preparedTransactionOffset={record.prepared_transaction_offset},"
        f" toString()=Message{{topic='{message.topic}', flag={record.flag},"
        f" properties={_java_map(message.properties)}, body=[{body}], transactionId='null'}}]"
    )


def _java_map(values: Mapping[str, str]) -> str:
    """Return the values as Java prints a map, sorted by name, where Java's order is arbitrary."""
    return f"{{{', '.join(f'{name}={values[name]}' for name in sorted(values))}}}"

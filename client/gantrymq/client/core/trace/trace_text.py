r"""Encodes message traces: text lines that RocketMQ's tools and consoles read.

    record       type \x01 field \x01 field ... \x02
    Pub          time region group topic msgId tags keys storeHost bodyLength costMs msgType
                 offsetMsgId success
    SubBefore    time region group requestId msgId retryTimes keys
    SubAfter     requestId msgId costMs success keys contextCode time group
    EndTransaction   time region group topic msgId tags keys storeHost msgType transactionId state
                 fromCheck
    Recall       time region group topic msgId success

Each record comes with the keys under which it is found: message ids and the messages' own keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gantrymq.client.core.instance.hooks import ConsumeContext, EndContext, MessageKind, SendContext

FIELD_END: Final = "\x01"
RECORD_END: Final = "\x02"


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """The lines about one event, and the keys under which they are found."""

    text: str
    keys: tuple[str, ...]


def published(context: SendContext) -> TraceRecord:
    """Describe a send that succeeded or failed."""
    result = context.result
    first = context.messages[0]
    keys = " ".join(first.keys)
    place = "" if result is None else result.offset_message_id
    fields = (
        "Pub",
        context.began_ms,
        "" if result is None else result.region_id,
        context.group,
        context.queue.topic,
        ",".join(context.message_ids),
        first.tag,
        keys,
        context.address,
        context.body_bytes,
        context.cost_ms,
        int(context.kind),
        place,
        _bool(is_true=result is not None),
    )
    return TraceRecord(_line(fields), (*context.message_ids, *first.keys))


def consuming(context: ConsumeContext, request_id: str) -> TraceRecord:
    """Describe messages before the call of their listener."""
    lines = []
    keys: list[str] = []
    for message in context.messages:
        region = message.properties.get("MSG_REGION", "")
        fields = (
            "SubBefore",
            context.began_ms,
            region,
            context.group,
            request_id,
            message.id,
            message.reconsume_times,
            " ".join(message.keys),
        )
        lines.append(_line(fields))
        keys += (message.id, *message.keys)
    return TraceRecord("".join(lines), tuple(keys))


def consumed(context: ConsumeContext, request_id: str) -> TraceRecord:
    """Describe messages after the call of their listener; each gets an equal part of the call's
    duration."""
    lines = []
    keys: list[str] = []
    each_ms = context.cost_ms // max(1, len(context.messages))
    for message in context.messages:
        fields = (
            "SubAfter",
            request_id,
            message.id,
            each_ms,
            _bool(is_true=context.is_success),
            " ".join(message.keys),
            context.outcome,
            context.began_ms + context.cost_ms,
            context.group,
        )
        lines.append(_line(fields))
        keys += (message.id, *message.keys)
    return TraceRecord("".join(lines), tuple(keys))


def ended(context: EndContext) -> TraceRecord:
    """Describe the end of a transaction."""
    fields = (
        "EndTransaction",
        context.at_ms,
        "DefaultRegion",
        context.group,
        context.topic,
        context.message_id,
        context.tags,
        context.keys,
        context.address,
        int(MessageKind.COMMIT),
        context.transaction_id,
        context.state,
        _bool(is_true=context.is_from_check),
    )
    return TraceRecord(_line(fields), (context.message_id, *context.keys.split()))


def recalled(at_ms: int, group: str, topic: str, message_id: str, *, is_done: bool) -> TraceRecord:
    """Describe the recall of a delayed message, successful or not."""
    region = "DefaultRegion"
    fields = ("Recall", at_ms, region, group, topic, message_id, _bool(is_true=is_done))
    return TraceRecord(_line(fields), (message_id,))


def _line(fields: tuple[object, ...]) -> str:
    return FIELD_END.join(map(str, fields)) + RECORD_END


def _bool(*, is_true: bool) -> str:
    return "true" if is_true else "false"

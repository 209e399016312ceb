"""Makes the records of a batch: messages of one topic in one send, stored all together or not.

A batch cannot have a delay, a transaction or a retry topic. The whole batch is then refused, with a
remark for each case. RocketMQ refuses these in the client; its broker ignores them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.names.name_rules import RETRY_PREFIX
from gantrymq.broker.core.send import sends, session_sends
from gantrymq.broker.core.send.sends import Refusal, SendHeader
from gantrymq.broker.core.state import State
from gantrymq.store.record.message_checks import check_batch_body, check_batch_size
from gantrymq.store.record.property_scan import PropertyScan
from gantrymq.store.record.put_status import ILLEGAL
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.java_string import utf8_bytes
from gantrymq.wire.message import batch, property_names, sys_flag
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message.batch import BatchPart
from gantrymq.wire.message.record import RECORD_BYTES_MIN, Record

_TIMERS: Final = (
    property_names.TIMER_DELAY_SEC,
    property_names.TIMER_DELAY_MS,
    property_names.TIMER_DELIVER_MS,
)


def records_of(
    state: State, request: Request, header: SendHeader, config: TopicConfig
) -> Sequence[Record] | Refusal:
    """The records of the batch, all for one queue; or why the batch is refused."""
    if header.topic.startswith(RETRY_PREFIX):
        return _illegal(
            f"batch request does not support retry group {header.topic}; send each message alone"
        )
    body, settings = request.command.body, state.store.settings
    refused = check_batch_body(len(body), settings)
    if refused is not None:
        return _illegal(refused.text)
    try:
        parts = batch.decode(body)
    except RemoteError as error:
        return _illegal(f"{ILLEGAL}{error}.")
    shared = sends.sent_properties(header)
    fault = _fault(header, shared, parts)
    if fault is not None:
        return _illegal(f"{ILLEGAL}{fault}")
    repeated = len(shared) + len(utf8_bytes(header.topic)) + RECORD_BYTES_MIN - batch.FIXED_BYTES
    least_bytes = len(body) + len(parts) * repeated
    refused = check_batch_size(least_bytes, len(body), len(parts), settings)
    if refused is not None:
        return _illegal(refused.text)
    return _made(state, request, header, config, shared, parts)


def _made(
    state: State,
    request: Request,
    header: SendHeader,
    config: TopicConfig,
    shared: bytes,
    parts: Sequence[BatchPart],
) -> Sequence[Record]:
    topic = utf8_bytes(header.topic)
    properties = codec.join(shared, sends.added_properties(state))
    queue_id = sends.queue_id_of(state, header, config)
    born_host = sends.born_host(state, request)
    store_host = sends.packed_host(state.identity.stored_address)
    flags = sends.stored_sys_flag(header, config)
    return [
        Record(
            topic,
            part.body,
            properties=codec.join(session_sends.without(part.properties), properties),
            queue_id=queue_id,
            flag=part.flag,
            sys_flag=flags,
            born_timestamp_ms=header.born_timestamp,
            born_host=born_host,
            store_host=store_host,
            reconsume_times=header.reconsume_times or 0,
        )
        for part in parts
    ]


def _fault(header: SendHeader, shared: bytes, parts: Sequence[BatchPart]) -> str | None:
    """What the messages ask for that a batch does not support; None if nothing."""
    if sys_flag.transaction_type(header.sys_flag) != sys_flag.TRANSACTION_NONE:
        return "A transaction is not supported for batching; send its message alone."
    waits = set()
    scan = PropertyScan()
    for properties in (shared, *(part.properties for part in parts)):
        scan.read(properties, 0, len(properties))
        if _is_delayed(properties, scan):
            return "TimeDelayLevel is not supported for batching; send delayed messages alone."
        if scan.wait:
            waits.add(sends.waits(properties))
    if len(waits) > 1:
        return (
            "The waitStoreMsgOK of the messages in one batch should the same; make one batch of"
            " those that wait and one of the others."
        )
    return None


def _is_delayed(properties: bytes, scan: PropertyScan) -> bool:
    if scan.delay and scan.delay != b"0":
        return True
    if not scan.has_other_names:
        return False
    return any(codec.get(properties, name) is not None for name in _TIMERS)


def _illegal(remark: str) -> Refusal:
    return Refusal(ResponseCode.MESSAGE_ILLEGAL, remark)

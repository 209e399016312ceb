"""Queries a queue's first offset, its end, and the offset at a time from its master."""

from __future__ import annotations

from gantrymq.client.core.flow.answers import success
from gantrymq.client.core.instance.instance import Instance
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header
from gantrymq.wire.headers.offset import (
    GetMaxOffsetRequest,
    GetMinOffsetRequest,
    OffsetResponse,
    SearchOffsetRequest,
)


async def first(instance: Instance, queue: MessageQueue) -> int:
    """Return the offset of the oldest message."""
    header = GetMinOffsetRequest(
        topic=queue.topic, queue_id=queue.queue_id, broker_name=queue.broker_name
    )
    return await _asked(instance, queue, RequestCode.GET_MIN_OFFSET, header)


async def end(instance: Instance, queue: MessageQueue) -> int:
    """Return the offset that the next message will have."""
    header = GetMaxOffsetRequest(
        topic=queue.topic, queue_id=queue.queue_id, broker_name=queue.broker_name
    )
    return await _asked(instance, queue, RequestCode.GET_MAX_OFFSET, header)


async def at_time(instance: Instance, queue: MessageQueue, timestamp_ms: int) -> int:
    """Return the offset of the first message stored at `timestamp_ms` or later; the end if there is
    none."""
    header = SearchOffsetRequest(
        topic=queue.topic,
        queue_id=queue.queue_id,
        timestamp=timestamp_ms,
        broker_name=queue.broker_name,
    )
    return await _asked(instance, queue, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)


async def _asked(instance: Instance, queue: MessageQueue, code: RequestCode, header: Header) -> int:
    """Send the request; raises BrokerError, RequestError and RouteError."""
    address = await instance.found_master(queue.broker_name, queue.topic)
    command = Command(code, ext=header.encode())
    answer = await success(address, command, instance.settings.api_timeout_s)
    return OffsetResponse.decode(answer.ext).offset

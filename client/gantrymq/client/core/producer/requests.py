"""Sends a message as a request and waits for its reply."""

from __future__ import annotations

from gantrymq.client.core.flow.flow_steps import Wait
from gantrymq.client.core.instance.replies import NoReplyError
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.producer.producer import ProducerCore
from gantrymq.client.core.send.selecting import Selector
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.message import property_names


async def ask(
    core: ProducerCore,
    message: Message,
    timeout_s: float,
    *,
    queue: MessageQueue | None = None,
    select: Selector | None = None,
    key: object = None,
) -> ReceivedMessage:
    """Send the request and return the reply. Raises NoReplyError, and what a send raises."""
    core.lifecycle.must_run()
    instance = core.instance
    clock = instance.ports.clock
    gives_up_at = clock.monotonic() + timeout_s
    correlation_id = instance.ports.new_id()
    extra = {
        property_names.CORRELATION_ID: correlation_id,
        property_names.REPLY_TO_CLIENT: instance.client_id,
        property_names.TTL: str(round(timeout_s * 1000)),
    }
    request = core.request_of(message, extra)
    await core.be_known(message.topic)
    chosen = await core.queue_for(message, queue, select, key)
    awaited = instance.replies.expect(correlation_id)
    try:
        left_s = max(0.0, gives_up_at - clock.monotonic())
        await core.sender.send(request, queue=chosen, timeout_s=left_s)
        if awaited.message is None:
            await Wait(gives_up_at, awaited.came)
    finally:
        instance.replies.forget(correlation_id)
    if awaited.message is None:
        raise NoReplyError(
            f"send request message to <{message.topic}> OK, but wait reply message timeout,"
            f" {round(timeout_s * 1000)} ms: no consumer replied; give more timeout_s, and see"
            " whether a group consumes the topic"
        )
    return awaited.message

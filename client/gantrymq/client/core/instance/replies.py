"""Matches reply messages to the requests that wait for them.

A request message contains the requester (REPLY_TO_CLIENT: a client id), the id of the reply
(CORRELATION_ID) and the timeout (TTL, ms). The broker pushes the reply to that client.

Invariant: a reply is delivered once, to the request that waits for it; a late reply is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gantrymq.client.core.errors import ClientError, MessageError
from gantrymq.client.core.flow.flow_steps import Signal
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.wire import hosts
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import ReplyMessageRequest
from gantrymq.wire.message import properties, property_names
from gantrymq.wire.message.record import Record

REPLY_TYPE: Final = "reply"

_OF_THE_REQUEST: Final = (
    property_names.CORRELATION_ID,
    property_names.REPLY_TO_CLIENT,
    property_names.TTL,
)


class NoReplyError(ClientError):
    """The request was sent, but no reply arrived in time."""


@final
class Awaited:
    """A reply that a request waits for."""

    __slots__ = ("came", "message")

    def __init__(self) -> None:
        self.came = Signal()
        self.message: ReceivedMessage | None = None


@final
class Replies:
    """The expected replies of one client, one per request in flight."""

    __slots__ = ("_awaited", "_log")

    def __init__(self, log: Callable[[str], None]) -> None:
        self._awaited: dict[str, Awaited] = {}
        self._log = log

    def expect(self, correlation_id: str) -> Awaited:
        awaited = self._awaited[correlation_id] = Awaited()
        return awaited

    def forget(self, correlation_id: str) -> None:
        """Stop expecting the reply."""
        self._awaited.pop(correlation_id, None)

    async def take(self, address: str, command: Command) -> Command:
        """Handle PUSH_REPLY_MESSAGE_TO_CLIENT."""
        message = _received(ReplyMessageRequest.decode(command.ext), command.body)
        correlation_id = message.properties.get(property_names.CORRELATION_ID, "")
        awaited = self._awaited.pop(correlation_id, None)
        if awaited is None:
            self._log(
                f"receive reply message from {address}, but not matched any request:"
                f" CORRELATION_ID={correlation_id} came too late, or twice"
            )
        else:
            awaited.message = message
            awaited.came.fire()
        return Command(ResponseCode.SUCCESS)


def reply(request: ReceivedMessage, body: bytes | str) -> Message:
    """Return the message that replies to a consumed request; send it with any producer.

    await producer.send(reply(message, b"pong"))
    """
    told = request.properties
    cluster = told.get(property_names.CLUSTER)
    for name, value in (
        (property_names.CLUSTER, cluster),
        (property_names.REPLY_TO_CLIENT, told.get(property_names.REPLY_TO_CLIENT)),
        (property_names.CORRELATION_ID, told.get(property_names.CORRELATION_ID)),
    ):
        if not value:
            raise MessageError(
                f"create reply message fail, requestMessage error, property[{name}] is null:"
                f" {request.id} was not sent as a request"
            )
    message = Message(f"{cluster}_REPLY_TOPIC", body)
    message.properties[property_names.MSG_TYPE] = REPLY_TYPE
    for name in _OF_THE_REQUEST:
        if name in told:
            message.properties[name] = told[name]
    return message


def _received(header: ReplyMessageRequest, body: bytes) -> ReceivedMessage:
    text = header.properties or ""
    record = Record(
        header.topic.encode(),
        body,
        properties=properties.encode(properties.parse(text.encode("utf-8", "replace"))),
        queue_id=header.queue_id,
        flag=header.flag,
        sys_flag=header.sys_flag,
        born_timestamp_ms=header.born_timestamp,
        born_host=hosts.parse(header.born_host),
        store_timestamp_ms=header.store_timestamp,
        store_host=hosts.parse(header.store_host),
        reconsume_times=header.reconsume_times or 0,
    )
    return ReceivedMessage(record, MessageQueue(header.topic, "", header.queue_id))

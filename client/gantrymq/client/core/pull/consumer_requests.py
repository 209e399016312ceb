"""Serves the requests that brokers send to a consumer on behalf of operators.

220   RESET_CONSUMER_CLIENT_OFFSET     oneway: continue at other offsets; Java's body or the list
form
221   GET_CONSUMER_STATUS_FROM_CLIENT  the offset of each queue of a topic
307   GET_CONSUMER_RUNNING_INFO        the consumer's state (running_info)
309   CONSUME_MESSAGE_DIRECTLY         call the listener with this message now, if there is one
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias, final

from gantrymq.client.core.flow.flow_steps import Flow
from gantrymq.client.core.instance.instance import Handler, Instance
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.wire import javajson
from gantrymq.wire.bodies.connections import ConsumerStatus
from gantrymq.wire.bodies.offsets import ResetOffsetBody
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.client import ConsumeMessageDirectlyRequest
from gantrymq.wire.headers.offset import GetConsumerStatusRequest, ResetOffsetRequest
from gantrymq.wire.jsonvalue import JsonObject
from gantrymq.wire.message import record


class Asked(Protocol):
    """Answers the requests for one consumer."""

    def reset(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        """Continue at these offsets in those of the queues that this consumer owns."""

    def progress(self, topic: str) -> dict[MessageQueue, int]:
        """Return the offset of each queue that this consumer owns."""

    def running_info(self) -> JsonObject: ...


Consume: TypeAlias = Callable[[ReceivedMessage], Flow[JsonObject]]
"""Calls the listener with a message and returns the result as JSON."""


@final
class ConsumerRequests:
    """The request handlers of one consumer, registered between `begin` and `end`."""

    __slots__ = ("_asked", "_consume", "_group", "_handlers", "_instance")

    def __init__(
        self, instance: Instance, group: str, asked: Asked, consume: Consume | None = None
    ) -> None:
        self._instance = instance
        self._group = group
        self._asked = asked
        self._consume = consume
        self._handlers: dict[int, Handler] = {
            RequestCode.RESET_CONSUMER_CLIENT_OFFSET: self._reset,
            RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: self._status,
            RequestCode.GET_CONSUMER_RUNNING_INFO: self._running_info,
        }
        if consume is not None:
            self._handlers[RequestCode.CONSUME_MESSAGE_DIRECTLY] = self._consume_directly

    def begin(self) -> None:
        for code, handler in self._handlers.items():
            self._instance.group_handlers[code, self._group] = handler

    def end(self) -> None:
        for code in self._handlers:
            self._instance.group_handlers.pop((code, self._group), None)

    async def _reset(self, address: str, request: Command) -> None:
        header = ResetOffsetRequest.decode(request.ext)
        offsets = ResetOffsetBody.from_json(javajson.loads(request.body)).offsets
        self._instance.ports.log(
            f"invoke reset offset operation from broker. brokerAddr={address},"
            f" topic={header.topic}, group={header.group}, queues={len(offsets)}"
        )
        self._asked.reset(header.topic, offsets)

    async def _status(self, address: str, request: Command) -> Command:
        del address
        header = GetConsumerStatusRequest.decode(request.ext)
        status = ConsumerStatus(progress=self._asked.progress(header.topic))
        return _body(status.to_json())

    async def _running_info(self, address: str, request: Command) -> Command:
        del address, request
        return _body(self._asked.running_info())

    async def _consume_directly(self, address: str, request: Command) -> Command:
        del address
        header = ConsumeMessageDirectlyRequest.decode(request.ext)
        stored = record.decode(request.body)
        queue = MessageQueue(stored.topic.decode(), header.broker_name or "", stored.queue_id)
        assert self._consume is not None, "or this was no handler"
        return _body(await self._consume(ReceivedMessage(stored, queue)))


def _body(bean: JsonObject) -> Command:
    return Command(ResponseCode.SUCCESS, body=javajson.dumps_fastjson(bean))

"""Finds stored messages by id, key, time or offset without consuming them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.client.core.admin.asking import Asking, on_each
from gantrymq.client.core.admin.topics import Topics
from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.flow.flow_steps import Ask
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.wire import hosts, javajson
from gantrymq.wire.bodies.consuming.consume_queue import ConsumeQueueBody
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pull import PullMessageRequest, PullMessageResponse
from gantrymq.wire.headers.query import (
    QueryConsumeQueueRequest,
    QueryMessageRequest,
    ViewMessageRequest,
)
from gantrymq.wire.message import offset_id, property_names, record

PULL_GROUP: Final = "TOOLS_CONSUMER"
"""The group as which Java's tools pull; every broker has it."""

PULL_MESSAGES_MAX: Final = 32
TIME_MAX: Final = (1 << 63) - 1
_SUBSCRIPTION_GIVEN: Final = 4
_STATUS: Final = {
    ResponseCode.SUCCESS: "FOUND",
    ResponseCode.PULL_NOT_FOUND: "NO_NEW_MSG",
    ResponseCode.PULL_RETRY_IMMEDIATELY: "NO_MATCHED_MSG",
    ResponseCode.PULL_OFFSET_MOVED: "OFFSET_ILLEGAL",
}


@dataclass(frozen=True, slots=True)
class Pulled:
    """The result of one pull; `status` is Java's name for it."""

    status: str
    next_offset: int
    first_offset: int
    end_offset: int
    messages: tuple[ReceivedMessage, ...] = ()


@final
class Messages:
    """Requests for messages of all brokers that the name servers know."""

    def __init__(self, asking: Asking, topics: Topics) -> None:
        self._asking = asking
        self._topics = topics

    async def by_offset_id(self, message_id: str, topic: str | None = None) -> ReceivedMessage:
        """Return a message by its offset message id, which names the broker and the position;
        raises RemoteError if it is not such an id."""
        host, offset = offset_id.decode(message_id)
        address = hosts.text(host)
        header = ViewMessageRequest(topic=topic, offset=offset)
        answer = await self._asking.ask(address, RequestCode.VIEW_MESSAGE_BY_ID, header)
        return _received(answer.body, "")[0]

    async def by_key(
        self,
        topic: str,
        key: str,
        *,
        most: int = 64,
        begin_ms: int = 0,
        end_ms: int = TIME_MAX,
        is_unique: bool = False,
    ) -> list[ReceivedMessage]:
        """Find messages by one of their keys, or by UNIQ_KEY, at all brokers. The index compares
        hashes, so messages with another key of the same hash are filtered out here."""
        header = QueryMessageRequest(
            topic=topic,
            key=key,
            max_num=most,
            begin_timestamp=begin_ms,
            end_timestamp=end_ms,
            unique_key_query=is_unique,
        )
        code = RequestCode.QUERY_MESSAGE

        async def at_one(address: str) -> list[ReceivedMessage]:
            try:
                answer = await self._asking.ask(address, code, header)
            except BrokerError as error:
                if error.code == ResponseCode.QUERY_NOT_FOUND:
                    return []
                raise
            return _received(answer.body, "")

        brokers = await self._topics.brokers(topic)
        found = (await on_each(brokers, at_one, self._asking.pace)).all().values()
        return [each for part in found for each in part if _has_key(each, key, is_unique)]

    async def pull(
        self,
        address: str,
        queue: MessageQueue,
        offset: int,
        *,
        expression: str = "*",
        most: int = PULL_MESSAGES_MAX,
    ) -> Pulled:
        """Pull from an offset of a queue. The broker answers at once, and no group's offset
        changes."""
        header = PullMessageRequest(
            consumer_group=PULL_GROUP,
            topic=queue.topic,
            queue_id=queue.queue_id,
            queue_offset=offset,
            max_msg_nums=most,
            sys_flag=_SUBSCRIPTION_GIVEN,
            commit_offset=0,
            suspend_timeout_millis=0,
            subscription=expression,
            sub_version=0,
            expression_type="TAG",
            broker_name=queue.broker_name,
        )
        # Not through the VIP port, which serves no pulls.
        command = Command(RequestCode.PULL_MESSAGE, ext=header.encode())
        answer = await Ask(address, command, self._asking.timeout_s)
        try:
            status = _STATUS[ResponseCode(answer.code)]
        except (ValueError, KeyError):
            raise BrokerError(answer.code, answer.remark, address) from None
        fields = PullMessageResponse.decode(answer.ext)
        return Pulled(
            status,
            fields.next_begin_offset,
            fields.min_offset,
            fields.max_offset,
            tuple(_received(answer.body, queue.broker_name)) if status == "FOUND" else (),
        )

    async def units(
        self, address: str, queue: MessageQueue, index: int, count: int, group: str | None = None
    ) -> ConsumeQueueBody | None:
        """Return consume queue units as stored, with the result of a group's filter for each; None
        if the queue has none from `index` on."""
        header = QueryConsumeQueueRequest(
            topic=queue.topic,
            queue_id=queue.queue_id,
            index=index,
            count=count,
            consumer_group=group,
        )
        answer = await self._asking.ask(address, RequestCode.QUERY_CONSUME_QUEUE, header)
        return ConsumeQueueBody.from_json(javajson.loads(answer.body)) if answer.body else None


def _received(body: bytes, broker_name: str) -> list[ReceivedMessage]:
    records = record.decode_all(body)
    if not records:
        raise RemoteError("the broker's answer holds no message")
    return [
        ReceivedMessage(
            each, MessageQueue(each.topic.decode("utf-8", "replace"), broker_name, each.queue_id)
        )
        for each in records
    ]


def _has_key(message: ReceivedMessage, key: str, is_unique: bool) -> bool:
    if is_unique:
        return message.properties.get(property_names.UNIQ_KEY) == key
    return key in message.keys

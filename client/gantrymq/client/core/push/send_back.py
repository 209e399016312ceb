"""Sends failed messages back to the broker, for a later retry or as dead letters.

    CONSUMER_SEND_MSG_BACK   identifies the record, which the broker stores again in %RETRY%<group>
    if that fails            the message itself is sent to %RETRY%<group>, with the same effect;
                             orderly consumers do only this, for messages that exceeded max_times

Invariant: True means that a broker acknowledged the message; after False the caller still owns it.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.errors import GantryError
from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.client.core.flow.answers import success
from gantrymq.client.core.flow.flow_steps import Ask
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.message.namespace import DEFAULT_TOPIC, retry_topic
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.message.results import SendStatus
from gantrymq.wire import java_string
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import ConsumerSendMsgBackRequest, SendMessageV2Request
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message import property_names as names
from gantrymq.wire.message import sys_flag as flags

TIMEOUT_S: Final = 5.0

# The delay level of the first retry; each further retry adds one level.
FIRST_LEVEL: Final = 3

MAX_CONCURRENT: Final = 16
MAX_ORDERLY: Final = 0x7FFFFFFF

# Java sends them with the inner producer of each client.
INNER_GROUP: Final = "CLIENT_INNER_PRODUCER"
DEFAULT_QUEUES: Final = 4

# The body is sent as stored, so that one that cannot be decompressed becomes a dead letter too.
_PACKING: Final = flags.COMPRESSED | flags.COMPRESSION_MASK

_KEPT_STATUSES: Final = frozenset(int(status) for status in SendStatus)


@final
class SendBack:
    """Sends back the messages of one group."""

    __slots__ = ("_group", "_instance", "max_times")

    def __init__(self, instance: Instance, group: str, max_times: int) -> None:
        """`max_times` is the number of retries before a message becomes a dead letter."""
        self._instance = instance
        self._group = group
        self.max_times = max_times

    async def give_back(self, message: ReceivedMessage, level: int) -> bool:
        """Send a message back; return whether a broker acknowledged it. Level 0: the broker chooses
        the delay; -1: dead letter."""
        try:
            await self._name(message, level)
        except GantryError as error:
            self._log(f"sendMessageBack exception, {self._group}, {message.id}: {error}")
        else:
            return True
        times = self.max_times if level < 0 else message.reconsume_times
        return await self.send(message, times + 1, max(level, 0) or FIRST_LEVEL + times)

    async def _name(self, message: ReceivedMessage, level: int) -> None:
        broker_name = message.queue.broker_name
        address = self._instance.master(broker_name) or message.store_host
        header = ConsumerSendMsgBackRequest(
            offset=message.record.physical_offset,
            group=self._group,
            delay_level=level,
            origin_msg_id=message.id,
            origin_topic=_origin_topic(message),
            unit_mode=self._instance.settings.unit_mode,
            max_reconsume_times=self.max_times,
            broker_name=broker_name,
        )
        command = Command(RequestCode.CONSUMER_SEND_MSG_BACK, ext=header.encode())
        await success(address, command, TIMEOUT_S)

    async def send(self, message: ReceivedMessage, times: int, level: int) -> bool:
        """Send the message itself to the retry topic, with its number of retries; return whether a
        broker acknowledged it. The broker makes it a dead letter if `times` exceeds the maximum, or
        if the group is orderly."""
        try:
            await self._send(message, times, level)
        except GantryError as error:
            self._log(
                f"message not sent to its retry topic id={message.id} group={self._group}"
                f" error={error}"
            )
            return False
        return True

    async def _send(self, message: ReceivedMessage, times: int, level: int) -> None:
        instance = self._instance
        topic = retry_topic(self._group)
        queues = (await instance.route(topic)).publish
        if not queues:
            raise RouteError(f"no queue of {topic} can be written now")
        queue = queues[instance.ports.chance(len(queues))]
        address = instance.master(queue.broker_name)
        if address is None:
            raise RouteError(f"The broker[{queue.broker_name}] master node does not exist")
        header = SendMessageV2Request(
            producer_group=INNER_GROUP,
            topic=topic,
            default_topic=DEFAULT_TOPIC,
            default_topic_queue_nums=DEFAULT_QUEUES,
            queue_id=queue.queue_id,
            sys_flag=message.record.sys_flag & _PACKING,
            born_timestamp=instance.ports.clock.wall_ms(),
            flag=message.flag,
            properties=java_string.utf8_text(codec.encode(_properties(message, level))),
            reconsume_times=times,
            unit_mode=instance.settings.unit_mode,
            max_reconsume_times=self.max_times,
            batch=False,
            broker_name=queue.broker_name,
        )
        ext = header.encode()
        command = Command(RequestCode.SEND_MESSAGE_V2, ext=ext, body=message.record.body)
        answer = await Ask(address, command, TIMEOUT_S)
        if answer.code not in _KEPT_STATUSES:
            raise BrokerError(answer.code, answer.remark, address)

    def _log(self, line: str) -> None:
        self._instance.ports.log(line)


def _properties(message: ReceivedMessage, level: int) -> dict[str, str]:
    """Return the message's properties, and those that brokers need for the retry."""
    kept = codec.parse(message.record.properties)
    kept.pop(names.TRANSACTION_PREPARED, None)
    kept.setdefault(names.ORIGIN_MESSAGE_ID, message.id)
    kept[names.RETRY_TOPIC] = _origin_topic(message)
    kept[names.DELAY] = str(level)
    return kept


def _origin_topic(message: ReceivedMessage) -> str:
    """Return the topic to which it was first sent, with its namespace."""
    return message.properties.get(names.RETRY_TOPIC) or message.queue.topic

"""Clients: who is connected to which broker, and what they say of themselves."""

from __future__ import annotations

from typing import Final, final

from gantrymq.client.core.admin.asking import Asking
from gantrymq.client.core.admin.groups import Groups
from gantrymq.client.core.admin.topics import Topics
from gantrymq.wire.bodies.connections import (
    ConsumerConnection,
    ConsumerStatus,
    ProducerConnection,
    ProducerTable,
)
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.client import (
    ConsumeMessageDirectlyRequest,
    ConsumerGroupRequest,
    GetConsumerRunningInfoRequest,
    GetProducerConnectionListRequest,
)
from gantrymq.wire.headers.offset import GetConsumerStatusRequest
from gantrymq.wire.jsonvalue import Json, JsonObject, object_of

CLIENT_TIMEOUT_S: Final = 12.0
"""A broker waits ten seconds for the client that it passes a question on to."""


@final
class Connections:
    """As brokers know them."""

    def __init__(self, asking: Asking, topics: Topics, groups: Groups) -> None:
        self._asking = asking
        self._topics = topics
        self._groups = groups

    async def consumers(self, group: str) -> ConsumerConnection:
        """Who consumes for a group: every consumer tells every broker, so one is asked."""
        return await self.consumers_at((await self._groups.brokers(group))[0], group)

    async def consumers_at(self, address: str, group: str) -> ConsumerConnection:
        """Raises BrokerError (206) when nobody does."""
        header = ConsumerGroupRequest(consumer_group=group)
        code = RequestCode.GET_CONSUMER_CONNECTION_LIST
        return await self._asking.read(address, code, ConsumerConnection.from_json, header)

    async def producers(self, group: str, topic: str) -> ProducerConnection:
        """Who produces for a group, at a broker that has the topic."""
        header = GetProducerConnectionListRequest(producer_group=group)
        address = (await self._topics.brokers(topic))[0]
        code = RequestCode.GET_PRODUCER_CONNECTION_LIST
        return await self._asking.read(address, code, ProducerConnection.from_json, header)

    async def all_producers(self, address: str) -> ProducerTable:
        """Of one broker."""
        code = RequestCode.GET_ALL_PRODUCER_INFO
        return await self._asking.read(address, code, ProducerTable.from_json)

    async def running(
        self, address: str, group: str, client_id: str, *, with_threads: bool = False
    ) -> JsonObject:
        """ConsumerRunningInfo, as the client itself tells it."""
        header = GetConsumerRunningInfoRequest(
            consumer_group=group, client_id=client_id, jstack_enable=with_threads
        )
        return await self._asking.read(
            address,
            RequestCode.GET_CONSUMER_RUNNING_INFO,
            _object,
            header,
            timeout_s=CLIENT_TIMEOUT_S,
        )

    async def progress(
        self, address: str, group: str, topic: str, client_id: str = ""
    ) -> ConsumerStatus:
        """How far the clients of a group say they are, through a broker."""
        header = GetConsumerStatusRequest(topic=topic, group=group, client_addr=client_id)
        return await self._asking.read(
            address,
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS,
            ConsumerStatus.from_json,
            header,
            timeout_s=CLIENT_TIMEOUT_S,
        )

    async def consume(
        self, address: str, group: str, client_id: str, topic: str, offset_id: str
    ) -> JsonObject:
        """Let one client consume one stored message now; ConsumeMessageDirectlyResult."""
        header = ConsumeMessageDirectlyRequest(
            consumer_group=group, client_id=client_id, msg_id=offset_id, topic=topic
        )
        return await self._asking.read(
            address,
            RequestCode.CONSUME_MESSAGE_DIRECTLY,
            _object,
            header,
            timeout_s=CLIENT_TIMEOUT_S,
        )


def _object(value: Json) -> JsonObject:
    return object_of(value, "the client's answer")

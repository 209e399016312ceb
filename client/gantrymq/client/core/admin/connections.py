"""Lists the clients connected to brokers, and queries single clients through their broker."""

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
"""A broker forwards the request to the client and waits ten seconds for its response."""


@final
class Connections:
    """Queries about connected clients, answered by brokers."""

    def __init__(self, asking: Asking, topics: Topics, groups: Groups) -> None:
        self._asking = asking
        self._topics = topics
        self._groups = groups

    async def consumers(self, group: str) -> ConsumerConnection:
        """Return the consumers of a group. Every consumer registers with every broker of its
        topics, so one broker is asked."""
        return await self.consumers_at((await self._groups.brokers(group))[0], group)

    async def consumers_at(self, address: str, group: str) -> ConsumerConnection:
        """Return the consumers of a group at one broker; raises BrokerError (206) if there are
        none."""
        header = ConsumerGroupRequest(consumer_group=group)
        code = RequestCode.GET_CONSUMER_CONNECTION_LIST
        return await self._asking.read(address, code, ConsumerConnection.from_json, header)

    async def producers(self, group: str, topic: str) -> ProducerConnection:
        """Return the producers of a group, as one broker of the topic knows them."""
        header = GetProducerConnectionListRequest(producer_group=group)
        address = (await self._topics.brokers(topic))[0]
        code = RequestCode.GET_PRODUCER_CONNECTION_LIST
        return await self._asking.read(address, code, ProducerConnection.from_json, header)

    async def all_producers(self, address: str) -> ProducerTable:
        """Return all producers that are connected to one broker."""
        code = RequestCode.GET_ALL_PRODUCER_INFO
        return await self._asking.read(address, code, ProducerTable.from_json)

    async def running(
        self, address: str, group: str, client_id: str, *, with_threads: bool = False
    ) -> JsonObject:
        """Return ConsumerRunningInfo as the client reports it."""
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
        """Return the offsets that the clients of a group report, queried through a broker."""
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
        """Make one client consume one stored message now; returns ConsumeMessageDirectlyResult."""
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

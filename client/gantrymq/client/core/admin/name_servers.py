"""Manages name servers: settings, KV configuration, and write permission of brokers.

Changes go to every name server; reads of the KV configuration ask one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from gantrymq.base.configuration.properties import (
    decode_properties,
    format_properties,
    parse_properties,
)
from gantrymq.client.core.admin.asking import Asking, Each, on_each
from gantrymq.wire import javajson
from gantrymq.wire.bodies.cluster import ClusterInfo
from gantrymq.wire.bodies.kv import kv_table_from_json
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import (
    AddWritePermResponse,
    GetKvConfigResponse,
    GetKvListRequest,
    KvConfigKeyRequest,
    PutKvConfigRequest,
    WipeWritePermResponse,
    WritePermRequest,
)

ORDER_NAMESPACE: Final = "ORDER_TOPIC_CONFIG"
"""KV namespace with the fixed queues of ordered topics: topic -> "broker-a:4;broker-b:4"."""


@final
class NameServerOrders:
    """Requests to the name servers of one client."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    @property
    def addresses(self) -> tuple[str, ...]:
        return self._asking.instance.name_servers.addresses

    async def settings(self) -> Each[dict[str, str]]:
        """Return the settings of each name server."""

        async def of_one(address: str) -> dict[str, str]:
            answer = await self._asking.ask(address, RequestCode.GET_NAMESRV_CONFIG)
            return parse_properties(decode_properties(answer.body))

        return await on_each(self.addresses, of_one)

    async def change(self, settings: Mapping[str, str]) -> Each[Command]:
        """Change settings permanently at every name server."""
        body = format_properties(settings).encode()
        code = RequestCode.UPDATE_NAMESRV_CONFIG
        return await self._asking.ask_every_name_server(code, body=body)

    async def clusters(self) -> Each[ClusterInfo]:
        """Return the cluster table of each name server; they should be equal."""

        async def of_one(address: str) -> ClusterInfo:
            code = RequestCode.GET_BROKER_CLUSTER_INFO
            return await self._asking.read(address, code, ClusterInfo.from_json)

        return await on_each(self.addresses, of_one)

    # ------------------------------------------------------------------ keys and values

    async def value(self, namespace: str, key: str) -> str:
        """Return one value; raises BrokerError (22) if the key does not exist."""
        header = KvConfigKeyRequest(namespace=namespace, key=key)
        answer = await self._asking.ask_a_name_server(RequestCode.GET_KV_CONFIG, header)
        return GetKvConfigResponse.decode(answer.ext).value or ""

    async def values(self, namespace: str) -> dict[str, str]:
        """Return all values of a namespace; raises BrokerError (22) if it does not exist."""
        header = GetKvListRequest(namespace=namespace)
        code = RequestCode.GET_KVLIST_BY_NAMESPACE
        answer = await self._asking.ask_a_name_server(code, header)
        return kv_table_from_json(javajson.loads(answer.body))

    async def put(self, namespace: str, key: str, value: str) -> Each[Command]:
        header = PutKvConfigRequest(namespace=namespace, key=key, value=value)
        return await self._asking.ask_every_name_server(RequestCode.PUT_KV_CONFIG, header)

    async def delete(self, namespace: str, key: str) -> Each[Command]:
        header = KvConfigKeyRequest(namespace=namespace, key=key)
        return await self._asking.ask_every_name_server(RequestCode.DELETE_KV_CONFIG, header)

    # ------------------------------------------------------------------ write permission

    async def wipe_write(self, broker_name: str) -> Each[int]:
        """Remove the write permission of a broker, so that producers stop using it. Returns how
        many topics changed, for each name server."""
        header = WritePermRequest(broker_name=broker_name)

        async def at_one(address: str) -> int:
            code = RequestCode.WIPE_WRITE_PERM_OF_BROKER
            answer = await self._asking.ask(address, code, header)
            return WipeWritePermResponse.decode(answer.ext).wipe_topic_count

        return await on_each(self.addresses, at_one)

    async def add_write(self, broker_name: str) -> Each[int]:
        """Restore the write permission of a broker; returns how many topics changed."""
        header = WritePermRequest(broker_name=broker_name)

        async def at_one(address: str) -> int:
            code = RequestCode.ADD_WRITE_PERM_OF_BROKER
            answer = await self._asking.ask(address, code, header)
            return AddWritePermResponse.decode(answer.ext).add_topic_count

        return await on_each(self.addresses, at_one)

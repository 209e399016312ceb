"""Manages topics: their routes, statistics and settings, creation, change and deletion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, final

from gantrymq.client.core.admin.asking import Asking, Each, on_each
from gantrymq.client.core.errors import RouteError
from gantrymq.client.core.flow.answers import accepted
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.consumption import GroupList
from gantrymq.wire.bodies.consuming.queue_stats import TopicStatsTable
from gantrymq.wire.bodies.route import BrokerData, TopicRouteData
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.bodies.topics import TopicList
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import (
    DeleteTopicInNamesrvRequest,
    GetRouteInfoRequest,
    GetTopicsByClusterRequest,
)
from gantrymq.wire.headers.topic import (
    CreateTopicRequest,
    DeleteTopicRequest,
    GetTopicConfigRequest,
    GetTopicStatsRequest,
    QueryTopicConsumeByWhoRequest,
)
from gantrymq.wire.jsonvalue import Json, JsonObject, object_of, text_key

DEFAULT_TOPIC: Final = "TBW102"


@final
class Topics:
    """Requests about topics of all clusters that the name servers know."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    # ------------------------------------------------------------------ names and routes

    async def names(self) -> tuple[str, ...]:
        """Return the names of all topics, including system topics."""
        answer = await self._asking.ask_a_name_server(
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
        )
        return TopicList.from_json(javajson.loads(answer.body)).topics

    async def names_in(self, cluster: str) -> tuple[str, ...]:
        header = GetTopicsByClusterRequest(cluster=cluster)
        answer = await self._asking.ask_a_name_server(RequestCode.GET_TOPICS_BY_CLUSTER, header)
        return TopicList.from_json(javajson.loads(answer.body)).topics

    async def system_names(self, address: str) -> tuple[str, ...]:
        """Return the names that one broker reserves for system topics."""
        code = RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER
        return (await self._asking.read(address, code, TopicList.from_json)).topics

    async def route(self, topic: str) -> TopicRouteData:
        """Return the current route; raises BrokerError (17) if the name servers do not know the
        topic."""
        names = self._asking.instance.name_servers
        header = GetRouteInfoRequest(topic=topic, accept_standard_json_only=True)
        command = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext=header.encode())
        answer = accepted(await names.ask(command), names.current)
        return TopicRouteData.from_json(javajson.loads(answer.body))

    async def route_by(self, name_server: str, topic: str) -> TopicRouteData:
        """Return the route that one name server has."""
        header = GetRouteInfoRequest(topic=topic, accept_standard_json_only=True)
        code = RequestCode.GET_ROUTEINFO_BY_TOPIC
        return await self._asking.read(name_server, code, TopicRouteData.from_json, header)

    async def brokers(self, topic: str) -> list[str]:
        """Return one address per broker name of the topic: the master's, if it has one."""
        return [readable(broker) for broker in (await self.route(topic)).brokers]

    async def groups(self, topic: str) -> tuple[str, ...]:
        """Return the groups that have consumed the topic, as the first broker of its route knows
        them."""
        header = QueryTopicConsumeByWhoRequest(topic=topic)
        code = RequestCode.QUERY_TOPIC_CONSUME_BY_WHO
        for address in await self.brokers(topic):
            return (await self._asking.read(address, code, GroupList.from_json, header)).groups
        return ()

    # ------------------------------------------------------------------ queries

    async def stats(self, topic: str) -> TopicStatsTable:
        """Return the offsets of the topic's queues at all brokers."""

        async def of_one(address: str) -> TopicStatsTable:
            return await self.stats_of(address, topic)

        tables = (await on_each(await self.brokers(topic), of_one)).all().values()
        return TopicStatsTable(
            {queue: offset for table in tables for queue, offset in table.queues.items()},
            sum(table.put_tps for table in tables),
        )

    async def stats_of(self, address: str, topic: str) -> TopicStatsTable:
        header = GetTopicStatsRequest(topic=topic)
        code = RequestCode.GET_TOPIC_STATS_INFO
        return await self._asking.read(address, code, TopicStatsTable.from_json, header)

    async def config(self, address: str, topic: str) -> TopicConfig:
        """Return the topic's settings at one broker (5.x)."""
        header = GetTopicConfigRequest(topic=topic, logical=True)
        code = RequestCode.GET_TOPIC_CONFIG
        return await self._asking.read(address, code, TopicConfig.from_json, header)

    async def configs(self, address: str) -> dict[str, TopicConfig]:
        """Return the settings of all topics of one broker."""
        return await self._asking.read(address, RequestCode.GET_ALL_TOPIC_CONFIG, _configs)

    async def config_table(self, address: str) -> JsonObject:
        """Return the same settings as the broker's JSON table, with its DataVersion."""
        return await self._asking.read(address, RequestCode.GET_ALL_TOPIC_CONFIG, _table)

    # ------------------------------------------------------------------ changing

    async def create(self, addresses: Iterable[str], config: TopicConfig) -> Each[Command]:
        """Create the topic, or change its settings, at each of these masters."""
        pairs = (f"{name}={value}" if value else name for name, value in config.attributes.items())
        header = CreateTopicRequest(
            topic=config.topic_name,
            default_topic=DEFAULT_TOPIC,
            read_queue_nums=config.read_queue_nums,
            write_queue_nums=config.write_queue_nums,
            perm=config.perm,
            topic_filter_type=config.topic_filter_type.value,
            topic_sys_flag=config.topic_sys_flag,
            order=config.order,
            attributes=",".join(pairs),
            force=False,
        )

        async def at_one(address: str) -> Command:
            return await self._asking.ask(address, RequestCode.UPDATE_AND_CREATE_TOPIC, header)

        return await on_each(addresses, at_one, self._asking.pace)

    async def create_all(self, address: str, configs: Sequence[TopicConfig]) -> None:
        """Create several topics in one request to one broker (5.3)."""
        topics: list[Json] = [config.to_json() for config in configs]
        body = javajson.dumps_fastjson({"topicConfigList": topics})
        await self._asking.ask(address, RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=body)

    async def delete(self, topic: str, addresses: Iterable[str]) -> Each[Command]:
        """Delete the topic with its messages and all consumer offsets, at each of these brokers."""
        header = DeleteTopicRequest(topic=topic)

        async def at_one(address: str) -> Command:
            return await self._asking.ask(address, RequestCode.DELETE_TOPIC_IN_BROKER, header)

        return await on_each(addresses, at_one, self._asking.pace)

    async def forget(self, topic: str, cluster: str | None = None) -> Each[Command]:
        """Delete the topic's routes at the name servers."""
        header = DeleteTopicInNamesrvRequest(topic=topic, cluster_name=cluster)
        code = RequestCode.DELETE_TOPIC_IN_NAMESRV
        return await self._asking.ask_every_name_server(code, header)


def readable(broker: BrokerData) -> str:
    """Return the address for reads: the master's, else that of the slave with the lowest id. Raises
    RouteError if the name server returned the broker without an address."""
    addresses = broker.addresses
    if not addresses:
        raise RouteError(
            f"The name server returned the broker {broker.broker_name} without an address. Check"
            " with clusterList which brokers it knows."
        )
    return addresses[MASTER_ID if MASTER_ID in addresses else min(addresses)]


def _table(value: Json) -> JsonObject:
    return object_of(value, "TopicConfigSerializeWrapper")


def _configs(value: Json) -> dict[str, TopicConfig]:
    table = object_of(_table(value).get("topicConfigTable") or {}, "topicConfigTable")
    return {
        text_key(topic, "topicConfigTable"): TopicConfig.from_json(config)
        for topic, config in table.items()
    }

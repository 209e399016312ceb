"""Topics: where they are, what is in them, and their making, changing and deleting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, final

from gantrymq.client.core.admin.asking import Asking, Each, on_each
from gantrymq.client.core.answers import accepted
from gantrymq.client.core.routes import MASTER_ID
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consumption import GroupList
from gantrymq.wire.bodies.queue_stats import TopicStatsTable
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
    """Of all clusters that the name servers know."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    # ------------------------------------------------------------------ finding

    async def names(self) -> tuple[str, ...]:
        """Of all topics, those of the system included."""
        answer = await self._asking.ask_a_name_server(
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
        )
        return TopicList.from_json(javajson.loads(answer.body)).topics

    async def names_in(self, cluster: str) -> tuple[str, ...]:
        header = GetTopicsByClusterRequest(cluster=cluster)
        answer = await self._asking.ask_a_name_server(RequestCode.GET_TOPICS_BY_CLUSTER, header)
        return TopicList.from_json(javajson.loads(answer.body)).topics

    async def system_names(self, address: str) -> tuple[str, ...]:
        """What one broker calls a topic of the system."""
        code = RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER
        return (await self._asking.read(address, code, TopicList.from_json)).topics

    async def route(self, topic: str) -> TopicRouteData:
        """As the name servers have it now; raises BrokerError (17) when they do not know it."""
        names = self._asking.instance.name_servers
        header = GetRouteInfoRequest(topic=topic, accept_standard_json_only=True)
        command = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext=header.encode())
        answer = accepted(await names.ask(command), names.current)
        return TopicRouteData.from_json(javajson.loads(answer.body))

    async def route_by(self, name_server: str, topic: str) -> TopicRouteData:
        """As one name server has it."""
        header = GetRouteInfoRequest(topic=topic, accept_standard_json_only=True)
        code = RequestCode.GET_ROUTEINFO_BY_TOPIC
        return await self._asking.read(name_server, code, TopicRouteData.from_json, header)

    async def brokers(self, topic: str) -> list[str]:
        """One address of each broker name that has it: the master's, where there is one."""
        return [readable(broker) for broker in (await self.route(topic)).brokers]

    async def groups(self, topic: str) -> tuple[str, ...]:
        """Who has consumed it, as a broker that has it knows."""
        header = QueryTopicConsumeByWhoRequest(topic=topic)
        code = RequestCode.QUERY_TOPIC_CONSUME_BY_WHO
        for address in await self.brokers(topic):
            return (await self._asking.read(address, code, GroupList.from_json, header)).groups
        return ()

    # ------------------------------------------------------------------ looking

    async def stats(self, topic: str) -> TopicStatsTable:
        """The queues of all brokers."""

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
        """At one broker (5.x)."""
        header = GetTopicConfigRequest(topic=topic, logical=True)
        code = RequestCode.GET_TOPIC_CONFIG
        return await self._asking.read(address, code, TopicConfig.from_json, header)

    async def configs(self, address: str) -> dict[str, TopicConfig]:
        """All that one broker has."""
        return await self._asking.read(address, RequestCode.GET_ALL_TOPIC_CONFIG, _configs)

    async def config_table(self, address: str) -> JsonObject:
        """The same as the broker tells it, with its DataVersion."""
        return await self._asking.read(address, RequestCode.GET_ALL_TOPIC_CONFIG, _table)

    # ------------------------------------------------------------------ changing

    async def create(self, addresses: Iterable[str], config: TopicConfig) -> Each[Command]:
        """Make it, or change it, at each of these masters."""
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
        """Several at once, at one broker (5.3)."""
        topics: list[Json] = [config.to_json() for config in configs]
        body = javajson.dumps_fastjson({"topicConfigList": topics})
        await self._asking.ask(address, RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=body)

    async def delete(self, topic: str, addresses: Iterable[str]) -> Each[Command]:
        """With its messages and everybody's offsets in it, at each of these brokers."""
        header = DeleteTopicRequest(topic=topic)

        async def at_one(address: str) -> Command:
            return await self._asking.ask(address, RequestCode.DELETE_TOPIC_IN_BROKER, header)

        return await on_each(addresses, at_one, self._asking.pace)

    async def forget(self, topic: str, cluster: str | None = None) -> Each[Command]:
        """Let the name servers forget its routes."""
        header = DeleteTopicInNamesrvRequest(topic=topic, cluster_name=cluster)
        code = RequestCode.DELETE_TOPIC_IN_NAMESRV
        return await self._asking.ask_every_name_server(code, header)


def readable(broker: BrokerData) -> str:
    """The address to ask a broker name at."""
    addresses = broker.addresses
    return addresses[MASTER_ID if MASTER_ID in addresses else min(addresses)]


def _table(value: Json) -> JsonObject:
    return object_of(value, "TopicConfigSerializeWrapper")


def _configs(value: Json) -> dict[str, TopicConfig]:
    table = object_of(_table(value).get("topicConfigTable") or {}, "topicConfigTable")
    return {
        text_key(topic, "topicConfigTable"): TopicConfig.from_json(config)
        for topic, config in table.items()
    }

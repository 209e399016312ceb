"""Manages consumer groups: their settings at each broker, their progress, creation and deletion.

A group is found through its retry topic: the brokers that have the one have the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, final

from gantrymq.client.core.admin.asking import Asking, Each, on_each
from gantrymq.client.core.admin.topics import Topics
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.consumption import QueryConsumeTimeSpanBody
from gantrymq.wire.bodies.consuming.queue_stats import ConsumeStats, ConsumeStatsList
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.topics import TopicList
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.group import (
    DeleteSubscriptionGroupRequest,
    GetBrokerConsumeStatsRequest,
    GetConsumeStatsRequest,
    GetSubscriptionGroupConfigRequest,
    QueryConsumeTimeSpanRequest,
    QueryTopicsByConsumerRequest,
)
from gantrymq.wire.jsonvalue import Json, JsonObject, object_of, text_key

RETRY_PREFIX: Final = "%RETRY%"
DEAD_LETTER_PREFIX: Final = "%DLQ%"


@final
class Groups:
    """Requests about consumer groups of all clusters that the name servers know."""

    def __init__(self, asking: Asking, topics: Topics) -> None:
        self._asking = asking
        self._topics = topics

    # ------------------------------------------------------------------ queries

    async def names(self) -> list[str]:
        """Return the groups that have a retry topic, which are those that ever consumed."""
        topics = await self._topics.names()
        retries = (topic for topic in topics if topic.startswith(RETRY_PREFIX))
        return sorted(topic.removeprefix(RETRY_PREFIX) for topic in retries)

    async def brokers(self, group: str) -> list[str]:
        """Return one address per broker name that has the group; raises BrokerError (17) if none
        has."""
        return await self._topics.brokers(f"{RETRY_PREFIX}{group}")

    async def config(self, address: str, group: str) -> GroupConfig:
        """Return the group's settings at one broker (5.x); raises BrokerError (26) if it has
        none."""
        header = GetSubscriptionGroupConfigRequest(group=group)
        code = RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG
        return await self._asking.read(address, code, GroupConfig.from_json, header)

    async def configs(self, address: str) -> dict[str, GroupConfig]:
        """Return the settings of all groups of one broker."""
        code = RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
        return await self._asking.read(address, code, _configs)

    async def config_table(self, address: str) -> JsonObject:
        """Return the same settings as the broker's JSON table, with its DataVersion."""
        return await self._asking.read(
            address, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, _table
        )

    async def progress(self, group: str, topic: str | None = None) -> ConsumeStats:
        """Return the group's offset and the end of every queue, of one topic or of all its
        topics."""

        async def of_one(address: str) -> ConsumeStats:
            return await self.progress_at(address, group, topic)

        parts = (await on_each(await self.brokers(group), of_one)).all().values()
        return ConsumeStats(
            {queue: offset for part in parts for queue, offset in part.queues.items()},
            sum(part.consume_tps for part in parts),
        )

    async def progress_at(self, address: str, group: str, topic: str | None = None) -> ConsumeStats:
        header = GetConsumeStatsRequest(consumer_group=group, topic=topic)
        code = RequestCode.GET_CONSUME_STATS
        return await self._asking.read(address, code, ConsumeStats.from_json, header)

    async def all_progress_at(
        self, address: str, *, is_order: bool = False, timeout_s: float | None = None
    ) -> ConsumeStatsList:
        """Return the progress of all groups of one broker."""
        header = GetBrokerConsumeStatsRequest(is_order=is_order)
        return await self._asking.read(
            address,
            RequestCode.GET_BROKER_CONSUME_STATS,
            ConsumeStatsList.from_json,
            header,
            timeout_s=timeout_s,
        )

    async def time_spans(self, address: str, group: str, topic: str) -> QueryConsumeTimeSpanBody:
        """Return the store times of the messages at the group's offsets."""
        header = QueryConsumeTimeSpanRequest(topic=topic, group=group)
        code = RequestCode.QUERY_CONSUME_TIME_SPAN
        return await self._asking.read(address, code, QueryConsumeTimeSpanBody.from_json, header)

    async def topics(self, address: str, group: str) -> tuple[str, ...]:
        """Return the topics in which the group has offsets at one broker (5.x)."""
        header = QueryTopicsByConsumerRequest(group=group)
        code = RequestCode.QUERY_TOPICS_BY_CONSUMER
        return (await self._asking.read(address, code, TopicList.from_json, header)).topics

    # ------------------------------------------------------------------ changing

    async def create(self, addresses: Iterable[str], config: GroupConfig) -> Each[Command]:
        """Create the group, or replace its settings, at each of these masters."""
        body = javajson.dumps_fastjson(config.to_json())
        code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP

        async def at_one(address: str) -> Command:
            return await self._asking.ask(address, code, body=body)

        return await on_each(addresses, at_one, self._asking.pace)

    async def create_all(self, address: str, configs: Sequence[GroupConfig]) -> None:
        """Create several groups in one request to one broker (5.3)."""
        groups: list[Json] = [config.to_json() for config in configs]
        body = javajson.dumps_fastjson({"groupConfigList": groups})
        code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST
        await self._asking.ask(address, code, body=body)

    async def delete(
        self, addresses: Iterable[str], group: str, *, with_offsets: bool = False
    ) -> Each[Command]:
        """Delete the group's settings, and on request its offsets; the retry topic stays."""
        header = DeleteSubscriptionGroupRequest(
            group_name=group, remove_offset=with_offsets, clean_offset=with_offsets
        )

        async def at_one(address: str) -> Command:
            return await self._asking.ask(address, RequestCode.DELETE_SUBSCRIPTIONGROUP, header)

        return await on_each(addresses, at_one, self._asking.pace)

    async def set_mode(
        self, address: str, group: str, topic: str, mode: str, pop_share_queues: int
    ) -> None:
        """Set whether the group's consumers pop or pull a topic (5.x)."""
        body = javajson.dumps_fastjson(
            {
                "consumerGroup": group,
                "mode": mode,
                "popShareQueueNum": pop_share_queues,
                "topic": topic,
            }
        )
        await self._asking.ask(address, RequestCode.SET_MESSAGE_REQUEST_MODE, body=body)


def _table(value: Json) -> JsonObject:
    return object_of(value, "SubscriptionGroupWrapper")


def _configs(value: Json) -> dict[str, GroupConfig]:
    table = object_of(_table(value).get("subscriptionGroupTable") or {}, "subscriptionGroupTable")
    return {
        text_key(group, "subscriptionGroupTable"): GroupConfig.from_json(config)
        for group, config in table.items()
    }

"""Runs the topic controller against real brokers, with a clock that tests move by hand."""

from __future__ import annotations

from typing import final

from gantrymq.client.aio.admin import Admin
from gantrymq.client.aio.producer import Producer
from gantrymq.client.core.message.message import Message
from gantrymq.fakes.topics.topic_cluster import MemoryTopicApi, TopicCluster
from gantrymq.operator.brokers.topic_controller import (
    TopicController,
    TopicRunReport,
    TopicTarget,
)
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import MessageQueue, TopicConfig

TRACES = "traces"
"""A topic of the brokers' own, which no rule of the resource can know."""


@final
class TopicStage:
    """A cluster, its Topics, and the controller under test; its clock moves by hand."""

    def __init__(self, cluster: TopicCluster, admin: Admin) -> None:
        self.cluster = cluster
        self.admin = admin
        self.api = MemoryTopicApi()
        self.now = 1_800_000_000.0
        self.controller = TopicController(self.api, lambda: self.now)

    async def run(self, target: TopicTarget | None = None) -> TopicRunReport:
        return await self.controller.run_cluster(target or self.cluster.target(), self.api.topics())

    async def config(self, group: str, topic: str) -> TopicConfig | None:
        return (await self.admin.topics.configs(self.cluster.address(group))).get(topic)

    async def queues(self, topic: str) -> list[tuple[int, int] | None]:
        """What each group has, written and read."""
        found = [await self.config(group, topic) for group in self.cluster.brokers]
        return [
            None if each is None else (each.write_queue_nums, each.read_queue_nums)
            for each in found
        ]

    async def change_by_hand(self, topic: str, queues: int, *groups: str) -> None:
        addresses = [self.cluster.address(group) for group in groups or self.cluster.brokers]
        config = TopicConfig(topic, read_queue_nums=queues, write_queue_nums=queues)
        (await self.admin.topics.create(addresses, config)).all()

    async def send(self, topic: str, messages: int) -> None:
        async with Producer("p", name_servers=self.cluster.name_server) as producer:
            for number in range(messages):
                await producer.send(Message(topic, f"{number}".encode()))

    async def ends(self, topic: str) -> dict[MessageQueue, int]:
        stats = await self.admin.topics.stats(topic)
        return {queue: offset.max_offset for queue, offset in stats.queues.items()}

    async def commit(self, group: str, topic: str, offsets: dict[MessageQueue, int]) -> None:
        """Creates a consumer group, and stores its offsets; 0 for queues without one."""
        masters = [self.cluster.address(name) for name in self.cluster.brokers]
        (await self.admin.groups.create(masters, GroupConfig(group_name=group))).all()
        queues = (await self.admin.topics.stats(topic)).queues
        for queue in queues:
            address = self.cluster.address(queue.broker_name)
            await self.admin.offsets.move(address, group, queue, offsets.get(queue, 0))

"""Tests the topic controller with real brokers and name servers in the process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gantrymq.client.aio.admin import Admin
from gantrymq.client.aio.producer import Producer
from gantrymq.client.core.admin.name_servers import ORDER_NAMESPACE
from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.message.message import Message
from gantrymq.fakes.topics.topic_cluster import MemoryTopicApi, TopicCluster, topic_cluster
from gantrymq.operator.brokers.topic_controller import (
    STEPS_PER_RUN,
    TopicController,
    TopicRunReport,
    TopicTarget,
)
from gantrymq.operator.brokers.topic_run import REFUSED_RETRY_S
from gantrymq.operator.topics.api import TopicApiError
from gantrymq.operator.topics.values import FINALIZER, ClusterStage
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import MessageQueue, TopicConfig

TRACES = "traces"
"""A topic of the brokers' own, which no rule of the resource can know."""


class Stage:
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


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with (
        topic_cluster(tmp_path, msgTraceTopicName=TRACES) as cluster,
        Admin(name_servers=cluster.name_server) as admin,
    ):
        stage = Stage(cluster, admin)
        try:
            yield stage
        finally:
            await stage.controller.close()


async def test_a_topic_is_made_on_all_masters_and_is_ready_after_one_run(stage: Stage) -> None:
    stage.api.create("t", writeQueues=3, groups={"broker-1": {"writeQueues": 5}})
    report = await stage.run()
    assert await stage.queues("t") == [(3, 3), (5, 5)]
    assert stage.api.ready("t") == ("True", "Applied")
    assert stage.api.status("t")["queues"] == "mixed"
    assert stage.api.status("t")["created"] is True
    assert (report.topics_changed, report.writes, report.requeue_seconds) == (2, 1, None)


async def test_a_run_without_a_change_writes_nothing(stage: Stage) -> None:
    for number in range(20):
        stage.api.create(f"t{number}")
    await stage.run()
    writes = dict(stage.api.writes)
    report = await stage.run()
    assert (report.topics_changed, report.writes) == (0, 0)
    assert stage.api.writes == writes


async def test_a_restarted_operator_writes_nothing(stage: Stage) -> None:
    stage.api.create("t", attributes={"message.type": "FIFO"}, deletionPolicy="Delete", order=True)
    await stage.run()
    writes = dict(stage.api.writes)
    await stage.controller.close()
    stage.controller = TopicController(stage.api, lambda: stage.now)
    report = await stage.run()
    assert (report.topics_changed, stage.api.writes) == (0, writes)


async def test_permission_attributes_and_growth_are_applied_at_once(stage: Stage) -> None:
    stage.api.create("t")
    await stage.run()
    stage.api.edit("t", writeQueues=8, perm="R", attributes={"message.type": "DELAY"})
    await stage.run()
    config = await stage.config("broker-1", "t")
    assert config is not None
    assert (config.write_queue_nums, config.read_queue_nums, config.perm) == (8, 8, 4)
    assert config.attributes == {"message.type": "DELAY"}
    assert stage.api.ready("t") == ("True", "Applied")
    assert stage.api.status("t")["drift"] == []


async def test_changes_by_hand_are_reverted_and_named(stage: Stage) -> None:
    stage.api.create("t")
    await stage.run()
    await stage.change_by_hand("t", 2, "broker-0")
    (await stage.admin.topics.delete("t", [stage.cluster.address("broker-1")])).all()
    await stage.run()
    assert await stage.queues("t") == [(4, 4), (4, 4)]
    assert stage.api.status("t")["drift"] == [
        "broker-0: writeQueues 2 instead of 4, readQueues 2 instead of 4",
        "broker-1: the topic was missing",
    ]


async def test_a_topic_made_by_hand_is_touched_only_when_adopted(stage: Stage) -> None:
    await stage.change_by_hand("t", 2, "broker-0")
    stage.api.create("t")
    await stage.run()
    assert await stage.queues("t") == [(2, 2), None]
    assert stage.api.ready("t") == ("False", "Differs")
    assert "broker-0 has writeQueues 2 instead of 4" in stage.api.status("t")["message"]
    stage.api.edit("t", adopt=True)
    await stage.run()
    assert await stage.queues("t") == [(4, 4), (4, 4)]
    assert stage.api.ready("t") == ("True", "Applied")


async def test_a_topic_made_by_hand_as_it_is_described_is_taken_over(stage: Stage) -> None:
    await stage.change_by_hand("t", 4)
    stage.api.create("t")
    report = await stage.run()
    assert report.topics_changed == 0
    assert stage.api.status("t")["created"] is True
    assert stage.api.ready("t") == ("True", "Applied")


async def test_topics_without_a_resource_are_reported(stage: Stage) -> None:
    await stage.change_by_hand("stray", 2, "broker-1")
    await stage.change_by_hand("%RETRY%payments", 1)
    report = await stage.run()
    assert report.unmanaged == ("stray",)


async def test_a_new_group_gets_all_topics(stage: Stage) -> None:
    stage.api.create("t")
    await stage.run(stage.cluster.target(groups=1))
    assert await stage.queues("t") == [(4, 4), None]
    await stage.run()
    assert await stage.queues("t") == [(4, 4), (4, 4)]
    assert stage.api.status("t")["drift"] == []


async def test_a_group_without_a_master_does_not_delay_other_groups(stage: Stage) -> None:
    stage.api.create("t")
    await stage.run(stage.cluster.target(away=("broker-1",)))
    assert await stage.queues("t") == [(4, 4), None]
    assert stage.api.ready("t") == ("False", "MasterAway")
    assert "broker-1 has no master" in stage.api.status("t")["message"]
    await stage.run()
    assert stage.api.ready("t") == ("True", "Applied")


async def test_a_master_that_is_away_for_a_while_changes_no_status(stage: Stage) -> None:
    stage.api.create("t")
    await stage.run()
    writes = dict(stage.api.writes)
    await stage.run(stage.cluster.target(away=("broker-0",)))
    await stage.run()
    assert stage.api.writes == writes


async def test_a_refused_topic_does_not_delay_other_topics(stage: Stage) -> None:
    for number in range(7):
        stage.api.create(f"t{number}")
    stage.api.create("refused", topicName=TRACES, adopt=True)
    report = await stage.run()
    assert stage.api.ready("refused") == ("False", "BrokerRefused")
    assert "conflict with system topic" in stage.api.status("refused")["message"]
    assert [stage.api.ready(f"t{number}")[0] for number in range(7)] == ["True"] * 7
    assert report.requeue_seconds == REFUSED_RETRY_S
    writes = dict(stage.api.writes)
    await stage.run()
    assert stage.api.writes == writes
    stage.now += REFUSED_RETRY_S
    assert (await stage.run()).requeue_seconds == REFUSED_RETRY_S
    assert stage.api.writes == writes


async def test_the_oldest_resource_has_the_name_and_the_next_takes_over(stage: Stage) -> None:
    stage.api.create("first", topicName="T", writeQueues=2)
    stage.api.create("second", topicName="T", writeQueues=6)
    await stage.run()
    await stage.run()
    assert stage.api.ready("second") == ("False", "NameTaken")
    assert "Topic first is older" in stage.api.status("second")["message"]
    stage.api.delete("first")
    await stage.run()
    assert await stage.queues("T") == [(6, 6), (6, 6)]
    assert stage.api.ready("second") == ("True", "Applied")


async def test_a_topic_of_a_missing_cluster_says_so_and_recovers(stage: Stage) -> None:
    stage.api.create("t")
    await stage.run(stage.cluster.target(stage=ClusterStage.MISSING))
    assert stage.api.ready("t") == ("False", "ClusterNotFound")
    await stage.run()
    assert stage.api.ready("t") == ("True", "Applied")


# ---------------------------------------------------------------------- order


async def test_queues_of_an_ordered_topic_are_fixed_at_the_name_servers(stage: Stage) -> None:
    stage.api.create("t", order=True)
    await stage.run()
    values = await stage.admin.name_servers.values(ORDER_NAMESPACE)
    assert values == {"t": "broker-0:4;broker-1:4"}
    stage.api.edit("t", order=False)
    await stage.run()
    with pytest.raises(BrokerError):
        await stage.admin.name_servers.value(ORDER_NAMESPACE, "t")


# ---------------------------------------------------------------------- deletion


async def test_retain_has_no_finalizer_and_keeps_the_topic(stage: Stage) -> None:
    stage.api.create("t")
    await stage.run()
    stage.api.delete("t")
    assert stage.api.bodies == {}
    report = await stage.run()
    assert await stage.queues("t") == [(4, 4), (4, 4)]
    assert report.unmanaged == ("t",)


async def test_delete_removes_topic_route_and_order_entry(stage: Stage) -> None:
    stage.api.create("t", deletionPolicy="Delete", order=True)
    await stage.run()
    assert stage.api.bodies["t"]["metadata"]["finalizers"] == [FINALIZER]
    stage.api.delete("t")
    while (await stage.run()).requeue_seconds == 0:
        pass
    assert stage.api.bodies == {}
    assert await stage.queues("t") == [None, None]
    assert "t" not in await stage.admin.topics.names()
    with pytest.raises(BrokerError):
        await stage.admin.name_servers.value(ORDER_NAMESPACE, "t")


async def test_a_deletion_spares_the_topic_of_a_broker_of_another_cluster(
    stage: Stage, tmp_path: Path
) -> None:
    stage.api.create("t", deletionPolicy="Delete")
    await stage.run()
    stage.api.delete("t")
    stage.now = datetime(2026, 1, 1, 0, 2, tzinfo=UTC).timestamp()  # a minute after the deletion
    other = topic_cluster(tmp_path / "other", groups=2, brokerClusterName="payments")
    async with other as payments, Admin(name_servers=payments.name_server) as admin:
        addresses = [payments.address(group) for group in payments.brokers]
        (await admin.topics.create(addresses, TopicConfig("t"))).all()
        await stage.run(payments.target())
        await stage.run(payments.target())
        assert all(["t" in await admin.topics.configs(address) for address in addresses])
    assert stage.api.bodies["t"]["metadata"]["finalizers"] == [FINALIZER]
    await stage.run()
    assert await stage.queues("t") == [None, None]


async def test_deleting_a_resource_of_a_missing_cluster_asks_no_broker(stage: Stage) -> None:
    stage.api.create("t", deletionPolicy="Delete")
    await stage.run()
    stage.api.delete("t")
    report = await stage.run(stage.cluster.target(stage=ClusterStage.MISSING))
    assert stage.api.bodies == {}
    assert report.topics_changed == 0
    assert await stage.queues("t") == [(4, 4), (4, 4)]


async def test_a_topic_with_unread_messages_is_deleted_only_once_it_is_drained(
    stage: Stage,
) -> None:
    stage.api.create("t", deletionPolicy="DeleteWhenDrained", writeQueues=1)
    await stage.run()
    await send(stage, "t", 1)
    await commit(stage, "billing", "t", {})
    stage.api.delete("t")
    stage.now = NEWER_THAN_ANY_MESSAGE
    report = await stage.run()
    assert "consumer group billing" in stage.api.status("t")["message"]
    assert report.requeue_seconds is not None
    await commit(stage, "billing", "t", await ends(stage, "t"))
    stage.now += 60
    while stage.api.bodies and (await stage.run()).requeue_seconds == 0:
        pass
    assert stage.api.bodies == {}
    assert await stage.queues("t") == [None, None]


# ---------------------------------------------------------------------- shrinking


async def test_read_queues_follow_write_queues_once_consumers_have_read_them(
    stage: Stage,
) -> None:
    stage.api.create("t", writeQueues=4)
    await stage.run()
    await send(stage, "t", 16)
    await commit(stage, "billing", "t", {})
    stage.api.edit("t", writeQueues=2)
    await stage.run()
    assert await stage.queues("t") == [(2, 4), (2, 4)]
    assert stage.api.ready("t") == ("True", "Shrinking")
    stage.now += 30
    await stage.run()
    assert await stage.queues("t") == [(2, 4), (2, 4)]
    stage.now += 31
    await stage.run()
    drained = stage.api.status("t")["conditions"][1]
    assert (drained["type"], drained["status"]) == ("Drained", "False")
    assert "broker-0 waits for consumer group billing (queues 2, 3)" in drained["message"]
    await commit(stage, "billing", "t", await ends(stage, "t"))
    stage.now += 16
    await stage.run()
    assert await stage.queues("t") == [(2, 2), (2, 2)]
    assert stage.api.ready("t") == ("True", "Applied")
    assert len(stage.api.status("t")["conditions"]) == 1


# ---------------------------------------------------------------------- the API, and many topics


async def test_an_api_that_is_down_fails_the_run_and_the_next_one_finishes(stage: Stage) -> None:
    stage.api.create("t")
    stage.api.is_down = True
    with pytest.raises(TopicApiError):
        await stage.run()
    assert await stage.queues("t") == [(4, 4), (4, 4)]
    stage.api.is_down = False
    # Although no status says so, the controller knows that it made the topic.
    stage.api.edit("t", writeQueues=8)
    await stage.run()
    assert await stage.queues("t") == [(8, 8), (8, 8)]
    assert stage.api.ready("t") == ("True", "Applied")


async def test_no_topic_is_made_whose_finalizer_could_not_be_written(stage: Stage) -> None:
    stage.api.create("t", deletionPolicy="Delete")
    stage.api.is_down = True
    with pytest.raises(TopicApiError):
        await stage.run()
    assert await stage.queues("t") == [None, None]


async def test_a_deleted_resource_is_not_written_repeatedly(stage: Stage) -> None:
    stage.api.create("t")
    topics = stage.api.topics()
    stage.api.delete("t")
    target = stage.cluster.target()
    first = await stage.controller.run_cluster(target, topics)
    second = await stage.controller.run_cluster(target, topics)
    assert (first.writes, second.writes, second.requeue_seconds) == (1, 0, None)


async def test_many_topics_are_made_in_parts(stage: Stage) -> None:
    for number in range(STEPS_PER_RUN + 10):
        stage.api.create(f"t{number}")
    first = await stage.run()
    assert (first.topics_changed, first.requeue_seconds) == (2 * STEPS_PER_RUN, 0.0)
    second = await stage.run()
    assert (second.topics_changed, second.requeue_seconds) == (20, None)
    assert stage.api.writes["status"] == STEPS_PER_RUN + 10


NEWER_THAN_ANY_MESSAGE = 4_000_000_000.0


async def send(stage: Stage, topic: str, messages: int) -> None:
    async with Producer("p", name_servers=stage.cluster.name_server) as producer:
        for number in range(messages):
            await producer.send(Message(topic, f"{number}".encode()))


async def ends(stage: Stage, topic: str) -> dict[MessageQueue, int]:
    stats = await stage.admin.topics.stats(topic)
    return {queue: offset.max_offset for queue, offset in stats.queues.items()}


async def commit(stage: Stage, group: str, topic: str, offsets: dict[MessageQueue, int]) -> None:
    """Let a group be there, and at 0 where it says nothing else."""
    masters = [stage.cluster.address(name) for name in stage.cluster.brokers]
    (await stage.admin.groups.create(masters, GroupConfig(group_name=group))).all()
    queues = (await stage.admin.topics.stats(topic)).queues
    for queue in queues:
        address = stage.cluster.address(queue.broker_name)
        await stage.admin.offsets.move(address, group, queue, offsets.get(queue, 0))

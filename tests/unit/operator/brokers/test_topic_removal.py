"""Tests deletion and shrinking of topics by the topic controller, on real brokers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gantrymq.client.aio.admin import Admin
from gantrymq.client.core.admin.name_servers import ORDER_NAMESPACE
from gantrymq.client.core.errors import BrokerError
from gantrymq.fakes.topics.topic_cluster import topic_cluster
from gantrymq.fakes.topics.topic_stage import TopicStage
from gantrymq.operator.topics.values import FINALIZER, ClusterStage
from gantrymq.wire.bodies.shared import TopicConfig

NEWER_THAN_ANY_MESSAGE = 4_000_000_000.0


async def test_retain_has_no_finalizer_and_keeps_the_topic(stage: TopicStage) -> None:
    stage.api.create("t")
    await stage.run()
    stage.api.delete("t")
    assert stage.api.bodies == {}
    report = await stage.run()
    assert await stage.queues("t") == [(4, 4), (4, 4)]
    assert report.unmanaged == ("t",)


async def test_delete_removes_topic_route_and_order_entry(stage: TopicStage) -> None:
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
    stage: TopicStage, tmp_path: Path
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


async def test_deleting_a_resource_of_a_missing_cluster_asks_no_broker(stage: TopicStage) -> None:
    stage.api.create("t", deletionPolicy="Delete")
    await stage.run()
    stage.api.delete("t")
    report = await stage.run(stage.cluster.target(stage=ClusterStage.MISSING))
    assert stage.api.bodies == {}
    assert report.topics_changed == 0
    assert await stage.queues("t") == [(4, 4), (4, 4)]


async def test_a_topic_with_unread_messages_is_deleted_only_once_it_is_drained(
    stage: TopicStage,
) -> None:
    stage.api.create("t", deletionPolicy="DeleteWhenDrained", writeQueues=1)
    await stage.run()
    await stage.send("t", 1)
    await stage.commit("billing", "t", {})
    stage.api.delete("t")
    stage.now = NEWER_THAN_ANY_MESSAGE
    report = await stage.run()
    assert "consumer group billing" in stage.api.status("t")["message"]
    assert report.requeue_seconds is not None
    await stage.commit("billing", "t", await stage.ends("t"))
    stage.now += 60
    while stage.api.bodies and (await stage.run()).requeue_seconds == 0:
        pass
    assert stage.api.bodies == {}
    assert await stage.queues("t") == [None, None]


async def test_read_queues_follow_write_queues_once_consumers_have_read_them(
    stage: TopicStage,
) -> None:
    stage.api.create("t", writeQueues=4)
    await stage.run()
    await stage.send("t", 16)
    await stage.commit("billing", "t", {})
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
    await stage.commit("billing", "t", await stage.ends("t"))
    stage.now += 16
    await stage.run()
    assert await stage.queues("t") == [(2, 2), (2, 2)]
    assert stage.api.ready("t") == ("True", "Applied")
    assert len(stage.api.status("t")["conditions"]) == 1

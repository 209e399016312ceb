"""Tests requests to masters and name servers about topics, and drained queues."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.fakes.topics.topic_cluster import topic_cluster
from gantrymq.operator.brokers.topics import ANOTHER_BROKER, ClusterTopics, drain_answer
from gantrymq.operator.topics.values import DrainAnswer, DrainQuestion, GroupView
from gantrymq.wire.bodies.consuming.queue_stats import (
    ConsumedOffset,
    ConsumeStats,
    TopicOffset,
    TopicStatsTable,
)
from gantrymq.wire.bodies.shared import MessageQueue

NO_SERVER = "127.0.0.1:1"


def queue(number: int) -> MessageQueue:
    return MessageQueue("t", "broker-0", number)


def stats(*queues: tuple[int, int]) -> TopicStatsTable:
    """Each with its first and its last offset."""
    return TopicStatsTable(
        {queue(number): TopicOffset(*bounds, 5000) for number, bounds in enumerate(queues)}
    )


def consumed(*offsets: int) -> ConsumeStats:
    return ConsumeStats(
        {queue(number): ConsumedOffset(0, offset) for number, offset in enumerate(offsets)}
    )


def test_a_queue_is_drained_when_every_group_has_read_it() -> None:
    table = stats((0, 5), (0, 5), (0, 0))
    answer = drain_answer(0, table, {"a": consumed(5, 5, 0), "b": consumed(5, 4, 0)})
    assert answer == DrainAnswer((("b", (1,)),), (), 5.0)
    assert not answer.is_drained
    assert drain_answer(0, table, {"a": consumed(5, 5, 0)}).is_drained


def test_queues_below_the_first_one_do_not_count() -> None:
    assert drain_answer(1, stats((0, 5), (0, 5)), {"a": consumed(0, 5)}).is_drained


def test_expired_messages_need_no_reader() -> None:
    assert drain_answer(0, stats((5, 5)), {"a": consumed(0)}).is_drained


def test_messages_that_no_group_reads_are_not_drained() -> None:
    assert drain_answer(0, stats((0, 5), (0, 0)), {}).unread == (0,)
    gave_it_up = {"a": ConsumeStats()}
    assert drain_answer(0, stats((0, 5)), gave_it_up).unread == (0,)
    assert drain_answer(0, stats((0, 0)), {}).is_drained


async def test_a_master_that_does_not_answer_is_reported_without_an_error() -> None:
    async with ClusterTopics((NO_SERVER,), timeout_s=1.0) as topics:
        group = await topics.read("orders", GroupView("broker-0", NO_SERVER))
        assert (group.table, group.why) == (None, "has a master that does not answer")
        assert (await topics.read("orders", GroupView("broker-1"))).why == "has no master"
        assert await topics.order_tables() == {NO_SERVER: None}
        assert await topics.drained(DrainQuestion("broker-0", NO_SERVER, "t", 0)) is None


async def test_the_table_of_another_cluster_or_group_is_refused_and_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        topic_cluster(tmp_path, groups=1, brokerClusterName="payments") as running,
        ClusterTopics((running.name_server,)) as topics,
    ):
        address = running.address("broker-0")
        for cluster, name in (("orders", "broker-0"), ("payments", "broker-1")):
            group = await topics.read(cluster, GroupView(name, address))
            assert (group.table, group.why) == (None, ANOTHER_BROKER)
        assert (await topics.read("payments", GroupView("broker-0", address))).table is not None
    said = [each for each in caplog.messages if "refusing topics of another broker" in each]
    assert len(said) == 2
    assert "cluster=orders" in said[0]
    assert f"address={address}" in said[0]
    assert "lacks=orders,orders_REPLY_TOPIC" in said[0]

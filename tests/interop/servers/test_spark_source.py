"""Tests that Spark's source reads Java's brokers and Gantry's, also while one of two is down."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from gantrymq.client.blocking import Admin
from gantrymq.client.core.errors import BrokerError
from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.child import wait_until
from gantrymq.interop.servers import Broker, gantry_broker, gantry_name_server
from gantrymq.spark.source.stream_reader import StreamReader
from gantrymq.spark_cases.topics import (
    Json,
    TopicOfTest,
    batch,
    bodies,
    next_millisecond,
    stream_reader,
    wait_for_end,
    waiting,
)

pytestmark = [pytest.mark.interop, pytest.mark.timeout(400)]

ALL = ReadAllAvailable()
LAG_SECONDS = 30.0


@dataclass(frozen=True)
class At:
    """The addresses of a broker and its name server."""

    name_servers: str
    broker: str


@pytest.mark.parametrize("kind", list(BrokerKind), ids=lambda kind: kind.value)
def test_batches_and_streams_of_every_broker(
    kind: BrokerKind, brokers: Callable[[BrokerKind], Broker]
) -> None:
    broker = brokers(kind)
    at = At(broker.name_server_addresses, broker.address)
    broker.create_topic(f"spark-of-{kind.name}")
    topic = TopicOfTest(at, name=f"spark-of-{kind.name}")
    paid = topic.send(20, tag="paid", price="5")
    time_ms = next_millisecond()
    shipped = topic.send(20, tag="shipped", price="50")
    assert batch(topic.options()) == sorted(paid + shipped)
    assert batch(topic.options(subExpression="paid")) == sorted(paid)
    sql = {"subExpression": "price > 10", "subExpressionType": "SQL92"}
    assert batch(topic.options(**sql)) == sorted(shipped)
    assert batch(topic.options(endingTimestamp=time_ms)) == sorted(paid)
    assert batch(topic.options(startingOffsets=None, startingTimestamp=time_ms)) == sorted(shipped)
    late = int(time.time() * 1000) + 3_600_000
    assert batch(topic.options(startingOffsets=None, startingTimestamp=late)) == []
    assert batch(topic.options(endingTimestamp=late)) == sorted(topic.sent)

    group = f"spark-group-of-{kind.name}"
    reader = stream_reader(topic.options(group=group, maxBytesPerTrigger="4k"))
    try:
        assert read_all(reader) == sorted(topic.sent)
        wait_until(lambda: lag(topic, group) == 0, "the group has no lag", LAG_SECONDS)
    finally:
        reader.stop()
    assert batch(topic.options(startingOffsets="group", group=group)) == []


def test_broker_that_is_down_does_not_stop_streams_of_others(
    folder: Callable[[str], Path],
) -> None:
    with (
        gantry_name_server(folder("names")) as names,
        gantry_broker(folder("one"), [names], {"brokerName": "one"}) as one,
        gantry_broker(folder("two"), [names], {"brokerName": "two"}) as two,
    ):
        for broker in (one, two):
            broker.create_topic("on-both")
        topic = TopicOfTest(At(names.address, one.address), name="on-both")
        topic.send(32)
        before = stream_reader(topic.options())
        start = before.initialOffset()
        end = before.latestOffset(start, ALL)
        before.stop()
        two.kill()
        restarted = stream_reader(topic.options(requestTimeout="500ms", pollWaitMs=50))
        try:
            assert restarted.latestOffset(end, ALL) is end
            ours = topic.send(8)  # the client finds the broker that is up
            later = wait_for_end(restarted, end, 8)
            assert bodies(restarted, restarted.partitions(end, later)) == sorted(ours)
            two.start()
            theirs = topic.send(16)
            last = wait_for_end(restarted, later, 16)
            assert bodies(restarted, restarted.partitions(later, last)) == sorted(theirs)
        finally:
            restarted.stop()


def read_all(reader: StreamReader) -> list[str]:
    """All waiting messages, in micro-batches within the limits."""
    offset: Json = reader.initialOffset()
    rows: list[str] = []
    limit = reader.getDefaultReadLimit()
    while (end := reader.latestOffset(offset, limit)) is not offset:
        assert waiting(end) > waiting(offset)
        rows += bodies(reader, reader.partitions(offset, end))
        offset = end
    return sorted(rows)


def lag(topic: TopicOfTest, group: str) -> int:
    with Admin(name_servers=topic.server.name_servers) as admin:
        queues = admin.groups.progress(group, topic.name).queues.values()
    return sum(each.broker_offset - each.consumer_offset for each in queues)


def test_a_slave_serves_what_its_dead_master_had(folder: Callable[[str], Path]) -> None:
    with (
        gantry_name_server(folder("names")) as names,
        gantry_broker(folder("master"), [names], {"brokerRole": "SYNC_MASTER"}) as master,
        gantry_broker(folder("slave"), [names], {"brokerRole": "SLAVE", "brokerId": "1"}) as slave,
    ):
        master.create_topic("on-a-pair")
        topic = TopicOfTest(At(names.address, master.address), name="on-a-pair")
        topic.send(20)
        reader = stream_reader(topic.options(requestTimeout="500ms", pollWaitMs=50))
        try:
            start = reader.initialOffset()
            wait_until(lambda: has(slave, topic) == 20, "the slave has all", LAG_SECONDS)
            master.kill()
            wait_until(lambda: not master.is_registered(), "the master is gone", LAG_SECONDS)
            end = reader.latestOffset(start, ALL)
            assert bodies(reader, reader.partitions(start, end)) == sorted(topic.sent)
            assert batch(topic.options()) == sorted(topic.sent)
            wait_until(
                lambda: not reader._watching().view.layout.members["broker-gantry"].is_master,
                "the stream asks the slave",
                LAG_SECONDS,
            )
            assert reader.latestOffset(end, ALL) is end
        finally:
            reader.stop()


def has(broker: Broker, topic: TopicOfTest) -> int:
    """The number of messages of the topic at the broker."""
    with Admin(name_servers=topic.server.name_servers) as admin:
        try:
            queues = admin.topics.stats_of(broker.address, topic.name).queues.values()
        except BrokerError:
            return 0  # the broker does not know the topic yet
    return sum(each.max_offset for each in queues)

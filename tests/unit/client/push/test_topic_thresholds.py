"""Tests the limits of buffered messages of all queues together."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.client.core.flow.flow_steps import FOREVER, Wait
from gantrymq.client.core.message.outcomes import Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.consumers import FIRST, Consumer


async def never(messages: list[ReceivedMessage]) -> Outcome:
    del messages
    await Wait(FOREVER)
    return None


def cached(consumer: Consumer) -> list[int]:
    """Messages that are here, of each queue of T."""
    return [each.cached for each in consumer.member.status() if each.queue.topic == "T"]


def test_each_queue_has_an_equal_part() -> None:
    cluster = Cluster()
    for queue_id in range(4):
        cluster.store(*map(str, range(60)), queue_id=queue_id)
    settings = dataclasses.replace(
        FIRST, pull_batch=1, consume_threads=1, topic_pull_threshold=50, close_timeout_s=0.0
    )
    first = Consumer(cluster, "c@1", settings).start(listener=never)
    cluster.pass_time(1.0)
    assert cached(first) == [11] * 4  # five queues with the one of retries: 10 each, and one more
    second = Consumer(cluster, "c@2", settings).start(listener=never)
    cluster.pass_time(5.0)
    assert len(cached(first)) == len(cached(second)) == 2
    assert all(16 < count <= 26 for count in (*cached(first), *cached(second)))


def test_bytes_are_divided_as_well() -> None:
    cluster = Cluster()
    settings = dataclasses.replace(
        FIRST, pull_batch=1, consume_threads=1, topic_pull_threshold_bytes=1 << 20
    )
    consumer = Consumer(cluster, settings=settings).start(listener=never)
    for _ in range(4):
        cluster.store("x" * 400_000)
    cluster.pass_time(1.0)
    assert cached(consumer) == [1, 0, 0, 0]


@pytest.mark.parametrize("bad", [0, 6_553_501])
def test_thresholds_are_validated(bad: int) -> None:
    with pytest.raises(ConfigurationError, match=r"topic_pull_threshold=.* whole number from 1 to"):
        dataclasses.replace(FIRST, topic_pull_threshold=bad)

"""Where a group begins in a queue, asked of a broker that has no progress of it."""

from __future__ import annotations

import pytest

from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.group.offset_store import RemoteOffsets
from gantrymq.client.core.group.start_offset import ConsumeFrom, StartOffsets
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

RETRY = "%RETRY%G"


def begins(consume_from: ConsumeFrom, topic: str, progress: Command) -> int:
    """In a queue with two messages, the second of them later than the time to begin at."""
    cluster = Cluster()
    cluster.add_topic(RETRY, queues=1)
    cluster.store("a", topic=topic)
    cluster.pass_time(10.0)
    timestamp_ms = cluster.driver.clock.wall_ms()
    cluster.pass_time(10.0)
    cluster.store("b", topic=topic)
    cluster.faults[RequestCode.QUERY_CONSUMER_OFFSET] = lambda *_: progress
    client = cluster.client("me@1")
    client.run(client.instance.route(topic))
    store = RemoteOffsets(client.instance, "G")
    starts = StartOffsets(client.instance, store, consume_from, timestamp_ms)
    return client.run(starts.of(MessageQueue(topic, "broker-a", 0)))


@pytest.mark.parametrize(
    ("consume_from", "topic", "expected"),
    [
        (ConsumeFrom.FIRST_OFFSET, "T", 0),
        (ConsumeFrom.LAST_OFFSET, "T", 2),
        (ConsumeFrom.TIMESTAMP, "T", 1),
        (ConsumeFrom.FIRST_OFFSET, RETRY, 0),
        (ConsumeFrom.LAST_OFFSET, RETRY, 0),
        (ConsumeFrom.TIMESTAMP, RETRY, 2),
    ],
)
def test_a_new_group_starts_where_it_is_configured(
    consume_from: ConsumeFrom, topic: str, expected: int
) -> None:
    assert begins(consume_from, topic, Command(ResponseCode.QUERY_NOT_FOUND)) == expected


@pytest.mark.parametrize("consume_from", ConsumeFrom)
def test_a_committed_offset_comes_first(consume_from: ConsumeFrom) -> None:
    progress = Command(ResponseCode.SUCCESS, ext={"offset": "7"})
    assert begins(consume_from, "T", progress) == 7


def test_an_error_is_not_a_start_offset() -> None:
    with pytest.raises(BrokerError):
        begins(ConsumeFrom.FIRST_OFFSET, "T", Command(ResponseCode.SYSTEM_ERROR))

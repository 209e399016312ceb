"""Pulls of one queue, against a broker."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import CorruptionError, RemoteError
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.client.core.group.subscriptions import Expression, Sql, subscription
from gantrymq.client.core.pull.pulls import (
    LITE_SETTINGS,
    PullSettings,
    PullStatus,
    QueuePulls,
    received,
)
from gantrymq.fakes.brokers.broker import IDENTITY
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.message import compression, properties, record
from gantrymq.wire.message.compression import CompressionType
from gantrymq.wire.message.record import Record
from gantrymq.wire.message.sys_flag import COMPRESSED

QUEUE = MessageQueue("T", "broker-a", 0)
FILTERS = PullSettings(sends_filter=True)


class World:
    def __init__(self, expression: Expression = "*", *, is_lite: bool = False) -> None:
        settings = BrokerSettings(enable_property_filter=True)
        self.cluster = Cluster(settings=settings)
        self.client = self.cluster.client("me@1")
        self.pulls = QueuePulls(
            self.client.instance,
            "G",
            QUEUE,
            subscription("T", expression, 5),
            LITE_SETTINGS if is_lite else FILTERS,
            is_lite=is_lite,
        )

    def pull(self, offset: int = 0) -> tuple[PullStatus, list[str], int]:
        result = self.client.run(self.pulls.pull(offset, may_hold=False))
        return result.status, [each.body.decode() for each in result.messages], result.next_offset


def test_messages_are_found_in_their_order() -> None:
    world = World()
    world.cluster.store("a", "b", "c")
    assert world.pull() == (PullStatus.FOUND, ["a", "b", "c"], 3)
    assert world.pull(3) == (PullStatus.NO_NEW, [], 3)
    assert world.pull(9) == (PullStatus.OFFSET_ILLEGAL, [], 3)


def test_a_message_has_its_queue_and_the_queues_bounds() -> None:
    world = World()
    world.cluster.store("a", "b", TAGS="x")
    result = world.client.run(world.pulls.pull(1))
    (message,) = result.messages
    assert (message.queue, message.offset, message.tag) == (QUEUE, 1, "x")
    assert message.properties["MIN_OFFSET"] == "0"
    assert message.properties["MAX_OFFSET"] == "2"
    assert (result.min_offset, result.max_offset) == (0, 2)


def test_a_tag_with_the_hash_of_another_is_left_out() -> None:
    world = World("Aa || other")
    world.cluster.store("collides", TAGS="BB")
    world.cluster.store("wanted", TAGS="Aa")
    assert world.pull() == (PullStatus.FOUND, ["wanted"], 2)
    world.cluster.store("no", TAGS="no")
    assert world.pull(2) == (PullStatus.NO_MATCHED, [], 3)


def test_a_broker_holds_a_pull_until_a_message_arrives() -> None:
    world = World()
    world.cluster.driver.at(7.0, lambda: world.cluster.store("late"))
    result = world.client.run(world.pulls.pull(0))
    assert [each.body for each in result.messages] == [b"late"]
    assert 7.0 <= world.cluster.driver.clock.monotonic() < 8.0


def test_a_pull_that_was_held_too_long_returns_nothing_new() -> None:
    world = World()
    assert world.client.run(world.pulls.pull(0)).status is PullStatus.NO_NEW
    assert 15.0 <= world.cluster.driver.clock.monotonic() < 21.0


def test_a_lite_pull_is_what_java_sends() -> None:
    world = World(is_lite=True)
    world.cluster.store("a")
    world.client.run(world.pulls.pull(0))
    (command,) = world.cluster.asked_of(RequestCode.LITE_PULL_MESSAGE)
    assert command.ext == {
        "ReqT": "0",
        "bname": "broker-a",
        "commitOffset": "0",
        "consumerGroup": "G",
        "expressionType": "TAG",
        "maxMsgBytes": "2147483647",
        "maxMsgNums": "10",
        "queueId": "0",
        "queueOffset": "0",
        "subVersion": "0",
        "subscription": "*",
        "suspendTimeoutMillis": "20000",
        "sysFlag": "22",
        "topic": "T",
    }


def test_a_pull_commits_the_offset() -> None:
    world = World()
    world.cluster.store("a", "b")
    world.client.run(world.pulls.pull(1, commit_offset=1))
    assert world.cluster.broker.state.offsets.find("G", "T", 0) == 1
    (command,) = world.cluster.asked_of(RequestCode.PULL_MESSAGE)
    assert (command.ext or {})["sysFlag"] == "7"


def test_a_brokers_refusal_is_raised() -> None:
    world = World(Sql("a >"))
    with pytest.raises(BrokerError) as refused:
        world.client.run(world.pulls.pull(0))
    assert refused.value.code == 23
    elsewhere = MessageQueue("T", "broker-z", 0)
    pulls = QueuePulls(world.client.instance, "G", elsewhere, subscription("T", "*", 0))
    with pytest.raises(RouteError, match=r"The broker\[broker-z\] not exist"):
        world.client.run(pulls.pull(0))


def stored(body: bytes, sys_flag: int = 0) -> bytes:
    host = IDENTITY.store_host
    return record.encode(
        Record(b"T", body, sys_flag=sys_flag, born_host=host, store_host=host, properties=b"")
    )


def test_a_body_is_decompressed_when_it_is_wanted() -> None:
    packed = compression.compress(CompressionType.ZLIB, b"plain" * 9)
    flag = compression.mark(0, CompressionType.ZLIB)
    everything = subscription("T", "*", 0)
    good, bad = received(
        stored(packed, flag) + stored(b"no stream", COMPRESSED), QUEUE, everything, (0, 2)
    )
    assert good.body == b"plain" * 9
    with pytest.raises(RemoteError):
        _ = bad.body


def test_a_damaged_record_is_not_passed_over() -> None:
    data = bytearray(stored(b"sound") + stored(b"broken"))
    data[-4] ^= 1
    with pytest.raises(CorruptionError):
        received(bytes(data), QUEUE, subscription("T", "*", 0), (0, 2))


def test_properties_of_an_unread_message_stay_as_they_are() -> None:
    world = World()
    world.cluster.store("a", color="red")
    (message,) = world.client.run(world.pulls.pull(0)).messages
    assert properties.parse(message.record.properties) == {"color": "red"}

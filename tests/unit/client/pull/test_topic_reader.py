"""Reading a topic without a group, against brokers in virtual time."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.client.core.errors import RouteError
from gantrymq.client.core.group.subscriptions import (
    Expression,
    Sql,
    SubscriptionError,
    subscription,
)
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.pull.topic_reader import LOOK_S, Begin, Beginning, TopicReader
from gantrymq.fakes.brokers.cluster import NAME_SERVER, Cluster
from gantrymq.remoting.failures import ConnectError
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode

FIRST = Beginning(Begin.FIRST)


class Reading:
    """A reader of T in a client of its own."""

    def __init__(
        self,
        cluster: Cluster,
        beginning: Beginning = FIRST,
        expression: Expression = "*",
        *queues: MessageQueue,
    ) -> None:
        self.client = cluster.client("me@1")
        self.reader = TopicReader(
            self.client.instance,
            subscription("T", expression, 0),
            beginning,
            wanted=lambda queue: not queues or queue in queues,
        )
        self.client.run(self.reader.start())
        cluster.driver.settle()

    def poll(self) -> list[ReceivedMessage]:
        return self.client.run(self.reader.poll(2.0))

    def all(self) -> list[str]:
        found: list[str] = []
        while some := self.poll():
            found += [each.body.decode() for each in some]
        return found


def test_all_queues_are_read_from_the_first_message() -> None:
    cluster = Cluster()
    for queue_id in range(4):
        cluster.store(f"{queue_id}a", f"{queue_id}b", queue_id=queue_id)
    found = Reading(cluster).all()
    assert sorted(found) == [f"{n}{letter}" for n in range(4) for letter in "ab"]
    for queue_id in range(4):
        assert found.index(f"{queue_id}a") < found.index(f"{queue_id}b")


def test_a_reader_leaves_no_offsets_at_the_broker() -> None:
    cluster = Cluster()
    cluster.store("a")
    reading = Reading(cluster)
    assert reading.all() == ["a"]
    reading.client.run(reading.reader.close())
    cluster.pass_time(60.0)
    state = cluster.broker.state
    assert list(state.offsets.groups_of("T")) == []
    codes = {command.code for _, command in cluster.asked}
    assert codes.isdisjoint({RequestCode.HEART_BEAT, RequestCode.UPDATE_CONSUMER_OFFSET})


def test_the_end_is_where_it_was_at_the_start() -> None:
    cluster = Cluster()
    cluster.store("old")
    reading = Reading(cluster, Beginning(Begin.LAST))
    cluster.store("new")
    assert reading.all() == ["new"]


def test_a_message_that_comes_later_is_not_waited_for_in_steps() -> None:
    cluster = Cluster()
    reading = Reading(cluster)
    assert reading.poll() == []
    pulls = len(cluster.asked)
    cluster.pass_time(10.0)
    assert len(cluster.asked) == pulls  # brokers hold the pulls
    cluster.store("late")
    assert reading.all() == ["late"]


def test_a_reader_starts_at_an_offset_or_a_time() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    cluster.pass_time(60.0)
    moment_ms = cluster.driver.clock.wall_ms()
    cluster.store("c")
    assert Reading(cluster, Beginning(Begin.OFFSET, 1)).all() == ["b", "c"]
    assert Reading(cluster, Beginning(Begin.MOMENT, moment_ms)).all() == ["c"]


def test_only_matching_messages_are_read() -> None:
    cluster = Cluster()
    cluster.store("a", TAGS="A")
    cluster.store("b", TAGS="B")
    cluster.store("c", queue_id=1, TAGS="A")
    assert Reading(cluster, FIRST, "A").all() == ["a", "c"]
    queue = MessageQueue("T", "broker-a", 1)
    assert Reading(cluster, FIRST, "*", queue).all() == ["c"]


def test_properties_are_filtered_by_the_broker() -> None:
    cluster = Cluster(settings=BrokerSettings(enable_property_filter=True))
    cluster.store("dear", price="9")
    cluster.store("cheap", price="1")
    assert Reading(cluster, FIRST, Sql("price > 3")).all() == ["dear"]


def test_a_broker_without_property_filters_is_an_error() -> None:
    cluster = Cluster(settings=BrokerSettings(enable_property_filter=False))
    with pytest.raises(SubscriptionError, match="SQL92"):
        Reading(cluster, FIRST, Sql("price > 3"))


def test_queues_added_later_are_read() -> None:
    cluster = Cluster()
    reading = Reading(cluster, Beginning(Begin.LAST))
    cluster.add_topic("T", queues=6)
    cluster.store("a", queue_id=5)
    cluster.pass_time(LOOK_S)
    assert reading.all() == ["a"]


def test_an_unreachable_broker_is_read_when_it_returns() -> None:
    cluster = Cluster("broker-a", "broker-b")
    cluster.store("a")
    cluster.store("b", broker_name="broker-b")
    cluster.stop("broker-b")
    reading = Reading(cluster)
    assert reading.all() == ["a"]
    cluster.restart("broker-b")
    cluster.pass_time(5.0)
    assert reading.all() == ["b"]


def test_new_queues_are_found_after_a_request_hook_failed() -> None:
    cluster = Cluster()
    reading = Reading(cluster)
    cluster.faults[NAME_SERVER] = lambda *_: ValueError("the hook's own")
    cluster.pass_time(LOOK_S)
    del cluster.faults[NAME_SERVER]
    cluster.add_topic("T", queues=6)
    cluster.pass_time(LOOK_S)
    cluster.store("new", queue_id=5)
    assert reading.all() == ["new"]


def test_an_unknown_topic_is_a_route_error() -> None:
    client = Cluster().client("me@1")
    reader = TopicReader(client.instance, subscription("None", "*", 0), FIRST)
    with pytest.raises(RouteError, match="No route info of this topic: None"):
        client.run(reader.start())


def test_a_start_fails_if_no_broker_answers() -> None:
    cluster = Cluster()
    client = cluster.client("me@1")
    client.run(client.instance.route("T"))
    cluster.stop("broker-a")
    reader = TopicReader(client.instance, subscription("T", "*", 0), FIRST)
    with pytest.raises(ConnectError):
        client.run(reader.start())


def test_the_buffer_is_bounded() -> None:
    cluster = Cluster()
    for queue_id in range(4):
        for _ in range(20):
            cluster.store(*(["x"] * 100), queue_id=queue_id)
    reading = Reading(cluster)
    cluster.pass_time(60.0)
    pulled = sum(command.code == RequestCode.PULL_MESSAGE for _, command in cluster.asked)
    assert pulled * 32 <= 4 * 600
    assert len(reading.all()) == 8000

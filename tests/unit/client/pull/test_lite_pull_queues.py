"""Pull consumers read the queues that they subscribe to or that are assigned to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.client.core.errors import StateError
from gantrymq.client.core.group.subscriptions import Sql, SubscriptionError
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.pull_consumers import FIRST, QUEUES, Reader
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_ONEWAY, Command


def test_an_assignment_is_replaced() -> None:
    cluster = Cluster()
    cluster.store("a", queue_id=0)
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    assert reader.poll() == ["a"]
    reader.client.run(reader.lite.assign([QUEUES[1]]))
    cluster.store("b", queue_id=0)
    cluster.store("c", queue_id=1)
    assert reader.poll_all() == ["c"]


def test_subscribing_and_assigning_exclude_each_other() -> None:
    reader = Reader(Cluster(), "me@1", FIRST, QUEUES[0])
    with pytest.raises(StateError, match="mutually exclusive"):
        reader.lite.subscribe("T")
    other = Reader(Cluster())
    other.lite.subscribe("T")
    with pytest.raises(StateError, match="mutually exclusive"):
        other.client.run(other.lite.assign([QUEUES[0]]))


def test_members_of_a_group_share_a_topic() -> None:
    cluster = Cluster()
    first = Reader(cluster, "a@1")
    first.lite.subscribe("T")
    cluster.pass_time(3.0)
    assert first.lite.assignment == QUEUES
    second = Reader(cluster, "b@1")
    second.lite.subscribe("T")
    cluster.pass_time(5.0)
    assert first.lite.assignment == QUEUES[:2]
    assert second.lite.assignment == QUEUES[2:]
    first.client.run(first.lite.close())
    cluster.pass_time(5.0)
    assert second.lite.assignment == QUEUES


def test_only_subscribed_tags_are_returned() -> None:
    cluster = Cluster()
    reader = Reader(cluster)
    reader.lite.subscribe("T", "Aa || x")
    cluster.store("wanted", TAGS="Aa")
    cluster.store("other", TAGS="BB")
    cluster.store("wanted too", TAGS="x")
    assert reader.poll_all() == ["wanted", "wanted too"]


def test_messages_sent_after_a_filter_change_are_returned() -> None:
    """A pull with the old filter, which the broker still holds, would skip the message."""
    cluster = Cluster()
    reader = Reader(cluster)
    reader.lite.subscribe("T", "x")
    assert reader.poll() == []
    reader.lite.subscribe("T", "y")
    cluster.store("wanted", TAGS="y")
    assert reader.poll(timeout_s=30.0) == ["wanted"]


def test_messages_sent_after_an_assignment_with_another_filter_are_returned() -> None:
    cluster = Cluster()
    reader = Reader(cluster)
    for expression in ("x", "y"):
        reader.client.run(reader.lite.assign(QUEUES, expression))
        assert reader.poll() == []
    cluster.store("wanted", TAGS="y")
    assert reader.poll(timeout_s=30.0) == ["wanted"]


def test_an_unsubscribed_topic_returns_no_messages() -> None:
    cluster = Cluster()
    reader = Reader(cluster)
    reader.lite.subscribe("T")
    cluster.pass_time(3.0)
    reader.lite.unsubscribe("T")
    cluster.pass_time(3.0)
    assert reader.lite.assignment == []
    cluster.store("a")
    assert reader.poll() == []


def test_a_refused_expression_is_raised_by_poll() -> None:
    cluster = Cluster(settings=BrokerSettings(enable_property_filter=True))
    reader = Reader(cluster)
    reader.lite.subscribe("T", Sql("a >"))
    with pytest.raises(SubscriptionError, match="SUBSCRIPTION_PARSE_FAILED"):
        reader.poll()
    reader.lite.subscribe("T", Sql("a > 1"))
    cluster.store("low", a="1")
    cluster.store("high", a="2")
    cluster.pass_time(3.0)
    assert reader.poll_all() == ["high"]


def test_listener_is_called_when_a_topic_gets_queues() -> None:
    cluster = Cluster()
    reader = Reader(cluster)
    heard: list[tuple[str, int]] = []
    reader.lite.on_queues_changed("T", lambda topic, now: heard.append((topic, len(now))))
    cluster.pass_time(60.0)
    assert heard == []
    cluster.add_topic("T", queues=6)
    cluster.pass_time(31.0)
    assert heard == [("T", 6)]


def test_allocation_strategy_that_fails_once_is_called_again() -> None:
    cluster = Cluster()
    cluster.store("a")
    calls: list[str] = []

    def mine(own: str, queues: Sequence[MessageQueue], ids: Sequence[str]) -> list[MessageQueue]:
        calls.append(own)
        if len(calls) == 1:
            raise ValueError("once")
        return list(queues)

    reader = Reader(cluster, "me@1", replace(FIRST, allocate=mine))
    reader.lite.subscribe("T")
    assert reader.poll(10.0) == ["a"]


def sharing(cluster: Cluster, during_change: Callable[[Reader], None]) -> Reader:
    """Return a consumer whose share of the queues changed.

    `during_change` runs while it commits the offset of the queue that it gives up.
    """
    share = [slice(0, 2)]

    def mine(_own: str, queues: list[MessageQueue], _ids: list[str]) -> list[MessageQueue]:
        return queues[share[0]]

    reader = Reader(cluster, "me@1", replace(FIRST, allocate=mine))
    reader.lite.subscribe("T")
    cluster.pass_time(5.0)
    assert reader.lite.assignment == QUEUES[:2]

    def meanwhile(_address: str, command: Command) -> Command:
        if not command.flag & FLAG_ONEWAY:
            cluster.faults.clear()
            during_change(reader)
        return command

    assert reader.poll_all() == ["a"]
    cluster.faults[RequestCode.UPDATE_CONSUMER_OFFSET] = meanwhile
    share[0] = slice(1, 3)
    cluster.pass_time(30.0)
    assert not cluster.faults
    return reader


def test_a_topic_can_be_unsubscribed_during_a_rebalance() -> None:
    cluster = Cluster(topics={"T": 4, "T2": 4})
    cluster.store("a")
    reader = sharing(cluster, lambda reader: reader.lite.unsubscribe("T"))
    assert reader.lite.assignment == []
    reader.lite.subscribe("T2")
    cluster.pass_time(5.0)
    assert {queue.topic for queue in reader.lite.assignment} == {"T2"}


def test_queues_can_be_assigned_while_others_are_released() -> None:
    cluster = Cluster()
    cluster.store("a")

    def assign(reader: Reader) -> None:
        reader.lite.unsubscribe("T")
        cluster.driver.start(reader.lite.assign(QUEUES[3:]), "assign", "me@1")

    reader = sharing(cluster, assign)
    assert reader.lite.assignment == QUEUES[3:]


def test_a_subscription_replaces_an_older_one_whatever_the_clock_says() -> None:
    """The clock may have been set back; brokers keep the higher version."""
    cluster = Cluster()
    reader = Reader(cluster)
    versions = []
    for expression in ("*", "a", "b"):
        reader.lite.subscribe("T", expression)
        versions += [each.sub_version for each in reader.lite.data.subscriptions]
    assert versions == sorted(set(versions))

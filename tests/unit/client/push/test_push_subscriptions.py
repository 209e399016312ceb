"""Push consumers subscribe to topics with a filter, and can change that at any time."""

from __future__ import annotations

import pytest

from gantrymq.client.core.group.subscriptions import Sql, SubscriptionError
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.consumers import Consumer, stored_offset


def test_topics_can_be_subscribed_and_unsubscribed_at_any_time() -> None:
    cluster = Cluster()
    cluster.add_topic("U", queues=1)
    cluster.store("t")
    cluster.store("u", topic="U")
    consumer = Consumer(cluster).start()
    consumer.member.subscribe("U", "*", consumer.listen)
    cluster.pass_time(3.0)
    assert consumer.bodies == ["t", "u"]
    consumer.member.unsubscribe("T")
    cluster.pass_time(3.0)
    assert consumer.queues == [("broker-a", 0)]


def test_tags_are_compared_by_the_consumer_as_well() -> None:
    cluster = Cluster()
    cluster.store("a", TAGS="Aa")
    cluster.store("b", TAGS="BB")  # has the same hash
    consumer = Consumer(cluster)
    consumer.member.subscribe("T", "BB", consumer.listen)
    consumer.client.instance.start()
    consumer.client.run(consumer.member.start())
    cluster.pass_time(6.0)
    assert consumer.bodies == ["b"]
    assert stored_offset(cluster) == 2


def test_a_refused_filter_fails_the_start() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster)
    consumer.member.subscribe("T", Sql("a >"), consumer.listen)
    with pytest.raises(SubscriptionError):
        consumer.client.run(consumer.member.start())


def test_a_subscription_replaces_an_older_one_whatever_the_clock_says() -> None:
    """The clock may have been set back; brokers keep the higher version."""
    consumer = Consumer(Cluster()).start()
    versions = []
    for expression in ("*", "a", "b"):
        consumer.member.subscribe("T", expression, consumer.listen)
        versions += [each.sub_version for each in consumer.member.data.subscriptions]
    consumer.cluster.pass_time(0.1)
    of_topic = versions[1::2]
    assert of_topic == sorted(set(of_topic))

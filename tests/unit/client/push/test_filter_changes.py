"""What is subscribed to changes while a push consumer runs, in virtual time.

What is sent after `subscribe` has returned comes, however late the brokers hear of it.
"""

from __future__ import annotations

import pytest

from gantrymq.client.core.group.subscriptions import Expression, Sql
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.fakes.brokers.cluster import Answer, Cluster
from gantrymq.fakes.brokers.consumers import Consumer
from gantrymq.fakes.flows import Late
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command


def running(cluster: Cluster, expression: Expression, patience_s: float = 3.0) -> Consumer:
    """A consumer of T whose pulls are held. It waits so long for answers to its heartbeats."""
    settings = ClientSettings(api_timeout_s=patience_s)
    consumer = Consumer(cluster, client_settings=settings).start()
    consumer.member.subscribe("T", expression, consumer.listen)
    cluster.pass_time(20.0)
    return consumer


def answers_late(cluster: Cluster, *seconds: float) -> None:
    """The broker hears heartbeats at once; so much later the client hears that it did."""
    waits = list(seconds)

    def late(address: str, command: Command) -> Answer:
        answer = cluster.served(address, command)
        assert isinstance(answer, Command)
        return Late(answer, waits.pop(0) if waits else 0.0)

    cluster.faults[RequestCode.HEART_BEAT] = late


@pytest.mark.parametrize("wanted", ["b", Sql("TAGS = 'b'")])
def test_messages_of_the_new_filter_are_delivered_before_the_heartbeat_ends(
    wanted: Expression,
) -> None:
    """By the new filter, for a pull of before; the tags of before would leave it out."""
    cluster = Cluster()
    consumer = running(cluster, "a")
    answers_late(cluster, 0.5)
    consumer.member.subscribe("T", wanted, consumer.listen)
    cluster.pass_time(0.1)
    cluster.store("1", TAGS="b")
    cluster.pass_time(2.0)
    assert consumer.bodies == ["1"]


def test_messages_that_the_old_filter_skipped_are_delivered() -> None:
    cluster = Cluster()
    consumer = running(cluster, "a", patience_s=10.0)
    cluster.faults[RequestCode.HEART_BEAT] = silent
    consumer.member.subscribe("T", "b", consumer.listen)
    cluster.store("1", TAGS="b")
    cluster.pass_time(9.0)  # the broker says after five that it is passed over
    assert consumer.bodies == []
    del cluster.faults[RequestCode.HEART_BEAT]
    cluster.pass_time(60.0)
    assert consumer.bodies == ["1"]


def silent(address: str, command: Command) -> None:
    del address, command


def test_a_repeated_filter_is_a_new_subscription() -> None:
    """What was passed over by the one between comes."""
    cluster = Cluster()
    consumer = running(cluster, "a")
    consumer.member.subscribe("T", "b", consumer.listen)
    cluster.pass_time(0.1)
    cluster.store("1", TAGS="a")
    consumer.member.subscribe("T", "a", consumer.listen)
    cluster.pass_time(10.0)
    assert consumer.bodies == ["1"]


def test_heartbeats_can_end_in_another_order() -> None:
    """What the last one told is what brokers know, and what pulls go by."""
    cluster = Cluster()
    cluster.add_topic("U", queues=1)
    consumer = running(cluster, "a")
    answers_late(cluster, 2.0, 0.0)
    consumer.member.subscribe("T", "b", consumer.listen)
    cluster.driver.settle()
    consumer.member.subscribe("U", "*", consumer.listen)
    cluster.pass_time(30.0)
    cluster.store("1", TAGS="b")
    cluster.store("2", topic="U")
    cluster.pass_time(5.0)
    assert consumer.bodies == ["1", "2"]


def test_a_subscription_is_removed_and_replaced_at_once() -> None:
    cluster = Cluster()
    consumer = running(cluster, "a")
    for expression in ("b", "c"):
        consumer.member.unsubscribe("T")
        consumer.member.subscribe("T", expression, consumer.listen)
        cluster.driver.settle()
    cluster.store("1", TAGS="c")
    cluster.pass_time(10.0)
    assert consumer.bodies == ["1"]


def test_a_broker_that_missed_a_heartbeat_gets_another() -> None:
    """It refuses what it was not told of."""
    cluster = Cluster()
    consumer = running(cluster, "a")
    lost = [None]

    def once(address: str, command: Command) -> Answer:
        del address
        return lost.pop() if lost else command

    cluster.faults[RequestCode.HEART_BEAT] = once
    consumer.member.subscribe("T", "b", consumer.listen)
    cluster.pass_time(3.5)
    cluster.store("1", TAGS="a")
    cluster.store("2", TAGS="b")
    cluster.pass_time(3.0)  # the next heartbeat of itself is later
    assert consumer.bodies == ["2"]


def test_messages_of_an_unsubscribed_topic_are_not_consumed() -> None:
    cluster = Cluster()
    consumer = running(cluster, "*")
    consumer.member.unsubscribe("T")
    cluster.store("1")
    cluster.pass_time(5.0)
    assert not cluster.asked_of(RequestCode.CONSUMER_SEND_MSG_BACK)
    consumer.member.subscribe("T", "*", consumer.listen)
    cluster.pass_time(5.0)
    assert consumer.bodies == ["1"]

"""Members of a push group share its queues; those of a broadcast group each get everything."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.client.core.errors import StateError
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.client.core.message.outcomes import LATER
from gantrymq.client.core.push.push_consumer import PushGroupMember
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.consumers import FIRST, Consumer, stored_offset
from gantrymq.wire.codes import RequestCode

BROADCAST = dataclasses.replace(FIRST, broadcasting=True)


def test_members_share_queues_as_they_come_and_go() -> None:
    cluster = Cluster("broker-a", "broker-b")
    every = [(name, number) for name in ("broker-a", "broker-b") for number in range(4)]
    first = Consumer(cluster, "c@1").start()
    assert first.queues == every
    second = Consumer(cluster, "c@2").start()
    cluster.pass_time(3.0)
    assert (first.queues, second.queues) == (every[:4], every[4:])
    third = Consumer(cluster, "c@3").start()
    cluster.pass_time(3.0)
    assert [*first.queues, *second.queues, *third.queues] == every
    second.close()
    cluster.pass_time(3.0)
    assert [*first.queues, *third.queues] == every


def test_nothing_is_lost_while_members_come_and_go() -> None:
    cluster = Cluster()
    sent: list[str] = []

    def send() -> None:
        for queue_id in range(4):
            sent.append(f"{len(sent)}")
            cluster.store(sent[-1], queue_id=queue_id)
        cluster.pass_time(1.0)

    members = [Consumer(cluster, f"c@{number}") for number in range(3)]
    for member in members:
        member.start()
        for _ in range(5):
            send()
    for member in members[:2]:
        member.close()
        for _ in range(5):
            send()
    members[2].close()
    assert {body for member in members for body in member.bodies} == set(sent)
    for queue_id in range(4):
        assert stored_offset(cluster, queue_id) == len(sent) // 4


def test_each_member_of_a_broadcast_group_gets_every_message() -> None:
    cluster = Cluster()
    cluster.store("a")
    hosts = [ClientSettings(client_ip=f"10.0.0.{number}") for number in (1, 2)]
    members = [
        Consumer(cluster, f"{each.client_ip}@x", BROADCAST, client_settings=each).start()
        for each in hosts
    ]
    assert [member.bodies for member in members] == [["a"], ["a"]]
    members[0].close()
    assert "/home/offsets/10.0.0.1@DEFAULT/G/offsets.json" in cluster.driver.files
    cluster.store("b")
    again = Consumer(cluster, "10.0.0.1@y", BROADCAST, client_settings=hosts[0]).start()
    assert again.bodies == ["b"]
    assert not cluster.asked_of(RequestCode.UPDATE_CONSUMER_OFFSET)


def test_broadcast_group_drops_messages_that_fail() -> None:
    cluster = Cluster()
    cluster.store("a")
    consumer = Consumer(cluster, settings=BROADCAST, outcome=lambda _: LATER).start()
    cluster.pass_time(60.0)
    assert consumer.bodies == ["a"]
    assert any("BROADCASTING, the message consume failed" in line for line in cluster.driver.lines)


def test_a_second_consumer_of_a_group_does_not_end_the_first() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster).start()
    second = PushGroupMember(consumer.client.instance, "G", FIRST)
    with pytest.raises(StateError, match=r"group\[G\] has been created before"):
        consumer.client.run(second.start())
    consumer.client.run(second.close())
    cluster.store("a")
    cluster.pass_time(0.1)
    assert consumer.bodies == ["a"]
    assert not cluster.asked_of(RequestCode.UNREGISTER_CLIENT)


@pytest.mark.parametrize("group", ["", "a b", "DEFAULT_CONSUMER"])
def test_invalid_group_names_are_refused(group: str) -> None:
    with pytest.raises(StateError):
        Consumer(Cluster(), group=group)

"""Taking and giving up queues, and what keeps a member from either."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.client.core.flow.flow_steps import FOREVER, Wait
from gantrymq.client.core.group.allocation import MachineRoom
from gantrymq.client.core.group.process_queue import PULL_IDLE_S
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.consumers import FIRST, Consumer
from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import HeartbeatData
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

ORDERLY = dataclasses.replace(FIRST, orderly=True)


def refuse(cluster: Cluster, code: RequestCode, times: int) -> None:
    left = [times]

    def without(address: str, command: Command) -> Command:
        del address
        if not left[0]:
            return command
        left[0] -= 1
        return Command(ResponseCode.SYSTEM_ERROR, remark="not now")

    cluster.faults[code] = without


def test_without_a_member_list_queues_are_not_taken() -> None:
    cluster = Cluster()
    refuse(cluster, RequestCode.GET_CONSUMER_LIST_BY_GROUP, 4)
    consumer = Consumer(cluster).start()
    assert consumer.queues == []
    assert any("share of queues unknown, retrying topic=T" in line for line in cluster.driver.lines)
    cluster.pass_time(3.0)
    assert len(consumer.queues) == 4


def test_another_broker_is_asked_for_the_member_list() -> None:
    cluster = Cluster("broker-a", "broker-b")
    cluster.stop("broker-a")
    consumer = Consumer(cluster).start()
    cluster.pass_time(3.0)
    assert [name for name, _ in consumer.queues] == ["broker-b"] * 4


def test_a_queue_is_taken_once_its_start_offset_is_known() -> None:
    cluster = Cluster()
    cluster.store("a")
    refuse(cluster, RequestCode.QUERY_CONSUMER_OFFSET, 2)
    consumer = Consumer(cluster, settings=ORDERLY).start()
    assert len(consumer.queues) == 3
    assert cluster.asked_of(RequestCode.UNLOCK_BATCH_MQ), "others may have it meanwhile"
    cluster.pass_time(3.0)
    assert len(consumer.queues) == 4
    assert consumer.bodies == ["a"]


def test_a_changed_share_renews_the_subscription_at_brokers() -> None:
    cluster = Cluster()
    first = Consumer(cluster, "c@1").start()
    before = version_told(cluster, "c@1")
    Consumer(cluster, "c@2").start()
    cluster.pass_time(3.0)
    assert version_told(cluster, "c@1") > before
    assert len(first.queues) == 2


def version_told(cluster: Cluster, client_id: str) -> int:
    beats = [
        HeartbeatData.from_json(javajson.loads(command.body))
        for command in cluster.asked_of(RequestCode.HEART_BEAT)
    ]
    last = [beat for beat in beats if beat.client_id == client_id][-1]
    return max(each.sub_version for each in last.consumers[0].subscriptions if each.topic == "T")


def test_a_queue_whose_pulls_ended_is_taken_anew() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster).start()
    for flow in cluster.driver.flows:
        if flow.name == "pull T broker-a 0":
            flow.cancel()
    cluster.store("a")
    cluster.pass_time(PULL_IDLE_S)
    assert consumer.bodies == []
    cluster.pass_time(25.0)
    assert consumer.bodies == ["a"]


def test_more_members_than_queues_leave_some_without() -> None:
    cluster = Cluster()
    members = [Consumer(cluster, f"c@{number}").start() for number in range(5)]
    cluster.pass_time(3.0)
    assert [len(member.queues) for member in members] == [1, 1, 1, 1, 0]
    members[0].close()
    cluster.pass_time(3.0)
    assert [len(member.queues) for member in members[1:]] == [1, 1, 1, 1]


def test_a_user_defined_strategy_is_used() -> None:
    cluster = Cluster()
    settings = dataclasses.replace(FIRST, allocate=MachineRoom(frozenset({"elsewhere"})))
    assert Consumer(cluster, settings=settings).start().queues == []


@pytest.mark.parametrize("share", [None, "T", [("T", "broker-a", 0)]])
def test_an_invalid_share_releases_no_queue(share: object) -> None:
    cluster = Cluster()
    shares: list[object] = []

    def mine(_own: str, queues: list[MessageQueue], _ids: list[str]) -> list[MessageQueue]:
        return shares[0] if shares else queues  # type: ignore[return-value]  # as careless users do

    consumer = Consumer(cluster, settings=dataclasses.replace(FIRST, allocate=mine)).start()
    shares.append(share)
    cluster.pass_time(60.0)
    assert len(consumer.queues) == 4
    assert any("is no list of queues" in line for line in cluster.driver.lines)
    shares.clear()
    cluster.pass_time(5.0)
    assert len(consumer.queues) == 4


def test_a_new_queue_is_found_when_its_route_is() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster).start()
    cluster.add_topic("T", queues=6)
    cluster.pass_time(35.0)
    assert len(consumer.queues) == 6


def test_a_missing_topic_is_polled_with_growing_pauses() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster).start("late")
    asked = []
    for _ in range(4):
        before = len(cluster.asked_of(RequestCode.GET_ROUTEINFO_BY_TOPIC))
        cluster.pass_time(15.0)
        codes = cluster.asked_of(RequestCode.GET_ROUTEINFO_BY_TOPIC)[before:]
        asked.append(len([each for each in codes if (each.ext or {})["topic"] == "late"]))
    assert asked[0] > 2 >= max(asked[2:])
    consumer.member.subscribe("later", "*", consumer.listen)
    cluster.pass_time(2.0)
    cluster.add_topic("later", queues=1)
    cluster.pass_time(3.0)
    assert consumer.queues == [("broker-a", 0)]


def test_messages_of_a_dead_member_go_to_the_others() -> None:
    cluster = Cluster()
    cluster.store("a", "b", queue_id=0)

    async def hang(messages: list[ReceivedMessage]) -> None:
        del messages
        await Wait(FOREVER)

    first = Consumer(cluster, "c@1").start(listener=hang)
    cluster.pass_time(20.0)
    second = Consumer(cluster, "c@2").start()
    cluster.pass_time(3.0)
    assert second.bodies == []
    cluster.die(first.client.id)
    cluster.pass_time(3.0)
    assert second.bodies == ["a", "b"]

"""Tests that a checkup finds common misconfigurations, and none in a sound cluster."""

from __future__ import annotations

import pytest

from gantrymq.client.core.admin.asking import Each
from gantrymq.client.core.admin.checkup.checkup import check_up
from gantrymq.client.core.admin.checkup.checkup_brokers import broker_findings
from gantrymq.client.core.admin.checkup.checkup_groups import _conflicts, _members
from gantrymq.client.core.admin.checkup.findings import Finding, Level
from gantrymq.fakes.brokers.cluster import NAME_SERVER, Cluster, gone
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.fakes.brokers.sends import message
from gantrymq.remoting.failures import ConnectError
from gantrymq.testing.memory_servers import LocalPeer, NameServerInMemory
from gantrymq.wire.bodies.connections import Connection, ConsumerConnection
from gantrymq.wire.bodies.consuming.queue_stats import ConsumedOffset, ConsumeStats
from gantrymq.wire.bodies.shared import MessageQueue, TopicConfig
from gantrymq.wire.codes import RequestCode

NOW_MS = 1_700_000_000_000


def found(cluster: Cluster) -> list[tuple[str, str]]:
    """Subject and text of what is wrong."""
    return [(each.subject, each.what) for each in cluster.run(check_up(cluster.admin))]


def test_a_sound_cluster_has_no_findings() -> None:
    cluster = Cluster("broker-a", "broker-b", topics={})
    cluster.add_topic("T")
    assert found(cluster) == []


def test_an_unreachable_broker_is_a_finding() -> None:
    cluster = Cluster("broker-a", "broker-b", topics={})
    cluster.faults[cluster.addresses[1]] = gone
    (broker,) = found(cluster)
    assert broker[0] == f"broker {cluster.addresses[1]}"
    assert "cannot be reached from here" in broker[1]


def test_an_unreachable_name_server_is_a_finding() -> None:
    cluster = Cluster(topics={})
    cluster.faults[NAME_SERVER] = gone
    assert found(cluster)[0][0] == f"name server {NAME_SERVER}"


def test_a_cluster_without_brokers_is_a_finding() -> None:
    cluster = Cluster(topics={})
    cluster.brokers = {}
    cluster.name_server = NameServerInMemory(cluster.driver.timeline)
    assert found(cluster) == [("clusters", "no broker is registered")]


def test_a_topic_on_only_one_broker_is_a_finding() -> None:
    cluster = Cluster("broker-a", "broker-b", topics={})
    cluster.run(cluster.admin.topics.create(cluster.addresses[:1], TopicConfig("T"))).all()
    (topic,) = found(cluster)
    assert topic[0] == "topic T"
    assert topic[1].startswith("only broker-a has it, of 2 brokers")


def test_a_topic_without_a_writable_queue_is_a_finding() -> None:
    cluster = Cluster(topics={})
    config = TopicConfig("T", write_queue_nums=0)
    cluster.run(cluster.admin.topics.create(cluster.addresses, config)).all()
    assert ("topic T", "no queue of it can be written") in found(cluster)


def test_a_wiped_write_permission_is_a_finding() -> None:
    cluster = Cluster(topics={})
    cluster.add_topic("T")
    cluster.run(cluster.admin.name_servers.wipe_write("broker-a")).all()
    whats = [what for subject, what in found(cluster) if subject == "topic T"]
    assert "its write permission at broker-a was wiped at the name servers" in whats


def test_a_group_without_members_is_a_finding() -> None:
    cluster = Cluster(topics={})
    cluster.add_topic("T", queues=1)
    broker = cluster.broker
    channel = LocalPeer("10.0.0.1:1")
    beat(broker, channel, consumer("G", "T"))
    broker.ask(RequestCode.SEND_MESSAGE_V2, message(queues=1), b"body")
    queue = MessageQueue("T", "broker-a", 0)
    cluster.run(cluster.admin.offsets.move(cluster.addresses[0], "G", queue, 0))
    broker.server.closed(channel)
    assert ("group G", "1 messages wait for it, and it has no member") in found(cluster)


def test_dead_letters_are_a_finding() -> None:
    cluster = Cluster(topics={})
    cluster.add_topic("%DLQ%G", queues=1)
    broker = cluster.broker
    broker.ask(RequestCode.SEND_MESSAGE_V2, message("%DLQ%G", queues=1), b"body")
    (group,) = found(cluster)
    assert group == ("group G", "1 messages failed as often as they may: they wait in %DLQ%G")


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        ({"commitLogDiskRatio": "0.8"}, "its disk is 80% full"),
        ({"dispatchBehindBytes": str(1 << 30)}, "1024 MiB of messages are stored"),
        ({"pageCacheLockTimeMills": "2000"}, "waiting for the disk for 2000 ms"),
        (
            {
                "bootTimestamp": str(NOW_MS - 100_000),
                "runtime": "[ 0 days, 0 hours, 0 minutes, 30 seconds ]",
            },
            "are 70 s apart",
        ),
    ],
)
def test_wrong_runtime_figures_are_findings(figures: dict[str, str], text: str) -> None:
    (one,) = broker_findings(NOW_MS, Each({"b:1": figures}))
    assert text in one.what


def test_a_loopback_address_of_a_broker_is_a_finding() -> None:
    figures: Each[dict[str, str]] = Each({"127.0.0.1:10911": {}, "10.0.0.2:10911": {}})
    (one,) = broker_findings(NOW_MS, figures)
    assert (one.subject, one.level) == ("broker 127.0.0.1:10911", Level.ERROR)
    failed: Each[dict[str, str]] = Each({}, {"b:1": ConnectError("refused")})
    assert broker_findings(NOW_MS, failed)[0].what.endswith("refused")


def members(*connections: tuple[str, str]) -> list[Finding]:
    consumers = ConsumerConnection(
        connections=tuple(Connection(address, name, "JAVA", 479) for name, address in connections),
        consume_from_where="CONSUME_FROM_LAST_OFFSET",
        consume_type="CONSUME_PASSIVELY",
        message_model="CLUSTERING",
    )
    progress = ConsumeStats({MessageQueue("T", "broker-a", 0): ConsumedOffset(1, 1)})
    return list(_members("G", consumers, progress))


def test_two_clients_with_one_id_are_a_finding() -> None:
    (one,) = members(("c", "10.0.0.1:1"), ("c", "10.0.0.2:1"))
    assert one.what.startswith("2 connections call themselves c")


def test_more_members_than_queues_are_a_finding() -> None:
    (one,) = members(("c", "10.0.0.1:1"), ("d", "10.0.0.2:1"))
    assert one.what == "has 2 members for 1 queues of T: the others idle"
    assert members(("c", "10.0.0.1:1")) == []


def test_members_with_different_subscriptions_are_a_finding() -> None:
    def running(tags: str) -> dict[str, object]:
        one = {"topic": "T", "expressionType": "TAG", "subString": tags, "subVersion": len(tags)}
        return {"subscriptionSet": [one]}

    agreed = {"a": running("*"), "b": running("*")}
    assert list(_conflicts("G", agreed)) == []  # type: ignore[arg-type]  # JSON all the same
    odd = {**agreed, "c": running("x")}
    (one,) = _conflicts("G", odd)  # type: ignore[arg-type]  # as above
    assert "messages stay unread: c differ" in one.what

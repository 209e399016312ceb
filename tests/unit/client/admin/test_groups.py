"""Tests administration of groups, their offsets and their messages, in virtual time."""

from __future__ import annotations

import pytest

from gantrymq.client.core.errors import BrokerError
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.fakes.brokers.sends import UNIQUE, message
from gantrymq.testing.memory_servers import LocalPeer
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode

QUEUE = MessageQueue("T", "broker-a", 0)


@pytest.fixture
def cluster() -> Cluster:
    """A topic with three messages, and a group that has consumed one of them."""
    cluster = Cluster(topics={})
    cluster.add_topic("T", queues=1)
    broker = cluster.broker
    for number in range(3):
        header = message(
            queues=1,
            properties={"UNIQ_KEY": f"{UNIQUE[:-1]}{number}", "KEYS": "k", "TAGS": "odd even"[:4]},
        )
        answer = broker.ask(RequestCode.SEND_MESSAGE_V2, header, b"body %d" % number)
        assert answer.code == 0, answer.remark
    beat(broker, LocalPeer("10.0.0.1:1"), consumer("G", "T"), producers=("P",), client_id="c@1")
    cluster.run(cluster.admin.offsets.move(cluster.addresses[0], "G", QUEUE, 1))
    return cluster


def test_progress_of_a_group_is_read(cluster: Cluster) -> None:
    progress = cluster.run(cluster.admin.groups.progress("G"))
    offsets = progress.queues[QUEUE]
    assert (offsets.broker_offset, offsets.consumer_offset) == (3, 1)
    assert "G" in cluster.run(cluster.admin.groups.names())
    assert "G" in cluster.run(cluster.admin.topics.groups("T"))


def test_connected_clients_are_listed(cluster: Cluster) -> None:
    connections = cluster.admin.connections
    consumers = cluster.run(connections.consumers("G"))
    assert [each.client_id for each in consumers.connections] == ["c@1"]
    assert set(consumers.subscriptions) == {"T"}
    producers = cluster.run(connections.producers("P", "T"))
    assert [each.client_id for each in producers.connections] == ["c@1"]
    assert "P" in cluster.run(connections.all_producers(cluster.addresses[0])).groups


def test_an_unknown_group_is_refused(cluster: Cluster) -> None:
    with pytest.raises(BrokerError) as refused:
        cluster.run(cluster.admin.groups.progress("none"))
    assert refused.value.code == ResponseCode.TOPIC_NOT_EXIST


def test_offsets_are_reset_to_a_moment(cluster: Cluster) -> None:
    assert cluster.run(cluster.admin.offsets.reset("G", "T", 0)) == {QUEUE: 0}
    address = cluster.addresses[0]
    one = cluster.admin.offsets.reset_at(address, "G", "T", 0, queue_id=0, offset=2)
    assert cluster.run(one) == {QUEUE: 2}


def test_offsets_of_a_queue(cluster: Cluster) -> None:
    address, offsets = cluster.addresses[0], cluster.admin.offsets
    assert cluster.run(offsets.first(address, QUEUE)) == 0
    assert cluster.run(offsets.end(address, QUEUE)) == 3
    assert cluster.run(offsets.at(address, QUEUE, 0)) == 0
    assert cluster.run(offsets.of(address, "G", QUEUE)) == 1
    assert cluster.run(offsets.first_stored_ms(address, QUEUE)) > 0


def test_offsets_are_cloned(cluster: Cluster) -> None:
    address = cluster.addresses[0]
    cluster.run(cluster.admin.groups.create([address], GroupConfig(group_name="H"))).all()
    cluster.run(cluster.admin.offsets.clone(address, "G", "H", "T"))
    assert cluster.run(cluster.admin.offsets.of(address, "H", QUEUE)) == 1


def test_a_group_lives(cluster: Cluster) -> None:
    address, groups = cluster.addresses[0], cluster.admin.groups
    config = GroupConfig(group_name="H", retry_max_times=3)
    cluster.run(groups.create([address], config)).all()
    assert cluster.run(groups.config(address, "H")) == config
    assert cluster.run(groups.configs(address))["H"] == config
    cluster.run(groups.delete([address], "H", with_offsets=True)).all()
    assert "H" not in cluster.run(groups.configs(address))


def test_messages_are_found(cluster: Cluster) -> None:
    messages = cluster.admin.messages
    by_key = cluster.run(messages.by_key("T", "k"))
    assert sorted(each.body for each in by_key) == [b"body 0", b"body 1", b"body 2"]
    assert cluster.run(messages.by_key("T", "none")) == []
    (one,) = cluster.run(messages.by_key("T", f"{UNIQUE[:-1]}1", is_unique=True))
    assert one.body == b"body 1"
    assert cluster.run(messages.by_offset_id(one.offset_id, "T")).body == b"body 1"


def test_messages_are_read_without_consuming_them(cluster: Cluster) -> None:
    address, messages = cluster.addresses[0], cluster.admin.messages
    pulled = cluster.run(messages.pull(address, QUEUE, 1))
    assert [each.body for each in pulled.messages] == [b"body 1", b"body 2"]
    assert (pulled.status, pulled.next_offset, pulled.end_offset) == ("FOUND", 3, 3)
    assert cluster.run(cluster.admin.offsets.of(address, "G", QUEUE)) == 1
    units = cluster.run(messages.units(address, QUEUE, 0, 10))
    assert units is not None
    assert (units.maximum, len(units.units)) == (3, 3)


def test_nothing_more_to_read_is_no_error(cluster: Cluster) -> None:
    address = cluster.addresses[0]
    pulled = cluster.run(cluster.admin.messages.pull(address, QUEUE, 3))
    assert (pulled.status, pulled.messages) == ("NO_NEW_MSG", ())
    beyond = cluster.run(cluster.admin.messages.pull(address, QUEUE, 99))
    assert (beyond.status, beyond.next_offset) == ("OFFSET_ILLEGAL", 3)

"""Tests how an administrator creates, finds and deletes topics, in virtual time."""

from __future__ import annotations

import pytest

from gantrymq.client.core.admin.administration import QUEUES
from gantrymq.client.core.admin.topics import readable
from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.fakes.brokers.cluster import NAME_SERVER, Cluster, gone
from gantrymq.remoting.failures import ConnectError
from gantrymq.wire.bodies.route import BrokerData
from gantrymq.wire.bodies.shared import MessageQueue, TopicConfig
from gantrymq.wire.codes import ResponseCode


def test_a_created_topic_is_found() -> None:
    cluster = Cluster("broker-a", "broker-b", topics={})
    topics = cluster.admin.topics
    config = TopicConfig("T", read_queue_nums=2, write_queue_nums=3, perm=6)
    made = cluster.run(topics.create(cluster.addresses, config))
    assert list(made.all()) == cluster.addresses
    assert "T" in cluster.run(topics.names())
    assert "T" in cluster.run(topics.names_in("DefaultCluster"))
    route = cluster.run(topics.route("T"))
    assert [(each.broker_name, each.write_queue_nums) for each in route.queues] == [
        ("broker-a", 3),
        ("broker-b", 3),
    ]
    assert cluster.run(topics.config(cluster.addresses[0], "T")) == config
    assert cluster.run(topics.configs(cluster.addresses[1]))["T"] == config
    stats = cluster.run(topics.stats("T"))
    assert len(stats.queues) == 6
    assert stats.queues[MessageQueue("T", "broker-b", 2)].max_offset == 0


def test_a_refusal_of_one_broker_does_not_stop_the_others() -> None:
    cluster = Cluster("broker-a", "broker-b", topics={})
    first, second = cluster.addresses
    cluster.faults[second] = gone
    made = cluster.run(cluster.admin.topics.create(cluster.addresses, TopicConfig("T")))
    assert list(made.done) == [first]
    assert isinstance(made.failed[second], ConnectError)
    with pytest.raises(ConnectError):
        made.all()


def test_a_refusal_has_the_brokers_address_code_and_remark() -> None:
    cluster = Cluster(topics={})
    made = cluster.run(cluster.admin.topics.create(cluster.addresses, TopicConfig("bad^name")))
    with pytest.raises(BrokerError, match="illegal characters") as refused:
        made.all()
    assert refused.value.address == cluster.addresses[0]
    assert refused.value.code == ResponseCode.INVALID_PARAMETER


def test_an_unknown_topic_is_the_name_servers_refusal() -> None:
    cluster = Cluster(topics={})
    with pytest.raises(BrokerError) as refused:
        cluster.run(cluster.admin.topics.route("none"))
    assert (refused.value.code, refused.value.address) == (
        ResponseCode.TOPIC_NOT_EXIST,
        NAME_SERVER,
    )


def test_a_deleted_topic_is_gone() -> None:
    cluster = Cluster(topics={})
    cluster.add_topic("T")
    topics = cluster.admin.topics
    cluster.run(topics.delete("T", cluster.addresses)).all()
    cluster.run(topics.forget("T")).all()
    assert "T" not in cluster.run(topics.names())


def test_several_topics_are_created_at_once() -> None:
    cluster = Cluster(topics={})
    address = cluster.addresses[0]
    cluster.run(cluster.admin.topics.create_all(address, [TopicConfig("A"), TopicConfig("B")]))
    assert {"A", "B"} <= set(cluster.run(cluster.admin.topics.configs(address)))


def test_clusters_and_their_brokers() -> None:
    cluster = Cluster("broker-b", "broker-a", topics={})
    clusters = cluster.admin.clusters
    assert cluster.run(clusters.masters("DefaultCluster")) == list(reversed(cluster.addresses))
    assert cluster.run(clusters.master("broker-b")) == cluster.addresses[0]
    with pytest.raises(RouteError, match="there is: DefaultCluster"):
        cluster.run(clusters.masters("none"))
    with pytest.raises(RouteError, match="they know: broker-a, broker-b"):
        cluster.run(clusters.master("none"))


def test_a_topic_is_created_and_deleted_at_all_masters() -> None:
    cluster = Cluster("broker-a", "broker-b", topics={})
    admin = cluster.admin
    cluster.run(admin.create_topic("T", queues=3))
    route = cluster.run(admin.topics.route("T"))
    assert [(each.broker_name, each.read_queue_nums) for each in route.queues] == [
        ("broker-a", 3),
        ("broker-b", 3),
    ]
    cluster.run(admin.create_topic("T", cluster="DefaultCluster"))
    assert len(cluster.run(admin.topics.stats("T")).queues) == 2 * QUEUES
    cluster.run(admin.delete_topic("T"))
    assert "T" not in cluster.run(admin.topics.names())
    with pytest.raises(RouteError, match="there is no cluster elsewhere"):
        cluster.run(admin.create_topic("T", cluster="elsewhere"))


def test_a_topic_that_one_master_refuses_is_an_error() -> None:
    cluster = Cluster("broker-a", "broker-b", topics={})
    cluster.faults[cluster.addresses[1]] = gone
    with pytest.raises(ConnectError):
        cluster.run(cluster.admin.create_topic("T"))


def test_a_broker_without_an_address_is_a_route_error() -> None:
    with pytest.raises(RouteError, match="broker-a without an address"):
        readable(BrokerData("DefaultCluster", "broker-a", {}))

"""Tests administration of brokers and name servers, in virtual time."""

from __future__ import annotations

import pytest

from gantrymq.client.core.errors import BrokerError
from gantrymq.fakes.brokers.cluster import NAME_SERVER, Cluster
from gantrymq.wire.codes import ResponseCode


def test_settings_of_a_broker() -> None:
    cluster = Cluster(topics={})
    address, brokers = cluster.addresses[0], cluster.admin.brokers
    assert cluster.run(brokers.settings(address))["maxMessageSize"] == "4194304"
    figures = cluster.run(brokers.figures(address))
    assert figures["brokerActive"] == "true"


def test_upkeep_of_a_broker() -> None:
    cluster = Cluster(topics={})
    address, brokers = cluster.addresses[0], cluster.admin.brokers
    cluster.run(brokers.clean_expired_queues(address))
    cluster.run(brokers.clean_unused_topics(address))
    cluster.run(brokers.delete_expired_log(address))
    assert cluster.run(brokers.replication(address)).is_master


def test_keys_and_values() -> None:
    cluster = Cluster(topics={})
    names = cluster.admin.name_servers
    assert list(cluster.run(names.put("space", "key", "a b")).all()) == [NAME_SERVER]
    assert cluster.run(names.value("space", "key")) == "a b"
    assert cluster.run(names.values("space")) == {"key": "a b"}
    cluster.run(names.delete("space", "key")).all()
    with pytest.raises(BrokerError) as refused:
        cluster.run(names.value("space", "key"))
    assert refused.value.code == ResponseCode.QUERY_NOT_FOUND


def test_permission_to_write() -> None:
    cluster = Cluster(topics={})
    cluster.add_topic("T")
    names = cluster.admin.name_servers
    (wiped,) = cluster.run(names.wipe_write("broker-a")).all().values()
    assert wiped > 0
    (back,) = cluster.run(names.add_write("broker-a")).all().values()
    assert back > 0
    assert cluster.run(names.wipe_write("none")).all() == {NAME_SERVER: 0}


def test_settings_of_name_servers() -> None:
    cluster = Cluster(topics={})
    names = cluster.admin.name_servers
    cluster.run(names.change({"productEnvName": "test"})).all()
    (settings,) = cluster.run(names.settings()).all().values()
    assert settings["productEnvName"] == "test"


def test_accounts_are_refused_where_access_control_is_off() -> None:
    cluster = Cluster(topics={})
    with pytest.raises(BrokerError):
        cluster.run(cluster.admin.accounts.table(cluster.addresses[0]))

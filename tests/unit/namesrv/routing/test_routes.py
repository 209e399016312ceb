"""What leaves with a broker, and what stays."""

from __future__ import annotations

from gantrymq.fakes.brokers.namesrv import Broker, Desk, FakeChannel
from gantrymq.wire.codes import RequestCode as Code

A = Broker(name="a", topics=("T", "U"), channel=FakeChannel("a"))
A_SLAVE = A.but(id=1, address="10.0.0.2:10911", channel=FakeChannel("a-s"))
B = Broker(name="b", address="10.0.0.3:10911", topics=("U", "V"), channel=FakeChannel("b"))


def test_queues_stay_while_a_slave_lives() -> None:
    desk = Desk()
    for broker in (A, A_SLAVE):
        desk.registered(broker)
    desk.unregister(A)
    assert desk.addresses("T") == {"a": {1: A_SLAVE.address}}
    assert desk.perms("T") == {"a": 6}


def test_with_its_last_address_a_name_goes_with_queues_topics_and_cluster() -> None:
    desk = Desk()
    for broker in (A, A_SLAVE, B.but(cluster="D")):
        desk.registered(broker)
    desk.unregister(A)
    desk.unregister(A_SLAVE)
    assert desk.route("T") is None
    assert desk.addresses("U") == {"b": {0: B.address}}
    assert desk.cluster().clusters == {"D": ("b",)}
    desk.unregister(B)
    desk.assert_empty()


def test_the_log_says_what_java_says() -> None:
    desk = Desk()
    desk.registered(A)
    desk.unregister(A)
    info = "BrokerAddrInfo [clusterName=C, brokerAddr=10.0.0.1:10911]"
    for line in (
        f"unregisterBroker, remove from brokerLiveTable OK, {info}",
        f"unregisterBroker, remove addr from brokerAddrTable OK, {info}",
        "unregisterBroker, remove name from brokerAddrTable OK, a",
        "unregisterBroker, remove name from clusterAddrTable OK, a",
        "unregisterBroker, remove cluster from clusterAddrTable C",
        "removeTopicByBrokerName, remove the topic all queue T, U",
    ):
        assert line in desk.lines


def test_an_unregistration_with_other_names_changes_nothing() -> None:
    desk = Desk()
    desk.registered(A)
    for stranger in (A.but(name="x"), A.but(address="10.0.0.9:1"), B):
        assert desk.unregister(stranger).code == 0
    assert desk.ask(Code.UNREGISTER_BROKER).code == 0
    assert desk.addresses("T") == {"a": {0: A.address}}


def test_a_closed_channel_takes_all_its_brokers_at_once() -> None:
    desk = Desk()
    desk.registered(A)
    desk.registered(B.but(channel=A.channel))
    desk.registered(A_SLAVE)
    desk.close(A.channel)
    assert set(desk.cluster().brokers) == {"a"}
    assert desk.addresses("U") == {"a": {1: A_SLAVE.address}}
    desk.close(A_SLAVE.channel)
    desk.assert_empty()


def test_a_clients_channel_takes_nothing() -> None:
    desk = Desk()
    desk.registered(A)
    desk.close(FakeChannel("client"))
    desk.close(desk.channel)
    assert desk.addresses("T") != {}


def test_a_broker_that_came_back_on_a_new_channel_outlives_the_old_one() -> None:
    desk = Desk()
    desk.registered(A)
    back = desk.registered(A.but(channel=FakeChannel("a again")))
    desk.close(A.channel)
    assert desk.addresses("T") == {"a": {0: A.address}}
    desk.close(back.channel)
    desk.assert_empty()


def test_an_acting_master_loses_its_write_permission_with_the_master() -> None:
    desk = Desk()
    desk.registered(A.but(acting="true"))
    desk.registered(A_SLAVE.but(acting="true"))
    desk.unregister(A)
    assert desk.perms("T") == {"a": 4}

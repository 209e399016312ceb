"""A slave finds its master, and looks for it as long as it is not heard."""

from __future__ import annotations

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.replicas import (
    MASTER,
    MASTER_HA,
    SLAVE,
    FakeReplication,
    opened_slave,
    registered,
    replication_of,
)


def test_slave_follows_the_master_that_the_name_server_names() -> None:
    slave = opened_slave()
    registered(slave)
    assert replication_of(slave).followed == [MASTER_HA]
    assert slave.state.master_address == MASTER


def test_a_name_server_without_a_master_ends_copying_but_not_following() -> None:
    slave = opened_slave()
    registered(slave)
    registered(slave, None, None)
    assert slave.state.master_address == ""
    assert replication_of(slave).followed == [MASTER_HA]


def test_a_master_that_one_name_server_knows_is_known() -> None:
    slave = opened_slave()
    registered(slave)
    registered(slave, None, None, name_server="other:9876")
    assert slave.state.master_address == MASTER
    registered(slave, "10.0.0.9:10911", "10.0.0.9:10912", name_server="other:9876")
    assert slave.state.master_address == MASTER
    assert replication_of(slave).followed == [MASTER_HA]
    registered(slave, "10.0.0.9:10911", "10.0.0.9:10912")
    assert slave.state.master_address == "10.0.0.9:10911"
    assert replication_of(slave).followed == [MASTER_HA, "10.0.0.9:10912"]


def test_answer_of_a_dead_name_server_expires() -> None:
    """It died while the old master lived; since then another slave was made master."""
    slave = opened_slave()
    replication_of(slave).heard(slave.wall_ms)
    registered(slave, name_server="gone:9876")
    registered(slave)
    slave.pass_time(10.0)
    for _ in range(4):
        registered(slave, "10.0.0.9:10911", "10.0.0.9:10912")
        slave.pass_time(5.0)
    assert slave.state.master_address == "10.0.0.9:10911"
    assert replication_of(slave).followed == [MASTER_HA, "10.0.0.9:10912"]


def test_slave_keeps_a_master_that_it_hears_despite_other_answers() -> None:
    slave = opened_slave()
    registered(slave, name_server="gone:9876")
    for _ in range(12):
        replication_of(slave).heard(slave.wall_ms)
        registered(slave, "10.0.0.9:10911", "10.0.0.9:10912")
        slave.pass_time(5.0)
    assert slave.state.master_address == MASTER
    assert replication_of(slave).followed == [MASTER_HA]


def test_a_slave_does_not_take_itself_for_its_master() -> None:
    slave = opened_slave()
    registered(slave, SLAVE.address, None)
    assert slave.state.master_address == ""


def test_a_masters_address_that_is_set_is_followed_from_the_start() -> None:
    slave = opened_slave(BrokerSettings(ha_master_address="10.0.0.7:10912"))
    slave.settle()
    registered(slave)
    assert replication_of(slave).followed == ["10.0.0.7:10912"]
    assert slave.state.master_address == MASTER


def test_name_servers_are_asked_again_and_again_for_a_master() -> None:
    slave = opened_slave()
    slave.pass_time(60.0)
    assert 12 <= len(slave.registered) <= 16


def test_name_servers_are_left_alone_while_the_master_is_heard() -> None:
    slave = opened_slave()
    replication_of(slave).heard(slave.wall_ms + 60_000)
    registered(slave)
    before = len(slave.registered)
    slave.pass_time(60.0)
    assert len(slave.registered) == before


def test_a_master_that_falls_silent_is_looked_for_soon() -> None:
    slave = opened_slave()
    replication_of(slave).heard(slave.wall_ms)
    registered(slave)
    before = len(slave.registered)
    slave.pass_time(10.0)
    assert len(slave.registered) > before


def test_master_follows_no_other_broker() -> None:
    master = OpenedBroker()
    replication = FakeReplication()
    master.state.replication = replication
    registered(master)
    master.pass_time(60.0)
    assert (replication.followed, master.registered) == ([], [])

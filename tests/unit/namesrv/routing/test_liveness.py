"""Tests when brokers count as dead, in virtual time."""

from __future__ import annotations

import pytest

from gantrymq.fakes.brokers.namesrv import Broker, Desk, FakeChannel
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.wire.codes import RequestCode as Code

A = Broker()
SLAVE = A.but(id=1, address="10.0.0.2:10911", channel=FakeChannel("slave"))


def is_alive(desk: Desk) -> bool:
    return desk.route("T") is not None


def test_a_silent_broker_goes_at_the_first_scan_after_120_s_and_its_socket_is_closed() -> None:
    desk = Desk()
    desk.registered(A)
    desk.wait(124.9)
    assert is_alive(desk)
    desk.wait(0.1)
    desk.assert_empty()
    assert desk.closed == [A.channel]
    info = "BrokerAddrInfo [clusterName=C, brokerAddr=10.0.0.1:10911]"
    assert f"The broker channel expired, {info} 120000ms" in desk.lines
    assert desk.core.counters.expired_brokers == 1


def test_a_brokers_own_timeout_counts() -> None:
    desk = Desk()
    desk.registered(A.but(ext={"heartbeatTimeoutMillis": "7000"}))
    desk.wait(7)
    assert is_alive(desk)
    desk.wait(3)
    desk.assert_empty()


def test_the_timeout_and_the_scan_are_settings() -> None:
    settings = NameServerSettings(
        broker_channel_expired_time=1000, scan_not_active_broker_interval=500
    )
    desk = Desk(settings)
    desk.wait(10)
    desk.registered(A)
    desk.wait(1)
    assert is_alive(desk)
    desk.wait(0.5)
    desk.assert_empty()


def test_only_the_silent_one_goes() -> None:
    desk = Desk()
    desk.registered(A)
    desk.wait(60)
    desk.registered(SLAVE)
    desk.wait(65)
    assert desk.addresses("T") == {"a": {1: SLAVE.address}}


def test_every_sign_of_life_counts() -> None:
    desk = Desk()
    desk.registered(A)
    for code in (Code.BROKER_HEARTBEAT, Code.QUERY_DATA_VERSION, Code.BROKER_HEARTBEAT):
        desk.wait(100)
        assert desk.ask(code, A.identity()).code == 0
    assert is_alive(desk)
    desk.wait(125)
    desk.assert_empty()


class TestGrace:
    """A replicated group's master under its stable address."""

    MASTER = A.but(ext={"gantryEpoch": "5"})

    def test_it_survives_its_channel_for_15_s(self) -> None:
        desk = Desk()
        desk.registered(self.MASTER)
        desk.close(self.MASTER.channel)
        desk.wait(14.9)
        assert desk.addresses("T") == {"a": {0: A.address}}
        desk.wait(0.1)
        desk.assert_empty()
        assert desk.closed == []

    def test_the_next_master_ends_the_wait(self) -> None:
        desk = Desk()
        desk.registered(self.MASTER)
        desk.close(self.MASTER.channel)
        desk.wait(10)
        desk.registered(self.MASTER.but(ext={"gantryEpoch": "6"}, channel=FakeChannel("new")))
        desk.wait(60)
        assert is_alive(desk)

    def test_a_second_absence_is_a_new_one(self) -> None:
        desk = Desk()
        desk.registered(self.MASTER)
        desk.close(self.MASTER.channel)
        desk.wait(10)
        back = desk.registered(self.MASTER.but(channel=FakeChannel("again")))
        desk.wait(1)
        desk.close(back.channel)
        desk.wait(14)
        assert is_alive(desk)
        desk.wait(1)
        desk.assert_empty()

    @pytest.mark.parametrize("code", [Code.BROKER_HEARTBEAT, Code.QUERY_DATA_VERSION])
    @pytest.mark.parametrize("ext", [{}, {"gantryEpoch": "5"}])
    def test_any_sign_of_life_ends_it(self, code: int, ext: dict[str, str]) -> None:
        desk = Desk()
        desk.registered(self.MASTER)
        desk.close(self.MASTER.channel)
        again = FakeChannel("again")
        desk.wait(10)
        assert desk.ask(code, {**A.identity(), **ext}, channel=again).code == 0
        desk.wait(60)
        assert is_alive(desk)
        desk.close(again)
        desk.wait(14)
        assert is_alive(desk)
        desk.wait(1)
        desk.assert_empty()

    def test_an_older_epoch_does_not_end_it(self) -> None:
        desk = Desk()
        desk.registered(self.MASTER)
        desk.close(self.MASTER.channel)
        desk.ask(Code.BROKER_HEARTBEAT, {**A.identity(), "gantryEpoch": "4"})
        desk.wait(15)
        desk.assert_empty()

    def test_its_slaves_leave_at_once(self) -> None:
        desk = Desk()
        desk.registered(self.MASTER)
        desk.registered(SLAVE.but(ext={"gantryEpoch": "5"}))
        desk.close(SLAVE.channel)
        assert desk.addresses("T") == {"a": {0: A.address}}

    def test_without_an_epoch_there_is_none(self) -> None:
        desk = Desk()
        desk.registered(A)
        desk.close(A.channel)
        desk.assert_empty()

    def test_an_unregistration_ends_it(self) -> None:
        desk = Desk()
        desk.registered(self.MASTER)
        desk.close(self.MASTER.channel)
        desk.unregister(self.MASTER)
        desk.assert_empty()
        desk.wait(60)
        desk.assert_empty()

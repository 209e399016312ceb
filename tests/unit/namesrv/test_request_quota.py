"""Tests the limit of requests per second of each address."""

from __future__ import annotations

import pytest

from gantrymq.fakes.brokers.namesrv import Broker, Desk, FakeChannel
from gantrymq.namesrv.core.messages import Effects, Request
from gantrymq.namesrv.core.request_quota import RequestQuota
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command

KEY = "maxRequestsPerSecondPerAddress"
TOPIC = {"topic": "T"}


def limited(rate: int = 10) -> Desk:
    desk = Desk(NameServerSettings(max_requests_per_second_per_address=rate))
    desk.registered(Broker(channel=connected("10.7.7.7")))
    return desk


def connected(address: str = "10.0.0.1") -> FakeChannel:
    return FakeChannel(f"{address}:50000")


def ask(desk: Desk, channel: FakeChannel, times: int = 1) -> list[Command]:
    return [desk.ask(Code.GET_ROUTEINFO_BY_TOPIC, TOPIC, channel=channel) for _ in range(times)]


def test_without_the_setting_nothing_is_counted() -> None:
    desk, client = Desk(), connected()
    ask(desk, client, 1000)
    assert client.delays == []
    assert desk.core.quota._senders == {}


def test_requests_of_a_second_pass_at_once() -> None:
    desk, client = limited(), connected()
    assert {answer.code for answer in ask(desk, client, 10)} == {ResponseCode.SUCCESS}
    assert client.delays == []


def test_connection_that_asks_for_more_is_read_later() -> None:
    desk, client = limited(), connected()
    assert {answer.code for answer in ask(desk, client, 15)} == {ResponseCode.SUCCESS}
    assert client.delays[-1] == pytest.approx(0.5)
    assert desk.core.quota.counts.delay_seconds == pytest.approx(0.5)


def test_requests_far_beyond_the_limit_are_refused_with_the_setting_in_the_remark() -> None:
    desk, client = limited(), connected()
    answer = ask(desk, client, 40)[-1]
    assert answer.code == ResponseCode.SYSTEM_BUSY
    remark = answer.remark or ""
    assert remark.startswith("[REJECTREQUEST]system busy, start flow control for a while")
    assert "address 10.0.0.1" in remark
    assert f"{KEY}=10" in remark
    assert max(client.delays) <= 1.1
    assert desk.core.quota.counts.refusals == 19


def test_address_that_was_refused_is_served_when_its_debt_is_paid() -> None:
    desk, client = limited(), connected()
    ask(desk, client, 1000)
    desk.wait(1.2)
    assert ask(desk, client)[0].code == ResponseCode.SUCCESS


def test_connections_of_an_address_share_its_limit_and_other_addresses_do_not() -> None:
    desk, other = limited(), connected("10.0.0.2")
    for _ in range(40):
        ask(desk, connected())
    assert ask(desk, connected())[0].code == ResponseCode.SYSTEM_BUSY
    assert ask(desk, other)[0].code == ResponseCode.SUCCESS
    assert other.delays == []


def test_new_connection_does_not_pay_off_the_debt_of_its_address() -> None:
    desk, client = limited(), connected()
    ask(desk, client, 40)
    desk.close(client)
    assert client not in desk.core.quota._senders
    assert ask(desk, connected())[0].code == ResponseCode.SYSTEM_BUSY


@pytest.mark.parametrize("address", ["127.0.0.1", "[::1]"])
def test_the_machine_itself_is_limited_too(address: str) -> None:
    desk = limited()
    assert ask(desk, connected(address), 40)[-1].code == ResponseCode.SYSTEM_BUSY


def test_registrations_of_brokers_are_delayed_and_never_refused() -> None:
    desk, client = limited(), connected()
    ask(desk, client, 40)
    broker = Broker("b", channel=connected())
    assert desk.register(broker).code == ResponseCode.SUCCESS
    assert broker.channel.delays == [pytest.approx(1.0)]


def test_administrator_raises_the_limit_from_an_address_that_has_used_it_up() -> None:
    desk, client = limited(), connected()
    ask(desk, client, 40)
    body = f"{KEY}=1000".encode()
    answer = desk.ask(Code.UPDATE_NAMESRV_CONFIG, body=body, channel=client)
    assert answer.code == ResponseCode.SUCCESS
    assert {each.code for each in ask(desk, client, 500)} == {ResponseCode.SUCCESS}


def test_limit_is_switched_off_while_the_server_runs() -> None:
    desk, client = limited(), connected()
    desk.ask(Code.UPDATE_NAMESRV_CONFIG, body=f"{KEY}=0".encode(), channel=client)
    assert {each.code for each in ask(desk, client, 500)} == {ResponseCode.SUCCESS}


def test_debt_does_not_grow_by_requests_that_are_only_delayed() -> None:
    desk, client = limited(), connected()
    for _ in range(1000):
        desk.ask(Code.GET_NAMESRV_CONFIG, channel=client)
    desk.wait(1.2)
    assert ask(desk, client)[0].code == ResponseCode.SUCCESS


def test_codes_that_are_not_served_count_and_are_refused() -> None:
    desk, client = limited(), connected()
    answers = [desk.ask(9999, channel=client).code for _ in range(40)]
    assert answers[0] == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert answers[-1] == ResponseCode.SYSTEM_BUSY


def test_log_names_the_address_once_in_a_while() -> None:
    desk = limited()
    ask(desk, connected(), 1000)
    lines = [line for line in desk.lines if line.startswith("refusing requests")]
    assert len(lines) == 1
    assert "address=10.0.0.1" in lines[0]


def test_pause_of_one_read_is_armed_few_times() -> None:
    desk, client = limited(rate=1000), connected()
    ask(desk, client, 2000)
    assert 0 < len(client.delays) <= 250


def test_addresses_beyond_the_bound_share_one_limit() -> None:
    settings = NameServerSettings(max_requests_per_second_per_address=10)
    quota, effects = RequestQuota(settings, addresses_max=2), Effects()

    def is_refused(address: str) -> bool:
        request = Request(Command(Code.GET_ROUTEINFO_BY_TOPIC, ext=TOPIC), connected(address))
        return quota.admit(request, 1.0, effects) is not None

    assert not is_refused("10.0.0.1")
    assert not is_refused("10.0.0.2")
    refused = [is_refused(f"10.0.1.{number}") for number in range(40)]
    assert refused[-1]
    assert len(quota._buckets) == 3
    assert not is_refused("10.0.0.1")

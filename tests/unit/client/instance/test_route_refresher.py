"""Brokers that give no answer, and where requests go then, in virtual time."""

from __future__ import annotations

import pytest

from gantrymq.client.core.errors import SendError
from gantrymq.client.core.instance.route_refresher import REFRESHED_S
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.send_request import of_message
from gantrymq.client.core.send.sending import Sender
from gantrymq.fakes.brokers.cluster import ME, Answer, Cluster, Fault, gone
from gantrymq.fakes.brokers.consumers import Consumer
from gantrymq.fakes.flows import Late
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

OLD = "127.0.0.1:7"
SETTINGS = ProducerSettings()
POLL_S = 30.0


def started(cluster: Cluster) -> Sender:
    cluster.instance.start()
    return Sender(cluster.instance, "G", SETTINGS, ())


def silent(address: str, command: Command) -> None:
    del address, command


def master_at_old(cluster: Cluster) -> None:
    """The broker has another address, and is known by that one."""
    here = cluster.broker.address
    cluster.faults[OLD] = lambda address, command: cluster.served(here, command)

    def named(address: str, command: Command) -> Answer:
        answer = cluster.served(address, command)
        assert isinstance(answer, Command)
        body = answer.body.replace(here.encode(), OLD.encode())
        return Command(answer.code, body=body)

    cluster.faults[RequestCode.GET_ROUTEINFO_BY_TOPIC] = named


def master_moves(cluster: Cluster, old: Fault, after_s: float = 0.0) -> None:
    """Its old address does not answer any more; name servers know its new one a little later."""
    cluster.faults[OLD] = old

    def known() -> None:
        del cluster.faults[RequestCode.GET_ROUTEINFO_BY_TOPIC]

    cluster.driver.at(cluster.driver.clock.monotonic() + after_s, known)


def seconds_until_sent(cluster: Cluster, sender: Sender) -> float:
    """One send after another, as long as they fail."""
    clock = cluster.driver.clock
    began = clock.monotonic()
    while clock.monotonic() < began + 2 * POLL_S:
        request = of_message(
            Message("T", b"x"), settings=SETTINGS, group="G", wrapped_in="", new_id="ID"
        )
        try:
            cluster.run(sender.send(request))
        except SendError:
            cluster.pass_time(0.1)
        else:
            break
    return clock.monotonic() - began


def sends(cluster: Cluster) -> int:
    return len(cluster.asked_of(RequestCode.SEND_MESSAGE_V2))


@pytest.mark.parametrize("old", [gone, silent])
def test_a_new_master_is_found_soon_after_it_is_known(old: Fault) -> None:
    cluster = Cluster()
    sender = started(cluster)
    master_at_old(cluster)
    assert seconds_until_sent(cluster, sender) == 0.0
    master_moves(cluster, old, after_s=4.5)
    assert 4.5 <= seconds_until_sent(cluster, sender) < 6.5


def test_a_new_master_at_the_same_address_is_found_by_short_attempts() -> None:
    cluster = Cluster()
    sender = started(cluster)
    cluster.faults[RequestCode.SEND_MESSAGE_V2] = silent
    moment = cluster.driver.clock.monotonic() + 4.5
    cluster.driver.at(moment, cluster.faults.clear)
    assert 4.5 <= seconds_until_sent(cluster, sender) < 5.5


def test_a_slow_broker_has_the_time_it_needs() -> None:
    """After sends that failed, tries are short, but no longer than that is of use."""
    cluster = Cluster()
    sender = started(cluster)
    cluster.faults[RequestCode.SEND_MESSAGE_V2] = silent
    cluster.driver.at(2.9, cluster.faults.clear)

    def slow(address: str, command: Command) -> Answer:
        answer = cluster.served(address, command)
        assert isinstance(answer, Command)
        return Late(answer, 1.5)

    cluster.driver.at(2.95, lambda: cluster.faults.update({RequestCode.SEND_MESSAGE_V2: slow}))
    assert seconds_until_sent(cluster, sender) < 12.0
    before = sends(cluster)
    assert seconds_until_sent(cluster, sender) == pytest.approx(1.5)
    assert sends(cluster) == before + 1, "a broker that has answered is waited for as before"


def test_a_route_is_refreshed_once_a_second_for_a_limited_time() -> None:
    cluster = Cluster()
    sender = started(cluster)
    cluster.faults[cluster.broker.address] = gone
    for _ in range(20):
        request = of_message(
            Message("T", b"x"), settings=SETTINGS, group="G", wrapped_in="", new_id="ID"
        )
        with pytest.raises(SendError):
            cluster.run(sender.send(request))
        cluster.pass_time(0.1)
    code = RequestCode.GET_ROUTEINFO_BY_TOPIC
    assert 2 <= len(cluster.asked_of(code)) <= 1 + 3
    cluster.pass_time(REFRESHED_S + 1.0)
    count = len(cluster.asked_of(code))
    assert count <= 1 + 3 + REFRESHED_S + 1
    cluster.pass_time(10.0)
    assert len(cluster.asked_of(code)) == count


def test_routes_are_refreshed_after_a_request_hook_failed() -> None:
    cluster = Cluster()
    sender = started(cluster)
    master_at_old(cluster)
    seconds_until_sent(cluster, sender)
    master_moves(cluster, gone, after_s=4.5)
    looks = cluster.faults[RequestCode.GET_ROUTEINFO_BY_TOPIC]
    cluster.faults[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda *_: ValueError("the hook's own")

    def mended() -> None:
        cluster.faults[RequestCode.GET_ROUTEINFO_BY_TOPIC] = looks

    cluster.driver.at(2.5, mended)
    assert 4.5 <= seconds_until_sent(cluster, sender) < 6.5


def test_a_busy_broker_causes_no_route_refresh() -> None:
    cluster = Cluster()
    sender = started(cluster)
    answers = [Command(ResponseCode.SYSTEM_BUSY)]
    cluster.faults[RequestCode.SEND_MESSAGE_V2] = lambda address, command: (
        answers.pop() if answers else command
    )
    seconds_until_sent(cluster, sender)
    cluster.pass_time(5.0)
    assert len(cluster.asked_of(RequestCode.GET_ROUTEINFO_BY_TOPIC)) == 1


def test_a_consumer_finds_a_new_master_as_well() -> None:
    cluster = Cluster()
    master_at_old(cluster)
    consumer = Consumer(cluster).start()
    master_moves(cluster, gone, after_s=2.0)
    cluster.cut(ME, cluster.broker.address)
    cluster.store("a")
    cluster.pass_time(6.0)
    assert consumer.bodies == ["a"]


def test_a_member_that_lost_its_connection_rejoins_at_once() -> None:
    """With the connection the broker forgot it, and the others take what it had."""
    cluster = Cluster()
    first, second = Consumer(cluster, "c@1").start(), Consumer(cluster, "c@2").start()
    cluster.pass_time(5.0)
    assert len(first.queues) == len(second.queues) == 2
    cluster.cut("c@1", cluster.broker.address)
    cluster.pass_time(10.0)
    assert len(first.queues) == len(second.queues) == 2

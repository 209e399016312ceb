"""Quotas of what the kernel takes: it takes the read, and the connection pays by waiting."""

from __future__ import annotations

import pytest

from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.quotas import PRODUCE, REQUESTS, limit, quota
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.wire import frames
from gantrymq.wire.bodies.quotas import Quota, QuotaKind
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.version import OWN_VERSION

SEND = RequestCode.SEND_MESSAGE_V2
PEER = "10.1.2.3:54321"
BODY = b"x" * 909
ADDRESS, TOPIC = QuotaKind.ADDRESS, QuotaKind.TOPIC


def opened(*quotas: Quota, topics: tuple[str, ...] = ("T", "U")) -> OpenedBroker:
    """The first message of each queue is there: the kernel leaves those to handlers."""
    broker = OpenedBroker()
    broker.channel.peer = PEER
    for topic in topics:
        add_topic(broker, topic)
        broker.ask(SEND, message(topic), b"first")
    limit(broker, *quotas)
    return broker


def read(topic: str, count: int = 1) -> bytes:
    header = message(topic)
    made = Command(SEND, ext=header.encode(), body=BODY, opaque=9, version=OWN_VERSION, encoding=0)
    return frames.encode(made) * count


def fed(broker: OpenedBroker, data: bytes, channel: FakeChannel | None = None) -> int:
    """How many sends the kernel took."""
    _, count = broker.broker.feed(channel or broker.channel, data, 0, broker.now, broker.wall_ms)
    broker.settle()
    return count


def test_read_within_the_quota_is_not_delayed() -> None:
    broker = opened(quota(ADDRESS, "10.1.2.3", {PRODUCE: 1 << 20, REQUESTS: 100}))
    assert fed(broker, read("T", 10)) == 10
    assert broker.channel.delays == []


def test_read_beyond_the_bytes_of_its_address_is_taken_and_its_connection_waits() -> None:
    data = read("T", 20)
    broker = opened(quota(ADDRESS, "10.1.*", {PRODUCE: len(data) // 2}))
    assert fed(broker, data) == 20
    assert broker.replies[-1].count == 20
    assert broker.channel.delays == [pytest.approx(1.0, abs=0.01)]


def test_read_beyond_the_requests_of_its_address_waits() -> None:
    broker = opened(quota(ADDRESS, "*", {REQUESTS: 10}))
    assert fed(broker, read("T", 15)) == 15
    assert broker.channel.delays == [pytest.approx(0.5)]


def test_addresses_do_not_pay_for_each_other() -> None:
    broker = opened(quota(ADDRESS, "*", {REQUESTS: 10}))
    other = FakeChannel()
    other.peer = "10.9.9.9:1"
    fed(broker, read("T", 15))
    fed(broker, read("T", 5), other)
    assert other.delays == []


def test_topic_beyond_its_bytes_stays_with_the_kernel_and_its_sender_waits() -> None:
    broker = opened(quota(TOPIC, "T", {PRODUCE: 10_000}))
    assert fed(broker, read("T", 15)) == 15
    assert fed(broker, read("T", 2)) == 2
    assert len(broker.channel.delays) == 2
    assert broker.channel.delays[1] > broker.channel.delays[0] > 0.4


def test_sender_to_other_topics_does_not_wait() -> None:
    broker = opened(quota(TOPIC, "T", {PRODUCE: 10_000}))
    other = FakeChannel()
    fed(broker, read("T", 15))
    fed(broker, read("U", 100), other)
    assert other.delays == []


def test_topics_of_one_read_are_charged_what_each_takes() -> None:
    broker = opened(quota(TOPIC, "*", {PRODUCE: 1_000_000, REQUESTS: 1000}))
    fed(broker, read("T", 30) + read("U", 10) + read("T", 20))
    used = {(use.name, use.limit): use.used for use in broker.state.quotas.use()}
    assert used["T", PRODUCE] == pytest.approx(5 * used["U", PRODUCE], rel=0.05)
    assert (used["T", REQUESTS], used["U", REQUESTS]) == (10, 2)


def test_topic_far_beyond_its_quota_is_refused_by_name_until_its_debt_is_paid() -> None:
    broker = opened(quota(TOPIC, "T", {PRODUCE: 10_000}))
    assert fed(broker, read("T", 40)) == 40
    assert fed(broker, read("T", 1)) == 0
    answer = broker.ask(SEND, message("T"), BODY)
    assert answer.code == ResponseCode.SYSTEM_BUSY
    assert answer.remark is not None
    assert answer.remark.startswith("[REJECTREQUEST]system busy, start flow control for a while")
    assert "quota of topic T" in answer.remark
    assert "produceBytesPerSecond=10000" in answer.remark
    assert fed(broker, read("U", 1)) == 1
    broker.pass_time(10.0)
    assert fed(broker, read("T", 1)) == 1


def test_connection_of_an_address_far_beyond_its_quota_is_refused() -> None:
    broker = opened(quota(ADDRESS, "*", {REQUESTS: 10}))
    assert fed(broker, read("T", 40)) == 40
    assert fed(broker, read("T", 1)) == 0
    assert broker.ask(SEND, message("T"), BODY).code == ResponseCode.SYSTEM_BUSY
    broker.pass_time(4.0)
    assert fed(broker, read("T", 1)) == 1


def test_refusals_are_not_charged() -> None:
    broker = opened(quota(ADDRESS, "*", {REQUESTS: 10}))
    fed(broker, read("T", 40))
    for _ in range(1000):
        broker.ask(SEND, message("T"), BODY)
    broker.pass_time(3.0)
    assert broker.ask(SEND, message("T"), BODY).code == ResponseCode.SUCCESS


def test_without_quotas_nothing_is_accounted() -> None:
    broker = opened()
    assert not broker.state.quotas.is_on
    fed(broker, read("T", 1000))
    assert broker.channel.delays == []
    assert broker.state.quotas.use() == []


def test_long_run_of_a_topic_gets_its_quota() -> None:
    broker = opened(quota(TOPIC, "T", {PRODUCE: 100_000}))
    began, taken = broker.now, 0
    while broker.now < began + 30:
        taken += fed(broker, read("T", 20)) * 1100
        delays, broker.channel.delays = broker.channel.delays, []
        broker.pass_time(max([0.001, *delays]))
    assert taken / 30 == pytest.approx(100_000, rel=0.15)

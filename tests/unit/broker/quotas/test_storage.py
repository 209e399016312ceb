"""Storage quotas: a topic that keeps too much is refused, by a figure that cannot drift."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.messages import File
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.quotas import STORAGE, limit, quota
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.bodies.quotas import QuotaKind
from gantrymq.wire.codes import RequestCode, ResponseCode

SEND = RequestCode.SEND_MESSAGE_V2
DISK_BYTES = 1 << 28


def send(broker: OpenedBroker, topic: str, size: int, queue_id: int = 0) -> int:
    return broker.ask(SEND, message(topic, queue_id=queue_id), b"x" * size).code


def stored_bytes(broker: OpenedBroker, topic: str = "T") -> int:
    """The truth: the records that consumers find."""
    return sum(record.size for queue in range(4) for record in broker.opened.records(topic, queue))


def estimated(broker: OpenedBroker, topic: str = "T") -> int:
    broker.pass_time(1.0)
    return broker.state.quotas.storage.bytes_by_topic[topic]


def test_estimate_is_exact_for_few_messages_of_any_size() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    for number in range(100):
        send(broker, "T", 10 + number * 37, number % 4)
    limit(broker, quota(QuotaKind.TOPIC, "*", {STORAGE: 1 << 30}))
    assert estimated(broker) == pytest.approx(stored_bytes(broker), rel=0.01)


def test_full_topic_is_refused_by_the_name_of_its_quota_and_others_are_not() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    add_topic(broker, "U")
    limit(broker, quota(QuotaKind.TOPIC, "T", {STORAGE: 20_000}))
    assert send(broker, "T", 30_000) == ResponseCode.SUCCESS
    broker.pass_time(1.0)
    answer = broker.ask(SEND, message("T"), b"x")
    assert answer.code == ResponseCode.SYSTEM_BUSY
    assert "storage quota of topic T is used up" in (answer.remark or "")
    assert "storageBytes=20000" in (answer.remark or "")
    assert send(broker, "U", 10) == ResponseCode.SUCCESS


def test_connection_of_a_send_to_a_full_topic_is_not_read_for_a_while() -> None:
    broker = full_topic()
    assert broker.channel.delays == []
    assert send(broker, "T", 10) == ResponseCode.SYSTEM_BUSY
    assert broker.channel.delays == [1.0]


def test_pause_after_a_send_to_a_full_topic_is_bounded_by_the_setting() -> None:
    broker = full_topic(BrokerSettings(quota_delay_max_millis=200))
    send(broker, "T", 10)
    assert broker.channel.delays == [0.2]


def test_producer_that_insists_on_a_full_topic_is_answered_once_a_pause() -> None:
    """Its connection is read when the pause is over, and it sends as soon as it is read."""
    broker = full_topic()
    began, sends = broker.now, 0
    while broker.now < began + 30.0:
        assert send(broker, "T", 10) == ResponseCode.SYSTEM_BUSY
        sends += 1
        broker.pass_time(broker.channel.delays[-1])
    assert sends == 30
    assert broker.state.quotas.gate.refused[QuotaKind.TOPIC, STORAGE] == 30


def full_topic(settings: BrokerSettings | None = None) -> OpenedBroker:
    broker = OpenedBroker(settings)
    add_topic(broker)
    limit(broker, quota(QuotaKind.TOPIC, "T", {STORAGE: 20_000}))
    send(broker, "T", 30_000)
    broker.pass_time(1.0)
    return broker


def test_raised_quota_lets_the_topic_be_sent_to_at_once() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    limit(broker, quota(QuotaKind.TOPIC, "T", {STORAGE: 20_000}))
    send(broker, "T", 30_000)
    broker.pass_time(1.0)
    assert send(broker, "T", 10) == ResponseCode.SYSTEM_BUSY
    limit(broker, quota(QuotaKind.TOPIC, "T", {STORAGE: 1 << 30}))
    assert send(broker, "T", 10) == ResponseCode.SUCCESS


def test_estimate_does_not_drift_over_restarts() -> None:
    disk = MemoryDisk(total_bytes=DISK_BYTES)
    files: dict[File, bytes] = {}
    for start in range(4):
        broker = OpenedBroker(disk=disk, files=files)
        if start == 0:
            add_topic(broker)
            limit(broker, quota(QuotaKind.TOPIC, "T", {STORAGE: 1 << 30}))
            broker.state.files.touch(File.QUOTAS)
        for number in range(40):
            send(broker, "T", 100 + number, number % 4)
        assert estimated(broker) == pytest.approx(stored_bytes(broker), rel=0.02)
        files = {**files, **broker.saved}
        broker.opened.store.close(broker.now, broker.wall_ms)
    assert stored_bytes(OpenedBroker(disk=disk, files=files)) > 4 * 40 * 100


def test_topic_that_goes_is_forgotten() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    limit(broker, quota(QuotaKind.TOPIC, "*", {STORAGE: 1 << 30}))
    send(broker, "T", 10)
    broker.pass_time(1.0)
    assert "T" in broker.state.quotas.storage.bytes_by_topic
    broker.ask(RequestCode.DELETE_TOPIC_IN_BROKER, ext={"topic": "T"})
    broker.pass_time(1.0)
    assert "T" not in broker.state.quotas.storage.bytes_by_topic

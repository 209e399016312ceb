"""Timer messages are delivered once, in order, and within a second of their time."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.broker.core.schedule import timer_messages, timer_service
from gantrymq.fakes.brokers.broker import START_MS, STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.brokers.timers import (
    accept,
    disk_of,
    jump,
    recall,
)
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record


def no_room(_: Record) -> Record:
    raise MemoryError


@pytest.mark.parametrize("step", ["out_ms_of", "restore", "_key_of"])
def test_step_that_fails_once_after_a_read_is_retried(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = OpenedBroker()
    recall(broker, accept(broker, 5, b"recalled"))
    accept(broker, 5)
    with monkeypatch.context() as patched:
        patched.setattr(timer_messages, step, no_room)
        with pytest.raises(MemoryError):
            broker.pass_time(8)
    broker.pass_time(timer_service.PAUSE_SECONDS)
    assert broker.bodies("T") == [b"x"]
    assert broker.services.timer_service.counters["recalled"] == 1


@pytest.mark.parametrize("seconds", [0.02, 1, 1.5, 59.999, 4096, 9000])
def test_message_is_delivered_within_a_second_and_not_before_its_time(seconds: float) -> None:
    broker = OpenedBroker()
    broker.now = 0.25
    accept(broker, seconds)
    broker.pass_time(seconds - 0.01)
    assert broker.bodies("T") == []
    broker.pass_time(1.02)
    assert broker.bodies("T") == [b"x"]


def test_delivered_message_has_the_timer_properties_of_java() -> None:
    broker = OpenedBroker()
    accept(broker, 2, TAGS="A")
    broker.pass_time(3)
    (record,) = broker.opened.records("T", 0)
    said = properties.parse(record.properties)
    assert said["TIMER_OUT_MS"] == str(START_MS + 1000)
    assert said["TIMER_DELIVER_MS"] == str(START_MS + 2000)
    assert said["TIMER_ENQUEUE_MS"] == str(START_MS)
    assert int(said["TIMER_DEQUEUE_MS"]) >= START_MS + 2000
    assert (said["REAL_TOPIC"], said["REAL_QID"], said["TAGS"]) == ("T", "0", "A")


def test_messages_are_delivered_in_order_of_due_second_then_of_sending() -> None:
    broker = OpenedBroker()
    for number in range(300):
        accept(broker, 5 - number % 3, b"%d" % number)
    broker.pass_time(10)
    expected = [b"%d" % n for wanted in (2, 1, 0) for n in range(300) if n % 3 == wanted]
    assert broker.bodies("T") == expected


def test_message_read_after_its_second_is_delivered_at_once() -> None:
    broker = OpenedBroker()
    accept(broker, 5, b"1")
    broker.settle()
    accept(broker, 5, b"2")
    broker.now += 60
    broker.settle()
    accept(broker, 0.9, b"3")
    broker.now += 30
    broker.settle()
    assert broker.bodies("T") == [b"1", b"2", b"3"]


def test_clock_set_back_neither_delays_nor_hurries_new_messages() -> None:
    broker = OpenedBroker()
    accept(broker, 10_000, b"1")
    jump(broker, 10_002)
    broker.now -= 9000
    broker.settle()
    accept(broker, 100, b"2")
    broker.pass_time(90)
    assert broker.bodies("T") == [b"1"]
    broker.pass_time(11)
    assert broker.bodies("T") == [b"1", b"2"]


def test_full_disk_delays_deliveries_and_loses_none() -> None:
    broker = OpenedBroker()
    for number in range(300):
        accept(broker, 5, b"%d" % number)
    broker.settle()
    disk = disk_of(broker)
    usage = disk.usage("")
    disk.total_bytes = usage.total_bytes - usage.free_bytes + 1
    broker.pass_time(20)
    assert broker.bodies("T") == []
    disk.total_bytes = usage.total_bytes
    broker.pass_time(20)
    assert sorted(broker.bodies("T")) == sorted(b"%d" % number for number in range(300))


def test_twenty_thousand_messages_of_one_minute_are_each_delivered_once() -> None:
    settings = dataclasses.replace(STORE_SETTINGS, mapped_file_size_commit_log=64 << 20)
    broker = OpenedBroker(store_settings=settings)
    for number in range(20_000):
        accept(broker, 10 + number % 60, b"%d" % number)
        if number % 5000 == 0:
            broker.settle()
    broker.settle()
    assert broker.services.timer_service.count == 20_000
    broker.pass_time(80)
    assert sorted(map(int, broker.bodies("T"))) == list(range(20_000))
    assert broker.services.timer_service.count == 0

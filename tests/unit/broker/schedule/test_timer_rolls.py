"""Timer messages are written again before the log deletes them, and are delivered once."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.broker.core.messages import File
from gantrymq.broker.core.schedule.roll_plan import ROLL_LOOK_SECONDS
from gantrymq.broker.core.schedule.timer_progress import TimerProgress
from gantrymq.fakes.brokers.broker import STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.brokers.timers import (
    HOST,
    HOUR_SECONDS,
    accept,
    disk_of,
    jump,
    put,
    restarted,
)
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record


def test_message_is_delivered_after_the_log_deleted_its_first_copy() -> None:
    settings = dataclasses.replace(STORE_SETTINGS, mapped_file_size_commit_log=1 << 16)
    broker = OpenedBroker(store_settings=settings)
    accept(broker, 10 * 86_400, b"late")
    for _ in range(11 * 24):
        jump(broker, HOUR_SECONDS)
        put(broker, Record(b"N", bytes(9000), born_host=HOST, store_host=HOST))
        disk_of(broker).now_ms = broker.wall_ms
        jump(broker, 1)
        retention = broker.state.store.retention
        assert retention is not None
        retention.delete_now()
        broker.settle()
    assert broker.bodies("T") == [b"late"]
    assert broker.services.timer_service.counters["rolled"] >= 3
    assert broker.state.store.log.start > 0


def test_shorter_file_reserved_time_applies_from_the_next_look() -> None:
    broker = OpenedBroker()
    for number in range(30):
        accept(broker, 100 * HOUR_SECONDS, b"%d" % number)
        broker.settle()
        jump(broker, HOUR_SECONDS / 2)
    assert broker.services.timer_service.counters["rolled"] == 0
    body = b"fileReservedTime=2"
    assert broker.ask(RequestCode.UPDATE_BROKER_CONFIG, body=body).code == ResponseCode.SUCCESS
    broker.pass_time(ROLL_LOOK_SECONDS + 1)
    rolled = broker.services.timer_service.counters["rolled"]
    assert rolled == 28  # all that were stored 90 minutes ago


def test_message_deleted_with_the_log_is_counted_and_logged() -> None:
    settings = dataclasses.replace(
        STORE_SETTINGS, mapped_file_size_commit_log=1 << 16, file_reserved_time=0
    )
    broker = OpenedBroker(store_settings=settings)
    accept(broker, HOUR_SECONDS)
    for _ in range(30):
        put(broker, Record(b"N", bytes(9000), born_host=HOST, store_host=HOST))
        jump(broker, 1)
    retention = broker.state.store.retention
    assert retention is not None
    retention.delete_now()
    disk_of(broker).now_ms = broker.wall_ms
    broker.pass_time(HOUR_SECONDS)
    assert broker.services.timer_service.counters["lost"] == 1
    assert any("were deleted with the log" in line.text for line in broker.lines)


@pytest.mark.parametrize(
    ("said", "counted"), [("7", "8"), ("9" * 5000, "1"), ("9" * 10, "1"), ("-3", "1"), ("x", "1")]
)
def test_message_is_rolled_despite_the_roll_count_of_its_producer(said: str, counted: str) -> None:
    broker = OpenedBroker()
    accept(broker, 3 * 86_400, b"1", TIMER_ROLL_TIMES=said)
    broker.settle()
    for _ in range(3 * 24 + 1):
        jump(broker, HOUR_SECONDS)
    (record,) = broker.opened.records("T", 0)
    assert properties.get(record.properties, "TIMER_ROLL_TIMES") == counted


def rolled(count: int) -> OpenedBroker:
    """A broker that rolled `count` messages; one more of their span is due within minutes."""
    settings = dataclasses.replace(STORE_SETTINGS, file_reserved_time=1)
    broker = OpenedBroker(store_settings=settings)
    accept(broker, 2760, b"soon")
    for number in range(count):
        accept(broker, 2 * HOUR_SECONDS, b"%d" % number)
    broker.settle()
    broker.pass_time(2715)
    assert broker.services.timer_service.counters["rolled"] == count
    return broker


def test_rolled_messages_are_delivered_once_after_a_restart() -> None:
    broker = rolled(100)
    again = restarted(broker)
    assert again.services.timer_service.count == 0
    again.pass_time(1)
    assert again.services.timer_service.count == 101
    again.pass_time(2 * HOUR_SECONDS)
    assert again.bodies("T") == [b"soon"] + [b"%d" % number for number in range(100)]


def test_successive_rolls_are_all_known_after_a_restart() -> None:
    broker = OpenedBroker()
    for number in range(200):
        accept(broker, 1500, b"short %d" % number)
    accept(broker, 1800, b"holds its stretch")
    for number in range(10):
        accept(broker, 1860 + number * 15, b"rolled first %d" % number)
    broker.pass_time(800)
    for number in range(200):
        accept(broker, 740, b"shorter %d" % number)
    accept(broker, 7200, b"rolled then")
    broker.pass_time(840)
    assert len(TimerProgress.decode(broker.services.timer_service.progress.table()).rolled) == 2
    again = restarted(broker)
    again.pass_time(7200)
    assert len(again.bodies("T")) == 412
    assert len(set(again.bodies("T"))) == 412


def test_restart_during_a_roll_continues_with_the_rest() -> None:
    broker = rolled(0)
    for number in range(1000):
        accept(broker, 2 * HOUR_SECONDS, b"%d" % number)
    broker.settle()
    broker.now += HOUR_SECONDS
    counters = broker.services.timer_service.counters
    while not counters["rolled"]:
        broker.broker.turn(broker.now, broker.wall_ms)
        broker.opened.background.complete_all()
    assert counters["rolled"] < 1000
    broker.saved[File.TIMERS] = broker.services.timer_service.progress.table()
    again = restarted(broker)
    again.pass_time(2 * HOUR_SECONDS)
    assert len(again.bodies("T")) == 1001


def test_roll_marks_of_an_emptied_log_hide_no_new_message() -> None:
    broker = rolled(100)
    fresh = OpenedBroker(files=broker.saved)
    fresh.now = broker.now
    for number in range(150):
        accept(fresh, 2 * HOUR_SECONDS, b"new %d" % number)
    fresh.pass_time(20)
    again = restarted(fresh)
    again.pass_time(2 * HOUR_SECONDS + 1)
    assert len(again.bodies("T")) == 150

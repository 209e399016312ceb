"""A broker that restarts delivers each remaining timer message, and repeats few."""

from __future__ import annotations

import dataclasses

from gantrymq.broker.core.messages import File
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import START_MS, STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.brokers.timers import (
    ClockedBroker,
    accept,
    jump,
    restarted,
)
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.unsynced import lose_all


def test_restart_delivers_the_rest_and_repeats_none() -> None:
    broker = OpenedBroker()
    for number in range(20):
        accept(broker, 2 * number + 1, b"%d" % number)
    broker.pass_time(20)
    accept(broker, 20000, b"far")
    broker.pass_time(40)
    again = restarted(broker)
    again.pass_time(60)
    assert again.bodies("T") == [b"%d" % number for number in range(20)]
    jump(again, 20000)
    assert again.bodies("T")[20:] == [b"far"]


def test_kill_repeats_only_deliveries_since_the_last_write_of_progress() -> None:
    broker = OpenedBroker(BrokerSettings(flush_delay_offset_interval=10_000))
    for number in range(10):
        accept(broker, number * 10 + 1, b"%d" % number)
    broker.pass_time(45)
    assert len(broker.bodies("T")) == 5
    again = restarted(broker)
    again.pass_time(100)
    bodies = list(again.bodies("T"))
    assert set(bodies) == {b"%d" % number for number in range(10)}
    assert len(bodies) <= 12


def test_power_cut_loses_no_timer_that_was_flushed_while_it_waited() -> None:
    # The log is flushed while the message waits, and not again soon after it was delivered.
    settings = dataclasses.replace(STORE_SETTINGS, flush_commit_log_thorough_interval=25_000)
    for cut_after in (0.1, 2, 9, 40):
        disk = FaultyDisk(lose_all)
        broker = OpenedBroker(BrokerSettings(flush_delay_offset_interval=1), settings, disk=disk)
        accept(broker, 30)
        broker.pass_time(30 + cut_after)
        assert broker.bodies("T") == [b"x"]
        again = OpenedBroker(disk=disk.crash(), files=broker.saved)
        again.now = broker.now
        again.pass_time(40)
        assert b"x" in again.bodies("T"), cut_after


def test_without_its_progress_file_all_messages_of_the_log_are_delivered() -> None:
    broker = OpenedBroker()
    accept(broker, 1, b"1")
    accept(broker, 50, b"2")
    broker.pass_time(10)
    again = restarted(broker, has_file=False)
    again.pass_time(60)
    assert again.bodies("T") == [b"1", b"1", b"2"]


def test_clock_set_back_repeats_no_delivery_after_restarts() -> None:
    broker = ClockedBroker()
    accept(broker, 86_400, b"tomorrow")
    for number in range(50):
        accept(broker, 5 + number, b"%d" % number)
    broker.pass_time(70)
    assert len(broker.bodies("T")) == 50
    broker.behind_seconds = 40
    broker.settle()
    accept(broker, 3, b"new")
    broker.pass_time(5)
    accept(broker, 4, b"newer")
    broker.pass_time(18)  # not yet where it was before
    again = restarted(broker)
    again.pass_time(12)
    third = restarted(again)
    third.behind_seconds = 0
    third.pass_time(100)
    assert third.bodies("T") == [b"%d" % number for number in range(50)] + [b"new", b"newer"]


def test_messages_sent_while_the_clock_was_set_back_are_delivered() -> None:
    broker = ClockedBroker()
    accept(broker, 86_400, b"tomorrow")
    accept(broker, 100, b"1")
    broker.pass_time(120)
    broker.behind_seconds = 90
    broker.settle()
    accept(broker, 40, b"3")
    accept(broker, 5, b"2")
    broker.pass_time(20)  # its file says now that what was taken is delivered up to before "3"
    again = restarted(broker)
    again.pass_time(40)
    assert again.bodies("T") == [b"1", b"2", b"3"]


def test_progress_file_has_the_delivered_second_and_the_lowest_offset() -> None:
    broker = OpenedBroker()
    accept(broker, 1)
    broker.pass_time(60)
    second = (START_MS + 1000) // 1000 - 1
    text = broker.saved[File.TIMERS].decode()
    assert f'"delivered":{second}' in text
    assert '"low":1' in text
